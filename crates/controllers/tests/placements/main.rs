//! Placements that a whole process reconciles in front of a stub of the API, under one clock.

#![expect(clippy::expect_used, reason = "what fails here fails the test")]

mod agents;
mod deciding;
mod hub;
mod races;
mod writing;
