//! Why a rule did what it did, and how to say it.

use jiff::{SignedDuration, Timestamp};

use super::CronScaling;
use crate::{Exempt, Reason};

/// Why a rule did what it did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// It fired and sets the target.
    Fired,
    /// It fired, and the target already had its value.
    AlreadySet,
    /// It fired, and the bound it did not name is moved with the one it did.
    MovedOtherBound,
    /// It fired, but another firing superseded all that it would have set.
    Superseded {
        /// The position of the superseding rule.
        by: u32,
    },
    /// It fired too long ago to be carried out.
    Missed {
        /// How long ago.
        by: SignedDuration,
    },
    /// It fired, but the target does not exist.
    TargetMissing,
    /// It fired, but the target could not be read.
    TargetUnreachable,
    /// It fired, an attempt failed, and it will be retried.
    Retrying {
        /// How many attempts have failed.
        attempts: u32,
    },
    /// It fired, and every attempt failed until it was too late.
    GaveUp {
        /// How many attempts there were.
        attempts: u32,
    },
    /// It fired while everything was stopped.
    Stopped,
    /// The object or its target is exempt.
    Exempt(Exempt),
    /// It is suspended.
    Suspended,
    /// No firing is due.
    NotDue,
    /// No firing is due, and the last handled instant is so far ahead that the clock must have been
    /// wrong then.
    ClockWasAhead {
        /// Until when it was handled.
        until: Timestamp,
    },
}

/// A reason as a line for a person.
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
        Cause::Exempt(exempt) => format!("{schedule}: not carried out; {exempt}"),
        Cause::Suspended => format!("{schedule}: suspended"),
        Cause::NotDue => format!("{schedule}: not due"),
        Cause::ClockWasAhead { until } => {
            format!(
                "{schedule}: not due; firings up to {until:.0} were handled by a clock that ran ahead"
            )
        }
    }
}
