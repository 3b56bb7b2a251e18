//! The cost of placements over ten thousand clusters: one decision of each kind, and the cost of expressions. It also
//! measures the decisions after one changed score, with a thousand placements. Ten of these select by that score. The
//! allocator is that of `almanac`; `placements_memory.rs` measures the memory of the clusters.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use std::hint::black_box;
use std::sync::Arc;

use almanac_benches::fleet::{cluster, name, object_of, score, scores_of};
use almanac_engine::placement::{
    Cluster, ClusterSelector, Expression, ExpressionReaders, Placement, PrioritizerMode, decide,
    gather,
};
use almanac_engine::{PolicyName, World, turn};
use almanac_fixtures::placements::{
    add_cluster, add_placement, add_scores, hub, object, placement, placement_name, scores,
};
use criterion::Criterion;
use jiff::Timestamp;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CLUSTERS: usize = 10_000;
const PLACEMENTS: usize = 1_000;
/// The number of placements that select by the same score.
const OF_A_SCORE: usize = 10;

fn now() -> Timestamp {
    "2026-03-02T12:00:00Z".parse().unwrap()
}

/// Gives every cluster its object.
fn with_objects(mut world: World, count: usize) -> World {
    for number in 0..count {
        let described = Cluster { object: object_of(number), ..cluster(number) };
        add_cluster(&mut world, &name(number), described);
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

fn clusters(count: usize) -> World {
    let mut world = hub();
    for number in 0..count {
        add_cluster(&mut world, &name(number), cluster(number));
        add_scores(&mut world, &name(number), "default", scores_of(number));
    }
    world
}

/// Adds a thousand placements of ten clusters each, and runs a turn of each placement.
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
            let input = gather(world.view(), &policy.identity).unwrap();
            let decision = decide(&input, black_box(now()));
            assert!(decision.actions.is_empty());
            black_box(decision)
        });
    });
}

/// The time of the decision without cached results for any cluster, as after a start.
fn first_decision(
    criterion: &mut Criterion,
    count: usize,
    of: &str,
    mut world: World,
    it: Placement,
) {
    add_placement(&mut world, "measured", it);
    let policy = placement_name("measured");
    criterion.bench_function(
        &format!("placements/{count} clusters, {of}, first decision"),
        |bencher| {
            bencher.iter(|| {
                let input = gather(world.view(), &policy.identity).unwrap();
                assert_eq!(input.memory, None);
                black_box(decide(&input, black_box(now())))
            });
        },
    );
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
            first_decision(&mut criterion, count, &of, with_objects.clone(), by(expression));
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
    one_of_many(&mut criterion);
    criterion.final_summary();
}

/// Measures an edit of one of ten thousand placements, and its decision.
fn one_of_many(criterion: &mut Criterion) {
    const PLACEMENTS: usize = 10_000;
    let mut world = clusters(20);
    let select = |count| placement(Some(count), PrioritizerMode::Exact, &[("Steady", 1)]);
    let named = |number: usize| format!("placement-{number:05}");
    for number in 0..PLACEMENTS {
        add_placement(&mut world, &named(number), select(2));
        turn::take(&mut world, &placement_name(&named(number)), now()).unwrap();
    }
    let mut number = 0;
    criterion.bench_function("placements/one of 10000 placements edited and decided", |bencher| {
        bencher.iter(|| {
            number += 1;
            let edited = named(number % PLACEMENTS);
            let is_even = (number + number / PLACEMENTS).is_multiple_of(2);
            let policy = placement_name(&edited);
            add_placement(&mut world, &edited, select(if is_even { 2 } else { 3 }));
            black_box(world.footprint(&policy));
            black_box(turn::take(&mut world, &policy, now()).unwrap())
        });
    });
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
    assert_eq!(Arc::strong_count(&world.placement.extra.hub), 1, "the world would be copied");
}

/// Measures the cost of one changed score and one heartbeat of a cluster, with a thousand placements that have an
/// expression each.
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
    // The controller locks the world during these two steps, but not during the evaluation of expressions.
    criterion.bench_function("placements/10000 clusters, a snapshot for a decision", |bencher| {
        let policy = placement_name("placement-0000");
        bencher.iter(|| black_box(world.part(std::slice::from_ref(&policy))));
    });
    criterion.bench_function(
        "placements/10000 clusters, those of 1000 expressions that may select one",
        |bencher| {
            bencher.iter(|| black_box(ExpressionReaders::for_cluster(world.view(), &name(7))));
        },
    );
    criterion.bench_function(
        "placements/10000 clusters, a heartbeat of one with 1000 expressions",
        |bencher| {
            bencher.iter(|| {
                number += 1;
                let changed = name(number % CLUSTERS);
                let readers = ExpressionReaders::for_cluster(world.view(), &changed);
                let known = |world: &World| {
                    Arc::clone(&world.placement.extra.hub.clusters[changed.as_str()])
                };
                let before = known(&world);
                let object = object_of(number % CLUSTERS);
                let beating = Cluster { object, ..cluster(number % CLUSTERS) };
                add_cluster(&mut world, &changed, beating);
                assert!(readers.concerned(&before, &known(&world), now()).is_empty());
            });
        },
    );
}
