//! What other writers do to what a policy sets. What to do about it is up to those who report it.

use std::sync::Arc;

use crate::Field;

/// A field of a target that another writer has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternalChange {
    /// Which one.
    pub field: Field,
    /// What it was changed to.
    pub to: u32,
    /// The writer, by its field manager.
    pub by: Arc<str>,
}
