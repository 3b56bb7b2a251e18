//! The decisions, rule by rule: a module for each family, in it a file for each part of its rules.
//!
//! Every test's name states the rule it holds. Whatever is decided here is decided through
//! `support`, which runs the checker over it. What the families share has a module of its own
//! beside theirs: where a run begins, which policies belong together, one turn. The properties,
//! which hold over random policies, worlds, outcomes and clocks, are in `properties` of each.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helping functions too"
)]

mod beginning;
mod cron_scaling;
mod footprint;
mod metric_scaling;
mod placement;
mod qos_levels;
mod scheduled_capacity;
mod support;
mod turn;
