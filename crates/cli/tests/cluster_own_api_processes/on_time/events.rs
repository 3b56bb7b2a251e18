//! Events as kubectl displays them.

use almanac_harness::{Observation, PATIENCE, TestResult, await_condition};
use serde_json::{Value, json};

use crate::controller::{
    CRON, Cluster, DEPLOYMENT, condition, cron, deployment, in_namespace, target,
};

const BEFORE: &str = "2026-11-30T08:00:00Z";

async fn await_reason(cluster: &Cluster, reason: &str) -> TestResult {
    let is_so = |status: &Value| condition(status, "Ready")[1] == reason;
    cluster.await_status(cluster.home(), "shop", reason, is_so).await?;
    Ok(())
}

#[test]
fn a_repetition_is_one_event_and_kubectl_describe_shows_count_and_duration() -> TestResult {
    in_namespace(async |cluster| {
        let rules = json!([{"name": "morning", "schedule": "3 9 * * *", "targetReplicas": 6}]);
        let object = cron("shop", &target("apps/v1", "Deployment", "shop"), &rules);
        cluster.create(CRON, cluster.home(), &object).await?;
        let controller = cluster.start_at(BEFORE, &[]).await?;
        for _ in 0..2 {
            await_reason(cluster, "TargetNotFound").await?;
            cluster.create(DEPLOYMENT, cluster.home(), &deployment("shop", 1)).await?;
            await_reason(cluster, "Armed").await?;
            cluster.delete(DEPLOYMENT, cluster.home(), "shop").await?;
        }
        await_condition("the third one to be described", PATIENCE, async || {
            let described = cluster.kubectl(&["describe", "cronfhpa", "shop"]).await?;
            let (_, events) = described.split_once("Events:").unwrap_or_default();
            let matching: Vec<&str> = events.lines().filter(|it| it.contains("NotFound")).collect();
            let is_counted = matches!(matching[..], [only] if only.contains("(x3 over "));
            Ok(Observation::from_bool(is_counted, described))
        })
        .await?;
        controller.stop().await
    })
}
