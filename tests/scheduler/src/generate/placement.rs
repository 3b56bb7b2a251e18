//! Random placements, with all forms of their specs.

use fastrand::Rng;
use serde_json::{Value, json};

use super::hub::{
    CLAIMS, EFFECTS, LABELS, NAMESPACES, RESOURCES, SCORES, TAINTS, VALUES, object, selector,
    set_name,
};
use super::{percent, pick};
use crate::expressions;

const BUILT_IN: [&str; 4] =
    ["Balance", "Steady", "ResourceAllocatableCPU", "ResourceAllocatableMemory"];

/// One placement or a few, with different names.
pub(super) fn placements(rng: &mut Rng, clusters: usize) -> Vec<Value> {
    let mut names = Vec::new();
    for namespace in NAMESPACES {
        names.extend(["web", "db"].map(|name| (namespace, name)));
    }
    rng.shuffle(&mut names);
    names.truncate(rng.usize(1..=3));
    names.into_iter().map(|(namespace, name)| placement(rng, clusters, namespace, name)).collect()
}

pub(super) fn placement(rng: &mut Rng, clusters: usize, namespace: &str, name: &str) -> Value {
    let mut spec = json!({});
    if percent(rng, 25) {
        let sets: Vec<_> = (0..rng.usize(1..3)).map(|_| set_name(rng)).collect();
        spec["clusterSets"] = json!(sets);
    }
    if clusters > 100 && percent(rng, 50) {
        // The maximum number of clusters in a decision, and one more.
        spec["numberOfClusters"] = json!([100, 101, 200][rng.usize(0..3)]);
    } else if percent(rng, 75) {
        let most = [1, 3, clusters, clusters + 2][rng.usize(0..4)];
        spec["numberOfClusters"] = json!(rng.usize(0..=most));
    }
    if percent(rng, 40) {
        let predicates = (0..rng.usize(0..4)).map(|_| predicate(rng)).collect::<Vec<_>>();
        spec["predicates"] = json!(predicates);
    }
    if percent(rng, 55) {
        let tolerations = (0..rng.usize(0..4)).map(|_| toleration(rng)).collect::<Vec<_>>();
        spec["tolerations"] = json!(tolerations);
    }
    if percent(rng, 75) {
        spec["prioritizerPolicy"] = prioritizer_policy(rng);
    }
    if percent(rng, 40) {
        spec["decisionStrategy"] = json!({ "groupStrategy": group_strategy(rng) });
    }
    if percent(rng, 4) {
        break_spec(rng, &mut spec);
    }
    let mut metadata = json!({ "name": name, "namespace": namespace, "generation": 1 });
    if percent(rng, 3) {
        let value = ["true", "false"][rng.usize(0..2)];
        metadata["annotations"] =
            json!({ "cluster.open-cluster-management.io/experimental-scheduling-disable": value });
    }
    let version = if percent(rng, 75) { "v1beta1" } else { "v1alpha1" };
    object(version, "Placement", &metadata, &json!({ "spec": spec }))
}

fn predicate(rng: &mut Rng) -> Value {
    let mut both = json!({});
    if percent(rng, 60) {
        both["labelSelector"] = selector(rng, &LABELS, true);
    }
    if percent(rng, 40) {
        both["claimSelector"] = selector(rng, &CLAIMS, false);
    }
    if percent(rng, 25) {
        let expressions: Vec<_> =
            (0..rng.usize(1..3)).map(|_| pick(rng, &expressions::ALL).text).collect();
        both["celSelector"] = json!({ "celExpressions": expressions });
    }
    if percent(rng, 5) { json!({}) } else { json!({ "requiredClusterSelector": both }) }
}

fn toleration(rng: &mut Rng) -> Value {
    let mut toleration = json!({});
    if percent(rng, 75) {
        toleration["key"] = json!(pick(rng, &TAINTS));
    }
    if toleration["key"].is_null() || percent(rng, 40) {
        toleration["operator"] = json!("Exists");
    } else {
        if percent(rng, 50) {
            toleration["operator"] = json!("Equal");
        }
        if percent(rng, 60) {
            toleration["value"] = json!(pick(rng, &VALUES[..2]));
        }
    }
    if percent(rng, 50) {
        toleration["effect"] = json!(pick(rng, &EFFECTS));
    }
    if percent(rng, 55) {
        let seconds = [0, 1, 30, 60, 3600, 86_400, i64::MAX, -5];
        toleration["tolerationSeconds"] = json!(pick(rng, &seconds));
    }
    toleration
}

fn prioritizer_policy(rng: &mut Rng) -> Value {
    let mut policy = json!({});
    match rng.u8(0..5) {
        0..=2 => policy["mode"] = json!("Exact"),
        3 => policy["mode"] = json!("Additive"),
        _ => {}
    }
    let mut names: Vec<&str> = BUILT_IN.to_vec();
    rng.shuffle(&mut names);
    names.truncate(rng.usize(0..=4));
    let mut configurations: Vec<Value> = names.iter().map(|name| built_in(rng, name)).collect();
    for resource in RESOURCES {
        for score in SCORES {
            if percent(rng, 25) {
                configurations.push(json!({ "scoreCoordinate": {
                    "type": "AddOn", "addOn": { "resourceName": resource, "scoreName": score },
                } }));
            }
        }
    }
    for configuration in &mut configurations {
        if percent(rng, 80) {
            configuration["weight"] = json!([0, 1, -1, 10, -10, rng.i8(-10..=10)][rng.usize(0..6)]);
        }
    }
    rng.shuffle(&mut configurations);
    policy["configurations"] = json!(configurations);
    policy
}

/// A prioritizer, in a random form.
fn built_in(rng: &mut Rng, name: &str) -> Value {
    match rng.u8(0..8) {
        0..=2 => json!({ "scoreCoordinate": { "type": "BuiltIn", "builtIn": name } }),
        3 => json!({ "scoreCoordinate": { "builtIn": name } }),
        4 => json!({ "scoreCoordinate": { "type": "BuildIn", "buildIn": name } }),
        5 => json!({ "name": name }),
        6 => json!({ "name": pick(rng, &BUILT_IN), "scoreCoordinate": { "buildIn": name } }),
        _ => json!({ "name": name, "scoreCoordinate": { "type": "BuiltIn" } }),
    }
}

fn group_strategy(rng: &mut Rng) -> Value {
    let mut strategy = json!({});
    match rng.u8(0..4) {
        0 => strategy["clustersPerDecisionGroup"] = json!([rng.u8(1..6), 100][rng.usize(0..2)]),
        1 | 2 => {
            let percentage = [1, 25, 33, 50, 99, 100, rng.u8(1..=100)][rng.usize(0..7)];
            strategy["clustersPerDecisionGroup"] = json!(format!("{percentage}%"));
        }
        _ => {}
    }
    if percent(rng, 60) {
        let mut groups = Vec::new();
        for name in ["canary", "prod-1", "rest"] {
            if percent(rng, 50) {
                let mut group = json!({ "groupName": name, "groupClusterSelector": {} });
                if percent(rng, 85) {
                    group["groupClusterSelector"]["labelSelector"] = selector(rng, &LABELS, true);
                }
                if percent(rng, 25) {
                    group["groupClusterSelector"]["claimSelector"] = selector(rng, &CLAIMS, false);
                }
                groups.push(group);
            }
        }
        strategy["decisionGroups"] = json!(groups);
    }
    strategy
}

/// Makes a spec invalid.
fn break_spec(rng: &mut Rng, spec: &mut Value) {
    let steady = json!({ "scoreCoordinate": { "type": "BuiltIn", "builtIn": "Steady" } });
    let selector = |expression: Value| {
        json!([{ "requiredClusterSelector": {
            "labelSelector": { "matchExpressions": [expression] } } }])
    };
    match rng.u8(0..10) {
        9 => {
            let broken = json!({ "celExpressions": ["managedCluster.("] });
            let predicate = json!({ "requiredClusterSelector": { "celSelector": broken } });
            spec["predicates"] = json!([predicate]);
        }
        0 => spec["numberOfClusters"] = json!(-1),
        1 => spec["prioritizerPolicy"] = json!({ "mode": "Subtractive" }),
        2 => {
            let unknown = json!([{ "scoreCoordinate": { "builtIn": "Random" } }]);
            spec["prioritizerPolicy"] = json!({ "configurations": unknown });
        }
        3 => {
            let twice = json!([steady, { "name": "Steady", "weight": 2 }]);
            spec["prioritizerPolicy"] = json!({ "configurations": twice });
        }
        4 => {
            let heavy = json!([{ "name": "Steady", "weight": 11 }]);
            spec["prioritizerPolicy"] = json!({ "configurations": heavy });
        }
        5 => spec["predicates"] = selector(json!({ "key": "env", "operator": "In" })),
        6 => {
            let expression = json!({ "key": "env", "operator": "Exists", "values": ["a"] });
            spec["predicates"] = selector(expression);
        }
        7 => spec["tolerations"] = json!([{ "operator": "Equal", "value": "a" }]),
        _ => {
            spec["tolerations"] = json!([{ "key": "gpu", "operator": "Exists", "value": "a" }]);
        }
    }
}
