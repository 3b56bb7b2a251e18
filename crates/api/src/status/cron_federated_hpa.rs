//! The status of a `CronFederatedHPA`: the state of its rules, and its conditions.
//!
//! Reading a written status is not lossless. Times lose fractions of a second, attempts in progress
//! are not kept, and a firing that was missed or superseded comes back as a failed one with the
//! same message. But writing a state that was read gives the same status again, byte for byte. So does
//! writing at another instant before the next firing.

mod condition_states;
mod executions;
mod reading;
mod writing;

use crate::objects::MAX_RULE_NAME;

pub use condition_states::condition_states;
pub use reading::{read, read_without_policy};
pub use writing::{write, write_without_policy};

/// Whether a history can be kept under this name.
fn can_be_a_name(name: &str) -> bool {
    !name.is_empty() && name.chars().nth(MAX_RULE_NAME).is_none()
}
