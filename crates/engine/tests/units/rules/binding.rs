//! Reserving, confirming and settling.

use std::sync::Arc;

use almanac_engine::units::{
    BindOutcome, Bound, DeletionCost, Node, Pod, ReservationId, ReserveError, Verdict,
};
use jiff::Timestamp;

use crate::support::{
    LONGEST_BIND, Scene, grouped_by, node, on, owned_by, pod, pod_name, policy_name, prefer,
    required, second, selector, unit,
};

const ZONES: [(&str, &str); 3] = [("n-a", "zone=a"), ("n-b", "zone=b"), ("n-x", "")];

fn scene_with_room_for(max: u32) -> Scene {
    let mut scene = Scene::new(required([unit("a", 5, max, "zone=a")]), &ZONES);
    scene.set_pods(&["one", "two"], &pod("app=a"));
    scene
}

fn with_uid(name: &str, pod: Pod) -> Pod {
    Pod { uid: Some(name.into()), ..pod }
}

fn version(version: u64, pod: Pod) -> Pod {
    Pod { version: Some(version), ..pod }
}

/// Reads the pod and the node at a version, and reserves by these reads.
fn reserve_at(scene: &mut Scene, name: &str, read: &Pod) -> Result<ReservationId, ReserveError> {
    let read = with_uid(name, read.clone());
    let node = ("n-a", &node("zone=a"));
    scene.ledger.reserve((&pod_name(name), &read), node, scene.now, LONGEST_BIND)
}

#[test]
fn a_pod_counts_from_the_moment_it_is_reserved() {
    let mut scene = scene_with_room_for(1);
    let id = scene.reserve("one", "n-a").unwrap();
    assert_eq!(scene.counts("p"), (vec![1], 0));
    let refused = scene.reserve("two", "n-a").unwrap_err();
    assert!(matches!(refused, ReserveError::Full { used: 1, max: 1, .. }));
    assert_eq!(refused.to_string(), "unit \"a\" of ResourcePolicy shop/p is full: 1 of 1 pod");
    scene.ledger.settle(id, BindOutcome::Failed);
    assert_eq!(scene.counts("p"), (vec![], 0));
    assert!(scene.reserve("two", "n-a").is_ok());
}

#[test]
fn the_annotations_of_a_binding_name_policy_unit_and_cost() {
    let units = [unit("a", 5, None, "zone=a")];
    let mut scene = Scene::new(prefer(units), &ZONES);
    let other = Arc::new(owned_by("extensions.example.com", "ReplicaSet"));
    for (name, pod, node, unit, cost) in [
        ("one", pod("app=a"), "n-a", Some("a"), Some(600)),
        ("two", pod("app=a"), "n-x", None, Some(0)),
        ("own", Pod { cost: DeletionCost::Others(7), ..pod("app=a") }, "n-a", Some("a"), None),
        ("set", Pod { owner: None, ..pod("app=a") }, "n-a", Some("a"), None),
        ("kind", Pod { owner: Some(other), ..pod("app=a") }, "n-a", Some("a"), None),
    ] {
        scene.set_pod(name, &pod);
        let (_, confirmed) = scene.bind(name, node);
        let unit = unit.map(Arc::from);
        assert_eq!(confirmed.uid.as_deref(), Some(name));
        let bound = Some(Bound { policy: policy_name("p"), unit, cost });
        assert_eq!(confirmed.bound, bound, "{name}");
    }
}

#[test]
fn the_unit_is_that_of_the_node_at_the_moment_of_binding() {
    let mut scene = scene_with_room_for(1);
    assert_eq!(scene.filter("one", &["n-a", "n-b"]).unwrap()[0], Verdict::Chosen);
    scene.set_node("n-a", "zone=b");
    let refused = scene.reserve("one", "n-a").unwrap_err();
    assert_eq!(refused, ReserveError::Outside { policy: policy_name("p") });
}

#[test]
fn a_read_of_a_node_or_pod_overrides_an_older_watch() {
    let mut scene = scene_with_room_for(1);
    let versioned = |version, text| Node { version: Some(version), ..node(text) };
    scene.ledger.set_node("n-a", &versioned(3, "zone=a"));
    let name = pod_name("one");
    let read = with_uid("one", pod("app=a"));
    let relabeled = ("n-a", &versioned(5, "zone=b"));
    let refused = scene.ledger.reserve((&name, &read), relabeled, scene.now, LONGEST_BIND);
    assert_eq!(refused.unwrap_err(), ReserveError::Outside { policy: policy_name("p") });
    let late = ("n-a", &versioned(4, "zone=a"));
    let refused = scene.ledger.reserve((&name, &read), late, scene.now, LONGEST_BIND);
    assert!(refused.is_err(), "the watch, or another read, is ahead of this one");
    let gone = with_uid("one", Pod { deleted: Some(second(0)), ..pod("app=a") });
    let back = ("n-a", &versioned(6, "zone=a"));
    let refused = scene.ledger.reserve((&name, &gone), back, scene.now, LONGEST_BIND);
    assert_eq!(refused.unwrap_err(), ReserveError::NotPending);
}

#[test]
fn a_binding_is_conditional_on_the_version_that_was_read() {
    let mut scene = scene_with_room_for(2);
    let id = reserve_at(&mut scene, "one", &version(7, pod("app=a"))).unwrap();
    assert_eq!(scene.confirm(id).unwrap().version, Some(7));
    scene.set_pod("two", &version(9, pod("app=a")));
    let id = reserve_at(&mut scene, "two", &version(8, pod("app=z"))).unwrap();
    assert_eq!(scene.confirm(id).unwrap().version, Some(9), "the watch is ahead");
    assert_eq!(scene.counts("p"), (vec![2], 0), "and knows its labels");
}

#[test]
fn a_pod_that_is_seen_without_a_node_at_a_later_version_was_not_bound() {
    let mut scene = scene_with_room_for(1);
    let id = reserve_at(&mut scene, "one", &version(7, pod("app=a"))).unwrap();
    scene.confirm(id).unwrap();
    scene.ledger.settle(id, BindOutcome::Unknown);
    scene.set_pod("one", &version(6, pod("app=a")));
    assert_eq!(scene.counts("p"), (vec![1], 0), "that is from before");
    scene.set_pod("one", &version(8, pod("app=a,edited=since")));
    assert_eq!((scene.counts("p"), scene.ledger.reservations()), ((vec![], 0), 0));
    assert!(scene.reserve("two", "n-a").is_ok());
}

#[test]
fn a_change_before_a_binding_is_posted_withdraws_it() {
    type Change = fn(&mut Scene);
    let changes: [(&str, Change, ReserveError); 8] = [
        ("lead", |scene| scene.ledger.lose_leadership(), ReserveError::NotServing),
        (
            "cap",
            |scene| scene.set_policy("p", required([unit("a", 5, 0, "zone=a")])),
            ReserveError::Full {
                policy: policy_name("p"),
                unit: "a".into(),
                used: 0,
                kept: 0,
                max: 0,
            },
        ),
        (
            "units",
            |scene| scene.set_policy("p", required([unit("b", 5, 1, "zone=b")])),
            ReserveError::Outside { policy: policy_name("p") },
        ),
        (
            "conflict",
            |scene| scene.set_policy("q", prefer([unit("b", 5, 1, "zone=b")])),
            ReserveError::Conflict([policy_name("p"), policy_name("q")].into()),
        ),
        (
            "labels",
            |scene| scene.set_node("n-a", "zone=b"),
            ReserveError::Outside { policy: policy_name("p") },
        ),
        ("node", |scene| scene.remove_node("n-a"), ReserveError::UnknownNode),
        (
            "deleted",
            |scene| scene.set_pod("one", &Pod { deleted: Some(second(0)), ..pod("app=a") }),
            ReserveError::NotPending,
        ),
        ("gone", |scene| scene.remove_pod("one"), ReserveError::Withdrawn),
    ];
    for (what, change, why) in changes {
        let mut scene = scene_with_room_for(1);
        let id = scene.reserve("one", "n-a").unwrap();
        change(&mut scene);
        assert_eq!(scene.confirm(id).unwrap_err(), why, "{what}");
        assert_eq!(scene.ledger.reservations(), 0, "{what}");
        assert_eq!(scene.confirm(id).unwrap_err(), ReserveError::Withdrawn, "{what}");
    }
}

#[test]
fn a_binding_that_is_posted_late_or_twice_is_not_confirmed() {
    let mut scene = scene_with_room_for(2);
    let late = scene.reserve("one", "n-a").unwrap();
    scene.now = LONGEST_BIND.after(scene.now);
    assert_eq!(scene.confirm(late).unwrap_err(), ReserveError::Withdrawn);
    let (id, confirmed) = scene.bind("one", "n-a");
    assert_eq!(confirmed.ends_by, LONGEST_BIND.after(scene.now), "counted from when it is sent");
    assert_eq!(scene.confirm(id).unwrap_err(), ReserveError::UnderWay { node: "n-a".into() });
    assert_eq!(scene.counts("p"), (vec![1], 0), "the first one is under way");
}

#[test]
fn a_lowered_cap_withdraws_one_of_two_reservations() {
    let mut scene = scene_with_room_for(2);
    let one = scene.reserve("one", "n-a").unwrap();
    let two = scene.reserve("two", "n-a").unwrap();
    scene.set_policy("p", required([unit("a", 5, 1, "zone=a")]));
    assert!(matches!(scene.confirm(one), Err(ReserveError::Full { used: 1, max: 1, .. })));
    assert!(scene.confirm(two).is_ok());
}

#[test]
fn a_posted_binding_follows_the_current_policy() {
    let mut scene = scene_with_room_for(1);
    let id = scene.reserve("one", "n-a").unwrap();
    scene.set_policy("p", required([unit("new", 2, 1, "zone=a")]));
    let bound = scene.confirm(id).unwrap().bound.unwrap();
    assert_eq!((bound.unit.as_deref(), bound.cost), (Some("new"), Some(300)));
}

#[test]
fn a_timeout_holds_the_place_until_a_late_enough_read_settles_it() {
    let mut scene = scene_with_room_for(1);
    let (id, confirmed) = scene.bind("one", "n-a");
    let ends_by = confirmed.ends_by;
    scene.ledger.settle(id, BindOutcome::Unknown);
    assert_eq!(scene.counts("p"), (vec![1], 0));
    assert_eq!(scene.ledger.unsettled(scene.now).count(), 0, "it may still be under way");
    let unbound = with_uid("one", pod("app=a"));
    assert!(!scene.ledger.settle_by_read(id, Some(&unbound), scene.now));
    assert_eq!(scene.counts("p"), (vec![1], 0), "the read was begun too early to say");
    assert_eq!(scene.ledger.next_unsettled(), Some(ends_by));
    let unsettled: Vec<_> = scene.ledger.unsettled(ends_by).collect();
    assert_eq!((unsettled[0].id, &unsettled[0].pod), (id, &pod_name("one")));
    assert!(scene.ledger.settle_by_read(id, Some(&unbound), ends_by));
    assert_eq!(scene.counts("p"), (vec![], 0));
}

#[test]
fn a_read_of_a_bound_or_deleted_pod_settles_at_any_time() {
    for found in [Some(with_uid("one", on("n-a", pod("app=a")))), None] {
        let mut scene = scene_with_room_for(2);
        let (id, _) = scene.bind("one", "n-a");
        assert!(scene.ledger.settle_by_read(id, found.as_ref(), scene.now));
        assert_eq!(scene.ledger.reservations(), 0);
        let counted = scene.ledger.report(&policy_name("p")).unwrap().groups.len();
        assert_eq!(counted, usize::from(found.is_some()));
    }
}

#[test]
fn a_late_watch_event_releases_no_permit() {
    let mut scene = scene_with_room_for(1);
    let id = reserve_at(&mut scene, "one", &version(7, pod("app=a"))).unwrap();
    scene.confirm(id).unwrap();
    scene.ledger.settle(id, BindOutcome::Posted);
    scene.set_pod("one", &version(7, pod("app=a")));
    assert_eq!(scene.counts("p"), (vec![1], 0));
    assert!(scene.reserve("two", "n-a").is_err());
    scene.set_pod("one", &version(8, on("n-a", pod("app=a"))));
    assert_eq!((scene.counts("p"), scene.ledger.reservations()), ((vec![1], 0), 0));
}

#[test]
fn a_pod_that_another_scheduler_bound_counts_on_its_node() {
    let mut scene = scene_with_room_for(1);
    scene.reserve("one", "n-a").unwrap();
    scene.set_pod("one", &on("n-x", pod("app=a")));
    assert_eq!((scene.counts("p"), scene.ledger.reservations()), ((vec![0], 1), 0));
}

#[test]
fn a_pod_is_bound_once() {
    let mut scene = scene_with_room_for(5);
    scene.reserve("one", "n-a").unwrap();
    let under_way = ReserveError::UnderWay { node: "n-a".into() };
    assert_eq!(scene.reserve("one", "n-a").unwrap_err(), under_way);
    scene.set_pod("one", &on("n-a", pod("app=a")));
    let bound = ReserveError::AlreadyBound { node: "n-a".into() };
    assert_eq!(scene.reserve("one", "n-a").unwrap_err(), bound);
}

#[test]
fn an_impossible_binding_is_refused_with_the_reason() {
    let mut scene = scene_with_room_for(5);
    let now = Some(Timestamp::UNIX_EPOCH);
    scene.set_pod("going", &Pod { deleted: now, ..pod("app=a") });
    assert_eq!(scene.reserve("going", "n-a").unwrap_err(), ReserveError::NotPending);
    scene.ledger.replace_pods([], Some(9));
    let gone = reserve_at(&mut scene, "one", &version(8, pod("app=a")));
    assert_eq!(gone.unwrap_err(), ReserveError::UnknownPod, "the list is newer than the read");
    let mut scene = scene_with_room_for(5);
    scene.ledger.set_pod(&pod_name("one"), &with_uid("anew", version(9, pod("app=a"))));
    let other = reserve_at(&mut scene, "one", &version(8, pod("app=a")));
    assert_eq!(other.unwrap_err(), ReserveError::UnknownPod, "another pod has this name by now");
}

#[test]
fn a_recreated_pod_of_the_same_name_has_no_reservation() {
    let mut scene = scene_with_room_for(1);
    let id = scene.reserve("one", "n-a").unwrap();
    scene.ledger.set_pod(&pod_name("one"), &with_uid("anew", pod("app=a")));
    assert_eq!(scene.ledger.reservations(), 0);
    assert!(scene.reserve("two", "n-a").is_ok());
    scene.ledger.settle(id, BindOutcome::Failed);
    assert_eq!(scene.counts("p"), (vec![1], 0), "the answer is about a pod that is gone");
}

#[test]
fn a_pod_that_is_being_bound_moves_when_its_node_is_relabeled() {
    let units = [unit("a", 2, None, "zone=a"), unit("b", 1, None, "zone=b")];
    let mut scene = Scene::new(prefer(units), &ZONES);
    scene.set_pod("one", &pod("app=a"));
    scene.reserve("one", "n-a").unwrap();
    scene.set_node("n-a", "zone=b");
    assert_eq!(scene.counts("p"), (vec![0, 1], 0));
    scene.set_pod("one", &on("n-a", pod("app=a")));
    assert_eq!(scene.counts("p"), (vec![0, 1], 0));
}

#[test]
fn a_pod_takes_a_place_under_the_labels_that_its_binding_may_give_it() {
    const ZONE: &str = "topology.kubernetes.io/zone";
    let policy = grouped_by(&[ZONE], required([unit("a", 5, 1, "pool=x")]));
    let there = format!("pool=x,{ZONE}=eu-1");
    let mut scene = Scene::new(policy.clone(), &[("n-1", &there), ("n-2", &there)]);
    let bound = pod(&format!("app=a,{ZONE}=eu-1"));
    scene.set_pod("one", &on("n-1", bound.clone()));
    scene.set_pod("two", &pod("app=a"));
    let full = scene.reserve("two", "n-2").unwrap_err();
    assert!(matches!(full, ReserveError::Full { used: 1, max: 1, .. }), "of that zone: {full}");
    scene.remove_pod("one");
    let (id, _) = scene.bind("two", "n-2");
    scene.set_pod("one", &bound);
    assert!(scene.reserve("one", "n-1").is_err(), "two is counted in that zone already");
    scene.set_pod("two", &on("n-2", bound));
    let counted = scene.ledger.report(&policy_name("p")).unwrap().groups;
    assert_eq!((counted.len(), counted[0].units[0].used), (1, 1));
    assert_eq!(scene.ledger.reservations(), 0);
    scene.ledger.settle(id, BindOutcome::Posted);
    // A policy that selects a pod only after its binding governs it as well.
    let by_zone = almanac_engine::units::ResourcePolicy {
        pod_selector: selector(&format!("app=a,{ZONE}=eu-1")),
        ..policy
    };
    let mut scene = Scene::new(by_zone, &[("n-1", &there), ("n-2", &there)]);
    scene.set_pod("one", &pod("app=a"));
    scene.set_pod("two", &pod("app=a"));
    scene.bind("one", "n-1");
    assert!(matches!(scene.reserve("two", "n-2"), Err(ReserveError::Full { .. })));
}

#[test]
fn a_pod_that_is_being_bound_comes_after_all_bound_pods() {
    let mut scene = scene_with_room_for(2);
    scene.set_pod("far", &on("n-a", Pod { bound: Some(Timestamp::MAX), ..pod("app=a") }));
    scene.reserve("one", "n-a").unwrap();
    scene.set_policy("p", required([unit("a", 5, 1, "zone=a")]));
    let is_over = |name: &str| {
        scene.ledger.explain(&pod_name(name)).unwrap().summary.ends_with("over its cap")
    };
    assert_eq!(["far", "one"].map(is_over), [false, true]);
}
