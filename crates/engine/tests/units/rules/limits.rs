//! Thousands of names and expressions of users make short messages, and take little time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use almanac_engine::units::Unit;
use almanac_engine::{LabelRequirement, LabelSelector, ValueRequirement};

use crate::support::{Scene, pod, policy_name, required, unit};

/// Names as long as Kubernetes allows them, about.
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

#[test]
fn a_policy_of_thousands_of_expressions_is_placed_by_one_look_at_each_label() {
    let names: Vec<String> = (0..5_000).map(|number| format!("n-{number}")).collect();
    let labels: Vec<String> = (0..5_000)
        .map(|number| (0..20).map(|key| format!("key-{key}=v-{}", number % 97)).collect())
        .map(|pairs: Vec<String>| pairs.join(","))
        .collect();
    let nodes: Vec<(&str, &str)> =
        names.iter().map(String::as_str).zip(labels.iter().map(String::as_str)).collect();
    // Each expression but the last holds for all nodes.
    let units: Vec<_> = (0..64)
        .map(|index| {
            let not_in = |key: usize| LabelRequirement {
                key: format!("key-{}", key % 20).into(),
                of_value: ValueRequirement::NotIn([Arc::from(format!("w-{index}-{key}"))].into()),
            };
            let last = LabelRequirement { key: "last".into(), of_value: ValueRequirement::Exists };
            let nodes = LabelSelector::new((0..63).map(not_in).chain([last]));
            Unit { nodes, ..unit(&format!("unit-{index}"), 1, 1, "") }
        })
        .collect();
    let mut scene = Scene::new(required([unit("only", 1, 1, "zone=a")]), &nodes);
    let begun = Instant::now();
    scene.ledger.set_policy(&policy_name("p"), required(units), None);
    let taken = begun.elapsed();
    println!("{taken:?} for an edit of 64 units with 64 expressions, 5,000 nodes");
    assert!(taken < Duration::from_secs(2), "{taken:?}");
}
