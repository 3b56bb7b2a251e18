//! The objects of a hub: its clusters, sets, bindings and scores.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_expressions::{Document, Quantity};
use jiff::Timestamp;

use super::{DecisionLedger, KeptMatches, PlacementIndex};
use crate::objects::PlacementDecision;
use crate::{Identity, LabelSelector, Labels};

/// The API group of all objects in this module.
pub(crate) const GROUP: &str = "cluster.open-cluster-management.io";

/// A cluster.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cluster {
    /// The labels of the cluster.
    pub labels: Labels,
    /// The claims of the cluster, by name.
    pub claims: Labels,
    /// The set in the label of the cluster. Selectors can add the cluster to other sets.
    pub set: Option<Arc<str>>,
    /// The taints of the cluster.
    pub taints: Box<[Taint]>,
    /// The allocatable CPU.
    pub allocatable_cpu: Option<Quantity>,
    /// The allocatable memory.
    pub allocatable_memory: Option<Quantity>,
    /// Whether the cluster is being deleted.
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

/// The change of an object of a hub.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HubChange {
    /// No change.
    None,
    /// A change of data that only expressions read, such as the time of a heartbeat.
    ReadByExpressions,
    /// A report of the agent of a cluster, which can change more than expressions read: claims, amounts, scores.
    Reported,
    /// Any other change.
    Any,
}

/// Keeps placements from selecting a cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taint {
    /// The key of the taint.
    pub key: Arc<str>,
    /// The value of the taint; empty for no value.
    pub value: Arc<str>,
    /// The effect of the taint.
    pub effect: TaintEffect,
    /// The instant of the taint's addition; `None` if it is unknown.
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
    /// The effect of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<TaintEffect> {
        Some(match name {
            "NoSelect" => TaintEffect::NoSelect,
            "PreferNoSelect" => TaintEffect::PreferNoSelect,
            "NoSelectIfNew" => TaintEffect::NoSelectIfNew,
            _ => return None,
        })
    }

    /// The name of the effect in manifests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TaintEffect::NoSelect => "NoSelect",
            TaintEffect::PreferNoSelect => "PreferNoSelect",
            TaintEffect::NoSelectIfNew => "NoSelectIfNew",
        }
    }
}

/// `gpu=yes:NoSelect`, in kubectl's format of node taints.
impl std::fmt::Display for Taint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let equals = if self.value.is_empty() { "" } else { "=" };
        write!(formatter, "{}{equals}{}:{}", self.key, self.value, self.effect.name())
    }
}

/// A rule that determines the clusters of a set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClusterSet {
    /// The clusters whose label names the set.
    ByName,
    /// The clusters that match a label selector.
    Selected(LabelSelector),
    /// No cluster: the set selects by labels, but has no selector. An empty selector selects all clusters.
    Empty,
    /// The clusters are unknown, because the selector is unusable. A placement that selects from the set keeps its
    /// selection.
    Unusable,
}

impl ClusterSet {
    /// Whether the set of this name contains a cluster.
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
    /// The maximum score.
    pub const MAX: Score = Score(100);

    /// Creates a score; `None` if the number is out of range.
    #[must_use]
    pub fn new(score: i64) -> Option<Score> {
        let score = i8::try_from(score).ok()?;
        (-100..=100).contains(&score).then_some(Score(score))
    }

    /// The score as a number.
    #[must_use]
    pub fn get(self) -> i8 {
        self.0
    }
}

/// The scores of a cluster in one `AddOnPlacementScore`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scores {
    /// The scores, by name.
    pub values: Box<[(Arc<str>, Score)]>,
    /// The instant of expiry; `None` for scores that never expire.
    pub valid_until: Option<Timestamp>,
}

impl Scores {
    /// The expiry of scores with an unreadable expiry. Such scores are not used.
    pub const UNREADABLE: Timestamp = Timestamp::MIN;

    /// The message that expired scores are not used.
    pub(super) fn why_ended(end: Timestamp) -> String {
        if end == Scores::UNREADABLE {
            "has a validUntil that cannot be read".to_owned()
        } else {
            format!("was valid until {end}")
        }
    }

    /// Whether new scores that replace `known` at `now` have no effect before the known scores expire.
    pub(super) fn renews(&self, known: &Scores, now: Timestamp) -> bool {
        let end = |it: &Scores| it.valid_until.unwrap_or(Timestamp::MAX);
        let has_ended = |it: &Scores| end(it) <= now;
        has_ended(self) == has_ended(known) && (has_ended(self) || end(self) >= end(known))
    }

    /// The score of this name. Of two scores with one name, the first one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Score> {
        self.values.iter().find(|(known, _)| **known == *name).map(|(_, score)| *score)
    }
}

/// The slim form of an object of a hub. Placements have a separate form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HubObject {
    /// A cluster.
    Cluster(Cluster),
    /// A set of clusters.
    Set(ClusterSet),
    /// The set that is bound to the namespace of the object.
    Binding(Arc<str>),
    /// Scores of the cluster that the namespace of the object is named after.
    Scores(Scores),
    /// The clusters that a placement has selected.
    Decision(PlacementDecision),
}

/// The objects from which placements select.
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
    /// The objects from which placements select. Parts of a world share them.
    pub hub: Arc<Hub>,
    /// The selections of all placements. Parts of a world share them if the placements of the part rank by them.
    pub decisions: Arc<DecisionLedger>,
    /// The placements, by the objects that they read.
    pub index: PlacementIndex,
    /// The number of results of expressions that the placements keep.
    pub kept: KeptMatches,
}

impl Hub {
    /// Whether the hub contains a set, a binding or scores with exactly this content.
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

    /// Removes an object if the hub contains its kind.
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
