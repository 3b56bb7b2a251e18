//! Where a run of a world begins: at the current state or, if that is unknown, as if all policies had always
//! been in force as they are now.
//!
//! What that means for a policy is up to its family. This module makes sure that connected policies begin in
//! the same way. Which of them are new to a world, and since when, is up to the caller.

use jiff::Timestamp;

use crate::families::EffectReason;
use crate::footprint::islands;
use crate::{
    Family, Field, Identity, Policies, PolicyName, Value, World, cron_scaling, metric_scaling,
};

/// How connected policies begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Beginning {
    /// The first instant of the run.
    pub(crate) from: Timestamp,
    /// The instant at which the world was in its current state; `None` when its past is replayed
    /// instead.
    pub(crate) state_at: Option<Timestamp>,
    /// Whether the past is replayed because the known state is later.
    pub(crate) is_behind: bool,
}

/// Where a run begins.
#[derive(Clone, Debug, Default)]
pub struct RunStart {
    /// The first turn of each policy. It may lie before the beginning; the run then starts there.
    pub first_turns: Vec<(PolicyName, Timestamp)>,
    /// Those that begin with what others have left before the first instant, see [`arrive`].
    pub arriving: Vec<PolicyName>,
    /// The last known writer of each field before the first turn.
    pub prior_writes: Vec<PriorWrite>,
    /// How the past was replayed.
    pub replayed: Replayed,
}

/// The last write of a field before the first turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PriorWrite {
    /// The object.
    pub target: Identity,
    /// The field.
    pub field: Field,
    /// The value it was set to. Another writer may have changed it since.
    pub value: Value,
    /// The policy that set it.
    pub policy: PolicyName,
    /// Why.
    pub reason: EffectReason,
    /// When; `None` when that was too long ago to be known.
    pub since: Option<Timestamp>,
}

/// Whether and why the past was replayed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Replayed {
    /// Some policies with an unknown past were assumed to have been in force before.
    pub as_if_in_force: bool,
    /// Some policies are known only in a state later than the beginning.
    pub predates_state: bool,
}

/// The latest instant at which anything is known of the state of a world; `None` when it is only in files without a status.
#[must_use]
pub fn known_until(world: &World) -> Option<Timestamp> {
    let known = world
        .policies()
        .filter_map(|policy| policy.family.logic().known_until(world, &policy.identity));
    // What has changed while a cluster was read is not known to be so since.
    world.objects.seen_at.or_else(|| known.max())
}

/// Brings every policy of a world to where a run from an instant begins.
pub fn begin(world: &mut World, from: Timestamp) -> RunStart {
    let mut start = RunStart::default();
    for island in islands(world) {
        let known = island
            .iter()
            .filter_map(|policy| policy.family.logic().known_until(world, &policy.identity))
            .max();
        let seen = world.objects.seen_at.or(known);
        let state_at = seen.filter(|seen| *seen <= from);
        let is_behind = seen.is_some() && state_at.is_none();
        let beginning = Beginning { from, state_at, is_behind };
        // Policies of one family follow each other.
        for policies in island.chunk_by(|one, other| one.family == other.family) {
            let Some(first) = policies.first() else { continue };
            let names: Vec<&Identity> = policies.iter().map(|policy| &policy.identity).collect();
            let mut of_family = first.family.logic().begin(world, &names, beginning);
            start.first_turns.append(&mut of_family.first_turns);
            start.arriving.append(&mut of_family.arriving);
            start.prior_writes.append(&mut of_family.prior_writes);
            start.replayed.as_if_in_force |= of_family.replayed.as_if_in_force;
            start.replayed.predates_state |= of_family.replayed.predates_state;
        }
    }
    start
}

/// Brings a policy to the first instant once everything before it has been run. Whether nothing changes there for it, so
/// that its first turn only begins.
pub fn arrive(world: &mut World, policy: &PolicyName, from: Timestamp) -> bool {
    policy.family == Family::MetricScaling && metric_scaling::arrive(world, &policy.identity, from)
}

/// Lets a policy be new at an instant: it has done nothing before. What falls due at that very instant is its first firing.
pub fn begin_anew(world: &mut World, policy: &PolicyName, at: Timestamp) {
    match policy.family {
        Family::CronScaling => cron_scaling::begin_anew(world, &policy.identity, at),
        Family::MetricScaling => metric_scaling::begin_anew(world, &policy.identity, at),
        // What these want depends on an instant and on what is there by then, and on nothing they did before.
        Family::ScheduledCapacity | Family::QosLevels | Family::Placement | Family::Units => {}
    }
}

/// Whether a policy goes on with what it did in an earlier version of the world. A rule that is new or edited does not: to a
/// controller, it is new when the object is applied.
#[must_use]
pub fn goes_on(world: &World, policy: &PolicyName, before: &World) -> bool {
    match policy.family {
        Family::CronScaling => cron_scaling::goes_on(world, &policy.identity, before),
        Family::MetricScaling => before.metric_scaling.policies.contains_key(&policy.identity),
        Family::ScheduledCapacity | Family::QosLevels | Family::Placement | Family::Units => true,
    }
}

/// Lets a policy that an earlier version of the world has, too, be as old as it is there. It is one object, whatever is written
/// of its creation.
pub fn keep_creation(world: &mut World, policy: &PolicyName, before: &World) {
    let identity = &policy.identity;
    match policy.family {
        Family::CronScaling => {
            keep_created(&mut world.cron_scaling.policies, &before.cron_scaling.policies, identity);
        }
        Family::MetricScaling => {
            keep_created(
                &mut world.metric_scaling.policies,
                &before.metric_scaling.policies,
                identity,
            );
        }
        // It makes no difference to these.
        Family::ScheduledCapacity | Family::QosLevels | Family::Placement | Family::Units => {}
    }
}

fn keep_created<Policy, Memory>(
    objects: &mut Policies<Policy, Memory>,
    before: &Policies<Policy, Memory>,
    identity: &Identity,
) {
    if let Some((object, before)) = objects.get_mut(identity).zip(before.get(identity)) {
        object.created = before.created;
    }
}

/// Whether a policy decides at an instant by itself. An autoscaler does if it knows what all of its queries come to; without
/// that, or without a query, it leaves the replicas as they are, or moves them into its bounds.
#[must_use]
pub fn decides(world: &World, policy: &PolicyName, at: Timestamp) -> bool {
    policy.family != Family::MetricScaling || metric_scaling::decides(world, &policy.identity, at)
}
