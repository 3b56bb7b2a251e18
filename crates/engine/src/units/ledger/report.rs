//! What is counted under a policy, as its status shows it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Governing, Ledger};
use crate::Identity;
use crate::units::DeletionCost;
use crate::units::slots::{PodId, PolicyId};

/// What is counted under a policy.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PolicyReport {
    /// Each group that has pods, in the order of its values.
    pub groups: Vec<GroupReport>,
    /// The pods it cannot govern because other policies select them as well, by these policies.
    pub conflicts: Vec<Conflict>,
    /// How many of its pods are on nodes and get no deletion cost, by the kind of their owner, because it means nothing
    /// for them; empty for pods without an owner.
    pub without_cost: BTreeMap<Arc<str>, u32>,
    /// How many of its pods have a deletion cost of their users, which is left.
    pub with_others_cost: u32,
}

/// What is counted for a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupReport {
    /// The labels of the group, in the order of the policy, with the values that its pods have.
    pub labels: Vec<(Arc<str>, Option<Arc<str>>)>,
    /// For each unit, in the order of the policy.
    pub units: Vec<UnitCount>,
    /// How many pods are outside all units.
    pub spilled: u32,
}

/// What is counted in a unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitCount {
    /// The name of the unit.
    pub name: Arc<str>,
    /// How many pods it has.
    pub used: u32,
    /// How many places are kept for pods that were sent there.
    pub leased: u32,
    /// How many it may have.
    pub max: Option<u32>,
}

/// Pods that several policies select.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Conflict {
    /// The policies, in the order of their names.
    pub policies: Box<[Identity]>,
    /// How many pods.
    pub pods: usize,
}

impl UnitCount {
    /// Whether it has more pods than it may.
    #[must_use]
    pub fn is_over_cap(&self) -> bool {
        self.max.is_some_and(|max| self.used > max)
    }
}

impl Ledger {
    /// What is counted under a policy; `None` if it is not known. Its pods are gone through.
    #[must_use]
    pub fn report(&self, policy: &Identity) -> Option<PolicyReport> {
        let id = self.policy(policy)?;
        let mut report = PolicyReport { groups: self.group_reports(id), ..PolicyReport::default() };
        let namespace = self.namespaces.get(policy.namespace())?;
        let mut conflicts: BTreeMap<Box<[Identity]>, usize> = BTreeMap::new();
        for (labels, shape_id) in &namespace.shapes {
            let shape = &self.shapes[*shape_id];
            match shape.governing {
                Governing::One(governing, _) if governing == id => {
                    for pod in &shape.pods {
                        self.report_cost(&mut report, *pod);
                    }
                }
                Governing::Several if self.books[id].policy.pod_selector.selects(labels) => {
                    let pods = shape.pods.iter().map(|pod| &self.pods[*pod]);
                    let governable = pods.filter(|pod| pod.ungoverned.is_none()).count();
                    *conflicts.entry(self.conflict_of(*shape_id)).or_default() += governable;
                }
                Governing::One(..) | Governing::None | Governing::Several => {}
            }
        }
        let conflicts = conflicts.into_iter().filter(|(_, pods)| *pods > 0);
        report.conflicts = conflicts.map(|(policies, pods)| Conflict { policies, pods }).collect();
        Some(report)
    }

    fn group_reports(&self, id: PolicyId) -> Vec<GroupReport> {
        let book = &self.books[id];
        let mut reports = Vec::new();
        for (_, group) in book.ordered_groups() {
            let units: Vec<UnitCount> = book
                .policy
                .units
                .iter()
                .zip(&group.cells)
                .map(|(unit, cell)| UnitCount {
                    name: Arc::clone(&unit.name),
                    used: cell.used,
                    leased: cell.leased,
                    max: unit.max,
                })
                .collect();
            let is_empty =
                group.spilled == 0 && units.iter().all(|unit| unit.used == 0 && unit.leased == 0);
            if !is_empty {
                let labels = book.policy.group_keys.iter().cloned().zip(group.key.iter().cloned());
                reports.push(GroupReport {
                    labels: labels.collect(),
                    units,
                    spilled: group.spilled,
                });
            }
        }
        reports
    }

    fn report_cost(&self, report: &mut PolicyReport, pod: PodId) {
        let slot = &self.pods[pod];
        if slot.seat.is_none() || slot.node.is_none() {
            return;
        }
        if !slot.has_cost() {
            let kind =
                slot.owner.as_ref().map_or_else(|| "".into(), |owner| Arc::clone(&owner.kind));
            *report.without_cost.entry(kind).or_default() += 1;
        } else if slot.cost == DeletionCost::Others {
            report.with_others_cost += 1;
        }
    }
}
