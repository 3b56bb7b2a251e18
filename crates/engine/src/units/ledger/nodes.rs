//! Nodes that come, are relabelled, and go.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Ledger, NodeSlot, is_old_news};
use crate::Labels;
use crate::units::Node;
use crate::units::slots::{GroupId, NodeId, PodId, PolicyId};

impl Ledger {
    /// News of a node, from the watch. Only the pods on it are counted again, and only under policies in which it has
    /// come to be in another unit.
    pub fn set_node(&mut self, name: &str, node: &Node) {
        self.nodes_seen = self.nodes_seen.max(node.version);
        self.apply_node(name, node);
    }

    /// A node that was read by its name, whatever the watch has shown so far. It is passed over if the watch is ahead of it.
    pub fn read_node(&mut self, name: &str, node: &Node) {
        let is_gone = self.node(name).is_none() && is_old_news(self.nodes_seen, node.version);
        if !is_gone {
            self.apply_node(name, node);
        }
    }

    /// News that a node is gone. Its pods are outside all units.
    pub fn remove_node(&mut self, name: &str, version: Option<u64>) {
        self.nodes_seen = self.nodes_seen.max(version);
        let Some(id) = self.node(name) else { return };
        if is_old_news(self.nodes[id].version, version) {
            return;
        }
        self.forget_node(id);
    }

    /// All nodes there are, as one list of that version has them.
    pub fn replace_nodes<'n>(
        &mut self,
        all: impl IntoIterator<Item = (&'n str, &'n Node)>,
        version: Option<u64>,
    ) {
        let mut unlisted: BTreeSet<NodeId> = self.nodes.iter().map(|(id, _)| id).collect();
        for (name, node) in all {
            self.apply_node(name, node);
            if let Some(id) = self.node_ids.get(name) {
                unlisted.remove(id);
            }
        }
        for id in unlisted {
            // A node that was read after the list is there.
            if self.nodes[id].labels.is_some() && !is_newer(self.nodes[id].version, version) {
                self.forget_node(id);
            }
        }
        self.nodes_seen = self.nodes_seen.max(version);
    }

    fn apply_node(&mut self, name: &str, node: &Node) {
        let id = self.node_slot(name);
        let slot = &mut self.nodes[id];
        if is_old_news(slot.version, node.version) {
            return;
        }
        slot.version = node.version;
        if slot.labels.as_ref() == Some(&node.labels) {
            return;
        }
        slot.labels = Some(node.labels.clone());
        self.place(id, Some(&node.labels));
    }

    fn forget_node(&mut self, id: NodeId) {
        let slot = &mut self.nodes[id];
        slot.labels = None;
        slot.version = None;
        self.place(id, None);
        self.drop_node_if_unused(id);
    }

    /// The slot of a node that is known, or that pods say they are on.
    pub(super) fn node_slot(&mut self, name: &str) -> NodeId {
        if let Some(id) = self.node_ids.get(name) {
            return *id;
        }
        let name: Arc<str> = name.into();
        let slot = NodeSlot {
            name: Arc::clone(&name),
            labels: None,
            version: None,
            pods: BTreeSet::new(),
        };
        let id = self.nodes.insert(slot);
        self.node_ids.insert(name, id);
        id
    }

    pub(super) fn drop_node_if_unused(&mut self, id: NodeId) {
        let slot = &self.nodes[id];
        if slot.labels.is_some() || !slot.pods.is_empty() {
            return;
        }
        if let Some(slot) = self.nodes.remove(id) {
            self.node_ids.remove(&slot.name);
        }
    }

    /// Puts a node into the unit that its labels say, in every policy.
    fn place(&mut self, id: NodeId, labels: Option<&Labels>) {
        let policies: Vec<PolicyId> = self.books.iter().map(|(policy, _)| policy).collect();
        let mut moved = Vec::new();
        for policy in policies {
            if self.books[policy].place_node(id, labels) {
                moved.push(policy);
            }
        }
        if moved.is_empty() {
            return;
        }
        for policy in &moved {
            let groups: Vec<GroupId> = self.books[*policy].waiting_groups().collect();
            for group in groups {
                self.waiting.room_in(*policy, group);
            }
        }
        let pods: Vec<PodId> = self.nodes[id].pods.iter().copied().collect();
        for pod in pods {
            if self.pods[pod].seat.is_some_and(|seat| moved.contains(&seat.policy)) {
                self.seat(pod);
            }
        }
    }
}

pub(super) fn is_newer(known: Option<u64>, list: Option<u64>) -> bool {
    matches!((known, list), (Some(known), Some(list)) if known > list)
}
