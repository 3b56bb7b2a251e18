//! The footprint of a policy: its reads and writes.

use crate::{Field, Identity};

/// The inputs and the fields that a policy reads and writes, by object.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Footprint {
    /// The objects that the policy reads for its decisions.
    pub reads: Vec<Identity>,
    /// The fields that the policy sets. A policy that publishes a number sets a field of its own.
    pub writes: Vec<(Identity, Field)>,
}
