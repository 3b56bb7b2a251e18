//! The results of the families' read-only methods about a policy, which decide nothing.

use std::sync::Arc;

use almanac_calendar::{ClockEffect, Zone};
use jiff::Timestamp;

use crate::number::FiniteNumber;
use crate::{Identity, Reason, Verdict};

/// The maximum number of replicas that a policy can set for a workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplicaMaximum {
    /// The workload.
    pub workload: Identity,
    /// The highest number.
    pub most: u32,
    /// The rule that sets it by name, if one does.
    pub rule: Option<Arc<str>>,
}

/// A selector that selects nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unmatched {
    /// The position of the rule or the unit with this selector; `None` for the selector of the policy as a whole.
    pub position: Option<u32>,
    /// The kind of the objects that it selects, in the plural.
    pub what: &'static str,
    /// The number of these objects in the world.
    pub seen: usize,
}

/// A score that has expired.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct EndedScore {
    /// The name of the object with the score.
    pub resource: Arc<str>,
    /// The cluster of the score.
    pub cluster: Arc<str>,
    /// The instant at which it expired.
    pub end: Timestamp,
}

/// The effect of a clock change on the schedule of a rule.
#[derive(Clone, Debug)]
pub struct RuleClockEffect {
    /// The name of the rule.
    pub rule: Arc<str>,
    /// The position of the rule in the spec, from 0.
    pub position: u32,
    /// The zone whose clock changes.
    pub zone: Zone,
    /// The clock change and its effect.
    pub effect: ClockEffect,
}

/// The verdict on one rule, explained in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleExplanation {
    /// The rule by name; `None` for the policy as a whole.
    pub rule: Option<Arc<str>>,
    /// Its position in the spec as written, counted from 0.
    pub position: Option<u32>,
    /// The verdict.
    pub verdict: Verdict,
    /// The explanation, as a line for users.
    pub message: String,
    /// The instant from which the verdict applies.
    pub since: Option<Timestamp>,
    /// The end of the verdict, if time alone ends it.
    pub until: Option<Timestamp>,
    /// The scores it is ranked by, if it is.
    pub scored: Option<WeightedScores>,
    /// The sample of its query, if it has one.
    pub answered: Option<MetricRecommendation>,
}

impl RuleExplanation {
    /// A verdict without dates, a position or numbers.
    pub(crate) fn new(rule: Option<Arc<str>>, verdict: Verdict, message: String) -> Self {
        let (position, since, until, scored, answered) = (None, None, None, None, None);
        Self { rule, position, verdict, message, since, until, scored, answered }
    }

    /// A reason about a rule of this name, in words.
    pub(crate) fn from_reason<C>(
        reason: &Reason<C>,
        rule: Option<Arc<str>>,
        message: String,
    ) -> Self {
        let (position, since, until) = (reason.rule, reason.since, reason.until);
        Self { position, since, until, ..Self::new(rule, reason.verdict, message) }
    }
}

/// The sample of a metric's query, and the replicas that it recommends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MetricRecommendation {
    /// The sample.
    pub sample: FiniteNumber,
    /// The recommended replicas, before any limit.
    pub recommendation: u32,
}

/// A part of the value of a policy, where it is divided: a `PlacementDecision`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Division {
    /// The name of the object.
    pub object: Arc<str>,
    /// The index of the group; `None` if the object does not name it.
    pub group: Option<u32>,
    /// The name of the group; empty for none.
    pub group_name: Arc<str>,
    /// The members, in order.
    pub names: Vec<Arc<str>>,
}

/// The scores that something is ranked by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WeightedScores {
    /// The sum of the scores, each multiplied by its weight.
    pub total: i64,
    /// The scores.
    pub scores: Vec<ScorePart>,
}

/// One score of several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScorePart {
    /// The name of the score.
    pub of: Arc<str>,
    /// The score.
    pub raw: i8,
    /// The weight of the score.
    pub weight: i8,
}
