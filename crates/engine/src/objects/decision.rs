//! The clusters that a placement has selected, as one object lists them.

use std::sync::Arc;

/// One `PlacementDecision`: clusters that a placement has selected.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlacementDecision {
    /// The placement, in the same namespace, by the label.
    pub placement: Option<Arc<str>>,
    /// The name of the group; empty for none.
    pub group: Arc<str>,
    /// The index of the group, as the label has it.
    pub group_index: Option<u32>,
    /// The clusters.
    pub clusters: Box<[Arc<str>]>,
}
