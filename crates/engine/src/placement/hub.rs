//! What a hub knows of its clusters, and what placements have selected so far.
//!
//! How often each cluster is selected is counted as decisions come and go, not anew for each placement.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use almanac_expressions::{Document, Quantity};
use jiff::Timestamp;

use crate::{Identity, LabelSelector, Labels};

/// The API group of everything here.
pub(crate) const GROUP: &str = "cluster.open-cluster-management.io";

/// A cluster.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cluster {
    /// Its labels.
    pub labels: Labels,
    /// Its claims, by name.
    pub claims: Labels,
    /// The set it is in by its label; it is in others by their selectors.
    pub set: Option<Arc<str>>,
    /// Its taints.
    pub taints: Box<[Taint]>,
    /// How much CPU can be allocated.
    pub allocatable_cpu: Option<Quantity>,
    /// How much memory can be allocated.
    pub allocatable_memory: Option<Quantity>,
    /// Whether it is being deleted.
    pub is_terminating: bool,
    /// The whole object, for expressions.
    pub object: Document,
}

impl Cluster {
    /// What is new, compared with what was known.
    pub(super) fn change_from(&self, known: &Cluster) -> HubChange {
        let Cluster { labels, claims, set, taints, .. } = self;
        let Cluster { allocatable_cpu, allocatable_memory, is_terminating, object, .. } = self;
        let is_known = *labels == known.labels
            && *claims == known.claims
            && *set == known.set
            && *taints == known.taints
            && *allocatable_cpu == known.allocatable_cpu
            && *allocatable_memory == known.allocatable_memory
            && *is_terminating == known.is_terminating;
        match (is_known, *object == known.object) {
            (true, true) => HubChange::None,
            (true, false) => HubChange::ReadByExpressions,
            (false, _) => HubChange::Any,
        }
    }
}

/// What is new about an object of a hub.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HubChange {
    /// Nothing: it is known as it is.
    None,
    /// Only what nothing but expressions reads of a cluster, such as the time of a heartbeat.
    ReadByExpressions,
    /// Anything else.
    Any,
}

/// Keeps placements from selecting a cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taint {
    /// Its key.
    pub key: Arc<str>,
    /// Its value; empty for none.
    pub value: Arc<str>,
    /// What it does.
    pub effect: TaintEffect,
    /// When it was added, if that is known.
    pub added: Option<Timestamp>,
}

/// What a taint does to placements that do not tolerate it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TaintEffect {
    /// They do not select the cluster.
    NoSelect,
    /// They select other clusters with the same total first.
    PreferNoSelect,
    /// They do not select the cluster unless they have it already.
    NoSelectIfNew,
}

impl TaintEffect {
    /// An effect by its name.
    #[must_use]
    pub fn named(name: &str) -> Option<TaintEffect> {
        Some(match name {
            "NoSelect" => TaintEffect::NoSelect,
            "PreferNoSelect" => TaintEffect::PreferNoSelect,
            "NoSelectIfNew" => TaintEffect::NoSelectIfNew,
            _ => return None,
        })
    }

    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TaintEffect::NoSelect => "NoSelect",
            TaintEffect::PreferNoSelect => "PreferNoSelect",
            TaintEffect::NoSelectIfNew => "NoSelectIfNew",
        }
    }
}

/// `gpu=yes:NoSelect`, as kubectl writes those of nodes.
impl std::fmt::Display for Taint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let equals = if self.value.is_empty() { "" } else { "=" };
        write!(formatter, "{}{equals}{}:{}", self.key, self.value, self.effect.name())
    }
}

/// Which clusters are in a set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClusterSet {
    /// Those that name it in their label.
    ByName,
    /// Those with certain labels.
    Selected(LabelSelector),
    /// None: it selects by labels, but has no selector. An empty selector selects all clusters.
    Empty,
    /// It cannot be said which, because the selector cannot be used. Whoever selects from it keeps what is selected.
    Unusable,
}

impl ClusterSet {
    /// Whether a cluster is in the set of this name.
    #[must_use]
    pub fn contains(&self, name: &str, cluster: &Cluster) -> bool {
        match self {
            ClusterSet::ByName => cluster.set.as_deref() == Some(name),
            ClusterSet::Selected(selector) => selector.selects(&cluster.labels),
            ClusterSet::Empty | ClusterSet::Unusable => false,
        }
    }
}

/// A score: -100 to 100.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Score(i8);

impl Score {
    /// The highest.
    pub const HIGHEST: Score = Score(100);

    /// A score, if it is one.
    #[must_use]
    pub fn new(score: i64) -> Option<Score> {
        let score = i8::try_from(score).ok()?;
        (-100..=100).contains(&score).then_some(Score(score))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> i8 {
        self.0
    }
}

/// The scores that one `AddOnPlacementScore` gives a cluster.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scores {
    /// By name.
    pub values: Box<[(Arc<str>, Score)]>,
    /// From when on they no longer count; `None` for never.
    pub valid_until: Option<Timestamp>,
}

impl Scores {
    /// A score by its name. Of two, the first counts.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Score> {
        self.values.iter().find(|(known, _)| **known == *name).map(|(_, score)| *score)
    }
}

/// One `PlacementDecision`: clusters that a placement has selected.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlacementDecision {
    /// The placement, in the same namespace, by the label.
    pub placement: Option<Arc<str>>,
    /// The name of the group; empty for none.
    pub group: Arc<str>,
    /// The index of the group, as the label has it.
    pub group_index: Option<u32>,
    /// The clusters.
    pub clusters: Box<[Arc<str>]>,
}

/// The slim form of an object of a hub, other than a placement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HubObject {
    /// A cluster.
    Cluster(Cluster),
    /// A set of clusters.
    Set(ClusterSet),
    /// The set that is bound to the namespace of the object.
    Binding(Arc<str>),
    /// Scores of the cluster whose namespace the object is in.
    Scores(Scores),
    /// What a placement has selected.
    Decision(PlacementDecision),
}

/// What placements select from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hub {
    /// The clusters, by name.
    pub clusters: BTreeMap<Arc<str>, Cluster>,
    /// The sets, by name.
    pub sets: BTreeMap<Arc<str>, ClusterSet>,
    /// The sets that are bound to namespaces: by namespace, and by the name of the binding.
    pub bindings: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Arc<str>>>,
    /// The scores: by the name of the object, and by the cluster.
    pub scores: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Scores>>,
}

impl Hub {
    /// Whether a set, a binding or scores are here as they are given.
    pub(crate) fn has(&self, identity: &Identity, object: &HubObject) -> bool {
        let (namespace, name) = (identity.namespace(), identity.name());
        match object {
            HubObject::Set(set) => self.sets.get(name) == Some(set),
            HubObject::Binding(set) => {
                self.bindings.get(namespace).and_then(|it| it.get(name)) == Some(set)
            }
            HubObject::Scores(scores) => {
                self.scores.get(name).and_then(|it| it.get(namespace)) == Some(scores)
            }
            HubObject::Cluster(_) | HubObject::Decision(_) => false,
        }
    }

    /// Removes an object, if it is of a kind that is here.
    pub(crate) fn remove(&mut self, object: &Identity) {
        let (namespace, name) = (object.namespace(), object.name());
        match object.kind() {
            "ManagedCluster" => {
                self.clusters.remove(name);
            }
            "ManagedClusterSet" => {
                self.sets.remove(name);
            }
            "ManagedClusterSetBinding" => remove_nested(&mut self.bindings, namespace, name),
            "AddOnPlacementScore" => remove_nested(&mut self.scores, name, namespace),
            _ => {}
        }
    }
}

fn remove_nested<Value>(
    map: &mut BTreeMap<Arc<str>, BTreeMap<Arc<str>, Value>>,
    outer: &str,
    inner: &str,
) {
    if let Some(values) = map.get_mut(outer) {
        values.remove(inner);
        if values.is_empty() {
            map.remove(outer);
        }
    }
}

/// What placements have selected, and how often each cluster is among it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DecisionLedger {
    decisions: BTreeMap<Identity, PlacementDecision>,
    /// Those that name a placement, by the placement.
    of_placements: BTreeMap<Identity, BTreeSet<Identity>>,
    /// How often each cluster is selected.
    counts: BTreeMap<Arc<str>, u32>,
    /// How many clusters are selected so often.
    clusters_by_count: BTreeMap<u32, u32>,
}

impl DecisionLedger {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&Identity, &PlacementDecision)> {
        self.decisions.iter()
    }

    /// One of them.
    #[must_use]
    pub fn get(&self, decision: &Identity) -> Option<&PlacementDecision> {
        self.decisions.get(decision)
    }

    /// Those of a placement, and what has the name of one of them, in their order.
    pub(super) fn of_placement<'a>(
        &'a self,
        placement: &Identity,
    ) -> BTreeMap<&'a Identity, &'a PlacementDecision> {
        let labelled = self.of_placements.get(placement).into_iter().flatten();
        let labelled = labelled.filter_map(|identity| self.decisions.get_key_value(identity));
        let prefix = format!("{}-decision-", placement.name());
        let first = decision_identity(placement.namespace(), &prefix);
        let named = self.decisions.range(first..).take_while(|(identity, _)| {
            identity.namespace() == placement.namespace() && identity.name().starts_with(&prefix)
        });
        let named = named
            .filter(|(identity, _)| decision_number(identity.name(), placement.name()).is_some());
        labelled.chain(named).collect()
    }

    /// The placements whose decision an object is by its label or by its name, among these.
    pub(super) fn placements_of<'p, Object>(
        &self,
        decision: &Identity,
        placements: &'p BTreeMap<Identity, Object>,
    ) -> Vec<&'p Identity> {
        let named = |name: &str| Identity::new(GROUP, "Placement", decision.namespace(), name);
        let labelled = self.decisions.get(decision).and_then(|it| owner(decision, it));
        let numbered = decision.name().rsplit_once("-decision-").map(|(placement, _)| placement);
        let numbered = numbered.filter(|it| decision_number(decision.name(), it).is_some());
        let owners: BTreeSet<Identity> = labelled.into_iter().chain(numbered.map(named)).collect();
        owners.iter().filter_map(|owner| Some(placements.get_key_value(owner)?.0)).collect()
    }

    /// How often each cluster is selected, by all placements together.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&Arc<str>, u32)> {
        self.counts.iter().map(|(cluster, count)| (cluster, *count))
    }

    /// How often the cluster that is selected most often is, without what is left out: how often each of those
    /// clusters is in it, by name.
    pub(super) fn busiest_without(&self, left_out: &BTreeMap<&str, u32>) -> u32 {
        let mut of_others = 0;
        let mut elsewhere: BTreeMap<u32, u32> = BTreeMap::new();
        for (cluster, own) in left_out {
            let all = self.counts.get(*cluster).copied().unwrap_or_default();
            of_others = of_others.max(all.saturating_sub(*own));
            *elsewhere.entry(all).or_default() += 1;
        }
        let untouched = self.clusters_by_count.iter().rev().find(|(count, clusters)| {
            **clusters > elsewhere.get(count).copied().unwrap_or_default()
        });
        untouched.map_or(0, |(count, _)| *count).max(of_others)
    }

    pub(crate) fn insert(&mut self, identity: Identity, decision: PlacementDecision) {
        for cluster in &decision.clusters {
            self.count(cluster, |count| count + 1);
        }
        let owner = owner(&identity, &decision);
        if let Some(before) = self.decisions.insert(identity.clone(), decision) {
            self.forget(&identity, &before);
        }
        if let Some(owner) = owner {
            self.of_placements.entry(owner).or_default().insert(identity);
        }
    }

    pub(crate) fn remove(&mut self, identity: &Identity) -> Option<PlacementDecision> {
        let before = self.decisions.remove(identity)?;
        self.forget(identity, &before);
        Some(before)
    }

    fn forget(&mut self, identity: &Identity, decision: &PlacementDecision) {
        if let Some(owner) = owner(identity, decision)
            && let Some(known) = self.of_placements.get_mut(&owner)
        {
            known.remove(identity);
            if known.is_empty() {
                self.of_placements.remove(&owner);
            }
        }
        for cluster in &decision.clusters {
            self.count(cluster, |count| count - 1);
        }
    }

    fn count(&mut self, cluster: &Arc<str>, change: fn(u32) -> u32) {
        let before = self.counts.get(cluster).copied().unwrap_or_default();
        let after = change(before);
        if after == 0 {
            self.counts.remove(cluster);
        } else {
            self.counts.insert(Arc::clone(cluster), after);
        }
        if before > 0
            && let Some(clusters) = self.clusters_by_count.get_mut(&before)
        {
            *clusters -= 1;
            if *clusters == 0 {
                self.clusters_by_count.remove(&before);
            }
        }
        if after > 0 {
            *self.clusters_by_count.entry(after).or_default() += 1;
        }
    }
}

/// The placement that a decision is of.
fn owner(identity: &Identity, decision: &PlacementDecision) -> Option<Identity> {
    let placement = decision.placement.as_deref()?;
    Some(Identity::new(GROUP, "Placement", identity.namespace(), placement))
}

/// A `PlacementDecision` by its name.
#[must_use]
pub(super) fn decision_identity(namespace: &str, name: &str) -> Identity {
    Identity::new(GROUP, "PlacementDecision", namespace, name)
}

/// The number of a decision that has the name of one of this placement.
pub(super) fn decision_number(name: &str, placement: &str) -> Option<u32> {
    let digits = name.strip_prefix(placement)?.strip_prefix("-decision-")?;
    let number: u32 = digits.parse().ok()?;
    // Without leading zeros or a sign.
    (number.to_string() == digits).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(clusters: &[&str]) -> PlacementDecision {
        let clusters = clusters.iter().map(|it| Arc::from(*it)).collect();
        PlacementDecision { clusters, ..PlacementDecision::default() }
    }

    fn counts(ledger: &DecisionLedger) -> String {
        let shown = ledger.counts().map(|(cluster, count)| format!("{cluster} {count}"));
        shown.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn how_often_a_cluster_is_selected_follows_the_decisions_as_they_come_and_go() {
        let mut ledger = DecisionLedger::default();
        let [one, two] = ["one", "two"].map(|name| decision_identity("shop", name));
        ledger.insert(one.clone(), decision(&["east", "west"]));
        ledger.insert(two.clone(), decision(&["east"]));
        assert_eq!(counts(&ledger), "east 2, west 1");
        assert_eq!(ledger.busiest_without(&BTreeMap::new()), 2);
        assert_eq!(ledger.busiest_without(&BTreeMap::from([("east", 1)])), 1);
        ledger.insert(one.clone(), decision(&["west", "west", "north"]));
        assert_eq!(counts(&ledger), "east 1, north 1, west 2");
        assert_eq!(ledger.busiest_without(&BTreeMap::from([("west", 2), ("north", 1)])), 1);
        ledger.remove(&one);
        assert_eq!(counts(&ledger), "east 1");
        ledger.remove(&two);
        assert_eq!((ledger.counts().count(), ledger.clusters_by_count.len()), (0, 0));
    }

    #[test]
    fn the_number_of_a_decision_is_told_from_its_name() {
        for (name, number) in [
            ("web-decision-1", Some(1)),
            ("web-decision-12", Some(12)),
            ("web-decision-01", None),
            ("web-decision-+1", None),
            ("web-decision-", None),
            ("web-2-decision-1", None),
            ("web", None),
        ] {
            assert_eq!(decision_number(name, "web"), number, "{name}");
        }
    }
}
