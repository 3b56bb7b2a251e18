//! What the benchmarks share: the objects they read.
//!
//! The benchmarks themselves are the files beside this folder; `cargo xtask bench` runs them.

pub mod generated_objects;
