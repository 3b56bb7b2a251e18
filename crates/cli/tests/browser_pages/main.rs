//! The pages that `almanac` writes, in a real browser.

#![cfg(target_os = "linux")]

#[path = "../support/installing/mod.rs"]
mod installing;

mod chromium;
mod diff;
mod forecast;
