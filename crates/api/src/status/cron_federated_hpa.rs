//! The status of a `CronFederatedHPA`: the memory of its rules, and what is said of them.
//!
//! What is read from a written status is not always what was written: times lose what is finer than
//! a second, attempts under way are not kept, and a firing that was missed or superseded comes back
//! as one that failed, with the same words. But writing what was read gives the same status again,
//! to the last byte. So does writing at another instant before the next firing.

mod executions;
mod reading;
mod statements;
mod writing;

pub use reading::{read, read_without_policy};
pub use statements::statements;
pub use writing::{write, write_without_policy};

/// The most executions of either sort that are kept for a rule, whatever its limits.
const MOST_EXECUTIONS: usize = 32;

/// The most rules an object has.
const MOST_RULES: usize = 256;

/// The most characters the name of a rule has.
const NAME_CHARACTERS: usize = 32;

/// Whether a history can be kept under this name.
fn can_be_a_name(name: &str) -> bool {
    !name.is_empty() && name.chars().nth(NAME_CHARACTERS).is_none()
}
