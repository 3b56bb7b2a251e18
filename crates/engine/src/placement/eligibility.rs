//! The candidates that may be selected: the verdicts of the predicates, and the effects of the taints.

use almanac_expressions::MAX_STEPS;
use jiff::Timestamp;

use super::gather::named_scores;
use super::predicates::{FoundScores, MatchVerdict, Matched, fits, matched};
use super::shares::{STEPS_OF_A_DECISION, evaluate_each};
use super::{Candidate, Input, KnownMatches, Placement, Taint, TaintEffect, Tolerated};

/// Whether a candidate may be selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Eligibility {
    /// The candidate must not be selected.
    Excluded(Exclusion),
    /// The candidate may be selected.
    Eligible {
        /// The position of the taint that ranks the candidate after others with the same total.
        shunned_by: Option<u32>,
        /// The instant at which the eligibility may change: a relevant toleration ends, or a score that an expression
        /// has read expires.
        until: Option<Timestamp>,
        /// Whether the candidate may be selected only because it is selected now. Otherwise a taint would exclude it,
        /// or it is unknown whether it matches.
        only_if_kept: bool,
    },
}

/// The reason that a candidate must not be selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exclusion {
    /// The cluster is being deleted.
    Terminating,
    /// No predicate matches.
    NoPredicate {
        /// The instant at which the verdict may change: a score that an expression has read expires.
        until: Option<Timestamp>,
    },
    /// The predicates use too many steps to determine whether the candidate matches, and the candidate is not selected.
    TooCostly {
        /// The instant at which the verdict may change: a score that an expression has read expires.
        until: Option<Timestamp>,
    },
    /// The cluster has a taint that is not tolerated.
    Tainted {
        /// The position of the taint.
        taint: u32,
        /// The end of the toleration; `None` if no toleration matched.
        ended: Option<Timestamp>,
    },
}

/// The results of the predicates with expressions, in the order of the candidates. Results of other predicates are not
/// kept: they are deterministic and cheap.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Matches {
    by_candidate: Vec<Matched>,
    /// Whether the expressions use too many steps for every evaluated cluster, and not only for one with too much data.
    is_costly_everywhere: bool,
}

impl Matches {
    pub(super) fn new(input: &Input<'_>, now: Timestamp) -> Matches {
        if !input.policy.has_expressions() {
            return Matches::default();
        }
        let known = input.memory.as_ref().map(|it| it.known.for_candidates(&input.candidates));
        let known = known.unwrap_or_default();
        let named = named_scores(input);
        let by_candidate =
            evaluate_each(STEPS_OF_A_DECISION, input.candidates.len(), |position, steps| {
                let candidate = &input.candidates[position];
                if candidate.cluster.is_terminating {
                    return Matched::default();
                }
                let known = known.get(position).copied().flatten();
                known.and_then(|it| it.within(steps)).unwrap_or_else(|| {
                    let scores = FoundScores::new(input.scores, &named, position);
                    matched(input.policy, scores, candidate, now, steps)
                })
            });
        let evaluated = || by_candidate.iter().filter(|it| it.spent > 0);
        let is_costly_everywhere =
            evaluated().nth(1).is_some() && evaluated().all(Matched::is_unfinished);
        Matches { by_candidate, is_costly_everywhere }
    }

    /// The results that can be kept for the next turn.
    pub(super) fn to_keep(&self, input: &Input<'_>) -> KnownMatches {
        KnownMatches::from_matched(input, &self.by_candidate)
    }

    pub(super) fn get(&self, candidate: u32) -> Option<&Matched> {
        self.by_candidate.get(usize::try_from(candidate).ok()?)
    }

    /// The candidates for which the expressions use too many steps.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = u32> {
        (0..)
            .zip(&self.by_candidate)
            .filter(|(_, it)| it.is_unfinished())
            .map(|(position, _)| position)
    }

    /// The candidates for which it is unknown whether they match.
    pub(super) fn undecided(&self) -> impl Iterator<Item = u32> {
        self.unfinished().filter(|it| self.is_undecided(*it))
    }

    /// Whether it is unknown if a candidate matches. Its share of the steps was too small because the number of
    /// candidates is too large, or the expressions are too costly for every cluster. If even the maximum share is too
    /// small for this cluster alone, the cluster does not match.
    pub(super) fn is_undecided(&self, candidate: u32) -> bool {
        self.get(candidate).is_some_and(|it| {
            it.is_unfinished() && (it.granted < MAX_STEPS || self.is_costly_everywhere)
        })
    }

    pub(super) fn eligibility(
        &self,
        input: &Input<'_>,
        position: u32,
        candidate: &Candidate<'_>,
        now: Timestamp,
    ) -> Eligibility {
        if candidate.cluster.is_terminating {
            return Eligibility::Excluded(Exclusion::Terminating);
        }
        let found = self.get(position);
        let until = found.and_then(|it| it.until);
        let is_kept = self.is_undecided(position);
        if is_kept && !stays_selected(input, candidate) {
            return Eligibility::Excluded(Exclusion::TooCostly { until });
        }
        let matches = found.map_or_else(
            || fits(input.policy, candidate.cluster),
            |it| it.verdict == MatchVerdict::Matches,
        );
        if !is_kept && !matches {
            return Eligibility::Excluded(Exclusion::NoPredicate { until });
        }
        match taint_effects(input.policy, candidate, now) {
            Err(excluded) => Eligibility::Excluded(excluded),
            Ok(effects) => Eligibility::Eligible {
                shunned_by: effects.shunned_by,
                until: effects.until.into_iter().chain(until).min(),
                only_if_kept: effects.only_if_kept || is_kept,
            },
        }
    }
}

/// Whether a candidate stays selected while it is unknown whether it matches. The decision at the start of that time
/// applies. Later changes of the decisions by other field managers do not.
fn stays_selected(input: &Input<'_>, candidate: &Candidate<'_>) -> bool {
    let known = input.memory.as_ref().and_then(|memory| memory.costly.get(candidate.name));
    known.copied().unwrap_or(candidate.is_selected)
}

/// The effect of the taints of a candidate that may be selected.
#[derive(Default)]
struct TaintEffects {
    shunned_by: Option<u32>,
    until: Option<Timestamp>,
    only_if_kept: bool,
}

fn taint_effects(
    policy: &Placement,
    candidate: &Candidate<'_>,
    now: Timestamp,
) -> Result<TaintEffects, Exclusion> {
    let mut effects = TaintEffects::default();
    let mut preferred_until = None;
    for (position, taint) in (0..).zip(&candidate.cluster.taints) {
        if taint.effect == TaintEffect::NoSelectIfNew && candidate.is_selected {
            effects.only_if_kept |= tolerated(policy, taint).is_none();
            continue;
        }
        let is_preference = taint.effect == TaintEffect::PreferNoSelect;
        let until = if is_preference { &mut preferred_until } else { &mut effects.until };
        match tolerated(policy, taint) {
            Some(Tolerated::Forever) => {}
            Some(Tolerated::Until(end)) if end > now => *until = Some(earlier(*until, end)),
            _ if is_preference => effects.shunned_by = effects.shunned_by.or(Some(position)),
            ended => {
                let ended = match ended {
                    Some(Tolerated::Until(end)) => Some(end),
                    Some(Tolerated::Forever) | None => None,
                };
                return Err(Exclusion::Tainted { taint: position, ended });
            }
        }
    }
    // The end of a toleration does not change a cluster that another taint already ranks lower.
    let preferred_until = preferred_until.filter(|_| effects.shunned_by.is_none());
    effects.until = effects.until.into_iter().chain(preferred_until).min();
    Ok(effects)
}

fn earlier(known: Option<Timestamp>, end: Timestamp) -> Timestamp {
    known.map_or(end, |known| known.min(end))
}

/// The duration for which a taint is tolerated, by the toleration that lasts longest.
pub(super) fn tolerated(policy: &Placement, taint: &Taint) -> Option<Tolerated> {
    policy.tolerations.iter().filter_map(|it| it.tolerates(taint)).max()
}
