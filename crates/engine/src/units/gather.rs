//! The inputs of a decision about units: the policy, and the scheduling simulation of its pods.

use super::{Replicas, ResourcePolicy, SchedulingSimulation, Units};
use crate::seam::{FamilyState, View};
use crate::{Identity, Objects};

/// All inputs of a decision.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The name of the policy.
    pub identity: &'a Identity,
    /// The checked spec.
    pub policy: &'a ResourcePolicy,
    /// The pods that the simulation has scheduled so far.
    pub scheduling: &'a SchedulingSimulation,
    /// The desired replicas of workloads.
    pub replicas: Replicas<'a>,
}

/// Gathers the inputs of a decision. An exempt policy has none, and no policy has any before the simulation of the pods
/// starts.
#[must_use]
pub fn gather<'a>(view: View<'a, Units>, identity: &Identity) -> Option<Input<'a>> {
    let (identity, policy) = in_force(view.objects, view.state, identity)?;
    let scheduling = view.state.extra.scheduling.as_deref()?;
    let replicas = Replicas::from_objects(view.objects, &view.state.extra);
    Some(Input { identity, policy, scheduling, replicas })
}

/// A policy that is usable and not exempt.
pub(super) fn in_force<'a>(
    objects: &Objects,
    state: &'a FamilyState<Units>,
    identity: &Identity,
) -> Option<(&'a Identity, &'a ResourcePolicy)> {
    let (identity, object) = state.policies.get_key_value(identity)?;
    let policy = object.policy.as_deref()?;
    objects.exempt.get(identity).is_none().then_some((identity, policy))
}

/// All policies that are usable and not exempt, in order.
pub(super) fn all_in_force<'a>(
    objects: &'a Objects,
    state: &'a FamilyState<Units>,
) -> impl Iterator<Item = (&'a Identity, &'a ResourcePolicy)> + Clone {
    state.policies.keys().filter_map(|it| in_force(objects, state, it))
}
