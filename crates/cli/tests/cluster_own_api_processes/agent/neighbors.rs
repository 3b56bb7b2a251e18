//! Two agents: of two nodes, each with the rights of the manifests, and of one node.

use almanac_harness::{FaultProxy, ServiceAccountAccess, TestResult};
use anyhow::ensure;
use jiff::SignedDuration;
use serde_json::json;

use crate::agent::place::{INSIDE, OPENS, Place, daily, early_for_two, own, under};
use crate::agent::stage::at_place;

const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/agent/daemonset.yaml");

/// Makes a service account with the rights of the manifest, and others to read the `ConfigMap` here.
async fn account(place: &Place, name: &str) -> anyhow::Result<ServiceAccountAccess> {
    let kubectl = async |arguments: &[&str]| {
        place.cluster.kubectl(&[&["-n", &*place.name], arguments].concat()).await
    };
    let subject = format!("--serviceaccount={}:{name}", place.name);
    kubectl(&["create", "serviceaccount", name]).await?;
    let binding = format!("agent-{name}");
    let role = ["create", "clusterrolebinding", &binding, "--clusterrole=almanac-agent", &subject];
    kubectl(&role).await?;
    kubectl(&["create", "rolebinding", &binding, "--role=almanac-agent", &subject]).await?;
    ServiceAccountAccess::grant(place.cluster.kubeconfig(), (&place.name, name), None).await
}

#[test]
fn agents_of_two_nodes_change_the_pods_of_their_own_node_and_no_others() -> TestResult {
    at_place("two-nodes", 2, async |place| {
        place.cluster.kubectl(&["create", "namespace", "volcano-system"]).await?;
        place.cluster.kubectl(&["apply", "-f", MANIFEST]).await?;
        let of_configs = [
            "-n",
            &place.name,
            "create",
            "role",
            "almanac-agent",
            "--verb=list,watch",
            "--resource=configmaps",
            "--resource-name=volcano-agent-config",
            "--resource-name=volcano-agent-configuration",
        ];
        place.cluster.kubectl(&of_configs).await?;
        place.configure(&[daily("night", "batch", -1)]).await?;
        let batch = json!({"app": "batch"});
        for number in 0..2 {
            for node in 0..2 {
                let name = format!("pod-{number}-of-{node}");
                place.pod_with(&name, batch.clone(), own("1"), node).await?;
            }
        }
        let mut agents = Vec::new();
        for (node, name) in ["zero", "one"].into_iter().enumerate() {
            let access = account(place, name).await?;
            let agent =
                place.launch(&access.kubeconfig(), INSIDE, &["--node-name", place.node(node)?])?;
            agent.program.await_ready().await?;
            agents.push((agent, access));
        }
        let names = ["pod-0-of-0", "pod-0-of-1", "pod-1-of-0", "pod-1-of-1"];
        place.await_pods(&names.map(|name| (name, under("night", "-1", "1")))).await?;
        place.configure(&[]).await?;
        place.await_pods(&names.map(|name| (name, own("1")))).await?;
        for (agent, _) in &agents {
            agent.await_done().await?;
            agent.stop().await?;
        }
        for write in place.pod_writes().await? {
            let node = if write.name.ends_with('0') { "zero" } else { "one" };
            let user = format!("system:serviceaccount:{}:{node}", place.name);
            ensure!(write.user == user, "{write}");
        }
        place.ensure_written(&names.map(|name| (name, 2))).await
    })
}

#[test]
fn two_agents_of_one_node_with_the_same_settings_write_each_pod_once_a_change() -> TestResult {
    at_place("same-node", 1, async |place| {
        place.configure(&[daily("night", "batch", -1)]).await?;
        let pods = place.many_pods("batch", 40).await?;
        let proxies = [
            FaultProxy::start(place.cluster.client())?,
            FaultProxy::start(place.cluster.client())?,
        ];
        let first = place.start_behind(&proxies[0], &early_for_two(OPENS)?, &[]).await?;
        // Its clock is a bit behind, so that it sees everything too early by it.
        let late = first.now() - SignedDuration::from_millis(400);
        let second = place.start_behind(&proxies[1], &late.to_string(), &[]).await?;
        second.await_done().await?;
        second.ensure_before(OPENS)?;
        first.await_time(OPENS).await?;
        second.await_time(OPENS).await?;
        let expected = |level: &str| -> Vec<_> {
            pods.iter().map(|pod| (&**pod, under("night", level, "1"))).collect()
        };
        let times = |times| -> Vec<_> { pods.iter().map(|pod| (&**pod, times)).collect() };
        for (level, writes) in [("-1", 1), ("2", 2), ("0", 3)] {
            if writes > 1 {
                place.configure(&[daily("night", "batch", level.parse()?)]).await?;
            }
            place.await_pods(&expected(level)).await?;
            first.await_done().await?;
            second.await_done().await?;
            place.ensure_written(&times(writes)).await?;
        }
        place.ensure_pods(&expected("0")).await?;
        for agent in [&first, &second] {
            ensure!(
                agent.scrape("almanac_qos_contested_total").await?
                    == ["almanac_qos_contested_total 0"]
            );
            agent.stop().await?;
        }
        Ok(())
    })
}
