//! The controllers: one folder a kind, each with the same steps
//! (`fetch → gather → decide → apply → settle → status`), and what they share.
//!
//! | module | what it holds |
//! |---|---|
//! | [`process`] | the whole of it: waits to lead, and runs one term after the other |
//! | `term` | one term: everything is listed anew, and then everybody gets their turns |
//! | `turns` | whose turn it is |
//! | `cluster` | what is known: the world, and what is held besides |
//! | `policies` | following the kinds of policies |
//! | `targets` | what policies change: finding it, knowing its state, writing it |
//! | `records` | writing statuses |
//! | `metrics_producer`, `cron_federated_hpa` | a kind each |
//!
//! What a policy wants is decided in `almanac-engine`; how a request is sent is the affair of
//! `almanac-shell`.

mod cluster;
mod cron_federated_hpa;
mod leading;
mod metrics_producer;
mod overview;
mod policies;
pub mod process;
mod records;
mod targets;
mod term;
mod turns;
