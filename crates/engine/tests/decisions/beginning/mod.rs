//! The start of a run: at the current state, or as if all rules had always been in force.

mod known_state;
mod properties;
mod replay;
