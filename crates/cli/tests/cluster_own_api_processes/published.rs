//! The CRDs that Karmada, Karpenter and Open Cluster Management publish, instead of ours: every family works, or
//! reports the missing fields.

use almanac_fixtures::objects;
use almanac_harness::{ControlPlaneOptions, TestResult, on_own_control_plane};
use anyhow::ensure;
use serde_json::{Value, json};

use crate::controller::{
    AUTOSCALER, CRON, Cluster, DEPLOYMENT, FEDERATED, Kind, NODE_GROUP, PRODUCER, condition, cron,
    deployment, federated, schedule_of_the_design, target,
};
use crate::placement::stage::{PLACEMENT, await_selected, place, prepare};

const PUBLISHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/published");
const OURS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/crds");
const NAMESPACE: &str = "default";
const ALL: &[&str] = &[
    "--leader-elect=false",
    "--controllers=metrics-producer,cron-federated-hpa,horizontal-autoscaler,scalable-node-group,placement",
];

/// Policies of every family. The schedule is in the format of Karpenter 0.1.2: hours are strings, and the field has
/// another name than in the design.
async fn create_policies(cluster: &Cluster) -> TestResult {
    for name in ["shop", "tide"] {
        cluster.create(DEPLOYMENT, NAMESPACE, &deployment(name, 1)).await?;
    }
    let rule = json!([{"name": "up", "schedule": "0 9 * * *", "targetReplicas": 5}]);
    let of_shop = target("apps/v1", "Deployment", "shop");
    cluster.create(CRON, NAMESPACE, &cron("shop", &of_shop, &rule)).await?;
    cluster.create(FEDERATED, NAMESPACE, &federated("bounds", Some(1), 9)).await?;
    let rule = json!([{"name": "up", "schedule": "0 9 * * *", "targetMinReplicas": 4}]);
    let of_bounds = target("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "bounds");
    cluster.create(CRON, NAMESPACE, &cron("bounds", &of_bounds, &rule)).await?;

    let schedule = schedule_of_the_design().replace("schedule:", "scheduleSpec:");
    let schedule = schedule.replace("hours: 17", "hours: '17'").replace("hours: 9", "hours: '9'");
    cluster.create_text(NAMESPACE, &schedule).await?;
    let of_tide = target("apps/v1", "Deployment", "tide");
    let query = "karpenter_scheduled_capacity{name=\"scheduling\"}";
    let autoscaler = objects::horizontal_autoscaler("tide", &of_tide, query);
    cluster.create(AUTOSCALER, NAMESPACE, &autoscaler).await?;
    let group = objects::scalable_node_group("pool", "AWSEKSNodeGroup", "pool", 1);
    cluster.create(NODE_GROUP, NAMESPACE, &group).await?;

    prepare(cluster, &["cluster1", "cluster2"]).await?;
    place(cluster, "one", 1, &[("Steady", 1)]).await
}

/// Waits until each of the objects has a status, and returns the condition about fields that the CRD lacks.
async fn missing(cluster: &Cluster, kind: Kind, name: &str) -> anyhow::Result<[String; 3]> {
    let has_conditions = |object: &Value| object["status"]["conditions"].is_array();
    let what = "to have conditions";
    let object = cluster.await_object(kind, (NAMESPACE, name), what, has_conditions).await?;
    Ok(condition(&object["status"], "SchemaIncomplete").map(str::to_owned))
}

async fn ensure_missing(cluster: &Cluster, kind: Kind, name: &str, fields: &str) -> TestResult {
    let [_, reason, message] = missing(cluster, kind, name).await?;
    ensure!(reason == "FieldsMissing" && message.contains(fields), "{reason}: {message}");
    Ok(())
}

#[test]
fn each_family_works_with_published_crds_or_reports_what_they_lack() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only().audited(), async |test| {
        let cluster = &Cluster::prepare_with(test, PUBLISHED).await?;
        create_policies(cluster).await?;
        let controller = cluster.start_at("2026-11-26T08:59:50Z", ALL).await?;

        // All policies are reconciled.
        let scaled = |wanted: u64| move |object: &Value| object["spec"]["replicas"] == wanted;
        let at = |name| (NAMESPACE, name);
        cluster.await_object(DEPLOYMENT, at("shop"), "to have 5", scaled(5)).await?;
        cluster.await_object(DEPLOYMENT, at("tide"), "to have 2", scaled(2)).await?;
        let is_raised = |object: &Value| object["spec"]["minReplicas"] == 4;
        cluster.await_object(FEDERATED, at("bounds"), "to have 4", is_raised).await?;
        let has_fired = |status: &Value| {
            status["executionHistories"][0]["successfulExecutions"].as_array().is_some()
        };
        cluster.await_status(NAMESPACE, "shop", "to record the firing", has_fired).await?;
        let is_published =
            |object: &Value| object["status"]["scheduledCapacity"]["currentValue"] == 2;
        cluster.await_object(PRODUCER, at("scheduling"), "to publish", is_published).await?;
        await_selected(cluster, "one", &["cluster1"]).await?;

        // Missing fields are in a condition, or in an Event if the CRD has no conditions.
        ensure_missing(cluster, PRODUCER, "scheduling", "lacks spec.schedule, ").await?;
        ensure_missing(cluster, AUTOSCALER, "tide", "status.recommendations").await?;
        ensure_missing(cluster, NODE_GROUP, "pool", "status.observedGeneration").await?;
        ensure!(missing(cluster, PLACEMENT, "one").await? == [""; 3], "a hub lacks nothing");
        let expected = "Warning FieldsMissing: the CRD of Cron";
        cluster.await_events((NAMESPACE, "shop"), expected, 1..=1).await?;

        // No write was rejected, and none was repeated.
        let writes = cluster.writes().await?;
        let refused: Vec<_> = writes.iter().filter(|it| it.code >= 400 && it.code != 409).collect();
        ensure!(refused.is_empty(), "{refused:#?}");
        ensure!(writes.len() < 30, "{} writes", writes.len());

        // After a restart, no action is repeated.
        controller.program.kill()?;
        let before = cluster.target_writes().await?.len();
        controller.program.start_again()?;
        controller.program.await_ready().await?;
        // With all fields present, the condition disappears.
        cluster.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", OURS]).await?;
        for (kind, name) in [(PRODUCER, "scheduling"), (AUTOSCALER, "tide"), (NODE_GROUP, "pool")] {
            let is_complete = |object: &Value| {
                let [ready, incomplete] =
                    ["Ready", "SchemaIncomplete"].map(|it| condition(&object["status"], it)[0]);
                !ready.is_empty() && incomplete.is_empty()
            };
            cluster.await_object(kind, at(name), "to be complete", is_complete).await?;
        }
        let has_conditions = |status: &Value| status["conditions"].is_array();
        cluster.await_status(NAMESPACE, "shop", "to have conditions", has_conditions).await?;
        let after = cluster.target_writes().await?;
        ensure!(after.len() == before, "{:#?}", after.get(before..));
        controller.stop().await
    })
}
