//! The CRDs on a real API server: our checks accept and reject the same objects as the API server.

#[path = "../support/written/mod.rs"]
mod written;

mod hub;
mod own;
