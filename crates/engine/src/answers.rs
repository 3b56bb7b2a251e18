//! The results of the families' read-only methods about a policy, which decide nothing.

use std::sync::Arc;

use almanac_calendar::{ClockEffect, Zone};
use jiff::Timestamp;

use crate::number::FiniteNumber;
use crate::{Identity, Reason, Verdict};

/// How many replicas a policy may ever set of a workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplicasAskedFor {
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
    /// The position of the rule or the unit that it is of; `None` for that of the policy as a whole.
    pub position: Option<u32>,
    /// The objects that it selects, in the plural.
    pub what: &'static str,
    /// How many of that there are.
    pub seen: usize,
}

/// A score that has ended.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct EndedScore {
    /// The name of the object that says it.
    pub resource: Arc<str>,
    /// The cluster that it says it of.
    pub cluster: Arc<str>,
    /// When it ended.
    pub end: Timestamp,
}

/// The effect of a clock change on the schedule of a rule.
#[derive(Clone, Debug)]
pub struct RuleClockEffect {
    /// The name of the rule.
    pub rule: Arc<str>,
    /// Its place in the spec, from 0.
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
    /// Why, as a line for a person.
    pub message: String,
    /// Since when this holds.
    pub since: Option<Timestamp>,
    /// Until when, if time alone ends it.
    pub until: Option<Timestamp>,
    /// The scores it is ranked by, if it is.
    pub scored: Option<Scored>,
    /// The sample of its query, if it has one.
    pub answered: Option<Answered>,
}

impl RuleExplanation {
    /// A verdict without dates, a position or numbers.
    pub(crate) fn new(rule: Option<Arc<str>>, verdict: Verdict, message: String) -> Self {
        let (position, since, until, scored, answered) = (None, None, None, None, None);
        Self { rule, position, verdict, message, since, until, scored, answered }
    }

    /// A reason about a rule of this name, in words.
    pub(crate) fn of<C>(reason: &Reason<C>, rule: Option<Arc<str>>, message: String) -> Self {
        let (position, since, until) = (reason.rule, reason.since, reason.until);
        Self { position, since, until, ..Self::new(rule, reason.verdict, message) }
    }
}

/// The sample of a metric's query, and the replicas that it recommends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answered {
    /// The answer.
    pub sample: FiniteNumber,
    /// How many replicas, before any limit.
    pub recommendation: u32,
}

/// A part of the value of a policy, where it is divided: a `PlacementDecision`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Division {
    /// The name of the object.
    pub object: Arc<str>,
    /// The index of its group; `None` if it does not say.
    pub group: Option<u32>,
    /// The name of the group; empty for none.
    pub group_name: Arc<str>,
    /// Its members, in order.
    pub names: Vec<Arc<str>>,
}

/// The scores that something is ranked by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scored {
    /// Their sum, each times its weight.
    pub total: i64,
    /// Each of them.
    pub scores: Vec<ScorePart>,
}

/// One score of several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScorePart {
    /// Its name.
    pub of: Arc<str>,
    /// The score.
    pub raw: i8,
    /// Its weight.
    pub weight: i8,
}
