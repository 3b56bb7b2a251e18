//! The page about QoS levels, word for word: the objects of its commands run in a cluster, and with the same arguments
//! and permissions, the binary does what the page documents.

use crate::documented::run_section;
use crate::reading::{await_value, get};
use crate::running::start_at;
use almanac_harness::{
    ControlPlaneOptions, Kubectl, NodeSpec, Observation, OwnTest, PATIENCE, Program,
    ServiceAccountAccess, TestResult, await_condition, on_own_control_plane,
};
use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

const PAGE: &str = "docs/qos-levels.md";
const NAMESPACE: &str = "almanac-agent";

/// An agent, and its credentials, which exist until drop.
struct Agent {
    program: Program,
    _account: ServiceAccountAccess,
}

/// Starts an agent for each node as in the manifest, with this instant as the current time of the policy clock.
async fn start_agents(
    test: &OwnTest,
    kubectl: &Kubectl,
    nodes: &[String],
    now: &str,
) -> anyhow::Result<Vec<Agent>> {
    let daemon_set = get(kubectl, &["-n", NAMESPACE, "daemonset", "almanac-agent"]).await?;
    let container = &daemon_set["spec"]["template"]["spec"]["containers"][0];
    let variable = json!({"name": "NODE_NAME", "valueFrom": {"fieldRef": {
        "apiVersion": "v1", "fieldPath": "spec.nodeName",
    }}});
    assert_eq!(container["env"], json!([variable]));
    let arguments: Vec<String> = serde_json::from_value(container["args"].clone())?;
    let mut agents = Vec::new();
    for node in nodes {
        let account = test.service_account_on_node((NAMESPACE, "almanac-agent"), node).await?;
        let all: Vec<String> =
            arguments.iter().map(|it| it.replace("$(NODE_NAME)", node)).collect();
        let agent = start_at(&all, &account.kubeconfig(), now.parse()?)?;
        agent.await_ready().await?;
        agents.push(Agent { program: agent, _account: account });
    }
    Ok(agents)
}

async fn stop(agents: Vec<Agent>) -> TestResult {
    for agent in agents {
        ensure!(agent.program.stop().await?.success(), "it did not end well");
    }
    Ok(())
}

/// The annotations of the pods that a section prints, a line each.
fn annotations(printed: &str) -> anyhow::Result<Vec<Value>> {
    let lines = printed.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).context("no JSON")).collect()
}

#[test]
fn the_commands_of_the_page_change_pods_at_the_boundary_and_restore_them() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::whole(), async |test| {
        let nodes = test.nodes(&[NodeSpec::named("node").count(2)]).await?;
        let kubectl = test.kubectl().await?;
        run_section(test, &kubectl, (PAGE, "Install")).await?;
        let daemon_set = ["-n", NAMESPACE, "daemonset", "almanac-agent"];
        await_value(&kubectl, &daemon_set, "/status/numberReady", &json!(2)).await?;

        let agents = start_agents(test, &kubectl, nodes.names(), "2027-03-02T20:59:58Z").await?;
        let printed = run_section(test, &kubectl, (PAGE, "When the window opens")).await?;
        let pods = annotations(&printed)?;
        assert_eq!(pods.len(), 3, "{printed}");
        for pod in &pods {
            let expected = json!({
                "volcano.sh/qos-level": "1", "volcano.sh/original-qos-level": "-1",
                "almanac.dev/qos-policy": "batch-at-night", "almanac.dev/qos-applied": "1",
            });
            assert_eq!(*pod, expected, "{printed}");
        }
        // Events are written after the levels, so the page may contain the Events or not.
        let message = "policy batch-at-night sets the QoS level to 1; the level was -1";
        await_condition("the Events of the page", PATIENCE, async || {
            let activated = ["get", "events", "-A", "--field-selector", "reason=PolicyActivated"];
            let events = kubectl.run(&activated).await?;
            Ok(Observation::from_bool(events.contains(message), events))
        })
        .await?;
        stop(agents).await?;

        let agents = start_agents(test, &kubectl, nodes.names(), "2027-03-03T04:59:58Z").await?;
        let printed = run_section(test, &kubectl, (PAGE, "When the window closes")).await?;
        let pods = annotations(&printed)?;
        assert_eq!(pods, vec![json!({"volcano.sh/qos-level": "-1"}); 3], "{printed}");
        stop(agents).await?;

        let agents = start_agents(test, &kubectl, nodes.names(), "2027-03-03T23:00:00Z").await?;
        let opened = "{.metadata.annotations.volcano\\.sh/qos-level}=1";
        let opened = format!("--for=jsonpath='{opened}'").replace('\'', "");
        kubectl.run(&["wait", "pod", "-l", "app=batch", "--timeout=60s", &opened]).await?;
        run_section(test, &kubectl, (PAGE, "Uninstall")).await?;
        let namespaces = get(&kubectl, &["namespaces"]).await?.to_string();
        assert!(!namespaces.contains(NAMESPACE), "{namespaces}");
        drop(agents);
        Ok(())
    })
}
