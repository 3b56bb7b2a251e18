//! Statuses that cannot be written, for a while or permanently.

use almanac_harness::{
    Fault, InjectedResponse, Observation, PATIENCE, RecordedRequest, TestResult, await_condition,
};
use anyhow::ensure;
use http::{Method, StatusCode};
use serde_json::Value;

use crate::controller::{CRON, head_start, in_namespace};
use crate::faults::replica::{
    ALONE, BEFORE, Replica, await_armed, await_carried_out_once, ensure_carried_out_once, prepare,
    replicas,
};

fn broken() -> Fault {
    Fault::respond(InjectedResponse::with(StatusCode::INTERNAL_SERVER_ERROR))
}

#[test]
fn a_history_is_complete_after_any_number_of_failed_writes() -> TestResult {
    in_namespace(async |cluster| {
        let troubles = [
            ("once", 1, broken()),
            ("five-times", 5, broken()),
            ("conflict", 1, Fault::respond(InjectedResponse::with(StatusCode::CONFLICT))),
            ("unanswered", 1, Fault::lose_response()),
        ];
        for (name, ..) in &troubles {
            prepare(cluster, name, Some(60)).await?;
        }
        let replica = Replica::start(cluster, head_start(), ALONE)?;
        for (name, ..) in &troubles {
            await_armed(cluster, name).await?;
        }
        replica.ensure_before_firing()?;
        let mut injected = Vec::new();
        for (name, times, fault) in troubles {
            injected.push((name, times, replica.spoil_status(name, fault.times(times))));
        }
        for (name, times, fault) in injected {
            fault.await_taken(times).await?;
            await_carried_out_once(cluster, name).await?;
        }
        Ok(())
    })
}

#[test]
fn a_policy_deleted_while_its_status_write_fails_is_neither_written_nor_fired() -> TestResult {
    in_namespace(async |cluster| {
        prepare(cluster, "witness", None).await?;
        let replica = Replica::start(cluster, head_start(), ALONE)?;
        await_armed(cluster, "witness").await?;
        let failing = replica.spoil_status("doomed", broken().always());
        prepare(cluster, "doomed", None).await?;
        failing.await_taken(2).await?;
        cluster.delete(CRON, cluster.home(), "doomed").await?;
        replica.ensure_before_firing()?;
        // The state of the rule is dropped.
        replica.controller.await_metric("almanac_cron_rules_armed 1").await?;
        replica.proxy.clear();
        failing.withdraw();
        await_carried_out_once(cluster, "witness").await?;
        // By then, the next attempt to write the status would have occurred.
        replica.await_after_firing(5).await?;
        let after = replica.writes_about("/doomed");
        ensure!(after.is_empty(), "it lives on: {after:?}");
        ensure!(replicas(cluster, "doomed").await? == u64::from(BEFORE), "the rule has fired");
        Ok(())
    })
}

#[test]
fn a_firing_whose_status_is_unwritten_when_the_lease_is_lost_is_not_recorded_as_missed()
-> TestResult {
    in_namespace(async |cluster| {
        // Ends when another replica can acquire the Lease, which lasts for 15 s.
        prepare(cluster, "shop", Some(10)).await?;
        let replica = Replica::start(cluster, head_start(), &["--identity", "only"])?;
        await_armed(cluster, "shop").await?;
        replica.ensure_before_firing()?;
        let statuses = replica.spoil_status("shop", broken().always());
        statuses.await_taken(1).await?;
        let renewals = Fault::refuse().method(Method::PUT).matching(RecordedRequest::is_for_lease);
        let renewals = replica.proxy.inject(renewals.always());
        replica.controller.program.await_log("no longer the leader").await?;
        statuses.withdraw();
        renewals.withdraw();
        await_carried_out_once(cluster, "shop").await?;
        replica.await_leading().await?;
        ensure_carried_out_once(cluster, "shop", 1).await?;
        await_condition("an Event about the scaling", PATIENCE, async || {
            let events = cluster.events(cluster.home(), "shop").await?;
            let scaled = events.iter().filter(|it| it.starts_with("Normal ScaledByRule")).count();
            Ok(Observation::from_bool(scaled == 1 && events.len() == 1, format!("{events:?}")))
        })
        .await
    })
}

/// A status that another field manager has damaged is restored from memory.
#[test]
fn a_wiped_status_is_rewritten_with_its_history() -> TestResult {
    in_namespace(async |cluster| {
        prepare(cluster, "shop", None).await?;
        let replica = Replica::start(cluster, head_start(), ALONE)?;
        await_carried_out_once(cluster, "shop").await?;
        cluster.patch_status(CRON, cluster.home(), "shop", &Value::Null).await?;
        await_carried_out_once(cluster, "shop").await?;
        replica.controller.stop().await
    })
}
