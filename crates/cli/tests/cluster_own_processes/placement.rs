//! Placements on a whole control plane with garbage collection: decisions are deleted with their owner.

#[path = "../cluster_own_api_processes/placement/stage.rs"]
mod stage;

use crate::controller::Cluster;
use almanac_fixtures::hub;
use almanac_harness::{ControlPlaneOptions, TestResult, on_own_control_plane};
use serde_json::{Value, json};
use stage::{
    BINDING, CLUSTER, DECISION, NAMESPACE, PLACEMENT, await_selected, define, end_agreed, prepare,
    start,
};

#[test]
fn deletion_of_a_placement_or_namespace_deletes_the_decisions() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::whole().audited(), async |own| {
        let cluster = &Cluster::prepare(own).await?;
        define(cluster).await?;
        prepare(cluster, &["c1"]).await?;
        cluster.namespace("going").await?;
        cluster.create(BINDING, "going", &hub::managed_cluster_set_binding()).await?;
        for (namespace, name) in [(NAMESPACE, "web"), (NAMESPACE, "stays"), ("going", "web")] {
            cluster.create(PLACEMENT, namespace, &hub::placement(name, &json!({}))).await?;
        }
        let controller = start(cluster).await?;
        for name in ["web", "stays"] {
            await_selected(cluster, name, &["c1"]).await?;
        }
        cluster.delete(PLACEMENT, NAMESPACE, "web").await?;
        let is_gone = Value::is_null;
        cluster
            .await_object(DECISION, (NAMESPACE, "web-decision-1"), "to be gone", is_gone)
            .await?;
        // A new placement of the same name is unrelated to the deleted placement.
        cluster.create(PLACEMENT, NAMESPACE, &hub::placement("web", &json!({}))).await?;
        await_selected(cluster, "web", &["c1"]).await?;
        cluster.kubectl(&["delete", "namespace", "going"]).await?;
        cluster.create(CLUSTER, "", &hub::managed_cluster("c2")).await?;
        for name in ["web", "stays"] {
            await_selected(cluster, name, &["c1", "c2"]).await?;
        }
        end_agreed(cluster, &controller).await
    })
}
