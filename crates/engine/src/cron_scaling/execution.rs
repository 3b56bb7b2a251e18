//! The outcomes of firings: the entries of a rule's history.
//!
//! The status keeps up to 64 executions for each of many thousand rules. An execution is therefore compact: the
//! scheduled time in whole seconds, and the delay until the firing was handled.

use std::num::NonZeroU32;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::{Field, Occurrence};

/// The result of one firing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Execution {
    /// The scheduled instant, in seconds since the epoch.
    scheduled: i64,
    /// The delay from the scheduled instant to the end, in nanoseconds.
    later: i64,
    /// The final outcome.
    pub ending: FiringOutcome,
}

/// The final outcome of a firing. Each firing has exactly one.
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
    /// No controller was running to apply the firing in time.
    Missed,
    /// Another firing of the same object superseded every value of this one. The other firing was later, or was at the
    /// same instant and its rule is later in the spec.
    Superseded {
        /// The name of the superseding rule.
        by: Arc<str>,
    },
    /// The firing was due while everything was stopped.
    Stopped,
}

/// The maximum count of missed firings: one every minute for a week. The instants of the first and the last are exact
/// for any number.
pub const MAX_COUNTED: u32 = 10_080;

/// An event in the life of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Recorded {
    /// A firing ended, other than by being missed. The record is reported even if the history does not keep it.
    Ended {
        /// The name of the rule.
        rule: Arc<str>,
        /// The outcome.
        execution: Execution,
    },
    /// Consecutive firings were missed because no controller was running. The history keeps the latest of these
    /// firings, up to its limit.
    Missed {
        /// The name of the rule.
        rule: Arc<str>,
        /// The number of missed firings, at most [`MAX_COUNTED`].
        count: u32,
        /// The first missed firing.
        first: Timestamp,
        /// The last missed firing.
        last: Timestamp,
        /// The time since the last missed firing.
        late: SignedDuration,
    },
    /// An attempt to apply a firing failed. The next attempt follows unless the firing is then too late.
    AttemptFailed {
        /// The name of the rule.
        rule: Arc<str>,
        /// The scheduled instant of the firing.
        scheduled: Timestamp,
        /// The number of failed attempts, including this one.
        attempts: u32,
        /// The reason that this attempt failed.
        message: Arc<str>,
    },
    /// Another field manager has immediately replaced the value of a firing. Almanac does not write the value again.
    Undone {
        /// The name of the rule.
        rule: Arc<str>,
        /// The scheduled instant of the firing.
        scheduled: Timestamp,
        /// The field of the target.
        field: Field,
        /// The value that the firing set.
        set: u32,
        /// The value that the other field manager set.
        found: u32,
    },
    /// The rule was handled or tried so far in the future that the clock must have been wrong then. The wrong state is
    /// discarded, and the rule continues from now.
    ClockWasAhead {
        /// The name of the rule.
        rule: Arc<str>,
        /// The instant up to which the rule was handled, or the firing that was tried.
        until: Timestamp,
    },
}

/// The written value of a firing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Applied {
    /// The replicas of a workload.
    Replicas(u32),
    /// The bounds of an autoscaler; `None` for a bound that the firing did not set.
    Bounds {
        /// The lower bound.
        min: Option<u32>,
        /// The upper bound.
        max: Option<NonZeroU32>,
        /// Whether the firing moved a bound that its rule does not name, to admit the named bound.
        moved_other: bool,
    },
}

impl Execution {
    /// Creates an entry for the outcome of a firing, with the instant of its end.
    #[must_use]
    pub fn new(scheduled: Timestamp, executed: Timestamp, ending: FiringOutcome) -> Execution {
        let scheduled = scheduled.as_second();
        let later = executed.as_nanosecond() - i128::from(scheduled) * 1_000_000_000;
        // Nearly three hundred years, in either direction.
        let later = i64::try_from(later).unwrap_or(if later < 0 { i64::MIN } else { i64::MAX });
        Execution { scheduled, later, ending }
    }

    /// The scheduled instant of the firing.
    #[must_use]
    pub fn scheduled(&self) -> Timestamp {
        // A timestamp is its source, so it is in the range of one.
        Timestamp::from_second(self.scheduled).unwrap_or_default()
    }

    /// The instant at which the firing ended.
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
    /// Whether the outcome counts as a success.
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

    /// The replicas that the firing set; `None` for bounds.
    #[must_use]
    pub fn replicas(self) -> Option<u32> {
        match self {
            Applied::Replicas(replicas) => Some(replicas),
            Applied::Bounds { .. } => None,
        }
    }

    /// The lower bound that the firing set; `None` if it set no lower bound.
    #[must_use]
    pub fn min(self) -> Option<u32> {
        match self {
            Applied::Replicas(_) => None,
            Applied::Bounds { min, .. } => min,
        }
    }

    /// The upper bound that the firing set; `None` if it set no upper bound.
    #[must_use]
    pub fn max(self) -> Option<u32> {
        match self {
            Applied::Replicas(_) => None,
            Applied::Bounds { max, .. } => max.map(NonZeroU32::get),
        }
    }

    /// Each field that the firing set, with the value.
    pub(crate) fn fields(self) -> impl Iterator<Item = (Field, u32)> {
        let fields = [
            (Field::Replicas, self.replicas()),
            (Field::MinReplicas, self.min()),
            (Field::MaxReplicas, self.max()),
        ];
        fields.into_iter().filter_map(|(field, value)| Some((field, value?)))
    }

    /// Whether the firing moved a bound that the rule does not name.
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
