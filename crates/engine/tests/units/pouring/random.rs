//! Random shops over some days: whatever happens, no cap is passed by what is poured, what is told is what is there, and
//! no pod waits while it could have a node.

use std::collections::BTreeMap;

use almanac_engine::units::{Pod, Strategy, Verdict};
use almanac_engine::{Field, Value};
use fastrand::Rng;

use super::shop::{Shop, node, owner, pod, workload};
use crate::naive::Seen;
use crate::simulation::announced_seed;
use crate::support::{prefer, second, selector, unit};

const SHOPS: u64 = 400;

/// What is there, as somebody else sees it.
fn seen(shop: &Shop) -> Seen {
    let world = &shop.world;
    let policies = world.resource_policies.iter();
    let policies =
        policies.filter_map(|(name, it)| Some((name.clone(), (**it.policy.as_ref()?).clone())));
    let pods = world.pouring.as_ref().unwrap().pods();
    Seen {
        policies: policies.collect(),
        nodes: world.fleet.nodes.clone(),
        pods: pods.map(|(name, pod)| (name.clone(), pod.clone())).collect(),
        ..Seen::default()
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
            policy.group_keys = [std::sync::Arc::from("track")].into();
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
        shop = shop.node(&format!("n{number}"), node(labels));
    }
    for name in ["x", "y", "z"] {
        let labels =
            ["app=a", "app=a,track=one", "app=b,tier=t", "app=b,track=two"][rng.usize(..4)];
        shop = shop.workload(name, labels, rng.u32(0..6));
        for number in 0..rng.usize(..4) {
            let there = Pod {
                node: rng.bool().then(|| format!("n{}", rng.usize(..5)).into()),
                owner: Some(owner("ReplicaSet", name)),
                created: Some(second(-rng.i64(1..100))),
                deleted: (rng.u8(..4) == 0).then(|| second(rng.i64(1..10))),
                is_finished: rng.u8(..6) == 0,
                ..pod(labels)
            };
            shop = shop.pod(&format!("{name}-{number}"), there);
        }
    }
    shop
}

/// What does not hold of a shop that has been poured, `began` being what was there at the start.
fn wrong(seen: &Seen, began: &Seen, values: &BTreeMap<String, Value>) -> Option<String> {
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
        let told = values.get(name.name());
        let Some(Value::Numbers(numbers)) = told else { continue };
        let sum: u32 = numbers.values().sum();
        if sum as usize != total {
            return Some(format!("{total} pods, of which {sum} are told"));
        }
    }
    let nodes: Vec<_> = seen.nodes.keys().cloned().collect();
    let waiting = seen.pods.iter().filter(|(_, pod)| {
        pod.node.is_none() && !pod.is_finished && pod.deleted.is_none() && pod.ungoverned.is_none()
    });
    for (name, _) in waiting {
        let verdicts = seen.verdicts(name, &nodes).unwrap_or_default();
        if verdicts.contains(&Verdict::Chosen) {
            return Some(format!("{name} waits, and could have a node"));
        }
    }
    None
}

fn told(shop: &Shop) -> BTreeMap<String, Value> {
    let policies = shop.world.resource_policies.keys();
    let told = policies.filter_map(|policy| {
        Some((policy.name().to_owned(), Field::UnitPods.read(&shop.world, policy)?))
    });
    told.collect()
}

#[test]
fn whatever_is_scaled_no_cap_is_passed_and_no_pod_waits_that_could_have_a_node() {
    let seed = announced_seed("pouring");
    let (mut poured, mut waited) = (0, 0);
    for number in 0..SHOPS {
        let mut rng = Rng::with_seed(seed.wrapping_add(number));
        let shop = random_shop(&mut rng);
        let mut shop = shop.begun();
        // What is counted before anything is poured: with all scaled as it is, nothing but what is there.
        let mut began = seen(&shop);
        began.pods = shop.world.fleet.pods.clone();
        for at in 0..10 {
            if at > 0 {
                shop.scale(&workload(["x", "y", "z"][rng.usize(..3)]), rng.u32(0..9));
            }
            shop.turns(at);
            let now = seen(&shop);
            let wrong = wrong(&now, &began, &told(&shop));
            assert_eq!(wrong, None, "ALMANAC_UNITS_SEED={seed}, shop {number}, at {at}");
            poured += now.pods.len();
            waited += now.pods.values().filter(|pod| pod.node.is_none()).count();
        }
    }
    assert!(poured > 10_000 && waited > 500, "{poured} pods, {waited} waiting: too few to tell");
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
                all.push((told(&shop), shop.nodes("")));
            }
            all
        };
        assert_eq!(run(), run(), "{number}");
    }
}
