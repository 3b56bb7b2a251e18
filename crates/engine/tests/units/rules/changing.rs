//! Changes while pods exist.

use almanac_engine::units::{Ledger, Node, PreparedPolicy, ResourcePolicy, Verdict};
use fastrand::Rng;

use crate::naive::ClusterView;
use crate::support::{
    NAMESPACE, Scene, labels, node, on, pod, pod_name, policy_name, prefer, required, selector,
    unit,
};

const ZONES: [(&str, &str); 2] = [("n-a", "zone=a"), ("n-b", "zone=b")];

fn capped(max: u32) -> ResourcePolicy {
    required([unit("a", 2, max, "zone=a"), unit("b", 1, None, "zone=b")])
}

#[test]
fn a_relabeled_node_moves_its_pods_and_evicts_none() {
    let mut scene =
        Scene::new(prefer([unit("a", 2, 1, "zone=a"), unit("b", 1, 1, "zone=b")]), &ZONES);
    scene.fill("n-a", 1, &pod("app=a"));
    scene.fill("n-b", 1, &pod("app=a"));
    scene.set_node("n-b", "zone=a");
    assert_eq!(scene.counts("p"), (vec![2, 0], 0));
    scene.set_pod("new", &pod("app=a"));
    assert_eq!(scene.verdicts_without_hold("new", &["n-a", "n-b"]).unwrap(), [Verdict::Full; 2]);
    let report = scene.ledger.report(&policy_name("p")).unwrap();
    assert!(report.groups[0].units[0].is_over_cap());
    scene.set_node("n-b", "");
    assert_eq!(scene.counts("p"), (vec![1, 0], 1));
}

#[test]
fn pods_on_a_deleted_node_count_in_its_last_unit_until_deleted() {
    let mut scene = Scene::new(required([unit("a", 1, 1, "zone=a")]), &ZONES);
    scene.set_node("n-c", "zone=a");
    scene.fill("n-a", 1, &pod("app=a"));
    scene.remove_node("n-a");
    assert!(scene.ledger.node("n-a").is_none(), "nothing is scheduled there");
    assert_eq!(scene.counts("p"), (vec![1], 0));
    scene.set_pod("new", &pod("app=a"));
    assert_eq!(
        scene.verdicts_without_hold("new", &["n-c"]).unwrap(),
        [Verdict::Full],
        "it may be registered again"
    );
    scene.set_policy("q", prefer([unit("all", 1, 1, "zone=a")]));
    assert_eq!(scene.counts("q"), (vec![1], 0), "under a new policy, too");
    scene.remove_policy("q");
    scene.set_node("n-a", "zone=b");
    assert_eq!(scene.counts("p"), (vec![0], 1), "it has come back relabelled");
    scene.remove_node("n-a");
    scene.remove_pod("n-a-0");
    scene.set_pod("late", &on("n-a", pod("app=a")));
    assert_eq!(scene.counts("p"), (vec![0], 1), "its labels are unknown");
}

#[test]
fn a_number_of_a_node_holds_until_nodes_are_renumbered() {
    let mut scene = Scene::new(capped(3), &ZONES);
    let (before, number) = (scene.ledger.renumberings(), scene.ledger.node("n-a"));
    scene.set_node("n-a", "zone=c");
    scene.set_node("n-c", "zone=c");
    assert_eq!((scene.ledger.renumberings(), scene.ledger.node("n-a")), (before, number));
    scene.remove_node("n-a");
    scene.set_node("n-d", "zone=d");
    assert_eq!(scene.ledger.node("n-d"), number, "it is another one's");
    assert_ne!(scene.ledger.renumberings(), before);
}

#[test]
fn a_raised_or_lowered_cap_applies_immediately() {
    let mut scene = Scene::new(capped(3), &ZONES);
    scene.fill("n-a", 3, &pod("app=a"));
    scene.set_pod("new", &pod("app=a"));
    for _ in 0..3 {
        scene.set_policy("p", capped(1));
        assert_eq!(scene.counts("p"), (vec![3, 0], 0), "nothing is evicted");
        assert_eq!(scene.verdicts_without_hold("new", &["n-a"]).unwrap(), [Verdict::Full]);
        scene.set_policy("p", capped(4));
        assert_eq!(scene.verdicts_without_hold("new", &["n-a"]).unwrap(), [Verdict::Chosen]);
        assert_eq!(scene.counts("p"), (vec![3, 0], 0));
    }
}

#[test]
fn a_unit_that_is_added_or_removed_takes_its_pods_along() {
    let mut scene = Scene::new(capped(3), &ZONES);
    scene.fill("n-a", 2, &pod("app=a"));
    scene.set_policy("p", prefer([unit("new", 9, 5, "zone=a"), unit("a", 2, 3, "zone=a")]));
    assert_eq!(scene.counts("p"), (vec![2, 0], 0));
    scene.set_policy("p", prefer([unit("b", 1, None, "zone=b")]));
    assert_eq!(scene.counts("p"), (vec![0], 2));
}

#[test]
fn a_relabeled_pod_changes_its_policy() {
    let mut scene = Scene::new(capped(3), &ZONES);
    scene.fill("n-a", 1, &pod("app=a"));
    scene.set_pod("n-a-0", &on("n-a", pod("app=z")));
    assert_eq!(scene.counts("p"), (vec![], 0));
}

#[test]
fn after_its_policy_is_deleted_a_pod_may_go_anywhere() {
    let mut scene = Scene::new(required([unit("a", 1, 0, "zone=a")]), &ZONES);
    scene.set_pod("new", &pod("app=a"));
    assert_eq!(scene.verdicts_without_hold("new", &["n-a"]).unwrap(), [Verdict::Closed]);
    scene.remove_policy("p");
    assert_eq!(scene.verdicts_without_hold("new", &["n-a", "n-b"]).unwrap(), [Verdict::Chosen; 2]);
    assert!(scene.ledger.report(&policy_name("p")).is_none());
}

#[test]
fn a_watch_event_older_than_the_known_version_is_ignored() {
    let mut scene = Scene::new(capped(3), &ZONES);
    let at = |version: u64, pod: almanac_engine::units::Pod| almanac_engine::units::Pod {
        version: Some(version),
        uid: Some("u".into()),
        ..pod
    };
    let name = pod_name("p1");
    scene.ledger.set_pod(&name, &at(7, on("n-a", pod("app=a"))));
    scene.ledger.set_pod(&name, &at(5, pod("app=a")));
    assert_eq!(scene.counts("p"), (vec![1, 0], 0));
    let version = |version: u64, text: &str| Node {
        version: Some(version),
        labels: labels(text),
        ..Node::default()
    };
    scene.ledger.set_node("n-c", &version(9, "zone=a"));
    scene.ledger.read_node("n-c", &version(8, "zone=b"));
    let node = scene.ledger.node("n-c").unwrap();
    assert_eq!(scene.ledger.unit_of(&policy_name("p"), node), Some(0));
}

#[test]
fn a_late_read_does_not_restore_a_deleted_pod() {
    let mut scene = Scene::new(capped(3), &ZONES);
    let name = pod_name("p1");
    let uid = Some("u".into());
    let read = almanac_engine::units::Pod {
        version: Some(5),
        uid: uid.clone(),
        ..on("n-a", pod("app=a"))
    };
    scene.ledger.set_pod(&name, &read);
    scene.ledger.remove_pod(&name, uid.as_ref(), Some(6));
    assert!(!scene.ledger.read_pod(&name, &read));
    assert!(!scene.ledger.has_pod(&name));
    let newer = almanac_engine::units::Pod { version: Some(8), uid: Some("v".into()), ..read };
    assert!(scene.ledger.read_pod(&name, &newer), "the watch has yet to show this one");
}

#[test]
fn a_prepared_policy_is_applied_by_the_labels_that_nodes_and_pods_have_by_then() {
    let mut scene = Scene::new(capped(3), &ZONES);
    scene.set_pod("early", &on("n-b", pod("app=b")));
    let units = [unit("a", 1, 5, "zone=a"), unit("b", 2, 5, "zone=b")];
    let policy = ResourcePolicy { pod_selector: selector("app=b"), ..required(units) };
    let snapshot = scene.ledger.label_snapshot(policy_name("q").namespace());
    let prepared = PreparedPolicy::new(policy, &snapshot);
    scene.set_node("n-a", "zone=b");
    scene.remove_pod("early");
    scene.set_pod("of other labels, perhaps in its place", &on("n-a", pod("app=c")));
    scene.set_pod("late", &on("n-a", pod("app=b")));
    scene.ledger.set_prepared_policy(&policy_name("q"), &prepared, None);
    assert_eq!(scene.counts("q"), (vec![0, 1], 0));
}

fn random_policy(rng: &mut Rng) -> ResourcePolicy {
    let unit = |number: usize| {
        let max = rng.bool().then(|| rng.u32(0..3));
        let nodes = ["zone=a", "zone=b", ""][rng.usize(..3)];
        unit(&format!("u{number}"), rng.i32(0..3), max, nodes)
    };
    let units: Vec<_> = (0..2).map(unit).collect();
    let pods = ["app=a", "app=b", "tier=x", ""][rng.usize(..4)];
    ResourcePolicy { pod_selector: selector(pods), ..required(units) }
}

/// Relabels or adds a node or a pod, or removes a pod.
fn change(ledger: &mut Ledger, view: &mut ClusterView, rng: &mut Rng) {
    let on_node = format!("n-{}", rng.usize(..3));
    if rng.bool() {
        let node = node(["zone=a", "zone=b", ""][rng.usize(..3)]);
        ledger.set_node(&on_node, &node);
        view.nodes.insert(on_node.into(), node);
        return;
    }
    let name = pod_name(&format!("web-{}", rng.usize(..6)));
    let known = view.pods.remove(&name);
    if known.is_some() && rng.bool() {
        ledger.remove_pod(&name, None, None);
        return;
    }
    let labels = ["", "app=a", "app=b", "app=a,tier=x", "tier=x"][rng.usize(..5)];
    let mut now = on(&on_node, pod(labels));
    if let Some(known) = known {
        now.node = known.node;
    }
    ledger.set_pod(&name, &now);
    view.pods.insert(name, now);
}

#[test]
fn policies_prepared_before_other_changes_count_as_in_a_new_ledger() {
    for seed in 0..200 {
        let mut rng = Rng::with_seed(seed);
        let (mut ledger, mut view) = (Ledger::alone(), ClusterView::default());
        for _ in 0..20 {
            let [name, other] = [(); 2].map(|()| policy_name(["p", "q", "r"][rng.usize(..3)]));
            let policy = random_policy(&mut rng);
            let prepared = PreparedPolicy::new(policy.clone(), &ledger.label_snapshot(NAMESPACE));
            for _ in 0..rng.usize(..6) {
                change(&mut ledger, &mut view, &mut rng);
            }
            if rng.bool() && view.policies.remove(&other).is_some() {
                ledger.remove_policy(&other, None);
            }
            ledger.set_prepared_policy(&name, &prepared, None);
            view.policies.insert(name, policy);
            assert_eq!(view.difference(&ledger), None, "seed {seed}");
            let mut new = Ledger::alone();
            view.nodes.iter().for_each(|(name, node)| new.set_node(name, node));
            view.pods.iter().for_each(|(name, pod)| new.set_pod(name, pod));
            for (name, policy) in &view.policies {
                new.set_policy(name, policy.clone(), None);
            }
            for name in view.policies.keys() {
                assert_eq!(ledger.report(name), new.report(name), "seed {seed}: {name}");
            }
        }
    }
}
