//! With less memory than in the manifests, and any objects that users have created in a namespace, the process starts,
//! acquires leadership, and applies all rules.

use std::time::Duration;

use almanac_fixtures::trials::size;
use almanac_harness::{Observation, TestResult, await_condition};
use anyhow::Result;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::controller::{
    CRON, Cluster, Controller, DEPLOYMENT, Kind, cron, deployment, memory_in_the_manifests,
    on_cluster, target,
};
use crate::faults::replica::{FIRING, NAMESPACE};

/// The time limit to create hundreds of objects, and to write all their statuses several times.
const PATIENCE: Duration = Duration::from_mins(3);
/// The maximum number of concurrent creations of objects.
const AT_ONCE: usize = 16;
/// The interval between the firings of the rules.
const MINUTES: i64 = 5;

/// A run with three quarters of the memory in the manifests. The last quarter is a margin for differences between
/// machines.
fn start(cluster: &Cluster, instant: Timestamp, identity: &str) -> Result<Controller> {
    let memory = memory_in_the_manifests()? / 4 * 3;
    let further = ["--identity", identity];
    Controller::start_within(memory, cluster.kubeconfig(), &instant.to_string(), &further)
}

fn check(controller: &Controller, when: &str) -> TestResult {
    let peak = controller.limit.check(&controller.program)?;
    eprintln!("{when}: {} MB at the most", peak / 1_000_000);
    Ok(())
}

/// The desired replicas and the instant of the n-th rule of each object, counted from the tested firing.
fn rule(number: usize) -> Result<Value> {
    let at =
        FIRING.parse::<Timestamp>()? + SignedDuration::from_mins(MINUTES) * i32::try_from(number)?;
    let schedule = at.strftime("%-M %-H * * *").to_string();
    Ok(
        json!({"name": format!("rule-{number:027}"), "schedule": schedule, "targetReplicas": 2 + number}),
    )
}

async fn create_all(
    cluster: &Cluster,
    kind: Kind,
    objects: impl Iterator<Item = Value>,
) -> TestResult {
    let creations =
        objects.map(|object| async move { cluster.create(kind, NAMESPACE, &object).await });
    stream::iter(creations).buffer_unordered(AT_ONCE).try_for_each(async |()| Ok(())).await
}

/// Waits until every target has the value that the n-th rule sets.
async fn await_all_set(
    cluster: &Cluster,
    by: &Controller,
    number: usize,
    count: usize,
) -> TestResult {
    await_condition(&format!("rule {number} of all {count} to be applied"), PATIENCE, async || {
        by.limit.check(&by.program)?;
        let deployments = cluster.list(DEPLOYMENT, NAMESPACE).await?;
        let wanted = json!(2 + number);
        let set = deployments.iter().filter(|it| it["spec"]["replicas"] == wanted).count();
        Ok(Observation::from_bool(set == count, format!("{set} are")))
    })
    .await
}

/// The numbers of policies in the tests.
const POLICIES: &str = "ALMANAC_LARGE_POLICIES";

/// The failure of the leader.
enum Ends {
    Killed,
    InOrder,
}

/// A start and a failover under the limit, with `policies` policies of `rules` rules each, which `spoil` makes
/// slightly different from others.
async fn survives(
    cluster: &Cluster,
    (policies, rules): (usize, usize),
    ends: Ends,
    spoil: impl Fn(&mut Value),
) -> TestResult {
    let name = |number: usize| format!("policy-{number}");
    create_all(cluster, DEPLOYMENT, (0..policies).map(|it| deployment(&name(it), 1))).await?;
    let rules: Vec<Value> = (0..rules).map(rule).collect::<Result<_>>()?;
    let rules = json!(rules);
    let objects = (0..policies).map(|it| {
        let target = target("apps/v1", "Deployment", &name(it));
        let mut policy = cron(&name(it), &target, &rules);
        spoil(&mut policy);
        policy
    });
    create_all(cluster, CRON, objects).await?;

    let firing: Timestamp = FIRING.parse()?;
    let first = start(cluster, firing - SignedDuration::from_secs(5), "first")?;
    await_condition("the first to lead", PATIENCE, async || {
        first.limit.check(&first.program)?;
        let (status, body) = first.program.get("/readyz").await?;
        Ok(Observation::from_bool(status == 200, body))
    })
    .await?;
    check(&first, "after a start")?;
    // The clock of the successor is ahead, so that the second rule is due when it becomes the leader.
    let later = first.now() + SignedDuration::from_mins(MINUTES);
    let second = start(cluster, later, "second")?;
    second.program.await_ready().await?;
    await_all_set(cluster, &first, 0, policies).await?;
    check(&first, "after the first firing")?;
    match ends {
        Ends::Killed => first.program.kill()?,
        Ends::InOrder => first.stop().await?,
    }
    await_all_set(cluster, &second, 1, policies).await?;
    check(&second, "after a failover and the second firing")
}

#[test]
fn large_annotations_delay_no_firing() -> TestResult {
    on_cluster(async |_, cluster| {
        let annotations = json!({"made/for": "x".repeat(250_000)});
        let spoil = |policy: &mut Value| policy["metadata"]["annotations"] = annotations.clone();
        survives(cluster, (size(POLICIES, 100, 300), 2), Ends::Killed, spoil).await
    })
}

#[test]
fn objects_full_of_rules_delay_no_firing() -> TestResult {
    on_cluster(async |_, cluster| {
        survives(cluster, (size(POLICIES, 100, 500), 256), Ends::InOrder, |_| {}).await
    })
}
