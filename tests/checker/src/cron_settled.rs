//! Requirements on a settled outcome of a cron rules' write.

use almanac_engine::cron_scaling::{
    Applied, CronScaling, Decision, FiringOutcome, Memory, Recorded, RuleMemory,
};
use almanac_engine::turn::{Effect, Turn};
use almanac_engine::{self as engine, EffectReason, Field, Outcome, Value, Verdict, World};
use jiff::Timestamp;

use crate::Violations;
use crate::cron_recorded::check_recorded;
use crate::cron_waking::check_waking;
use crate::cron_write::applied_to;

/// A turn of cron rules that was opened and closed.
#[derive(Clone, Copy, Debug)]
pub struct ClosedTurn<'a> {
    /// The rules at the opening of the turn.
    pub policy: &'a CronScaling,
    /// The instant of the opening.
    pub opened_at: Timestamp,
    /// The decision.
    pub decision: &'a Decision,
    /// The outcome of each action.
    pub outcomes: &'a [Outcome],
    /// The instant of the closing.
    pub closed_at: Timestamp,
    /// The result of the turn.
    pub turn: &'a Turn,
    /// The policy state after the turn.
    pub memory: &'a Memory,
    /// The world after the turn.
    pub world: &'a World,
}

/// Checks the result of a closed turn.
#[must_use]
pub fn check_cron_settled(closed: &ClosedTurn<'_>) -> Violations {
    let mut violations = Violations::default();
    check_memory(&mut violations, closed);
    check_recorded_by(&mut violations, closed);
    check_effects(&mut violations, closed);
    let ClosedTurn { policy, memory, turn, .. } = closed;
    let done = closed.decision.actions.iter().cloned().zip(closed.outcomes.iter().cloned());
    violations.unless(done.eq(turn.done.iter().cloned()), || {
        format!("{:?} is not what was done", turn.done)
    });
    check_waking(&mut violations, policy, memory, closed.opened_at, turn.wake_at);
    violations
}

fn check_memory(violations: &mut Violations, closed: &ClosedTurn<'_>) {
    let (decided, settled) = (&closed.decision.memory, closed.memory);
    let (outcomes, now) = (closed.outcomes, closed.closed_at);
    violations.unless(decided.rules.len() == settled.rules.len(), || {
        "settling adds or removes a rule".to_owned()
    });
    let is_as_wanted = outcomes.first().is_some_and(Outcome::is_as_wanted);
    for (before, after) in decided.rules.iter().zip(&settled.rules) {
        let holds = if is_trying(before) {
            if is_as_wanted {
                is_done(before, after, now)
            } else {
                is_kept(before, after, outcomes.first(), now)
            }
        } else {
            before == after
        };
        violations
            .unless(holds, || format!("with {outcomes:?}, {before:?} is settled as {after:?}"));
    }
}

fn is_trying(rule: &RuleMemory) -> bool {
    rule.pending.as_ref().is_some_and(|pending| pending.applying.is_some())
}

fn is_done(before: &RuleMemory, after: &RuleMemory, now: Timestamp) -> bool {
    let Some(pending) = &before.pending else { return false };
    after.pending.is_none()
        && after.handled == before.handled.max(pending.at)
        && after.executions.first().is_some_and(|newest| {
            newest.scheduled() == pending.at
                && newest.executed() == now
                && matches!(newest.ending, FiringOutcome::Done(applied) if Some(applied) == pending.applying)
        })
}

/// Whether a firing still has attempts. A withdrawn write is not an attempt.
fn is_kept(
    before: &RuleMemory,
    after: &RuleMemory,
    outcome: Option<&Outcome>,
    now: Timestamp,
) -> bool {
    let (Some(before_it), Some(after_it)) = (&before.pending, &after.pending) else { return false };
    let was_withdrawn = outcome == Some(&Outcome::Withdrawn);
    let is_counted = if was_withdrawn {
        after_it.attempts == before_it.attempts && after_it.message == before_it.message
    } else {
        after_it.attempts == before_it.attempts.saturating_add(1) && after_it.message.is_some()
    };
    after_it.at == before_it.at
        && after_it.applying.is_none()
        && is_counted
        && after_it.retry_at > now
        && after.handled == before.handled
        && after.executions == before.executions
}

/// The records of the decision appear together with those of the outcomes, in order of time and then
/// of the spec.
fn check_recorded_by(violations: &mut Violations, closed: &ClosedTurn<'_>) {
    let cron_records = cron_rule_records(&closed.turn.recorded);
    violations.unless(cron_records.len() == closed.turn.recorded.len(), || {
        format!("{:?} is recorded for cron rules", closed.turn.recorded)
    });
    let place = |it: &Recorded| {
        let (at, name) = match it {
            Recorded::Ended { rule, execution } => (execution.scheduled(), rule),
            Recorded::AttemptFailed { rule, scheduled, .. }
            | Recorded::Undone { rule, scheduled, .. } => (*scheduled, rule),
            Recorded::Missed { rule, last, .. } => (*last, rule),
            Recorded::ClockWasAhead { rule, until } => (*until, rule),
        };
        let index = closed.policy.rules.iter().position(|rule| rule.name == *name);
        (at, index.unwrap_or(usize::MAX))
    };
    violations.unless(cron_records.is_sorted_by_key(place), || {
        format!("{cron_records:?} is recorded out of order")
    });
    let mut added = cron_records;
    for one in &closed.decision.recorded {
        let matching = added.iter().position(|it| it == one);
        violations.unless(matching.is_some(), || {
            format!("{one:?} is in the decision, and not in the records of the turn")
        });
        matching.map(|index| added.remove(index));
    }
    let is_of_a_clock = |it: &Recorded| matches!(it, Recorded::ClockWasAhead { .. });
    violations.unless(!added.iter().any(is_of_a_clock), || {
        format!("settling finds a clock wrong: {added:?}")
    });
    let (before, after) = (&closed.decision.memory, closed.memory);
    check_recorded(violations, closed.policy, Some(before), after, &added, closed.closed_at);
}

fn cron_rule_records(recorded: &[engine::Recorded]) -> Vec<Recorded> {
    let recorded = recorded.iter().filter_map(|it| match it {
        engine::Recorded::CronScaling(recorded) => Some(recorded.clone()),
        engine::Recorded::ScheduledCapacity(_)
        | engine::Recorded::MetricScaling(_)
        | engine::Recorded::QosLevels(_)
        | engine::Recorded::Placement(_)
        | engine::Recorded::Units(_) => None,
    });
    recorded.collect()
}

/// The effects are the fields set by this turn, each with its value in the world after the turn.
fn check_effects(violations: &mut Violations, closed: &ClosedTurn<'_>) {
    let target = closed.policy.target.identity();
    let mut unmatched: Vec<&Effect> = closed.turn.effects.iter().collect();
    for (rule, applied) in applied_values(&cron_rule_records(&closed.turn.recorded)) {
        for field in Field::ALL {
            let Some(value) = applied_to(applied, field).map(Value::Number) else { continue };
            let matching = unmatched.iter().position(|effect| {
                effect.target == *target
                    && effect.field == field
                    && effect.value == value
                    && is_for(closed.policy, effect.reason, rule)
            });
            violations.unless(matching.is_some(), || {
                format!("{rule} has set {field} to {value} without a record")
            });
            matching.map(|index| unmatched.swap_remove(index));
            let live = field.read(closed.world, target);
            violations.unless(live.as_ref() == Some(&value), || {
                format!("{rule} has set {field} of {target} to {value}, and it is {live:?}")
            });
        }
    }
    violations.unless(unmatched.is_empty(), || format!("{unmatched:?} are effects of nothing"));
}

fn applied_values(recorded: &[Recorded]) -> impl Iterator<Item = (&str, Applied)> {
    recorded.iter().filter_map(|it| match it {
        Recorded::Ended { rule, execution } => match execution.ending {
            FiringOutcome::Done(applied) => Some((&**rule, applied)),
            _ => None,
        },
        _ => None,
    })
}

/// Whether an effect names a rule that has won.
fn is_for(policy: &CronScaling, reason: EffectReason, name: &str) -> bool {
    let EffectReason::CronScaling(reason) = reason else { return false };
    let rule = reason.rule.and_then(|index| policy.rules.get(index as usize));
    reason.verdict == Verdict::Won && rule.is_some_and(|rule| *rule.name == *name)
}
