//! Directories of policies like those of large clusters, for benchmarks that read files.
//!
//! The same numbers give the same files. Objects have a realistic length, with the labels and
//! annotations of everyday tooling.

use std::fs;
use std::io;
use std::path::Path;

const ZONES: [&str; 5] =
    ["Europe/Berlin", "America/New_York", "Asia/Shanghai", "UTC", "America/Los_Angeles"];

/// Writes `files` files of `objects` objects each. Returns the number of bytes.
pub fn write(folder: &Path, files: usize, objects: usize) -> io::Result<usize> {
    let mut bytes = 0;
    for file in 0..files {
        let text: String =
            (0..objects).map(|object| object_text(file * objects + object)).collect();
        bytes += text.len();
        let below = folder.join(format!("team-{:02}", file % 40));
        fs::create_dir_all(&below)?;
        fs::write(below.join(format!("app-{file:04}.yaml")), text)?;
    }
    Ok(bytes)
}

/// The object with this number; the number determines its kind.
fn object_text(number: usize) -> String {
    let zone = ZONES[number % ZONES.len()];
    let (hour, minute) = (6 + number % 5, (number * 7) % 60);
    let (kind, spec) = match number % 5 {
        0 | 1 => ("CronFederatedHPA", cron_rules(number, zone, hour, minute)),
        2 => ("MetricsProducer", schedule(zone, hour)),
        3 => ("HorizontalAutoscaler", autoscaler(number)),
        _ => ("FederatedHPA", federated(number)),
    };
    let group = match kind {
        "MetricsProducer" | "HorizontalAutoscaler" => "autoscaling.karpenter.sh",
        _ => "autoscaling.karmada.io",
    };
    format!(
        "---
apiVersion: {group}/v1alpha1
kind: {kind}
metadata:
  name: app-{number}
  namespace: team-{}
  labels:
    app.kubernetes.io/name: app-{number}
    app.kubernetes.io/part-of: shop
    app.kubernetes.io/managed-by: kustomize
  annotations:
    example.com/owner: \"team-{}@example.com\"
    example.com/runbook: \"https://runbooks.example.com/app-{number}/scaling\"
    example.com/reason: >-
      Customers arrive in the morning and leave in the evening; the replicas are there before
      them, and not long after. Ask the owner before you change the times.
spec:
{spec}",
        number % 40,
        number % 40,
    )
}

fn cron_rules(number: usize, zone: &str, hour: usize, minute: usize) -> String {
    let rule = |name: &str, schedule: &str, replicas: usize| {
        format!(
            "  - name: {name}
    schedule: \"{schedule}\"
    timeZone: {zone}
    targetReplicas: {replicas}
    successfulHistoryLimit: 3
    failedHistoryLimit: 3
"
        )
    };
    format!(
        "  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: app-{number}
  rules:
{}{}{}",
        rule("before-opening", &format!("{minute} {hour} * * 1-5"), 20 + number % 80),
        rule("after-closing", &format!("{minute} 19 * * 1-5"), 4),
        rule("weekend", "0 12 * * 6", 2),
    )
}

fn schedule(zone: &str, hour: usize) -> String {
    format!(
        "  schedule:
    timezone: {zone}
    defaultReplicas: 2
    behaviors:
    # From Friday evening to Monday morning.
    - replicas: 1
      start:
        weekdays: Fri
        hours: 17
      end:
        weekdays: Mon
        hours: {hour}
    - replicas: 9
      start:
        weekdays: Mon,Tue,Wed,Thu,Fri
        hours: {hour}
      end:
        weekdays: Mon,Tue,Wed,Thu,Fri
        hours: 17
"
    )
}

fn autoscaler(number: usize) -> String {
    format!(
        "  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: app-{number}
  minReplicas: 1
  maxReplicas: 100
  metrics:
  - prometheus:
      query: karpenter_scheduled_capacity{{name=\"app-{number}\"}}
      target:
        type: AverageValue
        value: 1
  behavior:
    scaleDown:
      stabilizationWindowSeconds: 300
      policies:
      - type: Percent
        value: 10
        periodSeconds: 60
"
    )
}

fn federated(number: usize) -> String {
    format!(
        "  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: app-{number}
  minReplicas: 2
  maxReplicas: 100
  metrics:
  - type: Resource
    resource:
      name: cpu
      target:
        type: Utilization
        averageUtilization: 60
"
    )
}
