//! The pods that are requeued, and the instants.

use std::time::Duration;

use almanac_engine::units::{BindOutcome, Pod, Verdict};

use crate::support::{
    LEASE, LONGEST_BIND, Scene, on, pod, pod_name, prefer, required, second, unit,
};

const ZONES: [(&str, &str); 2] = [("n-a", "zone=a"), ("n-b", "zone=b")];
const ALL: [&str; 2] = ["n-a", "n-b"];

fn refused(scene: &mut Scene, names: &[&str]) {
    for name in names {
        scene.set_pod(name, &pod("app=a"));
        scene.filter(name, &ALL).unwrap_or_default();
    }
    assert_eq!(scene.woken(), [""; 0]);
}

fn full_scene() -> Scene {
    let mut scene = Scene::new(required([unit("a", 1, 2, "zone=a")]), &ZONES);
    scene.fill("n-a", 2, &pod("app=a"));
    scene
}

/// The scene after it has refused these pods.
fn full_scene_that_refused(names: &[&str]) -> Scene {
    let mut scene = full_scene();
    refused(&mut scene, names);
    scene
}

#[test]
fn a_raised_cap_requeues_as_many_pods_as_it_adds_permits() {
    let mut scene = full_scene_that_refused(&["c", "a", "b"]);
    scene.set_policy("p", required([unit("a", 1, 4, "zone=a")]));
    assert_eq!(scene.woken(), ["a", "c"], "those that were refused first");
    assert_eq!(scene.woken(), [""; 0]);
    scene.set_policy("p", required([unit("a", 1, None, "zone=a")]));
    assert_eq!(scene.woken(), ["b"]);
}

#[test]
fn a_deleted_pod_requeues_a_refused_pod() {
    let mut scene = full_scene_that_refused(&["a", "b"]);
    scene.remove_pod("n-a-0");
    assert_eq!(scene.woken(), ["a"]);
}

#[test]
fn the_next_pod_is_requeued_when_the_first_is_not_tried() {
    let mut scene = full_scene_that_refused(&["a", "b"]);
    scene.remove_pod("n-a-0");
    assert_eq!(scene.woken(), ["a"]);
    let next = scene.ledger.next_wake().unwrap();
    assert_eq!(next, scene.now + Duration::from_secs(30));
    scene.now = next;
    assert_eq!(scene.woken(), ["b"], "pod a is queued after pod b");
}

#[test]
fn pods_are_requeued_when_their_policy_is_deleted_or_a_conflict_ends() {
    let mut scene = full_scene_that_refused(&["a", "b"]);
    scene.set_policy("q", prefer([unit("a", 1, None, "zone=a")]));
    assert_eq!(scene.woken(), [""; 0], "two policies are worse than one");
    scene.remove_policy("p");
    assert_eq!(scene.woken(), ["a", "b"], "the other one has room");
    let mut scene = full_scene_that_refused(&["a", "b"]);
    scene.remove_policy("p");
    assert_eq!(scene.woken(), ["a", "b"], "no policy governs the pods");
}

#[test]
fn a_strategy_edited_to_prefer_requeues_all_refused_pods() {
    let mut scene = full_scene_that_refused(&["a", "b"]);
    scene.set_policy("p", prefer([unit("a", 1, 2, "zone=a")]));
    assert_eq!(scene.woken(), ["a", "b"]);
}

#[test]
fn pods_that_need_no_node_any_more_are_not_woken() {
    let mut scene = full_scene_that_refused(&["gone", "bound", "waiting"]);
    scene.remove_pod("gone");
    scene.set_pod("bound", &on("n-b", pod("app=a")));
    scene.set_policy("p", required([unit("a", 1, None, "zone=a")]));
    assert_eq!(scene.woken(), ["waiting"]);
}

#[test]
fn a_pod_is_woken_though_the_policy_would_allow_nodes_outside_that_it_does_not_fit_on() {
    let mut scene = Scene::new(prefer([unit("a", 1, 1, "zone=a")]), &ZONES);
    scene.fill("n-a", 1, &pod("app=a"));
    scene.set_pod("new", &pod("app=a"));
    scene.filter("new", &["n-a"]).unwrap();
    scene.remove_pod("n-a-0");
    assert_eq!(scene.woken(), ["new"]);
}

#[test]
fn a_pod_that_was_put_off_until_its_binding_was_settled_is_woken_when_it_was_not_bound() {
    for has_room in [true, false] {
        let mut scene = full_scene();
        scene.remove_pod("n-a-0");
        scene.set_pod("one", &pod("app=a"));
        let (id, confirmed) = scene.bind("one", "n-a");
        scene.ledger.settle(id, BindOutcome::Unknown);
        assert_eq!(scene.woken(), [""; 0]);
        let put_off = scene.filter("one", &ALL).unwrap_err();
        let expected = "no ResourcePolicy decides on a pod that is on a node or being bound to one";
        assert_eq!(put_off, expected);
        if !has_room {
            scene.set_policy("p", required([unit("a", 1, 0, "zone=a")]));
        }
        let unbound = Pod { uid: Some("one".into()), ..pod("app=a") };
        assert!(scene.ledger.settle_by_read(id, Some(&unbound), confirmed.ends_by));
        assert_eq!(scene.woken(), ["one"], "to get the result of its request");
    }
}

#[test]
fn a_new_node_requeues_the_pods_that_may_use_it() {
    let units = || [unit("capped", 2, 1, "zone=a"), unit("any", 1, None, "zone=c")];
    for (policy, labels, expected) in [
        (required(units()), "zone=c", &["a", "b"][..]),
        (required(units()), "zone=a", &[]),
        (required(units()), "zone=z", &[]),
        (prefer(units()), "zone=z", &["a", "b"]),
    ] {
        let mut scene = Scene::new(policy, &[("n-a", "zone=a")]);
        scene.fill("n-a", 1, &pod("app=a"));
        for name in ["a", "b"] {
            scene.set_pod(name, &pod("app=a"));
            scene.filter(name, &["n-a"]).unwrap();
        }
        scene.set_node("n-new", labels);
        assert_eq!(scene.woken(), expected, "{labels}");
        scene.remove_node("n-new");
        assert_eq!(scene.woken(), [""; 0]);
        for name in ["a", "b"] {
            scene.filter(name, &["n-a"]).unwrap();
        }
        scene.set_node("n-new", labels);
        assert_eq!(scene.woken(), expected, "registered again, {labels}");
    }
}

#[test]
fn a_new_leader_requeues_only_pods_rejected_in_the_term_before() {
    let mut scene = full_scene();
    let refused = Pod { is_refused: true, ..pod("app=a") };
    scene.set_pod("refused", &refused);
    scene.set_pod("never-tried", &pod("app=a"));
    scene.set_pod("freed", &Pod { is_refused: true, ..pod("app=z") });
    scene.set_pod("going", &Pod { deleted: Some(second(0)), ..refused.clone() });
    scene.set_pod("bound", &on("n-b", refused));
    scene.ledger.acquire_leadership(2, scene.now, LONGEST_BIND);
    scene.remove_pod("n-a-0");
    scene.now = LONGEST_BIND.after(scene.now);
    scene.ledger.serve(scene.now).unwrap();
    assert_eq!(scene.woken(), ["freed", "refused"]);
}

#[test]
fn a_change_wakes_each_pod_once_and_pods_that_wake_do_not_wake_each_other() {
    let mut scene = full_scene_that_refused(&["a", "b", "c"]);
    scene.set_policy("p", required([unit("a", 1, 3, "zone=a")]));
    // There is free capacity, but no requeued pod fits there.
    for name in ["a", "b", "c"] {
        assert_eq!(scene.woken(), [name]);
        scene.filter(name, &["n-b"]).unwrap();
    }
    assert_eq!(scene.woken(), [""; 0]);
    scene.now = scene.now + Duration::from_mins(10);
    assert_eq!(scene.woken(), [""; 0]);
    scene.remove_pod("n-a-0");
    assert_eq!(scene.woken(), ["a", "b"], "that is another change");
}

#[test]
fn pods_that_do_not_come_back_keep_others_waiting_less_and_less() {
    let mut scene = full_scene();
    let names: Vec<String> = (0..15).map(|number| format!("pod-{number:02}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    refused(&mut scene, &all);
    scene.remove_pod("n-a-0");
    let mut woken = Vec::new();
    for _ in 0..4 {
        woken.push(scene.woken().len());
        scene.now = scene.now + Duration::from_secs(30);
    }
    assert_eq!(woken, [1, 2, 4, 8]);
    assert_eq!(scene.woken(), [""; 0]);
}

#[test]
fn a_pod_that_is_on_its_way_keeps_the_place_it_was_woken_for() {
    let mut scene = full_scene_that_refused(&["a", "b"]);
    scene.remove_pod("n-a-0");
    assert_eq!(scene.woken(), ["a"]);
    scene.filter("a", &ALL).unwrap();
    assert_eq!(scene.woken(), [""; 0], "it has a lease");
    scene.bind("a", "n-a");
    assert_eq!(scene.woken(), [""; 0]);
    scene.now = scene.now + LEASE;
    assert_eq!(scene.woken(), [""; 0]);
    scene.remove_pod("n-a-1");
    assert_eq!(scene.woken(), ["b"]);
    scene.filter("b", &ALL).unwrap();
    refused(&mut scene, &["c"]);
    assert_eq!(scene.woken(), [""; 0], "it was sent there as well, since b may never be bound");
}

#[test]
fn lowering_a_cap_requeues_no_pod() {
    for strategy in [required, prefer] {
        let units = |max| [unit("a", 1, max, "zone=a"), unit("any", 1, None, "zone=c")];
        let mut scene = Scene::new(strategy(units(3).to_vec()), &[("n-a", "zone=a")]);
        scene.fill("n-a", 3, &pod("app=a"));
        scene.set_pod("new", &pod("app=a"));
        scene.filter("new", &["n-a"]).unwrap();
        scene.set_policy("p", strategy(units(2).to_vec()));
        assert_eq!(scene.woken(), [""; 0]);
    }
}

#[test]
fn a_pod_that_could_not_be_requeued_is_returned_again() {
    let mut scene = full_scene_that_refused(&["a", "b"]);
    scene.remove_pod("n-a-0");
    assert_eq!(scene.woken(), ["a"]);
    scene.ledger.wake_again(&pod_name("a"));
    assert_eq!(scene.woken()[0], "a");
    scene.ledger.wake_again(&pod_name("n-a-1"));
    assert!(!scene.woken().contains(&"n-a-1".to_owned()), "it is on a node");
}

#[test]
fn a_pod_that_is_refused_keeps_no_place_that_it_was_sent_to_before() {
    let mut scene = Scene::new(required([unit("a", 1, 1, "zone=a")]), &[("n-a", "zone=a")]);
    scene.set_pod("new", &pod("app=a"));
    scene.filter("new", &["n-a"]).unwrap();
    scene.fill("n-a", 1, &pod("app=a"));
    assert_eq!(scene.filter("new", &["n-a"]).unwrap(), [Verdict::Full]);
    scene.remove_pod("n-a-0");
    assert_eq!(scene.woken(), ["new"], "it would wait for its own lease to end");
}
