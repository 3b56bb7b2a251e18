//! The usage of a policy, for its status.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Ledger, PodSlot};
use crate::Identity;
use crate::units::DeletionCost;
use crate::units::slots::{PodId, PolicyId, ShapeId};

/// The usage of a policy.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PolicyReport {
    /// The usage of each group with pods, in the order of the groups' values.
    pub groups: Vec<GroupReport>,
    /// The pods that the policy cannot govern because other policies select them as well, by the other policies.
    pub conflicts: Vec<Conflict>,
    /// The number of the policy's pods on nodes without a deletion cost, because the owner does not use the cost, by
    /// the kind of the owner; the empty kind is for pods without an owner.
    pub without_cost: BTreeMap<Arc<str>, u32>,
    /// The number of the policy's pods with a deletion cost set by their users, which is kept.
    pub with_others_cost: u32,
}

/// The usage of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupReport {
    /// The labels of the group, in the order of the policy, with the values of its pods.
    pub labels: Vec<(Arc<str>, Option<Arc<str>>)>,
    /// The usage of each unit, in the order of the policy.
    pub units: Vec<UnitCount>,
    /// The number of pods outside all units.
    pub spilled: u32,
}

/// The usage of a unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitCount {
    /// The name of the unit.
    pub name: Arc<str>,
    /// The number of pods in the unit.
    pub used: u32,
    /// The number of pods for which capacity is held or kept, because they were sent to the unit or evict others in it.
    pub leased: u32,
    /// The cap of the unit.
    pub max: Option<u32>,
}

/// Pods that several policies select.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Conflict {
    /// The policies, in the order of their names.
    pub policies: Box<[Identity]>,
    /// The number of pods.
    pub pods: usize,
}

/// The entry of a report about the cost of a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum CostEntry {
    /// Owners of this kind do not use the cost.
    Without(Arc<str>),
    /// The user has set a cost.
    OfOthers,
}

/// The number of a policy's pods with each entry.
#[derive(Clone, Debug, Default)]
pub(super) struct CostCounts {
    without: BTreeMap<Arc<str>, u32>,
    of_others: u32,
}

impl UnitCount {
    /// Whether the unit has more pods than its cap.
    #[must_use]
    pub fn is_over_cap(&self) -> bool {
        self.max.is_some_and(|max| self.used > max)
    }
}

impl Ledger {
    /// The usage of a policy; `None` if the policy is unknown.
    #[must_use]
    pub fn report(&self, policy: &Identity) -> Option<PolicyReport> {
        let id = self.policy(policy)?;
        let usage = &self.usages[id];
        // Counted before any policy is named: the number of conflicting label sets may equal the number of pods.
        let mut conflicts: BTreeMap<Vec<PolicyId>, (ShapeId, usize)> = BTreeMap::new();
        for id in &usage.conflicts {
            let shape = &self.shapes[*id];
            let policies = shape.governing.iter().map(|(policy, _)| *policy).collect();
            conflicts.entry(policies).or_insert((*id, 0)).1 += shape.pods.len() - shape.ungoverned;
        }
        let conflicts = conflicts.into_values().filter(|(_, pods)| *pods > 0);
        let mut conflicts: Vec<Conflict> = conflicts
            .map(|(shape, pods)| Conflict { policies: self.selecting_names(shape), pods })
            .collect();
        conflicts.sort_unstable();
        Some(PolicyReport {
            groups: self.group_reports(id),
            conflicts,
            without_cost: usage.costs.without.clone(),
            with_others_cost: usage.costs.of_others,
        })
    }

    fn group_reports(&self, id: PolicyId) -> Vec<GroupReport> {
        let usage = &self.usages[id];
        let mut reports = Vec::new();
        for (_, group) in usage.ordered_groups() {
            let units: Vec<UnitCount> = usage
                .policy
                .units
                .iter()
                .zip(group.in_units(usage.policy.units.len()))
                .map(|(unit, unit_usage)| UnitCount {
                    name: Arc::clone(&unit.name),
                    used: unit_usage.used,
                    leased: unit_usage.leased.saturating_add(unit_usage.kept(None)),
                    max: unit.max,
                })
                .collect();
            let is_empty =
                group.spilled == 0 && units.iter().all(|unit| unit.used == 0 && unit.leased == 0);
            if !is_empty {
                let labels = usage.policy.group_keys.iter().cloned().zip(group.key.iter().cloned());
                reports.push(GroupReport {
                    labels: labels.collect(),
                    units,
                    spilled: group.spilled,
                });
            }
        }
        reports
    }

    /// Records the report entry about the cost of a pod.
    pub(super) fn record_cost_entry(&mut self, pod: PodId) {
        let slot = &self.pods[pod];
        let governing = self.governing(slot);
        let entry = match (governing, &slot.allocations[..], slot.node) {
            (&[(policy, _)], [_, ..], Some(_)) => slot.cost_entry().map(|entry| (policy, entry)),
            _ => None,
        };
        if slot.cost_entry == entry {
            return;
        }
        self.remove_cost_entry(pod);
        let Some((policy, cost)) = entry.clone() else { return };
        let costs = &mut self.usages[policy].costs;
        match cost {
            CostEntry::Without(kind) => *costs.without.entry(kind).or_default() += 1,
            CostEntry::OfOthers => costs.of_others += 1,
        }
        self.pods[pod].cost_entry = entry;
    }

    pub(super) fn remove_cost_entry(&mut self, pod: PodId) {
        let Some((policy, cost)) = self.pods[pod].cost_entry.take() else { return };
        let costs = &mut self.usages[policy].costs;
        match cost {
            CostEntry::OfOthers => costs.of_others -= 1,
            CostEntry::Without(kind) => {
                if let Some(count) = costs.without.get_mut(&kind) {
                    *count -= 1;
                    if *count == 0 {
                        costs.without.remove(&kind);
                    }
                }
            }
        }
    }
}

impl PodSlot {
    fn cost_entry(&self) -> Option<CostEntry> {
        if self.has_cost() {
            let is_of_others = matches!(self.cost, DeletionCost::Others(_));
            return is_of_others.then_some(CostEntry::OfOthers);
        }
        let kind = self.owner.as_ref().map_or_else(|| "".into(), |owner| Arc::clone(&owner.kind));
        Some(CostEntry::Without(kind))
    }
}
