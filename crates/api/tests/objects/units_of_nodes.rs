//! The properties of pods and nodes that units of nodes depend on, the same from a file and from a watch.

#![expect(clippy::expect_used, reason = "what fails here fails the test")]

use almanac_api::slim::{unit_node, unit_pod, watched_unit_node, watched_unit_pod};
use almanac_engine::units::{DeletionCost, Node, Owner, Pod, Resources, Ungoverned};
use kube::core::DynamicObject;
use serde_json::{Value, from_value, json};

/// A pod, read in both ways.
fn pod(object: &Value) -> Pod {
    let mut watched = object.clone();
    watched["metadata"]["name"] = json!("one");
    let watched: DynamicObject = from_value(watched).expect("a valid object");
    let read = unit_pod(object);
    assert_eq!(watched_unit_pod(&watched), read, "{object:#}");
    read
}

fn node(object: &Value) -> Node {
    let mut watched = object.clone();
    watched["metadata"]["name"] = json!("one");
    let watched: DynamicObject = from_value(watched).expect("a valid object");
    let read = unit_node(object);
    assert_eq!(watched_unit_node(&watched), read, "{object:#}");
    read
}

fn requests(spec: &Value) -> (Option<u64>, Option<u64>) {
    let Resources { milli_cpu, memory, .. } = pod(&json!({ "spec": spec })).requests;
    (milli_cpu, memory)
}

#[test]
fn a_pod_is_known_by_what_units_depend_on() {
    let read = pod(&json!({
        "metadata": {
            "uid": "u1", "resourceVersion": "7", "labels": { "app": "web" },
            "creationTimestamp": "2026-01-05T00:00:00Z", "deletionTimestamp": "2026-01-05T02:00:00Z",
            "ownerReferences": [
                { "apiVersion": "v1", "kind": "Other", "name": "o", "uid": "o1" },
                { "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "r1", "controller": true }
            ],
            "annotations": {
                "controller.kubernetes.io/pod-deletion-cost": "600",
                "almanac.dev/deletion-cost-owner": "almanac/600",
                "almanac.dev/resource-policy": "shop",
                "almanac.dev/unit": "best"
            }
        },
        "spec": { "nodeName": "n1", "schedulerName": "other-scheduler", "schedulingGates": [{ "name": "example.com/held" }], "containers": [{ "resources": { "requests": { "cpu": "1500m", "memory": "1Gi" } } }] },
        "status": { "phase": "Running", "nominatedNodeName": "n2", "conditions": [
            { "type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-05T00:00:01Z" }
        ] }
    }));
    let at = |text: &str| Some(text.parse().expect("an instant"));
    let owner = Owner {
        group: "apps".into(),
        kind: "ReplicaSet".into(),
        name: "web-1".into(),
        uid: Some("r1".into()),
    };
    let expected = Pod {
        uid: Some("u1".into()),
        version: Some(7),
        labels: almanac_engine::Labels::new([("app", "web")]),
        node: Some("n1".into()),
        is_finished: false,
        is_refused: false,
        nominated: Some("n2".into()),
        scheduler: Some("other-scheduler".into()),
        gates: ["example.com/held".into()].into(),
        deleted: at("2026-01-05T02:00:00Z"),
        created: at("2026-01-05T00:00:00Z"),
        bound: at("2026-01-05T00:00:01Z"),
        owner: Some(owner.into()),
        ungoverned: None,
        requests: Resources { milli_cpu: Some(1500), memory: Some(1 << 30), pods: None },
        cost: DeletionCost::Ours(600),
        bound_policy: Some("shop".into()),
    };
    assert_eq!(read, expected);
    assert_eq!(pod(&json!({ "metadata": {} })), Pod::default());
    let empty = json!({ "spec": { "nodeName": "", "schedulerName": "default-scheduler" }, "status": { "phase": "Pending", "nominatedNodeName": "", "conditions": [
        { "type": "PodScheduled", "status": "False", "lastTransitionTime": "2026-01-05T00:00:01Z" }
    ] } });
    assert_eq!(pod(&empty), Pod::default());
}

#[test]
fn pods_of_daemon_sets_mirrors_and_exempt_ones_are_not_governed() {
    let owner = |kind: &str, controls: bool| json!([{ "apiVersion": "apps/v1", "kind": kind, "name": "a", "uid": "u", "controller": controls }]);
    for (metadata, why) in [
        (json!({ "ownerReferences": owner("DaemonSet", true) }), Some(Ungoverned::DaemonSet)),
        (json!({ "ownerReferences": owner("DaemonSet", false) }), None),
        (json!({ "ownerReferences": owner("ReplicaSet", true) }), None),
        (
            json!({ "annotations": { "kubernetes.io/config.mirror": "x" } }),
            Some(Ungoverned::Mirror),
        ),
        (json!({ "labels": { "almanac.dev/ignore": "true" } }), Some(Ungoverned::Exempt)),
        (json!({ "annotations": { "almanac.dev/ignore": "false" } }), None),
    ] {
        assert_eq!(pod(&json!({ "metadata": metadata })).ungoverned, why, "{metadata}");
    }
    for phase in ["Succeeded", "Failed"] {
        assert!(pod(&json!({ "status": { "phase": phase } })).is_finished, "{phase}");
    }
}

#[test]
fn a_pod_requests_what_the_scheduler_reserves_for_it() {
    let of = |cpu: &str| json!({ "requests": { "cpu": cpu } });
    let runs = json!([{ "resources": of("1") }, { "resources": of("500m") }, {}]);
    assert_eq!(requests(&json!({ "containers": runs })), (Some(1500), None));
    assert_eq!(requests(&json!({ "containers": [{}] })), (None, None));
    // One step at a time, before the containers.
    let steps = json!([{ "resources": of("2") }, { "resources": of("3") }]);
    assert_eq!(requests(&json!({ "containers": runs, "initContainers": steps })).0, Some(3000));
    // A sidecar keeps running next to the containers, and next to the steps after it.
    let sidecars = json!([
        { "resources": of("1"), "restartPolicy": "Always" }, { "resources": of("3") }
    ]);
    assert_eq!(requests(&json!({ "containers": runs, "initContainers": sidecars })).0, Some(4000));
    let short = json!([{ "resources": of("1"), "restartPolicy": "Always" }]);
    assert_eq!(requests(&json!({ "containers": runs, "initContainers": short })).0, Some(2500));
    let overhead = json!({ "cpu": "250m", "memory": "64Mi" });
    let with_overhead = requests(&json!({ "containers": runs, "overhead": overhead }));
    assert_eq!(with_overhead, (Some(1750), Some(64 << 20)));
    // A limit without a request is the request; the resources of the pod as a whole outweigh those of its containers.
    let limited = json!([{ "resources": { "limits": { "cpu": "2", "memory": "128Mi" }, "requests": { "cpu": "1" } } }]);
    assert_eq!(requests(&json!({ "containers": limited })), (Some(1000), Some(128 << 20)));
    assert_eq!(requests(&json!({ "containers": runs, "resources": of("9") })).0, Some(9000));
    // Rounded up, as Kubernetes does.
    let fine = json!([{ "resources": { "requests": { "cpu": "0.0001", "memory": "1.5" } } }]);
    assert_eq!(requests(&json!({ "containers": fine })), (Some(1), Some(2)));
    for mangled in [json!("many"), json!("-1"), json!([]), json!(true)] {
        let containers = json!([{ "resources": { "requests": { "cpu": mangled } } }]);
        assert_eq!(requests(&json!({ "containers": containers })).0, None, "{mangled}");
    }
}

#[test]
fn a_node_is_known_by_its_labels_and_what_it_has_for_pods() {
    let read = node(&json!({
        "metadata": { "resourceVersion": "9", "labels": { "pool": "spot" } },
        "spec": { "unschedulable": true },
        "status": {
            "capacity": { "cpu": "8" }, "allocatable": { "cpu": "7910m", "memory": "31Gi", "pods": "110" }
        }
    }));
    let allocatable = Resources { milli_cpu: Some(7910), memory: Some(31 << 30), pods: Some(110) };
    assert_eq!(
        read,
        Node {
            version: Some(9),
            labels: almanac_engine::Labels::new([("pool", "spot")]),
            is_unschedulable: true,
            allocatable: Some(allocatable),
        }
    );
    assert_eq!(node(&json!({ "metadata": {} })), Node::default());
    let odd = node(&json!({ "status": { "allocatable": { "cpu": "4", "pods": "lots" } } }));
    let allocatable = Resources { milli_cpu: Some(4000), ..Resources::default() };
    assert_eq!(odd.allocatable, Some(allocatable));
}

#[test]
fn a_pod_was_refused_if_its_condition_names_policies() {
    let with = |status: &str, reason: &str, message: &str| {
        let condition = json!({
            "type": "PodScheduled", "status": status, "reason": reason, "message": message
        });
        pod(&json!({ "status": { "conditions": [{ "type": "Ready" }, condition] } })).is_refused
    };
    let full =
        "0/3 nodes are available: 3 unit \"a\" of ResourcePolicy shop/p is full: 1 of 1 pod.";
    assert!(with("False", "Unschedulable", full));
    let conflict = "0/3 nodes are available: 3 2 ResourcePolicies select the pod (shop/p, shop/q)";
    assert!(with("False", "Unschedulable", conflict));
    assert!(!with("False", "Unschedulable", "0/3 nodes are available: 3 Insufficient cpu."));
    assert!(!with("False", "SchedulingGated", full));
    assert!(!with("True", "", full));
    assert!(!pod(&json!({})).is_refused);
}
