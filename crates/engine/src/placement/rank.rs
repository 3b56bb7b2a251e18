//! The total of each candidate that may be selected, and the instant of its next change. All numbers are whole.

use jiff::Timestamp;

use super::eligibility::Matches;
use super::predicates::matches_until;
use super::{Cluster, Eligibility, Exclusion, Input, Quantity, Score, ScoreSource};

/// One score of a candidate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RawScore {
    /// The score of the cluster.
    Given(Score),
    /// The cluster does not report its allocatable resources.
    NoData,
    /// The `AddOnPlacementScore` does not exist.
    NoObject,
    /// The `AddOnPlacementScore` exists, without this score.
    NotInObject,
    /// The score was valid until this instant.
    Expired(Timestamp),
}

impl RawScore {
    /// The effective number: 0 for a missing one.
    #[must_use]
    pub fn get(self) -> i8 {
        match self {
            RawScore::Given(score) => score.get(),
            RawScore::NoData
            | RawScore::NoObject
            | RawScore::NotInObject
            | RawScore::Expired(_) => 0,
        }
    }
}

/// The candidates that may be selected, with their totals.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ranking {
    /// The eligibility of every candidate, in their order.
    pub eligibility: Vec<Eligibility>,
    /// The candidates that may be selected, in their order.
    pub ranked: Vec<RankedCandidate>,
    /// The verdicts of the predicates on the candidates.
    pub(super) matches: Matches,
    /// The minimum and the maximum amount that a score compares, by the position of the score.
    amounts: Vec<Option<Amounts>>,
}

/// A candidate that may be selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RankedCandidate {
    /// The position of the candidate in the input.
    pub candidate: u32,
    /// The sum of the scores, each multiplied by its weight.
    pub total: i64,
    /// Whether other candidates with the same total come first.
    pub is_shunned: bool,
}

impl RankedCandidate {
    /// The sort key; the candidate to select first has the minimum key.
    pub(super) fn key(&self) -> (std::cmp::Reverse<i64>, bool, u32) {
        (std::cmp::Reverse(self.total), self.is_shunned, self.candidate)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Amounts {
    smallest: Quantity,
    largest: Quantity,
}

impl Ranking {
    /// Ranks the candidates at `now`.
    #[must_use]
    pub fn new(input: &Input<'_>, now: Timestamp) -> Ranking {
        let matches = Matches::new(input, now);
        let assess = |(position, it)| matches.eligibility(input, position, it, now);
        let eligibility: Vec<Eligibility> = (0..).zip(&input.candidates).map(assess).collect();
        let mut ranked: Vec<RankedCandidate> = Vec::with_capacity(eligibility.len());
        for (candidate, it) in (0..).zip(&eligibility) {
            if let Eligibility::Eligible { shunned_by, .. } = it {
                let is_shunned = shunned_by.is_some();
                ranked.push(RankedCandidate { candidate, total: 0, is_shunned });
            }
        }
        let amounts = input.policy.prioritizers.iter().map(|it| amounts(input, &it.score, &ranked));
        let amounts = amounts.collect();
        let mut ranking = Ranking { eligibility, matches, amounts, ranked: Vec::new() };
        for (score, prioritizer) in input.policy.prioritizers.iter().enumerate() {
            for it in &mut ranked {
                let raw = ranking.raw_score(input, score, it.candidate, now);
                it.total += i64::from(raw.get()) * i64::from(prioritizer.weight.get());
            }
        }
        ranking.ranked = ranked;
        ranking
    }

    /// The candidates that may be selected, in the order of selection.
    pub(super) fn in_order(&self) -> Vec<RankedCandidate> {
        let mut ranked = self.ranked.clone();
        ranked.sort_unstable_by_key(RankedCandidate::key);
        ranked
    }

    /// A score of a candidate, by the position of the score in the policy.
    #[must_use]
    pub fn raw_score(
        &self,
        input: &Input<'_>,
        score: usize,
        candidate: u32,
        now: Timestamp,
    ) -> RawScore {
        let position = usize::try_from(candidate).unwrap_or(usize::MAX);
        let (Some(prioritizer), Some(candidate)) =
            (input.policy.prioritizers.get(score), input.candidates.get(position))
        else {
            return RawScore::NoData;
        };
        match &prioritizer.score {
            ScoreSource::Balance => balance(candidate.selected_by_others, input.busiest),
            ScoreSource::Steady if candidate.is_selected => RawScore::Given(Score::MAX),
            ScoreSource::Steady => RawScore::Given(Score::default()),
            ScoreSource::AllocatableCpu | ScoreSource::AllocatableMemory => {
                let amount = amount(&prioritizer.score, candidate.cluster);
                match (amount, self.amounts.get(score).copied().flatten()) {
                    (Some(amount), Some(amounts)) => allocatable(amount, amounts),
                    _ => RawScore::NoData,
                }
            }
            ScoreSource::AddOn { score: name, .. } => {
                let objects = input.add_on_scores.get(score);
                let Some(scores) = objects.and_then(|it| *it.get(position)?) else {
                    return RawScore::NoObject;
                };
                match (scores.get(name), scores.valid_until) {
                    (None, _) => RawScore::NotInObject,
                    (Some(_), Some(end)) if end <= now => RawScore::Expired(end),
                    (Some(score), _) => RawScore::Given(score),
                }
            }
        }
    }

    /// The next instant at which time alone could change the decision after these candidates are selected, in order:
    /// the end of a toleration, or of a score that was used or read.
    pub(super) fn wake_at(
        &self,
        input: &Input<'_>,
        selected: &[u32],
        now: Timestamp,
    ) -> Option<Timestamp> {
        let stays = |candidate: u32| {
            let position = usize::try_from(candidate).unwrap_or(usize::MAX);
            match self.eligibility.get(position) {
                Some(Eligibility::Eligible { only_if_kept, .. }) => {
                    !only_if_kept || selected.binary_search(&candidate).is_ok()
                }
                Some(Eligibility::Excluded(_)) | None => false,
            }
        };
        // An undated taint is reported for every matching cluster, even for a cluster that a taint excludes.
        let undated_until = |candidate: u32| {
            let matched = self.matches.get(candidate)?;
            let position = usize::try_from(candidate).unwrap_or(usize::MAX);
            let candidate = input.candidates.get(position)?;
            let is_undated = input.policy.has_undated_taint(candidate.cluster);
            is_undated.then(|| matches_until(input, candidate, matched)).flatten()
        };
        let ends = (0..).zip(&self.eligibility).filter_map(|(candidate, it)| match it {
            Eligibility::Eligible { until, .. } if stays(candidate) => *until,
            Eligibility::Excluded(
                Exclusion::NoPredicate { until } | Exclusion::TooCostly { until },
            ) => *until,
            Eligibility::Excluded(Exclusion::Terminating) => None,
            Eligibility::Eligible { .. } | Eligibility::Excluded(Exclusion::Tainted { .. }) => {
                undated_until(candidate)
            }
        });
        let mut earliest = ends.min();
        for (prioritizer, objects) in input.policy.prioritizers.iter().zip(&input.add_on_scores) {
            let ScoreSource::AddOn { score, .. } = &prioritizer.score else { continue };
            for it in &self.ranked {
                let position = usize::try_from(it.candidate).unwrap_or(usize::MAX);
                let Some(Some(scores)) = objects.get(position) else { continue };
                // Most objects of a resource are valid until about the same instant.
                let end = scores.valid_until.filter(|end| *end > now);
                let is_earlier = end.is_some_and(|end| earliest.is_none_or(|known| end < known));
                if is_earlier && scores.get(score).is_some() && stays(it.candidate) {
                    earliest = end;
                }
            }
        }
        earliest
    }
}

/// 100 for a cluster that no other placement has selected, down to -100 for the most selected cluster.
fn balance(selected: u32, busiest: u32) -> RawScore {
    let (selected, busiest) = (i64::from(selected), i64::from(busiest));
    if selected == 0 || busiest == 0 {
        return RawScore::Given(Score::MAX);
    }
    let halved = (50 * busiest - 100 * selected) / busiest;
    RawScore::Given(Score::new(2 * halved).unwrap_or_default())
}

/// From -100 for the minimum amount to 100 for the maximum.
fn allocatable(amount: Quantity, Amounts { smallest, largest }: Amounts) -> RawScore {
    let range = largest.billionths() - smallest.billionths();
    if range == 0 {
        return RawScore::Given(Score::MAX);
    }
    let above = amount.billionths() - smallest.billionths();
    let score = i64::try_from((200 * above - 100 * range) / range);
    RawScore::Given(score.ok().and_then(Score::new).unwrap_or_default())
}

fn amount(score: &ScoreSource, cluster: &Cluster) -> Option<Quantity> {
    match score {
        ScoreSource::AllocatableCpu => cluster.allocatable_cpu,
        ScoreSource::AllocatableMemory => cluster.allocatable_memory,
        ScoreSource::Balance | ScoreSource::Steady | ScoreSource::AddOn { .. } => None,
    }
}

/// The range of the amounts of the clusters that may be selected. A cluster without an amount is omitted.
fn amounts(input: &Input<'_>, score: &ScoreSource, ranked: &[RankedCandidate]) -> Option<Amounts> {
    let all = || {
        ranked.iter().filter_map(|it| {
            let position = usize::try_from(it.candidate).ok()?;
            amount(score, input.candidates.get(position)?.cluster)
        })
    };
    Some(Amounts { smallest: all().min()?, largest: all().max()? })
}
