//! Faults that could silence rules: a hanging kind, a clock that ran ahead, a restored etcd. Rules
//! still fire.

use std::fs;
use std::path::Path;

use almanac_fixtures::objects;
use almanac_fixtures::trials::size;
use almanac_harness::{Component, Fault, FaultProxy, TestResult};
use anyhow::Context as _;
use futures::future::try_join_all;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::controller::{CRON, Cluster, Kind, cron, head_start, in_namespace, on_cluster, target};
use crate::faults::replica::{
    AFTER, ALONE, FIRING, Replica, await_all_armed, await_armed, await_carried_out_once, prepare,
};

/// The maximum delay of a firing in seconds. Hanging requests would take several times as long.
const IN_TIME: u32 = 10;

#[test]
fn thirty_hanging_kinds_delay_no_other_firing() -> TestResult {
    in_namespace(async |cluster| {
        let healthy: Vec<String> = (0..10).map(|number| format!("healthy-{number}")).collect();
        for name in &healthy {
            prepare(cluster, name, Some(IN_TIME)).await?;
        }
        let rules = json!([{"name": "up", "schedule": "0 9 * * *", "targetReplicas": AFTER}]);
        for number in 0..30 {
            let target = target("hangs.example.com/v1", &format!("Kind{number}"), "any");
            let policy = cron(&format!("hanging-{number}"), &target, &rules);
            cluster.create(CRON, cluster.home(), &policy).await?;
        }
        let proxy = FaultProxy::start(cluster.client())?;
        let hangs = Fault::hang().always().path_contains("/apis/hangs.example.com");
        let hanging = proxy.inject(hangs);
        let instant = FIRING.parse::<Timestamp>()? - head_start() * 2;
        let replica = Replica::start_behind(cluster, proxy, instant, ALONE)?;
        await_all_armed(cluster, &healthy).await?;
        replica.ensure_before_firing()?;
        for name in &healthy {
            await_carried_out_once(cluster, name).await?;
        }
        hanging.await_taken(1).await?;
        replica.controller.limit.check(&replica.controller.program)?;
        replica.controller.program.check_running()
    })
}

/// The number of hanging scales: more than there are concurrent turns.
fn hanging_scales() -> usize {
    size("ALMANAC_HANGING", 300, 1_000)
}

const HUNG: Kind = Kind { root: "/apis/hangs.example.com/v1", plural: "hungs" };

/// A kind with a scale, an object for each name, and a policy for each object.
async fn prepare_scales(cluster: &Cluster, names: &[String]) -> TestResult {
    cluster.define(&[(["hangs.example.com", "v1", "Hung"], "Namespaced")]).await?;
    let rules = json!([{"name": "up", "schedule": "0 9 * * *", "targetReplicas": AFTER}]);
    for names in names.chunks(20) {
        try_join_all(names.iter().map(async |name| {
            let object = objects::scalable("hangs.example.com/v1", "Hung", name, 1);
            cluster.create(HUNG, cluster.home(), &object).await?;
            let policy = cron(name, &target("hangs.example.com/v1", "Hung", name), &rules);
            cluster.create(CRON, cluster.home(), &policy).await
        }))
        .await?;
    }
    Ok(())
}

#[test]
fn more_hanging_scales_than_turns_delay_no_other_firing() -> TestResult {
    on_cluster(async |_, cluster| {
        let hung: Vec<String> = (0..hanging_scales()).map(|it| format!("a-{it}")).collect();
        prepare_scales(cluster, &hung).await?;
        let healthy: Vec<String> = (0..10).map(|number| format!("healthy-{number}")).collect();
        for name in &healthy {
            prepare(cluster, name, Some(IN_TIME)).await?;
        }
        let proxy = FaultProxy::start(cluster.client())?;
        let instant = FIRING.parse::<Timestamp>()? - head_start() * 3;
        let replica = Replica::start_behind(cluster, proxy, instant, ALONE)?;
        await_all_armed(cluster, hung.iter().chain(&healthy)).await?;
        // All requests for a single object of that kind, but not for the kind or its list.
        let hangs = Fault::hang().always().path_contains("/hungs/");
        let hanging = replica.proxy.inject(hangs);
        replica.ensure_before_firing()?;
        for name in &healthy {
            await_carried_out_once(cluster, name).await?;
        }
        hanging.await_taken(1).await?;
        replica.controller.limit.check(&replica.controller.program)?;
        replica.controller.program.check_running()
    })
}

#[test]
fn a_clock_that_was_briefly_ahead_silences_no_rule() -> TestResult {
    in_namespace(async |cluster| {
        prepare(cluster, "shop", Some(60)).await?;
        // A month, and an hour, so that nothing is due then.
        let wrong = FIRING.parse::<Timestamp>()? + SignedDuration::from_hours(721);
        let ahead =
            Replica::start_behind(cluster, FaultProxy::start(cluster.client())?, wrong, ALONE)?;
        let trusts_it = |status: &Value| {
            status["nextExecutionTime"].as_str().is_some_and(|next| next > "2026-12")
        };
        cluster.await_status(cluster.home(), "shop", "to be a month ahead", trusts_it).await?;
        ahead.controller.stop().await?;

        let replica = Replica::start(cluster, head_start() * 2, ALONE)?;
        await_armed(cluster, "shop").await?;
        replica.ensure_before_firing()?;
        await_carried_out_once(cluster, "shop").await?;
        cluster.await_events((cluster.home(), "shop"), "Warning ClockWasAhead: ", 1..).await?;
        Ok(())
    })
}

fn copy(from: &Path, to: &Path) -> TestResult {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (entry, to) = (entry?.path(), to);
        let to = to.join(entry.file_name().context("an entry without a name")?);
        if entry.is_dir() {
            copy(&entry, &to)?;
        } else {
            fs::copy(&entry, &to)?;
        }
    }
    Ok(())
}

#[test]
fn a_restored_etcd_does_not_hide_edits() -> TestResult {
    on_cluster(async |test, cluster| {
        prepare(cluster, "shop", None).await?;
        // No rule is due before the attack is over.
        let replica = Replica::start(cluster, SignedDuration::from_secs(3_000), ALONE)?;
        await_armed(cluster, "shop").await?;
        let store = test.plane.folder().join("etcd");
        let backup = test.plane.folder().join("backup");
        test.plane.kill(Component::Etcd)?;
        copy(&store, &backup)?;
        test.plane.restart(Component::Etcd).await?;
        test.plane.await_ready(Component::ApiServer).await?;
        // Many writes, so that the restored versions are much older.
        for number in 0..20 {
            prepare(cluster, &format!("lost-{number}"), None).await?;
        }
        await_armed(cluster, "lost-19").await?;

        test.plane.kill(Component::ApiServer)?;
        test.plane.kill(Component::Etcd)?;
        fs::remove_dir_all(&store)?;
        fs::rename(&backup, &store)?;
        test.plane.restart(Component::Etcd).await?;
        test.plane.restart(Component::ApiServer).await?;
        let rules = json!([{"name": "up", "schedule": "0 10 * * *", "targetReplicas": AFTER}]);
        cluster.patch(CRON, cluster.home(), "shop", &json!({"spec": {"rules": rules}})).await?;
        let is_noticed = |status: &Value| status["nextExecutionTime"] == "2026-11-26T10:00:00Z";
        cluster
            .await_status(cluster.home(), "shop", "to describe the edited policy", is_noticed)
            .await?;
        replica.controller.program.check_running()
    })
}
