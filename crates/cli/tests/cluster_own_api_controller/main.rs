//! `almanac controller` on a real API server: what the designs promise happens when its time has
//! come, not before, and once.
//!
//! Every test stands just before a boundary of its own, with everything in place that the boundary
//! concerns.

#[path = "../controller/mod.rs"]
mod controller;

mod blocked_targets;
mod bounds;
mod designs;
mod events;
mod histories;
mod lives;
mod one_boundary;
mod producers;
mod rights;
mod stage;
mod timing;
