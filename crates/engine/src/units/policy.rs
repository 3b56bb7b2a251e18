//! A checked resource policy: its pods, its units of nodes, and the order in which pods fill the units.

use std::sync::Arc;

use crate::{LabelSelector, Labels};

/// The name for the nodes outside all units of a policy. No unit has this name.
pub const OUTSIDE: &str = "outside all units";

/// Fills units of nodes in the order of their priority, up to the cap of each, with the selected pods of its namespace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ResourcePolicy {
    /// The selector of the pods.
    pub pod_selector: LabelSelector,
    /// `matchLabelKeys`: the labels whose values divide the pods into groups. Each label is listed once.
    pub group_keys: Box<[Arc<str>]>,
    /// Whether pods that are being deleted are not counted.
    pub ignores_terminating: bool,
    /// The use of nodes outside every unit.
    pub strategy: Strategy,
    /// The units, as written. Unit names are unique.
    pub units: Box<[Unit]>,
}

/// The use of nodes outside every unit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Strategy {
    /// The nodes come after all units.
    #[default]
    Prefer,
    /// The nodes are never used.
    Required,
}

/// A set of nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unit {
    /// The name, given or `unit-<index>`.
    pub name: Arc<str>,
    /// The priority; the unit with the highest priority is filled first. Never negative.
    pub priority: i32,
    /// The maximum number of pods of a group; `None` for any number, 0 for none.
    pub max: Option<u32>,
    /// The selector of the nodes. It never selects everything.
    pub nodes: LabelSelector,
}

impl ResourcePolicy {
    /// The index of the unit of a node with these labels: of the units that select the node, the one with the highest
    /// priority; of several with equal priority, the first.
    #[must_use]
    pub fn unit_of(&self, node: &Labels) -> Option<usize> {
        let selecting = self.units.iter().enumerate().filter(|(_, unit)| unit.nodes.selects(node));
        // Of several maximums, `max_by_key` returns the last, hence the reversed order.
        selecting.rev().max_by_key(|(_, unit)| unit.priority).map(|(unit_index, _)| unit_index)
    }
}
