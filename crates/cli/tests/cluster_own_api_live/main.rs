//! `almanac next`, `explain` and `forecast` over a cluster.

mod exports;
mod levels;
#[path = "../live/mod.rs"]
mod live;
mod units;
