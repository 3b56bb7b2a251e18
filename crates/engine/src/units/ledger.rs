//! The ledger: which pods are counted in which unit of which policy, kept up to date by what changes.
//!
//! News of an object touches what it changes and nothing else. A pod that is bound or unbound costs the same among a
//! thousand pods as among fifty thousand; a policy that is edited costs as much as it has pods and there are nodes.
//!
//! A pod counts from the moment its binding is reserved (`binds`), whether or not the API server has shown it since. Who
//! may reserve is up to `lead`. Reading the API server, waiting and writing is up to whoever holds the ledger.

mod binds;
mod book;
mod costs;
mod explain;
mod lead;
mod leases;
mod nodes;
mod pods;
mod policies;
mod report;
mod seats;
mod verdicts;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use binds::Reservation;
pub use binds::{BindOutcome, Bound, ReservationId, Reserved, Unreserved, Unsettled};
pub use costs::CostChange;
pub use explain::PodExplanation;
pub use lead::{Standing, TooEarly};
pub use report::{Conflict, GroupReport, PolicyReport, UnitCount};
pub use verdicts::{Preemption, Ruling, Verdict, Verdicts};

use self::book::{Book, UnitPlace};
use self::leases::Lease;
use self::waiting::Waiting;
use super::slots::{GroupId, NodeId, PodId, PolicyId, ShapeId, Slots};
use super::{DeletionCost, Owner, Ungoverned};
use crate::{Identity, Labels};

/// Policies, nodes and pods, and what is counted of them.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    standing: Standing,
    books: Slots<PolicyId, Book>,
    namespaces: BTreeMap<Arc<str>, Namespace>,
    shapes: Slots<ShapeId, Shape>,
    nodes: Slots<NodeId, NodeSlot>,
    node_ids: BTreeMap<Arc<str>, NodeId>,
    pods: Slots<PodId, PodSlot>,
    pod_ids: BTreeMap<Identity, PodId>,
    /// Everything about pods up to this version is known.
    pods_seen: Option<u64>,
    /// The same of nodes.
    nodes_seen: Option<u64>,
    reservations: BTreeMap<u64, Reservation>,
    next_reservation: u64,
    leases: BTreeMap<PodId, Lease>,
    lease_ends: BTreeSet<(Timestamp, PodId)>,
    waiting: Waiting,
    /// Pods whose wanted cost may be another one than they have.
    unpriced: BTreeSet<PodId>,
    /// Where the order of the pods over a cap has changed.
    reordered: BTreeSet<(PolicyId, GroupId, UnitPlace)>,
}

/// What is there of one namespace. It is there as long as it has policies or pods.
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
    governing: Governing,
    pods: BTreeSet<PodId>,
}

/// Which policy governs pods.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Governing {
    /// None selects them.
    None,
    /// One.
    One(PolicyId, GroupId),
    /// Several select them, so that none can.
    Several,
}

/// A node, or the name of one that pods say they are on.
#[derive(Clone, Debug)]
struct NodeSlot {
    name: Arc<str>,
    /// `None` while the node is not known.
    labels: Option<Labels>,
    version: Option<u64>,
    pods: BTreeSet<PodId>,
}

/// What is kept of a pod.
#[derive(Clone, Debug)]
struct PodSlot {
    identity: Identity,
    uid: Option<Arc<str>>,
    version: Option<u64>,
    shape: ShapeId,
    /// The node that the API server has shown it on.
    node: Option<NodeId>,
    is_finished: bool,
    is_terminating: bool,
    created: Option<Timestamp>,
    bound: Option<Timestamp>,
    owner: Option<Arc<Owner>>,
    ungoverned: Option<Ungoverned>,
    cost: DeletionCost,
    /// The binding that has been reserved and not been seen.
    reservation: Option<u64>,
    seat: Option<Seat>,
    /// How many pods over the cap of its unit come before it, if it is over.
    over: Option<u32>,
    /// Its place among those that wait.
    waiting: Option<u64>,
    /// Until when it is expected to be scheduled after it was woken.
    woken_until: Option<Timestamp>,
}

/// Where a pod is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Seat {
    policy: PolicyId,
    group: GroupId,
    place: UnitPlace,
    /// Since when it is bound, as far as its rank goes.
    since: Option<Timestamp>,
}

impl Ledger {
    /// A ledger that decides nothing before it has the lead.
    #[must_use]
    pub fn new() -> Ledger {
        Ledger::default()
    }

    /// A ledger beside which there is no other, as in a forecast.
    #[must_use]
    pub fn alone() -> Ledger {
        Ledger { standing: Standing::Serving { generation: 0 }, ..Ledger::default() }
    }

    /// The number of a node; `None` if it is not known. It stays the same as long as the node is there, so that whoever asks
    /// for thousands of nodes at a time can keep a table of them.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<NodeId> {
        let id = *self.node_ids.get(name)?;
        self.nodes[id].labels.is_some().then_some(id)
    }

    /// Whether a pod is known.
    #[must_use]
    pub fn has_pod(&self, pod: &Identity) -> bool {
        self.pod_ids.contains_key(pod)
    }

    /// The place of the unit of a policy that a node is in; `None` outside all of them.
    #[must_use]
    pub fn unit_of(&self, policy: &Identity, node: NodeId) -> Option<usize> {
        self.books[self.policy(policy)?].unit_of(node).index()
    }

    /// Where a pod is: the node it was seen on, or the one for which its binding is reserved.
    fn node_of(&self, pod: &PodSlot) -> Option<NodeId> {
        let reserved = || Some(self.reservations.get(&pod.reservation?)?.node);
        pod.node.or_else(reserved)
    }
}

/// Whether news of an object is older than what is known, or the same.
fn is_old_news(known: Option<u64>, news: Option<u64>) -> bool {
    matches!((known, news), (Some(known), Some(news)) if news <= known)
}
