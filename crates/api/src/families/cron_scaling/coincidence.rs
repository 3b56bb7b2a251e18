//! Rules of one object that fire in the same minute with conflicting values.
//!
//! The later rule in the list wins, which is rarely intended.

use almanac_engine::cron_scaling::{CronRule, DesiredScale};
use jiff::{SignedDuration, Timestamp};

use crate::finding::{Code, Finding, Path};

/// The period in which firings are compared.
const HORIZON: SignedDuration = SignedDuration::from_hours(366 * 24);

/// The maximum number of firings that are compared for a pair of rules. Rules that coincide do so within a few weeks of
/// the rarer one's firings; this bounds the cost of rules that never do.
const FIRINGS: usize = 64;

/// The maximum number of pairs of rules that are compared for an object.
const PAIRS: usize = 64;

/// Warns once per coinciding pair, at the later rule.
pub(super) fn check(
    rules: &[CronRule],
    path: &Path<'_>,
    now: Timestamp,
    findings: &mut Vec<Finding>,
) {
    let mut pairs = 0;
    for (later_index, later) in rules.iter().enumerate() {
        for earlier in &rules[..later_index] {
            if earlier.suspended || later.suspended {
                continue;
            }
            let Some(conflict) = disagreement(earlier.desired, later.desired) else { continue };
            pairs += 1;
            if pairs > PAIRS {
                return;
            }
            if let Some(at) = meeting(earlier, later, now) {
                let message = format!(
                    "fires in the same minute as rule {:?} but {conflict}, first at {at}; this rule \
                     wins because it is later in the list",
                    earlier.name
                );
                let rule = path.index(later.position as usize);
                findings.push(
                    Finding::new(Code::SameMinute, rule.key("schedule"), message)
                        .with_fix("let one of them fire at another minute, or remove one")
                        .with_instants(vec![at]),
                );
            }
        }
    }
}

/// The conflict of two desired scales, in words about the second; `None` without a conflict.
fn disagreement(one: DesiredScale, other: DesiredScale) -> Option<&'static str> {
    let differ = |one: Option<u32>, other: Option<u32>| matches!((one, other), (Some(one), Some(other)) if one != other);
    let cross = |min: Option<u32>, max: Option<u32>| matches!((min, max), (Some(min), Some(max)) if min > max);
    match (one, other) {
        (DesiredScale::Replicas(one), DesiredScale::Replicas(other)) => {
            (one != other).then_some("sets a different value")
        }
        (DesiredScale::Bounds(one), DesiredScale::Bounds(other)) => {
            if differ(one.min(), other.min()) || differ(one.max(), other.max()) {
                Some("sets a different value")
            } else if cross(one.min(), other.max()) || cross(other.min(), one.max()) {
                Some("sets a bound that contradicts the other rule's")
            } else {
                None
            }
        }
        // The rules of an object all have its target.
        (DesiredScale::Replicas(_), DesiredScale::Bounds(_))
        | (DesiredScale::Bounds(_), DesiredScale::Replicas(_)) => None,
    }
}

/// The first instant from `now` on, `now` included, at which both rules fire. The search alternates between the next
/// firings of the two rules.
fn meeting(one: &CronRule, other: &CronRule, now: Timestamp) -> Option<Timestamp> {
    let until = now.saturating_add(HORIZON).unwrap_or(Timestamp::MAX);
    let moment = SignedDuration::from_nanos(1);
    let at_or_after =
        |rule: &CronRule, at: Timestamp| rule.firings.next(at.checked_sub(moment).ok()?);
    let (mut ahead, mut behind) = (one, other);
    let mut at = at_or_after(ahead, now)?;
    for _ in 0..FIRINGS {
        let next = at_or_after(behind, at)?;
        if next >= until {
            return None;
        }
        if next == at {
            return Some(at);
        }
        at = next;
        std::mem::swap(&mut ahead, &mut behind);
    }
    None
}
