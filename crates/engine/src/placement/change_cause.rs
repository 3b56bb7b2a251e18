//! The change cause of a selection that time has changed: a toleration or a score that has expired since the last
//! decision. If several have expired, one of an added or removed cluster is named.

use std::sync::Arc;

use jiff::Timestamp;

use super::decide::number;
use super::eligibility::tolerated;
use super::{
    Cause, Decision, Eligibility, Exclusion, Input, Memory, Ranking, RawScore, ScoreSource, Taint,
    Tolerated,
};
use crate::Reason;

/// The cluster that a reason concerns, and its taint if the reason concerns a taint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangeCause {
    /// The name of the cluster.
    pub cluster: Arc<str>,
    /// The taint of the cluster.
    pub taint: Option<Taint>,
}

impl ChangeCause {
    pub(super) fn from_cause(input: &Input<'_>, cause: Cause) -> Option<ChangeCause> {
        let candidate = input.candidates.get(usize::try_from(cause.candidate()?).ok()?)?;
        let taint = match cause {
            Cause::TolerationEnded { taint, .. } => {
                candidate.cluster.taints.get(usize::try_from(taint).ok()?)
            }
            Cause::Ranked { .. }
            | Cause::TooCostly { .. }
            | Cause::ScoreExpired { .. }
            | Cause::ReadScoresExpired { .. } => None,
        };
        Some(ChangeCause { cluster: Arc::clone(candidate.name), taint: taint.cloned() })
    }
}

/// The reason for a decision. Without a change, the reason stays the same.
pub(super) fn reason(
    input: &Input<'_>,
    ranking: &Ranking,
    decision: &Decision,
    now: Timestamp,
) -> Reason<Cause> {
    let Some(memory) = &input.memory else { return decision.reason };
    let is_costly = matches!(decision.reason.cause, Cause::TooCostly { .. });
    if decision.added.is_empty() && decision.removed.is_empty() {
        let recorded = recorded_reason(input, memory).filter(|_| !is_costly);
        return recorded.unwrap_or(decision.reason);
    }
    let search = ChangeCauseSearch { input, ranking, decision, now, since: memory.decided_at };
    let mut causes = search.ended_tolerations();
    causes.extend(search.expired_scores_of_expressions());
    causes.extend(search.expired_scores());
    let of_changed = causes.iter().find(|(_, cause)| {
        cause.candidate().is_some_and(|candidate| search.has_changed(candidate))
    });
    // A known cause for a different cluster does not apply if it is unknown whether some clusters match.
    match of_changed.or(causes.first().filter(|_| !is_costly)) {
        Some((rule, cause)) => Reason { rule: *rule, cause: *cause, ..decision.reason },
        None => decision.reason,
    }
}

/// The recorded reason, for the current candidates; `None` if its cluster or the taint has been removed.
fn recorded_reason(input: &Input<'_>, memory: &Memory) -> Option<Reason<Cause>> {
    let Some(change_cause) = &memory.change_cause else {
        let is_over = matches!(memory.reason.cause, Cause::TooCostly { .. });
        return (!is_over).then_some(memory.reason);
    };
    let position =
        input.candidates.binary_search_by_key(&&change_cause.cluster, |it| it.name).ok()?;
    let mut cause = memory.reason.cause.with_candidate(number(position));
    if let Cause::TolerationEnded { taint, .. } = &mut cause {
        let mut taints = input.candidates.get(position)?.cluster.taints.iter();
        *taint = number(taints.position(|it| Some(it) == change_cause.taint.as_ref())?);
    }
    Some(Reason { cause, ..memory.reason })
}

/// A cause, and the position of its score.
type ScoreCause = (Option<u32>, Cause);

struct ChangeCauseSearch<'i, 'a> {
    input: &'i Input<'a>,
    ranking: &'i Ranking,
    decision: &'i Decision,
    now: Timestamp,
    /// The instant of the last decision.
    since: Timestamp,
}

impl ChangeCauseSearch<'_, '_> {
    fn is_recent(&self, at: Timestamp) -> bool {
        self.since < at && at <= self.now
    }

    /// Whether a candidate was added or removed.
    fn has_changed(&self, candidate: u32) -> bool {
        let position = usize::try_from(candidate).unwrap_or(usize::MAX);
        let Some(candidate) = self.input.candidates.get(position) else { return false };
        let is_among = |names: &[_]| names.binary_search(candidate.name).is_ok();
        is_among(&self.decision.added) || is_among(&self.decision.removed)
    }

    fn ended_tolerations(&self) -> Vec<ScoreCause> {
        let all = (0..).zip(&self.ranking.eligibility).zip(&self.input.candidates);
        let ended = all.filter_map(|((candidate, it), of)| {
            let (taint, ended) = match *it {
                Eligibility::Excluded(Exclusion::Tainted { taint, ended }) => (taint, ended?),
                Eligibility::Eligible { shunned_by: Some(taint), .. } => {
                    let position = usize::try_from(taint).unwrap_or(usize::MAX);
                    match tolerated(self.input.policy, of.cluster.taints.get(position)?)? {
                        Tolerated::Until(ended) => (taint, ended),
                        Tolerated::Forever => return None,
                    }
                }
                Eligibility::Excluded(_) | Eligibility::Eligible { .. } => return None,
            };
            self.is_recent(ended).then_some((None, Cause::TolerationEnded { candidate, taint }))
        });
        ended.collect()
    }

    /// The expired scores that an expression has read of an added or removed cluster.
    fn expired_scores_of_expressions(&self) -> Vec<ScoreCause> {
        let candidates = (0..).zip(&self.input.candidates);
        let changed = candidates.filter(|(candidate, _)| self.has_changed(*candidate));
        let expired = changed.filter_map(|(candidate, _)| {
            let expired = &self.ranking.matches.get(candidate)?.expired;
            let at = expired.values().copied().find(|at| self.is_recent(*at))?;
            Some((None, Cause::ReadScoresExpired { candidate, at }))
        });
        expired.collect()
    }

    fn expired_scores(&self) -> Vec<ScoreCause> {
        let mut causes = Vec::new();
        for (position, prioritizer) in self.input.policy.prioritizers.iter().enumerate() {
            let ScoreSource::AddOn { .. } = prioritizer.score else { continue };
            for it in &self.ranking.ranked {
                let raw = self.ranking.raw_score(self.input, position, it.candidate, self.now);
                if let RawScore::Expired(at) = raw
                    && self.is_recent(at)
                {
                    let cause = Cause::ScoreExpired { candidate: it.candidate };
                    causes.push((Some(number(position)), cause));
                }
            }
        }
        causes
    }
}
