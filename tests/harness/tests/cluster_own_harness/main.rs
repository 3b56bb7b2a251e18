//! Whole control planes that a test has for itself: how they are built and how they run.

mod build;
mod runs;
