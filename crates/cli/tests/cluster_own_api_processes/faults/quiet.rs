//! If nothing is due and nothing changes, the process writes nothing, and reads nothing except through watches.
//!
//! This is the only test that must wait for time to pass: `ALMANAC_QUIET_MINUTES`. `ALMANAC_QUIET_OBJECTS` is the
//! number of objects of each kind.

use std::time::Duration;

use almanac_fixtures::objects;
use almanac_fixtures::trials::size;
use almanac_harness::{AuditLog, AuditedRequest, RecordedRequest, TestResult};
use anyhow::{Result, ensure};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::controller::{
    AUTOSCALER, CRON, Cluster, DEPLOYMENT, PRODUCER, deployment, on_cluster, target,
};
use crate::faults::replica::{NAMESPACE, Replica, prepare};

/// An instant with nothing due for hours: three hours after the firing.
const QUIET: SignedDuration = SignedDuration::from_hours(-3);

fn minutes() -> u64 {
    size("ALMANAC_QUIET_MINUTES", 1, 10)
}

/// The number of policies of each kind.
fn of_each() -> u64 {
    size("ALMANAC_QUIET_OBJECTS", 25, 1_000)
}

async fn prepare_all(cluster: &Cluster) -> TestResult {
    for number in 0..of_each() {
        prepare(cluster, &format!("rules-{number}"), None).await?;
        let hour = json!({"replicas": 7, "start": {"hours": "9"}, "end": {"hours": "10"}});
        let schedule = json!({"defaultReplicas": 2, "behaviors": [hour]});
        let schedule = objects::metrics_producer(&format!("hours-{number}"), &schedule);
        cluster.create(PRODUCER, NAMESPACE, &schedule).await?;
        let name = format!("scaled-{number}");
        cluster.create(DEPLOYMENT, NAMESPACE, &deployment(&name, 2)).await?;
        let query = format!("karpenter_scheduled_capacity{{name=\"hours-{number}\"}}");
        let workload = target("apps/v1", "Deployment", &name);
        let autoscaler = objects::horizontal_autoscaler(&name, &workload, &query);
        cluster.create(AUTOSCALER, NAMESPACE, &autoscaler).await?;
    }
    Ok(())
}

async fn await_statuses(cluster: &Cluster) -> TestResult {
    for number in 0..of_each() {
        let has_status = |object: &Value| object["status"]["conditions"].is_array();
        for (kind, name) in [(CRON, "rules"), (PRODUCER, "hours"), (AUTOSCALER, "scaled")] {
            let name = format!("{name}-{number}");
            cluster.await_object(kind, (NAMESPACE, &name), "to have a status", has_status).await?;
        }
    }
    Ok(())
}

/// The writes of the process, except for renewals of its Lease.
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
        ensure!(new.is_empty(), "in second {second} the process wrote:\n{tally}");
    }
    replica.controller.program.check_running()?;
    // The process ran all the time, as its Lease shows.
    let requests = replica.proxy.requests();
    let renewals = requests.iter().filter(|it| it.is_for_lease()).count();
    ensure!(renewals as u64 >= seconds / 4, "{renewals} renewals in {seconds} seconds");
    Ok(())
}

/// Checks that no policy and no target is read. Other requests check for another controller, for changed schemas, for
/// another version of the API server, and that silent watches still deliver all events.
fn ensure_nothing_is_read(requests: &[RecordedRequest]) -> TestResult {
    let is_expected = |request: &RecordedRequest| {
        let is_probe = request.query.split('&').any(|part| part == "limit=1");
        let is_of_definition = request.path.contains("/customresourcedefinitions/");
        let is_of_schema = request.path.starts_with("/openapi/v3/apis/");
        let is_of_server = request.path == "/version" || is_of_schema;
        request.is_for_lease() || request.is_watch() || is_of_definition || is_of_server || is_probe
    };
    let others: Vec<_> = requests.iter().filter(|request| !is_expected(request)).collect();
    ensure!(others.is_empty(), "nothing had changed, and it read {others:#?}");
    Ok(())
}

#[test]
fn nothing_is_written_when_idle_nor_at_a_restart_without_changes() -> TestResult {
    on_cluster(async |_, cluster| {
        prepare_all(cluster).await?;
        let replica = Replica::start(cluster, QUIET, &["--identity", "only"])?;
        await_statuses(cluster).await?;
        replica.proxy.clear();
        let memory = replica.controller.program.resident_memory()?;
        eprintln!("{} MB with {} policies of each kind", memory >> 20, of_each());
        watch_quiet(cluster, &replica, 60 * minutes()).await?;
        ensure_nothing_is_read(&replica.proxy.requests())?;

        replica.controller.stop().await?;
        replica.proxy.clear();
        replica.controller.program.start_again()?;
        replica.await_leading().await?;
        let armed = format!("almanac_cron_rules_armed {}", of_each());
        replica.controller.await_metric(&armed).await?;
        watch_quiet(cluster, &replica, 5).await?;
        let writes = replica.proxy.writes();
        ensure!(writes.is_empty(), "nothing had changed, but the process wrote {writes:?}");
        Ok(())
    })
}
