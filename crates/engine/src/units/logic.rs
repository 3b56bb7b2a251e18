//! The family's implementation of the interface that all families share.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::filling::filling;
use super::gather::{all_in_force, in_force};
use super::pods_and_nodes::REVISION;
use super::scheduling::MAX_PODS;
use super::{
    Cause, Decision, Input, Memory, Pod, Recorded, Replicas, ResourcePolicy, Strategy, Unit,
    UnitsState, decide, gather, presumed, render, settle,
};
use crate::seam::{
    Beginning, DecisionParts, FamilyState, Happened, ObjectOf, Opening, PolicyDecision,
    PolicyFamily, ReasonText, Settlement, Start, Times, View, ViewMut,
};
use crate::{
    Action, Field, Footprint, Identity, Objects, Occurrence, Outcome, Presumption, Reason,
    RuleExplanation, Unmatched,
};

/// Units of nodes, as a family of policies.
#[derive(Clone, Copy, Debug)]
pub struct Units;

impl PolicyFamily for Units {
    const DECIDES_TOGETHER: bool = true;
    const EXPLAINS_PARTS: bool = true;

    type Policy = ResourcePolicy;
    type Memory = Memory;
    type Extra = UnitsState;
    type Input<'w> = Input<'w>;
    type Decision = Decision;
    type Cause = Cause;
    type Record = Recorded;

    fn gather<'w>(view: View<'w, Self>, policy: &Identity, _: Opening<'w>) -> Option<Input<'w>> {
        gather(view, policy)
    }

    fn decide(input: &Input<'_>, now: Timestamp) -> Decision {
        decide(input, now)
    }

    fn settle(
        state: &mut FamilyState<Self>,
        policy: &Identity,
        open: PolicyDecision<Self>,
        _: &[Outcome],
        times: Times,
    ) -> Settlement<Self> {
        let wake_at = open.decision.wake_at;
        let scheduling = state.extra.scheduling.as_deref_mut();
        let filled = scheduling.and_then(|scheduling| filling(scheduling, policy, &open.policy));
        let (Some(filled), Some(object)) = (filled, state.policies.get_mut(policy)) else {
            return Settlement { wake_at, ..Settlement::NOTHING };
        };
        let memory = object.memory.as_ref();
        let settled = settle(policy, &open.policy, &filled, memory, times.opened_at);
        object.memory = Some(Memory {
            unit_pods: filled.unit_pods,
            pending_pods: filled.pending_pods,
            full: filled.reason.cause.full,
        });
        Settlement { recorded: settled.recorded, effects: settled.effects, wake_at }
    }

    /// Policies of one namespace may select the same pods. Policies of all namespaces share the resources of nodes that
    /// report them. It is equivalent that all other policies read the first of these policies.
    fn footprint(view: View<'_, Self>, policy: &Identity) -> Option<Footprint> {
        let (identity, checked) = in_force(view.objects, view.state, policy)?;
        let mut reads = workloads_and_autoscalers(view, identity, checked);
        let is_shared = shares_nodes(view);
        let connected = all_in_force(view.objects, view.state).find(|(other, policy)| {
            let is_near = is_shared || other.namespace() == identity.namespace();
            is_near && has_pods(view, other, policy)
        });
        let has_pods = has_pods(view, identity, checked);
        let connected = connected.map(|(first, _)| first.clone());
        reads.extend(connected.filter(|first| has_pods && first != identity));
        let fields = [Field::UnitPods, Field::PendingPods];
        let writes = fields.into_iter().filter(|_| has_pods).map(|it| (identity.clone(), it));
        Some(Footprint { reads, writes: writes.collect() })
    }

    fn describe(
        view: View<'_, Self>,
        policy: &Identity,
        reason: &Reason<Cause>,
    ) -> Option<ReasonText> {
        let policy = view.state.policy(policy)?;
        let unit = reason.rule.and_then(|rule| policy.units.get(usize::try_from(rule).ok()?));
        Some((unit.map(|unit| Arc::clone(&unit.name)), render(policy, reason)))
    }

    fn explain(
        view: View<'_, Self>,
        policy: &Identity,
        object: Option<&Identity>,
        _: Timestamp,
    ) -> Vec<RuleExplanation> {
        super::explain::explain(view, policy, object)
    }

    fn occurrence(_: View<'_, Self>, _: &Identity, record: &Recorded) -> Option<Happened> {
        let what = if record.is_full { Occurrence::Overflows } else { Occurrence::Suffices };
        Some((what, Some(Arc::clone(&record.unit))))
    }

    fn begin(view: ViewMut<'_, Self>, policies: &[&Identity], from: Beginning) -> Start<Self> {
        super::begin::begin(view, policies, from)
    }

    fn stored(object: ObjectOf<Self>, before: Option<ObjectOf<Self>>) -> ObjectOf<Self> {
        object.with_memory_of_same(before)
    }

    fn share(state: &FamilyState<Self>, part: &mut FamilyState<Self>) {
        if !part.policies.is_empty() {
            part.extra.pods_and_nodes = Arc::clone(&state.extra.pods_and_nodes);
        }
    }

    fn without_pods(_: &FamilyState<Self>) -> FamilyState<Self> {
        FamilyState::default()
    }

    fn is_stopped(view: View<'_, Self>, policy: &Identity) -> bool {
        in_force(view.objects, view.state, policy).is_some()
    }

    fn unmatched(view: View<'_, Self>, identity: &Identity) -> Vec<Unmatched> {
        let policy = view.state.policies.get(identity).and_then(|it| it.policy.as_ref());
        let Some(policy) = policy else { return Vec::new() };
        let (pods, nodes) =
            (&view.state.extra.pods_and_nodes.pods, &view.state.extra.pods_and_nodes.nodes);
        let pods = pods.iter().chain(&view.state.extra.pods_and_nodes.templates);
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

    fn presumptions(view: View<'_, Self>, policy: &Identity) -> Vec<Presumption> {
        let Some((identity, checked)) = in_force(view.objects, view.state, policy) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        if view.state.extra.pods_and_nodes.nodes.is_empty() {
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
        for (_, pod) in selected_pods(view, identity, checked) {
            nodes.extend(
                pod.node
                    .iter()
                    .filter(|node| !view.state.extra.pods_and_nodes.nodes.contains_key(*node)),
            );
            has_revision |= pod.labels.get(REVISION).is_some();
        }
        all.extend(nodes.into_iter().map(Presumption::node_without_labels));
        let by_revision = checked.group_keys.iter().any(|key| **key == *REVISION);
        if by_revision && !has_revision {
            all.push(presumed::one_revision(identity));
        }
        let maximums = view.peers.max_replicas_by_workload();
        for (workload, _) in selected_workloads(view, identity, checked) {
            let maximum = maximums.get(workload).copied();
            if let Some(autoscaler) = view.state.extra.pods_and_nodes.autoscalers.get(workload) {
                all.push(presumed::within_bounds(autoscaler, workload));
            }
            let replicas = view.objects.workloads.get(workload).and_then(|it| it.replicas);
            if replicas.max(maximum).is_some_and(|most| most > MAX_PODS) {
                all.push(presumed::too_many_pods(workload, MAX_PODS));
            } else if replicas.is_none() {
                all.push(presumed::unknown_number(workload));
            }
        }
        all
    }

    fn selects(view: View<'_, Self>, policy: &Identity, pod: &Identity) -> bool {
        super::explain::selects(view, policy, pod)
    }

    fn follows(view: View<'_, Self>, policy: &Identity) -> Vec<Identity> {
        let Some((identity, checked)) = in_force(view.objects, view.state, policy) else {
            return Vec::new();
        };
        workloads_and_autoscalers(view, identity, checked)
    }

    fn follows_target(
        view: View<'_, Self>,
        policy: &Identity,
        now: Timestamp,
    ) -> Option<Timestamp> {
        in_force(view.objects, view.state, policy)?;
        Some(
            view.state
                .extra
                .scheduling
                .as_ref()
                .map_or(now, |scheduling| scheduling.from().max(now)),
        )
    }

    /// Pods of different policies share the capacity of nodes.
    fn influenced_by(view: View<'_, Self>, policy: &Identity) -> Vec<Identity> {
        let others = shares_nodes(view)
            .then(|| all_in_force(view.objects, view.state).map(|(other, _)| other));
        others.into_iter().flatten().filter(|other| *other != policy).cloned().collect()
    }
}

impl DecisionParts for Decision {
    fn actions(&self) -> &[Action] {
        &self.actions
    }

    fn take_actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }
}

/// Whether pods of different policies may use the same capacity.
fn shares_nodes(view: View<'_, Units>) -> bool {
    view.state.extra.pods_and_nodes.nodes.values().any(|node| node.allocatable.is_some())
}

fn has_pods(view: View<'_, Units>, identity: &Identity, policy: &ResourcePolicy) -> bool {
    selected_workloads(view, identity, policy).next().is_some()
        || selected_pods(view, identity, policy).next().is_some()
}

/// The workloads and autoscalers that determine the number of pods that a policy selects.
fn workloads_and_autoscalers(
    view: View<'_, Units>,
    identity: &Identity,
    policy: &ResourcePolicy,
) -> Vec<Identity> {
    let workloads = selected_workloads(view, identity, policy).map(|(workload, _)| workload);
    let autoscaler_of = |workload| view.state.extra.pods_and_nodes.autoscalers.get(workload);
    workloads.flat_map(|it| [Some(it), autoscaler_of(it)]).flatten().cloned().collect()
}

/// The workloads whose pods a policy selects, each with a pod from its template.
pub(super) fn selected_workloads<'w>(
    view: View<'w, Units>,
    identity: &'w Identity,
    policy: &'w ResourcePolicy,
) -> impl Iterator<Item = (&'w Identity, &'w Pod)> {
    let here = view.state.extra.pods_and_nodes.templates_in(identity.namespace());
    here.filter(|(_, pod)| pod.ungoverned.is_none() && policy.pod_selector.selects(&pod.labels))
}

/// The pods that a policy selects at the start of a run, without finished pods.
pub(super) fn selected_pods<'w>(
    view: View<'w, Units>,
    identity: &'w Identity,
    policy: &'w ResourcePolicy,
) -> impl Iterator<Item = (&'w Identity, &'w Pod)> {
    let here = view.state.extra.pods_and_nodes.pods_in(identity.namespace());
    here.filter(|(_, pod)| {
        let may_be_governed = pod.ungoverned.is_none() && !pod.is_finished;
        may_be_governed && policy.pod_selector.selects(&pod.labels)
    })
}

/// Gives each workload its desired number of pods, and schedules them.
pub(crate) fn schedule_pods(objects: &Objects, state: &mut UnitsState, at: Timestamp) -> Outcome {
    let Some(mut scheduling) = state.scheduling.take() else { return Outcome::Unchanged };
    let is_changed = scheduling.schedule_pods(Replicas::from_objects(objects, state), at);
    state.scheduling = Some(scheduling);
    if is_changed { Outcome::Done } else { Outcome::Unchanged }
}
