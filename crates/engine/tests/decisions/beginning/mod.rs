//! Where a run begins: with what is, or as if all rules had always been in force.

mod properties;
mod replay;
mod what_is;
