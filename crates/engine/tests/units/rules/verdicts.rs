//! The nodes to which a pod may go.

use almanac_engine::units::{Eviction, NodeId, Verdict};

use crate::support::{Scene, grouped_by, on, pod, pod_name, prefer, required, unit};

const ZONES: [(&str, &str); 3] = [("n-a", "zone=a"), ("n-b", "zone=b"), ("n-x", "")];
const ALL: [&str; 3] = ["n-a", "n-b", "n-x"];

fn two_units() -> Vec<almanac_engine::units::Unit> {
    vec![unit("low", 1, None, "zone=b"), unit("high", 5, 2, "zone=a")]
}

fn scores(scene: &Scene, pod: &str, candidates: &[NodeId]) -> Vec<u8> {
    scene.ledger.scores(&pod_name(pod), Some(pod), candidates).unwrap()
}

#[test]
fn the_nodes_of_the_best_unit_with_free_capacity_are_chosen() {
    let mut scene = Scene::new(required(two_units()), &ZONES);
    scene.set_pod("new", &pod("app=a"));
    let before = scene.verdicts_without_hold("new", &ALL).unwrap();
    assert_eq!(before, [Verdict::Chosen, Verdict::Lower, Verdict::Outside]);
    scene.fill("n-a", 2, &pod("app=a"));
    let full = scene.verdicts_without_hold("new", &ALL).unwrap();
    assert_eq!(full, [Verdict::Full, Verdict::Chosen, Verdict::Outside]);
    assert!(full[0].is_unresolvable() && full[2].is_unresolvable());
    assert!(!Verdict::Lower.is_unresolvable(), "a lower unit may be next");
}

#[test]
fn only_the_candidates_compete() {
    let mut scene = Scene::new(required(two_units()), &ZONES);
    scene.set_pod("new", &pod("app=a"));
    assert_eq!(scene.verdicts_without_hold("new", &["n-b"]).unwrap(), [Verdict::Chosen]);
    assert_eq!(scene.verdicts_without_hold("new", &["n-x"]).unwrap(), [Verdict::Outside]);
    assert_eq!(scene.verdicts_without_hold("new", &[]).unwrap(), []);
}

#[test]
fn units_of_equal_priority_are_chosen_together() {
    let units = [unit("one", 5, 1, "zone=a"), unit("two", 5, 1, "zone=b")];
    let mut scene = Scene::new(required(units), &ZONES);
    scene.set_pod("new", &pod("app=a"));
    let both = [Verdict::Chosen, Verdict::Chosen, Verdict::Outside];
    assert_eq!(scene.verdicts_without_hold("new", &ALL).unwrap(), both);
    scene.fill("n-a", 1, &pod("app=a"));
    assert_eq!(
        scene.verdicts_without_hold("new", &ALL).unwrap(),
        [Verdict::Full, Verdict::Chosen, Verdict::Outside]
    );
}

#[test]
fn with_prefer_nodes_outside_every_unit_come_last() {
    let mut scene = Scene::new(prefer([unit("only", 0, 1, "zone=a")]), &ZONES);
    scene.set_pod("new", &pod("app=a"));
    assert_eq!(
        scene.verdicts_without_hold("new", &ALL).unwrap(),
        [Verdict::Chosen, Verdict::Lower, Verdict::Lower]
    );
    scene.fill("n-a", 1, &pod("app=a"));
    assert_eq!(
        scene.verdicts_without_hold("new", &ALL).unwrap(),
        [Verdict::Full, Verdict::Chosen, Verdict::Chosen]
    );
}

#[test]
fn under_required_a_pod_is_pending_when_every_unit_is_full() {
    let mut scene = Scene::new(required([unit("only", 0, 1, "zone=a")]), &ZONES);
    scene.fill("n-a", 1, &pod("app=a"));
    scene.set_pod("new", &pod("app=a"));
    let verdicts = scene.verdicts_without_hold("new", &ALL).unwrap();
    assert_eq!(verdicts, [Verdict::Full, Verdict::Outside, Verdict::Outside]);
}

#[test]
fn a_cap_of_zero_closes_a_unit() {
    let units = [unit("shut", 9, 0, "zone=a"), unit("open", 0, None, "zone=b")];
    let mut scene = Scene::new(required(units), &ZONES);
    scene.set_pod("new", &pod("app=a"));
    let verdicts = scene.verdicts_without_hold("new", &ALL).unwrap();
    assert_eq!(verdicts, [Verdict::Closed, Verdict::Chosen, Verdict::Outside]);
    assert!(Verdict::Closed.is_unresolvable());
    let why = scene.reason("new", &ALL, "n-a");
    assert_eq!(why, "unit \"shut\" of ResourcePolicy shop/p is closed: its maxCount is 0");
}

#[test]
fn the_order_is_strict_among_five_thousand_nodes() {
    let nodes: Vec<(String, String)> =
        (0..5_000).map(|number| (format!("n-{number}"), format!("unit={}", number % 5))).collect();
    let pairs: Vec<(&str, &str)> = nodes.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let units: Vec<_> =
        (0..5).map(|it| unit(&format!("u{it}"), it, 1, &format!("unit={it}"))).collect();
    let mut scene = Scene::new(required(units), &pairs);
    let names: Vec<&str> = nodes.iter().map(|(name, _)| name.as_str()).collect();
    for best in (0..5).rev() {
        let pod_name = format!("new-{best}");
        scene.set_pod(&pod_name, &pod("app=a"));
        let verdicts = scene.verdicts_without_hold(&pod_name, &names).unwrap();
        for (number, verdict) in verdicts.into_iter().enumerate() {
            let expected = match (number % 5).cmp(&best) {
                std::cmp::Ordering::Greater => Verdict::Full,
                std::cmp::Ordering::Equal => Verdict::Chosen,
                std::cmp::Ordering::Less => Verdict::Lower,
            };
            assert_eq!(verdict, expected, "node {number} when unit {best} is the best");
        }
        scene.set_pod(&pod_name, &on(&format!("n-{best}"), pod("app=a")));
    }
}

#[test]
fn reasons_name_the_unit_the_policy_and_the_count() {
    let policy = grouped_by(&["hash"], required(two_units()));
    let mut scene = Scene::new(policy, &ZONES);
    scene.set_pod("new", &pod("app=a,hash=1"));
    assert_eq!(
        scene.reason("new", &ALL, "n-b"),
        "unit \"low\" of ResourcePolicy shop/p comes after unit \"high\", which has room"
    );
    let expected = "the node is in no unit of ResourcePolicy shop/p, whose strategy is required";
    assert_eq!(scene.reason("new", &ALL, "n-x"), expected);
    scene.fill("n-a", 2, &pod("app=a,hash=1"));
    let expected = "unit \"high\" of ResourcePolicy shop/p is full: 2 of 2 pods with hash=1";
    assert_eq!(scene.reason("new", &ALL, "n-a"), expected);
    scene.set_pod("bare", &pod("app=a"));
    let expected = "unit \"high\" of ResourcePolicy shop/p has room: 0 of 2 pods without hash";
    assert_eq!(scene.reason("bare", &ALL, "n-a"), expected);
    let unknown = scene.ledger.verdicts(&pod_name("nobody"), None, &[]).why_refused();
    let expected = "no ResourcePolicy decides on a pod that is unknown or gone";
    assert_eq!(unknown.unwrap(), expected);
}

#[test]
fn scores_follow_the_priority_from_zero_to_ten() {
    let units = [
        unit("five", 5, None, "zone=a"),
        unit("two", 2, None, "zone=b"),
        unit("zero", 0, None, "zone=c"),
    ];
    let nodes = [("n-a", "zone=a"), ("n-b", "zone=b"), ("n-c", "zone=c"), ("n-x", "")];
    let names = ["n-a", "n-b", "n-c", "n-x"];
    for (policy, expected) in
        [(required(units.clone()), [10, 4, 0, 0]), (prefer(units), [10, 4, 1, 0])]
    {
        let mut scene = Scene::new(policy, &nodes);
        scene.set_pod("new", &pod("app=a"));
        let candidates = scene.nodes(&names);
        assert_eq!(scores(&scene, "new", &candidates), expected);
        scene.set_pod("other", &pod("app=b"));
        assert_eq!(scores(&scene, "other", &candidates), [0; 4]);
    }
}

#[test]
fn units_that_all_have_priority_zero_still_score_before_nodes_outside_under_prefer() {
    let mut scene = Scene::new(prefer([unit("zero", 0, None, "zone=a")]), &ZONES);
    scene.set_pod("new", &pod("app=a"));
    let candidates = scene.nodes(&ALL);
    assert_eq!(scores(&scene, "new", &candidates), [1, 0, 0]);
}

#[test]
fn a_hold_sends_no_pod_to_a_lower_unit() {
    let units = [unit("high", 5, 1, "zone=a"), unit("low", 1, None, "zone=b")];
    let mut scene = Scene::new(required(units), &ZONES);
    scene.set_pod("one", &pod("app=a"));
    scene.set_pod("two", &pod("app=a"));
    let high = [Verdict::Chosen, Verdict::Lower, Verdict::Outside];
    assert_eq!(scene.filter("one", &ALL).unwrap(), high);
    assert_eq!(scene.filter("two", &ALL).unwrap(), high, "the first may never be bound");
    assert!(scene.reason("two", &ALL, "n-a").ends_with("0 of 1 pod, and 2 on the way"));
    scene.bind("one", "n-a");
    assert!(scene.reserve("two", "n-a").is_err());
    let low = [Verdict::Full, Verdict::Chosen, Verdict::Outside];
    assert_eq!(scene.filter("two", &ALL).unwrap(), low);
}

#[test]
fn among_equal_units_one_with_an_unleased_permit_is_chosen() {
    let units = [unit("one", 5, 2, "zone=a"), unit("two", 5, 1, "zone=b")];
    let mut scene = Scene::new(required(units), &ZONES);
    scene.set_pods(&["a", "b", "c", "d"], &pod("app=a"));
    let both = [Verdict::Chosen, Verdict::Chosen, Verdict::Outside];
    let second = [Verdict::Lower, Verdict::Chosen, Verdict::Outside];
    assert_eq!(scene.filter("a", &ALL).unwrap(), both, "the first has more room");
    assert_eq!(scene.filter("b", &ALL).unwrap(), both);
    assert_eq!(scene.filter("a", &ALL).unwrap(), both, "its own lease is not in its way");
    assert_eq!(scene.filter("c", &ALL).unwrap(), second);
    let why = scene.reason("c", &ALL, "n-a");
    let expected = "unit \"one\" of ResourcePolicy shop/p holds all its free capacity for other pods: \
                    0 of 2 pods, and 2 on the way";
    assert_eq!(why, expected);
    assert_eq!(scene.filter("d", &ALL).unwrap(), both, "all places are leased");
    scene.now = scene.now + crate::support::LEASE;
    assert_eq!(scene.filter("c", &ALL).unwrap(), both, "the leases have ended");
}

#[test]
fn a_pod_is_decided_on_by_its_uid() {
    let mut scene = Scene::new(required(two_units()), &ZONES);
    scene.set_pod("new", &pod("app=a"));
    let candidates = scene.nodes(&ALL);
    let outcome = scene.ledger.verdicts(&pod_name("new"), Some("another"), &candidates);
    let expected = "no ResourcePolicy decides on a pod that is unknown or gone";
    assert_eq!(outcome.why_refused().unwrap(), expected);
    assert_eq!(scene.ledger.scores(&pod_name("new"), Some("another"), &candidates), Ok(vec![0; 3]));
    let victims = Eviction { node: candidates[0], victims: Vec::new(), violations: 0 };
    let other = scene.ledger.preempt(&pod_name("new"), Some("another"), &[victims], scene.now);
    assert_eq!(other, Ok(Vec::new()));
}
