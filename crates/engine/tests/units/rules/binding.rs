//! Reserving and settling.

use std::sync::Arc;

use almanac_engine::units::{BindOutcome, Bound, DeletionCost, Pod, Unreserved, Verdict};
use jiff::Timestamp;

use crate::support::{
    LONGEST_BIND, Scene, node, on, pod, pod_name, policy_name, prefer, required, unit,
};

const ZONES: [(&str, &str); 3] = [("n-a", "zone=a"), ("n-b", "zone=b"), ("n-x", "")];

fn scene_with_room_for(max: u32) -> Scene {
    let mut scene = Scene::new(required([unit("a", 5, max, "zone=a")]), &ZONES);
    for name in ["one", "two"] {
        scene.set_pod(name, &pod("app=a"));
    }
    scene
}

fn seen(name: &str, pod: Pod) -> Pod {
    Pod { uid: Some(name.into()), ..pod }
}

#[test]
fn a_pod_counts_from_the_moment_it_is_reserved() {
    let mut scene = scene_with_room_for(1);
    let reserved = scene.reserve("one", "n-a").unwrap();
    assert_eq!(scene.counts("p"), (vec![1], 0));
    let refused = scene.reserve("two", "n-a").unwrap_err();
    assert!(matches!(refused, Unreserved::Full { used: 1, max: 1, .. }));
    assert_eq!(refused.to_string(), "unit \"a\" of ResourcePolicy shop/p is full: 1 of 1 pods");
    scene.ledger.settle(reserved.id, BindOutcome::Failed);
    assert_eq!(scene.counts("p"), (vec![], 0));
    assert!(scene.reserve("two", "n-a").is_ok());
}

#[test]
fn what_is_written_with_a_binding_names_policy_unit_and_cost() {
    let units = [unit("a", 5, None, "zone=a")];
    let mut scene = Scene::new(prefer(units), &ZONES);
    for (name, pod, node, unit, cost) in [
        ("one", pod("app=a"), "n-a", Some("a"), Some(600)),
        ("two", pod("app=a"), "n-x", None, Some(0)),
        ("own", Pod { cost: DeletionCost::Others, ..pod("app=a") }, "n-a", Some("a"), None),
        ("set", Pod { owner: None, ..pod("app=a") }, "n-a", Some("a"), None),
    ] {
        scene.set_pod(name, &pod);
        let bound = scene.reserve(name, node).unwrap().bound;
        let unit = unit.map(Arc::from);
        assert_eq!(bound, Some(Bound { policy: policy_name("p"), unit, cost }), "{name}");
    }
}

#[test]
fn the_unit_is_that_of_the_node_at_the_moment_of_binding() {
    let mut scene = scene_with_room_for(1);
    assert_eq!(scene.filter("one", &["n-a", "n-b"]).unwrap()[0], Verdict::Chosen);
    scene.ledger.set_node("n-a", &node("zone=b"));
    let refused = scene.reserve("one", "n-a").unwrap_err();
    assert_eq!(refused, Unreserved::Outside { policy: policy_name("p") });
}

#[test]
fn a_timeout_holds_the_place_until_a_late_enough_read_settles_it() {
    let mut scene = scene_with_room_for(1);
    let reserved = scene.reserve("one", "n-a").unwrap();
    assert_eq!(reserved.ends_by, scene.now + LONGEST_BIND);
    scene.ledger.settle(reserved.id, BindOutcome::Unknown);
    assert_eq!(scene.counts("p"), (vec![1], 0));
    assert_eq!(scene.ledger.unsettled(scene.now).count(), 0, "it may still be under way");
    let unbound = seen("one", pod("app=a"));
    assert!(!scene.ledger.settle_by_read(reserved.id, Some(&unbound), scene.now));
    assert_eq!(scene.counts("p"), (vec![1], 0), "the read was begun too early to say");
    assert_eq!(scene.ledger.next_unsettled(), Some(reserved.ends_by));
    let unsettled: Vec<_> = scene.ledger.unsettled(reserved.ends_by).collect();
    assert_eq!((unsettled[0].id, &unsettled[0].pod), (reserved.id, &pod_name("one")));
    assert!(scene.ledger.settle_by_read(reserved.id, Some(&unbound), reserved.ends_by));
    assert_eq!(scene.counts("p"), (vec![], 0));
}

#[test]
fn a_read_that_shows_the_pod_bound_or_gone_settles_at_any_time() {
    for found in [Some(seen("one", on("n-a", pod("app=a")))), None] {
        let mut scene = scene_with_room_for(2);
        let reserved = scene.reserve("one", "n-a").unwrap();
        assert!(scene.ledger.settle_by_read(reserved.id, found.as_ref(), scene.now));
        assert_eq!(scene.ledger.reservations(), 0);
        let counted = scene.ledger.report(&policy_name("p")).unwrap().groups.len();
        assert_eq!(counted, usize::from(found.is_some()));
    }
}

#[test]
fn a_watch_that_is_behind_does_not_give_a_place_away() {
    let mut scene = scene_with_room_for(1);
    let reserved = scene.reserve("one", "n-a").unwrap();
    scene.ledger.settle(reserved.id, BindOutcome::Posted);
    scene.set_pod("one", &pod("app=a,edited=before-it-was-bound"));
    assert_eq!(scene.counts("p"), (vec![1], 0));
    assert!(scene.reserve("two", "n-a").is_err());
    scene.set_pod("one", &on("n-a", pod("app=a")));
    assert_eq!((scene.counts("p"), scene.ledger.reservations()), ((vec![1], 0), 0));
}

#[test]
fn a_pod_that_somebody_else_has_bound_counts_where_it_is() {
    let mut scene = scene_with_room_for(1);
    scene.reserve("one", "n-a").unwrap();
    scene.set_pod("one", &on("n-x", pod("app=a")));
    assert_eq!((scene.counts("p"), scene.ledger.reservations()), ((vec![0], 1), 0));
}

#[test]
fn a_pod_is_bound_once() {
    let mut scene = scene_with_room_for(5);
    scene.reserve("one", "n-a").unwrap();
    let under_way = Unreserved::UnderWay { node: "n-a".into() };
    assert_eq!(scene.reserve("one", "n-a").unwrap_err(), under_way);
    scene.set_pod("one", &on("n-a", pod("app=a")));
    let bound = Unreserved::AlreadyBound { node: "n-a".into() };
    assert_eq!(scene.reserve("one", "n-a").unwrap_err(), bound);
}

#[test]
fn what_cannot_be_bound_is_refused_with_the_reason() {
    let mut scene = scene_with_room_for(5);
    let now = Some(Timestamp::UNIX_EPOCH);
    scene.set_pod("going", &Pod { deleted: now, ..pod("app=a") });
    assert_eq!(scene.reserve("going", "n-a").unwrap_err(), Unreserved::NotPending);
    assert_eq!(scene.reserve("nobody", "n-a").unwrap_err(), Unreserved::UnknownPod);
    assert_eq!(scene.reserve("one", "n-z").unwrap_err(), Unreserved::UnknownNode);
    let other = Arc::from("another");
    let refused =
        scene.ledger.reserve(&pod_name("one"), Some(&other), "n-a", scene.now, LONGEST_BIND);
    assert_eq!(refused.unwrap_err(), Unreserved::UnknownPod, "it is another pod of this name");
}

#[test]
fn a_pod_that_is_made_anew_under_the_same_name_has_nothing_reserved() {
    let mut scene = scene_with_room_for(1);
    let reserved = scene.reserve("one", "n-a").unwrap();
    scene.ledger.set_pod(&pod_name("one"), &seen("anew", pod("app=a")));
    assert_eq!(scene.ledger.reservations(), 0);
    assert!(scene.reserve("two", "n-a").is_ok());
    scene.ledger.settle(reserved.id, BindOutcome::Failed);
    assert_eq!(scene.counts("p"), (vec![1], 0), "the answer is about a pod that is gone");
}

#[test]
fn a_pod_that_is_being_bound_moves_when_its_node_is_relabelled() {
    let units = [unit("a", 2, None, "zone=a"), unit("b", 1, None, "zone=b")];
    let mut scene = Scene::new(prefer(units), &ZONES);
    scene.set_pod("one", &pod("app=a"));
    scene.reserve("one", "n-a").unwrap();
    scene.ledger.set_node("n-a", &node("zone=b"));
    assert_eq!(scene.counts("p"), (vec![0, 1], 0));
    scene.ledger.remove_node("n-a", None);
    assert_eq!(scene.counts("p"), (vec![0, 0], 1));
    scene.set_pod("one", &on("n-a", pod("app=a")));
    assert_eq!(scene.counts("p"), (vec![0, 0], 1));
}
