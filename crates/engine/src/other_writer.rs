//! Changes by other writers to fields that a policy sets. The modules that report them state the next step.

use std::sync::Arc;

use crate::Field;

/// A field of a target that another writer has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternalChange {
    /// The field.
    pub field: Field,
    /// The new value.
    pub to: u32,
    /// The writer, by its field manager.
    pub by: Arc<str>,
}
