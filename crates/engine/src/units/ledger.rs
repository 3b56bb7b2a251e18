//! The ledger: which pods are counted in which unit of which policy, kept up to date by what changes.
//!
//! A watch event changes only the entries that it affects. A pod that is bound or unbound costs the same among a
//! thousand pods as among fifty thousand; a policy that is edited costs as much as it has pods and there are nodes.
//!
//! A pod counts from the reservation of its binding (`binds`), whether or not the API server has reported it since.
//! `lead` decides when the ledger may reserve. The owner of the ledger reads the API server, waits and writes.

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
    /// Whether deleted nodes are kept even without pods.
    keeps_unused_nodes: bool,
    /// The number of times that the ID of a node was released or given to another node.
    renumberings: u64,
    pods: Slots<PodId, PodSlot>,
    pod_ids: BTreeMap<Identity, PodId>,
    /// The ledger has every change of pods up to this version.
    pods_seen: Option<u64>,
    /// The same of nodes.
    nodes_seen: Option<u64>,
    /// The same of policies.
    policies_seen: Option<u64>,
    reservations: Reservations,
    leases: BTreeMap<PodId, Lease>,
    lease_ends: BTreeSet<(Elapsed, PodId)>,
    nominations: Nominations,
    waiting: RefusedPods,
    /// Pods whose wanted cost may be another one than they have.
    unpriced: BTreeSet<PodId>,
    /// Pods whose binding annotations may name a deleted policy.
    unchecked_annotations: BTreeSet<PodId>,
    /// The ranks from which the order of the pods over a cap has changed.
    reordered: BTreeMap<CountedIn, Rank>,
}

/// The policies and pods of one namespace. The entry exists as long as it has any.
#[derive(Clone, Debug, Default)]
struct Namespace {
    policies: BTreeMap<Identity, PolicyId>,
    shapes: BTreeMap<Labels, ShapeId>,
}

/// The pods of a namespace that have the same labels: selectors are evaluated once for all of them.
#[derive(Clone, Debug)]
struct Shape {
    namespace: Arc<str>,
    labels: Labels,
    /// The policies that select them, in the order of their names, with the group that they are in: none is scheduled if
    /// there are several, and those on nodes count under each.
    governing: Box<[(PolicyId, GroupId)]>,
    pods: BTreeSet<PodId>,
    /// The number of these pods that no policy governs, even if policies select them.
    ungoverned: usize,
}

/// A node, or the name of one that pods have in their spec.
#[derive(Clone, Debug)]
struct NodeSlot {
    name: Arc<str>,
    /// The last known labels. Those of a deleted node determine the unit of the pods still bound to it.
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
    /// The name of the node that a scheduler has nominated it for.
    nominated: Option<Arc<str>>,
    /// The name of its scheduler; `None` for the one that is there by default.
    scheduler: Option<Arc<str>>,
    created: Option<Timestamp>,
    bound: Option<Timestamp>,
    owner: Option<Arc<Owner>>,
    ungoverned: Option<Ungoverned>,
    cost: DeletionCost,
    /// The policy in its binding annotations.
    bound_policy: Option<Arc<str>>,
    /// The binding that has been reserved and not been seen.
    reservation: Option<u64>,
    /// The allocations of the pod: one, unless policies conflict or its binding changes its labels.
    allocations: Vec<Allocation>,
    /// The entry of a report about its cost.
    cost_entry: Option<(PolicyId, CostEntry)>,
    /// Its entry among the refused pods.
    waiting: Option<u64>,
    /// The end of the time in which it is expected to be scheduled after it was requeued.
    woken_until: Option<Elapsed>,
}

/// A unit of a policy, or the nodes outside all of them, for one group.
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
    /// The instant of its binding, for its rank.
    since: BoundSince,
    /// The number of pods over the cap of the unit that precede it, if it is over the cap.
    over: Option<u32>,
}

impl Ledger {
    /// A ledger that decides nothing before it leads.
    #[must_use]
    pub fn new() -> Ledger {
        Ledger::default()
    }

    /// A ledger without another one next to it, as in a forecast.
    #[must_use]
    pub fn alone() -> Ledger {
        Ledger { standing: LedgerState::Serving { generation: 0 }, ..Ledger::default() }
    }

    /// The number of a node; `None` if it is unknown. A caller that reads thousands of nodes at a time can keep a table
    /// of them, for as long as [`Ledger::renumberings`] is the same.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<NodeId> {
        let id = *self.node_ids.get(name)?;
        self.nodes[id].is_registered.then_some(id)
    }

    /// Changes when the number of a node is given to another one, or to none.
    #[must_use]
    pub fn renumberings(&self) -> u64 {
        self.renumberings
    }

    /// Whether a pod is known.
    #[must_use]
    pub fn has_pod(&self, pod: &Identity) -> bool {
        self.pod_ids.contains_key(pod)
    }

    /// The index of the unit of a policy that a node is in; `None` outside all of them.
    #[must_use]
    pub fn unit_of(&self, policy: &Identity, node: NodeId) -> Option<usize> {
        self.usages[self.policy(policy)?].unit_of(node).index()
    }

    /// A pod, if it is still the one with this UID.
    fn pod_of(&self, pod: &Identity, uid: Option<&str>) -> Option<PodId> {
        let id = *self.pod_ids.get(pod)?;
        (self.pods[id].uid.as_deref() == uid).then_some(id)
    }

    /// The node of a pod: the node in its last event, or the one for which its binding is reserved.
    fn node_of(&self, pod: &PodSlot) -> Option<NodeId> {
        let reserved = || Some(self.reservations.get(pod.reservation?)?.node);
        pod.node.or_else(reserved)
    }
}

/// Whether a version of an object is older than the known one, or the same.
fn is_outdated(known: Option<u64>, version: Option<u64>) -> bool {
    matches!((known, version), (Some(known), Some(version)) if version <= known)
}

/// Whether the known state is newer than a list.
fn is_newer(known: Option<u64>, list: Option<u64>) -> bool {
    matches!((known, list), (Some(known), Some(list)) if known > list)
}
