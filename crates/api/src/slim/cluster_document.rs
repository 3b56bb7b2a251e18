//! The part of a cluster that expressions read: the metadata, the spec and the status, as in Open Cluster Management.
//! The controller of that project deserializes an object into a type and serializes it again. So fields that the type
//! lacks are absent, and an empty field is present only if the type always writes it.

use almanac_engine::placement::Document;
use serde_json::{Map, Value, json};

/// The annotation with the object as kubectl last applied it.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The default lease duration in seconds, which an API server sets.
const LEASE_DURATION: u32 = 60;

/// The fields of a type.
struct Shape {
    /// The fields that are always present, with their empty values.
    always: &'static [(&'static str, EmptyValue)],
    /// The fields that are absent if they are empty.
    sometimes: &'static [&'static str],
}

#[derive(Clone, Copy)]
enum EmptyValue {
    Null,
    Text,
    False,
    Map,
}

impl EmptyValue {
    fn value(self) -> Value {
        match self {
            EmptyValue::Null => Value::Null,
            EmptyValue::Text => Value::String(String::new()),
            EmptyValue::False => Value::Bool(false),
            EmptyValue::Map => Value::Object(Map::new()),
        }
    }
}

/// Without the fields that change with every write: the version, and the field managers.
const METADATA: Shape = Shape {
    always: &[("creationTimestamp", EmptyValue::Null)],
    sometimes: &[
        "name",
        "generateName",
        "namespace",
        "selfLink",
        "uid",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
    ],
};
const SPEC: Shape = Shape {
    always: &[("hubAcceptsClient", EmptyValue::False)],
    sometimes: &["managedClusterClientConfigs", "leaseDurationSeconds", "taints"],
};
const CLIENT_CONFIG: Shape =
    Shape { always: &[("url", EmptyValue::Text)], sometimes: &["caBundle"] };
const TAINT: Shape = Shape {
    always: &[
        ("key", EmptyValue::Text),
        ("effect", EmptyValue::Text),
        ("timeAdded", EmptyValue::Null),
    ],
    sometimes: &["value"],
};
const STATUS: Shape = Shape {
    always: &[("conditions", EmptyValue::Null), ("version", EmptyValue::Map)],
    sometimes: &["capacity", "allocatable", "clusterClaims", "managedNamespaces"],
};
const VERSION: Shape = Shape { always: &[], sometimes: &["kubernetes"] };
const CLAIM: Shape = Shape { always: &[], sometimes: &["name", "value"] };
const NAMESPACE: Shape = Shape {
    always: &[("name", EmptyValue::Text), ("clusterSet", EmptyValue::Text)],
    sometimes: &["conditions"],
};
const CONDITION: Shape = Shape {
    always: &[
        ("type", EmptyValue::Text),
        ("status", EmptyValue::Text),
        ("lastTransitionTime", EmptyValue::Null),
        ("reason", EmptyValue::Text),
        ("message", EmptyValue::Text),
    ],
    sometimes: &["observedGeneration"],
};

/// The document of a cluster, whose status is a separate argument.
pub(super) fn document(object: &Value, status: &Value) -> Document {
    let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let mut metadata = fields(&object["metadata"]);
    let annotations = metadata.get_mut("annotations").and_then(Value::as_object_mut);
    annotations.map(|annotations| annotations.remove(LAST_APPLIED));
    METADATA.give(&mut metadata);
    let mut spec = fields(&object["spec"]);
    spec.entry("leaseDurationSeconds")
        .and_modify(|it| {
            if it.is_null() {
                *it = LEASE_DURATION.into();
            }
        })
        .or_insert(LEASE_DURATION.into());
    items(&mut spec, "managedClusterClientConfigs").for_each(|it| CLIENT_CONFIG.give(it));
    items(&mut spec, "taints").for_each(|it| TAINT.give(it));
    SPEC.give(&mut spec);
    let mut status = fields(status);
    items(&mut status, "conditions").for_each(|it| CONDITION.give(it));
    items(&mut status, "clusterClaims").for_each(|it| CLAIM.give(it));
    for namespace in items(&mut status, "managedNamespaces") {
        items(namespace, "conditions").for_each(|it| CONDITION.give(it));
        NAMESPACE.give(namespace);
    }
    if let Some(version) = status.get_mut("version").and_then(Value::as_object_mut) {
        VERSION.give(version);
    }
    for amounts in ["allocatable", "capacity"] {
        let amounts = status.get_mut(amounts).and_then(Value::as_object_mut);
        for amount in amounts.into_iter().flat_map(|it| it.values_mut()) {
            if let Value::Number(number) = amount {
                *amount = Value::String(number.to_string());
            }
        }
    }
    STATUS.give(&mut status);
    Document::from_json(&json!({ "metadata": metadata, "spec": spec, "status": status }))
}

/// The objects in a list.
fn items<'v>(
    of: &'v mut Map<String, Value>,
    list: &str,
) -> impl Iterator<Item = &'v mut Map<String, Value>> {
    let items = of.get_mut(list).and_then(Value::as_array_mut);
    items.into_iter().flatten().filter_map(Value::as_object_mut)
}

impl Shape {
    /// Reduces an object to the fields of the type, and adds the fields that are always present.
    fn give(&self, fields: &mut Map<String, Value>) {
        let is_always = |name: &str| self.always.iter().any(|(known, _)| *known == name);
        fields.retain(|name, value| {
            is_always(name) || (self.sometimes.contains(&name.as_str()) && !is_empty(value))
        });
        for (name, empty) in self.always {
            let value = fields.entry(*name).or_insert(Value::Null);
            if value.is_null() {
                *value = empty.value();
            }
        }
    }
}

/// Whether a field is empty. A `null` in a map counts as nothing.
fn is_empty(value: &mut Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.is_empty()
        }
    }
}

#[cfg(test)]
mod tests {
    use almanac_engine::Labels;
    use almanac_engine::placement::{Cluster, Expression, HubObject, Meter, Subject};
    use serde_json::json;

    use super::*;
    use crate::kinds::Kind;
    use crate::slim::hub_object;

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
    fn null_fields_are_absent_and_required_fields_are_present() {
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

    /// The types of Open Cluster Management always write the fields of a condition, even empty ones. The exception is
    /// `observedGeneration`, which has `omitempty`. Fields that the types lack are dropped, at every level.
    #[test]
    fn fields_are_present_as_in_the_types_of_open_cluster_management() {
        let object = json!({
            "metadata": { "name": "c", "generation": 0, "finalizers": [], "clusterName": "old" },
            "spec": {
                "managedClusterClientConfigs": [{ "caBundle": "", "proxy": "x" }],
                "leaseDurationSeconds": 0, "future": 1,
            },
            "status": {
                "conditions": [
                    { "type": "A", "status": "True", "observedGeneration": 0, "severity": "high" },
                    { "type": "B", "status": "False", "observedGeneration": 3, "reason": null },
                ],
                "version": { "kubernetes": "v1", "build": 7 },
                "clusterClaims": [{ "name": "id", "value": "", "source": "x" }],
                "managedNamespaces": [{ "name": "n", "clusterSet": "s", "conditions": [] }],
                "allocatable": {}, "zones": ["a"], "future": { "deep": [] },
            },
        });
        assert_says(
            &object,
            &[
                "managedCluster.metadata == {'name': 'c', 'creationTimestamp': null}",
                "managedCluster.spec == {'hubAcceptsClient': false, 'managedClusterClientConfigs': [{'url': ''}]}",
                "managedCluster.status.conditions[0] == {'type': 'A', 'status': 'True', 'reason': '', \
                 'message': '', 'lastTransitionTime': null}",
                "managedCluster.status.conditions[1].observedGeneration == 3",
                "managedCluster.status.conditions[1].reason == ''",
                "managedCluster.status.version == {'kubernetes': 'v1'}",
                "managedCluster.status.clusterClaims == [{'name': 'id'}]",
                "managedCluster.status.managedNamespaces == [{'name': 'n', 'clusterSet': 's'}]",
                "!has(managedCluster.status.allocatable) && !has(managedCluster.status.zones)",
                "!has(managedCluster.status.future) && !has(managedCluster.spec.future)",
            ],
        );
    }
}
