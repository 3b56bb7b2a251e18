//! Thousands of names of users make short messages.

use crate::support::{Scene, pod, required, unit};

/// Names of about the maximum length in Kubernetes.
fn long_name(number: usize) -> String {
    format!("{number:04}-{}", "x".repeat(245))
}

#[test]
fn a_conflict_of_many_policies_names_a_few_and_counts_the_rest() {
    let mut scene = Scene::new(required([unit("only", 1, 1, "zone=a")]), &[("n", "zone=a")]);
    for number in 0..1_500 {
        scene.set_policy(&long_name(number), required([unit("only", 1, 1, "zone=a")]));
    }
    scene.set_pod("new", &pod("app=a"));
    let why = scene.filter("new", &["n"]).unwrap_err();
    assert!(why.starts_with("1501 ResourcePolicies select the pod (shop/0000-x"), "{why}");
    assert!(why.len() < 2_000, "{} bytes", why.len());
    let explained = scene.ledger.explain(&crate::support::pod_name("new")).unwrap();
    assert!(explained.summary.len() < 2_000, "{} bytes", explained.summary.len());
}
