//! Files as if they had been applied: the fields that stay, the fields that are removed, and the ignored objects.

use almanac_api::reading::{Source, read_objects};
use serde_json::Value;

use super::*;

const MONDAY: &str = "2026-11-23T06:00:00Z";

fn object(value: Value) -> DynamicObject {
    serde_json::from_value(value).expect("an object")
}

/// Applies a file; the result as JSON.
fn applied(live: Value, file: Value) -> Value {
    serde_json::to_value(apply(&object(live), &object(file))).expect("JSON")
}

#[test]
fn the_file_replaces_its_fields_and_leaves_fields_of_others() {
    let live = json!({
        "metadata": {"name": "shop", "uid": "1", "generation": 3, "labels": {"team": "shop", "tier": "1"}},
        "spec": {"replicas": 7, "template": {"spec": {"schedulerName": "x", "nodeName": "y"}}, "list": [1, 2]},
        "status": {"replicas": 7},
    });
    let file = json!({
        "metadata": {"name": "shop", "labels": {"tier": "2"}, "annotations": {"a": "b"}},
        "spec": {"template": {"spec": {"schedulerName": "z", "nodeName": null}}, "list": [3]},
    });
    let expected = json!({
        "metadata": {
            "name": "shop", "uid": "1", "generation": 3,
            "labels": {"team": "shop", "tier": "2"}, "annotations": {"a": "b"},
        },
        "spec": {"replicas": 7, "template": {"spec": {"schedulerName": "z"}}, "list": [3]},
        "status": {"replicas": 7},
    });
    assert_eq!(applied(live, file), expected);
}

#[test]
fn a_field_that_kubectl_applied_before_is_removed_if_the_file_lacks_it() {
    let last = json!({
        "metadata": {"labels": {"old": "1", "kept": "1"}},
        "spec": {"predicates": [], "policy": {"mode": "Exact", "weight": 1}},
        "status": {"seen": 1},
    });
    let live = json!({
        "metadata": {
            "name": "there", "labels": {"old": "1", "kept": "1", "other": "1"},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": last.to_string()},
        },
        "spec": {"predicates": [1], "policy": {"mode": "Exact", "weight": 1, "defaulted": 2}, "sets": ["a"]},
        "status": {"seen": 2},
    });
    let file = json!({
        "metadata": {"name": "there", "labels": {"kept": "1"}},
        "spec": {"policy": {"mode": "Additive"}},
    });
    let now = applied(live, file);
    assert_eq!(now["metadata"]["labels"], json!({"kept": "1", "other": "1"}));
    assert_eq!(now["spec"], json!({"policy": {"mode": "Additive", "defaulted": 2}, "sets": ["a"]}));
    assert_eq!(now["status"], json!({"seen": 2}));
}

#[test]
fn server_side_applied_fields_are_removed_unless_another_manager_owns_them() {
    let fields = |fields: Value| json!({"f:spec": fields});
    let entry = |manager: &str, operation: &str, fields: Value| json!({"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": fields});
    let mut of_status = entry("almanac", "Apply", json!({"f:status": {"f:seen": {}}}));
    of_status["subresource"] = json!("status");
    let applied_before = fields(json!({
        "f:predicates": {}, "f:shared": {}, "f:policy": {".": {}, "f:mode": {}, "f:weight": {}},
        "f:gone": {"f:a": {}}, "f:list": {"k:{\"name\":\"a\"}": {}},
    }));
    let live = json!({
        "metadata": {"name": "there", "labels": {"region": "eu"}, "managedFields": [
            entry("argocd-controller", "Apply", applied_before),
            entry("autoscaler", "Update", fields(json!({"f:shared": {}, "f:replicas": {}}))),
            entry("another", "Apply", json!({"f:metadata": {"f:labels": {"f:region": {}}}})),
            of_status,
        ]},
        "spec": {
            "predicates": [1], "shared": 1, "policy": {"mode": "Exact", "weight": 1, "else": 1},
            "gone": {"a": 1}, "list": [{"name": "a"}], "replicas": 3,
        },
        "status": {"seen": 1},
    });
    let file = json!({"metadata": {"name": "there"}, "spec": {"policy": {"mode": "Additive"}}});
    let now = applied(live, file);
    let expected = json!({"shared": 1, "policy": {"mode": "Additive", "else": 1}, "replicas": 3});
    assert_eq!(now["spec"], expected);
    assert_eq!(now["metadata"]["labels"], json!({"region": "eu"}), "another manager has set it");
    assert_eq!(now["status"], json!({"seen": 1}));
}

/// Applies a file to an object that kubectl has applied before from an earlier version.
fn applied_again(last: &Value, mut live: Value, file: Value) -> Value {
    let key = "kubectl.kubernetes.io/last-applied-configuration";
    live["metadata"]["annotations"][key] = json!(last.to_string());
    let mut now = applied(live, file);
    now["metadata"]["annotations"].as_object_mut().expect("a map").remove(key);
    now
}

#[test]
fn annotations_of_others_stay_if_the_file_has_none() {
    let last = json!({"metadata": {"name": "there", "annotations": {"former": "1"}}});
    let live = json!({
        "metadata": {"name": "there", "annotations": {"almanac.dev/ignore": "true", "former": "1"}},
    });
    let now = applied_again(&last, live, json!({"metadata": {"name": "there"}}));
    assert_eq!(now["metadata"]["annotations"], json!({"almanac.dev/ignore": "true"}));
}

#[test]
fn a_label_of_the_name_status_is_a_label() {
    let last = json!({"metadata": {"labels": {"status": "canary", "env": "prod"}}});
    let live = json!({"metadata": {"name": "east", "labels": {"status": "canary", "env": "prod"}}});
    let file = json!({"metadata": {"name": "east", "labels": {"env": "prod"}}});
    let now = applied_again(&last, live, file);
    assert_eq!(now["metadata"]["labels"], json!({"env": "prod"}));
}

#[test]
fn the_last_applied_annotation_wins_over_other_server_side_managers() {
    let last = json!({"metadata": {"labels": {"env": "prod"}}});
    let live = json!({"metadata": {
        "name": "east", "labels": {"env": "prod", "region": "eu"},
        "managedFields": [{
            "manager": "regions", "operation": "Apply", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": {"f:region": {}}}},
        }],
    }});
    let file = json!({"metadata": {"name": "east", "labels": {"env": "test"}}});
    let now = applied_again(&last, live, file);
    assert_eq!(now["metadata"]["labels"], json!({"env": "test", "region": "eu"}));
}

#[test]
fn a_map_that_is_owned_as_one_value_is_replaced_as_a_whole() {
    let selector = |value: Value| json!({"spec": {"labelSelector": value}});
    let mut live = selector(json!({"matchLabels": {"env": "prod"}}));
    live["metadata"] = json!({"name": "fleet", "managedFields": [{
        "manager": "flux", "operation": "Apply", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:labelSelector": {}}},
    }]});
    for wanted in [json!({}), json!({"matchLabels": {"tier": "1"}})] {
        let mut file = selector(wanted.clone());
        file["metadata"] = json!({"name": "fleet"});
        assert_eq!(applied(live.clone(), file)["spec"], json!({"labelSelector": wanted}));
    }
}

/// Files with this text, applied with `default` for objects without a namespace.
fn proposed(text: &str) -> Proposed {
    let mut proposed = Proposed { paths: vec!["a.yaml".to_owned()], ..Proposed::default() };
    read_objects(&mut proposed.reading, Source::new("a.yaml", text));
    let now = "2026-11-26T12:00:00Z".parse().expect("an instant");
    proposed
        .place(&Scope::Namespace("shop".to_owned()), "default", now)
        .expect("place the objects");
    proposed
}

#[test]
fn taints_keep_their_dates_and_new_ones_are_dated_now() {
    let proposed = proposed(
        "apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: east}
spec: {taints: [{key: power, effect: NoSelect}, {key: new, effect: NoSelect}]}
",
    );
    let identity = Kind::ManagedCluster.identity("", "east");
    let dated = |live: Option<DynamicObject>| {
        let cluster = proposed.applied(&identity, live).expect("the cluster exists");
        ["0", "1"].map(|it| {
            let at = cluster.data.pointer(&format!("/spec/taints/{it}/timeAdded"));
            at.and_then(Value::as_str).unwrap_or("never").to_owned()
        })
    };
    let live = object(json!({
        "metadata": {"name": "east"},
        "spec": {"taints": [{"key": "power", "value": "", "effect": "NoSelect", "timeAdded": MONDAY}]},
    }));
    let now = "2026-11-26T12:00:00Z";
    assert_eq!(dated(Some(live)), [MONDAY, now]);
    assert_eq!(dated(None), [now, now]);
    // The webhook does not change an exempt cluster.
    let exempt = object(json!({
        "metadata": {"name": "east", "annotations": {"almanac.dev/ignore": "true"}}, "spec": {},
    }));
    assert_eq!(dated(Some(exempt)), ["never", "never"]);
}

#[test]
fn scores_and_decisions_do_not_determine_the_namespace() {
    let score = "apiVersion: cluster.open-cluster-management.io/v1alpha1
kind: AddOnPlacementScore
metadata: {name: load, namespace: east}
";
    let placement = "apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: there, namespace: shop}
";
    assert_eq!(proposed(score).only_namespace(), None);
    assert_eq!(proposed(&format!("{score}---\n{placement}")).only_namespace(), Some("shop"));
}

#[test]
fn an_empty_namespace_counts_as_unset() {
    let proposed = proposed(
        "apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: there, namespace: ''}
",
    );
    assert_eq!(proposed.only_namespace(), None);
    assert!(proposed.position(&Kind::Placement.identity("shop", "there")).is_some());
    let new = proposed.applied_to_all(Kind::Placement, Vec::new(), |it| it == "warehouse");
    assert_eq!(new.len(), 0, "the namespace is not in scope");
}

#[test]
fn pods_are_left_out_and_workloads_are_not() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a}]}\n";
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n\
                      spec: {template: {spec: {containers: [{name: a}]}}}\n";
    let notes = |text: &str| proposed(text).left_out([].into_iter());
    assert_eq!(notes(deployment), [] as [String; 0]);
    assert_eq!(notes(pod).len(), 1);
}
