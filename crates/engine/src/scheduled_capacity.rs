//! Scheduled capacity: a number over time, from behaviours that are open or closed.

mod policy;

pub use policy::{Behaviour, ScheduledCapacity};
