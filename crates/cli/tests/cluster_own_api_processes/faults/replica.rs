//! Replicas of the program, each behind its own proxy, and rules that fire soon. The proxy shows the writer of each
//! request, and can fail a single request.

use almanac_harness::{Fault, FaultProxy, Injected, RecordedRequest, TestResult};
use anyhow::{Context as _, Result, ensure};
use http::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::controller::{
    CRON, Cluster, Controller, DEPLOYMENT, LEASE, cron, deployment, head_start, target,
};

/// The namespace of a test with a separate control plane.
pub(crate) const NAMESPACE: &str = "default";
/// The firing under test.
pub(crate) const FIRING: &str = "2026-11-26T09:00:00Z";
/// The initial replicas of every target, and the replicas that its rule sets.
pub(crate) const BEFORE: u32 = 1;
pub(crate) const AFTER: u32 = 5;
/// For a process without other replicas.
pub(crate) const ALONE: &[&str] = &["--leader-elect=false"];

/// A run of the program behind a proxy.
pub(crate) struct Replica {
    // Declared before the proxy, so that the program ends first.
    pub(crate) controller: Controller,
    pub(crate) proxy: FaultProxy,
}

/// A policy, and the Deployment of the same name that its one rule scales.
pub(crate) async fn prepare(cluster: &Cluster, name: &str, max_delay: Option<u32>) -> TestResult {
    cluster.create(DEPLOYMENT, cluster.home(), &deployment(name, BEFORE)).await?;
    let mut rule = json!({"name": "up", "schedule": "0 9 * * *", "targetReplicas": AFTER});
    if let Some(seconds) = max_delay {
        rule["maxDelaySeconds"] = json!(seconds);
    }
    let target = target("apps/v1", "Deployment", name);
    cluster.create(CRON, cluster.home(), &cron(name, &target, &json!([rule]))).await
}

impl Replica {
    /// Starts a replica whose policy clock is this long before the firing.
    pub(crate) fn start(
        cluster: &Cluster,
        before: SignedDuration,
        further: &[&str],
    ) -> Result<Self> {
        Self::start_at(cluster, FIRING.parse::<Timestamp>()? - before, further)
    }

    /// Starts another replica with the same policy clock.
    pub(crate) fn start_second(&self, cluster: &Cluster, further: &[&str]) -> Result<Self> {
        Self::start_at(cluster, self.controller.now(), further)
    }

    fn start_at(cluster: &Cluster, instant: Timestamp, further: &[&str]) -> Result<Self> {
        let proxy = FaultProxy::start(cluster.client())?;
        Self::start_behind(cluster, proxy, instant, further)
    }

    /// Starts a replica behind a proxy that may already inject faults.
    pub(crate) fn start_behind(
        cluster: &Cluster,
        proxy: FaultProxy,
        instant: Timestamp,
        further: &[&str],
    ) -> Result<Self> {
        let controller = Controller::start(
            &proxy.kubeconfig(),
            &instant.to_string(),
            &cluster.limited(further),
        )?;
        Ok(Self { controller, proxy })
    }

    /// Starts two replicas with a common Lease before the firing: the first is the leader, the second a standby.
    pub(crate) async fn start_two(cluster: &Cluster) -> Result<(Self, Self)> {
        let first = Self::start(cluster, head_start() * 2, &["--identity", "first"])?;
        await_holder(cluster, "first").await?;
        let second = first.start_second(cluster, &["--identity", "second"])?;
        second.controller.program.await_ready().await?;
        Ok((first, second))
    }

    /// Records the start-up time, and checks that the firing lies ahead.
    pub(crate) fn ensure_before_firing(&self) -> TestResult {
        self.controller.ensure_before(FIRING)
    }

    /// Checks that the firing still lies ahead.
    pub(crate) fn ensure_still_before_firing(&self) -> TestResult {
        self.controller.ensure_still_before(FIRING)
    }

    /// Waits until the policy clock shows `seconds` after the firing.
    pub(crate) async fn await_after_firing(&self, seconds: i64) -> TestResult {
        let until = FIRING.parse::<Timestamp>()? + SignedDuration::from_secs(seconds);
        self.controller.await_clock(until).await
    }

    /// Whether the replica reports that it is the leader.
    pub(crate) async fn leads(&self) -> Result<bool> {
        Ok(self.controller.scrape("almanac_leader ").await? == ["almanac_leader 1"])
    }

    pub(crate) async fn await_leading(&self) -> TestResult {
        self.controller.await_metric("almanac_leader 1").await
    }

    /// The requests of this replica to change the replicas of a Deployment.
    pub(crate) fn scalings(&self, name: &str) -> Vec<RecordedRequest> {
        self.requests(&scale_of(name), |path, wanted| path.ends_with(wanted))
    }

    /// The requests of this replica to change an object with this string in its path.
    pub(crate) fn writes_about(&self, part: &str) -> Vec<RecordedRequest> {
        self.requests(part, |path, wanted| path.contains(wanted))
    }

    fn requests(&self, part: &str, fits: fn(&str, &str) -> bool) -> Vec<RecordedRequest> {
        let mut requests = self.proxy.writes();
        requests.retain(|request| fits(&request.path, part));
        requests
    }

    /// Injects a fault into the requests that scale a Deployment.
    pub(crate) fn spoil_scaling(&self, name: &str, fault: Fault) -> Injected {
        self.proxy.inject(fault.method(Method::PATCH).path_contains(scale_of(name)))
    }

    /// Injects a fault into the requests that write a policy's status.
    pub(crate) fn spoil_status(&self, name: &str, fault: Fault) -> Injected {
        let path = format!("/cronfederatedhpas/{name}/status");
        self.proxy.inject(fault.method(Method::PATCH).path_contains(path))
    }
}

fn scale_of(name: &str) -> String {
    format!("/deployments/{name}/scale")
}

/// Waits until a replica holds the Lease.
pub(crate) async fn await_holder(cluster: &Cluster, identity: &str) -> TestResult {
    let what = format!("{identity} to hold it");
    let holds = |lease: &Value| lease["spec"]["holderIdentity"] == identity;
    cluster.await_object(LEASE, (cluster.home(), "almanac"), &what, holds).await?;
    Ok(())
}

/// Waits until the status shows the next firing of the rule.
pub(crate) async fn await_armed(cluster: &Cluster, name: &str) -> TestResult {
    let is_armed = |status: &Value| status["nextExecutionTime"] == FIRING;
    cluster.await_status(cluster.home(), name, "to be armed", is_armed).await?;
    Ok(())
}

/// Waits until each of these policies is armed.
pub(crate) async fn await_all_armed(
    cluster: &Cluster,
    names: impl IntoIterator<Item: AsRef<str>>,
) -> TestResult {
    for name in names {
        await_armed(cluster, name.as_ref()).await?;
    }
    Ok(())
}

/// The executions in a status, successful and failed.
fn executions(status: &Value) -> [&[Value]; 2] {
    let history = &status["executionHistories"][0];
    ["successfulExecutions", "failedExecutions"]
        .map(|list| history[list].as_array().map_or(&[][..], Vec::as_slice))
}

/// Waits for the record of the firing, and checks that no other record exists.
pub(crate) async fn await_record(cluster: &Cluster, name: &str) -> Result<Record> {
    let is_there = |status: &Value| executions(status).iter().any(|list| !list.is_empty());
    let status = cluster.await_status(cluster.home(), name, "to have a record", is_there).await?;
    only_record(name, &status)
}

/// The history entry of the firing.
#[derive(Debug)]
pub(crate) struct Record {
    execution: Value,
    is_success: bool,
}

fn only_record(name: &str, status: &Value) -> Result<Record> {
    let [successes, failures] = executions(status);
    ensure!(successes.len() + failures.len() == 1, "{name} has not one record: {status:#}");
    let execution = successes.first().or(failures.first()).context("there is one")?.clone();
    ensure!(execution["scheduleTime"] == FIRING, "{name}: another firing: {status:#}");
    Ok(Record { execution, is_success: !successes.is_empty() })
}

impl Record {
    /// The delay until the firing was applied or abandoned.
    fn delay(&self) -> Result<SignedDuration> {
        let executed = self.execution["executionTime"].as_str().context("no executionTime")?;
        Ok(executed.parse::<Timestamp>()?.duration_since(FIRING.parse()?))
    }

    /// The message of a firing that failed.
    pub(crate) fn failure(&self) -> Result<&str> {
        ensure!(!self.is_success, "the firing was applied: {}", self.execution);
        self.execution["message"].as_str().context("a failure without a message")
    }
}

/// Waits until the rule has been applied. Checks that a single request changed the target once and in time, and that a
/// single record exists.
pub(crate) async fn await_carried_out_once(cluster: &Cluster, name: &str) -> TestResult {
    await_record(cluster, name).await?;
    ensure_carried_out_once(cluster, name, 1).await
}

/// Checks a firing without waiting, with this number of changes to the spec by Almanac and by users.
pub(crate) async fn ensure_carried_out_once(
    cluster: &Cluster,
    name: &str,
    changes: u64,
) -> TestResult {
    ensure_changed_and_recorded_once(cluster, name, changes).await?;
    let carried_out = effective_scalings(cluster, name).await?;
    ensure!(carried_out == 1, "{name} was scaled {carried_out} times");
    Ok(())
}

/// Checks a firing after an outage of the API server or etcd: a write that failed in the audit log may have been
/// applied or not.
pub(crate) async fn await_changed_and_recorded_once(cluster: &Cluster, name: &str) -> TestResult {
    await_record(cluster, name).await?;
    ensure_changed_and_recorded_once(cluster, name, 1).await
}

async fn ensure_changed_and_recorded_once(
    cluster: &Cluster,
    name: &str,
    changes: u64,
) -> TestResult {
    let policy = cluster.get(CRON, cluster.home(), name).await?;
    let record = only_record(name, &policy["status"])?;
    ensure!(record.is_success, "{name} failed: {}", record.execution);
    ensure!(record.execution["appliedReplicas"] == AFTER, "{name}: {}", record.execution);
    let allowed = policy["spec"]["rules"][0]["maxDelaySeconds"].as_i64().unwrap_or(300);
    let delay = record.delay()?;
    ensure!(!delay.is_negative(), "{name} was applied {delay:#} after its time");
    ensure!(delay <= SignedDuration::from_secs(allowed), "{name} came late by {delay:#}");
    let target = cluster.get(DEPLOYMENT, cluster.home(), name).await?;
    let generation = target["metadata"]["generation"].as_u64().context("no generation")?;
    ensure!(generation == 1 + changes, "{name} was changed {} times", generation - 1);
    Ok(())
}

/// The number of requests to scale a Deployment that the API server has applied.
pub(crate) async fn effective_scalings(cluster: &Cluster, name: &str) -> Result<usize> {
    let writes = cluster.target_writes().await?;
    let of_it = writes.iter().filter(|write| write.name == name && write.subresource == "scale");
    Ok(of_it.filter(|write| write.code == 200).count())
}

pub(crate) async fn replicas(cluster: &Cluster, name: &str) -> Result<u64> {
    let target = cluster.get(DEPLOYMENT, cluster.home(), name).await?;
    target["spec"]["replicas"].as_u64().context("no replicas")
}

/// Checks that a firing was recorded and reported as missed, and not applied.
pub(crate) async fn await_missed(cluster: &Cluster, name: &str) -> TestResult {
    let record = await_record(cluster, name).await?;
    let message = record.failure()?;
    ensure!(message.starts_with("missed by "), "{name}: {message}");
    cluster.await_events((cluster.home(), name), "Warning RuleMissed: ", 1..=1).await?;
    ensure!(replicas(cluster, name).await? == u64::from(BEFORE), "{name} was scaled");
    Ok(())
}
