//! What placements over ten thousand clusters cost: one decision of each sort, and the decisions that one changed
//! score leads to, with a thousand placements of which ten select by it; and what expressions add to it. Memory is
//! counted by the allocator.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use std::alloc::System;
use std::hint::black_box;
use std::sync::Arc;

use almanac_engine::placement::{
    Cluster, ClusterSelector, Document, Expression, Placement, PrioritizerMode, Quantity, decide,
    gather,
};
use almanac_engine::{PolicyName, World, turn};
use almanac_fixtures::placements::{
    SET, add_cluster, add_placement, add_scores, hub, labels_of, object, placement, placement_name,
    scores,
};
use criterion::Criterion;
use jiff::Timestamp;
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const CLUSTERS: usize = 10_000;
const PLACEMENTS: usize = 1_000;
/// So many placements select by the same score.
const OF_A_SCORE: usize = 10;

fn now() -> Timestamp {
    "2026-03-02T12:00:00Z".parse().unwrap()
}

fn name(cluster: usize) -> String {
    format!("cluster-{cluster:05}")
}

fn cluster(number: usize) -> Cluster {
    let labels = format!(
        "cloud=aws,feature.open-cluster-management.io/addon=available,name={},region=region-{},vendor=k8s",
        name(number),
        number % 20
    );
    let amount = |of: usize| {
        let amount = i128::try_from(number * 7919 % of).unwrap();
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

/// What a `ManagedCluster` with five labels, twenty claims and five conditions says.
fn described(number: usize) -> Document {
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
    Document::of(&json!({
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

/// Gives every cluster its object.
fn with_objects(mut world: World, count: usize) -> World {
    let region = Region::new(ALLOCATOR);
    let objects: Vec<Document> = (0..count).map(described).collect();
    let change = region.change();
    let bytes = (change.bytes_allocated - change.bytes_deallocated) / count;
    println!("its object takes {bytes} bytes");
    for (number, object) in objects.into_iter().enumerate() {
        add_cluster(&mut world, &name(number), Cluster { object, ..cluster(number) });
    }
    world
}

/// Selects ten clusters by an expression.
fn by(expression: &str) -> Placement {
    let expressions = [Expression::compile(expression).unwrap()].into();
    let predicate = ClusterSelector { expressions, ..ClusterSelector::default() };
    Placement {
        predicates: [predicate].into(),
        ..placement(Some(10), PrioritizerMode::Additive, &[])
    }
}

const EXPRESSIONS: [(&str, &str); 4] = [
    ("a label", "managedCluster.metadata.labels['region'] == 'region-7'"),
    (
        "a version and an amount",
        "semver(managedCluster.status.version.kubernetes, true).isGreaterThan(semver('1.30.0')) \
         && quantity(managedCluster.status.allocatable.cpu).isGreaterThan(quantity('64'))",
    ),
    (
        "a claim and a pattern",
        "managedCluster.status.clusterClaims.exists(c, c.name == 'claim-19.open-cluster-management.io' \
         && c.value.matches('^value-[0-9]$'))",
    ),
    ("a score", "managedCluster.scores('default').exists(s, s.name == 'cpuratio' && s.value > 90)"),
];

fn score(number: usize) -> i64 {
    i64::try_from(number * 31 % 201).unwrap() - 100
}

fn clusters(count: usize) -> World {
    let mut world = hub();
    let region = Region::new(ALLOCATOR);
    for number in 0..count {
        add_cluster(&mut world, &name(number), cluster(number));
    }
    let change = region.change();
    println!(
        "a cluster takes {} bytes",
        (change.bytes_allocated - change.bytes_deallocated) / count
    );
    let end = Some("2026-03-02T13:00:00Z".parse().unwrap());
    let region = Region::new(ALLOCATOR);
    for number in 0..count {
        let values = [("cpuratio", score(number)), ("memratio", -score(number))];
        add_scores(&mut world, &name(number), "default", scores(&values, end));
    }
    let change = region.change();
    println!(
        "its scores take {} bytes",
        (change.bytes_allocated - change.bytes_deallocated) / count
    );
    world
}

/// Adds a thousand placements of ten clusters each, and lets each of them select.
fn with_placements(mut world: World) -> World {
    for number in 0..PLACEMENTS {
        let resource = format!("resource-{}/load", number / OF_A_SCORE);
        let listed = [("ResourceAllocatableCPU", 1), (resource.as_str(), 1)];
        let placement = placement(Some(10), PrioritizerMode::Additive, &listed);
        add_placement(&mut world, &format!("placement-{number:04}"), placement);
    }
    for number in 0..PLACEMENTS {
        let name = placement_name(&format!("placement-{number:04}"));
        turn::take(&mut world, &name, now()).unwrap();
    }
    world
}

fn decided(criterion: &mut Criterion, count: usize, of: &str, mut world: World, it: Placement) {
    add_placement(&mut world, "measured", it);
    let policy = placement_name("measured");
    turn::take(&mut world, &policy, now()).unwrap();
    criterion.bench_function(&format!("placements/{count} clusters, {of}"), |bencher| {
        bencher.iter(|| {
            let input = gather(&world, &policy.identity).unwrap();
            let decision = decide(&input, black_box(now()));
            assert!(decision.actions.is_empty());
            black_box(decision)
        });
    });
}

/// What the decision takes if nothing is known of any cluster, as after a start.
fn decided_anew(
    criterion: &mut Criterion,
    count: usize,
    of: &str,
    mut world: World,
    it: Placement,
) {
    add_placement(&mut world, "measured", it);
    let policy = placement_name("measured");
    criterion.bench_function(&format!("placements/{count} clusters, {of}, anew"), |bencher| {
        bencher.iter(|| {
            let input = gather(&world, &policy.identity).unwrap();
            assert_eq!(input.memory, None);
            black_box(decide(&input, black_box(now())))
        });
    });
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    for count in [2_000, CLUSTERS] {
        let world = clusters(count);
        let default = Placement { number_of_clusters: Some(10), ..Placement::default() };
        let prioritizers = PrioritizerMode::Additive.prioritizers([]);
        let default = Placement { prioritizers, ..default };
        decided(&mut criterion, count, "the default", world.clone(), default.clone());
        let all = Placement { number_of_clusters: None, ..default };
        decided(&mut criterion, count, "all of them selected", world.clone(), all);
        let with_objects = with_objects(world.clone(), count);
        for (of, expression) in EXPRESSIONS {
            let of = format!("an expression of {of}");
            decided(&mut criterion, count, &of, with_objects.clone(), by(expression));
            decided_anew(&mut criterion, count, &of, with_objects.clone(), by(expression));
        }
        if count == CLUSTERS {
            with_expressions(&mut criterion, with_objects);
        }
        let listed = [("ResourceAllocatableCPU", 1), ("default/cpuratio", 1)];
        let scored = placement(Some(10), PrioritizerMode::Additive, &listed);
        let world = with_placements(world);
        let of = "by an add-on, CPU and Balance, with a thousand decisions";
        decided(&mut criterion, count, of, world.clone(), scored);
        if count == CLUSTERS {
            one_score_changed(&mut criterion, world);
        }
    }
    criterion.final_summary();
}

fn one_score_changed(criterion: &mut Criterion, mut world: World) {
    let mut number = 0;
    criterion.bench_function(
        "placements/10000 clusters, a score of ten of 1000 changed",
        |bencher| {
            bencher.iter(|| {
                number += 1;
                let changed = name(number % CLUSTERS);
                let values = scores(&[("load", score(number))], None);
                add_scores(&mut world, &changed, "resource-7", values);
                let scores = object("AddOnPlacementScore", &changed, "resource-7");
                let touched: Vec<PolicyName> = world.readers_of_object(&scores).collect();
                assert_eq!(touched.len(), OF_A_SCORE);
                for policy in touched {
                    black_box(turn::take(&mut world, &policy, now()).unwrap());
                }
            });
        },
    );
    assert_eq!(Arc::strong_count(&world.hub), 1, "the world would be copied");
}

/// A thousand placements by an expression each: what one changed score and one heartbeat of a cluster cost.
fn with_expressions(criterion: &mut Criterion, mut world: World) {
    for number in 0..PLACEMENTS {
        let resource = number / OF_A_SCORE;
        let expression = format!(
            "managedCluster.status.conditions.exists(c, c.status == 'True') \
             && managedCluster.scores('resource-{resource}').exists(s, s.value > 0)"
        );
        add_placement(&mut world, &format!("placement-{number:04}"), by(&expression));
    }
    let mut number = 0;
    criterion.bench_function(
        "placements/10000 clusters, a score that ten of 1000 expressions read changed",
        |bencher| {
            bencher.iter(|| {
                number += 1;
                let changed = name(number % CLUSTERS);
                let values = scores(&[("load", score(number))], None);
                add_scores(&mut world, &changed, "resource-7", values);
                let scores = object("AddOnPlacementScore", &changed, "resource-7");
                let touched: Vec<PolicyName> = world.readers_of_object(&scores).collect();
                assert_eq!(touched.len(), OF_A_SCORE);
                for policy in touched {
                    black_box(turn::take(&mut world, &policy, now()).unwrap());
                }
            });
        },
    );
    criterion.bench_function(
        "placements/10000 clusters, a heartbeat of one beside 1000 expressions",
        |bencher| {
            bencher.iter(|| {
                number += 1;
                let changed = object("ManagedCluster", "", &name(number % CLUSTERS));
                let before = world.matched_by_expressions(&changed, now());
                let object = described(number % CLUSTERS);
                let beating = Cluster { object, ..cluster(number % CLUSTERS) };
                add_cluster(&mut world, changed.name(), beating);
                assert_eq!(before, world.matched_by_expressions(&changed, now()));
            });
        },
    );
}
