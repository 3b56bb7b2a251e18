//! The rules of units of nodes, one by one, and the simulation that holds the ledger to them whatever fails.
//!
//! Every test's name states the rule it holds. What is really the case is counted by `naive`, which shares no code with
//! the ledger.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helping functions too"
)]

mod naive;
mod pouring;
mod rules;
mod simulation;
mod support;
