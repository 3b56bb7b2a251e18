//! The inputs of a decision about a placement: its candidates, with their scores, and its selection so far.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::sync::Arc;

use almanac_expressions::ReadScores;
use jiff::Timestamp;

use super::predicates::OfCandidates;
use super::{
    Cluster, ClusterSet, GROUP, Hub, Memory, Placement, PlacementDecision, PlacementState,
    Placements, Prioritizer, ScoreSource, Scores,
};
use crate::Identity;
use crate::seam::View;

/// All inputs of a decision.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// The placement.
    pub identity: &'a Identity,
    /// The checked spec of the placement.
    pub policy: &'a Placement,
    /// The number of existing sets that are bound to the namespace.
    pub bound_sets: usize,
    /// The bound sets from which the placement selects, in order.
    pub sets: Vec<&'a Arc<str>>,
    /// The clusters of these sets, in the order of their names.
    pub candidates: Vec<Candidate<'a>>,
    /// The scores of add-ons. For each score of the policy, the objects in the order of the candidates; empty for a
    /// built-in score.
    pub add_on_scores: Vec<Vec<Option<&'a Scores>>>,
    /// All scores of add-ons, for expressions: by the name of the object, and by the cluster.
    pub scores: &'a BTreeMap<Arc<str>, BTreeMap<Arc<str>, Scores>>,
    /// The number of selections of the cluster that other placements select most often.
    pub busiest: u32,
    /// The decisions of the placement, and the objects whose names match one of its decisions.
    pub decisions: BTreeMap<&'a Identity, &'a PlacementDecision>,
    /// The policy state after the last decision.
    pub memory: Option<Memory>,
}

/// A cluster that may be selected.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The name of the cluster.
    pub name: &'a Arc<str>,
    /// The cluster itself.
    pub cluster: &'a Arc<Cluster>,
    /// Whether the cluster is selected now.
    pub is_selected: bool,
    /// The number of selections of the cluster by other placements.
    pub selected_by_others: u32,
}

/// Gathers the inputs of a decision about the placement of this name. Nothing must be fetched. A placement that is
/// disabled, being deleted, exempt or unusable has no decision: its selection stays unchanged.
#[must_use]
pub fn gather<'a>(view: View<'a, Placements>, placement: &Identity) -> Option<Input<'a>> {
    let (identity, object) = view.state.policies.get_key_value(placement)?;
    let policy = object.policy.as_deref()?;
    if policy.standing != PlacementState::Active || view.objects.exempt.get(placement).is_some() {
        return None;
    }
    let hub = &*view.state.extra.hub;
    let bound = bound_sets(hub, placement.namespace());
    let sets = named_sets(policy, &bound);
    if unusable_set(view, placement).is_some() {
        return None;
    }
    let decisions = view.state.extra.decisions.for_placement(placement);
    let own = own_counts(placement, &decisions);
    let mut candidates = candidates(hub, &sets, &own);
    let mut busiest = 0;
    if policy.balances() {
        count_others(view, &mut candidates, &own);
        busiest = view.state.extra.decisions.busiest_without(&own);
    }
    let add_on_scores = policy.prioritizers.iter().map(|it| match &it.score {
        ScoreSource::AddOn { resource, .. } => scores(hub.scores.get(resource), &candidates),
        ScoreSource::Balance
        | ScoreSource::Steady
        | ScoreSource::AllocatableCpu
        | ScoreSource::AllocatableMemory => Vec::new(),
    });
    let add_on_scores = add_on_scores.collect();
    Some(Input {
        identity,
        policy,
        bound_sets: bound.len(),
        sets,
        candidates,
        add_on_scores,
        scores: &hub.scores,
        busiest,
        decisions,
        memory: object.memory.clone(),
    })
}

fn selects_from(policy: &Placement, set: &str) -> bool {
    policy.cluster_sets.is_empty() || policy.cluster_sets.iter().any(|it| **it == *set)
}

/// The bound sets from which a placement selects, in order.
pub(super) fn named_sets<'a>(
    policy: &Placement,
    bound: &BTreeSet<&'a Arc<str>>,
) -> Vec<&'a Arc<str>> {
    bound.iter().copied().filter(|it| selects_from(policy, it)).collect()
}

/// A set from which a placement selects and whose clusters are unknown.
pub(super) fn unusable_set<'a>(
    view: View<'a, Placements>,
    placement: &Identity,
) -> Option<&'a Arc<str>> {
    let policy = view.state.policies.get(placement)?.policy.as_deref()?;
    let bound = bound_sets(&view.state.extra.hub, placement.namespace());
    let is_unusable =
        |set: &&Arc<str>| view.state.extra.hub.sets.get(*set) == Some(&ClusterSet::Unusable);
    bound.into_iter().filter(|set| selects_from(policy, set)).find(is_unusable)
}

/// The existing sets that are bound to a namespace.
pub(super) fn bound_sets<'a>(hub: &'a Hub, namespace: &str) -> BTreeSet<&'a Arc<str>> {
    let bindings = hub.bindings.get(namespace).into_iter().flat_map(BTreeMap::values);
    bindings.filter(|set| hub.sets.contains_key(*set)).collect()
}

/// The number of occurrences of each cluster in the decisions of a placement.
fn own_counts<'a>(
    placement: &Identity,
    decisions: &BTreeMap<&'a Identity, &'a PlacementDecision>,
) -> BTreeMap<&'a str, u32> {
    let own = decisions.values().filter(|it| it.placement.as_deref() == Some(placement.name()));
    let mut counts = BTreeMap::new();
    for cluster in own.flat_map(|it| &it.clusters) {
        *counts.entry(&**cluster).or_default() += 1;
    }
    counts
}

fn candidates<'a>(
    hub: &'a Hub,
    sets: &[&'a Arc<str>],
    own: &BTreeMap<&str, u32>,
) -> Vec<Candidate<'a>> {
    let known = sets.iter().filter_map(|name| Some((*name, hub.sets.get(*name)?)));
    let known: Vec<_> = known.collect();
    let mut own = own.keys().copied().peekable();
    let mut candidates = Vec::new();
    for (name, cluster) in &hub.clusters {
        if known.iter().any(|(set, members)| members.contains(set, cluster)) {
            let is_selected = advance(&mut own, name, |known| known).is_some();
            candidates.push(Candidate { name, cluster, is_selected, selected_by_others: 0 });
        }
    }
    candidates
}

fn count_others(
    view: View<'_, Placements>,
    candidates: &mut [Candidate<'_>],
    own: &BTreeMap<&str, u32>,
) {
    let mut counts = view.state.extra.decisions.counts().peekable();
    for candidate in candidates {
        let name: &str = candidate.name;
        let all = advance(&mut counts, name, |(cluster, _)| &***cluster).map_or(0, |(_, all)| all);
        let is_own = candidate.is_selected;
        let mine = if is_own { own.get(name).copied().unwrap_or_default() } else { 0 };
        candidate.selected_by_others = all.saturating_sub(mine);
    }
}

/// The scores in the objects that the expressions of a placement name, in the order of the candidates. Only a few
/// objects are included: an expression may name hundreds and read none of them.
pub(super) fn named_scores<'a>(input: &Input<'a>) -> Vec<OfCandidates<'a>> {
    let expressions = input.policy.predicates.iter().flat_map(|it| &it.expressions);
    let named = expressions.filter_map(|it| match it.read_scores() {
        ReadScores::Named(names) => Some(names),
        ReadScores::Any => None,
    });
    let named: BTreeSet<&Arc<str>> = named.flatten().collect();
    let objects = named.into_iter().filter_map(|name| input.scores.get_key_value(name));
    let objects = objects.take(NAMED_SCORES_FOUND);
    objects.map(|(name, by_cluster)| (name, scores(Some(by_cluster), &input.candidates))).collect()
}

/// The maximum number of named objects whose scores are looked up for all candidates before the evaluation.
const NAMED_SCORES_FOUND: usize = 4;

fn scores<'a>(
    of_clusters: Option<&'a BTreeMap<Arc<str>, Scores>>,
    candidates: &[Candidate<'_>],
) -> Vec<Option<&'a Scores>> {
    let mut scores = of_clusters.into_iter().flatten().peekable();
    let of_candidate = |it: &Candidate<'_>| {
        advance(&mut scores, it.name, |(cluster, _)| &***cluster).map(|(_, scores)| scores)
    };
    candidates.iter().map(of_candidate).collect()
}

/// Advances to the item of this name. Callers pass the names in their order.
fn advance<Item>(
    items: &mut Peekable<impl Iterator<Item = Item>>,
    name: &str,
    name_of: impl Fn(&Item) -> &str,
) -> Option<Item> {
    while items.next_if(|item| name_of(item) < name).is_some() {}
    items.next_if(|item| name_of(item) == name)
}

/// The placements whose decision may differ because an object of the hub was created, edited or deleted. A caller calls
/// this before and after the change of an object, because the sets of a cluster can differ. A selection of one
/// placement affects others at their next turns, and only that placement immediately.
pub(super) fn readers(view: View<'_, Placements>, changed: &Identity) -> Vec<Identity> {
    if changed.group() != GROUP {
        return Vec::new();
    }
    if changed.kind() == "PlacementDecision" {
        let placements = view.state.extra.decisions.placements_of(changed, &view.state.policies);
        return placements.into_iter().cloned().collect();
    }
    let hub = &*view.state.extra.hub;
    let (namespace, name) = (changed.namespace(), changed.name());
    let readers: Vec<&Identity> = match changed.kind() {
        "AddOnPlacementScore" => {
            let named = view.state.extra.index.score_readers(name).into_iter();
            let named = named.filter(|it| {
                let policy = view.state.policy(it).filter(|it| reads(it));
                policy.is_some_and(|policy| may_select(view, it, policy, namespace))
            });
            named.collect()
        }
        "ManagedClusterSetBinding" => {
            reading_in(view, namespace).map(|(placement, _)| placement).collect()
        }
        "ManagedCluster" => {
            let Some(cluster) = hub.clusters.get(name) else { return Vec::new() };
            let sets = hub.sets.iter().filter(|(name, set)| set.contains(name, cluster));
            let sets: BTreeSet<&Arc<str>> = sets.map(|(name, _)| name).collect();
            selecting_from(view, &sets)
        }
        "ManagedClusterSet" => {
            let set: Arc<str> = name.into();
            selecting_from(view, &BTreeSet::from([&set]))
        }
        _ => Vec::new(),
    };
    readers.into_iter().cloned().collect()
}

/// The placements that select from one of these sets, in order. Only the namespaces to which one of the sets is bound
/// are searched.
fn selecting_from<'w>(view: View<'w, Placements>, sets: &BTreeSet<&Arc<str>>) -> Vec<&'w Identity> {
    let mut selecting = Vec::new();
    for (namespace, bindings) in &view.state.extra.hub.bindings {
        let bound: Vec<&Arc<str>> = bindings.values().filter(|it| sets.contains(*it)).collect();
        if bound.is_empty() {
            continue;
        }
        let here = reading_in(view, namespace);
        let here = here.filter(|(_, policy)| bound.iter().any(|set| selects_from(policy, set)));
        selecting.extend(here.map(|(placement, _)| placement));
    }
    selecting
}

/// The placements in a namespace that read any object, in order.
fn reading_in<'w>(
    view: View<'w, Placements>,
    namespace: &str,
) -> impl Iterator<Item = (&'w Identity, &'w Placement)> {
    let first = Identity::new(GROUP, "Placement", namespace, "");
    let here = view.state.policies.range(first..);
    let here = here.take_while(move |(placement, _)| placement.namespace() == namespace);
    here.filter_map(|(placement, object)| {
        let policy = object.policy.as_deref().filter(|it| reads(it))?;
        Some((placement, policy))
    })
}

/// Whether a placement reads any object. The status of an unusable placement also names the missing objects.
fn reads(policy: &Placement) -> bool {
    matches!(policy.standing, PlacementState::Active | PlacementState::Unusable)
}

/// Whether a placement reads different scores once these replace the current scores of an object. The expiry of a score
/// that a placement reads requeues the placement, so a later expiry makes no difference earlier.
#[must_use]
pub fn reads_otherwise(
    view: View<'_, Placements>,
    placement: &Identity,
    object: &Identity,
    scores: Option<&Scores>,
    now: Timestamp,
) -> bool {
    let of_resource = view.state.extra.hub.scores.get(object.name());
    let known = of_resource.and_then(|it| it.get(object.namespace()));
    let (Some(known), Some(scores)) = (known, scores) else { return known != scores };
    let Some(policy) = view.state.policies.get(placement).and_then(|it| it.policy.as_deref())
    else {
        return false;
    };
    let counts = |it: &Prioritizer| match &it.score {
        ScoreSource::AddOn { resource, score } if **resource == *object.name() => {
            known.get(score) != scores.get(score)
        }
        ScoreSource::AddOn { .. }
        | ScoreSource::Balance
        | ScoreSource::Steady
        | ScoreSource::AllocatableCpu
        | ScoreSource::AllocatableMemory => false,
    };
    let is_read = policy.reads_scores(object.name()) && known.values != scores.values;
    is_read || policy.prioritizers.iter().any(counts) || !scores.renews(known, now)
}

/// Whether a cluster is a candidate of a placement.
pub(super) fn may_select(
    view: View<'_, Placements>,
    placement: &Identity,
    policy: &Placement,
    cluster: &str,
) -> bool {
    let hub = &*view.state.extra.hub;
    let Some(cluster) = hub.clusters.get(cluster) else { return false };
    let mut bound = bound_sets(hub, placement.namespace()).into_iter();
    bound.any(|set| {
        selects_from(policy, set)
            && hub.sets.get(set).is_some_and(|members| members.contains(set, cluster))
    })
}
