//! The objects as users write them.
//!
//! From text to checked policies: `reading` turns files into trees that know their positions,
//! `kinds` says which objects are of interest, `objects` are the types and their schemas, `checking`
//! turns an object into the slim form that the engine decides over (with `slim` for what policies
//! act on), and whatever is wrong on the way becomes a [`finding::Finding`]. `exempt` is the mark that exempts
//! an object from all policies, `policy_clock` the clock that they follow, `promql` reads queries, and `near_name`
//! says which names are slips.
//! The way back is `status`: the engine's memory as the object's status.

pub mod checking;
pub mod exempt;
pub mod finding;
pub mod kinds;
mod lenient;
mod near_name;
pub mod objects;
pub mod policy_clock;
mod promql;
pub mod reading;
pub mod slim;
pub mod status;
pub mod writing;

pub use promql::is_same_query;
