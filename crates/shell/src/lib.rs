//! The parts that every process connected to a cluster needs.
//!
//! | module | what it provides |
//! |---|---|
//! | [`client`] | the connection to the API server |
//! | [`clock`] | the policy clock, which a test can shift |
//! | [`lease`] | leader election, and the fence that every write must pass |
//! | [`writer`] | every write but the lease's: fenced, within the budget, and with a precondition |
//! | [`budget`] | the limit on writes in flight, and their order |
//! | [`following`] | a kind of objects, listed and watched, and the age of the view of it |
//! | [`event_log`] | Events, bounded |
//! | [`endpoints`] | metrics and health over HTTP |
//! | [`server`] | requests of other programs over HTTP, answered or forwarded |
//! | [`certificates`] | certificates that processes create, store and renew themselves |
//! | [`prometheus`] | queries to a Prometheus, and the problems of their responses |
//! | [`process_metrics`] | the version, and the resources that the process uses |
//! | [`log`] | one line per event, for machines or for users |
//! | [`shutdown`] | a signal, and a token for everything that waits for it |
//! | [`backoff`] | the delay before the next attempt |
//!
//! The callers decide the content and the time of each write.
//!
//! # Rules
//!
//! - The fence limits how long a leader may write, by a clock that cannot be set and that runs while the machine sleeps. It is
//!   checked immediately before every request. It closes 10 s after the last successful renewal was sent, and stays closed.
//!   Other replicas acquire the Lease after 15 s.
//! - Every write to an object carries the `resourceVersion` or the UID that it was based on. So the API server rejects a request
//!   that was in flight while the fence closed.
//! - At the top of the hour, writes that change capacity go first, then statuses, then Events. Before a write of the first
//!   class is sent, its policy is checked again: if it was edited, suspended or deleted, or is too late, the write is withdrawn.
//! - Objects are not parsed into types while they are watched, so one malformed object hides no other.
//!
//! # Where to change what
//!
//! | to change | go to |
//! |---|---|
//! | the Lease and its times, the fence | `lease.rs`, `lease/candidate.rs`, `fence.rs` |
//! | the stop annotation | `lease/switch.rs` |
//! | the sending of writes, and their order | `writer.rs`, `budget.rs` |
//! | lists and watches of a kind, and their age | `following.rs` and its directory |
//! | limits for clients of metrics and health | `endpoints/listener.rs` |
//! | limits for other requests; forwarding to the leader | `server.rs`, `server/forwarding.rs` |
//! | limits of queries, messages about responses | `prometheus.rs`, `prometheus/problem.rs` |
//! | certificates and their renewal | `certificates.rs`, `certificates/manager.rs` |

pub mod backoff;
pub mod budget;
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
pub mod server;
pub mod shutdown;
mod slots;
pub mod writer;
