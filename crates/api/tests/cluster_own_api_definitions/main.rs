//! The CRDs on a real API server: what it accepts and rejects is what our checks accept and reject.

#[path = "../support/written/mod.rs"]
mod written;

mod hub;
mod own;
