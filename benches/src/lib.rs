//! The shared parts of the benchmarks: the objects they read, and the clusters that placements select from.
//!
//! The benchmarks themselves are the files next to this directory; `cargo xtask bench` runs them. The programs that
//! drive whole processes are there, too.

pub mod fleet;
pub mod generated_objects;
