//! The objects of a hub, as JSON, with simple lookups.
//!
//! The steps of the schedule give the objects their meaning.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::Decision;

/// The exclusive label by which a cluster belongs to a set.
pub const CLUSTER_SET_LABEL: &str = "cluster.open-cluster-management.io/clusterset";
/// The label by which a `PlacementDecision` belongs to a placement.
pub const PLACEMENT_LABEL: &str = "cluster.open-cluster-management.io/placement";
/// The label with the name of a decision group.
pub const GROUP_NAME_LABEL: &str = "cluster.open-cluster-management.io/decision-group-name";
/// The label with the position of a decision group.
pub const GROUP_INDEX_LABEL: &str = "cluster.open-cluster-management.io/decision-group-index";

/// The key of an object: kind, namespace (empty without one) and name.
pub type Key = (String, String, String);

/// All objects of a hub.
#[derive(Clone, Debug, Default)]
pub struct Objects(Vec<Value>);

impl Objects {
    /// Reads the objects of a list.
    #[must_use]
    pub fn new(objects: Vec<Value>) -> Objects {
        Objects(objects)
    }

    /// All objects.
    #[must_use]
    pub fn all(&self) -> &[Value] {
        &self.0
    }

    /// All objects, for edits.
    pub fn all_mut(&mut self) -> &mut [Value] {
        &mut self.0
    }

    /// The objects of a kind.
    pub fn with_kind<'o>(&'o self, kind: &'o str) -> impl Iterator<Item = &'o Value> {
        self.0.iter().filter(move |object| object["kind"] == kind)
    }

    /// The object with this key.
    #[must_use]
    pub fn get(&self, kind: &str, namespace: &str, name: &str) -> Option<&Value> {
        let key = (kind, namespace, name);
        self.0.iter().find(|it| (kind_of(it), namespace_of(it), name_of(it)) == key)
    }

    /// Adds an object, or replaces the object with the same name.
    pub fn put(&mut self, object: Value) {
        let key = key_of(&object);
        match self.0.iter_mut().find(|it| key_of(it) == key) {
            Some(there) => *there = object,
            None => self.0.push(object),
        }
    }

    /// Removes an object.
    pub fn remove(&mut self, key: &Key) {
        self.0.retain(|it| key_of(it) != *key);
    }

    /// The `PlacementDecision`s of a placement.
    pub fn decisions_of<'o>(&'o self, placement: &'o Value) -> impl Iterator<Item = &'o Value> {
        self.with_kind("PlacementDecision").filter(move |it| is_decision_of(it, placement))
    }

    /// Replaces the `PlacementDecision`s of a placement.
    pub fn decide(&mut self, placement: &Value, decisions: &[Decision]) {
        self.0.retain(|it| it["kind"] != "PlacementDecision" || !is_decision_of(it, placement));
        for decision in decisions {
            self.put(decision_object(placement, decision));
        }
    }
}

/// The names in a `PlacementDecision`.
pub(crate) fn clusters_in(decision: &Value) -> impl Iterator<Item = &str> {
    list(&decision["status"]["decisions"]).iter().filter_map(|it| it["clusterName"].as_str())
}

/// The kind, namespace and name of an object.
#[must_use]
pub(crate) fn key_of(object: &Value) -> Key {
    (kind_of(object).to_owned(), namespace_of(object).to_owned(), name_of(object).to_owned())
}

fn kind_of(object: &Value) -> &str {
    object["kind"].as_str().unwrap_or_default()
}

pub(crate) fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

pub(crate) fn namespace_of(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}

/// The items of a list; empty for another value.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// An instant in a field; `None` without a valid timestamp.
pub(crate) fn instant(value: &Value) -> Option<Timestamp> {
    value.as_str().and_then(|text| text.parse().ok())
}

fn is_decision_of(decision: &Value, placement: &Value) -> bool {
    namespace_of(decision) == namespace_of(placement)
        && decision["metadata"]["labels"][PLACEMENT_LABEL] == name_of(placement)
}

fn decision_object(placement: &Value, decision: &Decision) -> Value {
    let clusters = decision.clusters.iter();
    let clusters = clusters.map(|name| json!({ "clusterName": name, "reason": "" }));
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "PlacementDecision",
        "metadata": {
            "name": decision.name,
            "namespace": namespace_of(placement),
            "labels": {
                PLACEMENT_LABEL: name_of(placement),
                GROUP_NAME_LABEL: decision.group,
                GROUP_INDEX_LABEL: decision.group_index.to_string(),
            },
        },
        "status": { "decisions": clusters.collect::<Vec<_>>() },
    })
}
