//! Which predicates of a placement match a cluster, and until when: scores that an expression reads may expire.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use almanac_expressions::{Expression, Failure, Meter, Subject};
use jiff::Timestamp;

use super::{Candidate, ClusterSelector, Input, Scores};

/// Whether a candidate matches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Matched {
    /// Whether any predicate matches it, or there is none.
    pub matches: bool,
    /// When that may change by time alone: the first of the scores that were read expires.
    pub until: Option<Timestamp>,
    /// What was read of the scores that have expired already, in the order of reading.
    pub expired: Vec<ReadScore>,
}

/// An object with scores that an expression has read, and that has expired.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadScore {
    /// Its name.
    pub object: Arc<str>,
    /// When it has expired.
    pub expired: Timestamp,
}

/// Whether a candidate matches the predicates at `now`.
pub(super) fn matched(input: &Input<'_>, candidate: &Candidate<'_>, now: Timestamp) -> Matched {
    let reading = Reading::new(input, candidate, now);
    let predicates = &input.policy.predicates;
    let matches = predicates.is_empty() || predicates.iter().any(|it| reading.selects(it));
    Matched { matches, until: reading.until.get(), expired: reading.expired.into_inner() }
}

/// Why each predicate that does not match a candidate at `now` does not.
pub(super) fn why_not(input: &Input<'_>, candidate: &Candidate<'_>, now: Timestamp) -> Vec<String> {
    let reading = Reading::new(input, candidate, now);
    input.policy.predicates.iter().filter_map(|it| why_not_one(&reading, it)).collect()
}

fn why_not_one(reading: &Reading<'_, '_>, predicate: &ClusterSelector) -> Option<String> {
    if !predicate.fits(reading.candidate.cluster) {
        return Some(predicate.to_string());
    }
    predicate.expressions.iter().find_map(|expression| match reading.holds(expression) {
        Ok(true) => None,
        Ok(false) => Some(format!("the expression {expression} is false")),
        Err(failure) => Some(format!("the expression {expression} has no result: {failure}")),
    })
}

/// What has expired, as it is said after what is due to it.
pub(super) fn shown(expired: &[ReadScore]) -> String {
    let shown = expired.iter().map(|it| {
        format!(
            "; AddOnPlacementScore {} was valid until {}, so it has no scores",
            it.object, it.expired
        )
    });
    shown.collect()
}

/// The expressions over one cluster, and what they read.
struct Reading<'i, 'a> {
    input: &'i Input<'a>,
    candidate: &'i Candidate<'a>,
    now: Timestamp,
    until: Cell<Option<Timestamp>>,
    expired: RefCell<Vec<ReadScore>>,
    /// One for all expressions.
    meter: Meter,
}

impl<'i, 'a> Reading<'i, 'a> {
    fn new(input: &'i Input<'a>, candidate: &'i Candidate<'a>, now: Timestamp) -> Reading<'i, 'a> {
        let (until, expired) = (Cell::default(), RefCell::default());
        Reading { input, candidate, now, until, expired, meter: Meter::new() }
    }

    fn selects(&self, predicate: &ClusterSelector) -> bool {
        predicate.fits(self.candidate.cluster)
            && predicate.expressions.iter().all(|it| self.holds(it) == Ok(true))
    }

    fn holds(&self, expression: &Expression) -> Result<bool, Failure> {
        let scores = |object: &str| self.scores(object);
        let subject = Subject { object: &self.candidate.cluster.object, scores: &scores };
        expression.holds(&subject, &self.meter)
    }

    /// The scores of the cluster in the object of a name: none of them, if it has expired.
    fn scores(&self, object: &str) -> Option<Vec<(&'a str, i64)>> {
        let (object, of_clusters) = self.input.scores.get_key_value(object)?;
        let Scores { values, valid_until } = of_clusters.get(self.candidate.name)?;
        match *valid_until {
            Some(expired) if expired <= self.now => {
                let read = ReadScore { object: Arc::clone(object), expired };
                let mut known = self.expired.borrow_mut();
                if !known.contains(&read) {
                    known.push(read);
                }
                return Some(Vec::new());
            }
            Some(end) => {
                let earliest = self.until.get().map_or(end, |known| known.min(end));
                self.until.set(Some(earliest));
            }
            None => {}
        }
        Some(values.iter().map(|(name, score)| (&**name, score.get().into())).collect())
    }
}
