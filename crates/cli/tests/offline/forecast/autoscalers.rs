//! Autoscalers in a forecast: exact over schedules, and over other queries as far as the user states their results.

use std::path::Path;

use serde_json::Value;

use crate::forecast::assert_written_down;
use crate::forecast::running::{almanac, folder_with, in_one_line, segments};
use crate::running::list;

/// The schedule of the published design, the autoscaler that follows it, and its target.
const WEEK: &str = r#"
apiVersion: autoscaling.karpenter.sh/v1alpha1
kind: MetricsProducer
metadata: {name: scheduling}
spec:
  schedule:
    timezone: America/Los_Angeles
    defaultReplicas: 2
    behaviors:
    - {replicas: 1, start: {weekdays: Fri, hours: 17}, end: {weekdays: Mon, hours: 9}}
    - replicas: 3
      start: {weekdays: "Mon,Tue,Wed,Thu,Fri", hours: 9}
      end: {weekdays: "Mon,Tue,Wed,Thu,Fri", hours: 17}
    - replicas: 2
      start: {weekdays: "Mon,Tue,Wed,Thu,Fri", hours: 17}
      end: {weekdays: "Mon,Tue,Wed,Thu,Fri", hours: 9}
---
apiVersion: autoscaling.karpenter.sh/v1alpha1
kind: HorizontalAutoscaler
metadata: {name: nodes}
spec:
  scaleTargetRef: {apiVersion: autoscaling.karpenter.sh/v1alpha1, kind: ScalableNodeGroup, name: nodes}
  minReplicas: 1
  maxReplicas: 10
  metrics:
  - prometheus:
      query: QUERY
      target: {type: AverageValue, value: 1}
---
apiVersion: autoscaling.karpenter.sh/v1alpha1
kind: ScalableNodeGroup
metadata: {name: nodes}
spec: {replicas: 2, type: AWSEKSNodeGroup, id: nodes}
"#;

const SCHEDULED: &str = "karpenter_scheduled_capacity{name=\"scheduling\"}";

fn with_query(name: &str, query: &str) -> std::path::PathBuf {
    folder_with(name, &[("week.yaml", &WEEK.replace("QUERY", &format!("'{query}'")))])
}

/// The instants at which the number of nodes changes, each with the number.
fn nodes(folder: &Path, from: &str, further: &[&str]) -> Vec<(String, Value)> {
    let command = ["forecast", "-f", ".", "-o", "json", "--from", from];
    let output = almanac(folder, &[&command, further].concat()).json();
    let series = list(&output["series"]).iter();
    let of_nodes = series.filter(|it| it["target"]["kind"] == "ScalableNodeGroup");
    of_nodes.flat_map(segments).map(|(at, value)| (at.to_owned(), value.clone())).collect()
}

fn expected(changes: &[(&str, u32)]) -> Vec<(String, Value)> {
    changes.iter().map(|(at, value)| ((*at).to_owned(), (*value).into())).collect()
}

#[test]
fn the_example_of_the_design_scales_its_nodes_through_a_week() {
    let folder = with_query("autoscaler-week", SCHEDULED);
    let command = ["forecast", "-f", ".", "--from", "2021-02-01", "--for", "7d"];
    assert_written_down("autoscaler.txt", &almanac(&folder, &command));
}

#[test]
fn a_week_of_the_example_follows_the_schedule_with_decreases_five_minutes_late() {
    let folder = with_query("autoscaler-golden", SCHEDULED);
    let days = |days: std::ops::Range<u8>| {
        days.flat_map(|day| {
            let next = day + 1;
            [
                (format!("2021-02-{day:02}T17:00:00Z"), 3),
                (format!("2021-02-{next:02}T01:05:00Z"), 2),
            ]
        })
    };
    let mut golden = vec![("2021-02-01T08:00:00Z".to_owned(), 1)];
    golden.extend(days(1..5));
    golden.extend([
        ("2021-02-05T17:00:00Z".to_owned(), 3),
        ("2021-02-06T01:05:00Z".to_owned(), 1),
        ("2021-02-08T17:00:00Z".to_owned(), 3),
    ]);
    let golden: Vec<(&str, u32)> = golden.iter().map(|(at, value)| (&**at, *value)).collect();
    assert_eq!(
        nodes(&folder, "2021-02-01T00:00", &["--for", "7d10h"]),
        expected(&golden),
        "as in the table, from Monday to Monday"
    );
}

#[test]
fn a_clock_change_moves_the_nodes_with_the_schedule() {
    let folder = with_query("autoscaler-clock", SCHEDULED);
    // On 7 November 2021, an hour occurs twice, and all changes are an hour later.
    assert_eq!(
        nodes(&folder, "2021-11-05T12:00", &["--for", "4d"]),
        expected(&[
            ("2021-11-05T19:00:00Z", 3),
            ("2021-11-06T00:05:00Z", 1),
            ("2021-11-08T17:00:00Z", 3),
            ("2021-11-09T01:05:00Z", 2),
            ("2021-11-09T17:00:00Z", 3),
        ])
    );
    // On 14 March 2021, nine o'clock is an hour earlier; decreases follow five minutes after the boundary.
    assert_eq!(
        nodes(&folder, "2021-03-12T12:00", &["--for", "4d"]),
        expected(&[
            ("2021-03-12T20:00:00Z", 3),
            ("2021-03-13T01:05:00Z", 1),
            ("2021-03-15T16:00:00Z", 3),
            ("2021-03-16T00:05:00Z", 2),
            ("2021-03-16T16:00:00Z", 3),
        ])
    );
}

#[test]
fn the_query_of_the_faq_is_explained_and_its_correction_is_followed() {
    let faq = "max(karpenter_queue_length{name=\"ml\"},karpenter_scheduled_capacity{name=\"scheduling\"})";
    let folder = with_query("autoscaler-faq", faq);
    let output_text = in_one_line(&almanac(&folder, &["validate", "."]).stdout);
    let fix = "write max(karpenter_queue_length{name=\"ml\"} or \
               karpenter_scheduled_capacity{name=\"scheduling\"})";
    assert!(output_text.contains(fix), "{output_text}");
    let corrected = format!("max({SCHEDULED} or karpenter_scheduled_capacity{{name=\"other\"}})");
    let folder = with_query("autoscaler-corrected", &corrected);
    let nodes = nodes(&folder, "2021-02-01T09:00", &["--for", "1h"]);
    assert_eq!(nodes, expected(&[("2021-02-01T17:00:00Z", 3)]));
}

#[test]
fn a_query_without_a_stated_result_leaves_its_target_unchanged() {
    let folder = with_query("autoscaler-sample", "sum(queue)");
    let command = ["forecast", "-f", ".", "-o", "json", "--from", "2021-02-01", "--for", "1h"];
    let output = almanac(&folder, &command).json();
    let output_text = output["assumptions"].to_string();
    assert!(
        output_text.contains("sum(queue) cannot be answered without a Prometheus"),
        "{output_text}"
    );
    assert!(
        output_text.contains("Almanac does not publish queue; give its value with --sample"),
        "{output_text}"
    );
    let hour = ["--for", "1h"];
    let unsaid = nodes(&folder, "2021-02-01T00:00", &hour);
    assert_eq!(unsaid.iter().map(|it| &it.1).collect::<Vec<_>>(), [2]);
    let stated = nodes(&folder, "2021-02-01T00:00", &["--for", "1h", "--sample", "sum(queue)=7"]);
    assert_eq!(stated.iter().map(|it| &it.1).collect::<Vec<_>>(), [7]);
    let explain = ["explain", "-f", ".", "ha/nodes", "--sample", "sum(queue)=70"];
    let output_text = in_one_line(&almanac(&folder, &explain).stdout);
    assert!(
        output_text.contains("sum(queue) is 70, AverageValue 1: 70 replicas; 10 by maxReplicas"),
        "{output_text}"
    );
    almanac(&folder, &["next", "-f", ".", "--sample", "sum(other)=7"]).ended(2);
}
