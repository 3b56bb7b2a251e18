//! What shows of a policy without running it: schedules that never come, or are open at once, and selectors that select
//! nothing.

use almanac_engine::{PolicyName, RuleSchedule, Unmatched, World};
use jiff::Timestamp;

use super::{About, Doubt, TWO_YEARS};

/// So many openings of each window are looked at: a window that opens every working day is followed for a quarter, and
/// one that opens every week for a year.
const OPENINGS: usize = 60;

/// Of the schedules of so many rules, all are compared with each other.
const COMPARED: usize = 64;

/// The doubts about a policy, whatever other policies are in the world.
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
    let compared = &schedules[..schedules.len().min(COMPARED)];
    for (index, later) in compared.iter().enumerate() {
        for first in &compared[..index] {
            doubts.extend(order_decides(policy, first, later, (from, until)));
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

/// Whether two rules of the same rank are open at once with different values.
fn order_decides(
    policy: &PolicyName,
    first: &RuleSchedule,
    later: &RuleSchedule,
    (from, until): (Timestamp, Timestamp),
) -> Option<Doubt> {
    let ((rank, value), (other_rank, other)) = (first.ranked?, later.ranked?);
    if rank != other_rank || value == other {
        return None;
    }
    let at = [meeting(first, later, from, until), meeting(later, first, from, until)];
    let at = at.into_iter().flatten().min()?;
    let winner = first.rule.clone();
    let about = About::ListOrder { winner, value, other, from: at };
    Some(Doubt { policy: policy.clone(), rule: Some(later.rule.clone()), about, at: vec![at] })
}

/// When `one` opens, or is open at the beginning, while the other is open.
fn meeting(
    one: &RuleSchedule,
    other: &RuleSchedule,
    from: Timestamp,
    until: Timestamp,
) -> Option<Timestamp> {
    let now = Some(from).filter(|_| one.is_open(from));
    let begins = one.begins(from, until).take(OPENINGS);
    now.into_iter().chain(begins).find(|at| other.is_open(*at))
}
