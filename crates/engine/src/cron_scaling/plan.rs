//! From the firings that are due to the one write they come to.
//!
//! The firings are applied to the target one after the other, in order of time and then of the
//! spec, as if each had been carried out in its moment. What the last of them leaves is written
//! once; which firing each written field comes from is what the history records.

use jiff::Timestamp;

use super::{Applied, CronScaling, Setting, TargetState};
use crate::{Action, Autoscaler};

/// A firing that is to be carried out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) at: Timestamp,
    /// The rule, by its index in the policy.
    pub(super) rule: usize,
}

/// What the due firings come to.
#[derive(Debug)]
pub(super) struct Plan {
    /// The write, unless everything is so already.
    pub(super) action: Option<Action>,
    /// What each due firing has a part in, in the order they were given; `None` for a firing of
    /// which nothing is left.
    pub(super) applied: Vec<Option<Applied>>,
}

/// Plans the write for firings that are in order. `None` when there is no target to write.
pub(super) fn plan(policy: &CronScaling, due: &[Due], target: TargetState) -> Option<Plan> {
    match target {
        TargetState::Missing => None,
        TargetState::Workload(workload) => {
            let last = due.len().checked_sub(1)?;
            let Setting::Replicas(replicas) = policy.rules[due[last].rule].setting else {
                return None;
            };
            let applied = (0..due.len()).map(|index| {
                let replicas = Some(replicas);
                (index == last).then(|| Applied { replicas, ..Applied::default() })
            });
            let action = (workload.replicas != Some(replicas)).then(|| Action::SetReplicas {
                target: policy.target.identity().clone(),
                replicas,
            });
            Some(Plan { action, applied: applied.collect() })
        }
        TargetState::Autoscaler(autoscaler) => Some(plan_bounds(policy, due, autoscaler)),
    }
}

/// A bound while the firings are applied: its value, and which of them it comes from.
#[derive(Clone, Copy)]
struct Bound {
    value: Option<u32>,
    from: Option<usize>,
    moved: bool,
}

impl Bound {
    fn live(value: Option<u32>) -> Bound {
        Bound { value, from: None, moved: false }
    }

    fn set(value: u32, from: usize) -> Bound {
        Bound { value: Some(value), from: Some(from), moved: false }
    }

    /// Makes way for the other bound, which a firing has just set to `value`.
    fn move_to(&mut self, value: u32, from: usize) {
        *self = Bound { value: Some(value), from: Some(from), moved: true };
    }
}

fn plan_bounds(policy: &CronScaling, due: &[Due], live: Autoscaler) -> Plan {
    let (mut min, mut max) = (Bound::live(live.min_replicas), Bound::live(live.max_replicas));
    for (index, firing) in due.iter().enumerate() {
        let Setting::Bounds(bounds) = policy.rules[firing.rule].setting else { continue };
        min = bounds.min().map_or(min, |value| Bound::set(value, index));
        max = bounds.max().map_or(max, |value| Bound::set(value, index));
        let (Some(lower), Some(upper)) = (min.value, max.value) else { continue };
        if lower > upper && bounds.min().is_some() {
            max.move_to(lower, index);
        } else if lower > upper {
            min.move_to(upper, index);
        }
    }
    let changed = |bound: Bound, live| bound.value.filter(|value| live != Some(*value));
    let (new_min, new_max) = (changed(min, live.min_replicas), changed(max, live.max_replicas));
    let action = (new_min.is_some() || new_max.is_some()).then(|| Action::SetBounds {
        target: policy.target.identity().clone(),
        min: new_min,
        max: new_max,
    });
    let applied = (0..due.len()).map(|index| {
        let of = |bound: Bound| bound.value.filter(|_| bound.from == Some(index));
        let moved_other_bound = [min, max].iter().any(|it| it.from == Some(index) && it.moved);
        let applied = Applied { replicas: None, min: of(min), max: of(max), moved_other_bound };
        (applied.min.is_some() || applied.max.is_some()).then_some(applied)
    });
    Plan { action, applied: applied.collect() }
}
