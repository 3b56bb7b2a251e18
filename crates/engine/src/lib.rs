//! The decisions.
//!
//! A folder for each family of policies; beside them what the families share. Everything here is a
//! pure function of what it is given: no clock, no I/O, no Kubernetes types. `almanac-api` turns
//! what users write into the checked policies of this crate.

pub mod cron_scaling;
pub mod fingerprint;
pub mod identity;
pub mod scheduled_capacity;

pub use fingerprint::Fingerprint;
pub use identity::Identity;
