//! The shared parts of the benchmarks: the objects they read, and the clusters that placements select from.
//!
//! The benchmarks themselves are the files next to this directory; `cargo xtask bench` runs them. So are the programs
//! that drive whole processes.

pub mod fleet;
pub mod generated_objects;
