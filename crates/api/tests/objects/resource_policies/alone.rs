//! One policy: its slim form, and its findings.

use almanac_engine::units::Strategy;
use almanac_fixtures::designs::UNITS;

use super::{SPOT, for_pods, only_fix, policy, policy_of, unit, usable, with};
use crate::written::{check, findings, messages, only_message};

/// A policy for the pods with `app: web`, with this field next to its unit.
fn policy_for_web(field: &str) -> String {
    with(&format!("podSelector: {{matchLabels: {{app: web}}}}, {field}, units: [{SPOT}]"))
}

/// A policy for the pods with `app: web`, with these keys in `matchLabelKeys`.
fn keyed(keys: &str) -> String {
    policy_for_web(&format!("matchLabelKeys: {keys}"))
}

#[test]
fn the_policy_of_the_design_is_accepted_as_it_is_written() {
    assert_eq!(findings(UNITS), [""; 0]);
    let policy = usable(UNITS);
    assert_eq!(policy.pod_selector.to_string(), "key1=value1");
    assert_eq!(policy.group_keys.iter().map(|it| &**it).collect::<Vec<_>>(), ["pod-template-hash"]);
    assert!(policy.ignores_terminating);
    assert_eq!(policy.strategy, Strategy::Prefer);
    let units: Vec<String> = policy
        .units
        .iter()
        .map(|it| format!("{} {} {:?} {}", it.name, it.priority, it.max, it.nodes))
        .collect();
    let expected = [
        "unit1 5 Some(10) key1=value1",
        "unit2 5 Some(10) key1=value2",
        "unit3 4 Some(20) key1=value3",
    ];
    assert_eq!(units, expected);
}

#[test]
fn absent_fields_have_the_defaults_of_the_api() {
    let policy =
        usable(&policy(&[unit("maxCount: null", "a"), unit("priority: 1", "b")].join(", ")));
    assert!(!policy.ignores_terminating && policy.group_keys.is_empty());
    assert_eq!(policy.strategy, Strategy::Prefer);
    let units: Vec<_> =
        policy.units.iter().map(|it| (it.name.to_string(), it.priority, it.max)).collect();
    assert_eq!(units, [("unit-0".to_owned(), 0, None), ("unit-1".to_owned(), 1, None)]);
    let required =
        usable(&with(&format!("podSelector: {{}}, strategy: required, units: [{SPOT}]")));
    assert_eq!(required.strategy, Strategy::Required);
    assert!(required.pod_selector.is_everything());
}

/// Expects exactly this finding in each text, and no usable policy.
fn assert_unusable<const COUNT: usize>(cases: [(String, &str); COUNT]) {
    for (text, message) in cases {
        assert_eq!(only_message(&text), message);
        assert_eq!(policy_of(&text), None, "{text}");
    }
}

#[test]
fn mistakes_of_units_are_reported_and_none_of_the_policy_is_used() {
    let two = |one: String, other: String| policy(&[one, other].join(", "));
    assert_unusable([
        (
            policy(&unit("priority: -1", "a")),
            "out-of-range spec.units[0].priority: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            policy(&unit("maxCount: -1", "a")),
            "out-of-range spec.units[0].maxCount: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            policy(&unit("priority: '5'", "a")),
            "wrong-type spec.units[0].priority: Invalid value: \"5\": must be a whole number, not text",
        ),
        (policy(""), "missing-field spec.units: Required value: a policy has at least one unit"),
        (policy("{name: a}"), "missing-field spec.units[0].nodeSelector: Required value"),
        (
            policy(&unit("name: ''", "a")),
            "missing-field spec.units[0].name: Required value: must not be empty",
        ),
        (
            two(unit("name: a", "a"), unit("name: a", "b")),
            "duplicate-item spec.units[1].name: Duplicate value: \"a\"",
        ),
        (
            two(unit("name: unit-1", "a"), unit("priority: 0", "b")),
            "duplicate-item spec.units[0].name: Duplicate value: \"unit-1\": units[1], which has no name, is called so",
        ),
        (
            two(unit("priority: 0", "a"), unit("name: unit-0", "b")),
            "duplicate-item spec.units[1].name: Duplicate value: \"unit-0\": units[0], which has no name, is called so",
        ),
    ]);
}

#[test]
fn mistakes_of_a_selector_are_reported_and_none_of_the_policy_is_used() {
    let nodes = |selector: &str| policy(&format!("{{nodeSelector: {selector}}}"));
    assert_unusable([
        (
            nodes("{}"),
            "missing-field spec.units[0].nodeSelector: Required value: an empty selector would match every node",
        ),
        (
            nodes("{matchLabels: {}, matchExpressions: []}"),
            "missing-field spec.units[0].nodeSelector: Required value: an empty selector would match every node",
        ),
        (
            nodes("{matchExpressions: [{key: pool, operator: in, values: [a]}]}"),
            "unsupported-value spec.units[0].nodeSelector.matchExpressions[0].operator: Unsupported value: \"in\": supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\"",
        ),
        (
            nodes("{matchExpressions: [{key: pool, operator: In}]}"),
            "missing-field spec.units[0].nodeSelector.matchExpressions[0].values: Required value: In needs at least one value",
        ),
        (
            nodes("{matchExpressions: [{key: pool, operator: Exists, values: [a]}]}"),
            "selector spec.units[0].nodeSelector.matchExpressions[0].values: Forbidden: Exists takes no values",
        ),
        (
            nodes("{pool: a}"),
            "unknown-field spec.units[0].nodeSelector.pool: Unknown field: no such field here",
        ),
        (
            nodes("{matchLabels: {pool: a b}}"),
            "selector spec.units[0].nodeSelector.matchLabels.pool: Invalid value: \"a b\": the value of a label has at most 63 letters, digits, '-', '_' and '.', and begins and ends with a letter or a digit",
        ),
        (keyed("[a, a]"), "duplicate-item spec.matchLabelKeys[1]: Duplicate value: \"a\""),
        (
            keyed("[1]"),
            "wrong-type spec.matchLabelKeys[0]: Invalid value: 1: must be text, not a number",
        ),
        (
            policy_for_web("strategy: Prefer"),
            "unsupported-value spec.strategy: Unsupported value: \"Prefer\": supported values: \"prefer\", \"required\"",
        ),
    ]);
}

#[test]
fn a_slip_has_its_correction() {
    for (text, fix) in [
        (policy(&unit("priority: '5'", "a")), "remove the quotes: 5"),
        (policy(&unit("maxcount: 5", "a")), "write maxCount"),
        (policy(SPOT).replace("units:", "Units:"), "write units"),
        (policy(SPOT).replace("podSelector:", "PodSelector:"), "write podSelector"),
        (policy_for_web("MatchLabelKeys: [zone]"), "write matchLabelKeys"),
        (policy_for_web("strategy: prefered"), "write prefer"),
        (policy_for_web("strategy: Required"), "write required"),
        (
            policy(SPOT).replace("sigs.x-k8s.io", "x-k8s.io"),
            "write apiVersion: scheduling.sigs.x-k8s.io/v1alpha1",
        ),
        (
            policy(SPOT).replace("v1alpha1", "v1"),
            "write apiVersion: scheduling.sigs.x-k8s.io/v1alpha1",
        ),
        (
            policy(SPOT).replace("kind: ResourcePolicy", "kind: ResourcesPolicy"),
            "write kind: ResourcePolicy",
        ),
        (
            policy(SPOT).replace("apiVersion", "piVersion"),
            "write apiVersion: scheduling.sigs.x-k8s.io/v1alpha1",
        ),
        (policy(SPOT).replace("kind:", "Kind:"), "write kind"),
    ] {
        assert_eq!(only_fix(&text), fix, "{text}");
    }
}

#[test]
fn legal_but_unlikely_values_are_reported_and_the_policy_is_used() {
    let keys = |key: &str| keyed(&format!("[{key}]"));
    let twice =
        "{matchLabels: {pool: a}, matchExpressions: [{key: pool, operator: In, values: [b]}]}";
    let closed = unit("name: a, maxCount: 0", "a");
    for (text, expected) in [
        (
            with(&format!("podSelector: {{}}, units: [{SPOT}]")),
            "every-pod spec.podSelector: without labels, the selector selects every pod of the namespace except those of DaemonSets",
        ),
        (
            with(&format!("units: [{SPOT}]")),
            "every-pod spec.podSelector: without labels, the selector selects every pod of the namespace except those of DaemonSets",
        ),
        (
            for_pods("web", twice),
            "contradiction spec.podSelector: its requirements contradict each other, so no pod fulfills all of them",
        ),
        (
            policy(&format!("{SPOT}, {{nodeSelector: {twice}}}")),
            "contradiction spec.units[1].nodeSelector: its requirements contradict each other, so no node fulfills all of them",
        ),
        (
            policy(&format!("{closed}, {SPOT}")),
            "closed-unit spec.units[0].maxCount: the unit is closed: it takes no pod",
        ),
        (
            keys("app"),
            "ignored-field spec.matchLabelKeys[0]: all pods that podSelector selects have app=web, so it makes no groups of them",
        ),
        (
            keys("pod-template-has"),
            "label-of-no-pod spec.matchLabelKeys[0]: no pod of the policy has the label pod-template-has here, and no controller is known that sets it; pods without it are one group",
        ),
    ] {
        assert_eq!(only_message(&text), expected);
        assert!(policy_of(&text).is_some(), "{text}");
    }
    assert_eq!(only_fix(&keys("pod-template-has")), "write pod-template-hash if that is meant");
    for key in ["zone", "pod-template-hash", "controller-revision-hash"] {
        assert_eq!(findings(&keys(key)), [""; 0], "without pods, nobody knows better: {key}");
    }
}

#[test]
fn a_unit_all_of_whose_nodes_are_in_better_units_is_named_with_them() {
    let of = |values: &str, fields: &str| {
        format!(
            "{{{fields}, nodeSelector: {{matchExpressions: [{{key: pool, operator: In, values: [{values}]}}]}}}}"
        )
    };
    let any = "{name: any, nodeSelector: {matchExpressions: [{key: pool, operator: Exists}]}}";
    let belong = |to: &str, position: usize| {
        format!(
            "covered-unit spec.units[{position}].nodeSelector: all nodes that the unit selects belong to {to}, since a node \
             belongs to the unit with the highest priority, or to the first of several; this unit has none"
        )
    };
    for (units, expected) in [
        // Among units of equal priority the first is used, regardless of its cap.
        (vec![of("x", "name: a, maxCount: 1"), of("x", "name: b")], belong("unit \"a\"", 1)),
        (vec![of("x", "name: a"), of("x, z", "name: b, priority: 1")], belong("unit \"b\"", 0)),
        (vec![any.to_owned(), of("x", "priority: 0")], belong("unit \"any\"", 1)),
        (
            vec![
                of("x", "name: a, priority: 2"),
                of("z", "name: b, priority: 1"),
                of("x, z", "name: c"),
            ],
            belong("units \"a\" and \"b\"", 2),
        ),
    ] {
        let text = policy(&units.join(", "));
        assert_eq!(only_message(&text), expected);
        assert!(policy_of(&text).is_some(), "{text}");
    }
    for units in [
        vec![of("x", "name: a"), of("x, z", "name: b")],
        vec![of("x", "name: a, priority: 1"), any.to_owned()],
        vec![of("x", "name: a"), of("z", "name: b, priority: 1")],
    ] {
        assert_eq!(findings(&policy(&units.join(", "))), [""; 0]);
    }
}

#[test]
fn a_required_policy_without_an_open_unit_schedules_nothing_and_a_preferred_one_does() {
    let closed = unit("name: a, maxCount: 0", "a");
    let text = |strategy: &str, units: &str| {
        with(&format!(
            "podSelector: {{matchLabels: {{app: web}}}}, strategy: {strategy}, units: [{units}]"
        ))
    };
    let codes = |text: &str| -> Vec<String> {
        let (_, _, findings) = check(text);
        findings.iter().map(|it| it.finding.code.to_string()).collect()
    };
    assert_eq!(codes(&text("required", &closed)), ["no-open-unit", "closed-unit"]);
    assert_eq!(codes(&text("prefer", &closed)), ["closed-unit"]);
    assert_eq!(codes(&text("required", &format!("{closed}, {SPOT}"))), ["closed-unit"]);
    // A unit whose nodes are all in a closed unit accepts no pods.
    let behind = unit("name: b", "a");
    let expected = ["no-open-unit", "closed-unit", "covered-unit"];
    assert_eq!(codes(&text("required", &format!("{closed}, {behind}"))), expected);
}

#[test]
fn a_policy_with_unfilled_template_values_is_not_a_policy() {
    let text = policy(&unit("maxCount: \"${MOST}\"", "a"));
    assert!(messages(&text)[0].starts_with("template "), "{:?}", messages(&text));
    assert_eq!(policy_of(&text), None);
}

#[test]
fn selectors_have_a_maximum_number_of_terms() {
    // Each expression has a thousand values.
    let selector = |expressions: usize| {
        let values = (0..999).map(|number| format!("v{number}")).collect::<Vec<_>>().join(", ");
        let expression = format!("{{key: app, operator: In, values: [{values}]}}");
        format!("{{matchExpressions: [{}]}}", vec![expression; expressions].join(", "))
    };
    let of_pods = |expressions: usize| for_pods("web", &selector(expressions));
    assert!(policy_of(&of_pods(1)).is_some());
    assert!(only_message(&of_pods(2)).contains("Too many: 2000: a selector of pods"));
    assert!(only_fix(&of_pods(2)).starts_with("give the pods one label"));
    let of_units = |expressions: usize| {
        let unit = |name: &str, expressions| {
            format!("{{name: {name}, nodeSelector: {}}}", selector(expressions))
        };
        policy(&format!("{}, {}", unit("a", 5), unit("b", expressions)))
    };
    assert!(policy_of(&of_units(5)).is_some());
    let found = messages(&of_units(6)).concat();
    assert!(found.contains("Too many: 11000: the selectors of all units"), "{found}");
    assert!(policy_of(&of_units(6)).is_none() && policy_of(&of_pods(2)).is_none());
}
