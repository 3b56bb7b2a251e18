//! A second scheduler of placements, as a reference for tests.
//!
//! This crate is slow and plain on purpose, and shares no code with the engine or the reading of objects. The input is
//! the objects of an API server, in JSON, and an instant. The scheduler follows the rules of placements step by step:
//! candidates, predicates, taints, prioritizers, selection, groups. Every lookup iterates over all objects, and every
//! score is a fraction until it is truncated. To find changes by time alone, the crate computes a schedule at every
//! instant that any object mentions. It uses jiff only to parse a timestamp.
//!
//! The crate requires objects that an API server would admit. Only the specs of placements may be invalid. [`generate`]
//! builds random worlds of such objects. The comparison is in `tests/`.

mod candidates;
mod expressions;
mod fraction;
pub mod generate;
mod groups;
mod objects;
mod prioritizers;
mod quantity;
mod schedule;
mod selector;
mod taints;
mod waking;

pub use groups::Decision;
pub use objects::{
    CLUSTER_SET_LABEL, GROUP_INDEX_LABEL, GROUP_NAME_LABEL, Key, Objects, PLACEMENT_LABEL,
};
pub use prioritizers::{MissingScore, Part};
pub use quantity::nanos;
pub use schedule::{Exclusion, Misconfigured, RankedCluster, Schedule, is_left_alone, schedule};
pub use waking::next_change;
