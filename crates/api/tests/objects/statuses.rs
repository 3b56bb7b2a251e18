//! Statuses: writing, reading back, and reading mangled ones.

#![allow(clippy::panic, clippy::expect_used, reason = "what fails here fails the test")]

mod conditions;
mod fingerprints;
mod laws;
mod patches;
mod reading;
mod schedules;
mod support;
mod undone;
mod writing;
