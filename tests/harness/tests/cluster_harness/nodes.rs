//! Simulated nodes from the view of the control plane: cordoned, relabeled, stopped and restarted, and the pods on the
//! nodes.

use almanac_harness::{
    NodeSimulator, NodeSpec, Observation, PATIENCE, SharedTest, TaintEffect, TestResult,
    await_condition, on_shared_cluster,
};
use almanac_local::NODE_OWNER;
use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

/// Creates a pod with additional fields in its spec.
async fn create_pod(test: &SharedTest, name: &str, more: &Value) -> Result<()> {
    let mut spec = json!({"containers": [{"name": "main", "image": "none"}]});
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    let pod = serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec}))?;
    Api::<Pod>::default_namespaced(test.client()).create(&PostParams::default(), &pod).await?;
    Ok(())
}

/// Waits until a pod is ready and returns its node.
async fn await_ready(test: &SharedTest, name: &str) -> Result<String> {
    let pods: Api<Pod> = Api::default_namespaced(test.client());
    await_condition(&format!("pod {name} to be ready"), PATIENCE, async || {
        let pod = pods.get(name).await?;
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
        Ok(match node {
            Some(node) if condition(&pod, "Ready") == Some("True") => Observation::Holds(node),
            node => Observation::NotYet(format!("on {node:?}, {:?}", condition(&pod, "Ready"))),
        })
    })
    .await
}

/// Waits until the scheduler has reported that no node fits a pod.
async fn await_refusal(test: &SharedTest, name: &str) -> Result<()> {
    let pods: Api<Pod> = Api::default_namespaced(test.client());
    await_condition(&format!("no node to be found for pod {name}"), PATIENCE, async || {
        let pod = pods.get(name).await?;
        let scheduled = condition(&pod, "PodScheduled");
        Ok(Observation::from_bool(scheduled == Some("False"), format!("scheduled: {scheduled:?}")))
    })
    .await
}

fn condition<'a>(pod: &'a Pod, kind: &str) -> Option<&'a str> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|one| one.type_ == kind).map(|one| one.status.as_str())
}

/// Waits until a node has a taint, or does not have the taint.
async fn await_taint(test: &SharedTest, node: &str, key: &str, is_present: bool) -> Result<()> {
    let nodes: Api<Node> = Api::all(test.client());
    let what = format!("taint {key} on {node}: {is_present}");
    await_condition(&what, PATIENCE, async || {
        let spec = nodes.get(node).await?.spec.unwrap_or_default();
        let keys: Vec<_> = spec.taints.into_iter().flatten().map(|taint| taint.key).collect();
        let found = keys.iter().any(|found| found == key);
        Ok(Observation::from_bool(found == is_present, format!("{keys:?}")))
    })
    .await
}

#[test]
fn a_cordoned_node_gets_no_new_pods_until_it_is_uncordoned() -> TestResult {
    on_shared_cluster(async |test| {
        let nodes = test.nodes(&[NodeSpec::named("only")]).await?;
        nodes.cordon(&nodes.names()[0]).await?;
        await_taint(test, &nodes.names()[0], "node.kubernetes.io/unschedulable", true).await?;
        create_pod(test, "late", &json!({})).await?;
        await_refusal(test, "late").await?;
        nodes.uncordon(&nodes.names()[0]).await?;
        await_ready(test, "late").await?;
        Ok(())
    })
}

#[test]
fn a_relabeled_node_gets_the_pods_that_select_its_new_label() -> TestResult {
    on_shared_cluster(async |test| {
        let nodes = test.nodes(&[NodeSpec::named("node").count(2).label("tide", "ebb")]).await?;
        create_pod(test, "picky", &json!({"nodeSelector": {"tide": "flood"}})).await?;
        await_refusal(test, "picky").await?;
        nodes.relabel(&nodes.names()[1], "tide", Some("flood")).await?;
        assert_eq!(await_ready(test, "picky").await?, nodes.names()[1]);
        Ok(())
    })
}

#[test]
fn a_tainted_node_gets_only_pods_that_tolerate_it() -> TestResult {
    on_shared_cluster(async |test| {
        let reserved = NodeSpec::named("reserved").taint("use", "night", TaintEffect::NoSchedule);
        let nodes = test.nodes(&[reserved]).await?;
        create_pod(test, "day", &json!({})).await?;
        await_refusal(test, "day").await?;
        let tolerant = json!({"tolerations": [{"key": "use", "operator": "Exists"}]});
        create_pod(test, "night", &tolerant).await?;
        assert_eq!(await_ready(test, "night").await?, nodes.names()[0]);
        Ok(())
    })
}

#[test]
fn a_deleted_pod_goes_and_its_name_can_be_used_again() -> TestResult {
    on_shared_cluster(async |test| {
        test.nodes(&[NodeSpec::named("node")]).await?;
        let pods: Api<Pod> = Api::default_namespaced(test.client());
        create_pod(test, "again", &json!({})).await?;
        await_ready(test, "again").await?;
        let first = pods.get("again").await?.metadata.uid;
        // The deletion has a grace period, so that the pod exists until the node confirms its end.
        pods.delete("again", &DeleteParams::default()).await?;
        await_condition("the pod to be gone", PATIENCE, async || {
            Ok(Observation::from_bool(pods.get_opt("again").await?.is_none(), "there"))
        })
        .await?;
        create_pod(test, "again", &json!({})).await?;
        await_ready(test, "again").await?;
        assert_ne!(pods.get("again").await?.metadata.uid, first);
        Ok(())
    })
}

#[test]
fn a_stopped_node_serves_no_pods_and_catches_up_after_its_restart() -> TestResult {
    on_shared_cluster(async |test| {
        let nodes = test.nodes(&[NodeSpec::named("node")]).await?;
        let node = &nodes.names()[0];
        create_pod(test, "sailor", &json!({})).await?;
        await_ready(test, "sailor").await?;
        nodes.stop_node(node).await?;
        await_taint(test, node, "node.kubernetes.io/not-ready", true).await?;

        // No kubelet runs that could end the processes, so the pod stays in deletion.
        let pods: Api<Pod> = Api::default_namespaced(test.client());
        pods.delete("sailor", &DeleteParams::default()).await?;
        create_pod(test, "ashore", &json!({})).await?;
        await_refusal(test, "ashore").await?;
        let sailor = pods.get("sailor").await?;
        assert!(sailor.metadata.deletion_timestamp.is_some());

        nodes.bring_up(node).await?;
        await_taint(test, node, "node.kubernetes.io/not-ready", false).await?;
        await_condition("the deleted pod to be gone", PATIENCE, async || {
            Ok(Observation::from_bool(pods.get_opt("sailor").await?.is_none(), "there"))
        })
        .await?;
        await_ready(test, "ashore").await?;
        Ok(())
    })
}

/// A description of nodes for the pods of this test only.
fn described(test: &SharedTest, count: usize) -> NodeSpec {
    NodeSpec::named(&format!("{}-sail", test.namespace()))
        .count(count)
        .label(NODE_OWNER, test.namespace())
        .taint(NODE_OWNER, test.namespace(), TaintEffect::NoSchedule)
}

/// Marks a node as lost, like the controller manager does after a while.
async fn take_for_lost(nodes: &Api<Node>, name: &str) -> Result<()> {
    let lost = json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}});
    nodes.patch_status(name, &PatchParams::default(), &Patch::Strategic(lost)).await?;
    Ok(())
}

async fn await_node(nodes: &Api<Node>, name: &str) -> Result<()> {
    await_condition(&format!("node {name} to be ready"), PATIENCE, async || {
        let status = nodes.get(name).await?.status.unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let ready = conditions.iter().find(|it| it.type_ == "Ready").context("no condition")?;
        Ok(Observation::from_bool(ready.status == "True", &ready.status))
    })
    .await
}

#[test]
fn described_nodes_continue_and_follow_their_description() -> TestResult {
    on_shared_cluster(async |test| {
        let nodes: Api<Node> = Api::all(test.client());
        let pods: Api<Pod> = Api::default_namespaced(test.client());
        let foreign = test.nodes(&[NodeSpec::named("foreign")]).await?;
        let night = described(test, 2).label("tide", "ebb").taint(
            "night",
            "yes",
            TaintEffect::PreferNoSchedule,
        );
        let first = NodeSimulator::described(&test.client(), &[night]).await?;
        let [stays, goes] = first.names() else { anyhow::bail!("there are not two") };
        let (stays, goes) = (stays.clone(), goes.clone());
        create_pod(test, "sailor", &json!({"nodeSelector": {"tide": "ebb"}})).await?;
        await_ready(test, "sailor").await?;
        take_for_lost(&nodes, &stays).await?;
        await_node(&nodes, &stays).await?;
        drop(first);

        // While the node is down, a pod is bound, the node is marked as lost, and a user adds fields to the node.
        take_for_lost(&nodes, &stays).await?;
        create_pod(test, "late", &json!({"nodeName": stays})).await?;
        let by_hand =
            json!({"metadata": {"labels": {"by": "hand"}}, "spec": {"unschedulable": true}});
        nodes.patch(&stays, &PatchParams::default(), &Patch::Merge(by_hand)).await?;
        await_taint(test, &stays, "node.kubernetes.io/unschedulable", true).await?;

        let flood = described(test, 1).label("tide", "flood").size("8", "32Gi");
        let again = NodeSimulator::described(&test.client(), &[flood]).await?;
        assert_eq!(await_ready(test, "late").await?, stays);
        await_node(&nodes, &stays).await?;
        let node = nodes.get(&stays).await?;
        let labels = node.metadata.labels.unwrap_or_default();
        assert_eq!(labels.get("tide").map(String::as_str), Some("flood"));
        assert_eq!(labels.get("by").map(String::as_str), Some("hand"));
        let spec = node.spec.unwrap_or_default();
        let taints: Vec<_> = spec.taints.into_iter().flatten().map(|taint| taint.key).collect();
        assert!(taints.iter().any(|key| key == "node.kubernetes.io/unschedulable"), "{taints:?}");
        assert!(!taints.iter().any(|key| key == "night"), "{taints:?}");
        let capacity = node.status.and_then(|status| status.capacity).unwrap_or_default();
        assert_eq!(capacity["cpu"].0, "8");
        assert!(nodes.get_opt(&goes).await?.is_none(), "{goes} is still there");

        // Nodes of other owners keep their names, and stay unchanged.
        let theirs = NodeSpec::named(&format!("{}-foreign", test.namespace()));
        let refused = NodeSimulator::described(&test.client(), &[theirs]).await;
        let error = refused.err().context("a foreign node was taken")?.to_string();
        assert!(error.contains(&foreign.names()[0]), "{error}");
        assert!(
            nodes.get_opt(&stays).await?.is_some(),
            "{stays} went though nothing was to happen"
        );
        pods.delete("late", &DeleteParams::default()).await?;
        drop(again);
        drop(NodeSimulator::described(&test.client(), &[]).await?);
        assert!(nodes.get_opt(&stays).await?.is_none(), "{stays} is still there");
        assert!(nodes.get_opt(&foreign.names()[0]).await?.is_some());
        Ok(())
    })
}
