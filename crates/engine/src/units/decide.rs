//! Decides whether the simulation must schedule pods, and the instant until which the pods stay unchanged.

use jiff::Timestamp;

use super::Input;
use crate::Action;

/// The decision of a policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Schedules the pods if their number has changed or some of them are pending.
    pub actions: Vec<Action>,
    /// The instant at which the deletion of a pod is complete.
    pub wake_at: Option<Timestamp>,
}

/// Decides at `now`.
#[must_use]
pub fn decide(input: &Input<'_>, now: Timestamp) -> Decision {
    let is_settled = input.scheduling.is_settled(input.replicas, now);
    let schedule_pods = || Action::SchedulePods { policy: input.identity.clone(), at: now };
    Decision {
        actions: (!is_settled).then(schedule_pods).into_iter().collect(),
        wake_at: input.scheduling.next_departure(now),
    }
}
