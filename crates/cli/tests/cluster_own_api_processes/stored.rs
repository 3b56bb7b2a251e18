//! Statuses of an earlier version: this version continues from them. No rule is treated as new, no firing is repeated,
//! and none is lost.
//!
//! `tests/stored/statuses.json` contains the objects as the program of 2026-11-27 left them. It was the last program
//! with statuses from before all families had a common interface to the engine. With `ALMANAC_OLDER` (a program) and
//! `ALMANAC_RECORD` (a file), the test starts that program on new objects, and writes the file from the objects.

use std::env;
use std::fs;
use std::path::Path;

use almanac_fixtures::objects;
use almanac_harness::{Observation, PATIENCE, TestResult, await_condition};
use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controller::{
    AUTOSCALER, CRON, Cluster, Controller, DEPLOYMENT, FEDERATED, HORIZONTAL, Kind, PRODUCER, cron,
    deployment, federated, head_start, horizontal, memory_in_the_manifests, target,
};
use crate::on_time::histories::history;
use crate::placement::stage::{DECISION, PLACEMENT, await_selected, on_hub, place, prepare};

const NAMESPACE: &str = "default";
/// The boundaries: the rules of every object fire at each boundary. The earlier program ran at the first.
const BEFORE: &str = "2027-06-01T09:00:00Z";
const BOUNDARY: &str = "2027-06-01T09:30:00Z";
const EARLIER: &str = include_str!("../stored/statuses.json");
const ALL: &[&str] = &[
    "--leader-elect=false",
    "--controllers=metrics-producer,cron-federated-hpa,horizontal-autoscaler,placement",
];
/// The order in which the objects are created again: policies after the objects that they refer to.
const KINDS: [(&str, Kind); 8] = [
    ("Deployment", DEPLOYMENT),
    ("FederatedHPA", FEDERATED),
    ("HorizontalPodAutoscaler", HORIZONTAL),
    ("MetricsProducer", PRODUCER),
    ("HorizontalAutoscaler", AUTOSCALER),
    ("CronFederatedHPA", CRON),
    ("PlacementDecision", DECISION),
    ("Placement", PLACEMENT),
];
/// The cron objects, and the value that their rule `half` has set at the second boundary. The target of the last object
/// does not exist.
const CRONS: [(&str, &str, u64); 4] = [
    ("replicas", "appliedReplicas", 5),
    ("bounds", "appliedMinReplicas", 3),
    ("ceiling", "appliedMaxReplicas", 8),
    ("nowhere", "", 0),
];

/// Creates policies of every family, with the objects that they refer to.
async fn create(cluster: &Cluster) -> TestResult {
    for name in ["replicas", "scaled"] {
        cluster.create(DEPLOYMENT, NAMESPACE, &deployment(name, 1)).await?;
    }
    cluster.create(FEDERATED, NAMESPACE, &federated("bounds", Some(1), 9)).await?;
    cluster.create(HORIZONTAL, NAMESPACE, &horizontal("ceiling", Some(1), 9)).await?;
    let federated = "autoscaling.karmada.io/v1alpha1";
    let crons = [
        ("replicas", target("apps/v1", "Deployment", "replicas"), "targetReplicas", 5),
        ("bounds", target(federated, "FederatedHPA", "bounds"), "targetMinReplicas", 3),
        (
            "ceiling",
            target("autoscaling/v2", "HorizontalPodAutoscaler", "ceiling"),
            "targetMaxReplicas",
            8,
        ),
        ("nowhere", target("apps/v1", "Deployment", "nowhere"), "targetReplicas", 5),
    ];
    for (name, of, field, value) in crons {
        let mut half = json!({"name": "half", "schedule": "*/30 9 * * *"});
        half[field] = json!(value);
        if name == "nowhere" {
            // The firing is abandoned immediately.
            half["maxDelaySeconds"] = json!(1);
        }
        let mut daily = half.clone();
        daily["name"] = json!("daily");
        daily["schedule"] = json!("0 9 * * *");
        daily["timeZone"] = json!("Europe/Berlin");
        daily["suspend"] = json!(name == "bounds");
        cluster.create(CRON, NAMESPACE, &cron(name, &of, &json!([half, daily]))).await?;
    }
    let half_hour = |replicas: u64, start: [&str; 2], end: [&str; 2]| {
        let [start, end] =
            [start, end].map(|[hours, minutes]| json!({"hours": hours, "minutes": minutes}));
        json!({"replicas": replicas, "start": start, "end": end})
    };
    let behaviors = [half_hour(4, ["9", "0"], ["9", "30"]), half_hour(6, ["9", "30"], ["10", "0"])];
    let schedule = json!({"defaultReplicas": 2, "behaviors": behaviors});
    cluster.create(PRODUCER, NAMESPACE, &objects::metrics_producer("day", &schedule)).await?;
    let query = "karpenter_scheduled_capacity{name=\"day\"}";
    let scaled = target("apps/v1", "Deployment", "scaled");
    let autoscaler = objects::horizontal_autoscaler("scaled", &scaled, query);
    cluster.create(AUTOSCALER, NAMESPACE, &autoscaler).await?;
    place(cluster, "one", 1, &[("Steady", 1)]).await
}

/// Waits until every policy has acted at a boundary: rules have fired, and the autoscaler has followed the schedule.
async fn await_all_acted(cluster: &Cluster, boundary: &str, scheduled: u64) -> TestResult {
    for (name, ..) in CRONS {
        let has_acted = |status: &Value| {
            let mut histories = status["executionHistories"].as_array().into_iter().flatten();
            histories.any(|it| it["ruleName"] == "half" && it["lastHandledTime"] == boundary)
        };
        cluster.await_status(NAMESPACE, name, &format!("acted at {boundary}"), has_acted).await?;
    }
    let follows = |it: &Value| it["spec"]["replicas"] == scheduled;
    let what = format!("{scheduled} replicas");
    cluster.await_object(DEPLOYMENT, (NAMESPACE, "scaled"), &what, follows).await?;
    let follows = |it: &Value| it["status"]["currentReplicas"] == scheduled;
    cluster.await_object(AUTOSCALER, (NAMESPACE, "scaled"), &what, follows).await?;
    await_selected(cluster, "one", &["cluster1"]).await
}

/// The objects of an earlier program, in the order of the kinds.
async fn record(cluster: &Cluster, program: &Path) -> Result<Value> {
    create(cluster).await?;
    let start = BEFORE.parse::<Timestamp>()? - head_start();
    let memory = memory_in_the_manifests()?;
    let (kubeconfig, start) = (cluster.kubeconfig(), start.to_string());
    let older = Controller::start_command(program, "controller", memory, kubeconfig, &start, ALL)?;
    older.program.await_ready().await?;
    await_all_acted(cluster, BEFORE, 4).await?;
    older.stop().await?;
    let mut stored = Vec::new();
    for (name, kind) in KINDS {
        for mut object in cluster.list(kind, NAMESPACE).await? {
            object["kind"] = json!(name);
            object["apiVersion"] = json!(kind.root.trim_start_matches("/apis/"));
            let metadata = object["metadata"].as_object_mut().context("no metadata")?;
            metadata.retain(|field, _| ["name", "labels", "annotations"].contains(&field.as_str()));
            stored.push(object);
        }
    }
    Ok(Value::Array(stored))
}

/// Creates the objects again, with their statuses.
async fn restore(cluster: &Cluster, stored: &[Value]) -> TestResult {
    for object in stored {
        let kind = KINDS.iter().find(|(name, _)| object["kind"] == *name).context("a kind")?.1;
        cluster.create(kind, NAMESPACE, object).await?;
        let name = object["metadata"]["name"].as_str().context("a name")?;
        if object["status"].is_object() {
            cluster.patch_status(kind, NAMESPACE, name, &object["status"]).await?;
        }
    }
    Ok(())
}

/// The history of `half` of a cron object.
fn half(object: &Value) -> Result<Value> {
    history(&object["status"], "half").with_context(|| format!("{}", object["metadata"]["name"]))
}

/// The fields that identify an unchanged rule.
fn fingerprints(object: &Value) -> Vec<&str> {
    let all = object["status"]["executionHistories"].as_array().into_iter().flatten();
    all.filter_map(|entry| entry["fingerprint"].as_str()).collect()
}

/// Checks that a history contains the earlier executions, and one more for the boundary.
fn ensure_one_more(earlier: &Value, later: &Value, is_failure: bool) -> TestResult {
    let list = if is_failure { "failedExecutions" } else { "successfulExecutions" };
    let other = if is_failure { "successfulExecutions" } else { "failedExecutions" };
    let times = |history: &Value, list: &str| -> Vec<String> {
        let all = history[list].as_array().into_iter().flatten();
        all.map(|it| it["scheduleTime"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let mut expected = times(earlier, list);
    ensure!(expected.contains(&BEFORE.to_owned()), "the earlier program has not acted: {earlier}");
    expected.push(BOUNDARY.to_owned());
    let mut actual = times(later, list);
    expected.sort_unstable();
    actual.sort_unstable();
    ensure!(actual == expected, "{actual:?} instead of {expected:?}");
    ensure!(times(earlier, other) == times(later, other), "{later} after {earlier}");
    Ok(())
}

#[test]
fn stored_state_of_an_earlier_version_is_continued() -> TestResult {
    on_hub(async |_, cluster| {
        prepare(cluster, &["cluster1", "cluster2"]).await?;
        if let (Some(program), Some(file)) =
            (env::var_os("ALMANAC_OLDER"), env::var_os("ALMANAC_RECORD"))
        {
            let stored = record(cluster, Path::new(&program)).await?;
            fs::write(file, format!("{stored:#}\n"))?;
            return Ok(());
        }
        let stored: Vec<Value> = serde_json::from_str(EARLIER)?;
        restore(cluster, &stored).await?;
        let boundary: Timestamp = BOUNDARY.parse()?;
        let controller = cluster.start_at(&(boundary - head_start()).to_string(), ALL).await?;
        controller.await_metric("almanac_cron_rules_armed 7").await?;
        controller.ensure_before(BOUNDARY)?;
        await_all_acted(cluster, BOUNDARY, 6).await?;

        for (name, field, value) in CRONS {
            let is_it =
                |it: &&Value| it["kind"] == "CronFederatedHPA" && it["metadata"]["name"] == name;
            let earlier = stored.iter().find(is_it).context("the object is not stored")?;
            let later = cluster.get(CRON, NAMESPACE, name).await?;
            let (before, after) = (fingerprints(earlier), fingerprints(&later));
            ensure!(before.len() == 2 && before == after, "{name}: {after:?} after {before:?}");
            ensure_one_more(&half(earlier)?, &half(&later)?, field.is_empty()).context(name)?;
            if !field.is_empty() {
                let last = &half(&later)?["successfulExecutions"][0];
                ensure!(last[field] == value, "{name}: {last}");
            }
        }
        // A single write, for the only target whose value changes, and none before the boundary.
        let mut writes = cluster.target_writes().await?;
        // The recreated decision has no owner yet.
        writes.retain(|it| it.resource != DECISION.plural);
        for write in &writes {
            let at = controller.time_of(write)?;
            ensure!(at >= boundary, "written at {at}: {write}");
        }
        let names: Vec<&str> = writes.iter().map(|it| &*it.name).collect();
        ensure!(names == ["scaled"], "{writes:#?}");
        await_condition("an Event of each firing", PATIENCE, async || {
            let mut events_by_name = Vec::new();
            for (name, ..) in CRONS {
                events_by_name.push((name, cluster.events(NAMESPACE, name).await?));
            }
            let is_one = events_by_name.iter().all(|(_, events)| events.len() == 1);
            Ok(Observation::from_bool(is_one, format!("{events_by_name:#?}")))
        })
        .await?;
        controller.stop().await
    })
}
