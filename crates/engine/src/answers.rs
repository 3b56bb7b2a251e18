//! The results of the families' read-only methods about a policy. They change no decision.

use std::sync::Arc;

use almanac_calendar::{ClockEffect, Zone};
use jiff::Timestamp;

use crate::number::FiniteNumber;
use crate::{Identity, Reason, Verdict};

/// The maximum number of replicas that a policy can set for a workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplicaMaximum {
    /// The scaled workload.
    pub workload: Identity,
    /// The maximum number of replicas.
    pub most: u32,
    /// The name of the rule that sets the maximum; `None` if no rule does.
    pub rule: Option<Arc<str>>,
}

/// A selector that selects nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unmatched {
    /// The position of the rule or the unit that contains the selector; `None` for the selector of the whole policy.
    pub position: Option<u32>,
    /// The plural kind name of the objects that the selector searches.
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
    /// The instant of expiry.
    pub end: Timestamp,
}

/// The effect of a clock change on the schedule of a rule.
#[derive(Clone, Debug)]
pub struct RuleClockEffect {
    /// The name of the rule.
    pub rule: Arc<str>,
    /// The position of the rule in the spec, from 0.
    pub position: u32,
    /// The time zone whose clock changes.
    pub zone: Zone,
    /// The clock change and its effect.
    pub effect: ClockEffect,
}

/// The verdict on one rule, explained in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleExplanation {
    /// The name of the rule; `None` for the policy as a whole.
    pub rule: Option<Arc<str>>,
    /// The position of the rule in the spec as written, counted from 0.
    pub position: Option<u32>,
    /// The verdict on the rule.
    pub verdict: Verdict,
    /// The explanation, as a line for users.
    pub message: String,
    /// The instant from which the verdict applies.
    pub since: Option<Timestamp>,
    /// The end of the verdict; `None` if time alone does not end it.
    pub until: Option<Timestamp>,
    /// The scores that rank the rule; `None` if the rule is not ranked.
    pub scored: Option<WeightedScores>,
    /// The sample of the rule's query, and its recommendation; `None` if the rule has no query.
    pub answered: Option<MetricRecommendation>,
}

impl RuleExplanation {
    /// Creates a verdict without dates, a position or numbers.
    pub(crate) fn new(rule: Option<Arc<str>>, verdict: Verdict, message: String) -> Self {
        let (position, since, until, scored, answered) = (None, None, None, None, None);
        Self { rule, position, verdict, message, since, until, scored, answered }
    }

    /// Renders a reason about the rule of this name.
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
    /// The sample of the query.
    pub sample: FiniteNumber,
    /// The recommended replicas, before any limit.
    pub recommendation: u32,
}

/// One part of a divided policy value: a `PlacementDecision`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Division {
    /// The name of the object.
    pub object: Arc<str>,
    /// The index of the group; `None` if the object does not name it.
    pub group: Option<u32>,
    /// The name of the group; empty for no name.
    pub group_name: Arc<str>,
    /// The members, in order.
    pub names: Vec<Arc<str>>,
}

/// The weighted scores that determine a rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WeightedScores {
    /// The sum of the scores, each multiplied by its weight.
    pub total: i64,
    /// The scores in the total.
    pub scores: Vec<ScorePart>,
}

/// One of several scores.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScorePart {
    /// The name of the score.
    pub of: Arc<str>,
    /// The score without its weight.
    pub raw: i8,
    /// The weight of the score.
    pub weight: i8,
}
