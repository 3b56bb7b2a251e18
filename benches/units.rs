//! The cost of node units: a verdict over 5,000 nodes, binding and unbinding among 1,000 and among 50,000 pods, a new
//! ledger, and memory.
//!
//! The pods are of five hundred workloads in ten namespaces with a policy each, of three units. Memory is counted by the
//! allocator.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use std::alloc::System;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use almanac_engine::units::{
    BindOutcome, Elapsed, FilterOutcome, Ledger, LongestBind, Node, NodeId, Owner, Pod,
    PreparedPolicy, ResourcePolicy, Unit, Verdict,
};
use almanac_engine::{Identity, Labels};
use almanac_fixtures::levels::label_selector;
use criterion::{BatchSize, Criterion};
use jiff::Timestamp;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const NODES: usize = 5_000;
const NAMESPACES: usize = 10;
const WORKLOADS: usize = 500;
const LONGEST_BIND: LongestBind =
    LongestBind::from_timeouts(Duration::from_secs(5), Duration::from_secs(5));

fn now() -> Timestamp {
    "2026-03-02T08:00:00Z".parse().unwrap()
}

fn node_name(number: usize) -> String {
    format!("ip-10-0-{}-{}.eu-central-1.compute.internal", number / 250, number % 250)
}

fn node(number: usize) -> Node {
    let labels = Labels::new([
        ("kubernetes.io/hostname", node_name(number)),
        ("kubernetes.io/arch", "amd64".to_owned()),
        ("kubernetes.io/os", "linux".to_owned()),
        ("node.kubernetes.io/instance-type", "m7i.4xlarge".to_owned()),
        ("topology.kubernetes.io/zone", format!("eu-central-1{}", ["a", "b", "c"][number % 3])),
        ("capacity", ["reserved", "on-demand", "spot", "other"][number % 4].to_owned()),
    ]);
    Node { labels, ..Node::default() }
}

fn policy() -> ResourcePolicy {
    let units =
        [("reserved", 10, Some(100_000)), ("on-demand", 5, Some(100_000)), ("spot", 1, None)];
    let unit = |(name, priority, max): (&str, i32, Option<u32>)| Unit {
        name: name.into(),
        priority,
        max,
        nodes: label_selector(&format!("capacity={name}")),
    };
    ResourcePolicy {
        pod_selector: label_selector("tier=web"),
        group_keys: ["pod-template-hash".into()].into(),
        units: units.map(unit).into(),
        ..ResourcePolicy::default()
    }
}

fn policy_name(namespace: usize) -> Identity {
    let namespace = format!("team-{namespace}");
    Identity::new("scheduling.sigs.x-k8s.io", "ResourcePolicy", namespace, "web")
}

fn pod_name(number: usize) -> Identity {
    let workload = number % WORKLOADS;
    let namespace = format!("team-{}", workload % NAMESPACES);
    Identity::new("", "Pod", namespace, format!("web-{workload}-5d4f8c7b9d-{number:05}"))
}

/// A pod, as a Deployment creates it. Each pod has strings of its own, as after reading.
fn pod(number: usize, is_bound: bool) -> Pod {
    let workload = number % WORKLOADS;
    let owner = Owner {
        group: "apps".into(),
        kind: "ReplicaSet".into(),
        name: format!("web-{workload}").into(),
        uid: None,
    };
    Pod {
        uid: Some(format!("5f0c7c7e-0000-4000-8000-{number:012}").into()),
        version: Some(number as u64 + 1),
        labels: Labels::new([
            ("app.kubernetes.io/name", format!("web-{workload}")),
            ("app.kubernetes.io/part-of", "shop".to_owned()),
            ("pod-template-hash", format!("5d4f8c7b{workload:03}")),
            ("tier", "web".to_owned()),
        ]),
        node: is_bound.then(|| node_name(number % NODES).into()),
        created: Some(now()),
        bound: is_bound.then(now),
        owner: Some(Arc::new(owner)),
        ..Pod::default()
    }
}

fn empty_cluster() -> Ledger {
    let mut ledger = Ledger::alone();
    for namespace in 0..NAMESPACES {
        ledger.set_policy(&policy_name(namespace), policy(), None);
    }
    for number in 0..NODES {
        ledger.set_node(&node_name(number), &node(number));
    }
    ledger
}

fn cluster(pods: usize) -> Ledger {
    let mut ledger = empty_cluster();
    for number in 0..pods {
        ledger.set_pod(&pod_name(number), &pod(number, true));
    }
    ledger.cost_changes();
    ledger
}

fn memory() {
    let region = Region::new(ALLOCATOR);
    let mut ledger = empty_cluster();
    let memory_used = |region: &Region<'_, System>| {
        let change = region.change();
        change.bytes_allocated - change.bytes_deallocated
    };
    println!("a node takes {} bytes, ten policies included", memory_used(&region) / NODES);
    let region = Region::new(ALLOCATOR);
    for number in 0..50_000 {
        ledger.set_pod(&pod_name(number), &pod(number, true));
    }
    ledger.cost_changes();
    println!("a pod takes {} bytes, its name and its UID included", memory_used(&region) / 50_000);
}

fn verdicts(criterion: &mut Criterion) {
    let mut ledger = cluster(50_000);
    let name = pod_name(60_000);
    let new = pod(60_000, false);
    ledger.set_pod(&name, &new);
    let uid = new.uid.as_deref();
    let names: Vec<String> = (0..NODES).map(node_name).collect();
    let nodes: Vec<NodeId> = names.iter().map(|name| ledger.node(name).unwrap()).collect();
    criterion.bench_function("units/verdicts over 5,000 nodes", |bencher| {
        bencher.iter(|| {
            let FilterOutcome::ByNode(verdicts) = ledger.verdicts(&name, uid, black_box(&nodes))
            else {
                panic!("the pod is governed");
            };
            let mut chosen = 0;
            for node in &nodes {
                chosen += usize::from(verdicts.get(Some(*node)) == Verdict::Chosen);
            }
            assert_eq!(chosen, NODES / 4);
            black_box(chosen)
        });
    });
    criterion.bench_function("units/5,000 nodes by their names", |bencher| {
        bencher.iter(|| names.iter().filter_map(|name| ledger.node(name)).count());
    });
    criterion.bench_function("units/scores of 5,000 nodes", |bencher| {
        bencher.iter(|| black_box(ledger.scores(&name, uid, black_box(&nodes))));
    });
}

fn binding(criterion: &mut Criterion, pods: usize) {
    let mut ledger = cluster(pods);
    let name = pod_name(60_000);
    let new = pod(60_000, false);
    ledger.set_pod(&name, &new);
    let (target, on) = (node_name(4), node(4));
    criterion.bench_function(&format!("units/bind and unbind, {pods} pods"), |bencher| {
        bencher.iter(|| {
            let read = ((&name, &new), (&*target, &on));
            let id = ledger.reserve(read.0, read.1, Elapsed::default(), LONGEST_BIND).unwrap();
            let confirmed = ledger.confirm(id, Elapsed::default(), LONGEST_BIND).unwrap();
            ledger.settle(id, BindOutcome::Failed);
            black_box(confirmed)
        });
    });
    let other = pod_name(60_001);
    let seen = pod(60_001, true);
    criterion.bench_function(
        &format!("units/a pod is added and removed, {pods} pods"),
        |bencher| {
            bencher.iter(|| {
                ledger.set_pod(&other, &seen);
                ledger.remove_pod(&other, seen.uid.as_ref(), seen.version);
            });
        },
    );
    let [one, two] = [node(4), node(5)];
    criterion.bench_function(&format!("units/a node is relabeled, {pods} pods"), |bencher| {
        bencher.iter(|| {
            ledger.set_node(&target, &two);
            ledger.set_node(&target, &one);
        });
    });
}

/// A policy of 64 units, each with 64 expressions. The nodes match all expressions except for the last.
fn large_policy() -> ResourcePolicy {
    let expressions: Vec<String> =
        (0..63).map(|number| format!("capacity!=none-{number}")).collect();
    let unit = |number: usize| Unit {
        name: format!("unit-{number}").into(),
        priority: i32::try_from(number).unwrap(),
        max: Some(10),
        nodes: label_selector(&format!("{},capacity=none", expressions.join(","))),
    };
    ResourcePolicy { units: (0..64).map(unit).collect(), ..policy() }
}

/// Measures preparing and adding a policy. Adding holds the lock, so requests of schedulers may wait for it.
fn taking_in(criterion: &mut Criterion) {
    let mut ledger = cluster(50_000);
    let name = policy_name(0);
    let large = Arc::new(large_policy());
    let mut group = criterion.benchmark_group("units");
    group.sample_size(10);
    group.bench_function("a policy of 64 units is prepared", |bencher| {
        bencher.iter(|| PreparedPolicy::new(Arc::clone(&large), &ledger.label_snapshot("team-0")));
    });
    let prepared = PreparedPolicy::new(Arc::clone(&large), &ledger.label_snapshot("team-0"));
    group.bench_function("a prepared policy is taken, and another one again", |bencher| {
        let small = PreparedPolicy::new(policy(), &ledger.label_snapshot("team-0"));
        bencher.iter(|| {
            ledger.set_prepared_policy(&name, &prepared, None);
            ledger.set_prepared_policy(&name, &small, None);
        });
    });
    group.finish();
}

fn rebuilding(criterion: &mut Criterion) {
    let pods: Vec<(Identity, Pod)> =
        (0..50_000).map(|number| (pod_name(number), pod(number, true))).collect();
    let mut group = criterion.benchmark_group("units");
    group.sample_size(10);
    group.bench_function("a ledger of 50,000 pods rebuilt", |bencher| {
        bencher.iter_batched(
            empty_cluster,
            |mut ledger| {
                ledger.replace_pods(pods.iter().map(|(name, pod)| (name, pod)), Some(70_000));
                ledger
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn main() {
    memory();
    let mut criterion = Criterion::default().configure_from_args();
    verdicts(&mut criterion);
    binding(&mut criterion, 1_000);
    binding(&mut criterion, 50_000);
    taking_in(&mut criterion);
    rebuilding(&mut criterion);
    criterion.final_summary();
}
