//! The API server or etcd is unavailable for a while, or connections break.

use almanac_harness::{Component, TestResult};
use anyhow::ensure;
use serde_json::json;

use crate::controller::{
    CRON, Cluster, DEPLOYMENT, deployment, head_start, in_namespace, on_cluster,
};
use crate::faults::replica::{
    AFTER, ALONE, BEFORE, Replica, await_all_armed, await_armed, await_carried_out_once,
    await_changed_and_recorded_once, await_record, prepare, replicas,
};

/// The day after, for rules created after the firing.
async fn await_observed(cluster: &Cluster, name: &str) -> TestResult {
    let is_known = |status: &serde_json::Value| status["nextExecutionTime"].is_string();
    cluster.await_status(cluster.home(), name, "to be known", is_known).await?;
    Ok(())
}

#[test]
fn an_api_server_killed_during_a_firing_only_delays_it() -> TestResult {
    on_cluster(async |test, cluster| {
        prepare(cluster, "shop", Some(60)).await?;
        let replica = Replica::start(cluster, head_start(), &["--identity", "only"])?;
        await_armed(cluster, "shop").await?;
        replica.ensure_before_firing()?;
        replica.await_after_firing(-3).await?;
        replica.ensure_still_before_firing()?;
        test.plane.kill(Component::ApiServer)?;
        replica.await_after_firing(1).await?;
        test.plane.restart(Component::ApiServer).await?;
        await_changed_and_recorded_once(cluster, "shop").await?;

        // Another outage while nothing is due.
        test.plane.kill(Component::ApiServer)?;
        test.plane.restart(Component::ApiServer).await?;
        prepare(cluster, "next", None).await?;
        await_observed(cluster, "next").await?;
        await_changed_and_recorded_once(cluster, "shop").await?;
        replica.controller.program.check_running()
    })
}

#[test]
fn an_etcd_stopped_during_a_firing_loses_only_the_lease() -> TestResult {
    on_cluster(async |test, cluster| {
        prepare(cluster, "shop", Some(90)).await?;
        let replica = Replica::start(cluster, head_start(), &["--identity", "only"])?;
        await_armed(cluster, "shop").await?;
        replica.ensure_before_firing()?;
        replica.await_after_firing(-2).await?;
        replica.ensure_still_before_firing()?;
        test.plane.pause(Component::Etcd)?;
        replica.controller.program.await_log("no longer the leader").await?;
        replica.await_after_firing(18).await?;
        test.plane.resume(Component::Etcd)?;
        await_changed_and_recorded_once(cluster, "shop").await?;
        replica.await_leading().await?;
        replica.controller.stop().await
    })
}

/// Changes objects while no watch reports changes.
async fn change_everything(cluster: &Cluster) -> TestResult {
    let other = json!([{"name": "up", "schedule": "0 9 * * *", "targetReplicas": 7}]);
    cluster.patch(CRON, cluster.home(), "edited", &json!({"spec": {"rules": other}})).await?;
    cluster.delete(CRON, cluster.home(), "deleted").await?;
    cluster.delete(DEPLOYMENT, cluster.home(), "replaced").await?;
    cluster.create(DEPLOYMENT, cluster.home(), &deployment("replaced", 2)).await?;
    let same = json!({"spec": {"replicas": AFTER}});
    cluster.patch(DEPLOYMENT, cluster.home(), "scaled", &same).await?;
    prepare(cluster, "made", None).await
}

#[test]
fn changes_during_cut_connections_are_applied() -> TestResult {
    in_namespace(async |cluster| {
        let names = ["edited", "deleted", "replaced", "scaled"];
        for name in names {
            prepare(cluster, name, None).await?;
        }
        let replica = Replica::start(cluster, head_start() * 2, ALONE)?;
        await_all_armed(cluster, names).await?;
        replica.proxy.block().await;
        change_everything(cluster).await?;
        replica.proxy.unblock()?;
        await_armed(cluster, "made").await?;
        ensure!(replica.proxy.cut_all().await > 0, "there was no connection to cut");
        prepare(cluster, "made-later", None).await?;
        await_armed(cluster, "made-later").await?;
        replica.ensure_before_firing()?;
        for name in ["replaced", "made", "made-later"] {
            await_carried_out_once(cluster, name).await?;
        }
        await_record(cluster, "edited").await?;
        ensure!(replicas(cluster, "edited").await? == 7, "the rule fired with its earlier value");
        await_record(cluster, "scaled").await?;
        ensure!(replica.scalings("scaled").is_empty(), "the target already had this value");
        ensure!(replica.scalings("deleted").is_empty(), "a deleted policy has fired");
        ensure!(replicas(cluster, "deleted").await? == u64::from(BEFORE), "the target was scaled");
        Ok(())
    })
}
