//! `almanac controller` on a real API server: the actions of the designs happen on time, not before, and once.
//!
//! Every test starts just before its own boundary, after all objects have been created.

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
