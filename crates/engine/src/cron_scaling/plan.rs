//! Combines the firings that are due into a single write.
//!
//! The firings are ordered by time and then by the spec. For each field, the last firing that names it wins; a firing
//! that wins no field has no effect at all. If the two bounds then contradict each other, the later winner moves the
//! other bound. Almanac writes the result once. The history records the firing of each written field.

use super::{Applied, CronScaling, DesiredScale, TargetState};
use crate::{Action, Autoscaler, Workload};

/// A due firing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) at: jiff::Timestamp,
    /// The index of the rule in the policy.
    pub(super) rule: usize,
}

/// The plan for the due firings.
#[derive(Debug)]
pub(super) struct Plan {
    /// The write; `None` if every value is already set.
    pub(super) action: Option<Action>,
    /// The effect of each due firing, in the order of the firings.
    pub(super) shares: Vec<Share>,
}

/// The effect of one firing within the plan.
#[derive(Clone, Copy, Debug)]
pub(super) enum Share {
    /// The firing is part of the write.
    Written(Applied),
    /// The values of the firing are already set.
    AlreadySet(Applied),
    /// Another firing replaces every value; `by` is the index of the last firing that superseded it.
    Superseded { by: usize },
}

/// Plans the write for ordered firings. `None` if the target cannot be written.
pub(super) fn plan(policy: &CronScaling, due: &[Due], target: TargetState<'_>) -> Option<Plan> {
    match target {
        TargetState::Missing | TargetState::Unreachable(_) => None,
        TargetState::Workload(workload) => Some(plan_replicas(policy, due, workload)),
        TargetState::Autoscaler(autoscaler) => Some(plan_bounds(policy, due, autoscaler)),
    }
}

fn plan_replicas(policy: &CronScaling, due: &[Due], live: Workload) -> Plan {
    let mut replicas = Field::live(live.replicas);
    for (index, firing) in due.iter().enumerate() {
        if let DesiredScale::Replicas(value) = policy.rules[firing.rule].desired {
            replicas.set(value, index);
        }
    }
    let action = replicas
        .change()
        .map(|replicas| Action::SetReplicas { target: policy.target.identity().clone(), replicas });
    let share = |index| {
        let applied = || Applied::Replicas(replicas.value.unwrap_or_default());
        share_of(index, applied, &[replicas])
    };
    Plan { action, shares: (0..due.len()).map(share).collect() }
}

fn plan_bounds(policy: &CronScaling, due: &[Due], live: Autoscaler) -> Plan {
    let (mut min, mut max) = (Field::live(live.min_replicas), Field::live(live.max_replicas));
    for (index, firing) in due.iter().enumerate() {
        let DesiredScale::Bounds(bounds) = policy.rules[firing.rule].desired else { continue };
        if let Some(value) = bounds.min() {
            min.set(value, index);
        }
        if let Some(value) = bounds.max() {
            max.set(value, index);
        }
    }
    // The two bounds of one rule are in order. So each bound has a different winner here, or only one bound has a
    // winner.
    if let (Some(lower), Some(upper)) = (min.value, max.value)
        && lower > upper
    {
        match (min.from, max.from) {
            (Some(from), other) if other.is_none_or(|other| from > other) => {
                max.move_bound(lower, from);
            }
            (_, Some(from)) => min.move_bound(upper, from),
            // An autoscaler with contradicting bounds is not changed.
            _ => {}
        }
    }
    let (new_min, new_max) = (min.change(), max.change());
    let action = (new_min.is_some() || new_max.is_some()).then(|| Action::SetBounds {
        target: policy.target.identity().clone(),
        min: new_min,
        max: new_max,
    });
    let share = |index| {
        let moved_other = [min, max].iter().any(|it| it.from == Some(index) && it.moved);
        let applied = || Applied::bounds(min.left_by(index), max.left_by(index), moved_other);
        share_of(index, applied, &[min, max])
    };
    Plan { action, shares: (0..due.len()).map(share).collect() }
}

/// The effect of the firing at `index`, given the final fields.
fn share_of(index: usize, applied: impl FnOnce() -> Applied, fields: &[Field]) -> Share {
    let own = || fields.iter().filter(|field| field.from == Some(index));
    if own().next().is_none() {
        let later = fields.iter().filter_map(|field| field.from).filter(|by| *by > index);
        return Share::Superseded { by: later.max().unwrap_or(index) };
    }
    if own().any(|field| field.change().is_some()) {
        Share::Written(applied())
    } else {
        Share::AlreadySet(applied())
    }
}

/// One field of the target, while the plan applies the firings.
#[derive(Clone, Copy)]
struct Field {
    live: Option<u32>,
    value: Option<u32>,
    /// The index of the firing that set the value; `None` for the live value.
    from: Option<usize>,
    /// Whether the field was moved to admit the other bound, and no firing names it.
    moved: bool,
}

impl Field {
    fn live(live: Option<u32>) -> Field {
        Field { live, value: live, from: None, moved: false }
    }

    fn set(&mut self, value: u32, from: usize) {
        *self = Field { value: Some(value), from: Some(from), moved: false, ..*self };
    }

    fn move_bound(&mut self, value: u32, from: usize) {
        *self = Field { value: Some(value), from: Some(from), moved: true, ..*self };
    }

    /// The value, if it must be written.
    fn change(&self) -> Option<u32> {
        self.value.filter(|_| self.value != self.live)
    }

    /// The value if the firing at `index` set it.
    fn left_by(&self, index: usize) -> Option<u32> {
        self.value.filter(|_| self.from == Some(index))
    }
}
