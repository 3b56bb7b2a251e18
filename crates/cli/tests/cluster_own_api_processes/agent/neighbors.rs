//! Two agents, of two nodes with the permissions of the manifests, and of the same node.

use almanac_harness::{FaultProxy, ServiceAccountAccess, TestResult};
use anyhow::ensure;
use jiff::SignedDuration;
use serde_json::json;

use crate::agent::stage::at_place;
use crate::agent::test_namespace::{
    INSIDE, OPENS, TestNamespace, daily, early_for_two, own, under,
};

const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/agent/daemonset.yaml");

/// Creates a service account with the permissions of the manifest, and with permission to read the `ConfigMap` here.
async fn account(
    test_namespace: &TestNamespace,
    name: &str,
) -> anyhow::Result<ServiceAccountAccess> {
    let kubectl = async |arguments: &[&str]| {
        test_namespace.cluster.kubectl(&[&["-n", &*test_namespace.name], arguments].concat()).await
    };
    let subject = format!("--serviceaccount={}:{name}", test_namespace.name);
    kubectl(&["create", "serviceaccount", name]).await?;
    let binding = format!("agent-{name}");
    let role = ["create", "clusterrolebinding", &binding, "--clusterrole=almanac-agent", &subject];
    kubectl(&role).await?;
    kubectl(&["create", "rolebinding", &binding, "--role=almanac-agent", &subject]).await?;
    ServiceAccountAccess::grant(
        test_namespace.cluster.kubeconfig(),
        (&test_namespace.name, name),
        None,
    )
    .await
}

#[test]
fn agents_of_two_nodes_change_the_pods_of_their_own_node_and_no_others() -> TestResult {
    at_place("two-nodes", 2, async |test_namespace| {
        test_namespace.cluster.kubectl(&["create", "namespace", "volcano-system"]).await?;
        test_namespace.cluster.kubectl(&["apply", "-f", MANIFEST]).await?;
        let of_configs = [
            "-n",
            &test_namespace.name,
            "create",
            "role",
            "almanac-agent",
            "--verb=list,watch",
            "--resource=configmaps",
            "--resource-name=volcano-agent-config",
            "--resource-name=volcano-agent-configuration",
        ];
        test_namespace.cluster.kubectl(&of_configs).await?;
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        let batch = json!({"app": "batch"});
        for number in 0..2 {
            for node in 0..2 {
                let name = format!("pod-{number}-of-{node}");
                test_namespace.pod_with(&name, batch.clone(), own("1"), node).await?;
            }
        }
        let mut agents = Vec::new();
        for (node, name) in ["zero", "one"].into_iter().enumerate() {
            let access = account(test_namespace, name).await?;
            let agent = test_namespace.launch(
                &access.kubeconfig(),
                INSIDE,
                &["--node-name", test_namespace.node(node)?],
            )?;
            agent.program.await_ready().await?;
            agents.push((agent, access));
        }
        let names = ["pod-0-of-0", "pod-0-of-1", "pod-1-of-0", "pod-1-of-1"];
        test_namespace.await_pods(&names.map(|name| (name, under("night", "-1", "1")))).await?;
        test_namespace.configure(&[]).await?;
        test_namespace.await_pods(&names.map(|name| (name, own("1")))).await?;
        for (agent, _) in &agents {
            agent.await_done().await?;
            agent.stop().await?;
        }
        for write in test_namespace.pod_writes().await? {
            let node = if write.name.ends_with('0') { "zero" } else { "one" };
            let user = format!("system:serviceaccount:{}:{node}", test_namespace.name);
            ensure!(write.user == user, "{write}");
        }
        test_namespace.ensure_written(&names.map(|name| (name, 2))).await
    })
}

#[test]
fn two_agents_of_one_node_with_the_same_settings_write_each_pod_once_a_change() -> TestResult {
    at_place("same-node", 1, async |test_namespace| {
        test_namespace.configure(&[daily("night", "batch", -1)]).await?;
        let pods = test_namespace.many_pods("batch", 40).await?;
        let proxies = [
            FaultProxy::start(test_namespace.cluster.client())?,
            FaultProxy::start(test_namespace.cluster.client())?,
        ];
        let first = test_namespace.start_behind(&proxies[0], &early_for_two(OPENS)?, &[]).await?;
        // The clock of this agent lags, so that all changes seem too early.
        let late = first.now() - SignedDuration::from_millis(400);
        let second = test_namespace.start_behind(&proxies[1], &late.to_string(), &[]).await?;
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
                test_namespace.configure(&[daily("night", "batch", level.parse()?)]).await?;
            }
            test_namespace.await_pods(&expected(level)).await?;
            first.await_done().await?;
            second.await_done().await?;
            test_namespace.ensure_written(&times(writes)).await?;
        }
        test_namespace.ensure_pods(&expected("0")).await?;
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
