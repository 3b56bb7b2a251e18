//! `almanac controller` does what `almanac forecast` predicts for a cluster, minute by minute, even if the process is
//! killed and restarted.

use std::path::Path;
use std::process::Stdio;

use crate::controller::{
    ALMANAC, CRON, Cluster, DEPLOYMENT, HORIZONTAL, Kind, PRODUCER, cron, deployment, horizontal,
    on_cluster, target,
};
use almanac_fixtures::objects;
use almanac_harness::{Observation, PATIENCE, TestResult, await_condition};
use anyhow::{Context as _, Result, ensure};
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use serde_json::{Value, json};
use tokio::process::Command;

const NAMESPACE: &str = "shop";
const MINUTES: i64 = 5;
/// Disables leader election: the Lease would outlast the minute in which its holder was killed.
const ALONE: &[&str] = &["--leader-elect=false"];

/// Rules of even and of odd minutes, so that something changes every minute.
fn by_minutes(even: &Value, odd: &Value) -> Value {
    let rule = |name: &str, schedule: &str, set: &Value| {
        let mut rule = set.clone();
        (rule["name"], rule["schedule"]) = (json!(name), json!(schedule));
        rule
    };
    json!([rule("even", "*/2 * * * *", even), rule("odd", "1-59/2 * * * *", odd)])
}

async fn prepare(cluster: &Cluster) -> TestResult {
    cluster.namespace(NAMESPACE).await?;
    for name in ["alone", "shared"] {
        cluster.create(DEPLOYMENT, NAMESPACE, &deployment(name, 1)).await?;
    }
    cluster.create(HORIZONTAL, NAMESPACE, &horizontal("bounds", Some(2), 6)).await?;
    let replicas = |count: u32| json!({ "targetReplicas": count });
    let to = |name: &str| target("apps/v1", "Deployment", name);
    let every_minute = |count: u32| json!([{"name": "every-minute", "schedule": "* * * * *", "targetReplicas": count}]);
    // Each bound moves out of the way of the other, in turn.
    let bounds = by_minutes(&json!({ "targetMinReplicas": 8 }), &json!({ "targetMaxReplicas": 4 }));
    for object in [
        cron("alone", &to("alone"), &by_minutes(&replicas(4), &replicas(7))),
        // Of these two policies, the second is the last in every minute, by its name.
        cron("a-first", &to("shared"), &every_minute(3)),
        cron("b-second", &to("shared"), &by_minutes(&replicas(5), &replicas(6))),
        cron("bounds", &target("autoscaling/v2", "HorizontalPodAutoscaler", "bounds"), &bounds),
    ] {
        cluster.create(CRON, NAMESPACE, &object).await?;
    }
    let minutes = |first: u32| {
        let all: Vec<String> = (first..60).step_by(2).map(|minute| minute.to_string()).collect();
        let hours: Vec<String> = (0..24).map(|hour: u32| hour.to_string()).collect();
        json!({ "minutes": all.join(","), "hours": hours.join(",") })
    };
    let behavior = json!({ "replicas": 9, "start": minutes(0), "end": minutes(1) });
    let schedule = json!({ "defaultReplicas": 2, "behaviors": [behavior] });
    let producer = objects::metrics_producer("nodes", &schedule);
    cluster.create(PRODUCER, NAMESPACE, &producer).await
}

/// The forecast of the next minutes.
async fn forecast(kubeconfig: &Path) -> Result<Value> {
    let mut command = Command::new(ALMANAC);
    command.args(["forecast", "-n", NAMESPACE, "--for", "1h", "-o", "json"]);
    command.env("KUBECONFIG", kubeconfig).stdin(Stdio::null());
    let output = command.output().await?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let report: Value = serde_json::from_slice(&output.stdout).context(stderr)?;
    // Two policies that write the same target cause one warning.
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(1), "{:#}", report["findings"]);
    Ok(report)
}

/// The segment of a series that contains an instant.
fn segment_at(series: &Value, at: Timestamp) -> Result<&Value> {
    let segments = series["segments"].as_array().context("a series has segments")?;
    let instant = |segment: &Value, name: &str| -> Result<Timestamp> {
        Ok(segment[name].as_str().context("an instant")?.parse()?)
    };
    for segment in segments {
        if instant(segment, "from")? <= at && at < instant(segment, "to")? {
            return Ok(segment);
        }
    }
    anyhow::bail!("no segment has {at}")
}

/// The kind, the name and the field path of a series in the cluster.
fn live(series: &Value) -> Result<(Kind, &str, &'static str)> {
    let name = series["target"]["name"].as_str().context("a target has a name")?;
    let field = series["field"].as_str().context("a series has a field")?;
    Ok(match field {
        "replicas" => (DEPLOYMENT, name, "/spec/replicas"),
        "minReplicas" => (HORIZONTAL, name, "/spec/minReplicas"),
        "maxReplicas" => (HORIZONTAL, name, "/spec/maxReplicas"),
        _ => (PRODUCER, name, "/status/scheduledCapacity/currentValue"),
    })
}

/// Waits until all values and records are as forecast for a minute.
async fn await_forecast_state(cluster: &Cluster, report: &Value, minute: Timestamp) -> TestResult {
    for series in report["series"].as_array().context("there are series")? {
        let segment = segment_at(series, minute)?;
        let (kind, name, place) = live(series)?;
        let what = format!("{place} is {} at {minute}", segment["value"]);
        cluster
            .await_object(kind, (NAMESPACE, name), &what, |object| {
                object.pointer(place) == Some(&segment["value"])
            })
            .await?;
        let policy = &segment["policy"];
        if let (Some("CronFederatedHPA"), Some(name), Some(rule)) =
            (policy["kind"].as_str(), policy["name"].as_str(), policy["rule"].as_str())
        {
            await_record(cluster, name, rule, segment).await?;
        }
    }
    Ok(())
}

/// Waits until the rule that sets a value in the forecast has a record of it, for the forecast instant.
async fn await_record(cluster: &Cluster, policy: &str, rule: &str, segment: &Value) -> TestResult {
    let begins: Timestamp = segment["from"].as_str().context("an instant")?.parse()?;
    await_condition(&format!("{policy} {rule} has recorded {begins}"), PATIENCE, async || {
        let object = cluster.get(CRON, NAMESPACE, policy).await?;
        let histories = object["status"]["executionHistories"].as_array();
        let mut executions =
            histories.into_iter().flatten().filter(|history| history["ruleName"] == rule).flat_map(
                |history| history["successfulExecutions"].as_array().into_iter().flatten(),
            );
        // The value may be unchanged from before the rule set it again.
        let is_recorded = executions.any(|execution| {
            let at = execution["scheduleTime"].as_str().and_then(|at| at.parse().ok());
            at.is_some_and(|at: Timestamp| at >= begins)
        });
        Ok(Observation::from_bool(is_recorded, object["status"].to_string()))
    })
    .await
}

#[test]
fn a_cluster_follows_its_forecast_minute_by_minute() -> TestResult {
    on_cluster(async |_, cluster| {
        prepare(cluster).await?;
        let report = forecast(cluster.kubeconfig()).await?;
        assert_eq!(report["series"].as_array().map(Vec::len), Some(5), "{report:#}");
        let from: Timestamp =
            report["from"].as_str().context("the report has no start")?.parse()?;
        let first = from.as_second().div_euclid(60) + 1;
        for minute in (first..first + MINUTES).map(|minute| Timestamp::from_second(minute * 60)) {
            let minute = minute?;
            let before = (minute - SignedDuration::from_secs(3)).to_string();
            let controller = cluster.start_at(&before, ALONE).await?;
            await_forecast_state(cluster, &report, minute).await?;
            let is_last = minute.as_second() / 60 == first + MINUTES - 1;
            let is_in_time = controller.now() < minute + 50.seconds();
            ensure!(is_last || is_in_time, "the machine is too slow for this test");
            // Alternates between an orderly end and a kill.
            if minute.as_second() % 120 == 0 {
                controller.stop().await?;
            } else {
                controller.program.kill()?;
            }
        }
        let object = cluster.get(CRON, NAMESPACE, "a-first").await?;
        let recorded = object["status"]["executionHistories"][0]["successfulExecutions"].clone();
        ensure!(
            recorded.as_array().is_some_and(|it| it.len() == 3),
            "the first has its turn in every minute, before the second: {recorded}"
        );
        Ok(())
    })
}
