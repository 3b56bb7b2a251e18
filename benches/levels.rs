//! The cost of the levels of ten thousand pods: the memory of each, the decision at a boundary that changes all levels,
//! and the decision between two boundaries, where nothing changes.
//!
//! The pods are of two hundred workloads on a hundred nodes; twenty policies select some of them each. Memory is
//! counted by the allocator.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use std::alloc::System;
use std::hint::black_box;
use std::sync::Arc;

use almanac_engine::qos_levels::{Node, Pod, QosAnnotations, QosPolicy, decide, gather};
use almanac_engine::{Labels, PolicyObject, Reach, World, turn};
use almanac_fixtures::levels::{config_map, label_selector, level_policy, levels, pod_name};
use criterion::Criterion;
use jiff::Timestamp;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const PODS: usize = 10_000;
const WORKLOADS: usize = 200;
const POLICIES: usize = 20;
const CONFIG: &str = "volcano-agent-config";

fn at(time: &str) -> Timestamp {
    format!("2026-03-02T{time}Z").parse().unwrap()
}

/// A pod, as a Deployment creates it.
fn pod(number: usize) -> Pod {
    let workload = number % WORKLOADS;
    let labels = Labels::new([
        ("app.kubernetes.io/name", format!("batch-{workload}")),
        ("app.kubernetes.io/part-of", "reports".to_owned()),
        ("pod-template-hash", format!("5d4f8c7b{workload:02}")),
        ("tier", format!("tier-{}", workload % POLICIES)),
        ("workload-type", "offline".to_owned()),
    ]);
    let mut pod = Pod { labels, node: Some(node(number % 100)), ..Pod::default() };
    let level = Some(Arc::from("LS"));
    pod.annotate(&QosAnnotations { level, ..QosAnnotations::default() });
    pod
}

fn node(number: usize) -> Arc<str> {
    format!("node-{number:03}").into()
}

/// The policies. Each selects a twentieth of the pods.
fn policy(number: usize) -> QosPolicy {
    let selector = format!("workload-type=offline,tier=tier-{number}");
    let policy = level_policy(&format!("policy-{number}"), "08:00", "22:00", "a=b", -1);
    QosPolicy { selector: label_selector(&selector), ..policy }
}

fn world() -> World {
    let mut world = World::default();
    let object = PolicyObject::new(levels((0..POLICIES).map(policy)));
    world.qos_levels.policies.insert(config_map(CONFIG).identity, object);
    for number in 0..100 {
        world.objects.nodes.insert(node(number), Node::default());
    }
    let region = Region::new(ALLOCATOR);
    for number in 0..PODS {
        world.objects.pods.insert(pod_name(&format!("batch-{number:05}")), pod(number));
    }
    let change = region.change();
    let bytes = change.bytes_allocated - change.bytes_deallocated;
    println!("a pod with its own level takes {} bytes", bytes / PODS);
    world
}

fn main() {
    let world = world();
    let name = config_map(CONFIG);
    let mut under = world.clone();
    let turn = turn::take(&mut under, &name, at("08:00:00")).unwrap();
    assert_eq!((turn.done.len(), turn.recorded.len()), (PODS, PODS));

    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function("levels/ten thousand pods at a boundary", |bencher| {
        bencher.iter(|| {
            let input = gather(world.view(), &name.identity).unwrap();
            black_box(decide(&input, black_box(at("08:00:00"))))
        });
    });
    criterion.bench_function("levels/ten thousand pods between boundaries", |bencher| {
        bencher.iter(|| {
            let input = gather(under.view(), &name.identity).unwrap();
            let decision = decide(&input, black_box(at("12:00:00")));
            assert!(decision.actions.is_empty());
            black_box(decision)
        });
    });
    criterion.bench_function("levels/a turn of ten thousand pods at a boundary", |bencher| {
        bencher.iter_batched_ref(
            || world.clone(),
            |world| {
                let now = black_box(at("08:00:00"));
                let open = turn::open(world, &name, &Reach::everything(), now).unwrap();
                let outcomes = open.actions().iter().map(|action| world.apply(action)).collect();
                black_box(open.close(world, outcomes, now))
            },
            criterion::BatchSize::LargeInput,
        );
    });
    criterion.final_summary();
}
