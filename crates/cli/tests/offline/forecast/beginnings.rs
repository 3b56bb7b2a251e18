//! The start of an autoscaler in files: its replicas are those of the file, and only its recommendations are older.

use std::path::Path;

use serde_json::{Value, json};

use crate::forecast::running::{almanac, folder_with, segments};

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
    almanac(folder, &[&command, further].concat()).json()
}

fn forecast(folder: &Path, further: &[&str]) -> Value {
    let command = ["forecast", "-f", ".", "--from", AT, "-o", "json"];
    almanac(folder, &[&command, further].concat()).json()
}

/// The start of each segment of a forecast, and its value.
#[track_caller]
fn assert_segments(folder: &Path, further: &[&str], expected: &[(&str, u32)]) {
    let output = forecast(folder, further);
    let expected: Vec<_> = expected
        .iter()
        .map(|(time, value)| (format!("2026-05-04T{time}Z"), u64::from(*value)))
        .collect();
    let found = segments(&output["series"][0]).into_iter();
    let found = found.map(|(at, value)| (at.to_owned(), value.as_u64().unwrap()));
    assert_eq!(found.collect::<Vec<_>>(), expected);
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
    let expected = [("00:00:00", 12), ("00:00:10", 18), ("00:00:20", 27)];
    assert_segments(&folder, &half_a_minute, &expected);
}

#[test]
fn the_period_of_a_rate_limit_begins_with_the_forecast() {
    let behavior = "{scaleUp: {policies: [{type: Count, value: 4, periodSeconds: 60}]}, scaleDown: \
                    {stabilizationWindowSeconds: 0}}";
    let target = "{type: AverageValue, value: 1}";
    let folder = folder_with("beginning-rate", &[("all.yaml", &queue(10, 100, behavior, target))]);
    let two_minutes = ["--for", "2m", "--sample", "queue=40"];
    assert_segments(&folder, &two_minutes, &[("00:00:00", 14), ("00:01:00", 18)]);
}

#[test]
fn an_autoscaler_begins_at_the_assumed_value() {
    let folder = folder_with("beginning-assumed", &[("all.yaml", &queue(8, 100, "{}", VALUE))]);
    let assumed = ["--sample", "queue=15", "--assume", "deployment/web.replicas=2"];
    let explanation = explained(&folder, &assumed);
    assert_eq!((&explanation["value"], &explanation["next"]["value"]), (&json!(3), &json!(5)));
}

#[test]
fn a_result_that_is_not_a_single_number_changes_nothing() {
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
    almanac(&folder, &["explain", "-f", ".", "ha", "--at", AT])
        .assert_stdout(&["error     the object"]);
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
    assert_segments(&folder, &["--for", "9h"], &[("00:00:00", 2), ("08:00:00", 10)]);
    let new = ["--for", "9h", "--new"];
    assert_segments(&folder, &new, &[("00:00:00", 4), ("08:00:00", 10)]);
    let assumed = "all policies begin at 2026-05-04T00:00:00Z, as specified";
    assert_eq!(forecast(&folder, &new)["assumptions"], json!([assumed]));
    // A firing exactly at the start is the first firing.
    let command = ["forecast", "-f", ".", "--from", "2026-05-04T08:00:00Z", "--new", "-o", "json"];
    let output = almanac(&folder, &command).json();
    assert_eq!(output["series"][0]["segments"][0]["value"], 10);
    let command = ["next", "-f", ".", "--from", AT, "--count", "1", "--new"];
    almanac(&folder, &command).assert_stdout(&["replicas 4 → 10", assumed]);
    let output = almanac(&folder, &[&command[..], &["-o", "json"]].concat()).json();
    assert_eq!(output["assumptions"], json!([assumed]));
}

#[test]
fn policies_of_a_cluster_are_not_new() {
    let folder = folder_with("beginning-cluster", &[]);
    for command in ["forecast", "next"] {
        let ran = almanac(&folder, &[command, "--new"]).ended(2);
        ran.assert_stderr(&["--new", "applies to files only"]);
    }
}
