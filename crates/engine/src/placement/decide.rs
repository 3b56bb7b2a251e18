//! Decides which clusters a placement selects, and their groups.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::ledger::decision_identity;
use super::reasons::explain_changes;
use super::writes::{WantedDecision, writes};
use super::{
    Candidate, Cause, ChangeCause, Eligibility, Exclusion, Input, KnownMatches, PlacementDecision,
    RankedCandidate, Ranking,
};
use crate::{Action, Reason, RuleExplanation, Verdict};

/// The maximum number of clusters in one `PlacementDecision`.
pub const CLUSTERS_PER_DECISION: usize = 100;

/// The decision of a placement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// `false` if the only action creates the empty first `PlacementDecision` of a placement without a decision.
    pub is_decided: bool,
    /// The writes, in an order in which a cluster that stays selected is always in a decision. No write may be applied
    /// before the previous writes.
    pub actions: Vec<Action>,
    /// The selected clusters, in the order of their names.
    pub clusters: Vec<Arc<str>>,
    /// The groups of the clusters.
    pub groups: Vec<DecidedGroup>,
    /// Whether the placement has the desired number of clusters.
    pub satisfaction: Satisfaction,
    /// The reason for the selection, and for its change.
    pub reason: Reason<Cause>,
    /// The cluster that the reason concerns, if any.
    pub change_cause: Option<ChangeCause>,
    /// The clusters that were not selected at the last report, in order.
    pub added: Vec<Arc<str>>,
    /// The clusters that are no longer selected, in order.
    pub removed: Vec<Arc<str>>,
    /// The explanations of some added or removed clusters.
    pub explanations: Vec<RuleExplanation>,
    /// The clusters with a taint that would not be tolerated forever if the instant of its addition were known.
    pub undated: Vec<Arc<str>>,
    /// The clusters for which the expressions have used too many steps, and whether each is selected nevertheless.
    pub costly: BTreeMap<Arc<str>, bool>,
    /// The verdicts of the predicates on clusters, for the next turn.
    pub known: KnownMatches,
    /// The next instant at which time alone could change the decision.
    pub wake_at: Option<Timestamp>,
}

impl Decision {
    /// The selection at the last report, in order.
    pub(super) fn last_reported(&self) -> Vec<Arc<str>> {
        let stay = self.clusters.iter().filter(|it| self.added.binary_search(it).is_err());
        let mut clusters: Vec<Arc<str>> = stay.chain(&self.removed).cloned().collect();
        clusters.sort_unstable();
        clusters
    }
}

/// A group of selected clusters. Its position is its index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecidedGroup {
    /// The name of the group; empty for no name.
    pub name: Arc<str>,
    /// The clusters of the group, in the order of their names.
    pub clusters: Vec<Arc<str>>,
    /// The names of the `PlacementDecision`s of the group.
    pub decisions: Vec<Arc<str>>,
}

/// Whether a placement has as many clusters as its spec requests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Satisfaction {
    /// No existing set is bound to the namespace.
    NothingBound,
    /// None of the sets that the placement names is bound.
    NoneOfItsSets,
    /// The sets of the placement contain no clusters.
    NoClusters,
    /// No cluster of the sets may be selected.
    NoneMatches,
    /// The expressions would use too many steps for some candidates. The selected ones among these stay, and no others
    /// are added.
    TooCostly,
    /// The number of missing clusters.
    Lacks(u32),
    /// No cluster is missing.
    Satisfied,
}

impl Satisfaction {
    /// The condition reason, as in Open Cluster Management.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Satisfaction::NothingBound => "NoManagedClusterSetBindings",
            Satisfaction::NoneOfItsSets => "NoIntersection",
            Satisfaction::NoClusters => "AllManagedClusterSetsEmpty",
            Satisfaction::NoneMatches => "NoManagedClusterMatched",
            Satisfaction::TooCostly => "ExpressionsTooCostly",
            Satisfaction::Lacks(_) => "NotAllDecisionsScheduled",
            Satisfaction::Satisfied => "AllDecisionsScheduled",
        }
    }
}

/// Decides at `now`.
#[must_use]
pub fn decide(input: &Input<'_>, now: Timestamp) -> Decision {
    let ranking = Ranking::new(input, now);
    let mut selected = selected(input, &ranking);
    // The positions of candidates are in the order of their names.
    selected.sort_unstable();
    let chosen: Vec<&Candidate<'_>> = selected.iter().map(|it| candidate(input, *it)).collect();
    let groups = groups(input, &chosen);
    let wanted = wanted_decisions(&groups);
    let actions = writes(input, &wanted);
    let unreported = input.memory.as_ref().and_then(|it| it.unreported.as_ref());
    let known: BTreeSet<&Arc<str>> = match unreported {
        Some(unreported) => unreported.iter().collect(),
        None => own_clusters(input).collect(),
    };
    let clusters: Vec<Arc<str>> = chosen.iter().map(|it| Arc::clone(it.name)).collect();
    let added: Vec<Arc<str>> = clusters.iter().filter(|it| !known.contains(it)).cloned().collect();
    let gone = known.into_iter().filter(|it| clusters.binary_search(it).is_err());
    let removed: Vec<Arc<str>> = gone.cloned().collect();
    let is_other = !added.is_empty() || !removed.is_empty();
    let explanations = is_other.then(|| explain_changes(input, &ranking, (&added, &removed), now));
    let decision = Decision {
        is_decided: true,
        actions,
        explanations: explanations.unwrap_or_default(),
        satisfaction: satisfaction(input, &ranking, &selected),
        reason: Reason {
            rule: None,
            verdict: Verdict::Won,
            cause: cause(&ranking, clusters.len()),
            since: None,
            until: None,
        },
        change_cause: None,
        groups,
        clusters,
        added,
        removed,
        undated: undated(input, &ranking),
        costly: costly(input, &ranking, &selected),
        known: ranking.matches.to_keep(input),
        wake_at: ranking.wake_at(input, &selected, now),
    };
    let reason = super::change_cause::reason(input, &ranking, &decision, now);
    Decision { change_cause: ChangeCause::from_cause(input, reason.cause), reason, ..decision }
}

/// The candidates to select, in unspecified order.
pub(super) fn selected(input: &Input<'_>, ranking: &Ranking) -> Vec<u32> {
    let mut ranked = ranking.ranked.clone();
    let wanted = input.policy.number_of_clusters.and_then(|it| usize::try_from(it).ok());
    if let Some(wanted) = wanted.filter(|wanted| *wanted < ranked.len()) {
        ranked.select_nth_unstable_by_key(wanted, RankedCandidate::key);
        ranked.truncate(wanted);
    }
    ranked.into_iter().map(|it| it.candidate).collect()
}

fn candidate<'i, 'a>(input: &'i Input<'a>, position: u32) -> &'i Candidate<'a> {
    &input.candidates[position as usize]
}

pub(super) fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// The clusters that the placement has selected so far.
pub(super) fn own_clusters<'a>(input: &Input<'a>) -> impl Iterator<Item = &'a Arc<str>> {
    let name = input.identity.name();
    let own = input.decisions.values().filter(move |it| it.placement.as_deref() == Some(name));
    own.flat_map(|it| &it.clusters)
}

fn groups(input: &Input<'_>, selected: &[&Candidate<'_>]) -> Vec<DecidedGroup> {
    let size = input.policy.group_size.limit(selected.len());
    let mut rest: Vec<&Candidate<'_>> = selected.to_vec();
    let mut groups: Vec<DecidedGroup> = Vec::new();
    let mut divide = |name: &Arc<str>, clusters: &[&Candidate<'_>]| {
        for chunk in clusters.chunks(size) {
            let clusters = chunk.iter().map(|it| Arc::clone(it.name)).collect();
            groups.push(DecidedGroup { name: Arc::clone(name), clusters, decisions: Vec::new() });
        }
    };
    for group in &input.policy.groups {
        let is_of_group = |it: &&Candidate<'_>| group.selector.fits(it.cluster);
        let (members, others) = rest.into_iter().partition(is_of_group);
        let members: Vec<&Candidate<'_>> = members;
        divide(&group.name, &members);
        rest = others;
    }
    divide(&Arc::default(), &rest);
    if groups.is_empty() {
        // An empty decision, for readers that expect at least one.
        groups.push(DecidedGroup {
            name: Arc::default(),
            clusters: Vec::new(),
            decisions: Vec::new(),
        });
    }
    let mut number = 0;
    for group in &mut groups {
        let decisions = group.clusters.len().div_ceil(CLUSTERS_PER_DECISION).max(1);
        let names = (number + 1..=number + decisions)
            .map(|number| format!("{}-decision-{number}", input.identity.name()).into());
        group.decisions = names.collect();
        number += decisions;
    }
    groups
}

fn wanted_decisions(groups: &[DecidedGroup]) -> Vec<WantedDecision<'_>> {
    let groups = groups.iter().enumerate();
    let wanted = groups.flat_map(|(index, group)| {
        // An empty group has one decision, but no chunk of clusters.
        let chunks = group.clusters.chunks(CLUSTERS_PER_DECISION).chain(std::iter::once(&[][..]));
        group.decisions.iter().zip(chunks).map(move |(name, clusters)| WantedDecision {
            name,
            group: &group.name,
            index: number(index),
            clusters,
        })
    });
    wanted.collect()
}

/// The cause of a selection if no toleration or score has expired.
fn cause(ranking: &Ranking, selected: usize) -> Cause {
    let selected = number(selected);
    match ranking.matches.undecided().count() {
        0 => Cause::Ranked { eligible: number(ranking.ranked.len()), selected },
        undecided => Cause::TooCostly { undecided: number(undecided), selected },
    }
}

fn costly(input: &Input<'_>, ranking: &Ranking, selected: &[u32]) -> BTreeMap<Arc<str>, bool> {
    let costly = ranking.matches.unfinished();
    let costly = costly.map(|position| {
        let name = Arc::clone(candidate(input, position).name);
        (name, selected.binary_search(&position).is_ok())
    });
    costly.collect()
}

fn satisfaction(input: &Input<'_>, ranking: &Ranking, selected: &[u32]) -> Satisfaction {
    let has_enough = input.policy.number_of_clusters.is_some_and(|it| it <= number(selected.len()));
    let are_known = selected.iter().all(|it| !ranking.matches.is_undecided(*it));
    let available = input.candidates.iter().filter(|it| !it.cluster.is_terminating).count();
    let wanted = input.policy.number_of_clusters.unwrap_or_default();
    match () {
        () if input.bound_sets == 0 => Satisfaction::NothingBound,
        () if input.sets.is_empty() => Satisfaction::NoneOfItsSets,
        () if available == 0 => Satisfaction::NoClusters,
        () if !(has_enough && are_known) && ranking.matches.undecided().next().is_some() => {
            Satisfaction::TooCostly
        }
        () if ranking.ranked.is_empty() => Satisfaction::NoneMatches,
        () => match wanted.saturating_sub(number(selected.len())) {
            0 => Satisfaction::Satisfied,
            lacking => Satisfaction::Lacks(lacking),
        },
    }
}

/// The matching candidates with an undated taint that no toleration tolerates forever by itself.
fn undated(input: &Input<'_>, ranking: &Ranking) -> Vec<Arc<str>> {
    let candidates = input.candidates.iter().zip(&ranking.eligibility);
    let undated = candidates.filter(|(it, eligibility)| match eligibility {
        Eligibility::Excluded(
            Exclusion::Terminating | Exclusion::NoPredicate { .. } | Exclusion::TooCostly { .. },
        ) => false,
        Eligibility::Excluded(Exclusion::Tainted { .. }) | Eligibility::Eligible { .. } => {
            input.policy.has_undated_taint(it.cluster)
        }
    });
    undated.map(|(it, _)| Arc::clone(it.name)).collect()
}

/// The desired content of a decision of this placement.
pub(super) fn content(input: &Input<'_>, wanted: &WantedDecision<'_>) -> PlacementDecision {
    PlacementDecision {
        placement: Some(input.identity.name().into()),
        group: Arc::clone(wanted.group),
        group_index: Some(wanted.index),
        clusters: wanted.clusters.into(),
    }
}

/// The identity of a decision.
pub(super) fn object(input: &Input<'_>, name: &str) -> crate::Identity {
    decision_identity(input.identity.namespace(), name)
}
