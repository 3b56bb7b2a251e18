//! The nodes with free capacity for a pod: the allocatable resources of each, less the requests of its pods. A node
//! without recorded resources has free capacity for any pod.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Identity;
use crate::units::{Ledger, Node, NodeId, Resources, Space};

/// The nodes in classes. The nodes of a class are in the same unit of every policy.
#[derive(Clone, Debug, Default)]
pub(super) struct Rooms {
    policies: Vec<Identity>,
    nodes: Vec<Room>,
    by_name: BTreeMap<Arc<str>, usize>,
    by_id: BTreeMap<NodeId, usize>,
    classes: Vec<Class>,
}

#[derive(Clone, Debug)]
struct Room {
    name: Arc<str>,
    id: NodeId,
    class: usize,
    takes_pods: bool,
    free: Free,
}

/// The free capacity of a node; `None` for a number that the node does not report. Negative if the requests of its pods
/// exceed the capacity.
#[derive(Clone, Copy, Debug)]
struct Free {
    milli_cpu: Option<i128>,
    memory: Option<i128>,
    pods: Option<i128>,
}

/// Nodes that are in the same unit of every policy, in the order of their names.
#[derive(Clone, Debug, Default)]
struct Class {
    /// The unit of each policy; `None` outside all of them.
    units: Vec<Option<usize>>,
    nodes: Vec<usize>,
    /// For each request of a pod, the index of the first node that may have free capacity. Discarded when a pod leaves
    /// a node of the class.
    full_before: BTreeMap<Request, usize>,
}

type Request = (Option<u64>, Option<u64>);

impl Rooms {
    /// Creates the classes from the nodes of a ledger.
    pub(super) fn new<'n>(
        nodes: impl Iterator<Item = (&'n Arc<str>, &'n Node)>,
        ledger: &Ledger,
    ) -> Rooms {
        let policies: Vec<Identity> = ledger.policies().cloned().collect();
        let mut classes: BTreeMap<Vec<Option<usize>>, usize> = BTreeMap::new();
        let mut rooms = Rooms { policies, ..Rooms::default() };
        for (name, node) in nodes {
            let Some(id) = ledger.node(name) else { continue };
            let units: Vec<Option<usize>> =
                rooms.policies.iter().map(|policy| ledger.unit_of(policy, id)).collect();
            let next = classes.len();
            let class = *classes.entry(units.clone()).or_insert(next);
            if class == rooms.classes.len() {
                rooms.classes.push(Class { units, ..Class::default() });
            }
            let index = rooms.nodes.len();
            rooms.classes[class].nodes.push(index);
            rooms.by_name.insert(Arc::clone(name), index);
            rooms.by_id.insert(id, index);
            let allocatable = node.allocatable.unwrap_or_default();
            let free = Free {
                milli_cpu: allocatable.milli_cpu.map(i128::from),
                memory: allocatable.memory.map(i128::from),
                pods: allocatable.pods.map(i128::from),
            };
            let (name, takes_pods) = (Arc::clone(name), !node.is_unschedulable);
            rooms.nodes.push(Room { name, id, class, takes_pods, free });
        }
        rooms
    }

    /// Adds the requests of a pod to its node. An unknown pod frees no capacity.
    pub(super) fn take(&mut self, node: &str, requests: Resources) {
        if let Some(index) = self.by_name.get(node) {
            self.nodes[*index].free.change(requests, -1);
        }
    }

    /// Subtracts the requests of a pod from its node.
    pub(super) fn free(&mut self, node: &str, requests: Resources) {
        if let Some(index) = self.by_name.get(node) {
            let room = &mut self.nodes[*index];
            room.free.change(requests, 1);
            self.classes[room.class].full_before.clear();
        }
    }

    /// The free capacity of the nodes of each unit of a policy for a pod, in the order of the policy; last, of the
    /// nodes outside all units.
    pub(super) fn spaces(
        &mut self,
        policy: &Identity,
        units: usize,
        requests: Resources,
    ) -> Vec<Space> {
        let mut spaces = vec![Space::NoNodes; units + 1];
        let Some(policy) = self.policies.iter().position(|it| it == policy) else { return spaces };
        let with_room: Vec<usize> =
            self.candidates(requests).iter().map(|it| self.class_of(*it)).collect();
        for (number, class) in self.classes.iter().enumerate() {
            let is_open = class.nodes.iter().any(|node| self.nodes[*node].takes_pods);
            let space = if with_room.contains(&number) {
                Space::Free
            } else if is_open {
                Space::Taken
            } else {
                Space::Cordoned
            };
            let unit_index = class.units.get(policy).copied().flatten().unwrap_or(units);
            if let Some(known) = spaces.get_mut(unit_index) {
                *known = space.max(*known);
            }
        }
        spaces
    }

    fn class_of(&self, node: NodeId) -> usize {
        self.by_id.get(&node).map_or(usize::MAX, |index| self.nodes[*index].class)
    }

    /// The candidate nodes for a pod: the first node with free capacity of each class.
    pub(super) fn candidates(&mut self, requests: Resources) -> Vec<NodeId> {
        let request = (requests.milli_cpu, requests.memory);
        let nodes = &self.nodes;
        let first = |class: &mut Class| {
            let full_count = class.full_before.get(&request).copied().unwrap_or(0);
            let others = class.nodes.get(full_count..).unwrap_or_default();
            let has_room = |index: &usize| {
                nodes[*index].takes_pods && nodes[*index].free.is_enough_for(requests)
            };
            let found = others.iter().position(has_room);
            let full = full_count + found.unwrap_or(others.len());
            class.full_before.insert(request, full);
            class.nodes.get(full).map(|index| nodes[*index].id)
        };
        self.classes.iter_mut().filter_map(first).collect()
    }

    /// The name of a node.
    pub(super) fn name(&self, node: NodeId) -> Option<&Arc<str>> {
        self.by_id.get(&node).map(|index| &self.nodes[*index].name)
    }
}

impl Free {
    fn change(&mut self, requests: Resources, times: i128) {
        let change = |free: &mut Option<i128>, by: u64| {
            if let Some(free) = free {
                *free = free.saturating_add(times * i128::from(by));
            }
        };
        change(&mut self.milli_cpu, requests.milli_cpu.unwrap_or(0));
        change(&mut self.memory, requests.memory.unwrap_or(0));
        change(&mut self.pods, 1);
    }

    fn is_enough_for(&self, requests: Resources) -> bool {
        let has = |free: Option<i128>, request: Option<u64>| {
            request.is_none_or(|request| free.is_none_or(|free| free >= i128::from(request)))
        };
        has(self.milli_cpu, requests.milli_cpu.filter(|it| *it > 0))
            && has(self.memory, requests.memory.filter(|it| *it > 0))
            && self.pods.is_none_or(|pods| pods > 0)
    }
}
