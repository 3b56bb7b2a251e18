//! The rules of units of nodes, one by one, and the simulation that checks the ledger against them under every fault.
//!
//! Every test's name states the rule it holds. `naive` counts the true state, and shares no code with the ledger.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helping functions too"
)]

mod naive;
mod rules;
mod scheduling;
mod simulation;
mod support;
