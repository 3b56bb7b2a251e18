//! The first firing of a rule, relative to the instant at which it was applied.

use almanac_harness::TestResult;
use serde_json::json;

use crate::controller::{CRON, Cluster, DEPLOYMENT, cron, deployment, in_namespace, target};

async fn apply(cluster: &Cluster, name: &str) -> TestResult {
    let rules = json!([{"name": "hourly", "schedule": "3 * * * *", "targetReplicas": 4}]);
    let object = cron(name, &target("apps/v1", "Deployment", name), &rules);
    cluster.create(CRON, cluster.home(), &object).await
}

async fn await_next(cluster: &Cluster, name: &str, next: &str) -> TestResult {
    let is_next = |status: &serde_json::Value| {
        status["nextExecutionTime"] == next
            && status["executionHistories"][0]["nextExecutionTime"] == next
    };
    cluster.await_status(cluster.home(), name, &format!("{next} is next"), is_next).await?;
    Ok(())
}

async fn assert_replicas(cluster: &Cluster, name: &str, replicas: u32) -> TestResult {
    let actual = cluster.get(DEPLOYMENT, cluster.home(), name).await?;
    assert_eq!(actual["spec"]["replicas"], json!(replicas), "{name}");
    Ok(())
}

#[test]
fn a_rule_for_three_past_applied_at_one_past_fires_in_two_minutes_and_at_four_past_in_an_hour()
-> TestResult {
    in_namespace(async |cluster| {
        cluster.create(DEPLOYMENT, cluster.home(), &deployment("at-one", 1)).await?;
        cluster.create(DEPLOYMENT, cluster.home(), &deployment("at-four", 1)).await?;

        let controller = cluster.start_at("2026-11-30T09:01:00Z", &[]).await?;
        apply(cluster, "at-one").await?;
        await_next(cluster, "at-one", "2026-11-30T09:03:00Z").await?;
        controller.stop().await?;
        assert_replicas(cluster, "at-one", 1).await?;

        let controller = cluster.start_at("2026-11-30T09:02:58Z", &[]).await?;
        await_next(cluster, "at-one", "2026-11-30T10:03:00Z").await?;
        controller.stop().await?;
        assert_replicas(cluster, "at-one", 4).await?;

        let controller = cluster.start_at("2026-11-30T09:04:00Z", &[]).await?;
        apply(cluster, "at-four").await?;
        await_next(cluster, "at-four", "2026-11-30T10:03:00Z").await?;
        controller.stop().await?;
        assert_replicas(cluster, "at-four", 1).await?;

        let controller = cluster.start_at("2026-11-30T10:02:58Z", &[]).await?;
        await_next(cluster, "at-one", "2026-11-30T11:03:00Z").await?;
        await_next(cluster, "at-four", "2026-11-30T11:03:00Z").await?;
        controller.stop().await?;
        assert_replicas(cluster, "at-four", 4).await?;
        let writes = cluster.target_writes().await?;
        let names: Vec<_> = writes.iter().map(|write| &*write.name).collect();
        assert_eq!(names, ["at-one", "at-four"], "the second time at-one has its value already");
        Ok(())
    })
}
