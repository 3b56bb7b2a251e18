//! The policy state as the status of an object, and back.
//!
//! Writing produces the typed status. Reading is lenient and works on raw JSON: a status can be edited manually,
//! truncated by another tool or written by another release, and only its mangled parts are ignored. The controllers
//! send the status if necessary.

pub mod conditions;
pub mod cron_federated_hpa;
pub mod horizontal_autoscaler;
pub mod metrics_producer;
pub mod other_writer;
mod patch;
pub mod placement;
pub mod resource_policy;
pub mod scalable_node_group;
mod target_problem;

pub use patch::replacing_patch;
pub use target_problem::TargetProblem;
