//! The reasons for the effect of a rule, and their messages.

use jiff::{SignedDuration, Timestamp};

use super::CronScaling;
use crate::{Exempt, Reason};

/// The reason for the effect of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The rule fired and sets the target.
    Fired,
    /// The rule fired, and the target already had its value.
    AlreadySet,
    /// The rule fired, and the bound that it does not name is moved together with the named bound.
    MovedOtherBound,
    /// The rule fired, but another firing superseded all its values.
    Superseded {
        /// The position of the superseding rule.
        by: u32,
    },
    /// The rule fired too long ago to be applied.
    Missed {
        /// The time since the firing.
        by: SignedDuration,
    },
    /// The rule fired, but the target does not exist.
    TargetMissing,
    /// The rule fired, but the target could not be read.
    TargetUnreachable,
    /// The rule fired, an attempt failed, and it will be retried.
    Retrying {
        /// The number of failed attempts.
        attempts: u32,
    },
    /// The rule fired, and every attempt failed until it was too late.
    GaveUp {
        /// The number of attempts.
        attempts: u32,
    },
    /// The rule fired while everything was stopped.
    Stopped,
    /// The object or its target is exempt.
    Exempt(Exempt),
    /// The rule is suspended.
    Suspended,
    /// No firing is due.
    NotDue,
    /// No firing is due, and the last handled instant is so far ahead that the clock must have been
    /// wrong then.
    ClockWasAhead {
        /// The last handled instant.
        until: Timestamp,
    },
}

/// A reason as a line for users.
#[must_use]
pub fn render(policy: &CronScaling, reason: &Reason<Cause>) -> String {
    let rule_at = |position: u32| policy.rules.get(position as usize);
    let rule = reason.rule.and_then(rule_at);
    let schedule = rule.map_or_else(String::new, |it| it.firings.describe());
    let name = |position: u32| rule_at(position).map_or("another rule", |it| &*it.name).to_owned();
    match reason.cause {
        Cause::Fired => format!("{schedule}: fired"),
        Cause::AlreadySet => format!("{schedule}: fired; already at this value"),
        Cause::MovedOtherBound => {
            format!("{schedule}: fired; moved the other bound too")
        }
        Cause::Superseded { by } => {
            format!("{schedule}: fired, but was superseded by {}", name(by))
        }
        Cause::Missed { by } => {
            let by = SignedDuration::from_secs(by.as_secs());
            format!("{schedule}: missed by {by:#}")
        }
        Cause::TargetMissing => format!("{schedule}: fired, but the target was not found"),
        Cause::TargetUnreachable => {
            format!("{schedule}: fired, but the target could not be read")
        }
        Cause::Retrying { attempts: 0 } => format!("{schedule}: fired; first attempt pending"),
        Cause::Retrying { attempts: 1 } => {
            format!("{schedule}: fired; 1 failed attempt; retrying")
        }
        Cause::Retrying { attempts } => {
            format!("{schedule}: fired; {attempts} failed attempts; retrying")
        }
        Cause::GaveUp { attempts: 1 } => format!("{schedule}: fired; gave up after 1 attempt"),
        Cause::GaveUp { attempts } => {
            format!("{schedule}: fired; gave up after {attempts} attempts")
        }
        Cause::Stopped => format!("{schedule}: fired, but everything was stopped"),
        Cause::Exempt(exempt) => format!("{schedule}: not applied; {exempt}"),
        Cause::Suspended => format!("{schedule}: suspended"),
        Cause::NotDue => format!("{schedule}: not due"),
        Cause::ClockWasAhead { until } => {
            format!(
                "{schedule}: not due; firings up to {until:.0} were handled by a clock that ran ahead"
            )
        }
    }
}
