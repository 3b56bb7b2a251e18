//! What the benchmarks share: the objects they read, and the clusters that placements select from.
//!
//! The benchmarks themselves are the files beside this folder; `cargo xtask bench` runs them. So are the programs that
//! drive whole processes.

pub mod fleet;
pub mod generated_objects;
