//! Assigns pods to units after the replicas of their workloads change. The assignment assumes that the scheduler
//! accepts every node with free capacity, and that all changes happen at the same time.
//!
//! The verdict of the ledger determines whether a pod may use a unit, as in production. Existing pods are those of
//! their workloads; only replicas beyond these are synthetic. `rooms` determines the nodes with free capacity,
//! `leaving` the pods to delete first, and `numbered` the numbers of a `StatefulSet`.

mod leaving;
mod numbered;
mod rooms;
mod stand_ins;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use self::numbered::is_numbered;
use self::rooms::Rooms;
use self::stand_ins::stand_ins;
use super::pods_and_nodes::{Makers, labels_of_next, owner_of_next};
use super::{
    FilterOutcome, Ledger, NodeId, Pod, PodsAndNodes, Replicas, ResourcePolicy, Resources, Space,
    Verdict, Verdicts,
};
use crate::{Identity, Labels};

/// The maximum number of distinguished pods of one workload, to limit the work for absurd numbers.
pub(crate) const MAX_PODS: u32 = 10_000;

/// The pods of workloads, from creation to deletion.
#[derive(Clone, Debug)]
pub struct SchedulingSimulation {
    from: Timestamp,
    ledger: Ledger,
    rooms: Rooms,
    has_stand_ins: bool,
    pods: BTreeMap<Identity, Pod>,
    workloads: BTreeMap<Identity, Members>,
    /// The possible groups of each policy.
    groups: BTreeMap<Identity, BTreeSet<GroupKey>>,
    /// The pods without a node that may be scheduled, in the order in which a scheduler handles them.
    pending: BTreeSet<(Option<Timestamp>, Identity)>,
    /// The pods without a node that have scheduling gates.
    gated: BTreeSet<Identity>,
    /// The instants at which the deletion of pods is complete.
    departures: BTreeSet<(Timestamp, Identity)>,
    /// Departures in namespaces without policies.
    ungoverned_departures: BTreeMap<Identity, Pod>,
}

/// The values of the labels that a policy groups pods by, in its order.
pub(crate) type GroupKey = Box<[Option<Arc<str>>]>;

/// The properties of pods that a scheduler distinguishes: namespace, labels and requests.
type SchedulingProperties = (Arc<str>, Labels, Option<u64>, Option<u64>);

/// The pods of a workload.
#[derive(Clone, Debug)]
struct Members {
    /// The next pod from the template.
    next: Pod,
    /// The pods that count as its replicas.
    pods: BTreeSet<Identity>,
    made: u64,
    /// The number of the first pod, for pods with numbers.
    first_number: u64,
    /// The lowest and the highest existing number; `None` unless all pods have a number.
    span: Option<(u64, u64)>,
}

impl SchedulingSimulation {
    /// Creates the simulation from the current pods and nodes under these policies, before any assignment.
    pub(crate) fn new<'p>(
        pods_and_nodes: &PodsAndNodes,
        policies: impl Iterator<Item = (&'p Identity, &'p ResourcePolicy)> + Clone,
        from: Timestamp,
    ) -> SchedulingSimulation {
        let mut ledger = Ledger::alone();
        for (identity, policy) in policies.clone() {
            ledger.set_policy(identity, policy.clone(), None);
        }
        let stand_ins = if pods_and_nodes.nodes.is_empty() {
            stand_ins(policies.clone().map(|(_, policy)| policy))
        } else {
            BTreeMap::new()
        };
        let nodes = pods_and_nodes.nodes.iter().chain(&stand_ins);
        for (name, node) in nodes.clone() {
            ledger.set_node(name, node);
        }
        let mut rooms = Rooms::new(nodes, &ledger);
        for pod in pods_and_nodes.pods.values().filter(|pod| !pod.is_finished) {
            if let Some(node) = &pod.node {
                rooms.take(node, pod.requests);
            }
        }
        let mut scheduling = SchedulingSimulation {
            from,
            ledger,
            rooms,
            has_stand_ins: pods_and_nodes.nodes.is_empty(),
            pods: BTreeMap::new(),
            workloads: BTreeMap::new(),
            groups: BTreeMap::new(),
            pending: BTreeSet::new(),
            gated: BTreeSet::new(),
            departures: BTreeSet::new(),
            ungoverned_departures: BTreeMap::new(),
        };
        let makers = Makers::new(pods_and_nodes);
        let namespaces: BTreeSet<&str> =
            policies.clone().map(|(policy, _)| policy.namespace()).collect();
        for namespace in namespaces {
            let here = policies.clone().filter(|(policy, _)| policy.namespace() == namespace);
            let here: Vec<&ResourcePolicy> = here.map(|(_, policy)| policy).collect();
            scheduling.add_namespace(pods_and_nodes, &makers, namespace, &here);
        }
        scheduling.add_ungoverned_departures(pods_and_nodes);
        for (identity, policy) in policies {
            let groups = scheduling.groups_of(identity, policy);
            scheduling.groups.insert(identity.clone(), groups);
        }
        scheduling
    }

    fn add_namespace(
        &mut self,
        pods_and_nodes: &PodsAndNodes,
        makers: &Makers<'_>,
        namespace: &str,
        policies: &[&ResourcePolicy],
    ) {
        let mut of_workloads: BTreeMap<&Identity, Vec<(&Identity, &Pod)>> = BTreeMap::new();
        for (identity, pod) in pods_and_nodes.pods_in(namespace) {
            self.ledger.set_pod(identity, pod);
            self.pods.insert(identity.clone(), pod.clone());
            if pod.is_finished {
                continue;
            }
            if let Some(gone) = pod.deleted {
                self.departures.insert((gone, identity.clone()));
                continue;
            }
            if pod.ungoverned.is_some() {
                continue;
            }
            if pod.node.is_none() {
                self.add_pending(identity, pod);
            }
            if let Some(workload) = makers.workload_of(namespace, pod) {
                of_workloads.entry(workload).or_default().push((identity, pod));
            }
        }
        for (workload, template) in pods_and_nodes.templates_in(namespace) {
            let pods = of_workloads.remove(workload).unwrap_or_default();
            let labels = labels_of_next(template, pods.iter().copied());
            let is_governed = template.ungoverned.is_none()
                && policies.iter().any(|policy| policy.pod_selector.selects(&labels));
            if !is_governed {
                continue;
            }
            let owner = Some(Arc::new(owner_of_next(workload)));
            let next = Pod { labels, owner, ..template.clone() };
            let pods = pods.into_iter().map(|(pod, _)| pod.clone()).collect();
            let first_number = pods_and_nodes.first_numbers.get(workload).copied().unwrap_or(0);
            let mut members = Members { next, pods, made: 0, first_number, span: None };
            if is_numbered(workload) {
                members.note_numbers();
            }
            self.workloads.insert(workload.clone(), members);
        }
    }

    /// Adds a pod without a node. A scheduler handles the pod unless it has gates: the instant of their removal is
    /// unknown.
    fn add_pending(&mut self, identity: &Identity, pod: &Pod) {
        if pod.gates.is_empty() {
            self.pending.insert((pod.created, identity.clone()));
        } else {
            self.gated.insert(identity.clone());
        }
    }

    /// Adds the departures in namespaces without policies: these pods free capacity.
    fn add_ungoverned_departures(&mut self, pods_and_nodes: &PodsAndNodes) {
        for (identity, pod) in &pods_and_nodes.pods {
            if let Some(gone) = pod.deleted
                && !pod.is_finished
                && pod.node.is_some()
                && !self.pods.contains_key(identity)
            {
                self.departures.insert((gone, identity.clone()));
                self.ungoverned_departures.insert(identity.clone(), pod.clone());
            }
        }
    }

    fn groups_of(&self, identity: &Identity, policy: &ResourcePolicy) -> BTreeSet<GroupKey> {
        let running_pods = self.pods.iter().filter(|(pod, it)| {
            pod.namespace() == identity.namespace() && it.ungoverned.is_none() && !it.is_finished
        });
        let made = self
            .workloads
            .iter()
            .filter(|(workload, _)| workload.namespace() == identity.namespace());
        let labels = running_pods.map(|(_, pod)| &pod.labels);
        let labels = labels.chain(made.map(|(_, members)| &members.next.labels));
        let selected = labels.filter(|labels| policy.pod_selector.selects(labels));
        selected.map(|labels| group_of(policy, labels)).collect()
    }

    /// The possible groups of a policy.
    pub(crate) fn groups(&self, policy: &Identity) -> impl Iterator<Item = &GroupKey> {
        self.groups.get(policy).into_iter().flatten()
    }

    /// The start of the simulation. Before that, no pod is assigned.
    pub(crate) fn from(&self) -> Timestamp {
        self.from
    }

    /// The ledger with the counts.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The pods without a node.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (&Identity, &Pod)> {
        let waiting = self.pending.iter().map(|(_, pod)| pod).chain(&self.gated);
        waiting.filter_map(|pod| Some((pod, self.pods.get(pod)?)))
    }

    /// The existing pods, in the namespaces of the policies.
    pub fn pods(&self) -> impl Iterator<Item = (&Identity, &Pod)> {
        self.pods.iter()
    }

    /// The pod of this name.
    #[must_use]
    pub fn pod(&self, pod: &Identity) -> Option<&Pod> {
        self.pods.get(pod)
    }

    /// The workloads, each with a pod from its template.
    pub(crate) fn workloads(&self) -> impl Iterator<Item = (&Identity, &Pod)> {
        self.workloads.iter().map(|(workload, members)| (workload, &members.next))
    }

    /// Whether no pod must be created, deleted or assigned.
    pub(crate) fn is_settled(&self, replicas: Replicas<'_>, now: Timestamp) -> bool {
        let has_gone = self.departures.first().is_some_and(|(gone, _)| *gone <= now);
        let is_as_many = |(workload, members): (&Identity, &Members)| {
            wanted(replicas, workload).is_none_or(|wanted| {
                if is_numbered(workload) {
                    members.is_complete(workload, wanted, &self.pods)
                } else {
                    wanted == members.pods.len()
                }
            })
        };
        !has_gone && self.workloads.iter().all(is_as_many) && self.pending.is_empty()
    }

    /// The next instant at which the deletion of a pod is complete.
    pub(crate) fn next_departure(&self, now: Timestamp) -> Option<Timestamp> {
        let later = self.departures.iter().map(|(gone, _)| *gone);
        later.into_iter().find(|gone| *gone > now)
    }

    /// Changes every workload to its desired number of pods. First the excess pods are deleted, then new pods are
    /// created, each in the order of the workloads. Then a scheduler assigns the pods without a node. Returns whether
    /// anything has changed.
    pub(crate) fn schedule_pods(&mut self, replicas: Replicas<'_>, now: Timestamp) -> bool {
        let mut is_changed = self.remove_departed(now);
        let wanted: Vec<(Identity, usize)> = self
            .workloads
            .keys()
            .filter_map(|it| Some((it.clone(), wanted(replicas, it)?)))
            .collect();
        for (workload, wanted) in &wanted {
            for pod in self.first_to_go(workload, *wanted) {
                self.remove(&pod);
                if let Some(members) = self.workloads.get_mut(workload) {
                    members.pods.remove(&pod);
                }
                is_changed = true;
            }
        }
        for (workload, wanted) in &wanted {
            is_changed |= self.make(workload, *wanted, now);
            let members = self.workloads.get_mut(workload).filter(|_| is_numbered(workload));
            if let Some(members) = members.filter(|_| is_changed) {
                members.note_numbers();
            }
        }
        self.schedule(now) || is_changed
    }

    /// Removes the pods whose deletion is complete by now. Returns whether any pod was removed.
    pub(crate) fn remove_departed(&mut self, now: Timestamp) -> bool {
        let mut is_changed = false;
        while let Some((gone, pod)) = self.departures.first().cloned()
            && gone <= now
        {
            self.remove(&pod);
            is_changed = true;
        }
        is_changed
    }

    /// Creates pods of a workload up to the desired number.
    fn make(&mut self, workload: &Identity, wanted: usize, now: Timestamp) -> bool {
        let Some(members) = self.workloads.get_mut(workload) else { return false };
        let pod = Pod { created: Some(now), ..members.next.clone() };
        let made: Vec<Identity> = if is_numbered(workload) {
            members.missing(workload, wanted, &self.pods)
        } else {
            let missing = wanted.saturating_sub(members.pods.len()) as u64;
            let first = members.made + 1;
            members.made += missing;
            (first..first + missing).map(|number| synthetic_pod(workload, number)).collect()
        };
        members.pods.extend(made.iter().cloned());
        let is_any_made = !made.is_empty();
        for identity in made {
            // A new pod replaces a finished pod of the same name.
            if let Some(finished) = self.pods.remove(&identity) {
                self.ledger.remove_pod(&identity, finished.uid.as_ref(), None);
            }
            self.ledger.set_pod(&identity, &pod);
            self.add_pending(&identity, &pod);
            self.pods.insert(identity, pod.clone());
        }
        is_any_made
    }

    /// Schedules the pods without a node in order. Returns whether any pod was assigned.
    fn schedule(&mut self, now: Timestamp) -> bool {
        // If a pod has no node, no later pod with the same properties has one.
        let mut refused: BTreeSet<SchedulingProperties> = BTreeSet::new();
        let mut placed = Vec::new();
        for (created, identity) in &self.pending {
            let Some(pod) = self.pods.get_mut(identity) else { continue };
            let Resources { milli_cpu, memory, .. } = pod.requests;
            let properties = (identity.namespace().into(), pod.labels.clone(), milli_cpu, memory);
            if refused.contains(&properties) {
                continue;
            }
            let candidates = self.rooms.candidates(pod.requests);
            let node =
                chosen_node(&self.ledger, &self.rooms, identity, pod.uid.as_deref(), &candidates);
            let Some(node) = node else {
                refused.insert(properties);
                continue;
            };
            pod.bound = Some(now);
            self.rooms.take(&node, pod.requests);
            pod.node = Some(node);
            self.ledger.set_pod(identity, pod);
            placed.push((*created, identity.clone()));
        }
        for pod in &placed {
            self.pending.remove(pod);
        }
        !placed.is_empty()
    }

    fn remove(&mut self, identity: &Identity) {
        let pod =
            self.pods.remove(identity).or_else(|| self.ungoverned_departures.remove(identity));
        let Some(pod) = pod else { return };
        self.ledger.remove_pod(identity, pod.uid.as_ref(), None);
        if let Some(node) = &pod.node {
            self.rooms.free(node, pod.requests);
        }
        self.pending.remove(&(pod.created, identity.clone()));
        self.gated.remove(identity);
        if let Some(gone) = pod.deleted {
            self.departures.remove(&(gone, identity.clone()));
        }
    }

    /// The nodes to choose among for a pod with these requests.
    pub(crate) fn candidates(&mut self, requests: Resources) -> Vec<NodeId> {
        self.rooms.candidates(requests)
    }

    /// The free capacity of the nodes of each unit of a policy for a pod with these requests; last, of the nodes
    /// outside all units.
    pub(crate) fn spaces(
        &mut self,
        identity: &Identity,
        policy: &ResourcePolicy,
        requests: Resources,
    ) -> Vec<Space> {
        self.rooms.spaces(identity, policy.units.len(), requests)
    }

    /// Evaluates the ledger with one additional pod.
    pub(crate) fn with_pod<T>(
        &mut self,
        identity: &Identity,
        pod: &Pod,
        evaluate: impl FnOnce(&Ledger) -> T,
    ) -> T {
        self.ledger.set_pod(identity, pod);
        let result = evaluate(&self.ledger);
        self.ledger.remove_pod(identity, None, None);
        result
    }

    /// Whether synthetic nodes replace nodes that the input lacks.
    pub(crate) fn has_stand_ins(&self) -> bool {
        self.has_stand_ins
    }
}

/// The group of pods with these labels.
pub(crate) fn group_of(policy: &ResourcePolicy, labels: &Labels) -> GroupKey {
    policy.group_keys.iter().map(|key| labels.get(key).map(Arc::from)).collect()
}

/// The desired number of pods of a workload, up to the maximum of distinguished pods; `None` if it is unknown.
fn wanted(replicas: Replicas<'_>, workload: &Identity) -> Option<usize> {
    usize::try_from(replicas.get(workload)?.min(MAX_PODS)).ok()
}

/// The name of a synthetic pod, which no pod of a cluster can have. Names sort in the order of creation.
fn synthetic_pod(workload: &Identity, number: u64) -> Identity {
    let name = format!("{}/{}#{number:020}", workload.kind(), workload.name());
    Identity::new("", "Pod", workload.namespace(), name)
}

/// The node of a pod: the first node by name, in the first chosen unit that accepts the pod.
fn chosen_node(
    ledger: &Ledger,
    rooms: &Rooms,
    pod: &Identity,
    uid: Option<&str>,
    candidates: &[NodeId],
) -> Option<Arc<str>> {
    let outcome = ledger.verdicts(pod, uid, candidates);
    let is_allowed = |node: &NodeId| match &outcome {
        FilterOutcome::ByNode(verdicts) => verdicts.get(Some(*node)) == Verdict::Chosen,
        FilterOutcome::Untouched => true,
        FilterOutcome::Conflict(_)
        | FilterOutcome::NotPending
        | FilterOutcome::UnknownPod
        | FilterOutcome::NotServing => false,
    };
    let policy = match &outcome {
        FilterOutcome::ByNode(verdicts) => Some(Verdicts::policy(verdicts)),
        _ => None,
    };
    let rank = |node: &NodeId| {
        let unit = policy.and_then(|policy| ledger.unit_of(policy, *node));
        (unit.unwrap_or(usize::MAX), rooms.name(*node))
    };
    let best = candidates.iter().filter(|node| is_allowed(node)).min_by_key(|node| rank(node))?;
    rooms.name(*best).cloned()
}
