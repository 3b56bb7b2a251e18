//! The slim form of what placements select from and of what they have selected, and what expressions read of a cluster.

use std::sync::Arc;

use almanac_engine::Labels;
use almanac_engine::placement::{
    Cluster, ClusterSet, Document, HubObject, PlacementDecision, Score, Scores, Taint, TaintEffect,
};
use serde_json::{Map, Value};

use super::{labels, score};
use crate::checking::quantity;
use crate::kinds::Kind;
use crate::lenient::exact_instant;
use crate::objects::{CLUSTER_SET_LABEL, GROUP_INDEX_LABEL, GROUP_NAME_LABEL, PLACEMENT_LABEL};

/// What Open Cluster Management knows of the specification of a cluster. An API server may store what is newer.
const SPEC: [&str; 4] =
    ["managedClusterClientConfigs", "hubAcceptsClient", "leaseDurationSeconds", "taints"];

/// What kubectl has applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What placements select from, given apart from its status; `None` for every other kind, and where the least is
/// missing.
#[must_use]
pub fn hub_object(kind: Kind, object: &Value, status: &Value) -> Option<HubObject> {
    let metadata = &object["metadata"];
    let label = |key: &str| metadata["labels"][key].as_str().map(Arc::from);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    Some(match kind {
        Kind::ManagedCluster => HubObject::Cluster(cluster(object, status)),
        Kind::ManagedClusterSet => {
            let selector = &object["spec"]["clusterSelector"];
            HubObject::Set(match selector["selectorType"].as_str() {
                Some("LabelSelector") => ClusterSet::Unusable,
                _ => ClusterSet::ByName,
            })
        }
        Kind::ManagedClusterSetBinding => {
            HubObject::Binding(object["spec"]["clusterSet"].as_str()?.into())
        }
        Kind::AddOnPlacementScore => {
            let until = &status["validUntil"];
            let valid_until = exact_instant(until);
            let scores = list(&status["scores"]);
            // When they expire is not known: nobody can rely on them.
            let is_known = until.is_null() || valid_until.is_some();
            let scores = scores.iter().filter(|_| is_known).filter_map(|item| {
                let name = item["name"].as_str().filter(|name| !name.is_empty())?;
                let value = &item["value"];
                let score = if value.is_null() { Some(Score::default()) } else { score(value) };
                Some((Arc::from(name), score?))
            });
            HubObject::Scores(Scores { values: scores.collect(), valid_until })
        }
        Kind::PlacementDecision => {
            let clusters = list(&status["decisions"]);
            let names = clusters.iter().filter_map(|it| it["clusterName"].as_str().map(Arc::from));
            HubObject::Decision(PlacementDecision {
                placement: label(PLACEMENT_LABEL),
                group: label(GROUP_NAME_LABEL).unwrap_or_default(),
                group_index: label(GROUP_INDEX_LABEL).and_then(|it: Arc<str>| it.parse().ok()),
                clusters: names.collect(),
            })
        }
        _ => return None,
    })
}

fn cluster(object: &Value, status: &Value) -> Cluster {
    let metadata = &object["metadata"];
    let text = |value: &Value| Arc::from(value.as_str().unwrap_or_default());
    let taints = object["spec"]["taints"].as_array().into_iter().flatten().filter_map(|taint| {
        Some(Taint {
            key: text(&taint["key"]),
            value: text(&taint["value"]),
            effect: TaintEffect::named(taint["effect"].as_str()?)?,
            added: exact_instant(&taint["timeAdded"]),
        })
    });
    let claims = status["clusterClaims"].as_array().into_iter().flatten();
    let claims = claims.filter_map(|it| {
        let value = &it["value"];
        // One without a value has an empty one.
        let value = if value.is_null() { "" } else { value.as_str()? };
        Some((it["name"].as_str()?, value))
    });
    let amount = |name: &str| quantity::of_json(&status["allocatable"][name]);
    Cluster {
        labels: labels(&metadata["labels"]),
        claims: Labels::new(claims),
        set: metadata["labels"][CLUSTER_SET_LABEL].as_str().map(Arc::from),
        taints: taints.collect(),
        allocatable_cpu: amount("cpu"),
        allocatable_memory: amount("memory"),
        is_terminating: !metadata["deletionTimestamp"].is_null(),
        object: document(object, status),
    }
}

/// What expressions read of a cluster: its metadata, its specification and its status, as Open Cluster Management has
/// them, which reads an object into a type and writes it again. So what is `null` is not there, nor is what is empty
/// unless it always is. What selects nothing is left out: who has managed which field, the version, and the copy of
/// the whole that kubectl keeps.
fn document(object: &Value, status: &Value) -> Document {
    let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let mut metadata = fields(&object["metadata"]);
    metadata.remove("managedFields");
    metadata.remove("resourceVersion");
    let annotations = metadata.get_mut("annotations").and_then(Value::as_object_mut);
    annotations.map(|annotations| annotations.remove(LAST_APPLIED));
    omit_empty(&mut metadata);
    metadata.entry("creationTimestamp").or_insert(Value::Null);
    let mut spec = fields(&object["spec"]);
    spec.retain(|name, _| SPEC.contains(&name.as_str()));
    omit_empty(&mut spec);
    spec.entry("hubAcceptsClient").or_insert(false.into());
    spec.entry("leaseDurationSeconds").or_insert(60.into());
    for taint in items(&mut spec, "taints") {
        omit_null(taint);
        if taint.get("value").is_some_and(|value| value == "") {
            taint.remove("value");
        }
        taint.entry("timeAdded").or_insert(Value::Null);
    }
    let mut status = fields(status);
    omit_empty(&mut status);
    status.entry("conditions").or_insert(Value::Null);
    status.entry("version").or_insert_with(|| Value::Object(Map::new()));
    items(&mut status, "conditions").for_each(omit_null);
    items(&mut status, "clusterClaims").for_each(omit_empty);
    for amounts in ["allocatable", "capacity"] {
        let amounts = status.get_mut(amounts).and_then(Value::as_object_mut);
        for amount in amounts.into_iter().flat_map(|it| it.values_mut()) {
            if let Value::Number(number) = amount {
                *amount = Value::String(number.to_string());
            }
        }
    }
    Document::of(&serde_json::json!({ "metadata": metadata, "spec": spec, "status": status }))
}

/// The objects in a list.
fn items<'v>(
    of: &'v mut Map<String, Value>,
    list: &str,
) -> impl Iterator<Item = &'v mut Map<String, Value>> {
    let items = of.get_mut(list).and_then(Value::as_array_mut);
    items.into_iter().flatten().filter_map(Value::as_object_mut)
}

fn omit_null(fields: &mut Map<String, Value>) {
    fields.retain(|_, value| !value.is_null());
}

/// Leaves out the fields that have nothing in them.
fn omit_empty(fields: &mut Map<String, Value>) {
    fields.retain(|_, value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => {
            omit_null(fields);
            !fields.is_empty()
        }
        Value::Bool(_) | Value::Number(_) => true,
    });
}

#[cfg(test)]
mod tests {
    use almanac_engine::placement::{Expression, Meter, Subject};
    use serde_json::json;

    use super::*;

    fn cluster_of(object: &Value) -> Cluster {
        match hub_object(Kind::ManagedCluster, object, &object["status"]) {
            Some(HubObject::Cluster(cluster)) => cluster,
            other => panic!("{other:?} is no cluster"),
        }
    }

    #[track_caller]
    fn assert_says(object: &Value, expressions: &[&str]) {
        let cluster = cluster_of(object);
        for text in expressions {
            let expression = Expression::compile(text).unwrap();
            let subject = Subject { object: &cluster.object, scores: &|_| None };
            assert_eq!(
                expression.holds(&subject, &Meter::new()),
                Ok(true),
                "{text} of {:?}",
                cluster.object
            );
        }
    }

    #[test]
    fn what_is_null_is_not_there_and_what_is_always_there_is() {
        let read = [
            "managedCluster.metadata.creationTimestamp == null",
            "!has(managedCluster.metadata.labels) && !has(managedCluster.metadata.annotations)",
            "!managedCluster.spec.hubAcceptsClient && managedCluster.spec.leaseDurationSeconds == 60",
            "!has(managedCluster.spec.taints)",
            "managedCluster.status.conditions == null && managedCluster.status.version == {}",
            "!has(managedCluster.status.clusterClaims) && !has(managedCluster.status.capacity)",
        ];
        assert_says(&json!({ "metadata": { "name": "c" } }), &read);
        let nothing = json!({
            "metadata": { "name": "c", "labels": {}, "annotations": null, "creationTimestamp": null },
            "spec": { "hubAcceptsClient": null, "leaseDurationSeconds": null, "taints": [] },
            "status": {
                "conditions": null, "version": { "kubernetes": null }, "clusterClaims": [],
                "capacity": { "cpu": null }
            }
        });
        assert_says(&nothing, &read);
    }

    #[test]
    fn a_taint_without_a_time_has_one_that_is_null_and_a_claim_without_a_value_has_none() {
        let read = [
            "managedCluster.spec.taints.all(t, t.timeAdded == null && !has(t.value))",
            "managedCluster.status.clusterClaims.all(c, !has(c.value))",
        ];
        for (taint, claim) in [
            (json!({ "key": "k", "effect": "NoSelect" }), json!({ "name": "id" })),
            (
                json!({ "key": "k", "effect": "NoSelect", "timeAdded": null, "value": null }),
                json!({ "name": "id", "value": null }),
            ),
        ] {
            let object = json!({
                "spec": { "taints": [taint] }, "status": { "clusterClaims": [claim] }
            });
            assert_says(&object, &read);
            let cluster = cluster_of(&object);
            assert_eq!(cluster.taints[0].added, None);
            assert_eq!(cluster.claims, Labels::new([("id", "")]));
        }
    }

    #[test]
    fn amounts_are_text_and_what_changes_with_every_write_is_left_out() {
        let object = json!({
            "metadata": {
                "name": "c", "resourceVersion": "7", "managedFields": [{}],
                "annotations": { LAST_APPLIED: "{}", "team": "shop" }
            },
            "status": { "allocatable": { "cpu": 4 }, "capacity": { "cpu": "8" } }
        });
        let read = [
            "managedCluster.status.allocatable.cpu == '4' && managedCluster.status.capacity.cpu == '8'",
            "managedCluster.metadata == {'name': 'c', 'creationTimestamp': null, 'annotations': {'team': 'shop'}}",
        ];
        assert_says(&object, &read);
    }
}
