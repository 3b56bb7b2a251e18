//! Pods that are created, changed and deleted.
//!
//! An event may arrive twice, and late: from the watch, and from separate reads. Events older than the known version
//! are ignored. An event without a node resolves a reserved binding only at a later version than the precondition of
//! the binding (see `settling`).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Ledger, PodSlot, is_newer, is_outdated};
use crate::Identity;
use crate::units::Pod;
use crate::units::slots::{NodeId, PodId};

impl Ledger {
    /// The known version of a pod: the precondition of a write to it.
    #[must_use]
    pub fn version_of(&self, pod: &Identity) -> Option<u64> {
        self.pods[*self.pod_ids.get(pod)?].version
    }

    /// Applies a watch event of a pod.
    pub fn set_pod(&mut self, identity: &Identity, pod: &Pod) {
        self.pods_seen = self.pods_seen.max(pod.version);
        self.apply_pod(identity, pod);
    }

    /// Applies a quorum read of a pod, independent of the watch. The read is ignored if the watch is newer. Returns
    /// whether the pod exists.
    ///
    /// Callers must not pass the pod in a scheduler's request: any client may have sent it, at any version.
    pub fn read_pod(&mut self, identity: &Identity, pod: &Pod) -> bool {
        if self.is_gone_pod(identity, pod) {
            return false;
        }
        self.apply_pod(identity, pod);
        let slot = self.pod_ids.get(identity).map(|id| &self.pods[*id]);
        slot.is_some_and(|slot| is_same_uid(slot, pod.uid.as_ref()))
    }

    /// Applies a watch event: a pod was deleted.
    pub fn remove_pod(
        &mut self,
        identity: &Identity,
        uid: Option<&Arc<str>>,
        version: Option<u64>,
    ) {
        self.pods_seen = self.pods_seen.max(version);
        let Some(id) = self.pod_ids.get(identity).copied() else { return };
        let slot = &self.pods[id];
        if is_same_uid(slot, uid) && !is_newer(slot.version, version) {
            self.discard_pod(id);
        }
    }

    /// Replaces the pods by one list of all existing pods at that version. Later watch events are newer.
    pub fn replace_pods<'p>(
        &mut self,
        all: impl IntoIterator<Item = (&'p Identity, &'p Pod)>,
        version: Option<u64>,
    ) {
        // The allocations of pods on deleted nodes must not depend on the order of the list.
        self.keeps_unused_nodes = true;
        let mut unlisted: BTreeSet<PodId> = self.pod_ids.values().copied().collect();
        for (identity, pod) in all {
            if self.is_gone_pod(identity, pod) {
                continue;
            }
            self.apply_pod(identity, pod);
            if let Some(id) = self.pod_ids.get(identity) {
                unlisted.remove(id);
            }
        }
        for id in unlisted {
            // A pod that was read after the list exists.
            if !self.pods.get(id).is_none_or(|slot| is_newer(slot.version, version)) {
                self.discard_pod(id);
            }
        }
        self.keeps_unused_nodes = false;
        for node in self.nodes.ids() {
            self.drop_node_if_unused(node);
        }
        self.pods_seen = self.pods_seen.max(version);
    }

    /// Whether a pod is deleted: the watch covers every pod, so it would contain an existing pod of this version.
    fn is_gone_pod(&self, identity: &Identity, pod: &Pod) -> bool {
        !self.pod_ids.contains_key(identity) && is_outdated(self.pods_seen, pod.version)
    }

    fn apply_pod(&mut self, identity: &Identity, pod: &Pod) {
        let Some(id) = self.pod_ids.get(identity).copied() else {
            return self.add_pod(identity, pod);
        };
        if is_outdated(self.pods[id].version, pod.version) {
            return;
        }
        if !is_same_uid(&self.pods[id], pod.uid.as_ref()) {
            self.discard_pod(id);
            return self.add_pod(identity, pod);
        }
        self.update_pod(id, identity.namespace(), pod);
    }

    fn add_pod(&mut self, identity: &Identity, pod: &Pod) {
        let shape = self.shape(identity.namespace(), &pod.labels);
        let slot = PodSlot {
            identity: identity.clone(),
            uid: pod.uid.clone(),
            version: pod.version,
            shape,
            node: None,
            is_finished: false,
            is_terminating: false,
            is_refused: false,
            nominated: None,
            scheduler: pod.scheduler.clone(),
            created: None,
            bound: None,
            owner: None,
            ungoverned: None,
            cost: pod.cost,
            bound_policy: None,
            reservation: None,
            allocations: Vec::new(),
            cost_entry: None,
            waiting: None,
            woken_until: None,
        };
        let id = self.pods.insert(slot);
        self.pod_ids.insert(identity.clone(), id);
        self.shapes[shape].pods.insert(id);
        self.update_pod(id, identity.namespace(), pod);
    }

    fn update_pod(&mut self, id: PodId, namespace: &str, pod: &Pod) {
        let slot = &mut self.pods[id];
        slot.version = pod.version;
        slot.is_finished = pod.is_finished;
        slot.is_terminating = pod.deleted.is_some();
        slot.is_refused = pod.is_refused;
        slot.created = pod.created;
        slot.bound = pod.bound;
        let is_renominated = slot.nominated != pod.nominated;
        if is_renominated {
            self.nominations.refused.remove(&id);
        }
        slot.nominated.clone_from(&pod.nominated);
        if slot.owner != pod.owner {
            slot.owner.clone_from(&pod.owner);
            self.unpriced.insert(id);
        }
        if std::mem::replace(&mut slot.cost, pod.cost) != pod.cost {
            self.unpriced.insert(id);
        }
        if slot.bound_policy != pod.bound_policy {
            slot.bound_policy.clone_from(&pod.bound_policy);
            self.unchecked_annotations.insert(id);
        }
        if pod.node.is_none() && self.is_conditional_on_earlier(id) {
            self.return_permit(id);
        }
        self.set_shape(id, namespace, pod);
        self.set_ungoverned(id, pod);
        let node = pod.node.as_ref().map(|name| self.node_slot(name));
        // A bound pod stays bound: the API server does not remove a node from a pod.
        if let Some(node) = node
            && self.pods[id].node != Some(node)
        {
            self.settle_where_seen(id, node);
        }
        if !self.is_pending(id) {
            self.end_lease(id);
            self.stop_waiting(id);
            self.end_waking(id);
            self.drop_nomination(id);
        } else if is_renominated {
            self.apply_nomination(id);
        }
        self.allocate(id);
        self.record_cost_entry(id);
    }

    /// Whether the precondition of a pod's reserved binding is an earlier version.
    fn is_conditional_on_earlier(&self, id: PodId) -> bool {
        let slot = &self.pods[id];
        let reservation = slot.reservation.and_then(|number| self.reservations.get(number));
        let conditional_on = reservation.and_then(|reservation| reservation.version);
        is_newer(slot.version, conditional_on)
    }

    fn set_ungoverned(&mut self, id: PodId, pod: &Pod) {
        if self.pods[id].ungoverned == pod.ungoverned {
            return;
        }
        self.end_lease(id);
        self.end_keeping(id);
        self.suspend_waiting(id);
        self.remove_allocations(id);
        let slot = &mut self.pods[id];
        let was = std::mem::replace(&mut slot.ungoverned, pod.ungoverned).is_some();
        let shape = &mut self.shapes[slot.shape];
        shape.ungoverned += usize::from(pod.ungoverned.is_some());
        shape.ungoverned -= usize::from(was);
        self.resume_waiting(id);
        self.apply_nomination(id);
        self.unpriced.insert(id);
        self.unchecked_annotations.insert(id);
    }

    /// Settles the reservation of a pod that the API server reports on a node, whether or not that is the reserved
    /// node.
    fn settle_where_seen(&mut self, id: PodId, node: NodeId) {
        let before = self.pods[id].node.replace(node);
        self.nodes[node].pods.insert(id);
        self.take_reservation(id);
        if let Some(before) = before {
            self.nodes[before].pods.remove(&id);
            self.drop_node_if_unused(before);
        }
        self.unpriced.insert(id);
        self.unchecked_annotations.insert(id);
    }

    fn set_shape(&mut self, id: PodId, namespace: &str, pod: &Pod) {
        let before = self.pods[id].shape;
        if self.shapes[before].labels == pod.labels {
            return;
        }
        self.end_lease(id);
        self.end_keeping(id);
        self.suspend_waiting(id);
        self.remove_allocations(id);
        self.leave_shape(id);
        let shape = self.shape(namespace, &pod.labels);
        let slot = &mut self.pods[id];
        slot.shape = shape;
        self.shapes[shape].ungoverned += usize::from(slot.ungoverned.is_some());
        self.shapes[shape].pods.insert(id);
        self.drop_shape_if_empty(before);
        self.unpriced.insert(id);
        self.resume_waiting(id);
        self.apply_nomination(id);
    }

    /// Moves a pod out of the entry of its labels, unless its binding gives it the same labels.
    fn leave_shape(&mut self, id: PodId) {
        let slot = &self.pods[id];
        let (shape, is_ungoverned) = (slot.shape, slot.ungoverned.is_some());
        self.shapes[shape].ungoverned -= usize::from(is_ungoverned);
        if self.will_be(id) != Some(shape) {
            self.shapes[shape].pods.remove(&id);
        }
    }

    fn discard_pod(&mut self, id: PodId) {
        self.end_lease(id);
        self.drop_nomination(id);
        self.stop_waiting(id);
        self.end_waking(id);
        self.remove_allocations(id);
        self.take_reservation(id);
        self.remove_cost_entry(id);
        self.unpriced.remove(&id);
        self.unchecked_annotations.remove(&id);
        self.leave_shape(id);
        let Some(slot) = self.pods.remove(id) else { return };
        self.pod_ids.remove(&slot.identity);
        if let Some(node) = slot.node {
            self.nodes[node].pods.remove(&id);
            self.drop_node_if_unused(node);
        }
        self.drop_shape_if_empty(slot.shape);
    }

    /// Whether a pod must still be scheduled.
    pub(super) fn is_pending(&self, id: PodId) -> bool {
        let slot = &self.pods[id];
        let is_placed = slot.node.is_some() || slot.reservation.is_some();
        !is_placed && !slot.is_finished && !slot.is_terminating
    }
}

/// Whether two UIDs belong to the same pod. Pods in files have no UID.
fn is_same_uid(pod: &PodSlot, uid: Option<&Arc<str>>) -> bool {
    pod.uid.is_none() || uid.is_none() || pod.uid.as_ref() == uid
}
