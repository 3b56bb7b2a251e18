//! A process is killed, and restarted or succeeded by another replica, before, during and after a firing.

use std::time::Duration;

use almanac_harness::{Fault, Injected, TestResult};
use anyhow::{Result, ensure};

use crate::controller::{Cluster, head_start, in_namespace};
use crate::faults::replica::{
    ALONE, Replica, await_all_armed, await_armed, await_carried_out_once, await_holder,
    await_missed, await_record, ensure_carried_out_once, prepare,
};

/// The leader is killed without releasing its Lease.
const LEASE_LASTS: i64 = 15;

#[test]
fn a_firing_missed_without_a_controller_is_applied_later_unless_too_late() -> TestResult {
    in_namespace(async |cluster| {
        prepare(cluster, "patient", None).await?;
        prepare(cluster, "strict", Some(1)).await?;
        let replica = Replica::start(cluster, head_start(), ALONE)?;
        await_all_armed(cluster, ["patient", "strict"]).await?;
        replica.controller.program.kill()?;
        replica.ensure_before_firing()?;
        replica.await_after_firing(2).await?;
        replica.controller.program.start_again()?;
        await_carried_out_once(cluster, "patient").await?;
        await_missed(cluster, "strict").await?;
        let log = replica.controller.program.log()?;
        let is_reported = |line: &str| line.contains(" WARN ") && line.contains("\"RuleMissed\"");
        ensure!(log.lines().any(is_reported), "{log}");
        Ok(())
    })
}

#[test]
fn a_leader_killed_before_a_firing_is_replaced_within_its_allowed_delay() -> TestResult {
    in_namespace(async |cluster| {
        prepare(cluster, "patient", Some(60)).await?;
        prepare(cluster, "strict", Some(1)).await?;
        let (first, second) = Replica::start_two(cluster).await?;
        await_all_armed(cluster, ["patient", "strict"]).await?;
        first.ensure_before_firing()?;
        // The Lease must outlast the firing by more than the strict rule allows.
        first.await_after_firing(-LEASE_LASTS / 2).await?;
        first.controller.program.kill()?;
        first.ensure_still_before_firing()?;
        await_carried_out_once(cluster, "patient").await?;
        await_missed(cluster, "strict").await?;
        await_holder(cluster, "second").await?;
        ensure!(first.scalings("patient").is_empty(), "the first has fired");
        ensure!(second.leads().await?, "the second does not lead");
        Ok(())
    })
}

/// The work in progress when a process is killed.
struct UnderWay(Vec<Injected>);

const INTERRUPTED: [&str; 4] = ["unsent", "unanswered", "unrecorded", "untold"];

impl UnderWay {
    /// Four firings: the write is never sent, its response is lost, it succeeds but cannot be recorded, or the
    /// response to its record is lost.
    async fn begin(replica: &Replica) -> Result<Self> {
        replica.ensure_before_firing()?;
        let unsent = replica.spoil_scaling("unsent", Fault::hang());
        let unanswered = replica.spoil_scaling("unanswered", Fault::lose_response());
        let held_back = replica.spoil_status("unanswered", Fault::hang().always());
        let unrecorded = replica.spoil_status("unrecorded", Fault::hang().always());
        let untold = replica.spoil_status("untold", Fault::lose_response());
        for fault in [&unsent, &unanswered, &unrecorded, &untold] {
            fault.await_taken(1).await?;
        }
        Ok(Self(vec![unsent, unanswered, held_back, unrecorded, untold]))
    }

    fn withdraw(&self) {
        for fault in &self.0 {
            fault.withdraw();
        }
    }
}

async fn prepare_interrupted(cluster: &Cluster) -> TestResult {
    for name in INTERRUPTED.iter().chain(&["done"]) {
        prepare(cluster, name, Some(60)).await?;
    }
    Ok(())
}

async fn ensure_all_once(cluster: &Cluster) -> TestResult {
    for name in INTERRUPTED.iter().chain(&["done"]) {
        await_carried_out_once(cluster, name).await?;
    }
    Ok(())
}

async fn interrupted(cluster: &Cluster) -> Result<Replica> {
    prepare_interrupted(cluster).await?;
    let replica = Replica::start(cluster, head_start(), ALONE)?;
    await_all_armed(cluster, INTERRUPTED).await?;
    let under_way = UnderWay::begin(&replica).await?;
    await_record(cluster, "done").await?;
    replica.controller.program.kill()?;
    under_way.withdraw();
    Ok(replica)
}

#[test]
fn a_process_killed_during_firings_applies_each_once_after_a_restart() -> TestResult {
    in_namespace(async |cluster| {
        let replica = interrupted(cluster).await?;
        replica.controller.program.start_again()?;
        ensure_all_once(cluster).await?;
        // The third run has nothing left to do.
        replica.controller.stop().await?;
        replica.proxy.clear();
        replica.controller.program.start_again()?;
        replica.await_leading().await?;
        replica.controller.stop().await?;
        let writes = replica.proxy.writes();
        ensure!(writes.is_empty(), "nothing had changed, and it wrote {writes:?}");
        ensure_all_once(cluster).await
    })
}

#[test]
fn a_successor_applies_the_firings_of_a_killed_leader_exactly_once() -> TestResult {
    in_namespace(async |cluster| {
        prepare_interrupted(cluster).await?;
        let (first, second) = Replica::start_two(cluster).await?;
        await_all_armed(cluster, INTERRUPTED).await?;
        let _under_way = UnderWay::begin(&first).await?;
        await_record(cluster, "done").await?;
        first.controller.program.kill()?;
        ensure_all_once(cluster).await?;
        second.await_leading().await?;
        ensure!(second.scalings("unsent").len() == 1, "the successor has not applied it");
        ensure!(second.scalings("done").is_empty(), "what was done was done again");
        Ok(())
    })
}

#[test]
fn a_leader_that_is_shut_down_finishes_work_in_progress() -> TestResult {
    in_namespace(async |cluster| {
        prepare(cluster, "slow", Some(60)).await?;
        let (first, second) = Replica::start_two(cluster).await?;
        await_armed(cluster, "slow").await?;
        let slow = first.spoil_scaling("slow", Fault::delay(Duration::from_secs(2)));
        slow.await_taken(1).await?;
        first.controller.stop().await?;
        // The record exists when the process has ended.
        ensure_carried_out_once(cluster, "slow", 1).await?;
        // The successor continues, and repeats nothing.
        prepare(cluster, "next", None).await?;
        cluster
            .await_status(cluster.home(), "next", "to be known", |status| {
                status["nextExecutionTime"] == "2026-11-27T09:00:00Z"
            })
            .await?;
        ensure!(second.writes_about("slow").is_empty(), "{:?}", second.writes_about("slow"));
        Ok(())
    })
}
