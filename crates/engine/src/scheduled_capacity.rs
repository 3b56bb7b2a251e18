//! Scheduled capacity: a number over time, from behaviours that are open or closed.

mod decide;
mod gather;
mod policy;
mod reasons;
mod settle;

pub use decide::{LOOKS_AHEAD, decide, explain, value_at};
pub use gather::{Input, gather};
pub use policy::{Behaviour, ScheduledCapacity};
pub use reasons::{Because, render};
pub use settle::{Change, Published, settle};
