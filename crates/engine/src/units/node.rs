//! A node, reduced to the data for units and free capacity.

use crate::Labels;

/// A node; the key of its entry is its name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Node {
    /// The version of the object, which distinguishes older events from newer ones; `None` for a file.
    pub version: Option<u64>,
    /// The labels of the node.
    pub labels: Labels,
    /// Whether `spec.unschedulable` is set. A cordoned node stays in its unit.
    pub is_unschedulable: bool,
    /// The allocatable capacity for pods; `None` when the node reports none.
    pub allocatable: Option<Resources>,
}

/// The requests of a pod, or the capacity of a node. A missing number is `None`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Resources {
    /// Thousandths of a processor.
    pub milli_cpu: Option<u64>,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// The number of pods; `None` in the requests of a pod.
    pub pods: Option<u32>,
}

/// The capacity of the nodes of a unit, or of those outside all units, for a pod.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Space {
    /// The unit has no nodes.
    #[default]
    NoNodes,
    /// All nodes are cordoned.
    Cordoned,
    /// No node has free capacity.
    Taken,
    /// A node has free capacity.
    Free,
}
