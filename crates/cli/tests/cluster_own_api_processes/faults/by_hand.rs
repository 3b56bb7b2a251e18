//! Users edit policies within a second of a boundary: they suspend and resume rules, cut histories, and write statuses.
//! Other tests have a clock that is an hour behind, or more than a year ahead.
//!
//! `ALMANAC_EDITED` is the number of edited policies. The order and the times depend on the seed.

use std::time::Duration;

use almanac_fixtures::trials::{announce, seed, size};
use almanac_harness::{FaultProxy, Observation, PATIENCE, TestResult, await_condition};
use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::controller::{
    CRON, Cluster, Controller, DEPLOYMENT, cron, deployment, head_start, in_namespace, target,
};
use crate::faults::replica::{
    AFTER, ALONE, BEFORE, FIRING, Replica, await_armed, await_carried_out_once, prepare,
};

fn edited() -> usize {
    size("ALMANAC_EDITED", 18, 400)
}

/// An edit of a policy by a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edit {
    Suspends,
    Resumes,
    KeepsTwoRecords,
    KeepsOneRecord,
    RemovesTheStatus,
    InventsARecord,
    ClaimsThatItIsHandled,
    ClaimsThatItIsDueAgain,
    SpoilsTheFingerprint,
}

const EDITS: [Edit; 9] = [
    Edit::Suspends,
    Edit::Resumes,
    Edit::KeepsTwoRecords,
    Edit::KeepsOneRecord,
    Edit::RemovesTheStatus,
    Edit::InventsARecord,
    Edit::ClaimsThatItIsHandled,
    Edit::ClaimsThatItIsDueAgain,
    Edit::SpoilsTheFingerprint,
];

/// A policy, its edit, and the time of the edit in milliseconds after the boundary.
struct Edited {
    name: String,
    edit: Edit,
    at: i64,
}

impl Edited {
    async fn prepare(&self, cluster: &Cluster) -> TestResult {
        cluster.create(DEPLOYMENT, cluster.home(), &deployment(&self.name, BEFORE)).await?;
        let rule = json!({
            "name": "up", "schedule": "0 9 * * *", "targetReplicas": AFTER,
            "suspend": self.edit == Edit::Resumes,
        });
        let target = target("apps/v1", "Deployment", &self.name);
        cluster.create(CRON, cluster.home(), &cron(&self.name, &target, &json!([rule]))).await
    }

    async fn do_it(&self, cluster: &Cluster, replica: &Replica) -> TestResult {
        let at = FIRING.parse::<Timestamp>()? + SignedDuration::from_millis(self.at);
        let wait = at.duration_since(replica.controller.now());
        tokio::time::sleep(Duration::try_from(wait).unwrap_or_default()).await;
        let policy = cluster.get(CRON, cluster.home(), &self.name).await?;
        let mut rules = policy["spec"]["rules"].clone();
        let mut histories = policy["status"]["executionHistories"].clone();
        let first = &mut histories[0];
        let is_status = match self.edit {
            Edit::Suspends | Edit::Resumes => {
                rules[0]["suspend"] = json!(self.edit == Edit::Suspends);
                false
            }
            Edit::KeepsTwoRecords | Edit::KeepsOneRecord => {
                let kept = if self.edit == Edit::KeepsOneRecord { 1 } else { 2 };
                rules[0]["successfulHistoryLimit"] = json!(kept);
                false
            }
            Edit::RemovesTheStatus => {
                histories = Value::Null;
                true
            }
            Edit::InventsARecord => {
                first["successfulExecutions"] = json!([{
                    "scheduleTime": FIRING, "executionTime": FIRING, "appliedReplicas": 77,
                }]);
                true
            }
            Edit::ClaimsThatItIsHandled => {
                first["lastHandledTime"] = json!("2027-11-26T09:00:00Z");
                first["nextExecutionTime"] = json!("2027-11-27T09:00:00Z");
                true
            }
            Edit::ClaimsThatItIsDueAgain => {
                first["lastHandledTime"] = json!("2026-11-25T09:00:00Z");
                first["nextExecutionTime"] = json!(FIRING);
                true
            }
            Edit::SpoilsTheFingerprint => {
                first["fingerprint"] = json!("1");
                true
            }
        };
        if is_status {
            let status = json!({"executionHistories": histories});
            cluster.patch_status(CRON, cluster.home(), &self.name, &status).await?;
        } else {
            let spec = json!({"spec": {"rules": rules}});
            cluster.patch(CRON, cluster.home(), &self.name, &spec).await?;
        }
        Ok(())
    }

    /// Checks the target and the history at the end; the error describes the difference.
    async fn judge(&self, cluster: &Cluster) -> Result<Result<(), String>> {
        let target = cluster.get(DEPLOYMENT, cluster.home(), &self.name).await?;
        let changes = target["metadata"]["generation"].as_u64().context("no generation")? - 1;
        let policy = cluster.get(CRON, cluster.home(), &self.name).await?;
        let history = &policy["status"]["executionHistories"][0];
        let executions = |name: &str| history[name].as_array().cloned().unwrap_or_default();
        let (successes, failures) =
            (executions("successfulExecutions"), executions("failedExecutions"));
        let records = match (self.edit, changes) {
            // Either the firing or the edit was first.
            (Edit::Suspends | Edit::Resumes, 0) => 0,
            _ => 1,
        };
        let may_be_none = matches!(self.edit, Edit::Suspends | Edit::Resumes);
        let is_real = |it: &Value| it["scheduleTime"] == FIRING && it["appliedReplicas"] == AFTER;
        let next = if policy["spec"]["rules"][0]["suspend"] == true {
            Value::Null
        } else {
            json!("2026-11-27T09:00:00Z")
        };
        let is_so = (changes == 1 || changes == 0 && may_be_none)
            && failures.is_empty()
            && successes.len() == records
            && successes.iter().all(is_real)
            && history["nextExecutionTime"] == next;
        Ok(if is_so { Ok(()) } else { Err(format!("{changes} changes, {history:#}")) })
    }
}

#[test]
fn edits_at_a_boundary_lose_no_firing_and_repeat_none() -> TestResult {
    in_namespace(async |cluster| {
        let mut random = fastrand::Rng::with_seed(seed("by_hand"));
        let all: Vec<Edited> = (0..edited())
            .map(|number| Edited {
                name: format!("edited-{number}"),
                edit: EDITS[number % EDITS.len()],
                at: random.i64(-1_000..1_000),
            })
            .collect();
        for edited in &all {
            edited.prepare(cluster).await?;
        }
        let replica = Replica::start(cluster, head_start() * 2, ALONE)?;
        let armed = all.iter().filter(|it| it.edit != Edit::Resumes);
        for edited in armed {
            await_armed(cluster, &edited.name).await?;
        }
        replica.ensure_before_firing()?;
        try_join_all(all.iter().map(|edited| edited.do_it(cluster, &replica))).await?;
        for edited in &all {
            let Edited { name, edit, at } = edited;
            let what =
                format!("{name} to have the expected state ({edit:?} {at} ms after the boundary)");
            await_condition(&what, PATIENCE, async || {
                Ok(match edited.judge(cluster).await? {
                    Ok(()) => Observation::Holds(()),
                    Err(why) => Observation::NotYet(why),
                })
            })
            .await?;
        }
        // The result is the same after a restart, which reads the statuses.
        replica.controller.stop().await?;
        let before = cluster.target_writes().await?.len();
        replica.controller.program.start_again()?;
        replica.controller.program.await_ready().await?;
        replica.await_after_firing(10).await?;
        let after = cluster.target_writes().await?;
        ensure!(after.len() == before, "{:#?}", after.get(before..));
        for edited in &all {
            let judged = edited.judge(cluster).await?;
            ensure!(judged.is_ok(), "{} ({:?}): {judged:?}", edited.name, edited.edit);
        }
        announce(&format!("{} policies were edited within a second of their boundary", all.len()));
        Ok(())
    })
}

/// A process whose clock differs by this much from the correct time.
async fn with_clock(cluster: &Cluster, at: Timestamp) -> Result<Controller> {
    let proxy = FaultProxy::start(cluster.client())?;
    let replica = Replica::start_behind(cluster, proxy, at, ALONE)?;
    replica.controller.program.await_ready().await?;
    // The process gets the time to apply and to record all rules that are due by its clock.
    replica.await_leading().await?;
    let Replica { controller, proxy } = replica;
    controller.await_clock(controller.now() + SignedDuration::from_secs(8)).await?;
    controller.stop().await?;
    drop(proxy);
    Ok(controller)
}

#[test]
fn a_lagging_clock_and_a_clock_far_ahead_neither_repeat_nor_silence_a_firing() -> TestResult {
    in_namespace(async |cluster| {
        let firing: Timestamp = FIRING.parse()?;
        prepare(cluster, "shop", None).await?;
        let replica = Replica::start(cluster, head_start(), ALONE)?;
        await_armed(cluster, "shop").await?;
        await_carried_out_once(cluster, "shop").await?;
        replica.controller.stop().await?;

        // An hour behind: the same minute occurs again.
        with_clock(cluster, firing - SignedDuration::from_secs(4)).await?;
        await_carried_out_once(cluster, "shop").await?;
        // More than a year ahead: all firings in between are missed, and recorded at most three times.
        with_clock(cluster, firing + SignedDuration::from_hours(400 * 24 + 1)).await?;
        let policy = cluster.get(CRON, cluster.home(), "shop").await?;
        let target = cluster.get(DEPLOYMENT, cluster.home(), "shop").await?;
        ensure!(
            target["metadata"]["generation"] == 2,
            "the target was scaled for a skipped firing"
        );
        let failures = policy["status"]["executionHistories"][0]["failedExecutions"].as_array();
        ensure!(failures.map_or(0, Vec::len) <= 3, "{:#}", policy["status"]);

        // The correct time again: the next day's firing is applied.
        let replicas = json!({"spec": {"replicas": BEFORE}});
        cluster.patch(DEPLOYMENT, cluster.home(), "shop", &replicas).await?;
        let next = firing + SignedDuration::from_hours(24);
        let proxy = FaultProxy::start(cluster.client())?;
        let replica = Replica::start_behind(cluster, proxy, next - head_start(), ALONE)?;
        let is_scaled = |it: &Value| it["spec"]["replicas"] == AFTER;
        let shop = (cluster.home(), "shop");
        cluster.await_object(DEPLOYMENT, shop, "to be scaled the next day", is_scaled).await?;
        ensure!(replica.controller.now() >= next, "the clock lags too much");
        replica.controller.stop().await
    })
}
