//! Placements next to Open Cluster Management, with a stop annotation, and exempt.

use almanac_fixtures::hub;
use almanac_harness::TestResult;
use anyhow::ensure;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controller::{Cluster, LEASE};
use crate::placement::stage::{
    ALONE, BINDING, CLUSTER, DECISION, NAMESPACE, PLACEMENT, await_reason, await_selected,
    end_agreed, on_hub, prepare, start,
};

/// The lease of Open Cluster Management's controller, as if it had just renewed it.
async fn hold_their_lease(cluster: &Cluster) -> TestResult {
    cluster.namespace("open-cluster-management-hub").await?;
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": "placement-lock" },
        "spec": {
            "holderIdentity": "ocm-0", "leaseDurationSeconds": 137,
            "renewTime": format!("{:.6}", Timestamp::now()),
        },
    });
    cluster.create(LEASE, "open-cluster-management-hub", &lease).await
}

#[test]
fn placements_belong_to_open_cluster_management_unless_a_flag_lists_them() -> TestResult {
    on_hub(async |_, cluster| {
        prepare(cluster, &["c1"]).await?;
        hold_their_lease(cluster).await?;
        cluster.create(PLACEMENT, NAMESPACE, &hub::placement("web", &json!({}))).await?;
        let controller = start(cluster).await?;
        let line = "almanac_left_alone{kind=\"placements\"} 1";
        controller.await_metric(line).await?;
        controller.stop().await?;
        let writes = cluster.writes().await?;
        ensure!(writes.is_empty(), "not even the status is ours: {writes:?}");
        let taking_over = [ALONE, &["--take-over=placement"]].concat();
        let controller = cluster.start_at(&Timestamp::now().to_string(), &taking_over).await?;
        await_selected(cluster, "web", &["c1"]).await?;
        end_agreed(cluster, &controller).await
    })
}

#[test]
fn nothing_changes_in_exempt_objects_or_while_stopped() -> TestResult {
    on_hub(async |_, cluster| {
        prepare(cluster, &["c1"]).await?;
        for namespace in ["calm", "kube-system"] {
            if namespace == "calm" {
                cluster.namespace(namespace).await?;
                cluster
                    .kubectl(&["annotate", "namespace", namespace, "almanac.dev/ignore=true"])
                    .await?;
            }
            cluster.create(BINDING, namespace, &hub::managed_cluster_set_binding()).await?;
            cluster.create(PLACEMENT, namespace, &hub::placement("web", &json!({}))).await?;
        }
        cluster.create(PLACEMENT, NAMESPACE, &hub::placement("web", &json!({}))).await?;
        let now = Timestamp::now().to_string();
        let controller = cluster.start_at(&now, &["--controllers=placement"]).await?;
        await_selected(cluster, "web", &["c1"]).await?;
        for namespace in ["calm", "kube-system"] {
            let is_exempt =
                |object: &Value| object["status"]["conditions"][0]["reason"] == "Exempt";
            if namespace == "calm" {
                let exempt = (namespace, "web");
                cluster.await_object(PLACEMENT, exempt, "to be exempt", is_exempt).await?;
            } else {
                let placement = cluster.get(PLACEMENT, namespace, "web").await?;
                ensure!(placement["status"].is_null(), "a flag exempts it: {placement}");
            }
            ensure!(
                cluster.list(DECISION, namespace).await?.is_empty(),
                "{namespace} has decisions"
            );
        }
        let stop = |value: &str| format!("almanac.dev/stop{value}");
        cluster.kubectl(&["annotate", "lease", "almanac", &stop("=audit")]).await?;
        controller.await_metric("almanac_stopped 1").await?;
        cluster.create(CLUSTER, "", &hub::managed_cluster("c2")).await?;
        cluster.create(PLACEMENT, NAMESPACE, &hub::placement("late", &json!({}))).await?;
        cluster.kubectl(&["annotate", "namespace", "calm", "almanac.dev/ignore-"]).await?;
        // A controller that is not stopped would have written before this later event.
        cluster.kubectl(&["annotate", "lease", "almanac", "seen=true"]).await?;
        let renewed = cluster.get(LEASE, NAMESPACE, "almanac").await?["spec"]["renewTime"].clone();
        let is_later = |lease: &Value| lease["spec"]["renewTime"] != renewed;
        cluster.await_object(LEASE, (NAMESPACE, "almanac"), "to be renewed", is_later).await?;
        ensure!(
            cluster.get(DECISION, NAMESPACE, "late-decision-1").await?.is_null(),
            "a decision was written"
        );
        cluster.kubectl(&["annotate", "lease", "almanac", &stop("-")]).await?;
        for name in ["web", "late"] {
            await_selected(cluster, name, &["c1", "c2"]).await?;
        }
        let is_there = |object: &Value| !object.is_null();
        cluster.await_object(DECISION, ("calm", "web-decision-1"), "to be there", is_there).await?;
        await_reason(cluster, "late", "Ready", "True AllDecisionsScheduled").await?;
        controller.stop().await
    })
}
