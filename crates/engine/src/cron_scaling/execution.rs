//! The outcomes of firings: the entries of a rule's history.
//!
//! Up to 64 of them are kept for each of many thousand rules, so they are compact: the scheduled time in
//! whole seconds, and the delay until it was handled.

use std::num::NonZeroU32;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::{Field, Occurrence};

/// The result of one firing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Execution {
    /// The firing, in seconds since the epoch.
    scheduled: i64,
    /// The delay until it was handled, in nanoseconds.
    later: i64,
    /// The outcome.
    pub ending: FiringOutcome,
}

/// The end of a firing. Each has exactly one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FiringOutcome {
    /// The firing was applied, or its value was already set.
    Done(Applied),
    /// All attempts failed until it was too late.
    Failed {
        /// The number of attempts.
        attempts: u32,
        /// The reason that the last attempt failed.
        message: Arc<str>,
    },
    /// No controller was running to carry it out in time.
    Missed,
    /// Another firing of the same object superseded all that this one would have set: a later one,
    /// or one at the same instant of a rule later in the spec.
    Superseded {
        /// The rule that superseded it.
        by: Arc<str>,
    },
    /// The firing was due while everything was stopped.
    Stopped,
}

/// The maximum number of missed firings that are counted: those of a week, if there is one every minute. The instants
/// of the first and the last are exact for any number.
pub const MAX_COUNTED: u32 = 10_080;

/// An event in the life of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Recorded {
    /// A firing ended, other than by being missed. It is reported even if the history has no room for
    /// it.
    Ended {
        /// The rule.
        rule: Arc<str>,
        /// The outcome.
        execution: Execution,
    },
    /// Consecutive firings that were all missed because no controller was running. The history has
    /// the latest of them, up to its limit.
    Missed {
        /// The rule.
        rule: Arc<str>,
        /// The number of missed firings, at most [`MAX_COUNTED`].
        count: u32,
        /// The first of them.
        first: Timestamp,
        /// The last of them.
        last: Timestamp,
        /// The time since the last one.
        late: SignedDuration,
    },
    /// An attempt to carry a firing out failed; another one follows, unless it is too late by then.
    AttemptFailed {
        /// The rule.
        rule: Arc<str>,
        /// The firing.
        scheduled: Timestamp,
        /// The number of failed attempts, this one included.
        attempts: u32,
        /// The reason that this one failed.
        message: Arc<str>,
    },
    /// Another writer has immediately replaced the value of a firing. Nothing is written again.
    Undone {
        /// The rule.
        rule: Arc<str>,
        /// The firing.
        scheduled: Timestamp,
        /// The field of the target.
        field: Field,
        /// The value that the firing set.
        set: u32,
        /// The value that the other writer set.
        found: u32,
    },
    /// The rule was handled, or tried, so far ahead of now that the clock must have been wrong then.
    /// That is discarded, and the rule continues from now.
    ClockWasAhead {
        /// The rule.
        rule: Arc<str>,
        /// The instant up to which it was handled, or the firing that was tried.
        until: Timestamp,
    },
}

/// The value that a firing set, as written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Applied {
    /// The replicas of a workload.
    Replicas(u32),
    /// The bounds of an autoscaler; `None` for one that the firing did not set.
    Bounds {
        /// The lower bound.
        min: Option<u32>,
        /// The upper bound.
        max: Option<NonZeroU32>,
        /// Whether one of them was not the rule's own, but moved to admit the other.
        moved_other: bool,
    },
}

impl Execution {
    /// An entry for the result of a firing, and when it ended.
    #[must_use]
    pub fn new(scheduled: Timestamp, executed: Timestamp, ending: FiringOutcome) -> Execution {
        let scheduled = scheduled.as_second();
        let later = executed.as_nanosecond() - i128::from(scheduled) * 1_000_000_000;
        // Nearly three hundred years, in either direction.
        let later = i64::try_from(later).unwrap_or(if later < 0 { i64::MIN } else { i64::MAX });
        Execution { scheduled, later, ending }
    }

    /// The firing.
    #[must_use]
    pub fn scheduled(&self) -> Timestamp {
        // A timestamp is its source, so it is in the range of one.
        Timestamp::from_second(self.scheduled).unwrap_or_default()
    }

    /// The instant at which it ended.
    #[must_use]
    pub fn executed(&self) -> Timestamp {
        self.scheduled().saturating_add(self.later()).unwrap_or(self.scheduled())
    }

    /// The delay from the firing to its end.
    #[must_use]
    pub fn later(&self) -> SignedDuration {
        SignedDuration::from_nanos(self.later)
    }

    pub(super) fn share_message_with(&mut self, others: &[Execution]) {
        let FiringOutcome::Failed { message, .. } = &mut self.ending else { return };
        let known = others.iter().find_map(|other| match &other.ending {
            FiringOutcome::Failed { message: known, .. } if known == message => Some(known),
            _ => None,
        });
        if let Some(known) = known {
            *message = Arc::clone(known);
        }
    }
}

impl Recorded {
    pub(crate) fn occurrence(&self) -> Option<(Occurrence, Option<Arc<str>>)> {
        let (what, rule) = match self {
            Recorded::Ended { rule, execution } => match execution.ending {
                FiringOutcome::Done(_) => (Occurrence::Fires, rule),
                FiringOutcome::Superseded { .. } => (Occurrence::Superseded, rule),
                FiringOutcome::Failed { .. } | FiringOutcome::Missed | FiringOutcome::Stopped => {
                    (Occurrence::Missed, rule)
                }
            },
            Recorded::Missed { rule, .. } => (Occurrence::Missed, rule),
            Recorded::AttemptFailed { .. }
            | Recorded::Undone { .. }
            | Recorded::ClockWasAhead { .. } => return None,
        };
        Some((what, Some(Arc::clone(rule))))
    }
}

impl FiringOutcome {
    /// Whether it counts as a success.
    #[must_use]
    pub fn is_success(&self) -> bool {
        matches!(self, FiringOutcome::Done(_))
    }
}

impl Applied {
    /// The bounds that a firing set.
    #[must_use]
    pub fn bounds(min: Option<u32>, max: Option<u32>, moved_other: bool) -> Applied {
        Applied::Bounds { min, max: max.and_then(NonZeroU32::new), moved_other }
    }

    /// The replicas, if it set them.
    #[must_use]
    pub fn replicas(self) -> Option<u32> {
        match self {
            Applied::Replicas(replicas) => Some(replicas),
            Applied::Bounds { .. } => None,
        }
    }

    /// The lower bound, if it set it.
    #[must_use]
    pub fn min(self) -> Option<u32> {
        match self {
            Applied::Replicas(_) => None,
            Applied::Bounds { min, .. } => min,
        }
    }

    /// The upper bound, if it set it.
    #[must_use]
    pub fn max(self) -> Option<u32> {
        match self {
            Applied::Replicas(_) => None,
            Applied::Bounds { max, .. } => max.map(NonZeroU32::get),
        }
    }

    /// Each field it set, and to what.
    pub(crate) fn fields(self) -> impl Iterator<Item = (Field, u32)> {
        let fields = [
            (Field::Replicas, self.replicas()),
            (Field::MinReplicas, self.min()),
            (Field::MaxReplicas, self.max()),
        ];
        fields.into_iter().filter_map(|(field, value)| Some((field, value?)))
    }

    /// Whether it moved a bound that the rule does not name.
    #[must_use]
    pub fn moved_other_bound(self) -> bool {
        matches!(self, Applied::Bounds { moved_other: true, .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_execution_takes_forty_bytes() {
        assert_eq!(size_of::<Execution>(), 40);
    }

    #[test]
    fn the_instants_of_an_execution_are_exact() {
        let scheduled: Timestamp = "1969-12-31T23:58:00Z".parse().unwrap();
        for executed in ["1969-12-31T23:58:00.000000001Z", "1969-12-31T23:57:59.5Z"] {
            let executed: Timestamp = executed.parse().unwrap();
            let execution = Execution::new(scheduled, executed, FiringOutcome::Missed);
            assert_eq!((execution.scheduled(), execution.executed()), (scheduled, executed));
        }
    }
}
