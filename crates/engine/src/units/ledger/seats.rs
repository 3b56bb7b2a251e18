//! Which pod is counted where: the one place in which counts change.
//!
//! Whatever happens, the pods it is about are seated again, and everything that follows is noted here: whose cost may
//! change, and where there may be room for pods that wait.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::book::{Crossing, Rank, UnitPlace};
use super::{Governing, Ledger, PodSlot, Seat, Shape};
use crate::Labels;
use crate::units::slots::{GroupId, PodId, PolicyId, ShapeId};

impl Ledger {
    /// Counts a pod where it belongs now.
    pub(super) fn seat(&mut self, pod: PodId) {
        let slot = &self.pods[pod];
        let seat = self.seat_of(slot);
        if slot.seat == seat {
            return;
        }
        self.unseat(pod);
        self.unpriced.insert(pod);
        let Some(seat) = seat else { return };
        let slot = &mut self.pods[pod];
        slot.seat = Some(seat);
        let rank = rank_of(slot, pod, seat);
        let crossings = self.books[seat.policy].count(seat.group, seat.place, &rank);
        self.note_crossings(seat, &crossings);
    }

    /// Counts a pod nowhere.
    pub(super) fn unseat(&mut self, pod: PodId) {
        let slot = &mut self.pods[pod];
        let Some(seat) = slot.seat.take() else { return };
        let rank = rank_of(slot, pod, seat);
        let crossings = self.books[seat.policy].discount(seat.group, seat.place, &rank);
        self.note_crossings(seat, &crossings);
        self.pods[pod].over = None;
        self.unpriced.insert(pod);
        self.waiting.room_in(seat.policy, seat.group);
    }

    /// Notes who is over a cap, or no longer.
    pub(super) fn note_crossings(&mut self, at: Seat, crossings: &[Crossing]) {
        for crossing in crossings {
            // By how many others it is preceded is found out when its cost is asked for.
            self.pods[crossing.pod].over = crossing.is_over.then_some(0);
            self.unpriced.insert(crossing.pod);
        }
        if !crossings.is_empty() {
            self.reordered.insert((at.policy, at.group, at.place));
        }
    }

    /// Where a pod belongs: a pod without a node, or that has run to its end, nowhere.
    fn seat_of(&self, pod: &PodSlot) -> Option<Seat> {
        let node = self.node_of(pod)?;
        let Governing::One(policy, group) = self.governing(pod) else { return None };
        let book = &self.books[policy];
        let is_ignored = pod.is_terminating && book.policy.ignores_terminating;
        if pod.is_finished || is_ignored {
            return None;
        }
        let place = book.unit_of(node);
        let has_cap = book.unit(place).is_some_and(|unit| unit.max.is_some());
        let since = has_cap.then(|| self.bound_since(pod)).flatten();
        Some(Seat { policy, group, place, since })
    }

    /// Since when a pod is bound. One that does not say was bound when it was created, as far as anybody knows.
    fn bound_since(&self, pod: &PodSlot) -> Option<Timestamp> {
        let reserved = pod.reservation.and_then(|number| self.reservations.get(&number));
        pod.bound.or(reserved.map(|reservation| reservation.made)).or(pod.created)
    }

    /// Which policy governs a pod.
    pub(super) fn governing(&self, pod: &PodSlot) -> Governing {
        match pod.ungoverned {
            Some(_) => Governing::None,
            None => self.shapes[pod.shape].governing,
        }
    }

    /// The policies that select pods with these labels, in the order of their names.
    pub(super) fn selecting(&self, namespace: &str, labels: &Labels) -> Vec<PolicyId> {
        let Some(namespace) = self.namespaces.get(namespace) else { return Vec::new() };
        let all = namespace.policies.values().copied();
        all.filter(|id| self.books[*id].policy.pod_selector.selects(labels)).collect()
    }

    /// The pods with these labels in a namespace, none so far if they are the first.
    pub(super) fn shape(&mut self, namespace: &str, labels: &Labels) -> ShapeId {
        let known = self.namespaces.get(namespace);
        if let Some(id) = known.and_then(|namespace| namespace.shapes.get(labels)) {
            return *id;
        }
        let namespace: Arc<str> = match self.namespaces.get_key_value(namespace) {
            Some((name, _)) => Arc::clone(name),
            None => namespace.into(),
        };
        let shape = Shape {
            namespace: Arc::clone(&namespace),
            labels: labels.clone(),
            governing: Governing::None,
            pods: BTreeSet::new(),
        };
        let id = self.shapes.insert(shape);
        self.namespaces.entry(namespace).or_default().shapes.insert(labels.clone(), id);
        self.govern(id);
        id
    }

    /// Forgets labels that no pod has any more.
    pub(super) fn drop_shape_if_empty(&mut self, id: ShapeId) {
        if !self.shapes[id].pods.is_empty() {
            return;
        }
        self.release(id);
        let Some(shape) = self.shapes.remove(id) else { return };
        if let Some(namespace) = self.namespaces.get_mut(&shape.namespace) {
            namespace.shapes.remove(&shape.labels);
            if namespace.shapes.is_empty() && namespace.policies.is_empty() {
                self.namespaces.remove(&shape.namespace);
            }
        }
    }

    /// Lets no policy govern pods with the same labels. Those that wait keep their place.
    pub(super) fn release(&mut self, id: ShapeId) {
        let pods: Vec<PodId> = self.shapes[id].pods.iter().copied().collect();
        for pod in &pods {
            self.end_lease(*pod);
            self.suspend_waiting(*pod);
            self.unseat(*pod);
        }
        let governing = std::mem::replace(&mut self.shapes[id].governing, Governing::None);
        if let Governing::One(policy, group) = governing
            && self.books[policy].leave_group(group)
        {
            self.forget_group(policy, group);
        }
    }

    /// Lets the policy that selects pods with the same labels govern them, and counts them.
    pub(super) fn govern(&mut self, id: ShapeId) {
        let shape = &self.shapes[id];
        let selecting = self.selecting(&shape.namespace, &shape.labels);
        let governing = match selecting[..] {
            [] => Governing::None,
            [policy] => {
                let group = self.books[policy].join_group(&shape.labels);
                Governing::One(policy, group)
            }
            [_, _, ..] => Governing::Several,
        };
        self.shapes[id].governing = governing;
        let pods: Vec<PodId> = self.shapes[id].pods.iter().copied().collect();
        for pod in pods {
            self.seat(pod);
            self.unpriced.insert(pod);
            self.resume_waiting(pod);
        }
    }

    /// Forgets what was noted about a group that is gone.
    fn forget_group(&mut self, policy: PolicyId, group: GroupId) {
        self.waiting.forget(policy, group);
        let all = (policy, group, UnitPlace::FIRST)..=(policy, group, UnitPlace::OUTSIDE);
        let reordered: Vec<_> = self.reordered.range(all).copied().collect();
        for cell in reordered {
            self.reordered.remove(&cell);
        }
    }
}

fn rank_of(slot: &PodSlot, pod: PodId, seat: Seat) -> Rank {
    Rank { bound: seat.since, uid: slot.uid.clone(), name: slot.identity.clone(), pod }
}
