//! Statuses: what is written, what is read back, and what is made of those that are mangled.

#![allow(clippy::panic, clippy::expect_used, reason = "what fails here fails the test")]

mod conditions;
mod laws;
mod patches;
mod reading;
mod schedules;
mod support;
mod undone;
mod writing;
#[path = "../written/mod.rs"]
mod written;
