//! The state of a hub: its clusters, sets, bindings and scores.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_expressions::{Document, Quantity};
use jiff::Timestamp;

use super::{DecisionLedger, KeptMatches, PlacementIndex};
use crate::objects::PlacementDecision;
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
    /// The set in its label; selectors can add it to others.
    pub set: Option<Arc<str>>,
    /// Its taints.
    pub taints: Box<[Taint]>,
    /// The allocatable CPU.
    pub allocatable_cpu: Option<Quantity>,
    /// The allocatable memory.
    pub allocatable_memory: Option<Quantity>,
    /// Whether it is being deleted.
    pub is_terminating: bool,
    /// The whole object, for expressions.
    pub object: Document,
}

impl Cluster {
    /// The change from an earlier version.
    pub(super) fn change_from(&self, known: &Cluster) -> HubChange {
        let Cluster { labels, claims, set, taints, .. } = self;
        let Cluster { allocatable_cpu, allocatable_memory, is_terminating, object, .. } = self;
        let is_ruled_as_known = *labels == known.labels
            && *set == known.set
            && *taints == known.taints
            && *is_terminating == known.is_terminating;
        let is_reported_as_known = *claims == known.claims
            && *allocatable_cpu == known.allocatable_cpu
            && *allocatable_memory == known.allocatable_memory;
        match () {
            () if !is_ruled_as_known => HubChange::Any,
            () if !is_reported_as_known => HubChange::Reported,
            () if *object != known.object => HubChange::ReadByExpressions,
            () => HubChange::None,
        }
    }
}

/// The change to an object of a hub.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HubChange {
    /// No change.
    None,
    /// Only what nothing but expressions reads of a cluster, such as the time of a heartbeat.
    ReadByExpressions,
    /// A report of the agent of a cluster, possibly with more than expressions read: claims, amounts, scores.
    Reported,
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
    /// Its effect.
    pub effect: TaintEffect,
    /// The instant of its addition, if that is known.
    pub added: Option<Timestamp>,
}

/// The effect of a taint on placements that do not tolerate it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TaintEffect {
    /// The cluster is not selected.
    NoSelect,
    /// Other clusters with the same total are selected first.
    PreferNoSelect,
    /// The cluster is not selected unless it is selected already.
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

/// The clusters of a set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClusterSet {
    /// The clusters that name it in their label.
    ByName,
    /// The clusters with certain labels.
    Selected(LabelSelector),
    /// No cluster: it selects by labels, but has no selector. An empty selector selects all clusters.
    Empty,
    /// Its clusters are unknown, because the selector is unusable. A placement that selects from it keeps its
    /// selection.
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
    /// The end of their validity; `None` for never.
    pub valid_until: Option<Timestamp>,
}

impl Scores {
    /// The end of scores with an unreadable end: they do not count.
    pub const UNREADABLE: Timestamp = Timestamp::MIN;

    /// The reason that expired scores are not used.
    pub(super) fn why_ended(end: Timestamp) -> String {
        if end == Scores::UNREADABLE {
            "has a validUntil that cannot be read".to_owned()
        } else {
            format!("was valid until {end}")
        }
    }

    /// Whether these scores have no effect until the other ones end, if they replace them at `now`.
    pub(super) fn renews(&self, known: &Scores, now: Timestamp) -> bool {
        let end = |it: &Scores| it.valid_until.unwrap_or(Timestamp::MAX);
        let has_ended = |it: &Scores| end(it) <= now;
        has_ended(self) == has_ended(known) && (has_ended(self) || end(self) >= end(known))
    }

    /// A score by its name. Of two with one name, the first.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Score> {
        self.values.iter().find(|(known, _)| **known == *name).map(|(_, score)| *score)
    }
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
    /// The clusters that a placement has selected.
    Decision(PlacementDecision),
}

/// The objects that placements select from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hub {
    /// The clusters, by name.
    pub clusters: BTreeMap<Arc<str>, Arc<Cluster>>,
    /// The sets, by name.
    pub sets: BTreeMap<Arc<str>, ClusterSet>,
    /// The sets that are bound to namespaces: by namespace, and by the name of the binding.
    pub bindings: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Arc<str>>>,
    /// The scores: by the name of the object, and by the cluster.
    pub scores: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Scores>>,
}

/// The objects that placements read.
#[derive(Clone, Debug, Default)]
pub struct HubState {
    /// The objects they select from. Parts of a world share it.
    pub hub: Arc<Hub>,
    /// Their selections. Parts of a world in which placements rank by them share them.
    pub decisions: Arc<DecisionLedger>,
    /// The placements by the objects that they read.
    pub index: PlacementIndex,
    /// The number of results of expressions that the placements keep.
    pub kept: KeptMatches,
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
