//! A checked `CronFederatedHPA`.
//!
//! Reading and checking are up to `almanac-api`. The decision determines which firing is due, missed or superseded.
//! Ten thousand of these are in memory at the same time, so a rule is small: a few words and its name.

use std::sync::Arc;

use almanac_calendar::Firings;

use crate::{Field, Fingerprint, Target};

/// Rules that change one target at given instants.
#[derive(Clone, Debug)]
pub struct CronScaling {
    /// The object that the rules change.
    pub target: Target,
    /// The `apiVersion` in which the target is named, for requests to the API server.
    pub target_version: Arc<str>,
    /// The rules in the order of the spec. Invalid rules are omitted, so a position here is not a position in the
    /// spec: that is [`CronRule::position`].
    pub rules: Box<[CronRule]>,
    /// The rules that are invalid as written. They do nothing, and their histories are kept.
    pub unusable_rules: Box<[UnusableRule]>,
}

impl CronScaling {
    /// Whether every rule is suspended, so that nothing fires. Without a usable rule, this is unknown.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        !self.rules.is_empty() && self.rules.iter().all(|rule| rule.suspended)
    }
}

/// The rest of a rule that is invalid as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnusableRule {
    /// Its name, under which its history is kept.
    pub name: Box<str>,
    /// Its position in the spec as written, counted from 0.
    pub position: u32,
}

/// One usable rule.
#[derive(Clone, Debug)]
pub struct CronRule {
    /// Unique among the rules of its object; its history is kept under this name.
    pub name: Arc<str>,
    /// Its position in the spec as written, counted from 0.
    pub position: u32,
    /// The instants at which it fires, in its own zone.
    pub firings: Firings,
    /// Nothing fires while this is set.
    pub suspended: bool,
    /// The value that a firing sets. Fits the object's [`Target`].
    pub desired: DesiredScale,
    /// The delay in seconds with which a missed firing may still be applied. Smaller than the shortest interval
    /// between two firings.
    pub max_delay_seconds: u32,
    /// The number of successful executions that the status keeps: 1 to 32.
    pub successful_history_limit: u8,
    /// The number of failed executions that the status keeps: 0 to 32.
    pub failed_history_limit: u8,
    /// Identifies the content and the schedule of the rule: the target, the schedule as written, the zone, the
    /// desired scale and whether it is suspended. One that differs from the stored one means a new rule, which never
    /// fires for the past. The history limits and the delay are not part of it: a change of those must not discard
    /// handled firings.
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
    /// Each field with its number.
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

/// One bound of an autoscaler, or both: the upper one at least 1, each at most `i32::MAX`, and in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    min: Option<u32>,
    max: Option<u32>,
}

/// The reason that two numbers are not valid bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InvalidBounds {
    /// Neither is given.
    Empty,
    /// The upper one is 0.
    Zero,
    /// The lower one is above the upper one.
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
