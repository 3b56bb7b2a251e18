//! A paused leader resumes long after another replica has acquired leadership. Another leader has not yet detected the
//! loss of its Lease.

use almanac_fixtures::objects;
use almanac_harness::{Fault, Observation, PATIENCE, RecordedRequest, TestResult, await_condition};
use anyhow::ensure;
use serde_json::json;

use crate::controller::{CRON, DEPLOYMENT, LEASE, PRODUCER, head_start, in_namespace};
use crate::faults::replica::{
    AFTER, Replica, await_all_armed, await_armed, await_carried_out_once, await_holder,
    await_record, ensure_carried_out_once, prepare, replicas,
};

const SERIES: &str = "karpenter_scheduled_";

async fn serves_numbers(replica: &Replica) -> anyhow::Result<bool> {
    Ok(!replica.controller.scrape(SERIES).await?.is_empty())
}

async fn await_standby(replica: &Replica) -> TestResult {
    let program = &replica.controller.program;
    program.await_log("no longer the leader").await?;
    program.await_ready().await?;
    ensure!(!replica.leads().await?, "it leads");
    ensure!(!serves_numbers(replica).await?, "it serves the numbers of schedules");
    Ok(())
}

#[test]
fn a_leader_paused_during_a_firing_returns_as_a_standby_and_writes_nothing() -> TestResult {
    in_namespace(async |cluster| {
        let day = json!({"replicas": 7, "start": {"hours": "9"}, "end": {"hours": "17"}});
        let schedule = json!({"defaultReplicas": 2, "behaviors": [day]});
        let hours = objects::metrics_producer("hours", &schedule);
        cluster.create(PRODUCER, cluster.home(), &hours).await?;
        prepare(cluster, "shop", Some(60)).await?;
        let (first, second) = Replica::start_two(cluster).await?;
        await_armed(cluster, "shop").await?;
        first.ensure_before_firing()?;
        // The lease outlasts the firing.
        first.await_after_firing(-7).await?;
        ensure!(serves_numbers(&first).await? && !serves_numbers(&second).await?, "who serves?");
        first.controller.program.pause()?;
        first.ensure_still_before_firing()?;
        first.proxy.clear();

        await_carried_out_once(cluster, "shop").await?;
        await_holder(cluster, "second").await?;
        second.await_leading().await?;
        first.controller.program.resume()?;
        await_standby(&first).await?;
        ensure!(serves_numbers(&second).await?, "the leader serves no numbers");
        let stale = first.proxy.writes();
        ensure!(stale.is_empty(), "it wrote what was stale: {stale:?}");
        await_holder(cluster, "second").await?;
        ensure_carried_out_once(cluster, "shop", 1).await
    })
}

/// Whether the requests are a single request that the API server has rejected as stale.
fn is_one_conflict(sent: &[RecordedRequest]) -> bool {
    matches!(sent, [only] if only.api_server_status == Some(409))
}

/// A firing whose write is in flight, a firing that a user will revert, and a firing whose record is in flight.
const ON_THEIR_WAY: [&str; 3] = ["stale", "touched", "unrecorded"];

#[test]
fn late_writes_of_a_paused_leader_overwrite_neither_its_successor_nor_a_user() -> TestResult {
    in_namespace(async |cluster| {
        for name in ON_THEIR_WAY {
            prepare(cluster, name, Some(60)).await?;
        }
        let (first, second) = Replica::start_two(cluster).await?;
        await_all_armed(cluster, ON_THEIR_WAY).await?;
        first.ensure_before_firing()?;
        first.proxy.clear();
        let held = [
            first.spoil_scaling("stale", Fault::hang()),
            first.spoil_scaling("touched", Fault::hang()),
            first.spoil_status("unrecorded", Fault::hang()),
        ];
        for fault in &held {
            fault.await_taken(1).await?;
        }
        first.controller.program.pause()?;
        for name in ON_THEIR_WAY {
            await_carried_out_once(cluster, name).await?;
        }
        second.await_leading().await?;
        let by_hand = json!({"spec": {"replicas": 9}});
        cluster.patch(DEPLOYMENT, cluster.home(), "touched", &by_hand).await?;
        let record = cluster.get(CRON, cluster.home(), "unrecorded").await?;

        // The requests of the paused leader arrive only now.
        for fault in &held {
            fault.release();
        }
        let sent_before = || {
            [
                first.scalings("stale"),
                first.scalings("touched"),
                first.writes_about("/cronfederatedhpas/unrecorded/status"),
            ]
        };
        await_condition("the stale requests to be refused", PATIENCE, async || {
            let sent = sent_before();
            let all = sent.iter().all(|sent| is_one_conflict(sent));
            Ok(Observation::from_bool(all, format!("{sent:?}")))
        })
        .await?;
        first.controller.program.resume()?;
        await_standby(&first).await?;
        ensure!(replicas(cluster, "stale").await? == u64::from(AFTER), "overwritten");
        ensure!(replicas(cluster, "touched").await? == 9, "the user was overwritten");
        ensure!(cluster.get(CRON, cluster.home(), "unrecorded").await? == record, "overwritten");
        ensure_carried_out_once(cluster, "stale", 1).await?;
        ensure_carried_out_once(cluster, "touched", 2).await?;
        let sent = sent_before();
        ensure!(sent.iter().all(|sent| is_one_conflict(sent)), "it wrote again: {sent:?}");
        Ok(())
    })
}

#[test]
fn two_leaders_after_a_deleted_lease_apply_and_record_a_firing_once() -> TestResult {
    in_namespace(async |cluster| {
        for name in ["stale", "unrecorded"] {
            prepare(cluster, name, Some(60)).await?;
        }
        let first = Replica::start(cluster, head_start(), &["--identity", "first"])?;
        await_holder(cluster, "first").await?;
        await_all_armed(cluster, ["stale", "unrecorded"]).await?;
        first.ensure_before_firing()?;
        first.proxy.clear();
        let held = [
            first.spoil_scaling("stale", Fault::hang()),
            first.spoil_status("unrecorded", Fault::hang()),
        ];
        for fault in &held {
            fault.await_taken(1).await?;
        }
        // The old leader does not detect the loss, and leads for as long as it may without renewing the Lease.
        let lease = first.proxy.inject(Fault::hang().always().path_contains("/leases"));
        cluster.delete(LEASE, cluster.home(), "almanac").await?;
        let second = first.start_second(cluster, &["--identity", "second"])?;
        second.await_leading().await?;
        for name in ["stale", "unrecorded"] {
            await_record(cluster, name).await?;
        }
        for fault in &held {
            fault.release();
        }
        await_condition("the stale request to be refused", PATIENCE, async || {
            let sent = first.scalings("stale");
            Ok(Observation::from_bool(is_one_conflict(&sent), format!("{sent:?}")))
        })
        .await?;
        first.controller.program.await_log("no longer the leader").await?;
        lease.release();
        await_standby(&first).await?;
        await_holder(cluster, "second").await?;
        // As long as both lead, each may overwrite the other's status. The replica that stays the leader writes last.
        for name in ["stale", "unrecorded"] {
            await_carried_out_once(cluster, name).await?;
        }
        let sent = first.scalings("stale");
        ensure!(is_one_conflict(&sent), "it wrote again: {sent:?}");
        Ok(())
    })
}
