//! What the engine remembers, as the status of an object keeps it, and back.
//!
//! Writing makes the typed status; reading is lenient and looks at the JSON as it is there: a status
//! can be edited by hand, cut by another tool or written by another release, and what is mangled in
//! it is forgotten alone. Sending a status, and deciding whether it has to be sent, is the affair of
//! the controllers.

pub mod conditions;
pub mod cron_federated_hpa;
pub mod metrics_producer;
mod patch;
mod target_problem;

pub use patch::replacing_patch;
pub use target_problem::TargetProblem;
