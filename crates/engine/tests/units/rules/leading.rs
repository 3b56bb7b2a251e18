//! The replica that decides, and the instant from which it does.

use almanac_engine::units::{
    Elapsed, FilterOutcome, Ledger, LedgerState, Node, NotServing, Pod, ReservationId,
    ReserveError, TooEarly,
};

use crate::support::{
    LEASE, LONGEST_BIND, Scene, at, node, on, pod, pod_name, policy_name, required, unit,
};

fn standby() -> Ledger {
    let mut ledger = Ledger::new();
    ledger.set_policy(&policy_name("p"), required([unit("a", 1, 1, "zone=a")]), None);
    ledger.set_node("n-a", &node("zone=a"));
    ledger.set_pod(&pod_name("one"), &Pod { uid: Some("one".into()), ..pod("app=a") });
    ledger
}

fn reserve(ledger: &mut Ledger, now: Elapsed) -> Result<ReservationId, ReserveError> {
    let read = Pod { uid: Some("one".into()), ..pod("app=a") };
    ledger.reserve((&pod_name("one"), &read), ("n-a", &node("zone=a")), now, LONGEST_BIND)
}

#[test]
fn a_standby_has_everything_and_decides_nothing() {
    let mut ledger = standby();
    let candidates = [ledger.node("n-a").unwrap()];
    let name = pod_name("one");
    let outcome = ledger.filter(&name, Some("one"), &candidates, at(0), LEASE);
    assert!(matches!(outcome, FilterOutcome::NotServing));
    assert_eq!(reserve(&mut ledger, at(0)).unwrap_err(), ReserveError::NotServing);
    assert_eq!(ledger.serve(at(9)), Err(TooEarly { until: None }));
    assert_eq!(ledger.scores(&name, Some("one"), &candidates), Err(NotServing));
    assert_eq!(ledger.preempt(&name, Some("one"), &[], at(0)), Err(NotServing));
}

#[test]
fn a_standby_returns_no_costs_and_no_pods_to_requeue_and_keeps_all() {
    let mut ledger = standby();
    ledger.set_pod(&pod_name("two"), &Pod { uid: Some("two".into()), ..on("n-a", pod("app=a")) });
    let waiting = Pod { uid: Some("one".into()), is_refused: true, ..pod("app=a") };
    ledger.set_pod(&pod_name("one"), &waiting);
    for _ in 0..2 {
        assert_eq!(ledger.cost_changes(), []);
        assert_eq!(ledger.cost_change(&pod_name("two")), None);
        ledger.remove_policy(&policy_name("p"), None);
        ledger.set_policy(&policy_name("p"), required([unit("a", 1, 2, "zone=a")]), None);
        assert_eq!(ledger.wake(at(0)), []);
        ledger.acquire_leadership(4, at(0), LONGEST_BIND);
    }
    ledger.serve(at(10)).unwrap();
    assert_eq!(ledger.cost_changes().len(), 1);
    assert_eq!(ledger.wake(at(10)), [pod_name("one")]);
}

#[test]
fn a_new_leader_waits_out_the_longest_bind_before_it_lists() {
    let mut ledger = standby();
    ledger.acquire_leadership(4, at(0), LONGEST_BIND);
    let until = at(10);
    assert_eq!(ledger.standing(), LedgerState::Waiting { generation: 4, until });
    assert_eq!(ledger.serve(at(9)), Err(TooEarly { until: Some(until) }));
    assert_eq!(ledger.serve(until), Ok(()));
    assert_eq!(ledger.standing(), LedgerState::Serving { generation: 4 });
    ledger.lose_leadership();
    assert_eq!(ledger.standing(), LedgerState::Standby);
}

#[test]
fn a_leader_that_returns_resolves_its_bindings_by_its_list() {
    let mut ledger = standby();
    ledger.acquire_leadership(1, at(0), LONGEST_BIND);
    ledger.serve(at(10)).unwrap();
    let id = reserve(&mut ledger, at(12)).unwrap();
    ledger.confirm(id, at(12), LONGEST_BIND).unwrap();
    ledger.lose_leadership();
    assert_eq!(ledger.reservations(), 1, "it might still be applied");
    ledger.acquire_leadership(3, at(15), LONGEST_BIND);
    ledger.serve(at(25)).unwrap();
    assert_eq!(ledger.reservations(), 0, "by the list, the pod was not bound");
}

#[test]
fn a_list_removes_absent_objects_unless_they_are_newer() {
    let mut scene = Scene::new(required([unit("a", 1, 5, "zone=a")]), &[("n-a", "zone=a")]);
    let at = |version: u64| Pod { version: Some(version), ..pod("app=a") };
    for (name, version) in [("old", 3), ("listed", 4), ("newer", 9)] {
        scene.ledger.read_pod(&pod_name(name), &at(version));
    }
    let (listed, pod) = (pod_name("listed"), at(4));
    scene.ledger.replace_pods([(&listed, &pod)], Some(6));
    let has = ["old", "listed", "newer"].map(|name| scene.ledger.has_pod(&pod_name(name)));
    assert_eq!(has, [false, true, true]);
    scene.ledger.replace_nodes([("n-b", &node("zone=a"))], Some(7));
    assert!(scene.ledger.node("n-a").is_none() && scene.ledger.node("n-b").is_some());
}

#[test]
fn a_returning_leader_lists_all_unwritten_costs() {
    let mut ledger = standby();
    let bound = Pod { uid: Some("two".into()), ..on("n-a", pod("app=a")) };
    ledger.set_pod(&pod_name("two"), &bound);
    ledger.acquire_leadership(1, at(0), LONGEST_BIND);
    ledger.serve(at(10)).unwrap();
    assert_eq!(ledger.cost_changes().len(), 1);
    assert_eq!(ledger.cost_changes().len(), 0, "that is named already");
    ledger.acquire_leadership(3, at(15), LONGEST_BIND);
    ledger.serve(at(25)).unwrap();
    assert_eq!(ledger.cost_changes().len(), 1, "it may have been named and not written");
}

#[test]
fn later_watch_events_are_newer_than_a_list() {
    let mut scene = Scene::new(required([unit("a", 1, 5, "zone=a")]), &[]);
    let name = pod_name("one");
    let pod_at = |version, pod| Pod { version: Some(version), uid: Some("one".into()), ..pod };
    let node_at = |version| Node { version: Some(version), ..node("zone=a") };
    let units = |max| required([unit("a", 1, max, "zone=a")]);
    scene.ledger.replace_pods([(&name, &pod_at(2, pod("app=a")))], Some(3));
    scene.ledger.replace_nodes([("n-a", &node_at(2))], Some(3));
    scene.ledger.replace_policies([(policy_name("v"), units(1), Some(2))], Some(3));
    // Lists of an earlier version arrive after later watch events.
    scene.ledger.remove_pod(&name, Some(&"one".into()), Some(8));
    scene.ledger.remove_node("n-a", Some(8));
    scene.ledger.remove_policy(&policy_name("v"), Some(8));
    scene.ledger.set_policy(&policy_name("w"), units(9), Some(9));
    scene.ledger.replace_pods([(&name, &pod_at(2, pod("app=a")))], Some(7));
    scene.ledger.replace_nodes([("n-a", &node_at(2))], Some(7));
    let listed = [(policy_name("v"), units(1), Some(2)), (policy_name("w"), units(3), Some(4))];
    scene.ledger.replace_policies(listed, Some(7));
    assert!(!scene.ledger.has_pod(&name) && scene.ledger.node("n-a").is_none());
    assert!(scene.ledger.report(&policy_name("v")).is_none(), "it is gone");
    scene.ledger.set_policy(&policy_name("w"), units(2), Some(8));
    scene.ledger.set_node("n-a", &Node { version: Some(10), ..node("zone=a") });
    scene.ledger.set_pod(&name, &pod_at(11, on("n-a", pod("app=a"))));
    let report = scene.ledger.report(&policy_name("w")).unwrap();
    assert_eq!(report.groups[0].units[0].max, Some(9), "older news of a policy is passed over");
}

#[test]
fn a_restart_drops_all_versions_and_waits_for_new_lists() {
    let mut ledger = standby();
    ledger.acquire_leadership(1, at(0), LONGEST_BIND);
    ledger.serve(at(10)).unwrap();
    let name = pod_name("one");
    let pod_at = |version| Pod { version: Some(version), uid: Some("one".into()), ..pod("app=a") };
    ledger.set_pod(&name, &pod_at(900));
    let id = reserve(&mut ledger, at(12)).unwrap();
    ledger.start_over(at(20), LONGEST_BIND);
    assert_eq!(ledger.standing(), LedgerState::Waiting { generation: 1, until: at(30) });
    ledger.set_policy(&policy_name("p"), required([unit("a", 1, 1, "zone=a")]), Some(5));
    ledger.replace_nodes([("n-a", &node("zone=a"))], Some(7));
    ledger.replace_pods([(&name, &pod_at(6))], Some(7));
    ledger.serve(at(30)).unwrap();
    assert!(ledger.has_pod(&name));
    assert_ne!(id, reserve(&mut ledger, at(31)).unwrap(), "a name from before names nothing");
    assert_eq!(ledger.confirm(id, at(31), LONGEST_BIND).unwrap_err(), ReserveError::Withdrawn);
}
