//! Who decides, and from when on.

use almanac_engine::units::{Ledger, Pod, Ruling, Standing, TooEarly, Unreserved};

use crate::support::{
    LEASE, LONGEST_BIND, Scene, node, on, pod, pod_name, policy_name, required, second, unit,
};

fn standby() -> Ledger {
    let mut ledger = Ledger::new();
    ledger.set_policy(&policy_name("p"), required([unit("a", 1, 1, "zone=a")]));
    ledger.set_node("n-a", &node("zone=a"));
    ledger.set_pod(&pod_name("one"), &Pod { uid: Some("one".into()), ..pod("app=a") });
    ledger
}

#[test]
fn a_standby_knows_everything_and_decides_nothing() {
    let mut ledger = standby();
    let candidates = [ledger.node("n-a").unwrap()];
    let ruling = ledger.filter(&pod_name("one"), &candidates, second(0), LEASE);
    assert!(matches!(ruling, Ruling::NotServing));
    let uid = "one".into();
    let refused =
        ledger.reserve(&pod_name("one"), Some(&uid), "n-a", second(0), LONGEST_BIND).unwrap_err();
    assert_eq!(refused, Unreserved::NotServing);
    assert_eq!(ledger.serve(second(9)), Err(TooEarly { until: None }));
}

#[test]
fn a_new_leader_waits_out_the_longest_bind_before_it_lists() {
    let mut ledger = standby();
    ledger.take_lead(4, second(0), LONGEST_BIND);
    let until = second(10);
    assert_eq!(ledger.standing(), Standing::Waiting { generation: 4, until });
    assert_eq!(ledger.serve(second(9)), Err(TooEarly { until: Some(until) }));
    assert_eq!(ledger.serve(until), Ok(()));
    assert_eq!(ledger.standing(), Standing::Serving { generation: 4 });
    ledger.lose_lead();
    assert_eq!(ledger.standing(), Standing::Standby);
}

#[test]
fn whoever_regains_the_lead_knows_by_its_list_what_became_of_its_bindings() {
    let mut ledger = standby();
    ledger.take_lead(1, second(0), LONGEST_BIND);
    ledger.serve(second(10)).unwrap();
    let uid = "one".into();
    ledger.reserve(&pod_name("one"), Some(&uid), "n-a", second(12), LONGEST_BIND).unwrap();
    ledger.lose_lead();
    assert_eq!(ledger.reservations(), 1, "it may yet be carried out");
    ledger.take_lead(3, second(15), LONGEST_BIND);
    ledger.serve(second(25)).unwrap();
    assert_eq!(ledger.reservations(), 0, "the list shows that it was not");
}

#[test]
fn a_list_removes_what_it_does_not_have_unless_that_is_newer() {
    let mut scene = Scene::new(required([unit("a", 1, 5, "zone=a")]), &[("n-a", "zone=a")]);
    let at = |version: u64| Pod { version: Some(version), ..pod("app=a") };
    for (name, version) in [("old", 3), ("listed", 4), ("newer", 9)] {
        scene.ledger.read_pod(&pod_name(name), &at(version));
    }
    let (listed, pod) = (pod_name("listed"), at(4));
    scene.ledger.replace_pods([(&listed, &pod)], Some(6));
    let has = ["old", "listed", "newer"].map(|name| scene.ledger.has_pod(&pod_name(name)));
    assert_eq!(has, [false, true, true]);
    let gone = node("zone=a");
    scene.ledger.replace_nodes([("n-b", &gone)], Some(7));
    assert!(scene.ledger.node("n-a").is_none() && scene.ledger.node("n-b").is_some());
}

#[test]
fn whoever_regains_the_lead_names_all_costs_that_are_not_written() {
    let mut ledger = standby();
    let bound = Pod { uid: Some("two".into()), ..on("n-a", pod("app=a")) };
    ledger.set_pod(&pod_name("two"), &bound);
    assert_eq!(ledger.cost_changes().len(), 1);
    assert_eq!(ledger.cost_changes().len(), 0, "that is named already");
    ledger.take_lead(3, second(15), LONGEST_BIND);
    ledger.serve(second(25)).unwrap();
    assert_eq!(ledger.cost_changes().len(), 1, "it may have been named and not written");
}
