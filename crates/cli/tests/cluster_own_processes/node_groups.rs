//! Groups of nodes on a whole control plane. The scheduler uses their nodes, and the controller manager treats the
//! nodes as alive while a controller renews their Leases.

use crate::controller::{Cluster, DEPLOYMENT, NODE, NODE_GROUP};
use almanac_fixtures::objects;
use almanac_harness::{Component, ControlPlaneOptions, TestResult, on_own_control_plane};
use jiff::Timestamp;
use serde_json::{Value, json};

const NAMESPACE: &str = "shop";

async fn resize(cluster: &Cluster, replicas: u32) -> TestResult {
    let patch = json!({"spec": {"replicas": replicas}});
    cluster.patch(NODE_GROUP, NAMESPACE, "pool", &patch).await?;
    let has = |object: &Value| object["status"]["replicas"] == replicas;
    let what = format!("{replicas} nodes");
    cluster.await_object(NODE_GROUP, (NAMESPACE, "pool"), &what, has).await?;
    Ok(())
}

async fn await_available(cluster: &Cluster, expected: Value) -> TestResult {
    let what = format!("{expected} available");
    let is_so = |object: &Value| object["status"]["availableReplicas"] == expected;
    cluster.await_object(DEPLOYMENT, (NAMESPACE, "web"), &what, is_so).await?;
    Ok(())
}

#[test]
fn a_pod_runs_on_a_node_of_a_group_that_is_ready_again_after_a_restart() -> TestResult {
    // The time after which a node without a renewed Lease is lost.
    let grace = "--node-monitor-grace-period=16s";
    let options = ControlPlaneOptions::whole().audited().flag(Component::ControllerManager, grace);
    on_own_control_plane(&options, async |own| {
        let cluster = Cluster::prepare(own).await?;
        cluster.namespace(NAMESPACE).await?;
        let group = objects::scalable_node_group("pool", "Simulated", "spot", 0);
        cluster.create(NODE_GROUP, NAMESPACE, &group).await?;
        let mut web = objects::deployment("web", 1);
        let selector = json!({"almanac.dev/node-group": "pool"});
        web["spec"]["template"]["spec"]["nodeSelector"] = selector;
        cluster.create(DEPLOYMENT, NAMESPACE, &web).await?;
        let now = Timestamp::now().to_string();
        let controller = cluster.start_at(&now, &["--simulated-nodes"]).await?;
        resize(&cluster, 1).await?;
        await_available(&cluster, json!(1)).await?;

        // No controller renews the Lease until the next start.
        controller.program.kill()?;
        let is_lost = |node: &Value| node["spec"]["taints"].to_string().contains("unreachable");
        cluster.await_object(NODE, ("", "spot-0"), "the node to be lost", is_lost).await?;
        controller.program.start_again()?;
        let is_back = |node: &Value| !node["spec"]["taints"].to_string().contains("unreachable");
        cluster.await_object(NODE, ("", "spot-0"), "the node to be ready again", is_back).await?;
        await_available(&cluster, json!(1)).await?;
        controller.stop().await
    })
}
