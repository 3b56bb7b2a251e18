//! Where a run begins: at the current state, or as if all rules had always been in force.

mod properties;
mod replay;
mod what_is;
