//! The status of a `CronFederatedHPA`: the state of its rules, and its conditions.
//!
//! Reading a written status is not lossless. Times lose fractions of a second, and attempts in progress are lost. A
//! missed or superseded firing is read back as a failed firing with the same message. But writing a state that was read
//! produces the same status again, byte for byte, also at another instant before the next firing.

mod condition_states;
mod executions;
mod reading;
mod writing;

use crate::objects::MAX_RULE_NAME;

pub use condition_states::condition_states;
pub use reading::{read, read_without_policy};
pub use writing::{write, write_without_policy};

/// Whether the status can store a history under this name.
fn can_be_a_name(name: &str) -> bool {
    !name.is_empty() && name.chars().nth(MAX_RULE_NAME).is_none()
}
