//! Findings about a policy without a run: schedules that never come, or are open at once, and selectors that select
//! nothing.

use almanac_engine::{EndedScore, PolicyName, RuleSchedule, Unmatched, World};
use jiff::{SignedDuration, Timestamp};

use super::{About, Doubt, TWO_YEARS};

/// How long a schedule that is the same every week is examined.
const WEEKS: SignedDuration = SignedDuration::from_hours(24 * 15);

/// Of two windows, the one that reaches this number of openings later is the rarer one.
const OPENINGS: usize = 60;

/// So often in a row, one window after the other is looked for that decides instead.
const OUTRANKED: usize = 64;

/// The number of rules whose schedules are all compared with each other.
const COMPARED: usize = 64;

/// The findings about a policy that do not depend on other policies in the world.
#[must_use]
pub fn standing_doubts(world: &World, policy: &PolicyName, from: Timestamp) -> Vec<Doubt> {
    let schedules = world.schedules(policy);
    let until = from.saturating_add(TWO_YEARS).unwrap_or(Timestamp::MAX);
    let mut doubts = Vec::new();
    for rule in &schedules {
        let about = if rule.is_off { Some(About::Suspended) } else { never(rule, from, until) };
        let doubt = |about| Doubt {
            policy: policy.clone(),
            rule: Some(rule.rule.clone()),
            about,
            at: Vec::new(),
        };
        doubts.extend(about.map(doubt));
    }
    for idle in world.unmatched(policy) {
        let Unmatched { position, what, seen } = idle;
        let about = About::SelectsNothing { position, what, seen };
        doubts.push(Doubt { policy: policy.clone(), rule: None, about, at: Vec::new() });
    }
    if let Some(metrics) = world.alternating_rules(policy) {
        let about = About::MetricsAlternate { metrics };
        doubts.push(Doubt { policy: policy.clone(), rule: None, about, at: Vec::new() });
    }
    for EndedScore { resource, cluster, end } in world.ended_scores(policy, from) {
        let about = About::ScoreEnded { score: resource, cluster, at: end };
        doubts.push(Doubt { policy: policy.clone(), rule: None, about, at: vec![end] });
    }
    let compared = &schedules[..schedules.len().min(COMPARED)];
    for (index, later) in compared.iter().enumerate() {
        for first in &compared[..index] {
            doubts.extend(order_decides(policy, compared, (first, later), (from, until)));
        }
    }
    doubts
}

fn never(rule: &RuleSchedule, from: Timestamp, until: Timestamp) -> Option<About> {
    if rule.comes(from, until) {
        return None;
    }
    let last = rule.last(from);
    Some(if rule.has_windows() { About::NeverOpens { last } } else { About::NeverFires { last } })
}

/// Whether two rules of the same rank are open at once with different values, and no other one decides.
fn order_decides(
    policy: &PolicyName,
    all: &[RuleSchedule],
    (first, later): (&RuleSchedule, &RuleSchedule),
    period: (Timestamp, Timestamp),
) -> Option<Doubt> {
    let ((rank, value), (other_rank, other)) = (first.ranked?, later.ranked?);
    if rank != other_rank || value == other {
        return None;
    }
    let outranks = |it: &&RuleSchedule| {
        it.ranked.is_some_and(|(of, _)| of > rank || (of == rank && it.position < first.position))
    };
    let outranking: Vec<&RuleSchedule> = all.iter().filter(outranks).collect();
    let at = meeting(first, later, &outranking, period)?;
    let winner = first.rule.clone();
    let about = About::ListOrder { winner, value, other, from: at };
    Some(Doubt { policy: policy.clone(), rule: Some(later.rule.clone()), about, at: vec![at] })
}

/// When two windows are first open at once, and none of those that outrank them is. All openings of the rarer one are
/// looked at; of windows that are the same every week, those of two weeks.
fn meeting(
    one: &RuleSchedule,
    other: &RuleSchedule,
    outranking: &[&RuleSchedule],
    (from, until): (Timestamp, Timestamp),
) -> Option<Timestamp> {
    let mut all = [one, other].into_iter().chain(outranking.iter().copied());
    let until = if all.all(RuleSchedule::repeats_weekly) {
        from.saturating_add(WEEKS).unwrap_or(until)
    } else {
        until
    };
    let openings = |it: &RuleSchedule| it.begins(from, until).nth(OPENINGS).unwrap_or(until);
    let (rare, common) = if openings(one) < openings(other) { (other, one) } else { (one, other) };
    let now = Some(from).filter(|_| rare.is_open(from));
    now.into_iter().chain(rare.begins(from, until)).find_map(|opens| {
        let closes = rare.closes(opens).map_or(until, |it| it.min(until));
        let at_once = Some(opens).filter(|_| common.is_open(opens));
        let both = at_once.into_iter().chain(common.begins(opens, closes));
        let decides = |at: Timestamp| {
            let end = common.closes(at).map_or(closes, |it| it.min(closes));
            undecided(outranking, at, end)
        };
        both.into_iter().find_map(decides)
    })
}

/// The first instant of a time in which none of some windows is open.
fn undecided(windows: &[&RuleSchedule], from: Timestamp, until: Timestamp) -> Option<Timestamp> {
    let mut at = from;
    for _ in 0..OUTRANKED {
        let Some(open) = windows.iter().find(|it| it.is_open(at)) else { return Some(at) };
        at = open.closes(at).filter(|it| *it < until)?;
    }
    None
}

#[cfg(test)]
mod tests;
