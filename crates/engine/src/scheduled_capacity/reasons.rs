//! Why a number holds, and how that reads.

use super::ScheduledCapacity;
use crate::Reason;

/// What became of a behaviour, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Because {
    /// It is open and nothing outranks it.
    Open,
    /// No behaviour is open, so the default holds.
    NothingOpen,
    /// Its window is closed.
    Closed,
    /// It is open, but another open one has a higher priority.
    LowerPriority {
        /// The position of the other.
        than: u32,
    },
    /// It is open, but another open one of the same priority comes before it.
    LaterInTheSpec {
        /// The position of the other.
        than: u32,
    },
}

/// A reason as a line for a person.
#[must_use]
pub fn render(policy: &ScheduledCapacity, reason: &Reason<Because>) -> String {
    let behaviour = reason.rule.and_then(|rule| policy.behaviours.get(rule as usize));
    let name = |position: u32| format!("behaviour {position}");
    let window = behaviour.map_or_else(String::new, |it| it.windows.describe());
    match reason.because {
        Because::Open => format!("{window}: open"),
        Because::NothingOpen => "no behaviour is open, so the default holds".to_owned(),
        Because::Closed => format!("{window}: closed"),
        Because::LowerPriority { than } => {
            format!("{window}: open, but {} has a higher priority", name(than))
        }
        Because::LaterInTheSpec { than } => {
            format!("{window}: open, but {} comes before it", name(than))
        }
    }
}
