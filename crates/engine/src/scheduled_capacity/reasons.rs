//! The reasons for a number, and their messages.

use std::sync::Arc;

use super::ScheduledCapacity;
use crate::Reason;

/// The reason that a behavior won or lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The behavior is open and no other outranks it.
    Open,
    /// No behavior is open, so the default applies.
    NothingOpen,
    /// The window of the behavior is closed.
    Closed,
    /// The behavior is open, but a different open behavior has a higher priority.
    LowerPriority {
        /// The position of the winner.
        than: u32,
    },
    /// The behavior is open, but a different open behavior of the same priority precedes it in the spec.
    LaterInTheSpec {
        /// The position of the winner.
        than: u32,
    },
}

/// A reason as a line for users.
#[must_use]
pub fn render(policy: &ScheduledCapacity, reason: &Reason<Cause>) -> String {
    let behavior = reason.rule.and_then(|rule| policy.behaviors.get(rule as usize));
    let name = |position: u32| format!("behavior {position}");
    let window = behavior.map_or_else(String::new, |it| it.windows.describe());
    match reason.cause {
        Cause::Open => format!("{window}: open"),
        Cause::NothingOpen => "no behavior is open, so the default applies".to_owned(),
        Cause::Closed => format!("{window}: closed"),
        Cause::LowerPriority { than } => {
            format!("{window}: open, but {} has a higher priority", name(than))
        }
        Cause::LaterInTheSpec { than } => {
            format!("{window}: open, but {} is listed before it", name(than))
        }
    }
}

/// The name of a behavior: behaviors have only a position in the spec.
pub(super) fn behavior_name(position: u32) -> Arc<str> {
    Arc::from(format!("behaviors[{position}]"))
}
