//! Binding annotations that name a deleted policy.

use almanac_engine::units::{Pod, Ungoverned};

use crate::support::{
    LONGEST_BIND, Scene, at, on, pod, pod_name, policy_name, prefer, second, unit,
};

fn bound_policy(policy: &str) -> Pod {
    Pod { bound_policy: Some(policy.into()), ..on("n-a", pod("app=a")) }
}

/// The pods with stale binding annotations, if these policies exist.
fn stale_pods(scene: &mut Scene, existing: &[&str]) -> Vec<String> {
    let stale = scene.ledger.stale_binding_annotations(|namespace, name| {
        assert_eq!(namespace, policy_name("p").namespace());
        existing.contains(&name)
    });
    stale.into_iter().map(|it| it.name().to_owned()).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn the_annotations_of_a_deleted_policy_are_stale_and_those_of_an_invalid_one_are_not() {
    let mut scene = Scene::new(prefer([unit("a", 5, None, "zone=a")]), &[("n-a", "zone=a")]);
    scene.set_pod("two", &bound_policy("p"));
    scene.set_pod("one", &bound_policy("p"));
    scene.set_pod("done", &Pod { is_finished: true, ..bound_policy("p") });
    scene.set_pod("ending", &Pod { deleted: Some(second(9)), ..bound_policy("p") });
    scene.set_pod("other", &bound_policy("q"));
    scene.set_pod("without", &on("n-a", pod("app=a")));
    assert_eq!(stale_pods(&mut scene, &["p"]), ["other"]);
    assert_eq!(stale_pods(&mut scene, &[]), NONE, "no pod changed");
    scene.remove_policy("p");
    scene.ledger.recheck_binding_annotations_of(&policy_name("p"));
    assert_eq!(stale_pods(&mut scene, &["p"]), NONE, "the policy exists, and is invalid");
    scene.ledger.recheck_binding_annotations_of(&policy_name("p"));
    assert_eq!(stale_pods(&mut scene, &[]), ["done", "one", "two"]);
    assert!(scene.ledger.has_stale_binding_annotations(&pod_name("one"), |_, _| false));
    assert!(!scene.ledger.has_stale_binding_annotations(&pod_name("one"), |_, _| true));
    scene.set_pod("one", &on("n-a", pod("app=a")));
    assert!(!scene.ledger.has_stale_binding_annotations(&pod_name("one"), |_, _| false));
}

#[test]
fn the_annotations_of_ungoverned_and_pending_pods_are_left_alone() {
    let mut scene = Scene::new(prefer([unit("a", 5, None, "zone=a")]), &[("n-a", "zone=a")]);
    let exempt = Pod { ungoverned: Some(Ungoverned::Exempt), ..bound_policy("gone") };
    scene.set_pod("exempt", &exempt);
    scene.set_pod("pending", &Pod { node: None, ..bound_policy("gone") });
    let daemon = Pod { ungoverned: Some(Ungoverned::DaemonSet), ..bound_policy("gone") };
    scene.set_pod("daemon", &daemon);
    assert_eq!(stale_pods(&mut scene, &[]), NONE);
    assert!(!scene.ledger.has_stale_binding_annotations(&pod_name("exempt"), |_, _| false));
    // The user removes the annotations, and the other pod is bound.
    scene.set_pod("exempt", &Pod { ungoverned: None, ..exempt });
    scene.set_pod("pending", &bound_policy("gone"));
    assert_eq!(stale_pods(&mut scene, &[]), ["exempt", "pending"]);
}

#[test]
fn each_term_checks_all_pods_again() {
    let mut scene = Scene::new(prefer([unit("a", 5, None, "zone=a")]), &[("n-a", "zone=a")]);
    scene.set_pod("one", &bound_policy("gone"));
    scene.set_pod("two", &bound_policy("gone"));
    scene.remove_pod("two");
    assert_eq!(stale_pods(&mut scene, &[]), ["one"]);
    scene.ledger.lose_leadership();
    assert_eq!(stale_pods(&mut scene, &[]), NONE);
    assert!(!scene.ledger.has_stale_binding_annotations(&pod_name("one"), |_, _| false));
    scene.ledger.acquire_leadership(1, at(0), LONGEST_BIND);
    scene.ledger.serve(at(10)).unwrap();
    assert_eq!(
        stale_pods(&mut scene, &[]),
        ["one"],
        "the earlier term might not have written the pod"
    );
}
