//! The inputs of a decision about cron rules.

use jiff::Timestamp;

use super::{CronRules, CronScaling, Memory};
use crate::seam::View;
use crate::{Autoscaler, Exempt, Identity, Reach, Target, Unreachable, Workload};

/// All inputs of a decision about the rules of one object.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The checked spec.
    pub policy: &'a CronScaling,
    /// The creation time of the object; `None` if it is unknown.
    pub created: Option<Timestamp>,
    /// The policy state in the status of the object; `None` when the object has no status yet.
    pub memory: Option<&'a Memory>,
    /// The current state of the object that the rules change.
    pub target: TargetState<'a>,
    /// The reason that no change is permitted; `None` unless the object or its target is exempt.
    pub exempt: Option<Exempt>,
}

/// The current state of the object that the rules change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TargetState<'a> {
    /// The target does not exist.
    Missing,
    /// The target could not be read, so it might or might not exist.
    Unreachable(&'a Unreachable),
    /// The target has replicas.
    Workload(Workload),
    /// The target has bounds.
    Autoscaler(Autoscaler),
}

/// Gathers the inputs of a decision about the object of this name.
#[must_use]
pub fn gather<'a>(
    view: View<'a, CronRules>,
    scaling: &Identity,
    reach: &'a Reach,
) -> Option<Input<'a>> {
    let object = view.state.policies.get(scaling)?;
    let policy = object.policy.as_deref()?;
    let target_state = || match &policy.target {
        Target::Workload(target) => {
            view.objects.workloads.get(target).copied().map(TargetState::Workload)
        }
        Target::Autoscaler(target) => {
            view.objects.autoscalers.get(target).copied().map(TargetState::Autoscaler)
        }
    };
    let target = match reach.lacks(policy.target.identity()) {
        Some(why) => TargetState::Unreachable(why),
        None => target_state().unwrap_or(TargetState::Missing),
    };
    let exempt = Exempt::for_policy(&view.objects.exempt, scaling, Some(policy.target.identity()));
    let (created, memory) = (object.created, object.memory.as_ref());
    Some(Input { policy, created, memory, target, exempt })
}
