//! Random changes of a cluster by users and controllers.

use std::sync::Arc;

use almanac_engine::units::{DeletionCost, Node, Pod, ResourcePolicy, Strategy, Ungoverned, Unit};
use almanac_engine::{Identity, Labels};

use super::api_server::ZONE;
use super::world::World;
use crate::support::{labels, owned_by, pod_name, policy_name, selector, unit};

const PODS: usize = 24;
const NODES: usize = 8;
const NODE_LABELS: [&str; 7] = [
    "zone=a",
    "zone=b",
    "zone=a,kind=spot",
    "zone=b,kind=spot,topology.kubernetes.io/zone=b",
    "kind=spot,topology.kubernetes.io/zone=a",
    "zone=a,topology.kubernetes.io/zone=a",
    "",
];
const POD_SELECTORS: [&str; 4] = ["app=a", "app=b", "", "app=a,hash=1"];
const POD_LABELS: [&str; 6] =
    ["app=a", "app=b", "app=a,hash=1", "app=a,hash=2", "app=b,hash=", "app=c"];

impl World {
    /// The initial objects.
    pub(super) fn furnish(&mut self) {
        for number in 0..NODES {
            self.set_node(number);
        }
        if self.is_calm {
            let policies = [("p", "app=a"), ("q", "app=b")];
            for (name, pods) in policies {
                let policy = ResourcePolicy { pod_selector: selector(pods), ..self.policy() };
                self.api.set_policy(&policy_name(name), Some(policy));
            }
        } else {
            let policy = self.policy();
            self.api.set_policy(&policy_name("p"), Some(policy));
        }
    }

    /// A change by a user or another controller.
    pub(super) fn change(&mut self) {
        let kind = self.rng.u8(..100);
        if self.is_calm {
            return match kind {
                0..50 => self.create_pod(),
                50..88 => self.end_pod(),
                88..94 => self.touch_pod(),
                _ => self.edit_cost(),
            };
        }
        match kind {
            0..36 => self.create_pod(),
            36..60 => self.end_pod(),
            60..65 => self.edit_labels(),
            65..68 => self.edit_cost(),
            68..73 => self.bind_by_another_scheduler(),
            73..82 => {
                let number = self.rng.usize(..NODES);
                self.set_node(number);
            }
            82..84 => self.touch_pod(),
            84..86 => {
                let name = node_name(self.rng.usize(..NODES));
                if self.api.held.nodes.contains_key(&name) {
                    self.api.set_node(&name, None);
                }
            }
            _ => self.edit_policies(),
        }
    }

    fn set_node(&mut self, number: usize) {
        let labels = labels(NODE_LABELS[self.rng.usize(..NODE_LABELS.len())]);
        self.api.set_node(&node_name(number), Some(Node { labels, ..Node::default() }));
    }

    fn create_pod(&mut self) {
        let name = pod_name(&format!("pod-{:02}", self.rng.usize(..PODS)));
        if !self.api.held.pods.contains_key(&name) {
            self.create(&name);
        }
    }

    fn create(&mut self, name: &Identity) {
        self.next_uid += 1;
        let kind = ["ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet"];
        let kind = kind[self.rng.usize(..kind.len())];
        let owner = owned_by("apps", kind);
        let cost = match self.rng.u8(..10) {
            0 => DeletionCost::Others(7),
            _ => DeletionCost::Unset,
        };
        let pod = Pod {
            // Not in the order in which they were created.
            uid: Some(
                format!("{:03x}", (self.next_uid * 7919) % 4096 + 4096 * self.next_uid).into(),
            ),
            labels: self.pod_labels(),
            created: Some(self.wall()),
            owner: (self.rng.u8(..8) > 0).then(|| Arc::new(owner)),
            ungoverned: (self.rng.u8(..12) == 0).then_some(Ungoverned::DaemonSet),
            cost,
            ..Pod::default()
        };
        self.api.set_pod(name, &pod);
    }

    fn pod_labels(&mut self) -> Labels {
        labels(POD_LABELS[self.rng.usize(..POD_LABELS.len())])
    }

    fn any_pod(&mut self) -> Option<Identity> {
        let names: Vec<Identity> = self.api.held.pods.keys().cloned().collect();
        self.rng.choice(names)
    }

    /// A pod finishes, is being deleted, or is deleted.
    fn end_pod(&mut self) {
        let Some(name) = self.any_pod() else { return };
        let (now, is_deleted) = (self.wall(), self.api.held.pods[&name].deleted.is_some());
        match self.rng.u8(..10) {
            0..2 => self.api.edit_pod(&name, |pod| pod.is_finished = true),
            2..5 if !is_deleted => self.api.edit_pod(&name, |pod| pod.deleted = Some(now)),
            _ => {
                self.api.remove_pod(&name);
                self.note_recreated(&name);
                // A StatefulSet creates the pod again, with requests for the previous one still in progress.
                if self.rng.bool() {
                    self.create(&name);
                }
            }
        }
    }

    fn edit_labels(&mut self) {
        let Some(name) = self.any_pod() else { return };
        let labels = self.pod_labels();
        self.api.edit_pod(&name, |pod| pod.labels = labels);
    }

    /// Changes a part of a pod that has no effect here.
    fn touch_pod(&mut self) {
        let Some(name) = self.any_pod() else { return };
        self.api.edit_pod(&name, |_| {});
    }

    fn edit_cost(&mut self) {
        let Some(name) = self.any_pod() else { return };
        let is_removed = self.rng.u8(..3) == 0;
        let cost = if is_removed { DeletionCost::Unset } else { DeletionCost::Others(7) };
        self.api.edit_pod(&name, |pod| pod.cost = cost);
    }

    fn bind_by_another_scheduler(&mut self) {
        let Some(name) = self.any_pod() else { return };
        let (node, now) = (node_name(self.rng.usize(..NODES)), self.wall());
        let pod = &self.api.held.pods[&name];
        if pod.node.is_none() && pod.deleted.is_none() && !pod.is_finished {
            self.api.edit_pod(&name, |pod| {
                pod.node = Some(node);
                pod.bound = Some(now);
            });
        }
    }

    fn edit_policies(&mut self) {
        let name = policy_name(["p", "q", "r"][self.rng.usize(..3)]);
        match self.api.held.policies.get(&name).cloned() {
            None if self.rng.u8(..4) == 0 => {
                let policy = self.policy();
                self.api.set_policy(&name, Some(policy));
            }
            None => {}
            Some(_) if self.rng.u8(..10) == 0 => self.api.set_policy(&name, None),
            Some(mut policy) => {
                match self.rng.u8(..10) {
                    0..6 => {
                        for unit in &mut policy.units {
                            unit.max = unit.max.map(|_| self.rng.u32(..5));
                        }
                    }
                    6 => policy = self.policy(),
                    7 => policy.ignores_terminating ^= true,
                    8 => policy.strategy = self.strategy(),
                    _ => policy.units = self.units(),
                }
                self.api.set_policy(&name, Some(policy));
            }
        }
    }

    fn strategy(&mut self) -> Strategy {
        if self.rng.bool() { Strategy::Prefer } else { Strategy::Required }
    }

    fn units(&mut self) -> Box<[Unit]> {
        let nodes = ["zone=a", "zone=b", "kind=spot", "zone=a,kind=spot"];
        (0..self.rng.usize(1..4))
            .map(|place| {
                let max = (self.rng.u8(..5) > 0).then(|| self.rng.u32(..4));
                let (priority, nodes) = (self.rng.i32(0..3), nodes[self.rng.usize(..nodes.len())]);
                unit(&format!("unit-{place}"), priority, max, nodes)
            })
            .collect()
    }

    fn policy(&mut self) -> ResourcePolicy {
        let keys: &[&str] = match self.rng.u8(..8) {
            0..3 => &[],
            3..6 => &["hash"],
            6 => &[ZONE],
            _ => &["hash", ZONE],
        };
        ResourcePolicy {
            pod_selector: selector(POD_SELECTORS[self.rng.usize(..POD_SELECTORS.len())]),
            group_keys: keys.iter().map(|key| Arc::from(*key)).collect(),
            ignores_terminating: self.rng.bool(),
            strategy: self.strategy(),
            units: self.units(),
        }
    }
}

fn node_name(number: usize) -> Arc<str> {
    format!("node-{number}").into()
}
