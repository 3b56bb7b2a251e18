//! The beginning of an autoscaler in files: its replicas are those of the file, and only its recommendations are older.

use std::path::Path;

use serde_json::{Value, json};

use crate::forecast::running::{almanac, folder_with, json as parsed, text};

/// A Deployment and an autoscaler with one query.
fn queue(replicas: u32, max: u32, behavior: &str, target: &str) -> String {
    format!(
        r"
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec: {{replicas: {replicas}}}
---
apiVersion: autoscaling.karpenter.sh/v1alpha1
kind: HorizontalAutoscaler
metadata: {{name: ha}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}
  minReplicas: 1
  maxReplicas: {max}
  behavior: {behavior}
  metrics:
  - prometheus: {{query: queue, target: {target}}}
"
    )
}

const VALUE: &str = "{type: Value, value: 10}";
const AT: &str = "2026-05-04T00:00:00Z";

fn explained(folder: &Path, further: &[&str]) -> Value {
    let command = ["explain", "-f", ".", "ha", "--at", AT, "-o", "json"];
    parsed(&almanac(folder, &[&command, further].concat()))
}

/// The start of each segment and its value.
fn segments(folder: &Path, further: &[&str]) -> Vec<(String, Value)> {
    let command = ["forecast", "-f", ".", "--from", AT, "-o", "json"];
    let forecast = parsed(&almanac(folder, &[&command, further].concat()));
    let segments = forecast["series"][0]["segments"].as_array().unwrap().iter();
    segments.map(|it| (it["from"].as_str().unwrap().to_owned(), it["value"].clone())).collect()
}

fn at(times: &[(&str, u32)]) -> Vec<(String, Value)> {
    times.iter().map(|(time, value)| (format!("2026-05-04T{time}Z"), json!(value))).collect()
}

#[test]
fn an_autoscaler_multiplies_the_replicas_of_the_file_once_every_ten_seconds() {
    let folder = folder_with("beginning-value", &[("all.yaml", &queue(8, 100, "{}", VALUE))]);
    let explanation = explained(&folder, &["--sample", "queue=15"]);
    assert_eq!(explanation["value"], 12);
    assert_eq!(explanation["next"], json!({ "at": "2026-05-04T00:00:10Z", "value": 18 }));
    assert_eq!(explanation["since"], Value::Null);
    let reason = &explanation["reasons"][0];
    assert_eq!((&reason["sample"], &reason["recommendation"]), (&json!(15.0), &json!(12)));
    let half_a_minute = ["--for", "30s", "--sample", "queue=15"];
    let expected = at(&[("00:00:00", 12), ("00:00:10", 18), ("00:00:20", 27)]);
    assert_eq!(segments(&folder, &half_a_minute), expected);
}

#[test]
fn the_period_of_a_rate_limit_begins_with_the_forecast() {
    let behavior = "{scaleUp: {policies: [{type: Count, value: 4, periodSeconds: 60}]}, scaleDown: \
                    {stabilizationWindowSeconds: 0}}";
    let target = "{type: AverageValue, value: 1}";
    let folder = folder_with("beginning-rate", &[("all.yaml", &queue(10, 100, behavior, target))]);
    let expected = at(&[("00:00:00", 14), ("00:01:00", 18)]);
    assert_eq!(segments(&folder, &["--for", "2m", "--sample", "queue=40"]), expected);
}

#[test]
fn an_assumed_value_is_where_an_autoscaler_begins() {
    let folder = folder_with("beginning-assumed", &[("all.yaml", &queue(8, 100, "{}", VALUE))]);
    let assumed = ["--sample", "queue=15", "--assume", "deployment/web.replicas=2"];
    let explanation = explained(&folder, &assumed);
    assert_eq!((&explanation["value"], &explanation["next"]["value"]), (&json!(3), &json!(5)));
}

#[test]
fn an_answer_that_prometheus_could_not_give_one_number_for_changes_nothing() {
    let folder = folder_with("beginning-answers", &[("all.yaml", &queue(8, 100, "{}", VALUE))]);
    for samples in [vec!["queue=NaN"], vec!["queue=+Inf"], vec!["queue=1", " queue = 2"]] {
        let samples: Vec<&str> = samples.into_iter().flat_map(|it| ["--sample", it]).collect();
        let explanation = explained(&folder, &samples);
        assert_eq!(explanation["value"], 8, "{explanation}");
        assert_eq!(explanation["reasons"][0]["verdict"], "error");
    }
}

#[test]
fn an_autoscaler_with_an_error_shows_the_value_of_its_target() {
    let crossed = queue(8, 0, "{}", VALUE);
    let folder = folder_with("beginning-crossed", &[("all.yaml", &crossed)]);
    assert_eq!(explained(&folder, &[])["value"], 8);
    let rule = "---\napiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\nmetadata: {name: \
                hours}\nspec:\n  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n  rules: \
                [{name: open, schedule: \"0 8 * * *\", targetReplicas: 3}]\n";
    let folder = folder_with("beginning-crossed-cron", &[("all.yaml", &(crossed + rule))]);
    let explanation = explained(&folder, &[]);
    assert_eq!(explanation["value"], 3);
    assert_eq!(explanation["since"], "2026-05-03T08:00:00Z");
    let shown = text(&almanac(&folder, &["explain", "-f", ".", "ha", "--at", AT]).stdout);
    assert!(shown.contains("error     the object"), "{shown}");
}

const HOURS: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec: {replicas: 4}
---
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: hours, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}
  rules:
  - {name: open, schedule: "0 8 * * *", targetReplicas: 10}
  - {name: close, schedule: "0 20 * * *", targetReplicas: 2}
"#;

#[test]
fn policies_that_are_new_begin_with_the_period() {
    let folder = folder_with("beginning-new", &[("all.yaml", HOURS)]);
    assert_eq!(segments(&folder, &["--for", "9h"]), at(&[("00:00:00", 2), ("08:00:00", 10)]));
    let new = ["--for", "9h", "--new"];
    assert_eq!(segments(&folder, &new), at(&[("00:00:00", 4), ("08:00:00", 10)]));
    let forecast = |further: &[&str]| {
        let command = ["forecast", "-f", ".", "--from", AT, "-o", "json"];
        parsed(&almanac(&folder, &[&command, further].concat()))
    };
    let told = forecast(&new);
    let expected = json!(["all policies begin at 2026-05-04T00:00:00Z, as specified"]);
    assert_eq!(told["assumptions"], expected);
    // What fires at the very start is the first firing.
    let command = ["forecast", "-f", ".", "--from", "2026-05-04T08:00:00Z", "--new", "-o", "json"];
    let told = parsed(&almanac(&folder, &command));
    assert_eq!(told["series"][0]["segments"][0]["value"], 10);
    let command = ["next", "-f", ".", "--from", AT, "--count", "1", "--new"];
    let said = text(&almanac(&folder, &command).stdout);
    assert!(said.contains("replicas 4 → 10"), "{said}");
    assert!(said.contains("all policies begin at 2026-05-04T00:00:00Z, as specified"), "{said}");
    let command = ["next", "-f", ".", "--from", AT, "--count", "1", "--new", "-o", "json"];
    assert_eq!(parsed(&almanac(&folder, &command))["assumptions"], expected);
}

#[test]
fn what_a_cluster_runs_is_not_new() {
    let folder = folder_with("beginning-cluster", &[]);
    for command in ["forecast", "next"] {
        let output = almanac(&folder, &[command, "--new"]);
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        assert!(said.contains("--new") && said.contains("applies to files only"), "{said}");
    }
}
