//! Changes by other field managers to fields that a policy sets. The modules that report the changes state the next
//! step.

use std::sync::Arc;

use crate::Field;

/// A field of a target that another field manager has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternalChange {
    /// The field.
    pub field: Field,
    /// The new value.
    pub to: u32,
    /// The name of the field manager.
    pub by: Arc<str>,
}
