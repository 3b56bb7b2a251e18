//! Units of nodes: which pods a resource policy governs, which of its units they may use, how many are counted in each,
//! and what it costs to delete them.

mod node;
mod pod;
mod policy;

pub use node::{Node, Resources};
pub use pod::{DeletionCost, Owner, Pod, Ungoverned};
pub use policy::{ResourcePolicy, Strategy, Unit};
