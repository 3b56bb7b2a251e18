//! Filling of units: the order, the limits, and the pods that are deleted first.

use almanac_engine::units::{Resources, Strategy, Unit, presumed};
use almanac_engine::{Identity, PolicyObject, Slim, World, islands};

use super::shop::{Shop, node, pod, small_node, workload};
use crate::support::{
    NAMESPACE, grouped_by, policy_name, prefer, required, second, selector, unit,
};

/// Two units, the first of them better.
fn two_units(best: u32, other: u32) -> [Unit; 2] {
    [unit("a", 2, best, "pool=a"), unit("b", 1, other, "pool=b")]
}

#[test]
fn the_best_unit_fills_first_and_excess_pods_use_the_next() {
    let mut shop = Shop::new(required(two_units(3, 2))).workload("web", "app=a", 2).begun();
    for (at, replicas, filled) in
        [(0, 2, "a 2, b 0; 0"), (1, 3, "a 3, b 0; 0"), (2, 4, "a 3, b 1; 0"), (3, 9, "a 3, b 2; 4")]
    {
        shop.scale(&workload("web"), replicas);
        shop.turns(at);
        assert_eq!(shop.filled("web"), filled, "{replicas} replicas");
    }
}

#[test]
fn excess_pods_use_nodes_outside_under_prefer_and_are_pending_under_required() {
    let fill = |policy| Shop::new(policy).workload("web", "app=a", 7).begun().filled("web");
    assert_eq!(fill(prefer(two_units(3, 2))), "a 3, b 2, outside all units 2; 0");
    assert_eq!(fill(required(two_units(3, 2))), "a 3, b 2; 2");
}

#[test]
fn a_closed_unit_accepts_no_pod_and_a_unit_without_a_cap_accepts_all() {
    let units = [unit("a", 2, 0, "pool=a"), unit("b", 1, None, "pool=b")];
    let shop = Shop::new(required(units)).workload("web", "app=a", 7).begun();
    assert_eq!(shop.filled("web"), "a 0, b 7; 0");
}

#[test]
fn the_first_unit_of_equal_priority_is_assumed_to_fill_first() {
    let units = [unit("b", 1, 2, "pool=b"), unit("a", 1, 2, "pool=a")];
    let shop = Shop::new(required(units)).workload("web", "app=a", 3).begun();
    assert_eq!(shop.filled("web"), "a 1, b 2; 0");
    let equals = presumed::first_of_equals(&policy_name("web"));
    let policy = shop.world.policies().next().unwrap();
    assert!(shop.world.presumptions(&policy).contains(&equals));
}

#[test]
fn a_pod_counts_in_the_best_of_the_units_that_select_its_node() {
    let units = [unit("wide", 1, None, "zone=z"), unit("narrow", 2, 1, "zone=z,pool=a")];
    let shop = Shop::new(required(units))
        .node("n1", node("zone=z,pool=a"))
        .node("n2", node("zone=z"))
        .workload("web", "app=a", 3)
        .begun();
    assert_eq!(shop.filled("web"), "narrow 1, wide 2; 0");
}

#[test]
fn scale_ins_come_before_scale_outs_of_the_same_instant() {
    let mut shop = Shop::new(required([unit("a", 1, 4, "pool=a")]))
        .workload("first", "app=a", 1)
        .workload("second", "app=a", 3)
        .begun();
    shop.scale(&workload("first"), 4);
    shop.scale(&workload("second"), 0);
    shop.turns(1);
    assert_eq!(shop.filled("web"), "a 4; 0");
}

#[test]
fn a_replica_set_loses_pending_pods_first_and_then_pods_of_the_worst_unit() {
    let mut shop = Shop::new(required(two_units(3, 2))).workload("web", "app=a", 7).begun();
    for (at, replicas, filled) in
        [(1, 6, "a 3, b 2; 1"), (2, 4, "a 3, b 1; 0"), (3, 2, "a 2, b 0; 0")]
    {
        shop.scale(&workload("web"), replicas);
        shop.turns(at);
        assert_eq!(shop.filled("web"), filled, "{replicas} replicas");
    }
}

/// A `StatefulSet` with this number of replicas, and the pods with these numbers, each on a node.
fn numbered(replicas: u32, there: &[(u32, &str)]) -> (Shop, Identity) {
    let data = Identity::new("apps", "StatefulSet", NAMESPACE, "data");
    let mut shop = Shop::new(required(two_units(9, 9)))
        .node("a1", node("pool=a"))
        .node("b1", node("pool=b"))
        .made_by(&data, pod("app=a"), replicas);
    for (number, node) in there {
        let owner = Some(super::shop::owner("StatefulSet", "data"));
        let pod = almanac_engine::units::Pod { node: Some((*node).into()), owner, ..pod("app=a") };
        shop = shop.pod(&format!("data-{number}"), pod);
    }
    (shop, data)
}

#[test]
fn a_stateful_set_loses_the_pod_with_the_highest_number_first() {
    let (shop, data) = numbered(3, &[(0, "b1"), (1, "b1"), (2, "a1")]);
    let mut shop = shop.begun();
    assert_eq!(shop.filled("web"), "a 1, b 2; 0");
    shop.scale(&data, 2);
    shop.turns(1);
    assert_eq!(shop.filled("web"), "a 0, b 2; 0");
}

#[test]
fn a_stateful_set_creates_a_missing_pod_and_deletes_an_excess_pod() {
    let (shop, _) = numbered(3, &[(0, "b1"), (2, "b1"), (10, "b1")]);
    let mut shop = shop.begun();
    shop.turns(1);
    assert_eq!(shop.filled("web"), "a 1, b 2; 0", "1 is made, and 10 goes");
    let (shop, data) = numbered(2, &[(0, "b1"), (2, "b1")]);
    let mut shop = shop.begun();
    shop.turns(1);
    assert_eq!(shop.filled("web"), "a 1, b 1; 0", "as many as wanted, but 1 is missing");
    shop.scale(&data, 1);
    shop.turns(2);
    assert_eq!(shop.filled("web"), "a 0, b 1; 0", "1 goes, though it is new");
}

#[test]
fn the_numbers_of_a_stateful_set_may_start_above_zero() {
    let (shop, data) = numbered(2, &[(5, "b1"), (6, "b1")]);
    let mut shop = shop.first_number(&data, 5).begun();
    shop.turns(1);
    assert_eq!(shop.filled("web"), "a 0, b 2; 0");
    shop.scale(&data, 3);
    shop.turns(2);
    assert_eq!(shop.filled("web"), "a 1, b 2; 0");
}

#[test]
fn pending_pods_get_freed_capacity_in_the_order_of_their_creation() {
    let mut shop = Shop::new(required([unit("a", 1, 2, "pool=a")]))
        .workload("early", "app=a,of=early", 3)
        .workload("late", "app=a,of=late", 0)
        .begun();
    shop.scale(&workload("late"), 3);
    shop.turns(1);
    shop.scale(&workload("early"), 0);
    shop.turns(2);
    assert_eq!(shop.filled("web"), "a 2; 1");
    let made = shop.nodes("Deployment/late");
    assert_eq!(made.split(' ').filter(|node| *node == "-").count(), 1, "{made}");
    assert!(made.ends_with(" -"), "the last by name waits: {made}");
}

#[test]
fn the_capacity_of_nodes_limits_the_pods_of_a_unit() {
    let shop = |pods| {
        Shop::new(required([unit("a", 2, 9, "pool=a"), unit("b", 1, 9, "pool=b")]))
            .node("a1", small_node("pool=a", pods))
            .node("a2", small_node("pool=a", pods))
            .node("b1", node("pool=b"))
            .workload("web", "app=a", 6)
            .begun()
    };
    assert_eq!(shop(2).filled("web"), "a 4, b 2; 0");
    assert_eq!(shop(4).filled("web"), "a 6, b 0; 0");
}

#[test]
fn a_large_pod_waits_for_a_node_while_a_small_one_gets_it() {
    let requests = |milli_cpu| Resources { milli_cpu: Some(milli_cpu), ..Resources::default() };
    let sized =
        |milli_cpu| almanac_engine::units::Pod { requests: requests(milli_cpu), ..pod("app=a") };
    let node = almanac_engine::units::Node { allocatable: Some(requests(1000)), ..node("pool=a") };
    let mut shop = Shop::new(required([unit("a", 1, 9, "pool=a")]))
        .node("n1", node)
        .made_by(&workload("large"), sized(900), 1)
        .made_by(&workload("small"), sized(300), 1)
        .made_by(&workload("tiny"), sized(50), 1)
        .begun();
    assert_eq!(shop.nodes("Deployment/"), "n1 - n1");
    shop.scale(&workload("large"), 0);
    shop.turns(1);
    assert_eq!(shop.nodes("Deployment/"), "n1 n1");
}

#[test]
fn policies_share_the_capacity_of_nodes() {
    let of = |label: &str| {
        let mut policy = required([unit("a", 1, 9, "pool=a")]);
        policy.pod_selector = selector(label);
        policy
    };
    let mut shop = Shop::new(of("app=a"))
        .policy("other", of("app=b"))
        .node("n1", small_node("pool=a", 3))
        .workload("web", "app=a", 2)
        .workload("other", "app=b", 2)
        .begun();
    assert_eq!((shop.filled("web"), shop.filled("other")), ("a 1; 1".into(), "a 2; 0".into()));
    shop.scale(&workload("other"), 1);
    shop.turns(1);
    assert_eq!((shop.filled("web"), shop.filled("other")), ("a 2; 0".into(), "a 1; 0".into()));
}

#[test]
fn each_group_has_the_cap_for_itself() {
    let policy = grouped_by(&["track"], required([unit("a", 1, 2, "pool=a")]));
    let shop = Shop::new(policy)
        .workload("one", "app=a,track=one", 3)
        .workload("two", "app=a,track=two", 1)
        .workload("none", "app=a", 3)
        .begun();
    assert_eq!(
        shop.filled("web"),
        "a with track=one 2, a with track=two 1, a without track 2; with track=one 1, with track=two 0, without \
         track 1"
    );
}

#[test]
fn a_pod_of_two_policies_is_pending_and_counts_for_both() {
    let policy = required([unit("a", 1, 9, "pool=a")]);
    let shop =
        Shop::new(policy.clone()).policy("other", policy).workload("web", "app=a", 2).begun();
    assert_eq!((shop.filled("web"), shop.filled("other")), ("a 0; 2".into(), "a 0; 2".into()));
}

#[test]
fn a_unit_that_fills_up_or_gets_free_capacity_is_recorded_once() {
    let mut shop = Shop::new(required(two_units(2, 9))).workload("web", "app=a", 2).begun();
    let recorded_events = |shop: &mut Shop, at, replicas| {
        shop.scale(&workload("web"), replicas);
        let turns = shop.turns(at);
        let recorded = turns.into_iter().flat_map(|turn| turn.recorded);
        let policy = policy_name("web");
        let recorded_events = recorded.map(|it| {
            let (what, unit) = it.occurrence(&shop.world, &policy).unwrap();
            format!("{} {}", unit.unwrap(), what.name())
        });
        recorded_events.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(recorded_events(&mut shop, 1, 3), "a overflows");
    assert_eq!(recorded_events(&mut shop, 2, 5), "");
    assert_eq!(recorded_events(&mut shop, 3, 2), "a suffices");
}

#[test]
fn excessive_numbers_are_bounded_with_an_assumption() {
    let shop =
        Shop::new(prefer([unit("a", 1, 7, "pool=a")])).workload("web", "app=a", u32::MAX).begun();
    assert_eq!(shop.filled("web"), "a 7, outside all units 9993; 0");
    let policy = shop.world.policies().next().unwrap();
    let said = shop.world.presumptions(&policy);
    assert!(said.contains(&presumed::too_many_pods(&workload("web"), 10_000)), "{said:?}");
}

#[test]
fn no_pod_is_scheduled_before_a_run_starts() {
    let mut shop = Shop::new(required(two_units(3, 2))).workload("web", "app=a", 7);
    let policy = shop.world.policies().next().unwrap();
    let due = |shop: &Shop, at| shop.world.follows_target(&policy, second(at));
    assert!(shop.turns(0).is_empty());
    let shop = shop.begun();
    assert_eq!(due(&shop, -100), Some(second(0)));
    assert_eq!(due(&shop, 100), Some(second(100)));
}

#[test]
fn strategies_have_the_same_result_while_units_have_free_capacity() {
    for strategy in [Strategy::Prefer, Strategy::Required] {
        let mut policy = prefer(two_units(3, 2));
        policy.strategy = strategy;
        let shop = Shop::new(policy).workload("web", "app=a", 5).begun();
        assert_eq!(shop.filled("web"), "a 3, b 2; 0");
    }
}

#[test]
fn policies_are_forecast_together_if_they_may_select_the_same_pods_or_share_nodes() {
    let elsewhere = |node| {
        let mut shop = Shop::new(required([unit("a", 1, 9, "pool=a")]))
            .policy("other", required([unit("a", 1, 9, "pool=a")]))
            .node("n1", node)
            .workload("web", "app=a", 2);
        let policy = PolicyObject::new(required([unit("a", 1, 9, "pool=a")]));
        let away = |group: &str, kind: &str| Identity::new(group, kind, "elsewhere", "web");
        shop.world.upsert(away("scheduling.sigs.x-k8s.io", "ResourcePolicy"), Slim::Units(policy));
        shop.made_by(&away("apps", "Deployment"), pod("app=a"), 2).world
    };
    let sizes = |world: &World| islands(world).iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(sizes(&elsewhere(node("pool=a"))), [1, 2], "a namespace each");
    assert_eq!(sizes(&elsewhere(small_node("pool=a", 3))), [3], "the node has room for three");
}
