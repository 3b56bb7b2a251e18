//! Simulated nodes and workloads on the shared cluster.

mod nodes;
mod workloads;
