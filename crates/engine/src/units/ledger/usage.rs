//! The usage of one policy: by group, and in each group by unit. Each unit with a cap also keeps the order in which its
//! pods were bound, and so the pods over the cap.
//!
//! `allocations` determines the entry in which a pod is counted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::super::slots::{GroupId, NodeId, PodId, ShapeId, SlotId as _, Slots};
use super::super::{ResourcePolicy, Unit};
use super::nominations::Turn;
use super::prepared::PreparedPolicy;
use super::report::CostCounts;
use super::selection::UnitSelection;
use super::waiting::Queue;
use crate::{Identity, Labels};

/// The values of the labels by which pods are grouped, in the order of the policy. The absence of a label is a value of
/// its own.
pub(super) type GroupKey = Box<[Option<Arc<str>>]>;

/// The index of a unit in its policy, or outside all of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct UnitIndex(u16);

impl UnitIndex {
    pub(crate) const FIRST: UnitIndex = UnitIndex(0);
    pub(crate) const OUTSIDE: UnitIndex = UnitIndex(u16::MAX);

    /// Creates an index; an object cannot contain as many units as the number type allows.
    pub(crate) fn new(unit_index: Option<usize>) -> UnitIndex {
        unit_index
            .and_then(|unit_index| u16::try_from(unit_index).ok())
            .map_or(Self::OUTSIDE, UnitIndex)
    }

    /// The index; `None` outside all units.
    pub(crate) fn index(self) -> Option<usize> {
        (self != Self::OUTSIDE).then_some(usize::from(self.0))
    }
}

/// A policy, and its counts.
#[derive(Clone, Debug)]
pub(super) struct PolicyUsage {
    pub(super) identity: Identity,
    pub(super) policy: Arc<ResourcePolicy>,
    selection: Arc<UnitSelection>,
    /// The version of the policy's object.
    pub(super) version: Option<u64>,
    /// Pods, by their labels, that other policies select as well.
    pub(super) conflicts: BTreeSet<ShapeId>,
    /// The number of the policy's pods with each cost that another field manager has set.
    pub(super) costs: CostCounts,
    /// The unit of each node, so that no selector is read while a pod is scheduled.
    unit_of_node: Vec<UnitIndex>,
    pub(super) groups: Slots<GroupId, Group>,
    group_ids: BTreeMap<GroupKey, GroupId>,
}

/// The pods of a policy that are counted together.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) key: GroupKey,
    /// The number of different sets of labels that belong to the group.
    shapes: u32,
    /// One entry for each unit with a count, so that many groups of many units need little memory.
    units: BTreeMap<UnitIndex, UnitUsage>,
    /// The number of pods outside all units.
    pub(super) spilled: u32,
    /// The pending pods of the group that were refused.
    pub(super) queue: Queue,
}

/// The usage of a unit by a group.
#[derive(Clone, Debug, Default)]
pub(super) struct UnitUsage {
    pub(super) used: u32,
    pub(super) leased: u32,
    /// The capacity that is kept for pods that evict others.
    kept: BTreeSet<Turn>,
    /// With a cap: the first pods, up to the cap.
    within: BTreeSet<Rank>,
    /// With a cap: the pods over the cap.
    over: BTreeSet<Rank>,
}

/// The instant of a pod's binding. Pods that are being bound follow all bound pods.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum BoundSince {
    /// The instant in the API server. Pods without an instant come first.
    Bound(Option<Timestamp>),
    /// The number of the reservation.
    BeingBound(u64),
}

impl Default for BoundSince {
    fn default() -> BoundSince {
        BoundSince::Bound(None)
    }
}

/// The order in which the pods of a unit were bound. Pods that were bound at the same instant are in the order of their
/// UIDs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Rank {
    pub(super) since: BoundSince,
    pub(super) uid: Option<Arc<str>>,
    pub(super) name: Identity,
    pub(super) pod: PodId,
}

/// A pod that is newly over a cap, or no longer over it.
pub(super) struct Crossing {
    pub(super) rank: Rank,
    pub(super) is_over: bool,
}

impl PolicyUsage {
    pub(super) fn new(
        identity: Identity,
        prepared: &PreparedPolicy,
        version: Option<u64>,
    ) -> PolicyUsage {
        PolicyUsage {
            identity,
            policy: Arc::clone(&prepared.policy),
            selection: Arc::clone(&prepared.selection),
            version,
            conflicts: BTreeSet::new(),
            costs: CostCounts::default(),
            unit_of_node: Vec::new(),
            groups: Slots::default(),
            group_ids: BTreeMap::new(),
        }
    }

    /// The unit of a node.
    pub(super) fn unit_of(&self, node: NodeId) -> UnitIndex {
        self.unit_of_node.get(node.index()).copied().unwrap_or(UnitIndex::OUTSIDE)
    }

    /// The units of all nodes, by their numbers; outside nodes at the end may be missing.
    pub(super) fn units_of_nodes(&self) -> &[UnitIndex] {
        &self.unit_of_node
    }

    /// Assigns a node to a unit by its labels; `None` for an unknown node. Returns whether the unit has changed.
    pub(super) fn place_node(&mut self, node: NodeId, labels: Option<&Labels>) -> bool {
        let unit_index = labels.map_or(UnitIndex::OUTSIDE, |labels| self.selection.unit_of(labels));
        self.set_unit_of(node, unit_index)
    }

    /// Records the unit of a node. Returns whether it has changed.
    pub(super) fn set_unit_of(&mut self, node: NodeId, unit_index: UnitIndex) -> bool {
        if self.unit_of_node.len() <= node.index() {
            self.unit_of_node.resize(node.index() + 1, UnitIndex::OUTSIDE);
        }
        std::mem::replace(&mut self.unit_of_node[node.index()], unit_index) != unit_index
    }

    pub(super) fn unit(&self, unit_index: UnitIndex) -> Option<&Unit> {
        self.policy.units.get(unit_index.index()?)
    }

    fn key_of(&self, labels: &Labels) -> GroupKey {
        self.policy.group_keys.iter().map(|key| labels.get(key).map(Arc::from)).collect()
    }

    /// ` with pod-template-hash=abc and without track`; empty if the policy has no groups.
    pub(super) fn describe(&self, key: &GroupKey) -> String {
        let labels = self.policy.group_keys.iter().zip(key);
        let parts: Vec<String> = labels
            .map(|(label, value)| match value {
                Some(value) => format!("with {label}={value}"),
                None => format!("without {label}"),
            })
            .collect();
        if parts.is_empty() { String::new() } else { format!(" {}", parts.join(" and ")) }
    }

    /// Adds pods with these labels to their group. The group exists until it is left as often as it was joined.
    pub(super) fn join_group(&mut self, labels: &Labels) -> GroupId {
        let key = self.key_of(labels);
        if let Some(id) = self.group_ids.get(&key) {
            self.groups[*id].shapes += 1;
            return *id;
        }
        let group = Group {
            key: key.clone(),
            shapes: 1,
            units: BTreeMap::new(),
            spilled: 0,
            queue: Queue::default(),
        };
        let id = self.groups.insert(group);
        self.group_ids.insert(key, id);
        id
    }

    /// Leaves a group. Returns whether the group no longer exists.
    pub(super) fn leave_group(&mut self, group: GroupId) -> bool {
        let group_usage = &mut self.groups[group];
        group_usage.shapes -= 1;
        if group_usage.shapes > 0 {
            return false;
        }
        if let Some(gone) = self.groups.remove(group) {
            self.group_ids.remove(&gone.key);
        }
        true
    }

    /// All groups, in the order of their keys.
    pub(super) fn ordered_groups(&self) -> impl Iterator<Item = (GroupId, &Group)> {
        self.group_ids.values().map(|id| (*id, &self.groups[*id]))
    }

    /// The groups with refused pods.
    pub(super) fn waiting_groups(&self) -> impl Iterator<Item = GroupId> {
        self.ordered_groups().filter(|(_, group)| !group.queue.is_empty()).map(|(id, _)| id)
    }

    /// Counts a pod, and returns the pods that are over the cap because of it.
    pub(super) fn count(
        &mut self,
        group: GroupId,
        unit_index: UnitIndex,
        rank: &Rank,
    ) -> Vec<Crossing> {
        let unit = self.unit(unit_index).map(|unit| unit.max);
        let group = &mut self.groups[group];
        let Some(max) = unit else {
            group.spilled += 1;
            return Vec::new();
        };
        let unit_usage = group.units.entry(unit_index).or_default();
        unit_usage.used += 1;
        let Some(max) = max else { return Vec::new() };
        unit_usage.within.insert(rank.clone());
        unit_usage.balance(max)
    }

    /// Stops counting a pod, and returns the pods that are no longer over the cap.
    pub(super) fn discount(
        &mut self,
        group: GroupId,
        unit_index: UnitIndex,
        rank: &Rank,
    ) -> Vec<Crossing> {
        let unit = self.unit(unit_index).map(|unit| unit.max);
        let group = &mut self.groups[group];
        if unit.is_none() {
            group.spilled -= 1;
            return Vec::new();
        }
        let Some(unit_usage) = group.units.get_mut(&unit_index) else { return Vec::new() };
        unit_usage.used -= 1;
        let crossings = match unit.flatten() {
            None => Vec::new(),
            Some(_) if unit_usage.over.remove(rank) => {
                vec![Crossing { rank: rank.clone(), is_over: false }]
            }
            Some(max) => {
                unit_usage.within.remove(rank);
                unit_usage.balance(max)
            }
        };
        group.drop_if_empty(unit_index);
        crossings
    }

    /// Replaces the caps of the same units. Returns the pods that are newly over a cap or no longer over it, by group
    /// and unit.
    pub(super) fn set_caps(
        &mut self,
        policy: Arc<ResourcePolicy>,
    ) -> Vec<(GroupId, UnitIndex, Vec<Crossing>)> {
        self.policy = policy;
        let mut crossings = Vec::new();
        for id in self.group_ids.values() {
            for (unit_index, unit_usage) in &mut self.groups[*id].units {
                let unit = unit_index.index().and_then(|index| self.policy.units.get(index));
                let max = unit.and_then(|unit| unit.max);
                let crossed = max.map(|max| unit_usage.balance(max)).unwrap_or_default();
                if !crossed.is_empty() {
                    crossings.push((*id, *unit_index, crossed));
                }
            }
        }
        crossings
    }
}

impl Group {
    /// The usage of a unit.
    pub(super) fn unit_usage(&self, unit_index: UnitIndex) -> &UnitUsage {
        static NOTHING: UnitUsage = UnitUsage {
            used: 0,
            leased: 0,
            kept: BTreeSet::new(),
            within: BTreeSet::new(),
            over: BTreeSet::new(),
        };
        self.units.get(&unit_index).unwrap_or(&NOTHING)
    }

    /// The usage of each of the first `units` units.
    pub(super) fn in_units(&self, units: usize) -> impl Iterator<Item = &UnitUsage> {
        (0..units).map(|index| self.unit_usage(UnitIndex::new(Some(index))))
    }

    pub(super) fn lease(&mut self, unit_index: UnitIndex) {
        self.units.entry(unit_index).or_default().leased += 1;
    }

    pub(super) fn end_lease(&mut self, unit_index: UnitIndex) {
        if let Some(unit_usage) = self.units.get_mut(&unit_index) {
            unit_usage.leased -= 1;
        }
        self.drop_if_empty(unit_index);
    }

    pub(super) fn keep(&mut self, unit_index: UnitIndex, turn: Turn) {
        self.units.entry(unit_index).or_default().kept.insert(turn);
    }

    pub(super) fn end_keeping(&mut self, unit_index: UnitIndex, turn: Turn) {
        if let Some(unit_usage) = self.units.get_mut(&unit_index) {
            unit_usage.kept.remove(&turn);
        }
        self.drop_if_empty(unit_index);
    }

    fn drop_if_empty(&mut self, unit_index: UnitIndex) {
        let unit_usage = self.unit_usage(unit_index);
        if unit_usage.used == 0 && unit_usage.leased == 0 && unit_usage.kept.is_empty() {
            self.units.remove(&unit_index);
        }
    }
}

impl UnitUsage {
    /// The number of pods for which capacity is kept; for one of these pods, the number of preceding ones.
    pub(super) fn kept(&self, own: Option<Turn>) -> u32 {
        let count = own.map_or(self.kept.len(), |own| self.kept.range(..own).count());
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// The pods over the cap from this rank on, in the order of their binding.
    pub(super) fn over_from(&self, first: &Rank) -> impl Iterator<Item = PodId> {
        self.over.range(first..).map(|rank| rank.pod)
    }

    /// The last pod over the cap before this rank.
    pub(super) fn last_over_before(&self, rank: &Rank) -> Option<PodId> {
        self.over.range(..rank).next_back().map(|rank| rank.pod)
    }

    /// Moves pods between within and over until the first pods, up to the cap, are within.
    fn balance(&mut self, max: u32) -> Vec<Crossing> {
        let max = max as usize;
        let mut crossings = Vec::new();
        let mut cross = |rank: &Rank, is_over| {
            crossings.push(Crossing { rank: rank.clone(), is_over });
        };
        while self.within.len() > max {
            let Some(last) = self.within.pop_last() else { break };
            cross(&last, true);
            self.over.insert(last);
        }
        while self.within.len() < max {
            let Some(first) = self.over.pop_first() else { break };
            cross(&first, false);
            self.within.insert(first);
        }
        crossings
    }
}
