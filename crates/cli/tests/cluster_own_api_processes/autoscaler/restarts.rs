//! A process is killed and restarted, or succeeded by another replica, in the middle of stabilization windows and of
//! the periods of policies. Every change also occurs in an uninterrupted run, and not sooner.

use std::collections::BTreeMap;

use almanac_fixtures::objects;
use almanac_harness::{Fault, FaultProxy, OwnTest, TestResult};
use anyhow::{Context as _, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::autoscaler::autoscalers::{
    NAMESPACE, await_condition_of, await_replicas, instants, scalings, scheduled,
};
use crate::autoscaler::histories::{Changes, Histories, Observer, forecast};
use crate::controller::{
    AUTOSCALER, Cluster, Controller, DEPLOYMENT, LEASE, PRODUCER, deployment, head_start,
    on_cluster, target,
};

const BOUNDARY: &str = "2026-11-30T09:00:00Z";
/// All initial changes of a forecast are over by the boundary.
const LONG_BEFORE: &str = "2026-11-30T08:59:00Z";
/// The numbers before the boundary and after the boundary: one schedule rises, the other falls.
const LOW: u32 = 2;
const HIGH: u32 = 9;
/// The limit of each scale-up, in pods.
const STEP: u32 = 2;
const STEP_PERIOD: SignedDuration = SignedDuration::from_secs(8);
/// The audit log has the time of the response, and the controller the time of the request. They differ on a busy
/// machine.
const ANSWER: SignedDuration = SignedDuration::from_secs(2);

/// Autoscalers with every kind of persisted state: the name, the schedule, the behavior.
fn autoscalers() -> [(&'static str, &'static str, Value); 5] {
    let steps =
        |kind, value, seconds| json!([{ "type": kind, "value": value, "periodSeconds": seconds }]);
    [
        ("up-window", "rise", json!({ "scaleUp": { "stabilizationWindowSeconds": 12 } })),
        (
            "up-steps",
            "rise",
            json!({ "scaleUp": { "policies": steps("Count", STEP, STEP_PERIOD.as_secs()) } }),
        ),
        ("down-window", "ebb", json!({ "scaleDown": { "stabilizationWindowSeconds": 15 } })),
        (
            "down-steps",
            "ebb",
            json!({ "scaleDown": {
                "stabilizationWindowSeconds": 0, "policies": steps("Percent", 50, 10),
            } }),
        ),
        (
            "down-both",
            "ebb",
            json!({ "scaleDown": {
                "stabilizationWindowSeconds": 7, "policies": steps("Count", 4, 12),
            } }),
        ),
    ]
}

fn schedule(name: &str, before: u32, after: u32) -> Value {
    let hour = json!({ "replicas": after, "start": { "hours": 9 }, "end": { "hours": 10 } });
    objects::metrics_producer(name, &json!({ "defaultReplicas": before, "behaviors": [hour] }))
}

/// Creates all objects; returns the changes of an uninterrupted run.
async fn prepare(test: &OwnTest, cluster: &Cluster) -> Result<BTreeMap<String, Changes>> {
    let mut all = Vec::new();
    for (name, before, after) in [("rise", LOW, HIGH), ("ebb", HIGH, LOW)] {
        let object = schedule(name, before, after);
        cluster.create(PRODUCER, NAMESPACE, &object).await?;
        all.push(object);
    }
    for (name, schedule, behavior) in autoscalers() {
        let replicas = if schedule == "rise" { LOW } else { HIGH };
        let workload = deployment(name, replicas);
        cluster.create(DEPLOYMENT, NAMESPACE, &workload).await?;
        let reference = target("apps/v1", "Deployment", name);
        let mut object =
            objects::horizontal_autoscaler(name, &reference, &scheduled(cluster, schedule));
        object["spec"]["behavior"] = behavior;
        cluster.create(AUTOSCALER, NAMESPACE, &object).await?;
        all.extend([workload, object]);
    }
    forecast(test.plane.folder(), &all, LONG_BEFORE)
}

/// An instant before the boundary that leaves time for `programs` to start one after the other.
fn before(programs: i32) -> Result<String> {
    Ok((BOUNDARY.parse::<Timestamp>()? - head_start() * programs).to_string())
}

/// Waits until the policy clock shows `seconds` after the boundary.
async fn await_seconds_after(controller: &Controller, seconds: i64) -> TestResult {
    let until = BOUNDARY.parse::<Timestamp>()? + SignedDuration::from_secs(seconds);
    controller.await_clock(until).await
}

/// Waits until all targets have their final replicas.
async fn await_end(cluster: &Cluster) -> TestResult {
    for (name, schedule, _) in autoscalers() {
        let replicas = if schedule == "rise" { HIGH } else { LOW };
        await_replicas(cluster, (DEPLOYMENT, NAMESPACE, name), replicas).await?;
    }
    Ok(())
}

/// Checks that the observed changes equal the changes of the forecast, with one write each and none too soon.
async fn ensure_as_without_interruption(
    cluster: &Cluster,
    (expected, histories): (&BTreeMap<String, Changes>, &Histories),
    controller: &Controller,
) -> TestResult {
    for (name, ..) in autoscalers() {
        let expected = expected.get(name).with_context(|| format!("no forecast of {name}"))?;
        ensure!(!expected.is_empty(), "nothing is forecast of {name}");
        let (first, then) = histories[name].split_first().context("the target has no history")?;
        let values: Vec<u32> = expected.iter().map(|(_, replicas)| *replicas).collect();
        ensure!(then == values, "{name} went from {first} to {then:?}, instead of {values:?}");
        let writes = scalings(cluster, name).await?;
        ensure!(writes.len() == values.len(), "{name}: {values:?} by {writes:#?}");
        for ((at, replicas), write) in expected.iter().zip(&writes) {
            let late = controller.time_of(write)?.duration_since(*at);
            eprintln!("{name} had {replicas} replicas {late:#} after the forecast");
            ensure!(!late.is_negative(), "{name} had {replicas} replicas {late:#} too soon");
        }
    }
    Ok(())
}

#[test]
fn a_killed_process_scales_after_a_restart_as_if_it_had_continued() -> TestResult {
    on_cluster(async |test, cluster| {
        let expected = prepare(test, cluster).await?;
        let observer = Observer::start(test, NAMESPACE).await?;
        let controller = cluster.start_at(&before(1)?, &["--leader-elect=false"]).await?;
        controller.ensure_before(BOUNDARY)?;
        for seconds in [2, 6, 10, 15, 22] {
            await_seconds_after(&controller, seconds).await?;
            controller.program.kill()?;
            controller.program.start_again()?;
        }
        await_end(cluster).await?;
        controller.stop().await?;
        let histories = observer.histories()?;
        ensure_as_without_interruption(cluster, (&expected, &histories), &controller).await
    })
}

#[test]
fn a_successor_scales_as_if_the_leader_had_continued() -> TestResult {
    on_cluster(async |test, cluster| {
        let expected = prepare(test, cluster).await?;
        let observer = Observer::start(test, NAMESPACE).await?;
        let first = Controller::start(cluster.kubeconfig(), &before(2)?, &["--identity", "first"])?;
        let holds = |lease: &Value| lease["spec"]["holderIdentity"] == "first";
        cluster.await_object(LEASE, (NAMESPACE, "almanac"), "to be held", holds).await?;
        let now = first.now().to_string();
        let second = Controller::start(cluster.kubeconfig(), &now, &["--identity", "second"])?;
        second.program.await_ready().await?;
        first.ensure_before(BOUNDARY)?;
        await_seconds_after(&first, 2).await?;
        first.program.kill()?;
        await_end(cluster).await?;
        second.stop().await?;
        let histories = observer.histories()?;
        ensure_as_without_interruption(cluster, (&expected, &histories), &second).await
    })
}

#[test]
fn scaling_policies_apply_to_a_change_that_a_killed_process_did_not_record() -> TestResult {
    on_cluster(async |test, cluster| {
        prepare(test, cluster).await?;
        let proxy = FaultProxy::start(test.client())?;
        let controller =
            Controller::start(&proxy.kubeconfig(), &before(1)?, &["--leader-elect=false"])?;
        await_condition_of(cluster, "up-steps", ["Ready", "True", "Scaling"]).await?;
        let status = "/horizontalautoscalers/up-steps/status";
        let unrecorded = proxy.inject(Fault::hang().path_contains(status).always());
        controller.ensure_before(BOUNDARY)?;
        await_replicas(cluster, (DEPLOYMENT, NAMESPACE, "up-steps"), LOW + STEP).await?;
        controller.program.kill()?;
        unrecorded.release();
        controller.program.start_again()?;
        await_replicas(cluster, (DEPLOYMENT, NAMESPACE, "up-steps"), HIGH).await?;
        controller.stop().await?;
        let writes = instants(&scalings(cluster, "up-steps").await?)?;
        for pair in writes.windows(2) {
            let apart = pair[1].duration_since(pair[0]);
            ensure!(apart >= STEP_PERIOD - ANSWER, "a step {apart:#} after the last: {writes:?}");
        }
        Ok(())
    })
}
