//! Nodes that are added, relabeled and removed.
//!
//! Pods stay bound to a deleted node until they are deleted, and the node may be registered again. Until then, the last
//! labels of the node determine the unit of these pods.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Ledger, NodeSlot, is_newer, is_outdated};
use crate::units::Node;
use crate::units::slots::{NodeId, PodId, PolicyId};

impl Ledger {
    /// Applies a watch event of a node. Only the pods on the node are counted again, and only under policies in which
    /// its unit has changed.
    pub fn set_node(&mut self, name: &str, node: &Node) {
        self.nodes_seen = self.nodes_seen.max(node.version);
        self.apply_node(name, node);
    }

    /// Applies a quorum read of a node, independent of the watch. The read is ignored if the watch is newer.
    pub fn read_node(&mut self, name: &str, node: &Node) {
        if !self.is_gone_node(name, node) {
            self.apply_node(name, node);
        }
    }

    /// Applies a watch event: a node was deleted.
    pub fn remove_node(&mut self, name: &str, version: Option<u64>) {
        self.nodes_seen = self.nodes_seen.max(version);
        let Some(id) = self.node(name) else { return };
        if !is_outdated(self.nodes[id].version, version) {
            self.unregister_node(id);
        }
    }

    /// Replaces the nodes by one list of all existing nodes at that version. Later watch events are newer.
    pub fn replace_nodes<'n>(
        &mut self,
        all: impl IntoIterator<Item = (&'n str, &'n Node)>,
        version: Option<u64>,
    ) {
        let mut unlisted: BTreeSet<NodeId> = self.nodes.iter().map(|(id, _)| id).collect();
        for (name, node) in all {
            self.read_node(name, node);
            if let Some(id) = self.node_ids.get(name) {
                unlisted.remove(id);
            }
        }
        for id in unlisted {
            // A node that was read after the list exists.
            let Some(slot) = self.nodes.get(id) else { continue };
            if slot.is_registered && !is_newer(slot.version, version) {
                self.unregister_node(id);
            }
        }
        self.nodes_seen = self.nodes_seen.max(version);
    }

    /// Whether a node is deleted: the watch covers every node, so it would contain an existing node of this version.
    fn is_gone_node(&self, name: &str, node: &Node) -> bool {
        self.node(name).is_none() && is_outdated(self.nodes_seen, node.version)
    }

    fn apply_node(&mut self, name: &str, node: &Node) {
        let id = self.node_slot(name);
        let slot = &mut self.nodes[id];
        if is_outdated(slot.version, node.version) {
            return;
        }
        slot.version = node.version;
        let is_new = !std::mem::replace(&mut slot.is_registered, true);
        let is_relabeled = slot.labels.as_ref() != Some(&node.labels);
        if is_relabeled {
            slot.labels = Some(node.labels.clone());
        }
        if is_new || is_relabeled {
            self.assign_unit(id, is_new);
        }
    }

    fn unregister_node(&mut self, id: NodeId) {
        let slot = &mut self.nodes[id];
        slot.is_registered = false;
        slot.version = None;
        self.renumberings += 1;
        self.apply_nominations_for(id);
        self.drop_node_if_unused(id);
    }

    /// The slot of a node that is known, or that pods name.
    pub(super) fn node_slot(&mut self, name: &str) -> NodeId {
        if let Some(id) = self.node_ids.get(name) {
            return *id;
        }
        let name: Arc<str> = name.into();
        let slot = NodeSlot {
            name: Arc::clone(&name),
            labels: None,
            is_registered: false,
            version: None,
            pods: BTreeSet::new(),
        };
        let id = self.nodes.insert(slot);
        self.node_ids.insert(name, id);
        id
    }

    pub(super) fn drop_node_if_unused(&mut self, id: NodeId) {
        let slot = &self.nodes[id];
        if slot.is_registered || !slot.pods.is_empty() || self.keeps_unused_nodes {
            return;
        }
        if let Some(slot) = self.nodes.remove(id) {
            self.node_ids.remove(&slot.name);
        }
        for policy in self.usages.ids() {
            self.usages[policy].place_node(id, None);
        }
    }

    /// Assigns a node to the unit of its labels, in every policy. Refused pods may use the node if it is new in the
    /// unit.
    fn assign_unit(&mut self, id: NodeId, is_new: bool) {
        let labels = self.nodes[id].labels.clone();
        let mut moved: Vec<PolicyId> = Vec::new();
        for policy in self.usages.ids() {
            let is_moved = self.usages[policy].place_node(id, labels.as_ref());
            if is_moved {
                moved.push(policy);
            }
            if is_moved || is_new {
                self.wake_for_node(policy, id);
            }
        }
        if is_new || !moved.is_empty() {
            self.apply_nominations_for(id);
        }
        if moved.is_empty() {
            return;
        }
        let pods: Vec<PodId> = self.nodes[id].pods.iter().copied().collect();
        for pod in pods {
            if self.pods[pod]
                .allocations
                .iter()
                .any(|allocation| moved.contains(&allocation.at.policy))
            {
                self.allocate(pod);
            }
        }
    }
}
