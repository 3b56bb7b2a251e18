//! The objects as users write them.
//!
//! From text to checked policies: `reading` turns files into values that have their positions (`tree`),
//! `kinds` says which objects are of interest, `objects` are the types and their schemas, `shape` compares a value
//! with a schema, `checking` turns an object into the slim form that the engine decides over (with `families` for what
//! policies mean, `fields` for what several kinds have, and `slim` for what policies act on), and whatever is wrong on the
//! way becomes a [`finding::Finding`]. `families` has a descriptor of each family, from which all lists of families are
//! derived, and `definitions` the kinds that we define. `exempt` is the mark that exempts
//! an object from all policies, `policy_clock` the clock that they follow, `promql` reads queries, `schedule` and
//! `go_duration` read times, and `near_name` says which names are slips.
//! The way back is `status`: the engine's memory as the object's status.

pub mod checking;
pub mod definitions;
pub mod exempt;
pub mod families;
mod fields;
pub mod finding;
mod go_duration;
pub mod kinds;
mod lenient;
mod near_name;
pub mod objects;
pub mod policy_clock;
mod promql;
pub mod reading;
mod schedule;
mod shape;
pub mod slim;
pub mod status;
mod tree;
pub mod writing;

pub use promql::is_same_query;
