//! The start of a run of a world: the current state or, if that is unknown, the state as if all current policies had
//! always been in force.
//!
//! Each family defines the start for its policies. This module applies it to connected policies. The caller determines
//! which policies are new to a world, and the instant from which each is new.

use jiff::Timestamp;

use crate::families::{EffectReason, World, WorldFamily, of_family};
use crate::islands::islands;
use crate::seam::{Beginning, PolicyFamily as _};
use crate::{Identity, PolicyName};

/// The start of a run of a world.
pub type RunStart = crate::seam::RunStart<EffectReason>;

/// The last write of a field before the first turn.
pub type PriorWrite = crate::seam::PriorWrite<EffectReason>;

/// The latest instant at which the state of a world is known; `None` for a world from files without a status.
#[must_use]
pub fn known_until(world: &World) -> Option<Timestamp> {
    let instants = world.policies().filter_map(|policy| policy_known_until(world, &policy));
    // A status that is newer than `seen_at` was written during the listing. The state of the other objects at that
    // instant is unknown.
    world.objects.seen_at.or_else(|| instants.max())
}

fn policy_known_until(world: &World, policy: &PolicyName) -> Option<Timestamp> {
    of_family!(policy.family, F => F::known_until(F::state_in(world), &policy.identity))
}

/// Moves every policy of a world to its state at the start of a run.
pub fn begin(world: &mut World, from: Timestamp) -> RunStart {
    let mut start = RunStart::default();
    for island in islands(world) {
        let known_until =
            island.iter().filter_map(|policy| policy_known_until(world, policy)).max();
        let observed_at = world.objects.seen_at.or(known_until);
        let state_at = observed_at.filter(|observed_at| *observed_at <= from);
        let is_behind = observed_at.is_some() && state_at.is_none();
        let beginning = Beginning { from, state_at, is_behind };
        // Policies of one family follow each other.
        for policies in island.chunk_by(|one, other| one.family == other.family) {
            let Some(first) = policies.first() else { continue };
            let names: Vec<&Identity> = policies.iter().map(|policy| &policy.identity).collect();
            of_family!(first.family, F => {
                let of_family = F::begin(F::view_mut(world), &names, beginning);
                start.first_turns.extend(of_family.first_turns);
                start.arriving.extend(of_family.arriving);
                let prior_writes = of_family.prior_writes.into_iter();
                start.prior_writes.extend(prior_writes.map(|it| it.because(F::effect_reason)));
                start.replayed.as_if_in_force |= of_family.replayed.as_if_in_force;
                start.replayed.predates_state |= of_family.replayed.predates_state;
            });
        }
    }
    start
}

/// Moves a policy to its state at the first instant, after a run of everything before that instant. Returns whether
/// nothing changes for the policy at that instant, so that its first turn only starts.
pub fn arrive(world: &mut World, policy: &PolicyName, from: Timestamp) -> bool {
    of_family!(policy.family, F => arrived::<F>(world, &policy.identity, from))
}

fn arrived<F: WorldFamily>(world: &mut World, policy: &Identity, from: Timestamp) -> bool {
    let Some((memory, is_unchanged)) = F::arrive(world.view(), policy, from) else { return false };
    if let Some(object) = F::view_mut(world).state.policies.get_mut(policy) {
        object.memory = memory;
    }
    is_unchanged
}

/// Makes a policy new at an instant, without any earlier effect. A firing due at that very instant is its first one.
pub fn start_as_new(world: &mut World, policy: &PolicyName, at: Timestamp) {
    of_family!(policy.family, F => F::start_as_new(F::view_mut(world).state, &policy.identity, at));
}

/// Whether a policy continues from an earlier version of the world. A policy with a new or edited rule does not: a
/// controller treats the rule as new when the object is applied.
#[must_use]
pub fn continues(world: &World, policy: &PolicyName, before: &World) -> bool {
    of_family!(policy.family, F => F::continues(F::state_in(world), &policy.identity, F::state_in(before)))
}

/// Copies the creation time of a policy from an earlier version of the world that contains it. Both versions describe
/// the same object, even if the manifest states a different creation time.
pub fn keep_creation(world: &mut World, policy: &PolicyName, before: &World) {
    of_family!(policy.family, F => {
        let object = F::view_mut(world).state.policies.get_mut(&policy.identity);
        let before = F::state_in(before).policies.get(&policy.identity);
        if let Some((object, before)) = object.zip(before).filter(|_| F::IS_DATED) {
            object.created = before.created;
        }
    });
}

/// Whether a policy sets its value at an instant by itself. An autoscaler does if each of its queries has a sample.
/// Otherwise the autoscaler leaves the replicas unchanged, or moves them into its bounds.
#[must_use]
pub fn decides(world: &World, policy: &PolicyName, at: Timestamp) -> bool {
    of_family!(policy.family, F => F::decides(world.view(), &policy.identity, at))
}
