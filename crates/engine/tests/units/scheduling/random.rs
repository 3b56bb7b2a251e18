//! Random shops over some days: the scheduling simulation never exceeds a cap, the reported numbers are the true
//! ones, and no pod is pending while a node is free for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use almanac_engine::units::{DeletionCost, Node, Pod, Resources, Strategy, UnitObject, Verdict};
use almanac_engine::{Field, Identity, PolicyObject, Slim, Value};
use almanac_fixtures::trials;
use fastrand::Rng;

use super::shop::{Shop, node, owner, pod, workload};
use crate::naive::ClusterView;
use crate::support::{pod_name, policy_name, prefer, second, selector, unit};

const SHOPS: u64 = 400;

/// The true state, from an independent point of view.
fn cluster_view(shop: &Shop) -> ClusterView {
    let world = &shop.world;
    let policies = world.units.policies.iter();
    let policies =
        policies.filter_map(|(name, it)| Some((name.clone(), (**it.policy.as_ref()?).clone())));
    let pods = world.units.extra.scheduling.as_ref().unwrap().pods();
    ClusterView {
        policies: policies.collect(),
        nodes: world.units.extra.pods_and_nodes.nodes.clone(),
        pods: pods.map(|(name, pod)| (name.clone(), pod.clone())).collect(),
        ..ClusterView::default()
    }
}

fn random_shop(rng: &mut Rng) -> Shop {
    let policy = |rng: &mut Rng, pods: &str| {
        let units: Vec<_> = (0..rng.usize(1..=3))
            .map(|number| {
                let max = rng.bool().then(|| rng.u32(0..6));
                let nodes = ["pool=a", "pool=b", "zone=z"][rng.usize(..3)];
                unit(&format!("u{number}"), rng.i32(0..3), max, nodes)
            })
            .collect();
        let mut policy = prefer(units);
        policy.pod_selector = selector(pods);
        policy.strategy = if rng.bool() { Strategy::Required } else { Strategy::Prefer };
        policy.ignores_terminating = rng.bool();
        if rng.bool() {
            policy.group_keys = [Arc::from("track")].into();
        }
        policy
    };
    let mut shop = Shop::new(policy(rng, "app=a"));
    if rng.bool() {
        let pods = ["app=b", "app=b", "tier=t"][rng.usize(..3)];
        shop = shop.policy("other", policy(rng, pods));
    }
    for number in 0..rng.usize(1..5) {
        let labels = ["pool=a", "pool=b", "pool=a,zone=z", "pool=c"][rng.usize(..4)];
        shop = shop.node(&format!("n{number}"), random_node(rng, labels));
    }
    for name in ["x", "y", "z"] {
        let labels =
            ["app=a", "app=a,track=one", "app=b,tier=t", "app=b,track=two"][rng.usize(..4)];
        shop = shop.workload(name, labels, rng.u32(0..6));
        for number in 0..rng.usize(..6) {
            let there = random_pod(rng, labels, name);
            shop = shop.pod(&format!("{name}-{number}"), there);
        }
    }
    if rng.bool() {
        let policy = PolicyObject::new(policy(rng, "app=a"));
        shop.world.upsert(elsewhere(&policy_name("far")), Slim::Units(policy));
        let made = Pod { requests: random_requests(rng), ..pod("app=a") };
        shop = shop.made_by(&elsewhere(&workload("x")), made, rng.u32(0..4));
        let there = Box::new(random_pod(rng, "app=a", "x"));
        shop.world.upsert(elsewhere(&pod_name("x-0")), Slim::UnitObject(UnitObject::Pod(there)));
    }
    shop
}

/// Something in another namespace.
fn elsewhere(identity: &Identity) -> Identity {
    Identity::new(identity.group(), identity.kind(), "another", identity.name())
}

fn random_requests(rng: &mut Rng) -> Resources {
    let milli_cpu = rng.bool().then(|| 100 * rng.u64(1..8));
    Resources { milli_cpu, ..Resources::default() }
}

fn random_node(rng: &mut Rng, labels: &str) -> Node {
    let has = |rng: &mut Rng| Resources {
        milli_cpu: Some(100 * rng.u64(5..25)),
        memory: None,
        pods: rng.bool().then(|| rng.u32(1..6)),
    };
    let allocatable = rng.bool().then(|| has(rng));
    Node { allocatable, is_unschedulable: rng.u8(..6) == 0, ..node(labels) }
}

fn random_pod(rng: &mut Rng, labels: &str, workload: &str) -> Pod {
    Pod {
        node: rng.bool().then(|| format!("n{}", rng.usize(..5)).into()),
        owner: Some(owner("ReplicaSet", &format!("{workload}-7d9"))),
        created: Some(second(-rng.i64(1..100))),
        deleted: (rng.u8(..4) == 0).then(|| second(rng.i64(1..10))),
        is_finished: rng.u8(..6) == 0,
        requests: random_requests(rng),
        gates: if rng.u8(..8) == 0 { [Arc::from("held")].into() } else { [].into() },
        cost: if rng.bool() {
            DeletionCost::Others(rng.i32(-500..500))
        } else {
            DeletionCost::Unset
        },
        ..pod(&format!("{labels},pod-template-hash=7d9"))
    }
}

/// The broken property of a shop after a simulation, if any; `began` is its state at the start.
fn wrong(
    seen: &ClusterView,
    began: &ClusterView,
    values: &BTreeMap<String, Value>,
) -> Option<String> {
    for (name, policy) in &seen.policies {
        let counted = seen.counted(name);
        let at_first = began.counted(name);
        let mut total = 0;
        for (group, places) in &counted {
            for (place, pods) in places.iter().enumerate() {
                total += pods.len();
                let Some(max) = policy.units.get(place).and_then(|unit| unit.max) else { continue };
                let there = at_first.get(group).map_or(0, |places| places[place].len());
                if pods.len() > there.max(max as usize) {
                    return Some(format!("{} pods in a unit of {max}", pods.len()));
                }
            }
        }
        let published = values.get(name.name());
        let Some(Value::Numbers(numbers)) = published else { continue };
        let sum: u32 = numbers.values().sum();
        if sum as usize != total {
            return Some(format!("{total} pods, of which {sum} are recorded"));
        }
    }
    let waiting = seen.pods.iter().filter(|(_, pod)| {
        let is_looked_at = pod.ungoverned.is_none() && pod.gates.is_empty();
        pod.node.is_none() && !pod.is_finished && pod.deleted.is_none() && is_looked_at
    });
    for (name, pod) in waiting {
        let with_room = seen.nodes.keys().filter(|node| has_room(seen, node, pod));
        let nodes: Vec<_> = with_room.cloned().collect();
        let verdicts = seen.verdicts(name, &nodes).unwrap_or_default();
        if verdicts.contains(&Verdict::Chosen) {
            return Some(format!("{name} waits, and could have a node"));
        }
    }
    None
}

/// Whether a node has free capacity for one more pod.
fn has_room(seen: &ClusterView, name: &Arc<str>, pod: &Pod) -> bool {
    let node = &seen.nodes[name];
    let there = seen.pods.values().filter(|it| it.node.as_ref() == Some(name) && !it.is_finished);
    let (cpu, pods) =
        there.fold((0, 0), |(cpu, pods), it| (cpu + it.requests.milli_cpu.unwrap_or(0), pods + 1));
    let free = node.allocatable.unwrap_or_default();
    let requested = pod.requests.milli_cpu.unwrap_or(0);
    let has_cpu = requested == 0 || free.milli_cpu.is_none_or(|free| free >= cpu + requested);
    has_cpu && free.pods.is_none_or(|free| free > pods) && !node.is_unschedulable
}

/// A deleted pod with a higher cost than a pod that its workload has kept.
fn wrongly_gone(before: &ClusterView, now: &ClusterView) -> Option<String> {
    let own = |pod: &Pod| match pod.cost {
        DeletionCost::Others(cost) if pod.node.is_some() => Some(cost),
        _ => None,
    };
    let is_alive = |pod: &Pod| pod.deleted.is_none() && !pod.is_finished;
    let gone =
        before.pods.iter().filter(|(name, pod)| is_alive(pod) && !now.pods.contains_key(*name));
    for (name, pod) in gone {
        let Some(cost) = own(pod) else { continue };
        let kept = now.pods.iter().find(|(other, it)| {
            let is_of_same = other.namespace() == name.namespace() && it.owner == pod.owner;
            is_of_same && is_alive(it) && own(it).is_some_and(|kept| kept < cost)
        });
        if let Some((kept, _)) = kept {
            return Some(format!("{name} went, and {kept} costs less"));
        }
    }
    None
}

fn recorded_values(shop: &Shop) -> BTreeMap<String, Value> {
    let policies = shop.world.units.policies.keys();
    let published = policies.filter_map(|policy| {
        Some((policy.name().to_owned(), Field::UnitPods.read(&shop.world, policy)?))
    });
    published.collect()
}

#[test]
fn scaling_never_exceeds_a_cap_or_leaves_a_schedulable_pod_pending() {
    let seed = trials::seed("pouring");
    let (mut scheduled, mut waited) = (0, 0);
    for number in 0..SHOPS {
        let mut rng = Rng::with_seed(seed.wrapping_add(number));
        let shop = random_shop(&mut rng);
        let mut shop = shop.begun();
        // The counts before any pod is scheduled: with the replicas unchanged, only the pods that exist.
        let mut began = cluster_view(&shop);
        began.pods = shop.world.units.extra.pods_and_nodes.pods.clone();
        for at in 0..10 {
            if at > 0 {
                shop.scale(&workload(["x", "y", "z"][rng.usize(..3)]), rng.u32(0..9));
            }
            let before = if at == 0 { began.clone() } else { cluster_view(&shop) };
            shop.turns(at);
            let now = cluster_view(&shop);
            let wrong = wrong(&now, &began, &recorded_values(&shop))
                .or_else(|| wrongly_gone(&before, &now));
            assert_eq!(wrong, None, "ALMANAC_SEED={seed}, shop {number}, at {at}");
            scheduled += now.pods.len();
            waited += now.pods.values().filter(|pod| pod.node.is_none()).count();
        }
    }
    assert!(
        scheduled > 10_000 && waited > 500,
        "{scheduled} pods, {waited} waiting: too few to tell"
    );
}

#[test]
fn time_alone_changes_the_simulation_at_the_named_instant_and_not_earlier() {
    let seed = trials::seed("waking");
    let mut woken = 0;
    for number in 0..SHOPS {
        let mut rng = Rng::with_seed(seed.wrapping_add(number));
        let mut shop = random_shop(&mut rng).begun();
        for at in [0, 4] {
            let named: BTreeSet<_> = shop.turns(at).into_iter().map(|turn| turn.wake_at).collect();
            let pods_at = |later: i64| {
                let mut shop = shop.clone();
                shop.turns(later);
                cluster_view(&shop).pods
            };
            let now = cluster_view(&shop).pods;
            let changed = (at..20).find(|later| pods_at(*later) != now);
            let why = format!("ALMANAC_SEED={seed}, shop {number}, at {at}");
            assert_eq!(named, BTreeSet::from([changed.map(second)]), "{why}");
            woken += usize::from(changed.is_some());
        }
    }
    assert!(woken > 100, "{woken} times anything changed: too few to tell");
}

#[test]
fn the_same_shop_is_filled_in_the_same_way_each_time() {
    for number in 0..50 {
        let run = || {
            let mut rng = Rng::with_seed(number);
            let mut shop = random_shop(&mut rng).begun();
            let mut all = Vec::new();
            for at in 0..6 {
                shop.scale(&workload("y"), rng.u32(0..9));
                shop.turns(at);
                all.push((recorded_values(&shop), shop.nodes("")));
            }
            all
        };
        assert_eq!(run(), run(), "{number}");
    }
}
