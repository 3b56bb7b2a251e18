//! Policies and targets of all kinds are created, changed and deleted. The resources of the process stay level.
//!
//! `ALMANAC_CHURN_SECONDS` is the duration. After twice the warm-up time, memory, descriptors and tasks must not grow
//! by more than a twentieth. In the end, the process has no state of deleted objects.

use std::time::{Duration, Instant};

use almanac_fixtures::trials::{announce, size};
use almanac_fixtures::{hub, objects};
use almanac_harness::{self as harness, Observation, PATIENCE, TestResult, await_condition};
use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controller::{
    AUTOSCALER, CRON, Cluster, Controller, DEPLOYMENT, Kind, NODE_GROUP, PRODUCER, cron,
    deployment, target,
};
use crate::placement::stage::{DECISION, PLACEMENT, on_hub, prepare};

/// The number of objects that are created each second; the same number change and are deleted.
const A_SECOND: u64 = 20;
/// The number of later objects before an object changes, and again before it is deleted.
const LATER: u64 = 10 * A_SECOND;
const NAMESPACES: u64 = 50;
/// The time until the memory of the process is mostly level. Events are kept for a minute longer.
const WARMING_UP: Duration = Duration::from_mins(5);
/// The duration over which a figure is the median.
const SPAN: Duration = Duration::from_mins(2);

const ALL: &[&str] = &[
    "--leader-elect=false",
    "--controllers=metrics-producer,cron-federated-hpa,horizontal-autoscaler,scalable-node-group,placement",
];

fn lasting() -> Duration {
    Duration::from_secs(size("ALMANAC_CHURN_SECONDS", 5, 1_800))
}

/// The resources of the process at an instant.
struct Usage {
    at: Instant,
    memory: f64,
    descriptors: f64,
    tasks: f64,
}

impl Usage {
    async fn now(controller: &Controller) -> Result<Self> {
        let (status, body) = controller.program.get("/metrics").await?;
        ensure!(status == 200, "GET /metrics: {status}");
        let figure = |name: &str| -> Result<f64> {
            let line = body.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix(' '));
            Ok(line.with_context(|| format!("no {name}"))?.parse()?)
        };
        Ok(Self {
            at: Instant::now(),
            memory: figure("process_resident_memory_bytes")?,
            descriptors: figure("process_open_fds")?,
            tasks: figure("almanac_tasks")?,
        })
    }

    fn figures(&self) -> [f64; 3] {
        [self.memory / 1_000_000.0, self.descriptors, self.tasks]
    }
}

/// The object with a number: its kind, its namespace, and its content.
fn object(number: u64) -> (Kind, String, Value) {
    let name = format!("thing-{number}");
    let deployment_target =
        |number: u64| target("apps/v1", "Deployment", &format!("thing-{number}"));
    // An object is created or deleted just after the one that it depends on.
    let (kind, object) = match number % 6 {
        0 => (DEPLOYMENT, deployment(&name, 1)),
        1 => {
            let rules = json!([{"name": "up", "schedule": "* * * * *", "targetReplicas": 5}]);
            (CRON, cron(&name, &deployment_target(number - 1), &rules))
        }
        2 => {
            let day = json!({"replicas": 7, "start": {"hours": 9}, "end": {"hours": 17}});
            let schedule = json!({"defaultReplicas": 2, "behaviors": [day]});
            (PRODUCER, objects::metrics_producer(&name, &schedule))
        }
        3 => {
            let schedule = number - 1;
            let query = format!("karpenter_scheduled_capacity{{name=\"thing-{schedule}\"}}");
            let scale_target = deployment_target(number - 3);
            (AUTOSCALER, objects::horizontal_autoscaler(&name, &scale_target, &query))
        }
        4 => (NODE_GROUP, objects::scalable_node_group(&name, "AWSEKSNodeGroup", &name, 1)),
        _ => (PLACEMENT, hub::placement(&name, &json!({"numberOfClusters": 1}))),
    };
    (kind, format!("churn-{}", number / 6 % NAMESPACES), object)
}

/// The change that a user makes: a label, and the main field of the object.
fn change(number: u64) -> Value {
    let spec = match number % 6 {
        0 | 4 => json!({"replicas": 2}),
        1 => json!({"rules": [{"name": "up", "schedule": "* * * * *", "targetReplicas": 4}]}),
        2 => json!({"schedule": {"defaultReplicas": 3}}),
        3 => json!({"maxReplicas": 50}),
        _ => json!({"numberOfClusters": 2}),
    };
    json!({"metadata": {"labels": {"changed": "yes"}}, "spec": spec})
}

/// Creates an object, changes one, and deletes one. After the object `until`, only deletes.
async fn turn(cluster: &Cluster, number: u64, until: Option<u64>) -> TestResult {
    if until.is_none() {
        let (kind, namespace, object) = object(number);
        cluster.create(kind, &namespace, &object).await?;
    }
    let name = |number: u64| format!("thing-{number}");
    if let Some(number) = number.checked_sub(LATER)
        && until.is_none()
    {
        let (kind, namespace, _) = object(number);
        cluster.patch(kind, &namespace, &name(number), &change(number)).await?;
    }
    let is_there = |it: &u64| until.is_none_or(|until| *it < until);
    if let Some(number) = number.checked_sub(2 * LATER).filter(is_there) {
        let (kind, namespace, _) = object(number);
        cluster.delete(kind, &namespace, &name(number)).await?;
    }
    // Without a garbage collector, the test deletes decisions. A decision may appear just after its placement is
    // deleted.
    if let Some(number) = number.checked_sub(3 * LATER).filter(|it| it % 6 == 5) {
        let (_, namespace, _) = object(number);
        let decision = format!("{}-decision-1", name(number));
        if !cluster.get(DECISION, &namespace, &decision).await?.is_null() {
            cluster.delete(DECISION, &namespace, &decision).await?;
        }
    }
    Ok(())
}

fn median(usages: &[&Usage], index: usize) -> f64 {
    let mut figures: Vec<f64> = usages.iter().map(|it| it.figures()[index]).collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

/// Checks that no figure has grown since the end of the warm-up.
fn ensure_level(taken: &[Usage], begun: Instant) -> TestResult {
    let ended = taken.last().context("nothing was measured")?.at;
    let within = |from: Instant| -> Vec<&Usage> {
        taken.iter().filter(|it| it.at >= from && it.at < from + SPAN).collect()
    };
    let from = ended.checked_sub(SPAN).context("the test was too short")?;
    let (warm, last) = (within(begun + WARMING_UP), within(from));
    for (of, what) in ["MB", "descriptors", "tasks"].into_iter().enumerate() {
        let (before, after) = (median(&warm, of), median(&last, of));
        announce(&format!("churn: {before:.1} {what} when warm, {after:.1} at the end"));
        ensure!(after <= before * 1.05, "{what} grew from {before} to {after}");
    }
    Ok(())
}

#[test]
fn no_state_of_deleted_objects_remains() -> TestResult {
    harness::lasting(lasting());
    on_hub(async |_, cluster| {
        for number in 0..NAMESPACES {
            cluster.namespace(&format!("churn-{number}")).await?;
        }
        prepare(cluster, &["cluster1", "cluster2"]).await?;
        let controller = cluster.start_at(&Timestamp::now().to_string(), ALL).await?;
        let idle = Usage::now(&controller).await?;

        let (begun, mut number, mut taken) = (Instant::now(), 0, Vec::new());
        let mut ticks = tokio::time::interval(Duration::from_secs(1) / u32::try_from(A_SECOND)?);
        while begun.elapsed() < lasting() {
            ticks.tick().await;
            turn(cluster, number, None).await?;
            number += 1;
            if number.is_multiple_of(5 * A_SECOND) {
                taken.push(Usage::now(&controller).await?);
            }
            if number.is_multiple_of(60 * A_SECOND) {
                let [memory, ..] = Usage::now(&controller).await?.figures();
                let seconds = begun.elapsed().as_secs();
                announce(&format!("churn: {number} objects in {seconds} s, {memory:.1} MB"));
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        announce(&format!("churn: {number} objects in {seconds:.0} s"));
        for gone in number..number + 3 * LATER {
            turn(cluster, gone, Some(number)).await?;
        }
        if lasting() >= 2 * WARMING_UP {
            ensure_level(&taken, begun)?;
        }

        // No state remains: no status is queued, no number is published, and the number of tasks is as at first.
        await_condition("no state to be left", PATIENCE, async || {
            let armed = controller.scrape("almanac_cron_rules_armed ").await?;
            let published = controller.scrape("karpenter_scheduled_capacity").await?;
            let groups = controller.scrape("almanac_objects_not_ready").await?;
            let [_, descriptors, tasks] = Usage::now(&controller).await?.figures();
            let [_, idle_descriptors, idle_tasks] = idle.figures();
            // One kind of targets may be watched for a while, over connections of its own.
            let is_clean = armed == ["almanac_cron_rules_armed 0"]
                && published.is_empty()
                && groups.is_empty()
                && descriptors <= idle_descriptors + 8.0
                && tasks <= idle_tasks + 16.0;
            let figures =
                (armed, published, groups, descriptors, idle_descriptors, tasks, idle_tasks);
            Ok(Observation::from_bool(is_clean, format!("{figures:?}")))
        })
        .await?;
        controller.stop().await
    })
}
