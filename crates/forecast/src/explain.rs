//! Why a target is as it is at an instant, as far as one policy goes, and what changes next.

use std::sync::Arc;

use almanac_engine::{Identity, Verdict, World, cron_scaling, scheduled_capacity};
use jiff::{SignedDuration, Timestamp};

use crate::origin::behaviour_name;
use crate::part::clock_of;
use crate::{Assumed, Assumption, Clock, Field, Holder};

/// The next change is looked for so far: a leap year, so that the same day of the next year is
/// inside.
const LOOKS_AHEAD: SignedDuration = SignedDuration::from_hours(366 * 24);

/// The decision of one policy at an instant, with its whole chain of reasons.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// The policy.
    pub policy: Identity,
    /// What it changes; a schedule changes itself.
    pub target: Identity,
    /// The instant.
    pub at: Timestamp,
    /// What each field of the target is then, and who set it.
    pub values: Vec<(Field, Holder)>,
    /// Every rule, and what became of it, in the order of the spec.
    pub reasons: Vec<Because>,
    /// The next change of any of the values, if one comes within a year.
    pub next: Option<Change>,
    /// What was taken for granted.
    pub assumptions: Vec<Assumption>,
}

/// What became of one rule, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Because {
    /// The rule; `None` for the policy as a whole.
    pub rule: Option<Arc<str>>,
    /// What became of it.
    pub verdict: Verdict,
    /// Why, as a line for a person.
    pub because: String,
    /// Since when this holds.
    pub since: Option<Timestamp>,
    /// Until when.
    pub until: Option<Timestamp>,
}

/// What a target will be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// From when on.
    pub at: Timestamp,
    /// Every field, in the order of [`Explanation::values`].
    pub values: Vec<(Field, Option<u32>)>,
}

/// Explains what a policy does at an instant. `None` when the world has no such policy.
#[must_use]
pub fn explain(world: &World, policy: &Identity, at: Timestamp) -> Option<Explanation> {
    let cron = world.cron_scalings.get(policy).map(|object| &object.policy);
    let target = cron.map_or(policy, |it| it.target.identity()).clone();
    let mut clock = clock_of(world, &target, at, &Assumed::new());
    let assumptions = clock.assumptions().to_vec();
    while clock.step(just_after(at)).is_some() {}
    let values: Vec<(Field, Holder)> =
        clock.holders().iter().map(|((_, field), holder)| (*field, holder.clone())).collect();
    let mut reasons = match cron {
        Some(cron) => chain_of_rules(world, policy, cron, at)?,
        None => chain_of_behaviours(clock.world(), policy, at)?,
    };
    let ahead = look_ahead(&mut clock, at, &values);
    if cron.is_some() {
        credit_holders(&mut reasons, policy, &values, &ahead.ends);
    }
    let next = ahead.next;
    Some(Explanation { policy: policy.clone(), target, at, values, reasons, next, assumptions })
}

fn chain_of_behaviours(world: &World, policy: &Identity, at: Timestamp) -> Option<Vec<Because>> {
    let input = scheduled_capacity::gather(world, policy)?;
    let mut reasons = scheduled_capacity::explain(&input, at);
    reasons.sort_by_key(|reason| reason.rule);
    let because = reasons.iter().map(|reason| Because {
        rule: reason.rule.map(behaviour_name),
        verdict: reason.verdict,
        because: scheduled_capacity::render(input.policy, reason),
        since: reason.since,
        until: reason.until,
    });
    Some(because.collect())
}

/// What became of every rule at the last instant at which one of them fired: nothing has changed
/// since.
fn chain_of_rules(
    world: &World,
    policy: &Identity,
    cron: &cron_scaling::CronScaling,
    at: Timestamp,
) -> Option<Vec<Because>> {
    let armed = cron.rules.iter().filter(|rule| !rule.suspended);
    let fired = armed.filter_map(|rule| rule.firings.previous(at)).max().unwrap_or(at);
    let clock = clock_of(world, cron.target.identity(), fired, &Assumed::new());
    let input = cron_scaling::gather(clock.world(), policy)?;
    let mut reasons = cron_scaling::explain(&input, fired);
    reasons.sort_by_key(|reason| reason.rule);
    let because = reasons.iter().map(|reason| Because {
        rule: reason.rule.and_then(|rule| Some(Arc::clone(&cron.rules.get(rule as usize)?.name))),
        verdict: reason.verdict,
        because: cron_scaling::render(cron, reason),
        since: reason.since,
        until: reason.until,
    });
    Some(because.collect())
}

/// Rules that fired earlier and still hold a field have won too; one that holds nothing any more,
/// because another policy has set the same, has not.
fn credit_holders(
    reasons: &mut [Because],
    policy: &Identity,
    values: &[(Field, Holder)],
    ends: &[Option<Timestamp>],
) {
    for reason in reasons.iter_mut() {
        let held = values.iter().zip(ends).filter(|((_, holder), _)| {
            let writer = holder.origin.writer.as_ref();
            writer.is_some_and(|it| it.policy == *policy && it.rule == reason.rule)
        });
        let until = held.clone().filter_map(|(_, end)| *end).min();
        let last_set = held.max_by_key(|((_, holder), _)| holder.since);
        match (last_set, reason.verdict) {
            (Some(((_, holder), _)), verdict) => {
                if verdict != Verdict::Won {
                    reason.because = holder.origin.reason.to_string();
                }
                (reason.verdict, reason.since) = (Verdict::Won, holder.since);
                reason.until = until;
            }
            (None, Verdict::Won) => {
                let other = values.iter().find_map(|(_, holder)| holder.origin.writer.as_ref());
                if let Some(other) = other {
                    let other = &other.policy;
                    reason.because = format!("{}, but {other} set it later", reason.because);
                }
                reason.verdict = Verdict::Lost;
            }
            (None, _) => {}
        }
    }
}

struct Ahead {
    /// The next change of a value.
    next: Option<Change>,
    /// For each field, when it is first set by another rule or to another value.
    ends: Vec<Option<Timestamp>>,
}

/// Lets the clock run until everything that is to be known has happened, or a year is over.
fn look_ahead(clock: &mut Clock, at: Timestamp, values: &[(Field, Holder)]) -> Ahead {
    let last = at.saturating_add(LOOKS_AHEAD).unwrap_or(Timestamp::MAX);
    let mut ahead = Ahead { next: None, ends: vec![None; values.len()] };
    while ahead.next.is_none() || ahead.ends.contains(&None) {
        let Some(now) = clock.next().filter(|now| *now <= last) else { break };
        // All turns of this instant, so that only what remains of them counts.
        while clock.step(just_after(now)).is_some() {}
        let holders: Vec<(Field, &Holder)> =
            clock.holders().iter().map(|((_, field), holder)| (*field, holder)).collect();
        for (((_, before), (_, holder)), end) in values.iter().zip(&holders).zip(&mut ahead.ends) {
            let other =
                before.value != holder.value || before.origin.writer != holder.origin.writer;
            if end.is_none() && other {
                *end = Some(now);
            }
        }
        let differs = values.iter().zip(&holders).any(|((_, a), (_, b))| a.value != b.value);
        if ahead.next.is_none() && differs {
            let values = holders.iter().map(|(field, holder)| (*field, holder.value)).collect();
            ahead.next = Some(Change { at: now, values });
        }
    }
    ahead
}

fn just_after(at: Timestamp) -> Timestamp {
    at.checked_add(SignedDuration::from_nanos(1)).unwrap_or(Timestamp::MAX)
}
