//! The parts that every process connected to a cluster needs.
//!
//! | module | what it provides |
//! |---|---|
//! | [`client`] | the connection to the API server |
//! | [`clock`] | the policies' clock, which a test can shift |
//! | [`lease`] | leader election, and the fence that every write has to pass |
//! | [`writer`] | every write but the lease's: fenced, within the budget, and with a precondition |
//! | [`budget`] | how many writes are in flight, and which go first |
//! | [`following`] | a kind of objects, listed and watched, and the age of the view of it |
//! | [`event_log`] | Events, bounded |
//! | [`endpoints`] | metrics and health over HTTP |
//! | [`calls`] | calls from other programs, answered over HTTP, and passed on |
//! | [`certificates`] | certificates that processes make, keep and renew themselves |
//! | [`prometheus`] | queries to a Prometheus, and the problems of their responses |
//! | [`process_metrics`] | the version, and the resources that the process uses |
//! | [`log`] | one line per event, for machines or for people |
//! | [`shutdown`] | a signal, and a token for everything that waits for it |
//! | [`backoff`] | how long to wait before the next attempt |
//!
//! Other crates decide what to write, and when.

pub mod backoff;
pub mod budget;
pub mod calls;
pub mod certificates;
pub mod client;
pub mod clock;
pub mod endpoints;
pub mod event_log;
mod fence;
pub mod following;
mod json_parts;
pub mod lease;
pub mod log;
pub mod monotonic;
pub mod process_metrics;
pub mod prometheus;
pub mod shutdown;
mod slots;
pub mod writer;
