//! Bindings: reserves capacity for a pod, confirms the reservation right before the request is sent, and counts the pod
//! from the reservation until the settlement (`settling`).
//!
//! A binding has the version of the pod that was read for the decision as its precondition. So neither the labels nor a
//! user's own deletion cost of the pod change during the binding. A pod without a node at a later version was not
//! bound, and will not be bound.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::costs::price;
use super::refusals::ReserveError;
use super::{Ledger, LedgerState};
use crate::units::slots::{GroupId, NodeId, PodId, PolicyId, ShapeId};
use crate::units::{DeletionCost, Elapsed, LongestBind, Node, Pod, Strategy};
use crate::{Identity, Labels};

/// The node labels that the API server may copy to a pod when it binds the pod.
const GIVEN_WHEN_BOUND: [&str; 2] =
    ["topology.kubernetes.io/region", "topology.kubernetes.io/zone"];

/// The name of a reservation. The name of a settled reservation, or of an earlier term, refers to nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ReservationId {
    pub(super) generation: u64,
    pub(super) number: u64,
}

/// A binding that is reserved, is in progress, or has an unknown outcome.
#[derive(Clone, Debug)]
pub(super) struct Reservation {
    pub(super) generation: u64,
    pub(super) pod: PodId,
    pub(super) node: NodeId,
    /// The version of the pod that is the precondition of the binding; `None` without a precondition.
    pub(super) version: Option<u64>,
    /// The labels that the binding may give the pod; `None` if they do not differ.
    will_be: Option<ShapeId>,
    is_posted: bool,
    /// Whether the scheduler received the response that this binding must be resolved first.
    pub(super) is_put_off: bool,
    pub(super) ends_by: Elapsed,
}

/// All reservations, by their numbers and by their deadlines.
#[derive(Clone, Debug, Default)]
pub(super) struct Reservations {
    all: BTreeMap<u64, Reservation>,
    ends: BTreeSet<(Elapsed, u64)>,
    next: u64,
}

/// The binding to post, and its deadline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Confirmed {
    /// The UID of the pod, a precondition of the binding.
    pub uid: Option<Arc<str>>,
    /// The version of the pod, also a precondition of the binding.
    pub version: Option<u64>,
    /// The policy and the unit under which the pod is counted; `None` for a pod without a policy.
    pub bound: Option<Bound>,
    /// The instant by which every request for this binding must have ended.
    pub ends_by: Elapsed,
}

/// The unit of a pod, for the binding annotations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bound {
    /// The policy.
    pub policy: Identity,
    /// The name of the unit; `None` outside all units.
    pub unit: Option<Arc<str>>,
    /// The deletion cost to set; `None` for a pod with a user's own cost, or whose owner does not use the cost.
    pub cost: Option<i32>,
}

impl Ledger {
    /// Reserves capacity for a pod on a node. The caller has read both for this reservation, by quorum reads. The state
    /// of the watch is used only if it is newer. The pod counts from now on. Leases have no effect.
    ///
    /// Callers must [settle](Ledger::settle) a reservation as failed unless they [confirm](Ledger::confirm) and post
    /// it.
    pub fn reserve(
        &mut self,
        (pod, read_pod): (&Identity, &Pod),
        (node, read_node): (&str, &Node),
        now: Elapsed,
        longest: LongestBind,
    ) -> Result<ReservationId, ReserveError> {
        let LedgerState::Serving { generation } = self.standing else {
            return Err(ReserveError::NotServing);
        };
        let is_there = self.read_pod(pod, read_pod);
        let known_pod = self.pod_of(pod, read_pod.uid.as_deref()).filter(|_| is_there);
        let id = known_pod.ok_or(ReserveError::UnknownPod)?;
        self.read_node(node, read_node);
        let node = self.node(node).ok_or(ReserveError::UnknownNode)?;
        self.check_pending(id)?;
        let will_be = self.shape_when_bound(id, node);
        if let Err(why) = self.check_room(id, node, will_be, 0) {
            if let Some(shape) = will_be {
                self.drop_shape_if_empty(shape);
            }
            return Err(why);
        }
        let slot = &mut self.pods[id];
        let version = slot.version;
        let ends_by = longest.after(now);
        let reservation = Reservation {
            generation,
            pod: id,
            node,
            version,
            will_be,
            is_posted: false,
            is_put_off: false,
            ends_by,
        };
        let number = self.reservations.insert(reservation);
        slot.reservation = Some(number);
        self.nodes[node].pods.insert(id);
        if let Some(shape) = will_be {
            self.shapes[shape].pods.insert(id);
        }
        self.end_lease(id);
        self.drop_nomination(id);
        self.stop_waiting(id);
        self.end_waking(id);
        self.allocate(id);
        Ok(ReservationId { generation, number })
    }

    /// Returns the binding to post if its reservation is still valid; otherwise releases the reservation. Callers call
    /// this right before the request, and after a check of the leadership.
    ///
    /// The request has the UID and the version as its preconditions. It has ended after the maximum time of a request,
    /// from now.
    pub fn confirm(
        &mut self,
        id: ReservationId,
        now: Elapsed,
        longest: LongestBind,
    ) -> Result<Confirmed, ReserveError> {
        let pod = self.reserved_pod(id).ok_or(ReserveError::Withdrawn)?;
        let reservation = &self.reservations[id.number];
        let node = reservation.node;
        if reservation.is_posted {
            let node = Arc::clone(&self.nodes[node].name);
            return Err(ReserveError::UnderWay { node });
        }
        let checked = self.check_reserved(pod, id, now);
        let bound = checked.inspect_err(|_| self.return_permit(pod))?;
        let ends_by = longest.after(now);
        self.reservations.post(id.number, ends_by);
        let (uid, version) = (self.pods[pod].uid.clone(), self.reservations[id.number].version);
        Ok(Confirmed { uid, version, bound, ends_by })
    }

    fn check_reserved(
        &self,
        pod: PodId,
        id: ReservationId,
        now: Elapsed,
    ) -> Result<Option<Bound>, ReserveError> {
        if self.standing != (LedgerState::Serving { generation: id.generation }) {
            return Err(ReserveError::NotServing);
        }
        let reservation = &self.reservations[id.number];
        let slot = &self.pods[pod];
        if reservation.ends_by <= now || slot.version != reservation.version {
            return Err(ReserveError::Withdrawn);
        }
        if slot.is_finished || slot.is_terminating {
            return Err(ReserveError::NotPending);
        }
        if !self.nodes[reservation.node].is_registered {
            return Err(ReserveError::UnknownNode);
        }
        self.check_room(pod, reservation.node, reservation.will_be, 1)
    }

    fn check_pending(&self, id: PodId) -> Result<(), ReserveError> {
        let slot = &self.pods[id];
        let name = |node: NodeId| Arc::clone(&self.nodes[node].name);
        if let Some(node) = slot.node {
            return Err(ReserveError::AlreadyBound { node: name(node) });
        }
        if let Some(node) = self.node_of(slot) {
            return Err(ReserveError::UnderWay { node: name(node) });
        }
        if slot.is_finished || slot.is_terminating { Err(ReserveError::NotPending) } else { Ok(()) }
    }

    /// Checks the free capacity for a pod that is already counted this number of times, with its current labels and
    /// with the labels that the binding may give it.
    fn check_room(
        &self,
        id: PodId,
        node: NodeId,
        will_be: Option<ShapeId>,
        counted: u32,
    ) -> Result<Option<Bound>, ReserveError> {
        let shapes = [Some(self.pods[id].shape), will_be];
        let mut bound = None;
        for shape in shapes.into_iter().flatten() {
            let governing = match self.pods[id].ungoverned {
                Some(_) => &[],
                None => &*self.shapes[shape].governing,
            };
            bound = match *governing {
                [] => None,
                [(policy, group)] => Some(self.check_unit(id, node, policy, group, counted)?),
                [_, _, ..] => return Err(ReserveError::Conflict(self.selecting_names(shape))),
            };
        }
        Ok(bound)
    }

    fn check_unit(
        &self,
        id: PodId,
        node: NodeId,
        policy: PolicyId,
        group: GroupId,
        counted: u32,
    ) -> Result<Bound, ReserveError> {
        let usage = &self.usages[policy];
        let unit_index = usage.unit_of(node);
        let unit = usage.unit(unit_index);
        if unit.is_none() && usage.policy.strategy == Strategy::Required {
            return Err(ReserveError::Outside { policy: usage.identity.clone() });
        }
        if let Some(unit) = unit
            && let Some(max) = unit.max
        {
            let unit_usage = usage.groups[group].unit_usage(unit_index);
            let own =
                self.kept_in(id, (policy, group)).filter(|(at, _)| at.unit_index == unit_index);
            let (used, kept) = (
                unit_usage.used.saturating_sub(counted),
                unit_usage.kept(own.map(|(_, turn)| turn)),
            );
            if used.saturating_add(kept) >= max {
                let (policy, unit) = (usage.identity.clone(), Arc::clone(&unit.name));
                return Err(ReserveError::Full { policy, unit, used, kept, max });
            }
        }
        Ok(Bound {
            policy: usage.identity.clone(),
            unit: unit.map(|unit| Arc::clone(&unit.name)),
            cost: self.cost_when_bound(id, unit.map(|unit| unit.priority)),
        })
    }

    fn cost_when_bound(&self, id: PodId, priority: Option<i32>) -> Option<i32> {
        let slot = &self.pods[id];
        let is_free = !matches!(slot.cost, DeletionCost::Others(_));
        (is_free && slot.has_cost()).then(|| price(priority, None))
    }

    /// The labels of a pod after the API server copies those of the node; `None` if the pod has these labels already.
    fn shape_when_bound(&mut self, id: PodId, node: NodeId) -> Option<ShapeId> {
        let slot = &self.pods[id];
        let shape = &self.shapes[slot.shape];
        let of_node = self.nodes[node].labels.as_ref()?.iter();
        let mut added_labels = of_node.filter(|(key, _)| GIVEN_WHEN_BOUND.contains(key)).peekable();
        added_labels.peek()?;
        let labels = Labels::new(shape.labels.iter().chain(added_labels));
        if labels == shape.labels {
            return None;
        }
        let namespace = Arc::clone(&shape.namespace);
        Some(self.shape(&namespace, &labels))
    }

    pub(super) fn reserved_pod(&self, id: ReservationId) -> Option<PodId> {
        let reservation = self.reservations.get(id.number)?;
        (reservation.generation == id.generation).then_some(reservation.pod)
    }

    /// The labels that the binding of a pod may give it.
    pub(super) fn will_be(&self, pod: PodId) -> Option<ShapeId> {
        self.reservations.get(self.pods[pod].reservation?)?.will_be
    }

    /// Removes and returns the reservation of a pod. The caller decides where the pod counts now.
    pub(super) fn take_reservation(&mut self, pod: PodId) -> Option<Reservation> {
        if self.will_be(pod).is_some() {
            self.remove_allocations(pod);
        }
        let number = self.pods[pod].reservation.take()?;
        let reservation = self.reservations.remove(number)?;
        if self.pods[pod].node != Some(reservation.node) {
            self.nodes[reservation.node].pods.remove(&pod);
            self.drop_node_if_unused(reservation.node);
        }
        if let Some(shape) = reservation.will_be
            && self.pods[pod].shape != shape
        {
            self.shapes[shape].pods.remove(&pod);
            self.drop_shape_if_empty(shape);
        }
        Some(reservation)
    }

    /// The number of bindings that are not settled.
    #[must_use]
    pub fn reservations(&self) -> usize {
        self.reservations.all.len()
    }
}

impl Reservations {
    fn insert(&mut self, reservation: Reservation) -> u64 {
        let number = self.next;
        self.next += 1;
        self.ends.insert((reservation.ends_by, number));
        self.all.insert(number, reservation);
        number
    }

    fn post(&mut self, number: u64, ends_by: Elapsed) {
        let Some(reservation) = self.all.get_mut(&number) else { return };
        self.ends.remove(&(reservation.ends_by, number));
        reservation.is_posted = true;
        reservation.ends_by = ends_by;
        self.ends.insert((ends_by, number));
    }

    pub(super) fn postpone(&mut self, number: u64) {
        if let Some(reservation) = self.all.get_mut(&number) {
            reservation.is_put_off = true;
        }
    }

    fn remove(&mut self, number: u64) -> Option<Reservation> {
        let reservation = self.all.remove(&number)?;
        self.ends.remove(&(reservation.ends_by, number));
        Some(reservation)
    }

    pub(super) fn get(&self, number: u64) -> Option<&Reservation> {
        self.all.get(&number)
    }

    /// The reservations whose deadline has passed, with their numbers.
    pub(super) fn ended(&self, by: Elapsed) -> impl Iterator<Item = (u64, &Reservation)> {
        let reservations = self.ends.iter().take_while(move |(ends_by, _)| *ends_by <= by);
        reservations.filter_map(|(_, number)| Some((*number, self.all.get(number)?)))
    }

    pub(super) fn next_end(&self) -> Option<Elapsed> {
        self.ends.first().map(|(ends_by, _)| *ends_by)
    }

    /// An empty set of reservations that continues with unused numbers.
    pub(super) fn cleared(&self) -> Reservations {
        Reservations { next: self.next, ..Reservations::default() }
    }
}

impl std::ops::Index<u64> for Reservations {
    type Output = Reservation;

    fn index(&self, number: u64) -> &Reservation {
        &self.all[&number]
    }
}
