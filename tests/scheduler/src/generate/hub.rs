//! Random clusters, sets, bindings, scores, and earlier decisions.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::{instant, percent, pick};
use crate::objects::{key_of, name_of, namespace_of};
use crate::{CLUSTER_SET_LABEL, GROUP_INDEX_LABEL, GROUP_NAME_LABEL, PLACEMENT_LABEL};

const GROUP: &str = "cluster.open-cluster-management.io";
const SETS: [&str; 4] = ["blue", "green", "default", "global"];
pub(super) const NAMESPACES: [&str; 2] = ["team-a", "team-b"];
pub(super) const LABELS: [&str; 3] = ["env", "region", "example.com/tier"];
pub(super) const CLAIMS: [&str; 2] = ["platform.example.com", "version"];
pub(super) const VALUES: [&str; 4] = ["a", "b", "c", ""];
pub(super) const TAINTS: [&str; 3] = ["gpu", "example.com/maintenance", "unreachable"];
pub(super) const EFFECTS: [&str; 3] = ["NoSelect", "NoSelectIfNew", "PreferNoSelect"];
pub(super) const RESOURCES: [&str; 2] = ["default", "latency"];
pub(super) const SCORES: [&str; 2] = ["cpuratio", "mem"];
const AMOUNTS: [&str; 22] = [
    "0",
    "1",
    "1500m",
    "1.5",
    "7",
    "9",
    "10",
    "10.",
    ".5",
    "500m",
    "5e-1",
    "1e1",
    "3333m",
    "1E3",
    "1k",
    "1Ki",
    "1.5Gi",
    "1536Mi",
    "0.1Ki",
    "4Ei",
    "100n",
    "0.0000000001",
];

/// Different names, whose order is not that of their numbers.
pub(super) fn names(rng: &mut Rng, count: usize) -> Vec<String> {
    let mut names: Vec<String> =
        (0..count).map(|at| format!("{}{at}", ["c", "c-", "b-c", "z"][at % 4])).collect();
    rng.shuffle(&mut names);
    names
}

pub(super) fn cluster(rng: &mut Rng, name: &str) -> Value {
    let mut labels = pairs(rng, &LABELS, 60);
    if percent(rng, 80) {
        labels.insert(CLUSTER_SET_LABEL.to_owned(), json!(SETS[rng.usize(0..2)]));
    }
    let mut metadata = json!({ "name": name, "labels": labels });
    if percent(rng, 4) {
        metadata["deletionTimestamp"] = json!("2026-03-01T11:00:00Z");
        metadata["finalizers"] = json!(["example.com/cleanup"]);
    }
    let taints: Vec<Value> = if percent(rng, 35) {
        (0..rng.usize(1..4)).map(|_| taint(rng)).collect()
    } else {
        Vec::new()
    };
    let mut spec = json!({ "hubAcceptsClient": true });
    if !taints.is_empty() {
        spec["taints"] = json!(taints);
    }
    let claims = pairs(rng, &CLAIMS, 60);
    let claims: Vec<_> =
        claims.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    let (mut allocatable, mut capacity) = (Map::new(), Map::new());
    for resource in ["cpu", "memory"] {
        let amount = json!(AMOUNTS[rng.usize(0..AMOUNTS.len())]);
        if percent(rng, 85) {
            allocatable.insert(resource.to_owned(), amount.clone());
        }
        if percent(rng, 90) {
            capacity.insert(resource.to_owned(), amount);
        }
    }
    let status = json!({
        "clusterClaims": claims, "allocatable": allocatable, "capacity": capacity,
    });
    object("v1", "ManagedCluster", &metadata, &json!({ "spec": spec, "status": status }))
}

fn taint(rng: &mut Rng) -> Value {
    let mut taint = json!({ "key": pick(rng, &TAINTS), "effect": pick(rng, &EFFECTS) });
    if percent(rng, 50) {
        taint["value"] = json!(pick(rng, &VALUES[..2]));
    }
    if percent(rng, 70) {
        taint["timeAdded"] = json!(instant(rng).to_string());
    }
    taint
}

/// Sets of all types, and their bindings to namespaces; some bindings name a set that does not exist.
pub(super) fn sets(rng: &mut Rng) -> Vec<Value> {
    let mut objects = Vec::new();
    for name in SETS {
        if percent(rng, 70) {
            let selector = match (name, rng.u8(0..8)) {
                ("global", _) => json!({ "selectorType": "LabelSelector", "labelSelector": {} }),
                (_, 0..=2) => json!({ "selectorType": "ExclusiveClusterSetLabel" }),
                (_, 3) => json!({ "selectorType": "LegacyClusterSetLabel" }),
                (_, 4) => json!({}),
                (_, 5) => json!({ "selectorType": "LabelSelector" }),
                _ => {
                    json!({ "selectorType": "LabelSelector", "labelSelector": selector(rng, &LABELS, true) })
                }
            };
            let spec = json!({ "spec": { "clusterSelector": selector } });
            objects.push(object("v1beta2", "ManagedClusterSet", &json!({ "name": name }), &spec));
        }
        for namespace in NAMESPACES {
            if percent(rng, 70) {
                let metadata = json!({ "name": name, "namespace": namespace });
                let spec = json!({ "spec": { "clusterSet": name } });
                objects.push(object("v1beta2", "ManagedClusterSetBinding", &metadata, &spec));
            }
        }
    }
    objects
}

pub(super) fn set_name(rng: &mut Rng) -> &'static str {
    SETS[rng.usize(0..SETS.len())]
}

/// The scores of a cluster: valid, expired, about to expire, empty, or absent.
pub(super) fn scores(rng: &mut Rng, cluster: &str) -> Vec<Value> {
    let mut objects = Vec::new();
    for resource in RESOURCES {
        if percent(rng, 30) {
            continue;
        }
        let mut status = Map::new();
        if percent(rng, 50) {
            status.insert("validUntil".to_owned(), json!(instant(rng).to_string()));
        }
        let mut scores = Vec::new();
        for name in SCORES {
            if percent(rng, 75) {
                let value = [-100, 100, 0, 1, rng.i32(-100..=100)][rng.usize(0..5)];
                scores.push(json!({ "name": name, "value": value }));
            }
        }
        if !scores.is_empty() || percent(rng, 50) {
            status.insert("scores".to_owned(), json!(scores));
        }
        let metadata = json!({ "name": resource, "namespace": cluster });
        let status = if percent(rng, 5) { json!({}) } else { json!({ "status": status }) };
        objects.push(object("v1alpha1", "AddOnPlacementScore", &metadata, &status));
    }
    objects
}

/// Earlier decisions of existing, deleted and unknown placements.
pub(super) fn earlier_decisions(
    rng: &mut Rng,
    placements: &[Value],
    clusters: &[String],
) -> Vec<Value> {
    let mut objects = Vec::new();
    for placement in placements {
        if percent(rng, 60) {
            let pieces = if percent(rng, 25) { 2 } else { 1 };
            for piece in 1..=pieces {
                let name = format!("{}-decision-{piece}", name_of(placement));
                let labels = json!({
                    PLACEMENT_LABEL: name_of(placement),
                    GROUP_NAME_LABEL: "",
                    GROUP_INDEX_LABEL: "0",
                });
                objects.push(decision(rng, namespace_of(placement), &name, &labels, clusters));
            }
        }
        if percent(rng, 5) {
            let name = format!("{}-left-over", name_of(placement));
            let labels = json!({ PLACEMENT_LABEL: name_of(placement) });
            objects.push(decision(rng, namespace_of(placement), &name, &labels, clusters));
        }
    }
    for at in 0..[0, 0, 1, 3][rng.usize(0..4)] {
        let namespace = NAMESPACES[rng.usize(0..2)];
        // A placement in another namespace may have the same name. Its decisions have another owner.
        let of = ["gone", "web", "db"][rng.usize(0..3)];
        let is_theirs = placements.iter().any(|it| {
            let (_, of_namespace, of_name) = key_of(it);
            of_namespace == namespace && of_name == of
        });
        if is_theirs {
            continue;
        }
        let labels = if percent(rng, 80) { json!({ PLACEMENT_LABEL: of }) } else { json!({}) };
        let name = format!("{of}-of-others-{at}");
        objects.push(decision(rng, namespace, &name, &labels, clusters));
    }
    objects
}

fn decision(
    rng: &mut Rng,
    namespace: &str,
    name: &str,
    labels: &Value,
    clusters: &[String],
) -> Value {
    let mut named: Vec<&str> = clusters.iter().map(String::as_str).collect();
    rng.shuffle(&mut named);
    named.truncate(rng.usize(0..=clusters.len().min(100)));
    if percent(rng, 15) {
        named.push("no-longer-there");
    }
    let decisions = named.iter().map(|name| json!({ "clusterName": name, "reason": "" }));
    let metadata = json!({ "name": name, "namespace": namespace, "labels": labels });
    let status = json!({ "status": { "decisions": decisions.collect::<Vec<_>>() } });
    object("v1beta1", "PlacementDecision", &metadata, &status)
}

/// A selector, possibly empty.
pub(super) fn selector(rng: &mut Rng, keys: &[&str], with_labels: bool) -> Value {
    let mut selector = Map::new();
    if with_labels && percent(rng, 40) {
        selector.insert("matchLabels".to_owned(), json!(pairs(rng, keys, 40)));
    }
    if percent(rng, 60) {
        let expressions = (0..rng.usize(1..3)).map(|_| {
            let key = pick(rng, keys);
            let values: Vec<_> = (0..rng.usize(1..3)).map(|_| pick(rng, &VALUES)).collect();
            match rng.u8(0..4) {
                0 => json!({ "key": key, "operator": "In", "values": values }),
                1 => json!({ "key": key, "operator": "NotIn", "values": values }),
                2 => json!({ "key": key, "operator": "Exists" }),
                _ => json!({ "key": key, "operator": "DoesNotExist" }),
            }
        });
        let expressions: Vec<_> = expressions.collect();
        selector.insert("matchExpressions".to_owned(), json!(expressions));
    }
    Value::Object(selector)
}

/// Some of the keys, with values.
fn pairs(rng: &mut Rng, keys: &[&str], percentage: u8) -> Map<String, Value> {
    let mut pairs = Map::new();
    for key in keys {
        if percent(rng, percentage) {
            pairs.insert((*key).to_owned(), json!(pick(rng, &VALUES)));
        }
    }
    pairs
}

/// An object, from its parts.
pub(super) fn object(version: &str, kind: &str, metadata: &Value, rest: &Value) -> Value {
    let mut object = json!({
        "apiVersion": format!("{GROUP}/{version}"), "kind": kind, "metadata": metadata,
    });
    for (key, value) in rest.as_object().into_iter().flatten() {
        object[key] = value.clone();
    }
    object
}
