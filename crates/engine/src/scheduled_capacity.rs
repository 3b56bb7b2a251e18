//! Scheduled capacity: publishes a number over time, by behaviors that are open or closed.

mod begin;
mod decide;
mod gather;
mod logic;
mod policy;
mod reasons;
mod settle;

pub use decide::{Decision, LOOKS_AHEAD, decide, explain, next_change, value_at};
pub use gather::{Input, gather};
pub use policy::{Behavior, ScheduledCapacity};
pub use reasons::{Cause, render};
pub use settle::{Change, PublishedNumber, Recorded, Settlement, settle};

pub use logic::Schedules;
