//! `almanac next`, `explain` and `forecast` over a cluster.

mod exports;
mod levels;
mod units;
mod watching;
