//! A second scheduler of placements, to test ours against.
//!
//! This crate is slow and plain on purpose, and shares no code with the engine or the reading of objects. It takes the
//! objects as API servers have them, in JSON, and an instant, and follows the rules of placements step by step:
//! candidates, predicates, taints, prioritizers, selection, groups. Every lookup goes through all objects, every
//! score is a fraction until it is truncated, and changes by time alone are found by scheduling again at every
//! instant that any object mentions. It uses jiff for one thing only, to parse a timestamp.
//!
//! It requires objects that an API server would admit, except for the specs of placements, which may be invalid.
//! [`generate`] builds random worlds of such objects. The comparison is in `tests/`.

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
