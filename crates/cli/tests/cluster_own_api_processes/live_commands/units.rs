//! Node units in a cluster: the results equal those from a kubectl export, and the required permissions.

use std::fs;

use crate::live::{
    PRESENT, ROOT, almanac, ask_both, await_definitions, output_of, permit, stderr, stdout,
};
use almanac_harness::{
    ControlPlaneOptions, Kubectl, Observation, OwnTest, PATIENCE, TestResult, await_condition,
    on_own_control_plane,
};
use serde_json::{Value, json};

const EVERYWHERE: (&str, &str) = ("ClusterRole", "default");
const EXPORTED: &str = "resourcepolicies,metricsproducers,horizontalautoscalers,cronfederatedhpas,\
                        deployments,statefulsets,replicasets";

fn node(name: &str, pool: &str) -> Value {
    let room = json!({ "cpu": "4", "memory": "8Gi", "pods": "110" });
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": { "pool": pool } },
        "status": { "capacity": room, "allocatable": room },
    })
}

fn pod(namespace: &str, name: &str, node: Option<&str>, cpu: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": namespace, "labels": { "part-of": "tickets" } },
        "spec": {
            "nodeName": node,
            "containers": [{
                "name": "app", "image": "registry.k8s.io/pause:3.10", "resources": { "requests": { "cpu": cpu } },
            }],
        },
    })
}

async fn prepare(kubectl: &Kubectl) -> TestResult {
    for folder in ["crds", "units-crds"] {
        let folder = format!("{ROOT}/deploy/{folder}");
        kubectl.run(&["apply", "--server-side", "-f", &folder]).await?;
    }
    await_definitions(kubectl, 6).await?;
    kubectl.run(&["create", "namespace", "shop"]).await?;
    kubectl.run(&["apply", "--server-side", "-f", &format!("{ROOT}/examples/units")]).await?;
    let objects = [
        node("r1", "reserved"),
        node("s1", "spot"),
        node("other", "batch"),
        pod("default", "one", Some("r1"), "1"),
        pod("default", "two", Some("s1"), "1"),
        pod("default", "astray", Some("other"), "1"),
        pod("default", "waits", None, "3"),
        // The pod uses capacity of the node, even in another namespace.
        pod("shop", "neighbor", Some("r1"), "2"),
    ];
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    // A newly created node has no status.
    kubectl.run_with_input(&["create", "-f", "-"], &list.to_string()).await?;
    let status = json!({ "status": objects[0]["status"] }).to_string();
    for name in ["r1", "s1", "other"] {
        kubectl.run(&["patch", "node", name, "--subresource=status", "-p", &status]).await?;
    }
    Ok(())
}

#[test]
fn units_in_a_cluster_are_those_of_its_kubectl_export() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let kubectl = test.kubectl().await?;
        prepare(&kubectl).await?;
        assert_same_output(test, &kubectl).await?;
        let kubeconfig = test.plane.kubeconfig();
        let explain = |name| ["explain", name, "--at", PRESENT];
        let output = output_of(&kubeconfig, &explain("pod/default/one")).await?;
        assert!(output.contains("the pod is on node r1, in unit \"reserved\""), "{output}");
        let output = output_of(&kubeconfig, &explain("pod/default/waits")).await?;
        assert!(output.contains("no node of unit \"reserved\" has room for it"), "{output}");
        missing_permissions_are_reported(test, &kubectl).await
    })
}

/// Exports the objects with kubectl, and checks that the cluster and the export have the same results.
async fn assert_same_output(test: &OwnTest, kubectl: &Kubectl) -> TestResult {
    let files = ["policies.yaml", "fleet.yaml"].map(|name| test.plane.folder().join(name));
    fs::write(&files[0], kubectl.run(&["get", EXPORTED, "-o", "yaml", "-n", "default"]).await?)?;
    fs::write(&files[1], kubectl.run(&["get", "pods,nodes", "-o", "yaml", "-A"]).await?)?;
    let files = files.map(|file| file.display().to_string());
    let kubeconfig = test.plane.kubeconfig();
    let during = ["--from", PRESENT, "--for", "1d"];
    for question in [
        &[&["forecast"], &during[..]].concat()[..],
        &[&["forecast", "-o", "json"], &during[..]].concat(),
        &[&["next", "rp/tickets"], &during[..]].concat(),
        &["explain", "rp/tickets", "--at", PRESENT],
        &["explain", "pod/one", "--at", PRESENT],
        &["explain", "pod/two", "--at", PRESENT, "-o", "json"],
        &["explain", "pod/astray", "--at", PRESENT],
        &["explain", "pod/waits", "--at", PRESENT],
    ] {
        let live = ask_both(&kubeconfig, question, &["-n", "default"], &files).await?;
        assert!(!live.stdout.is_empty() && live.status.success(), "{}", stderr(&live));
    }
    Ok(())
}

/// Without nodes or pods, policies are skipped. Without pods of other namespaces, only the usage of nodes is unknown.
async fn missing_permissions_are_reported(test: &OwnTest, kubectl: &Kubectl) -> TestResult {
    kubectl.run(&["create", "serviceaccount", "reader"]).await?;
    let account = test.service_account("default", "reader").await?;
    let reader = account.kubeconfig();
    let of_group = |group: &str, resources: &[&str]| json!({ "apiGroups": [group], "resources": resources, "verbs": ["get", "list"] });
    let in_namespace = [
        of_group("autoscaling.karmada.io", &["*"]),
        of_group("autoscaling.karpenter.sh", &["*"]),
        of_group("autoscaling", &["*"]),
        of_group("apps", &["*"]),
        of_group("scheduling.sigs.x-k8s.io", &["resourcepolicies"]),
        of_group("", &["pods", "replicationcontrollers"]),
    ];
    permit(kubectl, ("Role", "default"), &json!(in_namespace)).await?;
    let forecast = ["forecast", "rp/tickets", "-n", "default", "--from", PRESENT, "-o", "json"];
    let kind = "ResourcePolicy.scheduling.sigs.x-k8s.io";
    let unread =
        format!("no {kind} in namespace default was read: missing permission to list nodes");
    // Permissions take effect a moment after they are written.
    await_condition("nodes to be missing", PATIENCE, async || {
        let output = stderr(&almanac(&reader, &forecast).await?);
        Ok(Observation::from_bool(output.contains(&unread), output))
    })
    .await?;
    let of_all = [&["forecast"], &forecast[2..]].concat();
    let output = stdout(&almanac(&reader, &of_all).await?);
    assert!(output.contains(&unread), "{output}");
    permit(kubectl, EVERYWHERE, &json!([of_group("", &["nodes"])])).await?;
    let elsewhere =
        "no Pod outside namespace default was read, so the free capacity of the nodes is unknown";
    await_condition("pods elsewhere to be missing", PATIENCE, async || {
        let output = stdout(&almanac(&reader, &forecast).await?);
        Ok(Observation::from_bool(
            output.contains(elsewhere) && output.contains("unitPods"),
            output,
        ))
    })
    .await?;
    let everything = json!([of_group("", &["nodes", "pods", "namespaces"])]);
    permit(kubectl, EVERYWHERE, &everything).await?;
    await_condition("nothing to be missing", PATIENCE, async || {
        let output = stdout(&almanac(&reader, &forecast).await?);
        let is_whole = output.contains("unitPods") && !output.contains("missing permission");
        Ok(Observation::from_bool(is_whole, output))
    })
    .await
}
