//! Groups of nodes on a real control plane: simulated nodes are created and deleted only in the requested groups.

use crate::controller::{
    Cluster, Controller, DEPLOYMENT, Kind, NODE, NODE_GROUP, condition, on_cluster,
};
use almanac_fixtures::objects::{self, scalable_node_group as group};
use almanac_harness::{AuditedRequest, Observation, PATIENCE, TestResult, await_condition};
use anyhow::{Context as _, Result};
use jiff::Timestamp;
use serde_json::{Value, json};

const NAMESPACE: &str = "shop";
const MACHINES: Kind =
    Kind { root: "/apis/cluster.x-k8s.io/v1beta1", plural: "machinedeployments" };
/// The manifests.
const DEPLOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");

/// A node of another owner.
fn foreign_node(name: &str) -> Value {
    let labels = json!({"owner": "somebody", "almanac.dev/node-group": "pool"});
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}})
}

/// Starts the controllers, with these additional flags.
async fn start(cluster: &Cluster, flags: &[&str]) -> Result<Controller> {
    cluster.start_at(&Timestamp::now().to_string(), flags).await
}

async fn resize(cluster: &Cluster, name: &str, replicas: u32) -> TestResult {
    let replicas = format!("--replicas={replicas}");
    cluster.kubectl(&["-n", NAMESPACE, "scale", "scalablenodegroup", name, &replicas]).await?;
    Ok(())
}

async fn nodes(cluster: &Cluster) -> Result<Vec<String>> {
    let nodes = cluster.list(NODE, "").await?;
    let name = |node: &Value| Some(node["metadata"]["name"].as_str()?.to_owned());
    nodes.iter().map(|node| name(node).context("a node without a name")).collect()
}

async fn await_nodes(cluster: &Cluster, expected: &[&str]) -> TestResult {
    await_condition(&format!("the nodes {expected:?}"), PATIENCE, async || {
        let nodes = nodes(cluster).await?;
        Ok(Observation::from_bool(nodes == expected, format!("{nodes:?}")))
    })
    .await
}

/// Waits until the status of a group has this number of nodes; returns the group's `scale` subresource.
async fn await_replicas(cluster: &Cluster, name: &str, replicas: u32) -> Result<Value> {
    let what = format!("{replicas} nodes");
    let has = |object: &Value| {
        let status = &object["status"];
        status["replicas"] == replicas && condition(status, "Ready")[0] == "True"
    };
    cluster.await_object(NODE_GROUP, (NAMESPACE, name), &what, has).await?;
    cluster.get(NODE_GROUP, NAMESPACE, &format!("{name}/scale")).await
}

/// Whether a group has this readiness, and cannot be scaled for this reason.
fn is_unable(object: &Value, ready: &str, reason: &str) -> bool {
    condition(&object["status"], "Ready")[0] == ready
        && condition(&object["status"], "AbleToScale")[..2] == ["False", reason]
}

/// Waits until a group can't be scaled for this reason; returns the message.
async fn await_refusal(cluster: &Cluster, name: &str, reason: &str) -> Result<String> {
    let refused = |object: &Value| is_unable(object, "False", reason);
    let object = cluster.await_object(NODE_GROUP, (NAMESPACE, name), reason, refused).await?;
    Ok(condition(&object["status"], "AbleToScale")[2].to_owned())
}

/// The writes of nodes so far.
async fn node_writes(cluster: &Cluster) -> Result<Vec<AuditedRequest>> {
    cluster.writes_of(NODE.plural).await
}

#[test]
fn simulated_nodes_follow_the_replicas_of_their_group() -> TestResult {
    on_cluster(async |_, cluster| {
        cluster.namespace(NAMESPACE).await?;
        cluster.create(NODE_GROUP, NAMESPACE, &group("pool", "Simulated", "spot", 0)).await?;
        let controller = start(cluster, &["--simulated-nodes"]).await?;
        await_replicas(cluster, "pool", 0).await?;
        resize(cluster, "pool", 3).await?;
        let scale = await_replicas(cluster, "pool", 3).await?;
        assert_eq!(
            (&scale["spec"]["replicas"], &scale["status"]["replicas"]),
            (&json!(3), &json!(3))
        );
        await_nodes(cluster, &["spot-0", "spot-1", "spot-2"]).await?;
        let selector = scale["status"]["selector"].as_str().context("no selector")?;
        let selected = ["get", "nodes", "-o", "name", "-l", selector];
        assert_eq!(cluster.kubectl(&selected).await?.lines().count(), 3, "{selector}");
        cluster.await_event(NAMESPACE, "pool", "Normal Scaled: scaled from 0 nodes to 3").await?;
        // A manually deleted node is created again.
        cluster.delete(NODE, "", "spot-1").await?;
        await_condition("another spot-1", PATIENCE, async || {
            let created =
                node_writes(cluster).await?.iter().filter(|it| it.verb == "create").count();
            Ok(Observation::from_bool(created == 4, format!("{created} were created")))
        })
        .await?;
        await_nodes(cluster, &["spot-0", "spot-1", "spot-2"]).await?;
        resize(cluster, "pool", 1).await?;
        await_replicas(cluster, "pool", 1).await?;
        await_nodes(cluster, &["spot-0"]).await?;
        // Each size is written once, however often the process reads the nodes.
        let statuses = cluster.writes_of(NODE_GROUP.plural).await?;
        assert_eq!(statuses.len(), 3, "{statuses:#?}");
        let labels = "{name=\"pool\",namespace=\"shop\"} 1";
        for metric in ["almanac_node_group_desired_replicas", "almanac_node_group_current_replicas"]
        {
            assert_eq!(controller.scrape(metric).await?, [format!("{metric}{labels}")]);
        }
        assert_eq!(
            controller.scrape("almanac_node_group_failed").await?,
            ["almanac_node_group_failed_total 0"]
        );
        controller.stop().await
    })
}

#[test]
fn without_the_flag_no_node_is_created_and_the_group_reports_the_fix() -> TestResult {
    on_cluster(async |_, cluster| {
        cluster.namespace(NAMESPACE).await?;
        for (name, kind) in [("pool", "Simulated"), ("real", "AWSEKSNodeGroup")] {
            cluster.create(NODE_GROUP, NAMESPACE, &group(name, kind, "spot", 3)).await?;
        }
        let controller = start(cluster, &[]).await?;
        let message = await_refusal(cluster, "pool", "Unsupported").await?;
        assert!(message.contains("--simulated-nodes"), "{message}");
        let message = await_refusal(cluster, "real", "Unsupported").await?;
        assert!(
            message.starts_with(
                "no provider of this controller creates nodes for groups of type AWSEKSNodeGroup"
            ),
            "{message}"
        );
        assert!(message.contains("MachineDeployment"), "{message}");
        cluster.await_event(NAMESPACE, "real", &format!("Warning Unsupported: {message}")).await?;
        controller.stop().await?;
        // With the flag, an unknown type is still unknown.
        let controller = start(cluster, &["--simulated-nodes"]).await?;
        await_replicas(cluster, "pool", 3).await?;
        assert_eq!(await_refusal(cluster, "real", "Unsupported").await?, message);
        await_nodes(cluster, &["spot-0", "spot-1", "spot-2"]).await?;
        controller.stop().await?;
        // Without the flag again, the nodes are unchanged, and their number is not reported.
        let controller = start(cluster, &[]).await?;
        await_refusal(cluster, "pool", "Unsupported").await?;
        assert_eq!(
            cluster.get(NODE_GROUP, NAMESPACE, "pool").await?["status"]["replicas"],
            Value::Null
        );
        await_nodes(cluster, &["spot-0", "spot-1", "spot-2"]).await?;
        controller.stop().await
    })
}

#[test]
fn a_foreign_node_is_unchanged_and_the_group_reports_it() -> TestResult {
    on_cluster(async |_, cluster| {
        cluster.namespace(NAMESPACE).await?;
        cluster.create(NODE, "", &foreign_node("spot-1")).await?;
        let foreign = cluster.get(NODE, "", "spot-1").await?;
        cluster.create(NODE_GROUP, NAMESPACE, &group("pool", "Simulated", "spot", 3)).await?;
        let controller = start(cluster, &["--simulated-nodes"]).await?;
        let message = await_refusal(cluster, "pool", "NodeNameTaken").await?;
        assert!(message.starts_with("node names in use outside this group: spot-1;"), "{message}");
        cluster
            .await_event(NAMESPACE, "pool", &format!("Warning NodeNameTaken: {message}"))
            .await?;
        await_nodes(cluster, &["spot-0", "spot-1", "spot-2"]).await?;
        let object = cluster.get(NODE_GROUP, NAMESPACE, "pool").await?;
        assert_eq!(object["status"]["replicas"], 2);
        resize(cluster, "pool", 0).await?;
        await_replicas(cluster, "pool", 0).await?;
        let existing = cluster.get(NODE, "", "spot-1").await?;
        assert_eq!(existing["metadata"]["uid"], foreign["metadata"]["uid"]);
        assert_eq!(existing["spec"], foreign["spec"]);
        // Once the name is free, the group gets its node.
        resize(cluster, "pool", 2).await?;
        await_refusal(cluster, "pool", "NodeNameTaken").await?;
        cluster.delete(NODE, "", "spot-1").await?;
        await_replicas(cluster, "pool", 2).await?;
        controller.stop().await
    })
}

#[test]
fn a_restart_keeps_nodes_and_a_deleted_group_loses_them() -> TestResult {
    on_cluster(async |_, cluster| {
        cluster.namespace(NAMESPACE).await?;
        for (name, id) in [("pool", "spot"), ("other", "steady"), ("late", "late")] {
            cluster.create(NODE_GROUP, NAMESPACE, &group(name, "Simulated", id, 1)).await?;
        }
        let controller = start(cluster, &["--simulated-nodes"]).await?;
        for name in ["pool", "other", "late"] {
            await_replicas(cluster, name, 1).await?;
        }
        let before = node_writes(cluster).await?.len();
        controller.program.kill()?;
        // While no controller runs, one group is deleted, and another is scaled up.
        cluster.delete(NODE_GROUP, NAMESPACE, "late").await?;
        resize(cluster, "pool", 2).await?;
        controller.program.start_again()?;
        await_nodes(cluster, &["spot-0", "spot-1", "steady-0"]).await?;
        await_replicas(cluster, "pool", 2).await?;
        let since = node_writes(cluster).await?.split_off(before);
        let since: Vec<&str> = since.iter().map(|write| &*write.verb).collect();
        assert_eq!(since.iter().filter(|verb| **verb == "create").count(), 1, "{since:?}");
        assert_eq!(since.iter().filter(|verb| **verb == "delete").count(), 1, "{since:?}");
        cluster.delete(NODE_GROUP, NAMESPACE, "pool").await?;
        await_nodes(cluster, &["steady-0"]).await?;
        controller.stop().await
    })
}

#[test]
fn an_exempt_or_stopped_group_keeps_its_nodes() -> TestResult {
    on_cluster(async |_, cluster| {
        cluster.namespace(NAMESPACE).await?;
        cluster.create(NODE_GROUP, NAMESPACE, &group("pool", "Simulated", "spot", 1)).await?;
        let controller = start(cluster, &["--simulated-nodes"]).await?;
        await_replicas(cluster, "pool", 1).await?;
        let namespace = ["annotate", "namespace", NAMESPACE];
        let lease = ["-n", "default", "annotate", "lease", "almanac"];
        let holds: [(&[&str], &str, &str, &str); 2] = [
            (&namespace, "almanac.dev/ignore=true", "almanac.dev/ignore-", "Exempt"),
            (&lease, "almanac.dev/stop=why", "almanac.dev/stop-", "Stopped"),
        ];
        for (replicas, (what, begins, ends, reason)) in (2..).zip(holds) {
            let before = node_writes(cluster).await?.len();
            cluster.kubectl(&[what, &[begins]].concat()).await?;
            if reason == "Stopped" {
                controller.await_metric("almanac_stopped 1").await?;
            } else {
                await_held(cluster, reason).await?;
            }
            resize(cluster, "pool", replicas).await?;
            let seen =
                |it: &Value| it["status"]["observedGeneration"] == it["metadata"]["generation"];
            cluster
                .await_object(
                    NODE_GROUP,
                    (NAMESPACE, "pool"),
                    "the controller to observe the group",
                    seen,
                )
                .await?;
            await_held(cluster, reason).await?;
            assert_eq!(node_writes(cluster).await?.len(), before);
            cluster.kubectl(&[what, &[ends]].concat()).await?;
            await_replicas(cluster, "pool", replicas).await?;
        }
        controller.stop().await
    })
}

/// Waits until a group keeps its nodes for this reason, and needs no attention.
async fn await_held(cluster: &Cluster, reason: &str) -> TestResult {
    let is_held = |object: &Value| is_unable(object, "True", reason);
    cluster.await_object(NODE_GROUP, (NAMESPACE, "pool"), reason, is_held).await?;
    Ok(())
}

#[test]
fn one_kind_of_autoscaler_scales_pods_simulated_nodes_and_machine_deployments() -> TestResult {
    on_cluster(async |_, cluster| {
        cluster
            .create_text("default", &objects::machine_deployment_definition().to_string())
            .await?;
        cluster.await_definitions().await?;
        cluster.namespace(NAMESPACE).await?;
        let day = json!({"replicas": 4, "start": {"hours": 9}, "end": {"hours": 17}});
        let schedule = json!({"defaultReplicas": 1, "behaviors": [day]});
        let mut items = vec![
            objects::metrics_producer("hours", &schedule),
            objects::deployment("web", 1),
            group("pool", "Simulated", "spot", 1),
            objects::machine_deployment("workers", 1),
        ];
        let query = "karpenter_scheduled_capacity{name=\"hours\",namespace=\"shop\"}";
        for (name, api_version, kind) in [
            ("web", "apps/v1", "Deployment"),
            ("pool", objects::KARPENTER, "ScalableNodeGroup"),
            ("workers", objects::CLUSTER_API, "MachineDeployment"),
        ] {
            let target = objects::target(api_version, kind, name);
            items.push(objects::horizontal_autoscaler(name, &target, query));
        }
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        cluster.create_text(NAMESPACE, &list.to_string()).await?;
        let controller = cluster.start_at("2026-11-20T08:59:55Z", &["--simulated-nodes"]).await?;
        for (kind, name) in [(DEPLOYMENT, "web"), (NODE_GROUP, "pool"), (MACHINES, "workers")] {
            let has = |object: &Value| object["spec"]["replicas"] == 4;
            cluster.await_object(kind, (NAMESPACE, name), "4 replicas", has).await?;
        }
        await_replicas(cluster, "pool", 4).await?;
        await_nodes(cluster, &["spot-0", "spot-1", "spot-2", "spot-3"]).await?;
        controller.stop().await
    })
}

#[test]
fn the_permissions_of_the_manifests_do_not_suffice_to_create_a_node() -> TestResult {
    on_cluster(async |own, cluster| {
        cluster.kubectl(&["apply", "-f", DEPLOY]).await?;
        cluster.namespace(NAMESPACE).await?;
        cluster.create(NODE_GROUP, NAMESPACE, &group("pool", "Simulated", "spot", 1)).await?;
        let account = own.service_account("almanac-system", "almanac").await?;
        let flags = ["--simulated-nodes", "--lease-namespace=almanac-system"];
        let now = Timestamp::now().to_string();
        let controller = Controller::start(&account.kubeconfig(), &now, &flags)?;
        let message = await_refusal(cluster, "pool", "ProviderFailed").await?;
        assert!(message.starts_with("failed to list nodes: "), "{message}");
        assert!(message.contains("nodes is forbidden"), "{message}");
        assert_eq!(nodes(cluster).await?, [""; 0]);
        controller.stop().await
    })
}
