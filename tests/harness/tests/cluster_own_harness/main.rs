//! Whole control planes that belong to a single test: the build and the runs.

mod build;
mod runs;
