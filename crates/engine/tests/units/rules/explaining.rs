//! The reports about a pod, and about the counts.

use almanac_engine::units::{Pod, Ungoverned, UnitCount};

use crate::support::{
    Scene, grouped_by, on, pod, pod_name, policy_name, prefer, required, second, selector, unit,
};

const ZONES: [(&str, &str); 3] = [("n-a", "zone=a"), ("n-b", "zone=b"), ("n-x", "")];

fn scene() -> Scene {
    let units = [unit("high", 5, 1, "zone=a"), unit("low", 1, 1, "zone=b")];
    Scene::new(grouped_by(&["hash"], required(units)), &ZONES)
}

fn summary(scene: &Scene, pod: &str) -> String {
    scene.ledger.explain(&pod_name(pod)).unwrap().summary
}

#[test]
fn a_pod_on_a_node_is_explained_with_its_unit() {
    let mut scene = scene();
    scene.fill("n-a", 2, &pod("app=a,hash=1"));
    scene.set_pod("outside", &on("n-x", pod("app=a,hash=1")));
    let explanation = scene.ledger.explain(&pod_name("n-a-0")).unwrap();
    assert_eq!(explanation.policy, Some(policy_name("p")));
    assert_eq!((&*explanation.group, explanation.unit.as_deref()), ("with hash=1", Some("high")));
    let expected = "the pod is on node n-a, in unit \"high\" of ResourcePolicy shop/p (2 of 1 pod)";
    assert_eq!(explanation.summary, expected);
    assert!(summary(&scene, "n-a-1").ends_with("(2 of 1 pod), and over its cap"));
    let expected = "the pod is on node n-x, outside every unit of ResourcePolicy shop/p";
    assert_eq!(summary(&scene, "outside"), expected);
}

#[test]
fn a_pending_pod_is_explained_with_its_next_unit_and_the_excluded_ones() {
    let mut scene = scene();
    scene.fill("n-a", 1, &pod("app=a"));
    scene.set_pod("new", &pod("app=a"));
    let explanation = scene.ledger.explain(&pod_name("new")).unwrap();
    assert_eq!(explanation.summary, "ResourcePolicy shop/p allows a node of unit \"low\"");
    let lines: Vec<&str> = explanation.units.iter().map(|(_, why)| why.as_str()).collect();
    let expected = [
        "unit \"high\" of ResourcePolicy shop/p is full: 1 of 1 pod without hash",
        "unit \"low\" of ResourcePolicy shop/p has room: 0 of 1 pod without hash",
        "the node is in no unit of ResourcePolicy shop/p, whose strategy is required",
    ];
    assert_eq!(lines, expected);
    scene.fill("n-b", 1, &pod("app=a"));
    let expected = "no unit of ResourcePolicy shop/p has room, and its strategy is required";
    assert_eq!(summary(&scene, "new"), expected);
}

#[test]
fn pods_without_a_policy_are_explained_with_the_cause() {
    let mut scene = scene();
    scene.set_pod("other", &pod("app=z"));
    scene.set_pod("daemon", &Pod { ungoverned: Some(Ungoverned::DaemonSet), ..pod("app=a") });
    scene.set_pod("done", &on("n-a", Pod { is_finished: true, ..pod("app=a") }));
    assert_eq!(summary(&scene, "other"), "no ResourcePolicy selects the pod");
    assert_eq!(summary(&scene, "daemon"), "no ResourcePolicy governs the pod: a DaemonSet owns it");
    assert_eq!(summary(&scene, "done"), "the pod has finished and is not counted");
    assert!(scene.ledger.explain(&pod_name("nobody")).is_none());
    let all = almanac_engine::units::ResourcePolicy {
        pod_selector: selector(""),
        ..prefer([unit("a", 1, None, "zone=a")])
    };
    scene.set_policy("q", all);
    scene.set_pod("both", &pod("app=a"));
    let expected = "2 ResourcePolicies select the pod (shop/p, shop/q), and only one may";
    assert_eq!(summary(&scene, "both"), expected);
    scene.set_pod("both", &on("n-b", pod("app=a")));
    assert!(scene.ledger.explain(&pod_name("both")).unwrap().is_conflict);
    assert_eq!(
        summary(&scene, "both"),
        "2 ResourcePolicies select the pod (shop/p, shop/q), and only one may; the pod is on node n-b, and counts in unit \
         \"low\" of ResourcePolicy shop/p and outside every unit of ResourcePolicy shop/q"
    );
}

#[test]
fn a_report_has_the_counts_of_each_group_and_unit() {
    let mut scene = scene();
    scene.set_pod("one", &on("n-a", pod("app=a,hash=1")));
    scene.set_pod("two", &on("n-x", pod("app=a,hash=2")));
    scene.set_pod("new", &Pod { created: Some(second(1)), ..pod("app=a,hash=2") });
    scene.filter("new", &["n-a", "n-b"]).unwrap();
    let report = scene.ledger.report(&policy_name("p")).unwrap();
    let count =
        |name: &str, used, leased| UnitCount { name: name.into(), used, leased, max: Some(1) };
    let groups: Vec<_> = report
        .groups
        .iter()
        .map(|group| (group.labels[0].1.as_deref(), &group.units[..], group.spilled))
        .collect();
    let expected = [
        (Some("1"), &[count("high", 1, 0), count("low", 0, 0)][..], 0),
        (Some("2"), &[count("high", 0, 1), count("low", 0, 0)][..], 1),
    ];
    assert_eq!(groups, expected);
}

#[test]
fn a_unit_without_nodes_is_not_explained_as_free() {
    let units = [unit("high", 5, 1, "zone=a"), unit("none", 3, 9, "zone=nowhere")];
    let mut scene = Scene::new(required(units.clone()), &[("n-a", "zone=a")]);
    scene.fill("n-a", 1, &pod("app=a"));
    scene.set_pod("new", &pod("app=a"));
    let explanation = scene.ledger.explain(&pod_name("new")).unwrap();
    assert_eq!(
        explanation.summary,
        "no unit with nodes of ResourcePolicy shop/p has room, and its strategy is required"
    );
    let lines: Vec<&str> = explanation.units.iter().map(|(_, why)| why.as_str()).collect();
    let expected = [
        "unit \"high\" of ResourcePolicy shop/p is full: 1 of 1 pod",
        "unit \"none\" of ResourcePolicy shop/p has no nodes",
    ];
    assert_eq!(lines, expected, "and nothing of nodes outside, where there are none");
    scene.set_policy("p", prefer(units));
    assert_eq!(
        summary(&scene, "new"),
        "no unit with nodes of ResourcePolicy shop/p has room, and there are no nodes outside its units"
    );
    scene.set_node("n-x", "");
    assert_eq!(summary(&scene, "new"), "ResourcePolicy shop/p allows a node outside all units");
}

#[test]
fn a_bound_pod_is_explained_with_the_unit_of_the_next_one() {
    let mut scene = scene();
    scene.fill("n-a", 1, &pod("app=a,hash=1"));
    let next = |scene: &Scene| scene.ledger.explain(&pod_name("n-a-0")).unwrap();
    let explanation = next(&scene);
    assert_eq!(explanation.next.as_deref(), Some("the next pod may go to a node of unit \"low\""));
    let expected = "unit \"high\" of ResourcePolicy shop/p is full: 1 of 1 pod with hash=1";
    assert_eq!(explanation.units[0].1, expected);
    scene.fill("n-b", 1, &pod("app=a,hash=1"));
    assert_eq!(
        next(&scene).next.as_deref(),
        Some(
            "the next pod must wait: no unit of ResourcePolicy shop/p has room, and its strategy is required"
        )
    );
    scene.set_pod("new", &pod("app=a,hash=1"));
    assert_eq!(scene.ledger.explain(&pod_name("new")).unwrap().next, None, "it goes itself");
}

#[test]
fn a_pod_that_is_being_bound_is_explained_as_such() {
    let mut scene = scene();
    scene.set_pod("new", &pod("app=a"));
    scene.reserve("new", "n-a").unwrap();
    assert_eq!(
        summary(&scene, "new"),
        "the pod is being bound to node n-a, in unit \"high\" of ResourcePolicy shop/p (1 of 1 pod)"
    );
}
