//! Nothing is due and nothing changes: nothing is written, and nothing is read but by the watches.
//!
//! The one test that has to watch the time pass. It takes a minute; `ALMANAC_QUIET_MINUTES` makes it
//! another number of them.

use std::time::Duration;

use almanac_harness::{
    AuditLog, AuditedRequest, Observation, PATIENCE, TestResult, await_condition,
};
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::controller::{CRON, Cluster, PRODUCER, on_cluster};
use crate::replica::{NAMESPACE, Replica, prepare};

/// So many policies of each kind.
const OF_EACH: usize = 25;
/// An instant with nothing due for hours: three hours after the firing.
const QUIET: i64 = -3 * 3600;

fn minutes() -> Result<u64> {
    match std::env::var("ALMANAC_QUIET_MINUTES") {
        Ok(text) => text.parse().with_context(|| format!("ALMANAC_QUIET_MINUTES={text:?}")),
        Err(_) => Ok(1),
    }
}

async fn prepare_all(cluster: &Cluster) -> TestResult {
    for number in 0..OF_EACH {
        prepare(cluster, &format!("rules-{number}"), None).await?;
        let schedule = json!({
            "apiVersion": "autoscaling.karpenter.sh/v1alpha1", "kind": "MetricsProducer",
            "metadata": {"name": format!("hours-{number}")},
            "spec": {"schedule": {"defaultReplicas": 2, "behaviors": [
                {"replicas": 7, "start": {"hours": "9"}, "end": {"hours": "10"}},
            ]}},
        });
        cluster.create(PRODUCER, NAMESPACE, &schedule).await?;
    }
    Ok(())
}

async fn await_statuses(cluster: &Cluster) -> TestResult {
    for number in 0..OF_EACH {
        let has_status = |object: &Value| object["status"]["conditions"].is_array();
        for (kind, name) in [(CRON, "rules"), (PRODUCER, "hours")] {
            let name = format!("{name}-{number}");
            cluster.await_object(kind, (NAMESPACE, &name), "to have a status", has_status).await?;
        }
    }
    Ok(())
}

/// What the program has written, but for renewing its lease.
async fn writes(cluster: &Cluster) -> Result<Vec<AuditedRequest>> {
    let mut writes = cluster.writes().await?;
    writes.retain(|write| !write.is_for_lease());
    Ok(writes)
}

async fn watch_quiet(cluster: &Cluster, replica: &Replica, seconds: u64) -> TestResult {
    let before = writes(cluster).await?.len();
    let mut every = tokio::time::interval(Duration::from_secs(1));
    every.tick().await;
    for second in 1..=seconds {
        every.tick().await;
        let all = writes(cluster).await?;
        let new = &all[before..];
        let tally = AuditLog::tally(new);
        ensure!(new.is_empty(), "in second {second} it had written:\n{tally}");
    }
    replica.controller.program.check_running()?;
    // It was running all the time, as its lease shows.
    let renewals = replica.proxy.requests().iter().filter(|it| it.is_for_lease()).count();
    ensure!(renewals as u64 >= seconds / 4, "{renewals} renewals in {seconds} seconds");
    Ok(())
}

#[test]
fn nothing_is_written_when_idle_nor_at_a_restart_without_changes() -> TestResult {
    on_cluster(async |test, cluster| {
        prepare_all(cluster).await?;
        let replica = Replica::start(test, QUIET, &["--identity", "only"])?;
        await_statuses(cluster).await?;
        replica.proxy.clear();
        watch_quiet(cluster, &replica, 60 * minutes()?).await?;

        replica.controller.stop().await?;
        replica.proxy.clear();
        replica.controller.program.start_again()?;
        replica.await_leading().await?;
        let armed = format!("almanac_cron_rules_armed {OF_EACH}");
        await_condition("the rules to be known", PATIENCE, async || {
            let told = replica.controller.scrape("almanac_cron_rules_armed ").await?;
            Ok(Observation::of(told == [armed.as_str()], format!("{told:?}")))
        })
        .await?;
        watch_quiet(cluster, &replica, 5).await?;
        let written = replica.proxy.writes();
        ensure!(written.is_empty(), "nothing had changed, and it wrote {written:?}");
        Ok(())
    })
}
