//! `almanac controller` on a real API server: what the designs promise happens on time, not before,
//! and once.
//!
//! Every test starts just before a boundary of its own, with all objects in place.

mod blocked_targets;
mod bounds;
mod designs;
mod events;
pub(crate) mod histories;
mod lives;
mod one_boundary;
mod producers;
mod rights;
mod stage;
mod timing;
