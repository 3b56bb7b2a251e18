//! A policy with the unit of each node, found before the ledger is locked: a policy may have thousands of requirements, and
//! a scheduler waits for the ledger.

use super::Ledger;
use super::book::UnitPlace;
use super::selection::UnitSelection;
use crate::Labels;
use crate::units::ResourcePolicy;
use crate::units::slots::SlotId as _;

/// The labels of all nodes as a ledger has them.
#[derive(Clone, Debug, Default)]
pub struct NodeLabels(Vec<Option<Labels>>);

/// A policy that a ledger takes without looking at many nodes.
#[derive(Clone, Debug)]
pub struct PreparedPolicy {
    pub(super) policy: ResourcePolicy,
    pub(super) selection: UnitSelection,
    /// For each node, its labels and its unit by them.
    nodes: Vec<(Option<Labels>, UnitPlace)>,
}

impl PreparedPolicy {
    /// Finds the unit of each node. Those whose labels are other ones by the time that the ledger takes the policy are
    /// looked at again then.
    #[must_use]
    pub fn new(policy: ResourcePolicy, nodes: NodeLabels) -> PreparedPolicy {
        let selection = UnitSelection::new(&policy.units);
        let unit_of = |labels: Option<Labels>| {
            let place = labels.as_ref().map_or(UnitPlace::OUTSIDE, |it| selection.unit_of(it));
            (labels, place)
        };
        let nodes = nodes.0.into_iter().map(unit_of).collect();
        PreparedPolicy { policy, selection, nodes }
    }

    /// The unit of a node with these labels.
    pub(super) fn unit_of(&self, index: usize, labels: Option<&Labels>) -> UnitPlace {
        match self.nodes.get(index) {
            Some((known, place)) if known.as_ref() == labels => *place,
            _ => labels.map_or(UnitPlace::OUTSIDE, |labels| self.selection.unit_of(labels)),
        }
    }
}

impl Ledger {
    /// The labels of all nodes, to prepare policies with.
    #[must_use]
    pub fn node_labels(&self) -> NodeLabels {
        let mut all = Vec::new();
        for (id, slot) in self.nodes.iter() {
            all.resize(id.index(), None);
            all.push(slot.labels.clone());
        }
        NodeLabels(all)
    }
}
