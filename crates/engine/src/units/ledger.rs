//! The ledger: the unit of each policy in which each pod is counted. Changes keep it up to date.
//!
//! A watch event changes only the entries that it affects. A bound or unbound pod costs the same among a thousand pods
//! as among fifty thousand. The cost of an edited policy depends on its number of pods, and on the number of nodes.
//!
//! A pod counts from the reservation of its binding (`binds`), whether or not the API server has reported the binding
//! since. `lead` determines when the ledger may reserve. The owner of the ledger reads the API server, waits and
//! writes.

mod allocations;
mod binding_annotations;
mod binds;
mod costs;
mod explain;
mod lead;
mod leases;
mod nodes;
mod nominations;
mod pods;
mod policies;
mod preemption;
mod prepared;
mod reasons;
mod refusals;
mod report;
mod selection;
mod settling;
mod usage;
mod verdicts;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

pub use binds::{Bound, Confirmed, ReservationId};
pub use costs::CostChange;
pub(super) use costs::price;
pub use explain::PodExplanation;
pub use lead::{LedgerState, NotServing, TooEarly};
pub use nominations::StaleNominations;
pub use preemption::Eviction;
pub use prepared::{LabelSnapshot, PreparedPolicy};
pub use refusals::ReserveError;
pub(super) use refusals::count_of_pods;
pub use report::{Conflict, GroupReport, PolicyReport, UnitCount};
pub use settling::{BindOutcome, UnsettledBinding};
pub use verdicts::{FilterOutcome, Verdict, Verdicts};

use self::binds::Reservations;
use self::leases::Lease;
use self::nominations::Nominations;
use self::report::CostEntry;
use self::usage::{BoundSince, PolicyUsage, Rank, UnitIndex};
use self::waiting::RefusedPods;
use super::slots::{GroupId, NodeId, PodId, PolicyId, ShapeId, Slots};
use super::{DeletionCost, Elapsed, Owner, Ungoverned};
use crate::{Identity, Labels};

/// Policies, nodes and pods, and their counts.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    standing: LedgerState,
    usages: Slots<PolicyId, PolicyUsage>,
    namespaces: BTreeMap<Arc<str>, Namespace>,
    shapes: Slots<ShapeId, Shape>,
    nodes: Slots<NodeId, NodeSlot>,
    node_ids: BTreeMap<Arc<str>, NodeId>,
    /// Whether deleted nodes without pods are kept.
    keeps_unused_nodes: bool,
    /// The number of times that the ID of a node was released or reused for another node.
    renumberings: u64,
    pods: Slots<PodId, PodSlot>,
    pod_ids: BTreeMap<Identity, PodId>,
    /// The ledger contains every change of pods up to this version.
    pods_seen: Option<u64>,
    /// The ledger contains every change of nodes up to this version.
    nodes_seen: Option<u64>,
    /// The ledger contains every change of policies up to this version.
    policies_seen: Option<u64>,
    reservations: Reservations,
    leases: BTreeMap<PodId, Lease>,
    lease_ends: BTreeSet<(Elapsed, PodId)>,
    nominations: Nominations,
    waiting: RefusedPods,
    /// Pods whose desired cost may differ from their current cost.
    unpriced: BTreeSet<PodId>,
    /// Pods whose binding annotations may name a deleted policy.
    unchecked_annotations: BTreeSet<PodId>,
    /// The ranks from which the order of the pods over a cap has changed.
    reordered: BTreeMap<CountedIn, Rank>,
}

/// The policies and pods of one namespace. The entry exists while the namespace has any of these.
#[derive(Clone, Debug, Default)]
struct Namespace {
    policies: BTreeMap<Identity, PolicyId>,
    shapes: BTreeMap<Labels, ShapeId>,
}

/// The pods of a namespace with the same labels. Selectors are evaluated once for all of these pods.
#[derive(Clone, Debug)]
struct Shape {
    namespace: Arc<str>,
    labels: Labels,
    /// The policies that select the pods, in the order of their names, each with the group of the pods. With several
    /// policies, none of the pods is scheduled, and pods on nodes count under each policy.
    governing: Box<[(PolicyId, GroupId)]>,
    pods: BTreeSet<PodId>,
    /// The number of these pods that no policy governs, even if policies select them.
    ungoverned: usize,
}

/// A node, or the name of a node in the spec of pods.
#[derive(Clone, Debug)]
struct NodeSlot {
    name: Arc<str>,
    /// The last known labels. The labels of a deleted node determine the unit of the pods that are still bound to it.
    labels: Option<Labels>,
    is_registered: bool,
    version: Option<u64>,
    pods: BTreeSet<PodId>,
}

/// The state of a pod.
#[derive(Clone, Debug)]
struct PodSlot {
    identity: Identity,
    uid: Option<Arc<str>>,
    version: Option<u64>,
    shape: ShapeId,
    /// The node of the pod in the API server.
    node: Option<NodeId>,
    is_finished: bool,
    is_terminating: bool,
    is_refused: bool,
    /// The name of the node for which a scheduler has nominated the pod.
    nominated: Option<Arc<str>>,
    /// The name of the pod's scheduler; `None` for the default one.
    scheduler: Option<Arc<str>>,
    created: Option<Timestamp>,
    bound: Option<Timestamp>,
    owner: Option<Arc<Owner>>,
    ungoverned: Option<Ungoverned>,
    cost: DeletionCost,
    /// The policy in its binding annotations.
    bound_policy: Option<Arc<str>>,
    /// The number of the reserved binding that no event has confirmed.
    reservation: Option<u64>,
    /// The allocations of the pod: one, unless policies conflict or the binding changes the labels of the pod.
    allocations: Vec<Allocation>,
    /// The report entry about the cost of the pod.
    cost_entry: Option<(PolicyId, CostEntry)>,
    /// The number of the pod among the refused pods.
    waiting: Option<u64>,
    /// The end of the time in which the requeued pod is expected to be scheduled.
    woken_until: Option<Elapsed>,
}

/// A unit of a policy, or the nodes outside all units, for one group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct CountedIn {
    policy: PolicyId,
    group: GroupId,
    unit_index: UnitIndex,
}

/// The group and unit in which a pod is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Allocation {
    at: CountedIn,
    /// The instant of the pod's binding, for its rank.
    since: BoundSince,
    /// The number of pods over the cap of the unit that precede this pod; `None` if the pod is within the cap.
    over: Option<u32>,
}

impl Ledger {
    /// Creates a ledger that decides nothing before it leads.
    #[must_use]
    pub fn new() -> Ledger {
        Ledger::default()
    }

    /// Creates a ledger without other replicas, as in a forecast.
    #[must_use]
    pub fn alone() -> Ledger {
        Ledger { standing: LedgerState::Serving { generation: 0 }, ..Ledger::default() }
    }

    /// The ID of a node; `None` if the node is unknown. A caller that reads thousands of nodes at the same time can
    /// keep a table of IDs, as long as [`Ledger::renumberings`] is the same.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<NodeId> {
        let id = *self.node_ids.get(name)?;
        self.nodes[id].is_registered.then_some(id)
    }

    /// A number that changes when the ID of a node is reused for another node, or released.
    #[must_use]
    pub fn renumberings(&self) -> u64 {
        self.renumberings
    }

    /// Whether a pod is known.
    #[must_use]
    pub fn has_pod(&self, pod: &Identity) -> bool {
        self.pod_ids.contains_key(pod)
    }

    /// The index of the policy's unit that contains a node; `None` outside all units.
    #[must_use]
    pub fn unit_of(&self, policy: &Identity, node: NodeId) -> Option<usize> {
        self.usages[self.policy(policy)?].unit_of(node).index()
    }

    /// The ID of a pod, if the pod still has this UID.
    fn pod_of(&self, pod: &Identity, uid: Option<&str>) -> Option<PodId> {
        let id = *self.pod_ids.get(pod)?;
        (self.pods[id].uid.as_deref() == uid).then_some(id)
    }

    /// The node of a pod: the node in its last event, or the node of its reserved binding.
    fn node_of(&self, pod: &PodSlot) -> Option<NodeId> {
        let reserved = || Some(self.reservations.get(pod.reservation?)?.node);
        pod.node.or_else(reserved)
    }
}

/// Whether a version of an object is not newer than the known version.
fn is_outdated(known: Option<u64>, version: Option<u64>) -> bool {
    matches!((known, version), (Some(known), Some(version)) if version <= known)
}

/// Whether the known version is newer than the version of a list.
fn is_newer(known: Option<u64>, list: Option<u64>) -> bool {
    matches!((known, list), (Some(known), Some(list)) if known > list)
}
