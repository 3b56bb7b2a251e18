//! What a decision about cron rules looks at.

use jiff::Timestamp;

use super::{CronScaling, Memory, Target};
use crate::{Autoscaler, Identity, Workload, World};

/// Everything a decision about the rules of one object looks at.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// What the object says.
    pub policy: &'a CronScaling,
    /// When it was created; `None` for one that is only in a file.
    pub created: Option<Timestamp>,
    /// What its status remembers; `None` when it has no status yet.
    pub memory: Option<&'a Memory>,
    /// What the rules change, as it is now.
    pub target: TargetState,
}

/// What the rules change, as it is now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TargetState {
    /// There is no such object.
    Missing,
    /// Something with replicas.
    Workload(Workload),
    /// Something with bounds.
    Autoscaler(Autoscaler),
}

/// Gathers what a decision about the object of this name looks at.
#[must_use]
pub fn gather<'a>(world: &'a World, scaling: &Identity) -> Option<Input<'a>> {
    let object = world.cron_scalings.get(scaling)?;
    let target = match &object.policy.target {
        Target::Workload(target) => world.workloads.get(target).copied().map(TargetState::Workload),
        Target::Autoscaler(target) => {
            world.autoscalers.get(target).copied().map(TargetState::Autoscaler)
        }
    };
    Some(Input {
        policy: &object.policy,
        created: object.created,
        memory: object.memory.as_ref(),
        target: target.unwrap_or(TargetState::Missing),
    })
}
