//! The deletion cost of a pod.

use std::sync::Arc;

use almanac_engine::units::{DeletionCost, Pod};

use crate::support::{
    Scene, on, ours, owned_by, pod, pod_name, policy_name, prefer, required, second, unit,
};

const ZONES: [(&str, &str); 3] = [("n-a", "zone=a"), ("n-b", "zone=b"), ("n-x", "")];

fn scene() -> Scene {
    let units = [unit("a", 5, None, "zone=a"), unit("b", 0, None, "zone=b")];
    Scene::new(prefer(units), &ZONES)
}

fn named(all: &[(&str, Option<i32>)]) -> Vec<(String, Option<i32>)> {
    all.iter().map(|(name, cost)| ((*name).to_owned(), *cost)).collect()
}

#[test]
fn a_pod_costs_a_hundred_times_its_priority_and_one() {
    let mut scene = scene();
    scene.set_pod("in-a", &on("n-a", pod("app=a")));
    scene.set_pod("in-b", &on("n-b", pod("app=a")));
    scene.set_pod("outside", &on("n-x", pod("app=a")));
    scene.set_pod("pending", &pod("app=a"));
    let all = [("in-a", Some(600)), ("in-b", Some(100)), ("outside", Some(0))];
    assert_eq!(scene.costs(), named(&all));
    assert_eq!(scene.costs(), [], "nothing has changed since");
}

#[test]
fn a_cost_is_never_beyond_what_kubernetes_reads() {
    let mut scene = Scene::new(prefer([unit("a", i32::MAX, None, "zone=a")]), &ZONES);
    scene.set_pod("in-a", &on("n-a", pod("app=a")));
    assert_eq!(scene.costs(), named(&[("in-a", Some(i32::MAX))]));
}

#[test]
fn the_last_bound_pod_over_a_cap_is_deleted_first() {
    let mut scene = Scene::new(required([unit("a", 5, 2, "zone=a")]), &ZONES);
    for (uid, bound) in [("d", 10), ("c", 10), ("b", 3), ("a", 20)] {
        scene.set_pod(uid, &on("n-a", Pod { bound: Some(second(bound)), ..pod("app=a") }));
    }
    let all = [("a", Some(-200)), ("b", Some(600)), ("c", Some(600)), ("d", Some(-100))];
    assert_eq!(scene.costs(), named(&all), "c and d by their UIDs");
    scene.remove_pod("b");
    assert_eq!(scene.costs(), named(&[("a", Some(-100)), ("d", Some(600))]));
    scene.set_policy("p", required([unit("a", 5, 0, "zone=a")]));
    assert_eq!(scene.costs(), named(&[("a", Some(-300)), ("c", Some(-100)), ("d", Some(-200))]));
}

#[test]
fn costs_of_other_field_managers_are_not_overwritten() {
    let mut scene = scene();
    scene.set_pod("ours", &on("n-a", ours(100, pod("app=a"))));
    scene.set_pod("right", &on("n-a", ours(600, pod("app=a"))));
    scene.set_pod("theirs", &on("n-a", Pod { cost: DeletionCost::Others(7), ..pod("app=a") }));
    assert_eq!(scene.costs(), named(&[("ours", Some(600))]));
    let report = scene.ledger.report(&policy_name("p")).unwrap();
    assert_eq!(report.with_others_cost, 1);
    assert_eq!(scene.ledger.cost_change(&pod_name("ours")).unwrap().cost, Some(600));
    scene.set_pod("ours", &on("n-a", ours(600, pod("app=a"))));
    assert_eq!(scene.ledger.cost_change(&pod_name("ours")), None);
}

#[test]
fn pods_of_other_workloads_than_replica_sets_get_no_cost() {
    let mut scene = scene();
    let owner = Some(Arc::new(owned_by("apps", "StatefulSet")));
    scene.set_pod("set", &on("n-a", Pod { owner, ..pod("app=a") }));
    let of_another = Some(Arc::new(owned_by("example.com", "ReplicaSet")));
    scene.set_pod("other", &on("n-a", Pod { owner: of_another, ..pod("app=a") }));
    scene.set_pod("bare", &on("n-a", Pod { owner: None, ..pod("app=a") }));
    assert_eq!(scene.costs(), []);
    let report = scene.ledger.report(&policy_name("p")).unwrap();
    let without: Vec<(&str, u32)> =
        report.without_cost.iter().map(|(kind, count)| (&**kind, *count)).collect();
    assert_eq!(without, [("", 1), ("ReplicaSet", 1), ("StatefulSet", 1)]);
    scene.set_pod("set", &on("n-a", pod("app=a")));
    scene.remove_pod("bare");
    let report = scene.ledger.report(&policy_name("p")).unwrap();
    assert_eq!(report.without_cost.len(), 1, "counts follow each change");
}

#[test]
fn a_cost_is_removed_with_its_policy() {
    let mut scene = scene();
    scene.set_pod("one", &on("n-a", ours(600, pod("app=a"))));
    scene.set_pod("theirs", &on("n-a", Pod { cost: DeletionCost::Others(7), ..pod("app=a") }));
    assert_eq!(scene.costs(), []);
    scene.remove_policy("p");
    assert_eq!(scene.costs(), named(&[("one", None)]));
}

#[test]
fn costs_follow_relabeled_nodes_and_edited_priorities() {
    let mut scene = scene();
    scene.set_pod("one", &on("n-a", ours(600, pod("app=a"))));
    scene.set_pod("two", &on("n-b", ours(100, pod("app=a"))));
    assert_eq!(scene.costs(), []);
    scene.set_node("n-a", "zone=b");
    assert_eq!(scene.costs(), named(&[("one", Some(100))]));
    scene.set_policy("p", prefer([unit("b", 2, None, "zone=b")]));
    assert_eq!(scene.costs(), named(&[("one", Some(300)), ("two", Some(300))]));
}

#[test]
fn a_unit_in_between_rewrites_nothing() {
    let mut scene = scene();
    scene.set_pod("one", &on("n-a", ours(600, pod("app=a"))));
    scene.set_pod("two", &on("n-b", ours(100, pod("app=a"))));
    assert_eq!(scene.costs(), []);
    let units = [
        unit("a", 5, None, "zone=a"),
        unit("between", 3, None, "zone=c"),
        unit("b", 0, None, "zone=b"),
    ];
    scene.set_policy("p", prefer(units));
    assert_eq!(scene.costs(), []);
}

#[test]
fn terminating_pods_are_unchanged() {
    let mut scene = scene();
    scene.set_pod("done", &on("n-a", Pod { is_finished: true, ..ours(100, pod("app=a")) }));
    scene.set_pod("going", &on("n-a", Pod { deleted: Some(second(0)), ..pod("app=a") }));
    assert_eq!(scene.costs(), []);
}

#[test]
fn while_policies_conflict_costs_stay_as_they_are() {
    let mut scene = scene();
    scene.set_pod("one", &on("n-a", ours(600, pod("app=a"))));
    scene.set_pod("new", &on("n-a", pod("app=a")));
    scene.set_policy("q", prefer([unit("a", 9, None, "zone=a")]));
    assert_eq!(scene.costs(), []);
    assert_eq!(scene.ledger.cost_change(&pod_name("new")), None);
    scene.remove_policy("p");
    assert_eq!(scene.costs(), named(&[("new", Some(1000)), ("one", Some(1000))]));
}

#[test]
fn a_change_over_a_cap_updates_only_the_costs_of_later_pods() {
    let mut scene = Scene::new(required([unit("a", 5, 0, "zone=a")]), &ZONES);
    let bound = |place: i64| on("n-a", Pod { bound: Some(second(place)), ..pod("app=a") });
    for place in 0..5 {
        scene.set_pod(
            &format!("p{place}"),
            &ours(-100 * (i32::try_from(place).unwrap() + 1), bound(place)),
        );
    }
    assert_eq!(scene.costs(), []);
    scene.remove_pod("p2");
    let change = scene.ledger.cost_change(&pod_name("p4")).unwrap();
    assert_eq!(change.cost, Some(-400), "before all are asked for");
    assert_eq!(scene.ledger.cost_change(&pod_name("p1")), None);
    assert_eq!(scene.costs(), named(&[("p3", Some(-300)), ("p4", Some(-400))]));
    scene.set_pod("p9", &bound(9));
    assert_eq!(
        scene.costs(),
        named(&[("p9", Some(-500)), ("p3", Some(-300)), ("p4", Some(-400))][..1])
    );
}
