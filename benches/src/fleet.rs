//! The clusters of the benchmarks of placements: the number of a cluster determines its properties and scores.

use almanac_engine::placement::{Cluster, Document, Quantity, Scores};
use almanac_fixtures::at;
use almanac_fixtures::placements::{SET, labels_of, scores};
use serde_json::json;

/// The name of a cluster.
#[must_use]
pub fn name(cluster: usize) -> String {
    format!("cluster-{cluster:05}")
}

/// A cluster of five labels, in one of twenty regions, without its object.
#[must_use]
pub fn cluster(number: usize) -> Cluster {
    let labels = format!(
        "cloud=aws,feature.open-cluster-management.io/addon=available,name={},region=region-{},vendor=k8s",
        name(number),
        number % 20
    );
    let amount = |of: usize| {
        let amount = i128::try_from(number * 7919 % of).unwrap_or_default();
        Quantity::from_billionths(amount * 1_000_000_000)
    };
    Cluster {
        labels: labels_of(&labels),
        set: Some(SET.into()),
        allocatable_cpu: amount(128),
        allocatable_memory: amount(1024),
        ..Cluster::default()
    }
}

/// The `ManagedCluster`, with five labels, twenty claims and five conditions.
#[must_use]
pub fn object_of(number: usize) -> Document {
    let claims = |it: usize| {
        let value = format!("value-{}", number % (it + 2));
        json!({ "name": format!("claim-{it}.open-cluster-management.io"), "value": value })
    };
    let conditions = |it: usize| {
        json!({
            "type": format!("ManagedClusterCondition{it}"), "status": "True", "reason": "ManagedClusterAvailable",
            "message": "Managed cluster is available", "lastTransitionTime": "2026-03-01T08:00:00Z",
        })
    };
    Document::from_json(&json!({
        "metadata": {
            "name": name(number), "uid": "0d3f2a53-3c9d-4f7e-9d0e-6f3d5d1f8a11", "resourceVersion": "123456",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {
                "cloud": "aws", "feature.open-cluster-management.io/addon": "available", "name": name(number),
                "region": format!("region-{}", number % 20), "vendor": "k8s",
            },
        },
        "spec": { "hubAcceptsClient": true, "leaseDurationSeconds": 60 },
        "status": {
            "version": { "kubernetes": format!("v1.{}.{}", 25 + number % 10, number % 7) },
            "capacity": { "cpu": "128", "memory": "1024Gi", "pods": "500" },
            "allocatable": { "cpu": format!("{}", number * 7919 % 128), "memory": "1000Gi", "pods": "500" },
            "clusterClaims": (0..20).map(claims).collect::<Vec<_>>(),
            "conditions": (0..5).map(conditions).collect::<Vec<_>>(),
        },
    }))
}

/// A score between -100 and 100.
#[must_use]
pub fn score(number: usize) -> i64 {
    i64::try_from(number * 31 % 201).unwrap_or_default() - 100
}

/// Two scores that expire an hour after the instant of the decisions.
#[must_use]
pub fn scores_of(number: usize) -> Scores {
    let values = [("cpuratio", score(number)), ("memratio", -score(number))];
    scores(&values, Some(at("2026-03-02T13:00:00Z")))
}
