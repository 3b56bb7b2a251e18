//! The footprint of a policy: its reads and writes.

use crate::{Field, Identity};

/// The inputs and the fields that a policy reads and writes, by object.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Footprint {
    /// The inputs of its decisions.
    pub reads: Vec<Identity>,
    /// The fields its actions set; a policy that publishes a number sets one of its own.
    pub writes: Vec<(Identity, Field)>,
}
