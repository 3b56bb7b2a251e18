//! The true state of the API server, and its watch events in the order in which they happened.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use almanac_engine::units::{Bound, DeletionCost, Node, Pod, ResourcePolicy};
use almanac_engine::{Identity, Labels};
use jiff::Timestamp;

use crate::naive::ClusterView;

/// The node label that the API server copies to pods.
pub(super) const ZONE: &str = "topology.kubernetes.io/zone";

/// One change of one object; `None` for a deleted object.
#[derive(Clone)]
pub(super) enum WatchEvent {
    Policy(Identity, Option<ResourcePolicy>, u64),
    Node(Arc<str>, Option<Node>, u64),
    Pod(Identity, Arc<str>, Option<Pod>, u64),
}

/// The watch events of one kind of object.
#[derive(Clone, Default)]
pub(super) struct Feed {
    begins: u64,
    events: VecDeque<WatchEvent>,
}

impl Feed {
    pub(super) fn end(&self) -> u64 {
        self.begins + self.events.len() as u64
    }

    pub(super) fn get(&self, position: u64) -> Option<&WatchEvent> {
        self.events.get(usize::try_from(position.checked_sub(self.begins)?).ok()?)
    }

    pub(super) fn discard_before(&mut self, position: u64) {
        while self.begins < position && self.events.pop_front().is_some() {
            self.begins += 1;
        }
    }
}

#[derive(Clone, Default)]
pub(super) struct ApiServer {
    pub(super) version: u64,
    pub(super) held: ClusterView,
    pub(super) policy_versions: BTreeMap<Identity, u64>,
    /// The watch events of policies, nodes and pods.
    pub(super) feeds: [Feed; 3],
    /// The UIDs of the pods that we have bound.
    pub(super) bound_by_us: BTreeSet<Arc<str>>,
    /// The pods that had a cost of their users, until a binding replaced it.
    pub(super) lost_costs: BTreeSet<Identity>,
    /// Whether a binding gives a pod the zone of its node, as since Kubernetes 1.35.
    pub(super) gives_labels: bool,
}

impl ApiServer {
    pub(super) fn set_policy(&mut self, name: &Identity, policy: Option<ResourcePolicy>) {
        self.version += 1;
        match &policy {
            Some(policy) => self.held.policies.insert(name.clone(), policy.clone()),
            None => self.held.policies.remove(name),
        };
        self.policy_versions.insert(name.clone(), self.version);
        self.feeds[0].events.push_back(WatchEvent::Policy(name.clone(), policy, self.version));
    }

    pub(super) fn set_node(&mut self, name: &Arc<str>, node: Option<Node>) {
        self.version += 1;
        let node = node.map(|node| Node { version: Some(self.version), ..node });
        match &node {
            Some(node) => self.held.nodes.insert(Arc::clone(name), node.clone()),
            None => self.held.nodes.remove(name),
        };
        self.feeds[1].events.push_back(WatchEvent::Node(Arc::clone(name), node, self.version));
    }

    pub(super) fn set_pod(&mut self, name: &Identity, pod: &Pod) {
        self.version += 1;
        let pod = Pod { version: Some(self.version), ..pod.clone() };
        let uid = pod.uid.clone().unwrap();
        self.held.pods.insert(name.clone(), pod.clone());
        self.feeds[2].events.push_back(WatchEvent::Pod(name.clone(), uid, Some(pod), self.version));
    }

    pub(super) fn edit_pod(&mut self, name: &Identity, edit: impl FnOnce(&mut Pod)) {
        let mut pod = self.held.pods[name].clone();
        edit(&mut pod);
        self.set_pod(name, &pod);
    }

    pub(super) fn remove_pod(&mut self, name: &Identity) {
        let Some(pod) = self.held.pods.remove(name) else { return };
        self.version += 1;
        let uid = pod.uid.unwrap();
        self.bound_by_us.remove(&uid);
        self.feeds[2].events.push_back(WatchEvent::Pod(name.clone(), uid, None, self.version));
    }

    /// Binds a pod as Kubernetes does; returns whether the binding was applied.
    pub(super) fn bind(
        &mut self,
        name: &Identity,
        (uid, version): (Option<&Arc<str>>, Option<u64>),
        node: &Arc<str>,
        bound: Option<&Bound>,
        now: Timestamp,
    ) -> bool {
        let Some(pod) = self.held.pods.get(name) else { return false };
        let is_other =
            uid.is_some() && pod.uid.as_ref() != uid || version.is_some() && pod.version != version;
        if is_other || pod.node.is_some() || pod.deleted.is_some() || pod.is_finished {
            return false;
        }
        let uid = pod.uid.clone().unwrap();
        let cost = bound.and_then(|bound| bound.cost);
        if cost.is_some() && matches!(pod.cost, DeletionCost::Others(_)) {
            self.lost_costs.insert(name.clone());
        }
        let given = self.held.nodes.get(node).map(|node| &node.labels);
        let labels = match given.filter(|_| self.gives_labels) {
            Some(given) => with_given(&pod.labels, given),
            None => pod.labels.clone(),
        };
        self.edit_pod(name, |pod| {
            pod.node = Some(Arc::clone(node));
            pod.bound = Some(now);
            pod.labels = labels;
            // The annotations of the binding replace those of the pod.
            if let Some(cost) = cost {
                pod.cost = DeletionCost::Ours(cost);
            }
        });
        self.bound_by_us.insert(uid);
        true
    }

    /// Restores an earlier state, as from a backup: watches end, and versions repeat.
    pub(super) fn restore(&mut self, backup: &ApiServer) {
        *self = ApiServer { feeds: <[Feed; 3]>::default(), ..backup.clone() };
    }
}

/// The labels of a pod after its binding to a node with these labels.
pub(super) fn with_given(pod: &Labels, node: &Labels) -> Labels {
    Labels::new(pod.iter().chain(node.iter().filter(|(key, _)| *key == ZONE)))
}
