//! A policy with the results of its selectors, evaluated before the ledger is locked: a policy may contain thousands of
//! requirements, and a scheduler waits for the ledger.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Ledger;
use super::selection::UnitSelection;
use super::usage::UnitIndex;
use crate::Labels;
use crate::units::ResourcePolicy;
use crate::units::slots::{ShapeId, SlotId as _};

/// The labels of all nodes and of the pods of a namespace, in a ledger at one instant.
#[derive(Clone, Debug, Default)]
pub struct LabelSnapshot {
    nodes: Vec<Option<Labels>>,
    pods: Vec<(ShapeId, Labels)>,
}

/// A policy that a ledger accepts without evaluating its selectors.
#[derive(Clone, Debug)]
pub struct PreparedPolicy {
    pub(super) policy: Arc<ResourcePolicy>,
    pub(super) selection: Arc<UnitSelection>,
    /// The labels and the unit of each node.
    nodes: Vec<(Option<Labels>, UnitIndex)>,
    /// For pods with the same labels, these labels, and whether the policy selects the pods.
    pods: BTreeMap<ShapeId, (Labels, bool)>,
}

impl PreparedPolicy {
    /// Evaluates the selectors. The ledger evaluates them again only for labels that have changed when it accepts the
    /// policy.
    #[must_use]
    pub fn new(policy: impl Into<Arc<ResourcePolicy>>, labels: &LabelSnapshot) -> PreparedPolicy {
        let policy = policy.into();
        let selection = UnitSelection::new(&policy.units);
        let unit_of = |labels: &Option<Labels>| {
            let unit_index = labels.as_ref().map_or(UnitIndex::OUTSIDE, |it| selection.unit_of(it));
            (labels.clone(), unit_index)
        };
        let nodes = labels.nodes.iter().map(unit_of).collect();
        let selects = |(shape, labels): &(ShapeId, Labels)| {
            (*shape, (labels.clone(), policy.pod_selector.selects(labels)))
        };
        let pods = labels.pods.iter().map(selects).collect();
        PreparedPolicy { policy, selection: Arc::new(selection), nodes, pods }
    }

    /// The unit of a node with these labels.
    pub(super) fn unit_of(&self, index: usize, labels: Option<&Labels>) -> UnitIndex {
        match self.nodes.get(index) {
            Some((known, unit_index)) if known.as_ref() == labels => *unit_index,
            _ => labels.map_or(UnitIndex::OUTSIDE, |labels| self.selection.unit_of(labels)),
        }
    }

    /// Whether the policy selects pods with these labels.
    pub(super) fn selects(&self, shape: ShapeId, labels: &Labels) -> bool {
        match self.pods.get(&shape) {
            Some((known, is_selected)) if known == labels => *is_selected,
            _ => self.policy.pod_selector.selects(labels),
        }
    }
}

impl Ledger {
    /// The labels with which policies of a namespace are prepared.
    #[must_use]
    pub fn label_snapshot(&self, namespace: &str) -> LabelSnapshot {
        let mut nodes = Vec::new();
        for (id, slot) in self.nodes.iter() {
            nodes.resize(id.index(), None);
            nodes.push(slot.labels.clone());
        }
        let shapes = self.namespaces.get(namespace).map(|namespace| &namespace.shapes);
        let shapes = shapes.into_iter().flatten();
        let pods = shapes.map(|(labels, shape)| (*shape, labels.clone())).collect();
        LabelSnapshot { nodes, pods }
    }
}
