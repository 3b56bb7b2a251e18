//! The clusters that a placement has selected, as one object lists them.

use std::sync::Arc;

/// One `PlacementDecision`: clusters that a placement has selected.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlacementDecision {
    /// The placement in the label, in the same namespace.
    pub placement: Option<Arc<str>>,
    /// The name of the group; empty for no name.
    pub group: Arc<str>,
    /// The index of the group in the label.
    pub group_index: Option<u32>,
    /// The selected clusters.
    pub clusters: Box<[Arc<str>]>,
}
