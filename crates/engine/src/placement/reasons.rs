//! The reasons for the clusters of a placement, and their messages.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use almanac_expressions::MAX_STEPS;
use jiff::Timestamp;

use super::predicates::{matched, render_expired, why_none};
use super::shares::STEPS_OF_A_DECISION;
use super::{
    Eligibility, Exclusion, Input, Matched, Placement, Placements, RankedCandidate, Ranking,
    RawScore, ScoreSource, Scores, Taint, gather,
};
use crate::answers::RuleExplanation;
use crate::seam::View;
use crate::{Identity, Reason, ScorePart, Verdict, WeightedScores, counted, few};

/// The cause of a selection. A candidate is identified by its index in the [`Input`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The totals alone determine the selection.
    Ranked {
        /// The number of candidates that may be selected.
        eligible: u32,
        /// The number of selected candidates.
        selected: u32,
    },
    /// It is unknown whether some candidates match. The selected ones among these stay, and no others are added.
    TooCostly {
        /// The number of these candidates.
        undecided: u32,
        /// The number of selected candidates.
        selected: u32,
    },
    /// The toleration of a taint has ended.
    TolerationEnded {
        /// The candidate that has the taint.
        candidate: u32,
        /// The position of the taint.
        taint: u32,
    },
    /// A score has expired; the rule is the position of the score.
    ScoreExpired {
        /// The candidate of the score.
        candidate: u32,
    },
    /// The scores that an expression reads have expired.
    ReadScoresExpired {
        /// The candidate of the scores.
        candidate: u32,
        /// The instant of expiry.
        at: Timestamp,
    },
}

impl Cause {
    /// The candidate that the cause concerns, if any.
    #[must_use]
    pub fn candidate(self) -> Option<u32> {
        match self {
            Cause::Ranked { .. } | Cause::TooCostly { .. } => None,
            Cause::TolerationEnded { candidate, .. }
            | Cause::ScoreExpired { candidate }
            | Cause::ReadScoresExpired { candidate, .. } => Some(candidate),
        }
    }

    /// The same cause for a candidate that is in a different position now.
    pub(super) fn with_candidate(self, candidate: u32) -> Cause {
        match self {
            Cause::Ranked { .. } | Cause::TooCostly { .. } => self,
            Cause::TolerationEnded { taint, .. } => Cause::TolerationEnded { candidate, taint },
            Cause::ScoreExpired { .. } => Cause::ScoreExpired { candidate },
            Cause::ReadScoresExpired { at, .. } => Cause::ReadScoresExpired { candidate, at },
        }
    }
}

/// A reason as a line for users.
#[must_use]
pub fn render(input: &Input<'_>, reason: &Reason<Cause>) -> String {
    match reason.cause {
        Cause::Ranked { eligible, selected } if selected < eligible => {
            let scores = scores(input.policy);
            format!("{selected} of {eligible} matching clusters selected by {scores}")
        }
        Cause::Ranked { eligible, .. } => {
            format!("all matching clusters selected: {eligible}")
        }
        Cause::TooCostly { undecided, selected } => format!(
            "{} selected; for {} it is unknown whether they match, because expressions take too many \
             steps: those of them that were selected stay, and no others are added",
            counted(selected, "cluster"),
            counted(undecided, "cluster")
        ),
        Cause::TolerationEnded { candidate, .. } => {
            let taint = rule_name(input, reason).unwrap_or_default();
            format!("the toleration of {taint} on {} has ended", name(input, candidate))
        }
        Cause::ScoreExpired { candidate } => {
            let score = rule_name(input, reason).unwrap_or_default();
            format!("{score} of {} has expired", name(input, candidate))
        }
        Cause::ReadScoresExpired { candidate, .. } => {
            let scores = rule_name(input, reason).unwrap_or_default();
            format!(
                "the scores {scores} of {}, which an expression reads, have expired",
                name(input, candidate)
            )
        }
    }
}

/// The name of the score or the taint that has changed a selection.
fn rule_name(input: &Input<'_>, reason: &Reason<Cause>) -> Option<Arc<str>> {
    match reason.cause {
        Cause::Ranked { .. } | Cause::TooCostly { .. } => None,
        Cause::TolerationEnded { candidate, taint } => {
            Some(taint_of(input, candidate, taint)?.to_string().into())
        }
        Cause::ScoreExpired { .. } => {
            let prioritizer = input.policy.prioritizers.get(position(reason.rule?))?;
            Some(prioritizer.score.to_string().into())
        }
        Cause::ReadScoresExpired { candidate, at } => {
            let candidate = input.candidates.get(position(candidate))?;
            let matched = matched(input.policy, input.scores.into(), candidate, at, MAX_STEPS);
            let object = matched.expired.iter().find(|(_, expired)| **expired == at)?.0;
            Some(format!("AddOn/{object}").into())
        }
    }
}

fn scores(policy: &Placement) -> String {
    let parts = policy.prioritizers.iter().map(|it| format!("{} {}", it.score, it.weight));
    let parts = few(parts);
    if parts.is_empty() { "name".to_owned() } else { parts }
}

fn position(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

fn taint_of<'a>(input: &Input<'a>, candidate: u32, taint: u32) -> Option<&'a Taint> {
    input.candidates.get(position(candidate))?.cluster.taints.get(position(taint))
}

fn name<'a>(input: &Input<'a>, candidate: u32) -> &'a str {
    input.candidates.get(position(candidate)).map_or("", |it| &**it.name)
}

/// The score or taint of a reason by name, and the reason as a line for users.
pub(crate) fn describe(
    view: View<'_, Placements>,
    placement: &Identity,
    reason: &Reason<Cause>,
) -> Option<(Option<Arc<str>>, String)> {
    let input = gather(view, placement)?;
    Some((rule_name(&input, reason), render(&input, reason)))
}

/// The verdict on every candidate: the candidates that may be selected in the order of their ranks, then the others in
/// the order of their names.
#[must_use]
pub fn explain(input: &Input<'_>, now: Timestamp) -> Vec<RuleExplanation> {
    let ranking = Ranking::new(input, now);
    verdicts(input, &ranking, &ranking.in_order(), now, |_| true)
}

/// The maximum number of added clusters to report, and of removed clusters.
const MAX_EXPLAINED: usize = 3;

/// The verdicts on the first added clusters, and on the first removed clusters.
pub(super) fn explain_changes(
    input: &Input<'_>,
    ranking: &Ranking,
    (added, removed): (&[Arc<str>], &[Arc<str>]),
    now: Timestamp,
) -> Vec<RuleExplanation> {
    let is_among = |names: &[Arc<str>], name: &str| {
        names.binary_search_by(|known| (**known).cmp(name)).is_ok()
    };
    // Other candidates are not evaluated: their number may be thousands, and expressions are slow.
    let in_order = ranking.in_order();
    let ranked = || in_order.iter().map(|it| it.candidate);
    let excluded = (0..).zip(&ranking.eligibility);
    let excluded = excluded.filter(|(_, it)| matches!(it, Eligibility::Excluded(_)));
    let added_candidates =
        ranked().filter(|it| is_among(added, name(input, *it))).take(MAX_EXPLAINED);
    let removed_candidates = ranked().chain(excluded.map(|(candidate, _)| candidate));
    let removed_candidates =
        removed_candidates.filter(|it| is_among(removed, name(input, *it))).take(MAX_EXPLAINED);
    let explained: BTreeSet<u32> = added_candidates.chain(removed_candidates).collect();
    let verdicts = verdicts(input, ranking, &in_order, now, |it| explained.contains(&it));
    let (of_added, of_removed): (Vec<_>, Vec<_>) =
        verdicts.into_iter().partition(|it| it.verdict == Verdict::Won);
    let is_candidate =
        |name: &Arc<str>| input.candidates.binary_search_by(|known| known.name.cmp(name)).is_ok();
    let strange = removed.iter().filter(|name| !is_candidate(name)).map(|name| RuleExplanation {
        rule: Some(Arc::clone(name)),
        ..line_of_all(Verdict::Excluded, "no cluster of its sets has this name any more")
    });
    of_added
        .into_iter()
        .take(MAX_EXPLAINED)
        .chain(of_removed.into_iter().chain(strange).take(MAX_EXPLAINED))
        .collect()
}

/// A verdict line about the whole placement.
fn line_of_all(verdict: Verdict, message: &str) -> RuleExplanation {
    RuleExplanation::new(None, verdict, message.to_owned())
}

fn verdicts(
    input: &Input<'_>,
    ranking: &Ranking,
    ranked: &[RankedCandidate],
    now: Timestamp,
    is_wanted: impl Fn(u32) -> bool,
) -> Vec<RuleExplanation> {
    let wanted_count =
        input.policy.number_of_clusters.map_or(ranked.len(), position).min(ranked.len());
    let last = ranked.get(..wanted_count).and_then(<[RankedCandidate]>::last).copied();
    let mut lines = Vec::new();
    for (index, it) in ranked.iter().enumerate().filter(|(_, it)| is_wanted(it.candidate)) {
        let is_selected = index < wanted_count;
        let scored = scored(input, ranking, it, now);
        let mut message = format!("rank {} of {}", index + 1, ranked.len());
        if wanted_count < ranked.len() {
            let _ = write!(message, ", {wanted_count} wanted");
        }
        let _ = write!(message, ": total {}", scored.total);
        if !scored.scores.is_empty() {
            let parts = scored.scores.iter();
            let parts = parts.map(|it| format!("{} {} x {}", it.of, it.raw, it.weight));
            let _ = write!(message, " ({})", few(parts));
        }
        if let Some(last) = last.filter(|_| !is_selected) {
            let _ = write!(message, "; {}", why_behind(input, it, &last));
        }
        let (shunned_by, until) = match ranking.eligibility.get(position(it.candidate)) {
            Some(Eligibility::Eligible { shunned_by, until, .. }) => (*shunned_by, *until),
            Some(Eligibility::Excluded(_)) | None => (None, None),
        };
        if let Some(taint) = shunned_by.and_then(|taint| taint_of(input, it.candidate, taint)) {
            let _ = write!(message, "; {taint} puts it behind others with the same total");
        }
        let cluster = input.candidates.get(position(it.candidate)).map(|it| it.cluster);
        if let Some(taint) = cluster.and_then(|it| input.policy.undated_taint(it)) {
            let _ = write!(message, "; {taint} has no timeAdded, so its toleration never ends");
        }
        message.push_str(&missing(input, ranking, it, now));
        if let Some(found) = ranking.matches.get(it.candidate) {
            message.push_str(&render_expired(&found.expired));
            if ranking.matches.is_undecided(it.candidate) {
                let _ = write!(message, "; {}, and it stays", why_match_unknown(input, found));
            }
        }
        let verdict = if is_selected { Verdict::Won } else { Verdict::Lost };
        let scored = Some(scored);
        lines.push(line(input, it.candidate, verdict, message, (None, until), scored));
    }
    for (candidate, it) in (0..).zip(&ranking.eligibility) {
        let Eligibility::Excluded(why) = it else { continue };
        if !is_wanted(candidate) {
            continue;
        }
        let (message, since) = excluded(input, ranking, candidate, *why, now);
        let until = match why {
            Exclusion::NoPredicate { until } | Exclusion::TooCostly { until } => *until,
            Exclusion::Terminating | Exclusion::Tainted { .. } => None,
        };
        lines.push(line(input, candidate, Verdict::Excluded, message, (since, until), None));
    }
    lines
}

fn line(
    input: &Input<'_>,
    candidate: u32,
    verdict: Verdict,
    message: String,
    (since, until): (Option<Timestamp>, Option<Timestamp>),
    scored: Option<WeightedScores>,
) -> RuleExplanation {
    let rule = Some(name(input, candidate).into());
    RuleExplanation { since, until, scored, ..RuleExplanation::new(rule, verdict, message) }
}

fn scored(
    input: &Input<'_>,
    ranking: &Ranking,
    it: &RankedCandidate,
    now: Timestamp,
) -> WeightedScores {
    let parts = input.policy.prioritizers.iter().enumerate().map(|(index, prioritizer)| {
        let raw = ranking.raw_score(input, index, it.candidate, now).get();
        ScorePart {
            of: prioritizer.score.to_string().into(),
            raw,
            weight: prioritizer.weight.get(),
        }
    });
    WeightedScores { total: it.total, scores: parts.collect() }
}

fn why_behind(input: &Input<'_>, it: &RankedCandidate, last: &RankedCandidate) -> String {
    let ahead = name(input, last.candidate);
    if last.total > it.total {
        return format!("{ahead} has {}", last.total);
    }
    if it.is_shunned && !last.is_shunned {
        return format!("{ahead} has as much");
    }
    format!("{ahead} has as much, and comes before it by name")
}

/// The scores that count 0 because they are missing.
fn missing(input: &Input<'_>, ranking: &Ranking, it: &RankedCandidate, now: Timestamp) -> String {
    let mut text = String::new();
    for (index, prioritizer) in input.policy.prioritizers.iter().enumerate() {
        let why = match (ranking.raw_score(input, index, it.candidate, now), &prioritizer.score) {
            (RawScore::Given(_), _) => continue,
            (RawScore::Expired(at), _) => format!("it {}", Scores::why_ended(at)),
            (RawScore::NoObject, ScoreSource::AddOn { resource, .. }) => {
                format!("there is no AddOnPlacementScore {}/{resource}", name(input, it.candidate))
            }
            (RawScore::NotInObject, ScoreSource::AddOn { resource, score }) => {
                format!(
                    "AddOnPlacementScore {}/{resource} has no {score}",
                    name(input, it.candidate)
                )
            }
            (RawScore::NoData | RawScore::NoObject | RawScore::NotInObject, _) => {
                "the cluster lacks the allocatable amount or the capacity".to_owned()
            }
        };
        let _ = write!(text, "; {} counts 0: {why}", prioritizer.score);
    }
    text
}

/// The message that it is unknown whether a candidate matches.
fn why_match_unknown(input: &Input<'_>, found: &Matched) -> String {
    let (steps, clusters) = (found.granted, input.candidates.len());
    let whose = if steps < MAX_STEPS {
        format!("its share of {STEPS_OF_A_DECISION} over {}", counted(clusters, "cluster"))
    } else {
        "as over every other cluster".to_owned()
    };
    format!(
        "its expressions take more than {steps} steps, {whose}, so it is unknown whether the cluster matches"
    )
}

fn excluded(
    input: &Input<'_>,
    ranking: &Ranking,
    candidate: u32,
    why: Exclusion,
    now: Timestamp,
) -> (String, Option<Timestamp>) {
    match why {
        Exclusion::Terminating => ("the cluster is being deleted".to_owned(), None),
        Exclusion::NoPredicate { .. } => {
            let found = ranking.matches.get(candidate);
            let Some(candidate) = input.candidates.get(position(candidate)) else {
                return (String::new(), None);
            };
            let why = why_none(input, candidate, found.map_or(0, |it| it.granted), now);
            let expired = found.map(|it| render_expired(&it.expired)).unwrap_or_default();
            (format!("no predicate matches: {why}{expired}"), None)
        }
        Exclusion::TooCostly { .. } => {
            let found = ranking.matches.get(candidate);
            let why = found.map(|it| why_match_unknown(input, it)).unwrap_or_default();
            (format!("{why}, and it is not selected"), None)
        }
        Exclusion::Tainted { taint, ended } => {
            let taint = taint_of(input, candidate, taint).map(Taint::to_string).unwrap_or_default();
            match ended.filter(|ended| *ended <= now) {
                Some(ended) => (format!("{taint} was tolerated until {ended}"), Some(ended)),
                None => (format!("{taint} is not tolerated"), None),
            }
        }
    }
}
