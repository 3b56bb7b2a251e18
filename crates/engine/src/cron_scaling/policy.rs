//! A checked `CronFederatedHPA`.
//!
//! `almanac-api` reads and checks it. The decision determines which firing is due, missed or superseded. A process
//! keeps ten thousand of these, so a rule is small: a few words and its name.

use std::sync::Arc;

use almanac_calendar::Firings;

use crate::{Field, Fingerprint, Target};

/// Rules that change one target at given instants.
#[derive(Clone, Debug)]
pub struct CronScaling {
    /// The object that the rules change.
    pub target: Target,
    /// The `apiVersion` of the target reference, for requests to the API server.
    pub target_version: Arc<str>,
    /// The rules in the order of the spec. Invalid rules are omitted, so a position here differs from
    /// [`CronRule::position`], the position in the spec.
    pub rules: Box<[CronRule]>,
    /// The rules that are invalid as written. They have no effect, and their histories are kept.
    pub unusable_rules: Box<[UnusableRule]>,
}

impl CronScaling {
    /// Whether every rule is suspended, so that no rule fires. Unknown without a usable rule.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        !self.rules.is_empty() && self.rules.iter().all(|rule| rule.suspended)
    }
}

/// The rest of a rule that is invalid as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnusableRule {
    /// The name of the rule, under which its history is kept.
    pub name: Box<str>,
    /// The position of the rule in the spec as written, counted from 0.
    pub position: u32,
}

/// One usable rule.
#[derive(Clone, Debug)]
pub struct CronRule {
    /// The name, unique among the rules of the object. It identifies the history of the rule.
    pub name: Arc<str>,
    /// The position of the rule in the spec as written, counted from 0.
    pub position: u32,
    /// The instants of the rule's firings, in its own time zone.
    pub firings: Firings,
    /// Whether the rule is suspended. A suspended rule does not fire.
    pub suspended: bool,
    /// The value that each firing sets. It fits the object's [`Target`].
    pub desired: DesiredScale,
    /// The delay in seconds with which a missed firing may still be applied. Smaller than the shortest interval
    /// between two firings.
    pub max_delay_seconds: u32,
    /// The number of successful executions that the status keeps: 1 to 32.
    pub successful_history_limit: u8,
    /// The number of failed executions that the status keeps: 0 to 32.
    pub failed_history_limit: u8,
    /// The fingerprint of the content and the schedule: the target, the schedule as written, the time zone, the desired
    /// scale and the suspension. A rule whose fingerprint differs from the stored one is new and never fires for the
    /// past. The fingerprint excludes the history limits and the delay, because changing these must not discard handled
    /// firings.
    pub fingerprint: Fingerprint,
}

/// The value that a firing sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DesiredScale {
    /// The replicas of a workload. At most `i32::MAX`.
    Replicas(u32),
    /// The bounds of an autoscaler.
    Bounds(Bounds),
}

impl DesiredScale {
    /// Each field with its desired number.
    pub fn fields(self) -> impl Iterator<Item = (Field, u32)> {
        let (replicas, min, max) = match self {
            DesiredScale::Replicas(replicas) => (Some(replicas), None, None),
            DesiredScale::Bounds(Bounds { min, max }) => (None, min, max),
        };
        let numbers =
            [(Field::Replicas, replicas), (Field::MinReplicas, min), (Field::MaxReplicas, max)];
        numbers.into_iter().filter_map(|(field, number)| Some((field, number?)))
    }
}

/// One or both bounds of an autoscaler: the upper bound at least 1, each bound at most `i32::MAX`, and in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    min: Option<u32>,
    max: Option<u32>,
}

/// The reason that two numbers are not valid bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InvalidBounds {
    /// Neither bound is set.
    Empty,
    /// The upper bound is 0.
    Zero,
    /// The lower bound is above the upper bound.
    Crossed,
}

impl Bounds {
    /// Bounds to set; `None` leaves the autoscaler's bound unchanged.
    pub fn new(min: Option<u32>, max: Option<u32>) -> Result<Self, InvalidBounds> {
        match (min, max) {
            (None, None) => Err(InvalidBounds::Empty),
            (_, Some(0)) => Err(InvalidBounds::Zero),
            (Some(min), Some(max)) if min > max => Err(InvalidBounds::Crossed),
            _ => Ok(Self { min, max }),
        }
    }

    /// The lower bound to set.
    #[must_use]
    pub fn min(self) -> Option<u32> {
        self.min
    }

    /// The upper bound to set.
    #[must_use]
    pub fn max(self) -> Option<u32> {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_never_empty_or_crossed_and_only_the_lower_one_may_be_zero() {
        assert_eq!(Bounds::new(None, None), Err(InvalidBounds::Empty));
        assert_eq!(Bounds::new(None, Some(0)), Err(InvalidBounds::Zero));
        assert_eq!(Bounds::new(Some(0), Some(0)), Err(InvalidBounds::Zero));
        assert_eq!(Bounds::new(Some(0), None).map(Bounds::min), Ok(Some(0)));
        assert_eq!(Bounds::new(Some(3), Some(2)), Err(InvalidBounds::Crossed));
        let bounds = Bounds::new(Some(2), Some(2)).expect("equal bounds are in order");
        assert_eq!((bounds.min(), bounds.max()), (Some(2), Some(2)));
    }

    #[test]
    fn a_rule_takes_less_than_a_quarter_of_a_kibibyte() {
        assert!(size_of::<CronRule>() <= 256, "{} bytes", size_of::<CronRule>());
    }
}
