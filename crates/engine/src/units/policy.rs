//! A checked resource policy: its pods, its units of nodes, and how its pods fill them.

use std::sync::Arc;

use crate::{LabelSelector, Labels};

/// The name for the nodes outside all units of a policy. No unit has this name.
pub const OUTSIDE: &str = "outside all units";

/// Fills units of nodes in the order of their priority with the pods it selects in its namespace, up to the cap of
/// each.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ResourcePolicy {
    /// Its pods.
    pub pod_selector: LabelSelector,
    /// `matchLabelKeys`: the labels by whose values its pods are counted apart. None of them is there twice.
    pub group_keys: Box<[Arc<str>]>,
    /// Whether pods that are being deleted are not counted.
    pub ignores_terminating: bool,
    /// The use of nodes outside every unit.
    pub strategy: Strategy,
    /// Its units, as written. No two have the same name.
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
    /// Its name, given or `unit-<index>`.
    pub name: Arc<str>,
    /// The higher, the earlier it is filled. Never negative.
    pub priority: i32,
    /// The maximum number of pods of a group in it; `None` for any number, 0 for none.
    pub max: Option<u32>,
    /// Its nodes. Never everything.
    pub nodes: LabelSelector,
}

impl ResourcePolicy {
    /// The index of the unit that a node with these labels belongs to: of those that select it, the one of highest
    /// priority, and of these the first.
    #[must_use]
    pub fn unit_of(&self, node: &Labels) -> Option<usize> {
        let selecting = self.units.iter().enumerate().filter(|(_, unit)| unit.nodes.selects(node));
        // Of several that are as good, `max_by_key` takes the last.
        selecting.rev().max_by_key(|(_, unit)| unit.priority).map(|(unit_index, _)| unit_index)
    }
}
