//! What the benchmarks share: printing their figures as a table.
//!
//! The benchmarks themselves are the files beside this folder; `cargo xtask bench` runs them.
