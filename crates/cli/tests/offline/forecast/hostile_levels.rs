//! Hostile policies, pods and annotations: their forecast is as valid as any other.

use std::path::Path;

use crate::forecast::levels::run_in_period;
use crate::forecast::running::folder_with;
use crate::running::list;

/// A `ConfigMap` with these policies, each in a line.
fn agent(policies: impl Iterator<Item = String>) -> String {
    let policies: Vec<String> = policies.map(|it| format!("      - {{{it}}}\n")).collect();
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: volcano-agent-config, namespace: \
         volcano-system}}\ndata:\n  config.yaml: |\n    globalConfig:\n      timeBasedQoSPolicies:\n{}",
        policies.concat()
    )
}

fn night(name: &str, selector: &str) -> String {
    format!(
        "name: {name}, startTime: '22:00', endTime: '08:00', targetQoSLevel: -1, selector: {selector}"
    )
}

fn pod(name: &str, metadata: &str) -> String {
    format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, {metadata}}}\n---\n")
}

/// Asserts that no command panics, in any output format.
fn assert_answers(folder: &Path) {
    for (command, further) in [
        ("forecast", &["-o", "text"][..]),
        ("forecast", &["-o", "json"]),
        ("forecast", &["-o", "svg"]),
        ("forecast", &["-o", "html"]),
        ("next", &["--count", "3"]),
        ("next", &["--count", "3", "-o", "json"]),
    ] {
        let ran = run_in_period(folder, command, further);
        assert!(matches!(ran.code, Some(0 | 1)), "{command} {further:?}: {}", ran.stderr);
        assert!(!ran.stdout.is_empty(), "{command} {further:?}");
    }
}

#[test]
fn a_megabyte_of_policies_is_forecast() {
    // The maximum number of policies; the last policy selects the pod.
    let policies = |number: usize| {
        night(&format!("p{number}"), &format!("{{matchLabels: {{app: a{number}}}}}"))
    };
    let agent = agent((0..8_000).map(policies));
    assert!(agent.len() > 900_000);
    let pods = pod("last", "labels: {app: a7999}") + &pod("none", "labels: {app: b}");
    let folder = folder_with("levels-megabyte", &[("agent.yaml", &agent), ("pods.yaml", &pods)]);
    let output = run_in_period(&folder, "forecast", &["-o", "json"]).json();
    let [series] = list(&output["series"]) else { panic!("{output:#}") };
    let segments = list(&series["segments"]).iter();
    let rules: Vec<Option<&str>> = segments.map(|it| it["policy"]["rule"].as_str()).collect();
    assert_eq!(rules, [None, Some("p7999"), None]);
}

#[test]
fn selectors_that_match_everything_are_forecast() {
    let everything = |number: usize| {
        let selector =
            format!("{{matchExpressions: [{{key: nobody-{number}, operator: DoesNotExist}}]}}");
        night(&format!("p{number}"), &selector)
    };
    let pods: String =
        (0..500).map(|number| pod(&format!("p-{number}"), "labels: {app: a}")).collect();
    let agent = agent((0..500).map(everything));
    let folder = folder_with("levels-everything", &[("agent.yaml", &agent), ("pods.yaml", &pods)]);
    assert_answers(&folder);
    run_in_period(&folder, "forecast", &[]).assert_stdout(&["500 pods of app=a in default"]);
}

#[test]
fn invalid_annotations_and_labels_are_kept_and_escaped() {
    let long = "x".repeat(100_000);
    let rubbish = [
        "volcano.sh/qos-level: \"\\e[31m</script><script>alert(1)</script>\\u202e\\0\"".to_owned(),
        format!("volcano.sh/qos-level: {long}"),
        "volcano.sh/original-qos-level: \"\\n\\t\", almanac.dev/qos-applied: \"]]>\"".to_owned(),
        format!(
            "almanac.dev/qos-policy: {long}, almanac.dev/qos-applied: '', volcano.sh/qos-level: ''"
        ),
        "volcano.sh/qos-level: [1, 2], almanac.dev/ignore: {a: b}".to_owned(),
        "volcano.sh/qos-level: 1".to_owned(),
    ];
    let pods = rubbish.iter().enumerate().map(|(number, annotations)| {
        let labels = "app: batch, \"</script>\": \"\\u0007\", number: 3, list: []";
        pod(
            &format!("p-{number}"),
            &format!("labels: {{{labels}}}, annotations: {{{annotations}}}"),
        )
    });
    let pods: Vec<String> = pods.collect();
    let agent = agent(std::iter::once(night("</script>", "{matchLabels: {app: batch}}")));
    let files = [("agent.yaml", &*agent), ("pods.yaml", &pods.concat())];
    let folder = folder_with("levels-rubbish", &files);
    assert_answers(&folder);
    let output = run_in_period(&folder, "forecast", &["-o", "json"]).json();
    assert_eq!(list(&output["series"]).len(), rubbish.len());
    let shown = run_in_period(&folder, "forecast", &[]).stdout;
    assert!(!shown.contains(['\u{1b}', '\0']), "a terminal would obey it");
    let page = run_in_period(&folder, "forecast", &["-o", "html"]).stdout;
    assert!(!page.contains("<script>alert"), "a browser would obey it");
}
