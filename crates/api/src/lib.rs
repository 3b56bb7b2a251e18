//! The objects as users write them.
//!
//! From text to checked policies:
//!
//! - `reading` turns files into values that have their positions (`tree`); `kinds` lists the kinds to read.
//! - `objects` are the types and their schemas, and `shape` compares a value with a schema.
//! - `checking` turns an object into the slim form that the engine decides over: `families` for the meaning of
//!   policies, `fields` for the fields of several kinds, `slim` for the objects that policies act on.
//! - Every problem becomes a [`finding::Finding`].
//! - `families` has a descriptor of each family, from which all lists of families are derived, and `definitions` the
//!   kinds that we define.
//! - `exempt` is the mark that exempts an object from all policies, `policy_clock` the clock that they follow.
//! - `promql` reads queries, `schedule` and `go_duration` read times, and `near_name` finds mistyped names.
//!
//! The way back is `status`: the policy state as the object's status.

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
