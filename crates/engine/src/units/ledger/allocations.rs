//! The allocations of pods: the one module in which counts change.
//!
//! After each change, the affected pods are allocated again. All consequences are recorded here: the pods whose cost
//! might change, and the free capacity for refused pods.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::usage::{BoundSince, Crossing, Rank, UnitIndex};
use super::{Allocation, CountedIn, Ledger, PodSlot, Shape};
use crate::Labels;
use crate::units::slots::{GroupId, PodId, PolicyId, ShapeId};

impl Ledger {
    /// Updates the allocations of a pod.
    pub(super) fn allocate(&mut self, pod: PodId) {
        let allocations = self.allocations_of(pod);
        let known =
            self.pods[pod].allocations.iter().map(|allocation| (allocation.at, allocation.since));
        if known.eq(allocations.iter().copied()) {
            return;
        }
        self.remove_allocations(pod);
        self.unpriced.insert(pod);
        for (at, since) in allocations {
            let slot = &mut self.pods[pod];
            slot.allocations.push(Allocation { at, since, over: None });
            let rank = rank_of(slot, pod, since);
            let crossings = self.usages[at.policy].count(at.group, at.unit_index, &rank);
            self.note_crossings(at, &crossings);
        }
        self.record_cost_entry(pod);
    }

    /// Removes all allocations of a pod.
    pub(super) fn remove_allocations(&mut self, pod: PodId) {
        let slot = &mut self.pods[pod];
        if slot.allocations.is_empty() {
            return;
        }
        for Allocation { at, since, .. } in std::mem::take(&mut slot.allocations) {
            let rank = rank_of(&self.pods[pod], pod, since);
            let crossings = self.usages[at.policy].discount(at.group, at.unit_index, &rank);
            self.note_crossings(at, &crossings);
            self.note_victim_gone(pod);
            self.wake_for_room(at.policy, at.group);
        }
        self.unpriced.insert(pod);
        self.record_cost_entry(pod);
    }

    /// Records the pods that are newly over a cap or no longer over it.
    pub(super) fn note_crossings(&mut self, at: CountedIn, crossings: &[Crossing]) {
        for Crossing { rank, is_over } in crossings {
            // The number of preceding pods is computed when the cost is read.
            let mut allocations = self.pods[rank.pod].allocations.iter_mut();
            if let Some(allocation) = allocations.find(|allocation| allocation.at == at) {
                allocation.over = is_over.then_some(0);
            }
            self.unpriced.insert(rank.pod);
            let first = self.reordered.entry(at).or_insert_with(|| rank.clone());
            if rank < first {
                first.clone_from(rank);
            }
        }
    }

    /// The allocations of a pod. A pod without a node, or that has finished, has none. A pod that several policies
    /// select has one under each policy, so that their caps apply when the conflict ends. A pod whose binding may
    /// change its labels has one under both sets of labels. A terminating pod has no allocation under a policy that
    /// ignores terminating pods.
    fn allocations_of(&self, pod: PodId) -> Vec<(CountedIn, BoundSince)> {
        let slot = &self.pods[pod];
        let Some(node) = self.node_of(slot).filter(|_| !slot.is_finished) else {
            return Vec::new();
        };
        let mut allocations: Vec<(CountedIn, BoundSince)> = Vec::new();
        let will_be = self.will_be(pod).filter(|_| slot.ungoverned.is_none());
        let to_come = will_be.map_or(&[][..], |shape| &self.shapes[shape].governing);
        for (policy, group) in self.governing(slot).iter().chain(to_come).copied() {
            let usage = &self.usages[policy];
            let at = CountedIn { policy, group, unit_index: usage.unit_of(node) };
            let is_ignored = slot.is_terminating && usage.policy.ignores_terminating;
            if is_ignored || allocations.iter().any(|(known, _)| *known == at) {
                continue;
            }
            let has_cap = usage.unit(at.unit_index).is_some_and(|unit| unit.max.is_some());
            let since = if has_cap { bound_since(slot) } else { BoundSince::default() };
            allocations.push((at, since));
        }
        allocations
    }

    /// The policies that select a pod, each with the group of the pod.
    pub(super) fn governing(&self, pod: &PodSlot) -> &[(PolicyId, GroupId)] {
        match pod.ungoverned {
            Some(_) => &[],
            None => &self.shapes[pod.shape].governing,
        }
    }

    /// The entry of the pods with these labels in a namespace, created without pods if it does not exist.
    pub(super) fn shape(&mut self, namespace: &str, labels: &Labels) -> ShapeId {
        let entry = self.namespaces.get(namespace);
        if let Some(id) = entry.and_then(|namespace| namespace.shapes.get(labels)) {
            return *id;
        }
        let namespace: Arc<str> = match self.namespaces.get_key_value(namespace) {
            Some((name, _)) => Arc::clone(name),
            None => namespace.into(),
        };
        let shape = Shape {
            namespace: Arc::clone(&namespace),
            labels: labels.clone(),
            governing: [].into(),
            pods: BTreeSet::new(),
            ungoverned: 0,
        };
        let id = self.shapes.insert(shape);
        self.namespaces.entry(namespace).or_default().shapes.insert(labels.clone(), id);
        self.govern(id);
        id
    }

    /// Removes the entry of labels without pods.
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

    /// Releases the pods with the same labels from all policies, and returns the policies that governed these pods.
    /// Refused pods keep their position in the queue.
    pub(super) fn release(&mut self, id: ShapeId) -> Vec<PolicyId> {
        let pods: Vec<PodId> = self.shapes[id].pods.iter().copied().collect();
        for pod in &pods {
            self.end_lease(*pod);
            self.end_keeping(*pod);
            self.suspend_waiting(*pod);
            self.remove_allocations(*pod);
        }
        let governing = std::mem::take(&mut self.shapes[id].governing);
        for (policy, group) in &governing {
            self.usages[*policy].conflicts.remove(&id);
            if self.usages[*policy].leave_group(*group) {
                self.discard_group(*policy, *group);
            }
        }
        governing.iter().map(|(policy, _)| *policy).collect()
    }

    /// Lets the policies that select pods with the same labels govern these pods, and counts the pods.
    fn govern(&mut self, id: ShapeId) {
        let shape = &self.shapes[id];
        let policies = self.namespaces.get(&shape.namespace).map(|it| it.policies.values());
        let mut selecting: Vec<PolicyId> = policies.into_iter().flatten().copied().collect();
        selecting.retain(|policy| self.usages[*policy].policy.pod_selector.selects(&shape.labels));
        self.govern_by(id, selecting);
    }

    /// Lets these policies govern pods with the same labels, and counts the pods. `selecting` contains all policies
    /// that select the pods, in the order of their names.
    pub(super) fn govern_by(&mut self, id: ShapeId, selecting: Vec<PolicyId>) {
        let labels = self.shapes[id].labels.clone();
        let is_conflict = selecting.len() > 1;
        let governing = selecting.into_iter().map(|policy| {
            let usage = &mut self.usages[policy];
            if is_conflict {
                usage.conflicts.insert(id);
            }
            (policy, usage.join_group(&labels))
        });
        self.shapes[id].governing = governing.collect();
        let pods: Vec<PodId> = self.shapes[id].pods.iter().copied().collect();
        for pod in pods {
            self.allocate(pod);
            self.unpriced.insert(pod);
            self.resume_waiting(pod);
            self.apply_nomination(pod);
        }
    }

    /// Removes the entries of a deleted group.
    fn discard_group(&mut self, policy: PolicyId, group: GroupId) {
        self.waiting.discard_group(policy, group);
        let at = |unit_index| CountedIn { policy, group, unit_index };
        let all = at(UnitIndex::FIRST)..=at(UnitIndex::OUTSIDE);
        let reordered: Vec<CountedIn> = self.reordered.range(all).map(|(at, _)| *at).collect();
        for at in reordered {
            self.reordered.remove(&at);
        }
    }
}

/// The instant of a pod's binding; without a recorded instant, the creation of the pod.
fn bound_since(slot: &PodSlot) -> BoundSince {
    match (slot.node, slot.reservation) {
        (None, Some(number)) => BoundSince::BeingBound(number),
        _ => BoundSince::Bound(slot.bound.or(slot.created)),
    }
}

pub(super) fn rank_of(slot: &PodSlot, pod: PodId, since: BoundSince) -> Rank {
    Rank { since, uid: slot.uid.clone(), name: slot.identity.clone(), pod }
}
