//! From objects to checked policies: what can be used is used, what can't is said.
//!
//! Two steps. The shape of an object is what its schema can say; the API server sees to that, and
//! so does this, for files. Its meaning is what only the schedules themselves can say; the same
//! functions serve files, admission and the controllers.

mod coincidence;
pub mod cron_federated_hpa;
mod envelope;
mod everything;
pub mod horizontal_autoscaler;
pub mod metrics_producer;
mod read_object;
mod shape;
mod target;
mod together;

use crate::finding::Finding;

pub use everything::check_everything;
pub use read_object::{CheckedObject, Meaning, Setting, check};
pub use together::check_together;

/// The outcome of checking: what can be used, and what is to be said.
#[derive(Clone, Debug)]
pub struct Checked<T> {
    /// What can be used; `None` when nothing of it can.
    pub value: Option<T>,
    /// What is wrong, or worth knowing.
    pub findings: Vec<Finding>,
}
