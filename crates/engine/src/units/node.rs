//! A node, as far as units and free capacity depend on it.

use crate::Labels;

/// A node. Its name is its key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Node {
    /// The version of the object, which distinguishes older events from newer ones; `None` when it comes from a file.
    pub version: Option<u64>,
    /// Its labels.
    pub labels: Labels,
    /// Whether `spec.unschedulable` is set. It stays in its unit.
    pub is_unschedulable: bool,
    /// Its capacity for pods; `None` when it states none.
    pub allocatable: Option<Resources>,
}

/// The requests of pods, and the capacity of nodes. A missing number is `None`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Resources {
    /// Thousandths of a processor.
    pub milli_cpu: Option<u64>,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// The number of pods. A pod requests none.
    pub pods: Option<u32>,
}

/// The capacity of the nodes of a unit, or of those outside all units, for a pod.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Space {
    /// There are no such nodes.
    #[default]
    NoNodes,
    /// All nodes are cordoned.
    Cordoned,
    /// No node has free capacity.
    Taken,
    /// One has room.
    Free,
}
