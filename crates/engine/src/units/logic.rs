//! The family's implementation of the interface that all families share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use almanac_calendar::Zone;
use jiff::Timestamp;

use super::filling::filling;
use super::fleet::REVISION;
use super::gather::{all_in_force, in_force};
use super::pouring::MOST_PODS;
use super::{
    Decision, FleetState, Memory, Pod, Replicas, ResourcePolicy, Strategy, Unit, decide, gather,
    presumed, settle,
};
use crate::answers::{RuleExplanation, Unmatched};
use crate::beginning::{Beginning, RunStart};
use crate::families::{Logic, OpenDecision, Recorded};
use crate::seam::{Policies, PolicyFamily, PolicyObject};
use crate::turn::{Closed, PolicyDecision};
use crate::{
    Field, Footprint, Identity, Outcome, Presumption, Reach, Slim, TargetReference, World,
};

/// Units of nodes, as a family of policies.
#[derive(Clone, Copy, Debug)]
pub struct Units;

impl PolicyFamily for Units {
    type Policy = ResourcePolicy;
    type Memory = Memory;
    type Extra = FleetState;
}

impl Logic for Units {
    fn names<'w>(&self, world: &'w World) -> Box<dyn Iterator<Item = &'w Identity> + 'w> {
        Box::new(world.units.policies.keys())
    }

    /// Policies of one namespace may select the same pods. Those of all namespaces share what nodes have, if the nodes say
    /// what that is. That they all read the first of them says as much.
    fn footprint(&self, world: &World, policy: &Identity) -> Option<Footprint> {
        let (identity, checked) = in_force(world, policy)?;
        let mut reads = workloads_and_autoscalers(world, identity, checked);
        let is_shared = shares_nodes(world);
        let connected = all_in_force(world).find(|(other, policy)| {
            let is_near = is_shared || other.namespace() == identity.namespace();
            is_near && has_pods(world, other, policy)
        });
        let has_pods = has_pods(world, identity, checked);
        let connected = connected.map(|(first, _)| first.clone());
        reads.extend(connected.filter(|first| has_pods && first != identity));
        let fields = [Field::UnitPods, Field::PendingPods];
        let writes = fields.into_iter().filter(|_| has_pods).map(|it| (identity.clone(), it));
        Some(Footprint { reads, writes: writes.collect() })
    }

    fn target(&self, _: &World, _: &Identity) -> Option<TargetReference> {
        None
    }

    fn zones(&self, _: &World, _: &Identity) -> Vec<(Option<Arc<str>>, Zone)> {
        Vec::new()
    }

    fn unmatched(&self, world: &World, identity: &Identity) -> Vec<Unmatched> {
        let policy = world.units.policies.get(identity).and_then(|it| it.policy.as_ref());
        let Some(policy) = policy else { return Vec::new() };
        let (pods, nodes) = (&world.units.extra.fleet.pods, &world.units.extra.fleet.nodes);
        let pods = pods.iter().chain(&world.units.extra.fleet.templates);
        let here: Vec<_> = pods.filter(|(it, _)| it.namespace() == identity.namespace()).collect();
        let is_idle = !here.iter().any(|(_, pod)| policy.pod_selector.selects(&pod.labels));
        let none = |position, what, seen: usize| Unmatched { position, what, seen };
        let of_pods = (is_idle && !here.is_empty()).then(|| none(None, "pods", here.len()));
        let units = (0..).zip(&policy.units).filter(|(_, unit)| {
            !nodes.is_empty() && !nodes.values().any(|node| unit.nodes.selects(&node.labels))
        });
        let of_nodes = units.map(|(position, _)| none(Some(position), "nodes", nodes.len()));
        of_pods.into_iter().chain(of_nodes).collect()
    }

    fn open(
        &self,
        world: &World,
        policy: &Identity,
        _: &Reach,
        now: Timestamp,
    ) -> Option<OpenDecision> {
        let decision = decide(&gather(world, policy)?, now);
        let policy = Arc::clone(world.units.policies.get(policy)?.policy.as_ref()?);
        Some(OpenDecision::Units(PolicyDecision { policy, decision }))
    }

    /// While everything is stopped, nothing falls due that could be missed.
    fn skip_stopped(
        &self,
        world: &mut World,
        policy: &Identity,
        _: Timestamp,
        _: Timestamp,
    ) -> Option<Closed> {
        in_force(world, policy)?;
        Some(Closed { recorded: Vec::new(), effects: Vec::new(), wake_at: None })
    }

    fn explain(
        &self,
        world: &World,
        policy: &Identity,
        object: Option<&Identity>,
        _: Timestamp,
    ) -> Vec<RuleExplanation> {
        super::explain::explain(world, policy, object)
    }

    fn explains_parts(&self) -> bool {
        true
    }

    fn presumptions(&self, world: &World, policy: &Identity) -> Vec<Presumption> {
        let Some((identity, checked)) = in_force(world, policy) else { return Vec::new() };
        let mut all = Vec::new();
        if world.units.extra.fleet.nodes.is_empty() {
            let uses_outside = checked.strategy == Strategy::Prefer;
            all.push(presumed::nodes_enough(identity, uses_outside));
        }
        let open = checked.units.iter().filter(|unit| unit.max != Some(0));
        let priorities: Vec<i32> = open.map(|unit: &Unit| unit.priority).collect();
        if priorities.iter().collect::<BTreeSet<_>>().len() < priorities.len() {
            all.push(presumed::first_of_equals(identity));
        }
        let mut nodes: BTreeSet<&Arc<str>> = BTreeSet::new();
        let mut has_revision = false;
        for (_, pod) in selected_pods(world, identity, checked) {
            nodes.extend(
                pod.node.iter().filter(|node| !world.units.extra.fleet.nodes.contains_key(*node)),
            );
            has_revision |= pod.labels.get(REVISION).is_some();
        }
        all.extend(nodes.into_iter().map(Presumption::node_without_labels));
        let by_revision = checked.group_keys.iter().any(|key| **key == *REVISION);
        if by_revision && !has_revision {
            all.push(presumed::one_revision(identity));
        }
        let asked = highest_asked(world);
        for (workload, _) in selected_workloads(world, identity, checked) {
            let asked = asked.get(workload).copied();
            if let Some(autoscaler) = world.units.extra.fleet.autoscalers.get(workload) {
                all.push(presumed::within_bounds(autoscaler, workload));
            }
            let there = world.objects.workloads.get(workload).and_then(|it| it.replicas);
            if there.max(asked).is_some_and(|most| most > MOST_PODS) {
                all.push(presumed::too_many_pods(workload, MOST_PODS));
            } else if there.is_none() {
                all.push(presumed::unknown_number(workload));
            }
        }
        all
    }

    fn follows_target(
        &self,
        world: &World,
        policy: &Identity,
        now: Timestamp,
    ) -> Option<Timestamp> {
        in_force(world, policy)?;
        Some(world.units.extra.pouring.as_ref().map_or(now, |pouring| pouring.from().max(now)))
    }

    fn follows(&self, world: &World, policy: &Identity) -> Vec<Identity> {
        let Some((identity, checked)) = in_force(world, policy) else { return Vec::new() };
        workloads_and_autoscalers(world, identity, checked)
    }

    /// Pods of different policies share what nodes have.
    fn influenced_by(&self, world: &World, policy: &Identity) -> Vec<Identity> {
        let others = shares_nodes(world).then(|| all_in_force(world).map(|(other, _)| other));
        others.into_iter().flatten().filter(|other| *other != policy).cloned().collect()
    }

    fn begin(&self, world: &mut World, policies: &[&Identity], beginning: Beginning) -> RunStart {
        super::begin::begin(world, policies, beginning)
    }

    fn known_until(&self, _: &World, _: &Identity) -> Option<Timestamp> {
        None
    }

    fn slim(&self, world: &World, policy: &Identity) -> Option<Slim> {
        world.units.policies.get(policy).cloned().map(Slim::Units)
    }

    fn remove(&self, world: &mut World, policy: &Identity) {
        world.units.policies.remove(policy);
    }
}

/// For each workload, the highest number of replicas that any policy may set.
fn highest_asked(world: &World) -> BTreeMap<Identity, u32> {
    let mut highest = BTreeMap::new();
    for asked in world.policies().filter_map(|policy| world.asks_for(&policy)) {
        let known = highest.entry(asked.workload).or_default();
        *known = asked.most.max(*known);
    }
    highest
}

/// Whether pods of different policies may take each other's room.
fn shares_nodes(world: &World) -> bool {
    world.units.extra.fleet.nodes.values().any(|node| node.allocatable.is_some())
}

fn has_pods(world: &World, identity: &Identity, policy: &ResourcePolicy) -> bool {
    selected_workloads(world, identity, policy).next().is_some()
        || selected_pods(world, identity, policy).next().is_some()
}

/// What the number of pods depends on that a policy selects.
fn workloads_and_autoscalers(
    world: &World,
    identity: &Identity,
    policy: &ResourcePolicy,
) -> Vec<Identity> {
    let workloads = selected_workloads(world, identity, policy).map(|(workload, _)| workload);
    let autoscaler_of = |workload| world.units.extra.fleet.autoscalers.get(workload);
    workloads.flat_map(|it| [Some(it), autoscaler_of(it)]).flatten().cloned().collect()
}

/// The workloads whose pods a policy selects, with a pod as each makes it.
pub(super) fn selected_workloads<'w>(
    world: &'w World,
    identity: &'w Identity,
    policy: &'w ResourcePolicy,
) -> impl Iterator<Item = (&'w Identity, &'w Pod)> {
    let here = world.units.extra.fleet.templates_in(identity.namespace());
    here.filter(|(_, pod)| pod.ungoverned.is_none() && policy.pod_selector.selects(&pod.labels))
}

/// The pods that a policy selects where a run begins, but for those that have run to their end.
pub(super) fn selected_pods<'w>(
    world: &'w World,
    identity: &'w Identity,
    policy: &'w ResourcePolicy,
) -> impl Iterator<Item = (&'w Identity, &'w Pod)> {
    let here = world.units.extra.fleet.pods_in(identity.namespace());
    here.filter(|(_, pod)| {
        let may_be_governed = pod.ungoverned.is_none() && !pod.is_finished;
        may_be_governed && policy.pod_selector.selects(&pod.labels)
    })
}

/// Holds a policy, with what is remembered of it.
pub(crate) fn upsert(
    objects: &mut Policies<ResourcePolicy, Memory>,
    identity: Identity,
    mut object: PolicyObject<ResourcePolicy, Memory>,
) {
    let before = objects.remove(&identity).filter(|before| before.policy == object.policy);
    object.memory = before.and_then(|before| before.memory).or(object.memory);
    objects.insert(identity, object);
}

/// Lets the pods be as many as they are to be.
pub(crate) fn pour(world: &mut World, at: Timestamp) -> Outcome {
    let Some(mut pouring) = world.units.extra.pouring.take() else { return Outcome::Unchanged };
    let is_changed = pouring.pour(Replicas::in_world(world), at);
    world.units.extra.pouring = Some(pouring);
    if is_changed { Outcome::Done } else { Outcome::Unchanged }
}

/// Settles an open turn.
pub(crate) fn close(
    world: &mut World,
    identity: &Identity,
    open: &PolicyDecision<ResourcePolicy, Decision>,
    opened_at: Timestamp,
) -> Closed {
    let mut closed =
        Closed { recorded: Vec::new(), effects: Vec::new(), wake_at: open.decision.wake_at };
    let pouring = world.units.extra.pouring.as_deref_mut();
    let filled = pouring.and_then(|pouring| filling(pouring, identity, &open.policy));
    let (Some(filled), Some(object)) = (filled, world.units.policies.get_mut(identity)) else {
        return closed;
    };
    let settled = settle(identity, &open.policy, &filled, object.memory.as_ref(), opened_at);
    object.memory = Some(Memory {
        unit_pods: filled.unit_pods,
        pending_pods: filled.pending_pods,
        full: filled.reason.cause.full,
    });
    closed.recorded = settled.recorded.into_iter().map(Recorded::Units).collect();
    closed.effects = settled.effects;
    closed
}
