//! The verdicts of a placement's predicates on clusters, kept from one turn to the next. If one of ten thousand
//! clusters changes, the expressions are evaluated for that cluster only.
//!
//! A result is kept only if it depends on the cluster alone, and if the number of steps would have made no difference.
//! So kept results do not change decisions.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use super::predicates::{MatchVerdict, Matched};
use super::{Candidate, Cluster, Input};
use crate::Identity;

/// The maximum number of results that all placements of a world keep. A placement at the limit keeps none. Each result
/// uses forty bytes.
const MAX_KEPT: usize = 1_000_000;

/// The results that a placement keeps. They affect no other data, so any two values are equal.
#[derive(Clone, Debug, Default)]
pub struct KnownMatches {
    /// The results, in the order of the clusters' names.
    matches: Arc<[KnownMatch]>,
}

#[derive(Clone, Debug)]
struct KnownMatch {
    name: Arc<str>,
    /// The cluster as it was evaluated. The weak reference prevents the reuse of its address.
    cluster: Weak<Cluster>,
    verdict: MatchVerdict,
    spent: u32,
    /// The number of steps that suffice for the same result; for an unfinished result, a number that does not suffice.
    bound: u32,
}

impl KnownMatch {
    /// Whether the result is of this exact version of the cluster.
    fn is_of(&self, candidate: &Candidate<'_>) -> bool {
        std::ptr::eq(self.cluster.as_ptr(), Arc::as_ptr(candidate.cluster))
    }
}

impl PartialEq for KnownMatches {
    fn eq(&self, _: &KnownMatches) -> bool {
        true
    }
}

impl Eq for KnownMatches {}

impl KnownMatches {
    /// The results of an evaluation of all candidates that can be kept.
    pub(super) fn from_matched(input: &Input<'_>, matched: &[Matched]) -> KnownMatches {
        // Several predicates share the steps, so the result of each depends on their number.
        let is_alone = input.policy.predicates.len() == 1;
        let kept = input.candidates.iter().zip(matched).filter_map(|(candidate, it)| {
            let is_kept = it.spent > 0 && it.follows_from_cluster;
            let bound = if is_alone && !it.is_unfinished() { it.spent } else { it.granted };
            Some(KnownMatch {
                name: Arc::clone(candidate.name),
                cluster: Arc::downgrade(candidate.cluster),
                verdict: it.verdict,
                spent: u32::try_from(it.spent).ok().filter(|_| is_kept)?,
                bound: u32::try_from(bound).ok()?,
            })
        });
        KnownMatches { matches: kept.collect() }
    }

    /// The kept results for the candidates, in their order.
    pub(super) fn for_candidates<'k>(
        &'k self,
        candidates: &[Candidate<'_>],
    ) -> Vec<Option<CachedMatch<'k>>> {
        let mut known = self.matches.iter().peekable();
        let of_candidate = |candidate: &Candidate<'_>| {
            while known.next_if(|it| it.name < *candidate.name).is_some() {}
            let known = known.next_if(|it| it.name == *candidate.name)?;
            known.is_of(candidate).then_some(CachedMatch(known))
        };
        candidates.iter().map(of_candidate).collect()
    }

    /// The kept result for one candidate.
    pub(super) fn for_candidate(&self, candidate: &Candidate<'_>) -> Option<CachedMatch<'_>> {
        let position = self.matches.binary_search_by(|it| it.name.cmp(candidate.name)).ok()?;
        let known = self.matches.get(position).filter(|it| it.is_of(candidate))?;
        Some(CachedMatch(known))
    }

    /// All results if they fit next to `kept` results of other placements; otherwise none.
    pub(super) fn within_limit(self, kept: usize) -> KnownMatches {
        if kept + self.len() <= MAX_KEPT { self } else { KnownMatches::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.matches.len()
    }
}

/// The number of results that each placement keeps, so that a turn does not iterate over the other placements.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KeptMatches {
    by_placement: BTreeMap<Identity, usize>,
    in_all: usize,
}

impl KeptMatches {
    /// Records the number of results that a placement keeps now.
    pub(super) fn note(&mut self, placement: &Identity, count: usize) {
        let before = if count == 0 {
            self.by_placement.remove(placement)
        } else {
            self.by_placement.insert(placement.clone(), count)
        };
        self.in_all = self.in_all + count - before.unwrap_or_default();
    }

    /// The number of results that all other placements keep.
    pub(super) fn others_count(&self, placement: &Identity) -> usize {
        self.in_all - self.by_placement.get(placement).copied().unwrap_or_default()
    }
}

/// The stored result for one candidate.
#[derive(Clone, Copy)]
pub(super) struct CachedMatch<'k>(&'k KnownMatch);

impl CachedMatch<'_> {
    /// The result of an evaluation in this number of steps; `None` if it is unknown.
    pub(super) fn within(self, steps: usize) -> Option<Matched> {
        let KnownMatch { bound, spent, verdict, .. } = *self.0;
        let (bound, spent) = (usize::try_from(bound).ok()?, usize::try_from(spent).ok()?);
        let (is_known, spent) = match verdict {
            // An evaluation with too few steps uses all of them.
            MatchVerdict::Unfinished => (steps <= bound, steps),
            MatchVerdict::Matches | MatchVerdict::DoesNot => (steps >= bound, spent),
        };
        is_known.then(|| Matched {
            verdict,
            granted: steps,
            spent,
            follows_from_cluster: true,
            ..Matched::default()
        })
    }
}
