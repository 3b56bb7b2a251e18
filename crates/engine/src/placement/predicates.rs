//! Which predicates of a placement match a cluster, and until when: scores that an expression reads may expire.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_expressions::{Expression, Failure, MOST_STEPS, Meter, Subject};
use jiff::Timestamp;

use super::{Candidate, ClusterSelector, Input, Placement, Scores};

/// All scores of a hub: by the name of the object, and by the cluster.
pub(super) type AllScores = BTreeMap<Arc<str>, BTreeMap<Arc<str>, Scores>>;

/// How many steps a decision may take for expressions, over all clusters: so much that nobody needs it who selects
/// among ten thousand, and a fraction of a second.
const MOST_STEPS_OF_A_DECISION: usize = 5_000_000;

/// How many steps may be taken to find out whether a change of one cluster matters to any expression.
const MOST_STEPS_OF_A_CHANGE: usize = 250_000;

/// The steps that are left to expressions over many clusters, and what has become of them so far.
#[derive(Clone, Debug)]
pub struct Effort {
    left: Cell<usize>,
    evaluated: Cell<usize>,
    unfinished: Cell<usize>,
}

impl Effort {
    /// What a decision may take.
    pub(super) fn of_decision() -> Effort {
        Effort::with(MOST_STEPS_OF_A_DECISION)
    }

    /// What may be taken for the change of one cluster.
    pub(super) fn of_change() -> Effort {
        Effort::with(MOST_STEPS_OF_A_CHANGE)
    }

    fn with(steps: usize) -> Effort {
        Effort { left: Cell::new(steps), evaluated: Cell::default(), unfinished: Cell::default() }
    }

    /// Whether it cannot be said which clusters match: the steps are used up, or no cluster had enough of them.
    pub(super) fn is_too_much(&self) -> bool {
        let evaluated = self.evaluated.get();
        self.is_used_up() || (evaluated > 0 && evaluated == self.unfinished.get())
    }

    /// Whether no steps are left.
    pub(super) fn is_used_up(&self) -> bool {
        self.left.get() == 0
    }

    fn note(&self, reading: &Reading<'_, '_>) {
        let spent = reading.steps.saturating_sub(reading.meter.left());
        self.left.set(self.left.get().saturating_sub(spent));
        if spent > 0 {
            self.evaluated.set(self.evaluated.get() + 1);
        }
        if reading.is_unfinished.get() {
            self.unfinished.set(self.unfinished.get() + 1);
        }
    }
}

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

/// Whether a candidate matches the predicates at `now`, when the steps of the decision matter.
pub(super) fn first_matched(
    input: &Input<'_>,
    candidate: &Candidate<'_>,
    now: Timestamp,
) -> Matched {
    matched_by(input.policy, input.scores, candidate, now, &input.effort)
}

/// The same of one candidate of which more is said.
pub(super) fn matched(input: &Input<'_>, candidate: &Candidate<'_>, now: Timestamp) -> Matched {
    matched_by(input.policy, input.scores, candidate, now, &Effort::of_decision())
}

/// When a candidate that matches at `now` does not match any more, by time alone.
pub(super) fn matches_until(
    input: &Input<'_>,
    candidate: &Candidate<'_>,
    now: Timestamp,
) -> Option<Timestamp> {
    let first = first_matched(input, candidate, now).until;
    let mut ends = std::iter::successors(first, |end| first_matched(input, candidate, *end).until);
    // Where the steps are used up it is looked at again, and not later than it matters.
    ends.find(|end| !first_matched(input, candidate, *end).matches)
}

/// Whether a candidate matches the predicates of a placement at `now`, given all scores of the hub.
pub(super) fn matched_by(
    policy: &Placement,
    scores: &AllScores,
    candidate: &Candidate<'_>,
    now: Timestamp,
    effort: &Effort,
) -> Matched {
    let reading = Reading::new(scores, candidate, now, effort.left.get());
    let predicates = &policy.predicates;
    let matches = predicates.is_empty() || predicates.iter().any(|it| reading.selects(it));
    effort.note(&reading);
    Matched { matches, until: reading.until.get(), expired: reading.expired.into_inner() }
}

/// Why none of the predicates matches a candidate at `now`.
pub(super) fn why_none(input: &Input<'_>, candidate: &Candidate<'_>, now: Timestamp) -> String {
    let reading = Reading::new(input.scores, candidate, now, MOST_STEPS);
    let predicates = &input.policy.predicates;
    let told = predicates.iter().take(PREDICATES_TOLD).filter_map(|it| reading.why_not(it));
    let told: Vec<String> = told.map(|why| clipped(&why, WHY_TOLD)).collect();
    let more = match predicates.len().saturating_sub(PREDICATES_TOLD) {
        0 => String::new(),
        more => format!("; nor do {more} more"),
    };
    told.join("; or ") + &more
}

/// How many predicates are said not to match, and how much is said of each: labels, and what expressions quote, may be
/// long.
const PREDICATES_TOLD: usize = 4;
const WHY_TOLD: usize = 400;

/// How many objects with scores are said to have expired.
const EXPIRED_TOLD: usize = 3;

/// A text with so many characters at most.
fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What has expired, as it is said after what is due to it.
pub(super) fn shown(expired: &[ReadScore]) -> String {
    let shown = expired.iter().take(EXPIRED_TOLD).map(|it| {
        format!(
            "; AddOnPlacementScore {} was valid until {}, so it has no scores",
            it.object, it.expired
        )
    });
    let more = expired.len().saturating_sub(EXPIRED_TOLD);
    let more = (more > 0).then(|| format!("; {more} more have expired as well"));
    shown.chain(more).collect()
}

/// The expressions of one placement over one cluster, and what they read.
struct Reading<'i, 'a> {
    scores: &'a AllScores,
    candidate: &'i Candidate<'a>,
    now: Timestamp,
    until: Cell<Option<Timestamp>>,
    expired: RefCell<Vec<ReadScore>>,
    /// One for all expressions, with so many steps at first.
    meter: Meter,
    steps: usize,
    /// Whether an expression had too few of them.
    is_unfinished: Cell<bool>,
}

impl<'i, 'a> Reading<'i, 'a> {
    fn new(
        scores: &'a AllScores,
        candidate: &'i Candidate<'a>,
        now: Timestamp,
        steps: usize,
    ) -> Self {
        let (until, expired, is_unfinished) =
            (Cell::default(), RefCell::default(), Cell::default());
        let meter = Meter::with(steps);
        let steps = meter.left();
        Reading { scores, candidate, now, until, expired, meter, steps, is_unfinished }
    }

    fn selects(&self, predicate: &ClusterSelector) -> bool {
        predicate.fits(self.candidate.cluster)
            && predicate.expressions.iter().all(|it| self.holds(it) == Ok(true))
    }

    /// Why a predicate does not match; `None` if it does.
    fn why_not(&self, predicate: &ClusterSelector) -> Option<String> {
        if !predicate.fits(self.candidate.cluster) {
            return Some(predicate.to_string());
        }
        predicate.expressions.iter().find_map(|expression| match self.holds(expression) {
            Ok(true) => None,
            Ok(false) => Some(format!("the expression {expression} is false")),
            Err(failure) => Some(format!("the expression {expression} has no result: {failure}")),
        })
    }

    fn holds(&self, expression: &Expression) -> Result<bool, Failure> {
        let scores = |object: &str| self.scores(object);
        let subject = Subject { object: &self.candidate.cluster.object, scores: &scores };
        let held = expression.holds(&subject, &self.meter);
        if held == Err(Failure::TooManySteps) {
            self.is_unfinished.set(true);
        }
        held
    }

    /// The scores of the cluster in the object of a name: none of them, if it has expired.
    fn scores(&self, object: &str) -> Option<Vec<(&'a str, i64)>> {
        let (object, of_clusters) = self.scores.get_key_value(object)?;
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
