//! The decisions, rule by rule: a module for each family, in it a file for each part of its rules.
//!
//! Every test's name states its rule. All decisions here use `support`, which runs the checker over them. The shared
//! parts have modules of their own: the start of a run, connected policies, one turn. The properties, over random
//! policies, worlds, outcomes and clocks, are in `properties` of each family.

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
