//! Policies for units of nodes: the objects that an API server accepts, and the columns that it prints.

use almanac_fixtures::designs::UNITS;
use almanac_harness::{Kubectl, TestResult};

use super::Server::{self, Accepts, Refuses};

/// Each bound, at its edge and beyond it.
pub(crate) fn cases() -> Vec<(String, Server)> {
    let unit = |fields: &str| format!("{{nodeSelector: {{matchLabels: {{a: b}}}}, {fields}}}");
    let nodes = |selector: &str| units(&format!("{{nodeSelector: {selector}}}"));
    let many = |count: usize| units(&vec![unit("priority: 1"); count].join(", "));
    let named = |names: &[&str]| {
        let all = names.iter().enumerate().map(|(position, name)| {
            unit(&format!("name: {name}")).replace("a: b", &format!("a: b{position}"))
        });
        units(&all.collect::<Vec<_>>().join(", "))
    };
    let and_unnamed =
        |names: &[&str]| named(names).replace("]}", ", {nodeSelector: {matchLabels: {a: c}}}]}");
    let spec = |fields: &str| {
        units(&unit("priority: 0")).replace("spec: {", &format!("spec: {{{fields}, "))
    };
    let (longest, longer) = ("n".repeat(63), "n".repeat(64));
    let selector = |requirement: &str| nodes(&format!("{{matchExpressions: [{{{requirement}}}]}}"));
    let needs = "at least one for In and NotIn, none for the others";
    vec![
        (UNITS.to_owned(), Accepts),
        (units(&unit("name: null, priority: null, maxCount: null")), Accepts),
        (units(&unit("priority: 0, maxCount: 0")), Accepts),
        (units(&unit("priority: 2147483647, maxCount: 2147483647")), Accepts),
        (units(&unit("priority: -1")), Refuses("greater than or equal to 0")),
        (units(&unit("maxCount: -1")), Refuses("greater than or equal to 0")),
        (units(&unit("maxCount: 2147483648")), Refuses("maxCount")),
        (units(&unit("priority: '5'")), Refuses("must be of type integer")),
        (units(&unit("maxcount: 5")), Refuses("unknown field")),
        (units(""), Refuses("should have at least 1 items")),
        (units("").replace("units: []", "strategy: prefer"), Refuses("units: Required value")),
        (many(64), Accepts),
        (many(65), Refuses("must have at most 64 items")),
        (named(&["a", "b"]), Accepts),
        (named(&["a", "a"]), Refuses("each unit has a name of its own")),
        (named(&[&longest]), Accepts),
        (named(&[&longer]), Refuses("may not be more than 63")),
        (named(&["''"]), Refuses("should be at least 1 chars long")),
        (units("{name: a}"), Refuses("nodeSelector: Required value")),
        (nodes("{}"), Refuses("an empty selector would match every node")),
        (nodes("{matchLabels: {}}"), Refuses("an empty selector would match every node")),
        (nodes("{matchExpressions: []}"), Refuses("an empty selector would match every node")),
        (nodes("{matchLabels: {a: 1}}"), Refuses("must be of type string")),
        (selector("key: a, operator: Exists"), Accepts),
        (selector("key: a, operator: In, values: [b]"), Accepts),
        (selector("key: a, operator: in, values: [b]"), Refuses("Unsupported value")),
        (selector("key: a, operator: In"), Refuses(needs)),
        (selector("key: a, operator: NotIn, values: []"), Refuses(needs)),
        (selector("key: a, operator: Exists, values: [b]"), Refuses(needs)),
        (spec("podSelector: {}"), Accepts),
        (spec("podSelector: {matchExpressions: [{key: a, operator: In}]}"), Refuses(needs)),
        (spec("strategy: required"), Accepts),
        (spec("strategy: Prefer"), Refuses("Unsupported value")),
        (spec("matchPolicy: {ignoreTerminatingPod: false}"), Accepts),
        (spec("matchPolicy: {ignoreTerminatingPods: false}"), Refuses("unknown field")),
        (spec("matchPolicy: {ignoreTerminatingPod: 'yes'}"), Refuses("must be of type boolean")),
        (spec("matchLabelKeys: [a, example.com/b]"), Accepts),
        (spec("matchLabelKeys: [a, a]"), Refuses("Duplicate value")),
        (spec("matchLabelKeys: ['']"), Refuses("should match")),
        (spec("matchLabelKeys: [-a]"), Refuses("should match")),
        (spec("matchLabelKeys: [a, b, c, d, e, f, g, h, i]"), Refuses("must have at most 8 items")),
        // A unit without a name has a name by its index.
        (and_unnamed(&["unit-1"]), Refuses("a unit without a name is called")),
        (and_unnamed(&["unit-0"]), Accepts),
        (and_unnamed(&["unit-01"]), Accepts),
        (and_unnamed(&["unit-2", "unit-9", "unit-99999999999999999999"]), Accepts),
        (named(&["unit-1", "unit-0"]), Accepts),
    ]
}

/// A `ResourcePolicy` with these units.
fn units(units: &str) -> String {
    format!(
        "apiVersion: scheduling.sigs.x-k8s.io/v1alpha1\nkind: ResourcePolicy\nmetadata: {{name: a}}\n\
         spec: {{units: [{units}]}}\n"
    )
}

/// Checks the columns that `kubectl get` prints for a status.
pub(crate) async fn columns(kubectl: &Kubectl) -> TestResult {
    let policy = units("{nodeSelector: {matchLabels: {a: b}}}");
    kubectl.run_with_input(&["apply", "--server-side", "-f", "-"], &policy).await?;
    let status = r#"{"status":{"used":3,"spilled":1,"units":[{"name":"unit-0","used":3,"leased":0,"max":4,
        "groups":[{"labels":{"pod-template-hash":"x"},"used":3,"leased":0}]}]}}"#;
    let patch = ["patch", "rp", "a", "--subresource=status", "--type=merge", "-p", status];
    kubectl.run(&patch).await?;
    let table = kubectl.run(&["get", "rp", "a"]).await?;
    let rows: Vec<Vec<_>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["NAME", "STRATEGY", "USED", "SPILLED", "READY", "OVERCAP", "AGE"]);
    assert_eq!(rows[1][..4], ["a", "prefer", "3", "1"], "{table}");
    Ok(())
}
