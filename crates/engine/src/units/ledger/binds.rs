//! Bindings: a pod is counted from the moment its binding is reserved until that is settled.
//!
//! A binding is settled when the API server has refused it for good, or when the pod has been seen: on a node, or gone.
//! An answer that did not come says nothing: the binding may have been carried out, and may be carried out yet. It is
//! settled by a read that was begun after the last instant at which the request could be under way.

use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::costs::price;
use super::{Governing, Ledger, Standing};
use crate::Identity;
use crate::units::slots::{NodeId, PodId, ShapeId};
use crate::units::{DeletionCost, Pod, Strategy};

/// Names a binding that was reserved. One that was reserved under an earlier lead names nothing any more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ReservationId {
    generation: u64,
    number: u64,
}

/// A binding that is under way, or of which it is not known what became of it.
#[derive(Clone, Debug)]
pub(super) struct Reservation {
    generation: u64,
    pod: PodId,
    pub(super) node: NodeId,
    pub(super) made: Timestamp,
    ends_by: Timestamp,
}

/// What to write with a binding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reserved {
    /// The name of the reservation.
    pub id: ReservationId,
    /// No request that carries it out may be under way after this.
    pub ends_by: Timestamp,
    /// The policy and the unit it is counted under; `None` for a pod without a policy.
    pub bound: Option<Bound>,
}

/// The place of a pod, as its annotations are to say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bound {
    /// The policy.
    pub policy: Identity,
    /// The name of the unit; `None` outside all units.
    pub unit: Option<Arc<str>>,
    /// The deletion cost to set; `None` for a pod that has one of its user, or for which it has no meaning.
    pub cost: Option<i32>,
}

/// What the API server has answered to a binding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BindOutcome {
    /// It is carried out.
    Posted,
    /// It is not, and never will be.
    Failed,
    /// There was no answer, or one that does not say: a timeout, a conflict.
    Unknown,
}

/// Why a binding cannot be reserved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unreserved {
    /// This ledger does not have the lead, or is not complete yet.
    NotServing,
    /// The pod is not known by this UID: it has to be read first, and then may be gone.
    UnknownPod,
    /// The node is not known.
    UnknownNode,
    /// The pod has run to its end, or is being deleted.
    NotPending,
    /// The pod is on this node already.
    AlreadyBound {
        /// The node.
        node: Arc<str>,
    },
    /// A binding of the pod to this node is not settled yet.
    UnderWay {
        /// The node.
        node: Arc<str>,
    },
    /// Several policies select the pod.
    Conflict(Box<[Identity]>),
    /// The node is in no unit, and the policy requires one.
    Outside {
        /// The policy.
        policy: Identity,
    },
    /// The unit takes no more pods of the group.
    Full {
        /// The policy.
        policy: Identity,
        /// The name of the unit.
        unit: Arc<str>,
        /// How many pods are counted in it.
        used: u32,
        /// Its cap.
        max: u32,
    },
}

/// A binding that has to be settled by reading its pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsettled {
    /// The name of the reservation.
    pub id: ReservationId,
    /// The pod.
    pub pod: Identity,
}

impl Ledger {
    /// Reserves a place for a pod on a node, by what is known of the node at this moment: the unit it is in, and how many
    /// are counted there. Leases do not matter. The pod counts from now on.
    ///
    /// The binding has to be posted with the UID, and to have ended after the longest time that one takes, one way or the
    /// other.
    pub fn reserve(
        &mut self,
        pod: &Identity,
        uid: Option<&Arc<str>>,
        node: &str,
        now: Timestamp,
        longest_bind: SignedDuration,
    ) -> Result<Reserved, Unreserved> {
        let Standing::Serving { generation } = self.standing else {
            return Err(Unreserved::NotServing);
        };
        let known = self.pod_ids.get(pod).copied();
        let id = known.filter(|id| self.pods[*id].uid.as_ref() == uid);
        let id = id.ok_or(Unreserved::UnknownPod)?;
        let node = self.node(node).ok_or(Unreserved::UnknownNode)?;
        self.check_pending(id)?;
        let bound = self.check_room(id, node)?;
        let ends_by = now.saturating_add(longest_bind).unwrap_or(Timestamp::MAX);
        let number = self.next_reservation;
        self.next_reservation += 1;
        let reservation = Reservation { generation, pod: id, node, made: now, ends_by };
        self.reservations.insert(number, reservation);
        self.pods[id].reservation = Some(number);
        self.nodes[node].pods.insert(id);
        self.end_lease(id);
        self.stop_waiting(id);
        self.end_waking(id);
        self.seat(id);
        Ok(Reserved { id: ReservationId { generation, number }, ends_by, bound })
    }

    fn check_pending(&self, id: PodId) -> Result<(), Unreserved> {
        let slot = &self.pods[id];
        let name = |node: NodeId| Arc::clone(&self.nodes[node].name);
        if let Some(node) = slot.node {
            return Err(Unreserved::AlreadyBound { node: name(node) });
        }
        if let Some(node) = self.node_of(slot) {
            return Err(Unreserved::UnderWay { node: name(node) });
        }
        if slot.is_finished || slot.is_terminating { Err(Unreserved::NotPending) } else { Ok(()) }
    }

    fn check_room(&self, id: PodId, node: NodeId) -> Result<Option<Bound>, Unreserved> {
        let slot = &self.pods[id];
        let (policy, group) = match self.governing(slot) {
            Governing::None => return Ok(None),
            Governing::One(policy, group) => (policy, group),
            Governing::Several => return Err(Unreserved::Conflict(self.conflict_of(slot.shape))),
        };
        let book = &self.books[policy];
        let place = book.unit_of(node);
        let unit = book.unit(place);
        if unit.is_none() && book.policy.strategy == Strategy::Required {
            return Err(Unreserved::Outside { policy: book.identity.clone() });
        }
        if let Some(unit) = unit
            && let Some(max) = unit.max
        {
            let used = book.groups[group].cell(place).map_or(0, |cell| cell.used);
            if used >= max {
                let (policy, unit) = (book.identity.clone(), Arc::clone(&unit.name));
                return Err(Unreserved::Full { policy, unit, used, max });
            }
        }
        Ok(Some(Bound {
            policy: book.identity.clone(),
            unit: unit.map(|unit| Arc::clone(&unit.name)),
            cost: self.cost_when_bound(id, unit.map(|unit| unit.priority)),
        }))
    }

    fn cost_when_bound(&self, id: PodId, priority: Option<i32>) -> Option<i32> {
        let slot = &self.pods[id];
        let is_free = slot.cost != DeletionCost::Others;
        (is_free && slot.has_cost()).then(|| price(priority, None))
    }

    /// What the API server has answered. Without an answer, or if the pod has not been seen since it was bound, the
    /// reservation stays.
    pub fn settle(&mut self, id: ReservationId, outcome: BindOutcome) {
        if outcome == BindOutcome::Failed
            && let Some(pod) = self.reserved_pod(id)
        {
            self.take_reservation(pod);
            self.seat(pod);
        }
    }

    /// The bindings that should have ended by now and have not been seen. Each is settled by reading its pod.
    pub fn unsettled(&self, now: Timestamp) -> impl Iterator<Item = Unsettled> {
        let ended = self.reservations.iter().filter(move |(_, it)| it.ends_by <= now);
        ended.map(|(number, it)| Unsettled {
            id: ReservationId { generation: it.generation, number: *number },
            pod: self.pods[it.pod].identity.clone(),
        })
    }

    /// When the next binding should have ended that has not been seen.
    #[must_use]
    pub fn next_unsettled(&self) -> Option<Timestamp> {
        self.reservations.values().map(|it| it.ends_by).min()
    }

    /// The pod of a binding as the API server has it, by a quorum read that was begun at that instant; `None` if it has
    /// none of this name. Whether that settles the binding.
    pub fn settle_by_read(
        &mut self,
        id: ReservationId,
        found: Option<&Pod>,
        begun_at: Timestamp,
    ) -> bool {
        let Some(pod) = self.reserved_pod(id) else { return true };
        let identity = self.pods[pod].identity.clone();
        let is_ended = self.reservations[&id.number].ends_by <= begun_at;
        match found {
            None => {
                let uid = self.pods[pod].uid.clone();
                self.remove_pod(&identity, uid.as_ref(), None);
                return true;
            }
            Some(found) => self.read_pod(&identity, found),
        };
        let Some(pod) = self.reserved_pod(id) else { return true };
        let is_unbound = is_ended && found.is_none_or(|found| found.node.is_none());
        if is_unbound {
            self.take_reservation(pod);
            self.seat(pod);
        }
        is_unbound
    }

    fn reserved_pod(&self, id: ReservationId) -> Option<PodId> {
        let reservation = self.reservations.get(&id.number)?;
        (reservation.generation == id.generation).then_some(reservation.pod)
    }

    /// Takes the reservation of a pod out. Where the pod counts now is up to whoever takes it.
    pub(super) fn take_reservation(&mut self, pod: PodId) -> Option<Reservation> {
        let number = self.pods[pod].reservation.take()?;
        let reservation = self.reservations.remove(&number)?;
        if self.pods[pod].node != Some(reservation.node) {
            self.nodes[reservation.node].pods.remove(&pod);
            self.drop_node_if_unused(reservation.node);
        }
        Some(reservation)
    }

    /// Drops the bindings that cannot be under way any more, and that a complete list has shown the outcome of.
    pub(super) fn drop_ended_reservations(&mut self, listed_at: Timestamp) {
        let ended: Vec<PodId> = self
            .reservations
            .values()
            .filter(|reservation| reservation.ends_by <= listed_at)
            .map(|reservation| reservation.pod)
            .collect();
        for pod in ended {
            self.take_reservation(pod);
            self.seat(pod);
        }
    }

    /// The policies that select pods with the same labels.
    pub(super) fn conflict_of(&self, shape: ShapeId) -> Box<[Identity]> {
        let shape = &self.shapes[shape];
        let selecting = self.selecting(&shape.namespace, &shape.labels);
        selecting.into_iter().map(|policy| self.books[policy].identity.clone()).collect()
    }

    /// How many bindings are not settled.
    #[must_use]
    pub fn reservations(&self) -> usize {
        self.reservations.len()
    }
}

/// `namespace/name`, as a person refers to a policy.
pub(super) fn short(policy: &Identity) -> String {
    format!("{}/{}", policy.namespace(), policy.name())
}

/// Why nothing is decided for a pod that several policies select.
pub(super) fn conflict_message(policies: &[Identity]) -> String {
    let names: Vec<String> = policies.iter().map(short).collect();
    let names = names.join(", ");
    format!("{} ResourcePolicies select the pod ({names}), and only one may", policies.len())
}

impl fmt::Display for Unreserved {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotServing => formatter.write_str("this replica does not decide at the moment"),
            Self::UnknownPod => {
                formatter.write_str("the pod is not known, or is another one by now")
            }
            Self::UnknownNode => formatter.write_str("the node is not known"),
            Self::NotPending => formatter.write_str("the pod has finished or is being deleted"),
            Self::AlreadyBound { node } => write!(formatter, "the pod is on node {node} already"),
            Self::UnderWay { node } => {
                write!(
                    formatter,
                    "the pod is being bound to node {node}, and it is not known yet whether it was"
                )
            }
            Self::Conflict(policies) => formatter.write_str(&conflict_message(policies)),
            Self::Outside { policy } => write!(
                formatter,
                "the node is in no unit of ResourcePolicy {}, whose strategy is required",
                short(policy)
            ),
            Self::Full { policy, unit, used, max } => write!(
                formatter,
                "unit \"{unit}\" of ResourcePolicy {} is full: {used} of {max} pods",
                short(policy)
            ),
        }
    }
}

impl std::error::Error for Unreserved {}
