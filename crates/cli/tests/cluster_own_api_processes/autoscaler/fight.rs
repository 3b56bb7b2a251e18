//! Another field manager also sets the replicas. Almanac detects and reports the contention, and sets the replicas
//! again at most once in every query period. A test against a tool that never stops shows that the interval soon grows.

use std::sync::atomic::{AtomicBool, Ordering};

use almanac_fixtures::objects;
use almanac_harness::{AuditedRequest, Observation, PATIENCE, TestResult, await_condition};
use anyhow::{Context as _, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::autoscaler::autoscalers::{
    autoscale, await_condition_of, await_replicas, instants, scalings, schedule, scheduled,
};
use crate::controller::{AUTOSCALER, Cluster, DEPLOYMENT, in_namespace, target};

const NOW: &str = "2026-11-30T09:10:00Z";
const PERIOD: SignedDuration = SignedDuration::from_secs(2);
/// The audit log has the time of the response, and the controller the time of the request. They differ on a busy
/// machine.
const ANSWER: SignedDuration = SignedDuration::from_secs(1);
/// The number of observed writes of Almanac. Later writes are minutes apart.
const WRITES: usize = 3;

/// Sets three replicas, again and again, without delay.
async fn insist(cluster: &Cluster, is_over: &AtomicBool) -> TestResult {
    while !is_over.load(Ordering::SeqCst) {
        cluster.kubectl(&["scale", "deployment", "shop", "--replicas=3"]).await?;
    }
    Ok(())
}

async fn await_writes(cluster: &Cluster, name: &str, count: usize) -> Result<Vec<AuditedRequest>> {
    await_condition(&format!("{count} writes to {name}"), PATIENCE, async || {
        let writes = scalings(cluster, name).await?;
        Ok(if writes.len() >= count {
            Observation::Holds(writes)
        } else {
            Observation::NotYet(format!("{} writes", writes.len()))
        })
    })
    .await
}

/// Checks that no two writes are within a period.
fn ensure_a_period_apart(instants: &[Timestamp]) -> TestResult {
    for pair in instants.windows(2) {
        let apart = pair[1].duration_since(pair[0]);
        ensure!(apart >= PERIOD - ANSWER, "two writes are only {apart:#} apart: {instants:?}");
    }
    Ok(())
}

#[test]
fn another_field_manager_is_reported_and_overwritten_at_most_once_a_period() -> TestResult {
    in_namespace(async |cluster| {
        schedule(cluster, "hours", 7).await?;
        schedule(cluster, "other-hours", 5).await?;
        let query = scheduled(cluster, "hours");
        autoscale(cluster, "shop", (2, &query), &Value::Null).await?;
        let period = format!("--query-period={PERIOD}");
        let controller = cluster.start_at(NOW, &[&period]).await?;
        await_replicas(cluster, (DEPLOYMENT, cluster.home(), "shop"), 7).await?;

        let is_over = AtomicBool::new(false);
        let fight = async {
            let writes = await_writes(cluster, "shop", WRITES).await;
            let undone = await_undone(cluster).await;
            is_over.store(true, Ordering::SeqCst);
            undone.and(writes)
        };
        let (insisted, writes) = tokio::join!(insist(cluster, &is_over), fight);
        insisted?;
        ensure_a_period_apart(&instants(&writes?)?)?;
        // The manager that continues longer wins.
        await_replicas(cluster, (DEPLOYMENT, cluster.home(), "shop"), 7).await?;
        ensure_a_period_apart(&instants(&scalings(cluster, "shop").await?)?)?;
        let undone = controller.scrape("almanac_autoscaler_undone_total").await?;
        assert_eq!(undone, ["almanac_autoscaler_undone_total 1"]);

        two_autoscalers_of_one_target_are_reported(cluster).await?;
        controller.stop().await
    })
}

async fn await_undone(cluster: &Cluster) -> TestResult {
    let shop = format!("{}/shop", cluster.home());
    for about in ["AbleToScale", "Ready"] {
        let expected = [about, "False", "UndoneByAnotherWriter"];
        let message = await_condition_of(cluster, "shop", expected).await?;
        let expected = format!(
            "another writer has set the replicas of Deployment.apps {shop} to 3, where this autoscaler \
             sets 7; scale the target with only one of them"
        );
        assert_eq!(message, expected);
    }
    let event = format!(
        "Warning UndoneByAnotherWriter: set the replicas of Deployment.apps {shop} to 7; another writer, \
         kubectl, has since set them to 3. They are set again at growing intervals: scale the target with only \
         one of them"
    );
    cluster.await_event(cluster.home(), "shop", &event).await
}

/// Each autoscaler sets its number for a while, and at most once in a period.
async fn two_autoscalers_of_one_target_are_reported(cluster: &Cluster) -> TestResult {
    autoscale(cluster, "rivals", (2, &scheduled(cluster, "hours")), &Value::Null).await?;
    let rivals = target("apps/v1", "Deployment", "rivals");
    let other =
        objects::horizontal_autoscaler("rivals-too", &rivals, &scheduled(cluster, "other-hours"));
    cluster.create(AUTOSCALER, cluster.home(), &other).await?;
    for name in ["rivals", "rivals-too"] {
        let expected = ["AbleToScale", "False", "UndoneByAnotherWriter"];
        await_condition_of(cluster, name, expected).await.context(name)?;
    }
    let writes = await_writes(cluster, "rivals", 2 * WRITES).await?;
    let instants = instants(&writes)?;
    // The autoscalers alternate, so every second write belongs to the same autoscaler.
    for turn in [0, 1] {
        let of_one: Vec<_> = instants.iter().copied().skip(turn).step_by(2).collect();
        ensure_a_period_apart(&of_one)?;
    }
    Ok(())
}
