//! The controllers: carry out the policies of a cluster, each family in the same steps
//! (`fetch → gather → decide → apply → settle → status`).
//!
//! | module | what it holds |
//! |---|---|
//! | [`process`] | the whole of it: waits to lead, and runs one term after the other |
//! | `term` | one term: everything is listed anew, and then everybody gets their turns |
//! | `turns` | whose turn it is |
//! | `carrying_out` | one turn: the engine's, with an API server between its opening and its close |
//! | `cluster` | what is known: the world, and what is held besides |
//! | `policies` | following the kinds of policies |
//! | `targets` | what policies change: finding it, knowing its state, writing it |
//! | `records` | writing statuses |
//! | `not_ready` | how many objects need attention, and why |
//! | `families` | which families there are here, and what each does besides deciding |
//! | `metrics_producer`, `cron_federated_hpa` | a family each: its status, its Events, its metrics |
//!
//! What a policy wants is decided in `almanac-engine`; how a request is sent is the affair of
//! `almanac-shell`.

#[cfg(test)]
mod bench;
mod cluster;
mod cron_federated_hpa;
mod families;
mod leadership;
mod metrics_producer;
mod not_ready;
mod policies;
pub mod process;
mod reconciler;
mod status_writer;
mod targets;
mod term;
mod turns;
