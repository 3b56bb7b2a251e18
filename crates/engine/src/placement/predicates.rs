//! The predicates of a placement that match a cluster, and the end of each verdict: a score that an expression reads
//! may expire.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_expressions::{Expression, Failure, Meter, NamedScores, Subject};
use jiff::Timestamp;

use super::{Candidate, Cluster, ClusterSelector, Input, Placement, Scores};

/// All scores of a hub: by the name of the object, and by the cluster.
pub(super) type AllScores = BTreeMap<Arc<str>, BTreeMap<Arc<str>, Scores>>;

/// The scores in one object, in the order of the candidates.
pub(super) type OfCandidates<'a> = (&'a Arc<str>, Vec<Option<&'a Scores>>);

/// All scores of a hub, and the scores of one candidate that have been looked up already. Lookups for consecutive
/// candidates are less work than a search for each candidate among thousands.
#[derive(Clone, Copy)]
pub(super) struct FoundScores<'i, 'a> {
    all: &'a AllScores,
    found: &'i [OfCandidates<'a>],
    candidate: usize,
}

impl<'a> From<&'a AllScores> for FoundScores<'_, 'a> {
    fn from(all: &'a AllScores) -> Self {
        FoundScores { all, found: &[], candidate: 0 }
    }
}

impl<'i, 'a> FoundScores<'i, 'a> {
    pub(super) fn new(
        all: &'a AllScores,
        found: &'i [OfCandidates<'a>],
        candidate: usize,
    ) -> FoundScores<'i, 'a> {
        FoundScores { all, found, candidate }
    }

    fn get(&self, object: &str, cluster: &str) -> Option<(&'a Arc<str>, &'a Scores)> {
        if let Some((object, found)) = self.found.iter().find(|(it, _)| ***it == *object) {
            return Some((object, (*found.get(self.candidate)?)?));
        }
        let (object, of_clusters) = self.all.get_key_value(object)?;
        Some((object, of_clusters.get(cluster)?))
    }
}

/// The verdict of the predicates on a candidate. A candidate that is not selected in any case is not evaluated.
#[derive(Clone, Debug, Default)]
pub struct Matched {
    /// Whether any predicate matches the candidate.
    pub verdict: MatchVerdict,
    /// The instant at which time alone may change the verdict: the first of the read scores expires.
    pub until: Option<Timestamp>,
    /// The objects with scores that were read and have expired already, with the instants of the expiry.
    pub expired: BTreeMap<Arc<str>, Timestamp>,
    /// The maximum number of steps of the expressions.
    pub(super) granted: usize,
    /// The number of steps that the expressions used.
    pub(super) spent: usize,
    /// Whether the result depends on the cluster alone: no scores were read, and if the steps did not suffice, none
    /// remained.
    pub(super) follows_from_cluster: bool,
}

/// Whether any predicate matches a candidate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum MatchVerdict {
    /// A predicate matches, or the placement has no predicates.
    Matches,
    /// No predicate matches.
    #[default]
    DoesNot,
    /// No predicate matches, and the steps were too few for at least one of them.
    Unfinished,
}

/// The number of steps makes no difference.
impl PartialEq for Matched {
    fn eq(&self, other: &Matched) -> bool {
        (self.verdict, self.until, &self.expired) == (other.verdict, other.until, &other.expired)
    }
}

impl Eq for Matched {}

impl Matched {
    pub(super) fn is_unfinished(&self) -> bool {
        self.verdict == MatchVerdict::Unfinished
    }
}

/// The instant at which time alone ends, or might end, the match of a candidate, given the current verdicts of the
/// predicates.
pub(super) fn matches_until(
    input: &Input<'_>,
    candidate: &Candidate<'_>,
    now: &Matched,
) -> Option<Timestamp> {
    let mut remaining = now.granted;
    let mut end = now.until?;
    loop {
        let next = matched(input.policy, input.scores.into(), candidate, end, remaining);
        if next.verdict != MatchVerdict::Matches {
            return Some(end);
        }
        remaining = remaining.saturating_sub(next.spent.max(1));
        end = next.until?;
    }
}

/// Whether the predicates of a placement without expressions match a cluster.
pub(super) fn fits(policy: &Placement, cluster: &Cluster) -> bool {
    policy.predicates.is_empty() || policy.predicates.iter().any(|it| it.fits(cluster))
}

/// The verdict of a placement's predicates on a candidate at `now`, from the scores of the hub, within this number of
/// steps.
pub(super) fn matched(
    policy: &Placement,
    scores: FoundScores<'_, '_>,
    candidate: &Candidate<'_>,
    now: Timestamp,
    steps: usize,
) -> Matched {
    let reading = Reading::new(scores, candidate, now);
    let mut budget = Budget::new(policy, candidate, steps);
    let (mut verdict, mut ran_out) = (MatchVerdict::DoesNot, false);
    if policy.predicates.is_empty() {
        verdict = MatchVerdict::Matches;
    }
    for predicate in &policy.predicates {
        match reading.judge(predicate, &mut budget) {
            Ok(()) => verdict = MatchVerdict::Matches,
            Err(Mismatch::Fails(_, Failure::TooManySteps, _)) => {
                (verdict, ran_out) = (MatchVerdict::Unfinished, true);
            }
            Err(Mismatch::Selectors | Mismatch::IsFalse(_) | Mismatch::Fails(..)) => {}
        }
        if verdict == MatchVerdict::Matches {
            break;
        }
    }
    let spent = budget.granted - budget.left;
    let is_settled = !ran_out || (verdict == MatchVerdict::Unfinished && budget.left == 0);
    let follows_from_cluster = is_settled && !reading.reads_scores.get();
    let (until, expired) = (reading.until.get(), reading.expired.into_inner());
    Matched { verdict, until, expired, granted: budget.granted, spent, follows_from_cluster }
}

/// The reason that no predicate matches a candidate at `now`, within the number of steps that the evaluation had.
pub(super) fn why_none(
    input: &Input<'_>,
    candidate: &Candidate<'_>,
    steps: usize,
    now: Timestamp,
) -> String {
    let reading = Reading::new(input.scores.into(), candidate, now);
    let mut budget = Budget::new(input.policy, candidate, steps);
    let predicates = &input.policy.predicates;
    let mismatches = predicates.iter().take(MAX_NAMED_PREDICATES).filter_map(|predicate| {
        Some(match reading.judge(predicate, &mut budget).err()? {
            Mismatch::Selectors => predicate.to_string(),
            Mismatch::IsFalse(expression) => format!("the expression {expression} is false"),
            Mismatch::Fails(expression, Failure::TooManySteps, steps) => {
                format!("the expression {expression} has no result: it would take more than {steps} steps")
            }
            Mismatch::Fails(expression, failure, _) => {
                format!("the expression {expression} has no result: {failure}")
            }
        })
    });
    let mismatches: Vec<String> = mismatches.map(|why| clipped(&why, MAX_REASON_CHARS)).collect();
    let more = match predicates.len().saturating_sub(MAX_NAMED_PREDICATES) {
        0 => String::new(),
        more => format!("; nor do {more} more"),
    };
    mismatches.join("; or ") + &more
}

/// The maximum number of predicates that a message names as not matching, and the maximum number of characters for
/// each: labels and quotes of expressions may be long.
const MAX_NAMED_PREDICATES: usize = 4;
const MAX_REASON_CHARS: usize = 400;

/// The maximum number of expired objects with scores in a message.
const MAX_NAMED_EXPIRED: usize = 3;

/// A string with at most `most` characters.
fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The expired objects, as a message lists them after the effect.
pub(super) fn render_expired(expired: &BTreeMap<Arc<str>, Timestamp>) -> String {
    let texts = expired.iter().take(MAX_NAMED_EXPIRED).map(|(object, expired)| {
        let why = Scores::why_ended(*expired);
        format!("; AddOnPlacementScore {object} {why}, so it has no scores")
    });
    let more = expired.len().saturating_sub(MAX_NAMED_EXPIRED);
    let more = (more > 0).then(|| format!("; {more} more have expired as well"));
    texts.chain(more).collect()
}

/// The steps for one candidate. Predicates are alternatives: each predicate has an equal share of the remaining steps,
/// so that a costly one leaves steps for the others.
struct Budget {
    granted: usize,
    left: usize,
    /// The number of predicates that still request a share.
    remaining_predicates: usize,
}

impl Budget {
    fn new(policy: &Placement, candidate: &Candidate<'_>, steps: usize) -> Budget {
        let needs_steps =
            |it: &&ClusterSelector| !it.expressions.is_empty() && it.fits(candidate.cluster);
        let remaining_predicates = match &policy.predicates[..] {
            [_] => 1,
            several => several.iter().filter(needs_steps).count(),
        };
        let granted = Meter::with(steps).remaining_steps();
        Budget { granted, left: granted, remaining_predicates }
    }

    fn share(&mut self) -> Meter {
        let share = self.left / self.remaining_predicates.max(1);
        self.remaining_predicates = self.remaining_predicates.saturating_sub(1);
        Meter::with(share)
    }
}

/// The reason that a predicate does not match.
enum Mismatch<'p> {
    /// The cluster lacks the labels or the claims.
    Selectors,
    /// An expression is false.
    IsFalse(&'p Expression),
    /// An expression has no result; the number of steps that were left for the predicate.
    Fails(&'p Expression, Failure, usize),
}

/// The expressions of one placement for one cluster, and the data that they read.
struct Reading<'i, 'a> {
    scores: FoundScores<'i, 'a>,
    candidate: &'i Candidate<'a>,
    now: Timestamp,
    until: Cell<Option<Timestamp>>,
    expired: RefCell<BTreeMap<Arc<str>, Timestamp>>,
    /// Whether an expression has read any scores, even missing ones.
    reads_scores: Cell<bool>,
}

impl<'i, 'a> Reading<'i, 'a> {
    fn new(scores: FoundScores<'i, 'a>, candidate: &'i Candidate<'a>, now: Timestamp) -> Self {
        let (until, expired, reads_scores) = Default::default();
        Reading { scores, candidate, now, until, expired, reads_scores }
    }

    /// Whether a predicate matches; if not, the reason.
    fn judge<'p>(
        &self,
        predicate: &'p ClusterSelector,
        budget: &mut Budget,
    ) -> Result<(), Mismatch<'p>> {
        if !predicate.fits(self.candidate.cluster) {
            return Err(Mismatch::Selectors);
        }
        if predicate.expressions.is_empty() {
            return Ok(());
        }
        let meter = budget.share();
        let share = meter.remaining_steps();
        let judged = predicate.expressions.iter().try_for_each(|expression| {
            match self.holds(expression, &meter) {
                Ok(true) => Ok(()),
                Ok(false) => Err(Mismatch::IsFalse(expression)),
                Err(failure) => Err(Mismatch::Fails(expression, failure, share)),
            }
        });
        budget.left -= share - meter.remaining_steps();
        judged
    }

    fn holds(&self, expression: &Expression, meter: &Meter) -> Result<bool, Failure> {
        let scores = |object: &str| self.scores(object);
        let subject = Subject { object: &self.candidate.cluster.object, scores: &scores };
        expression.holds(&subject, meter)
    }

    /// The scores of the cluster in the object of this name; no scores if they have expired.
    fn scores(&self, object: &str) -> Option<NamedScores<'a>> {
        self.reads_scores.set(true);
        let (object, scores) = self.scores.get(object, self.candidate.name)?;
        let Scores { values, valid_until } = scores;
        match *valid_until {
            Some(expired) if expired <= self.now => {
                self.expired.borrow_mut().insert(Arc::clone(object), expired);
                return Some([].into());
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
