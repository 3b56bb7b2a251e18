//! The inputs of a decision about units: the policy, and what its pods are poured by.

use super::{Pouring, Replicas, ResourcePolicy};
use crate::{Identity, World};

/// All inputs of a decision.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The policy by name.
    pub identity: &'a Identity,
    /// What it says.
    pub policy: &'a ResourcePolicy,
    /// The pods, as they have been poured so far.
    pub pouring: &'a Pouring,
    /// How many pods workloads are to have.
    pub replicas: Replicas<'a>,
}

/// Gathers the inputs of a decision. There is none about a policy that is exempt, and none before pods are poured.
#[must_use]
pub fn gather<'a>(world: &'a World, identity: &Identity) -> Option<Input<'a>> {
    let (identity, policy) = in_force(world, identity)?;
    let pouring = world.units.extra.pouring.as_deref()?;
    let replicas = Replicas::in_world(world);
    Some(Input { identity, policy, pouring, replicas })
}

/// A policy that can be used and is not exempt.
pub(super) fn in_force<'a>(
    world: &'a World,
    identity: &Identity,
) -> Option<(&'a Identity, &'a ResourcePolicy)> {
    let (identity, object) = world.units.policies.get_key_value(identity)?;
    let policy = object.policy.as_deref()?;
    world.objects.exempt.of(identity).is_none().then_some((identity, policy))
}

/// All policies that can be used and are not exempt, in order.
pub(super) fn all_in_force(
    world: &World,
) -> impl Iterator<Item = (&Identity, &ResourcePolicy)> + Clone {
    world.units.policies.keys().filter_map(|it| in_force(world, it))
}
