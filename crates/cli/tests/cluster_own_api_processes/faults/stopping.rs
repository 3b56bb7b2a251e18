//! Queued writes when a process stops: by the stop annotation, and by a shutdown.

use almanac_fixtures::objects;
use almanac_harness::{Fault, Injected, Observation, PATIENCE, TestResult, await_condition};
use anyhow::{Result, ensure};
use http::Method;
use serde_json::json;

use crate::controller::{
    CRON, Cluster, DEPLOYMENT, PRODUCER, cron, deployment, head_start, in_namespace, target,
};
use crate::faults::replica::{
    BEFORE, Replica, await_all_armed, await_record, effective_scalings, replicas,
};

/// The number of policies; few may be written at the same time.
const POLICIES: usize = 12;
const AT_ONCE: usize = 2;
/// The replicas set at the firing, and a minute later.
const AT_NINE: u32 = 5;
const LATER: u64 = 7;

const STOPPED: &str = "not carried out: everything was stopped";

fn names() -> Vec<String> {
    (0..POLICIES).map(|number| format!("shop-{number}")).collect()
}

/// Policies, and a process that reconciles them one after the other.
async fn prepare_all(cluster: &Cluster) -> TestResult {
    for name in names() {
        cluster.create(DEPLOYMENT, cluster.home(), &deployment(&name, BEFORE)).await?;
        let rules = json!([
            {"name": "up", "schedule": "0 9 * * *", "targetReplicas": AT_NINE},
            {"name": "later", "schedule": "1 9 * * *", "targetReplicas": LATER},
        ]);
        let target = target("apps/v1", "Deployment", &name);
        cluster.create(CRON, cluster.home(), &cron(&name, &target, &rules)).await?;
    }
    let schedule = json!({"defaultReplicas": 2, "behaviors": []});
    let hours = objects::metrics_producer("hours", &schedule);
    cluster.create(PRODUCER, cluster.home(), &hours).await
}

/// Waits until the rules fire, some writes hang, and the other writes are queued.
async fn await_waiting(cluster: &Cluster, replica: &Replica) -> Result<Injected> {
    await_all_armed(cluster, names()).await?;
    replica.ensure_before_firing()?;
    let hangs = Fault::hang().method(Method::PATCH).path_contains("/scale").always();
    let hangs = replica.proxy.inject(hangs);
    hangs.await_taken(AT_ONCE).await?;
    let waiting = POLICIES - AT_ONCE;
    let line = format!("almanac_writes_waiting{{purpose=\"capacity\"}} {waiting}");
    replica.controller.await_metric(&line).await?;
    Ok(hangs)
}

/// The number of requests to scale a Deployment that have reached the API server.
async fn scalings(cluster: &Cluster) -> Result<usize> {
    let writes = cluster.target_writes().await?;
    Ok(writes.iter().filter(|write| write.subresource == "scale").count())
}

async fn annotate(cluster: &Cluster, annotation: &str) -> TestResult {
    cluster.kubectl(&["-n", cluster.home(), "annotate", "lease", "almanac", annotation]).await?;
    Ok(())
}

#[test]
fn a_stop_discards_queued_writes_and_later_firings_are_applied() -> TestResult {
    in_namespace(async |cluster| {
        prepare_all(cluster).await?;
        let at_once = AT_ONCE.to_string();
        let arguments = ["--identity", "first", "--writes-at-once", &at_once];
        let first = Replica::start(cluster, head_start(), &arguments)?;
        let hangs = await_waiting(cluster, &first).await?;
        ensure!(!first.controller.scrape("karpenter_").await?.is_empty(), "no numbers");

        annotate(cluster, "almanac.dev/stop=wrong values").await?;
        first.controller.await_metric("almanac_stopped 1").await?;
        let sent = hangs.taken();
        hangs.release();
        let stopped = await_records(cluster).await?;
        ensure!(stopped.len() >= POLICIES - sent, "only {stopped:?} were stopped, {sent} sent");
        ensure!(!stopped.is_empty(), "all writes were sent before the stop");
        ensure!(scalings(cluster).await? <= sent, "a stopped process wrote");
        ensure!(
            first.controller.scrape("karpenter_").await?.is_empty(),
            "a stopped process publishes numbers"
        );
        first.controller.program.await_ready().await?;
        await_stop_report(cluster, &stopped[0]).await?;

        // The next leader finds the same state.
        let second = first.start_second(cluster, &["--identity", "second"])?;
        first.controller.stop().await?;
        second.await_leading().await?;
        second.controller.await_metric("almanac_stopped 1").await?;
        ensure!(scalings(cluster).await? <= sent, "the next one wrote");

        annotate(cluster, "almanac.dev/stop-").await?;
        second.controller.await_metric("almanac_stopped 0").await?;
        ensure!(!second.controller.scrape("karpenter_").await?.is_empty(), "no numbers");
        for name in names() {
            await_condition(&format!("the next firing of {name}"), PATIENCE, async || {
                let now = replicas(cluster, &name).await?;
                Ok(Observation::from_bool(now == LATER, now))
            })
            .await?;
        }
        for name in &stopped {
            let scaled = effective_scalings(cluster, name).await?;
            ensure!(scaled <= 2, "{name} was scaled {scaled} times");
            let by_second = second.scalings(name).len();
            ensure!(by_second == 1, "{name}: the second leader wrote {by_second} times");
        }
        Ok(())
    })
}

/// Waits until every policy has a record of the firing; returns the stopped ones.
async fn await_records(cluster: &Cluster) -> Result<Vec<String>> {
    let mut stopped = Vec::new();
    for name in names() {
        if await_record(cluster, &name).await?.failure().is_ok_and(|why| why == STOPPED) {
            stopped.push(name);
        }
    }
    Ok(stopped)
}

async fn await_stop_report(cluster: &Cluster, name: &str) -> TestResult {
    let event = format!(
        "Normal RuleStopped: rule up was not applied because everything is stopped; \
         Deployment.apps {}/{name} was not changed",
        cluster.home()
    );
    cluster.await_event(cluster.home(), name, &event).await
}

#[test]
fn a_process_that_is_shut_down_sends_its_queued_writes() -> TestResult {
    in_namespace(async |cluster| {
        prepare_all(cluster).await?;
        let at_once = AT_ONCE.to_string();
        let replica = Replica::start(cluster, head_start(), &["--writes-at-once", &at_once])?;
        let hangs = await_waiting(cluster, &replica).await?;
        let (ended, ()) = tokio::join!(replica.controller.stop(), async { hangs.release() });
        ended?;
        for name in names() {
            let scaled = effective_scalings(cluster, &name).await?;
            ensure!(scaled == 1, "{name} was scaled {scaled} times");
        }
        Ok(())
    })
}
