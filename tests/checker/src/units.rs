//! Requirements on any decision about units of nodes.

use almanac_engine::Action;
use almanac_engine::units::{Decision, Input};
use jiff::Timestamp;

use crate::Violations;

/// Checks the decision for a policy for units at `now`.
#[must_use]
pub fn check_units(input: &Input<'_>, now: Timestamp, decision: &Decision) -> Violations {
    let mut violations = Violations::default();
    let own = Action::SchedulePods { policy: input.identity.clone(), at: now };
    violations.unless(decision.actions.iter().all(|action| *action == own), || {
        format!("the action is not to schedule pods at {now}: {:?}", decision.actions)
    });
    violations.unless(decision.actions.len() <= 1, || "pods are scheduled twice".to_owned());
    let is_scheduling = !decision.actions.is_empty();
    let governable = input.scheduling.pods().filter(|(_, pod)| pod.ungoverned.is_none());
    let alive = governable.filter(|(_, pod)| !pod.is_finished);
    let mut next = None;
    for (identity, pod) in alive {
        match pod.deleted {
            Some(gone) if gone > now => next = next.into_iter().chain([gone]).min(),
            Some(gone) => {
                violations.unless(is_scheduling, || format!("{identity} was deleted at {gone}"));
            }
            None if !pod.gates.is_empty() => {}
            None => violations.unless(is_scheduling || pod.node.is_some(), || {
                format!("{identity} waits, and no scheduler searches for a node")
            }),
        }
    }
    violations.unless(decision.wake_at == next, || {
        format!("it wakes at {:?}, and the next pod is deleted at {next:?}", decision.wake_at)
    });
    violations
}
