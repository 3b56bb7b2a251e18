//! A cluster as input requires only read permission, and missing permissions are reported.

use std::fs;
use std::path::{Path, PathBuf};

use crate::live::{PRESENT, ROLLOUT, almanac, apply, output_of, permit, prepare, stderr, stdout};
use almanac_harness::{
    ControlPlaneOptions, Kubectl, Observation, OwnTest, PATIENCE, TestResult, await_condition,
    on_own_control_plane,
};
use anyhow::Context as _;
use serde_json::{Value, json};

/// A kubeconfig of a new service account, without any permission yet.
async fn service_account(test: &OwnTest, name: &str) -> anyhow::Result<PathBuf> {
    let kubectl = test.kubectl().await?;
    kubectl.run(&["create", "serviceaccount", name]).await?;
    let token = kubectl.run(&["create", "token", name]).await?;
    // The harness writes JSON.
    let admin = fs::read_to_string(test.plane.kubeconfig())?;
    let mut kubeconfig: Value = serde_json::from_str(&admin)?;
    let user = kubeconfig["users"][0]["name"].clone();
    kubeconfig["users"] = json!([{"name": user, "user": {"token": token.trim()}}]);
    let path = test.plane.folder().join(format!("{name}.kubeconfig"));
    fs::write(&path, kubeconfig.to_string())?;
    Ok(path)
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

/// The policies for QoS levels, by their names.
fn config_maps() -> Value {
    let names = ["volcano-agent-config", "volcano-agent-configuration"];
    let mut rule = rule("", &["configmaps"], &["get"]);
    rule["resourceNames"] = json!(names);
    rule
}

const AGENT_NAMESPACE: &str = "volcano-system";
/// The kind of the role, and the namespace of the permissions of the reader.
const HERE: (&str, &str) = ("Role", "default");
const OF_AGENT: (&str, &str) = ("Role", AGENT_NAMESPACE);
const KARMADA: &str = "autoscaling.karmada.io";
const KARPENTER: &str = "autoscaling.karpenter.sh";
const QUESTION: [&str; 6] = ["forecast", "--from", PRESENT, "--for", "2d", "-ojson"];

#[test]
fn read_permission_suffices_and_unreadable_objects_are_reported() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let kubectl = test.kubectl().await?;
        let reader = service_account(test, "reader").await?;
        // Before the CRD exists, a server forbids access to the resource.
        let output = almanac(&reader, &["next", "--from", PRESENT]).await?;
        assert!(output.status.success(), "{}", stderr(&output));
        prepare(&kubectl).await?;
        apply(&kubectl, "default", ROLLOUT).await?;
        required_objects_are_named(&kubectl, &reader).await?;
        the_rest_is_assumed(&kubectl, &reader).await?;
        let of_agent = json!([config_maps(), rule("", &["namespaces"], &["get"])]);
        permit(&kubectl, OF_AGENT, &of_agent).await?;
        let all = json!([
            rule(KARMADA, &["cronfederatedhpas", "federatedhpas"], &["list"]),
            rule(KARPENTER, &["metricsproducers", "horizontalautoscalers"], &["list"]),
            rule(KARPENTER, &["scalablenodegroups"], &["get"]),
            rule("autoscaling", &["horizontalpodautoscalers"], &["list"]),
            rule("apps", &["deployments"], &["get"]),
            rule("example.org", &["rollouts/scale"], &["get"]),
            rule("", &["namespaces"], &["get"]),
            rule("", &["pods"], &["list"]),
            rule("batch", &["cronjobs"], &["list"]),
        ]);
        permit(&kubectl, HERE, &all).await?;
        let by_admin = output_of(&test.plane.kubeconfig(), &QUESTION).await?;
        await_output(&reader, &by_admin).await
    })
}

/// Waits for an output: permissions take effect after a delay.
async fn await_output(reader: &Path, expected: &str) -> TestResult {
    await_condition("the reader sees what the administrator sees", PATIENCE, async || {
        let output = almanac(reader, &QUESTION).await?;
        let same = stdout(&output) == expected && output.stderr.is_empty();
        Ok(Observation::from_bool(
            same && output.status.success(),
            stdout(&output) + &stderr(&output),
        ))
    })
    .await
}

async fn required_objects_are_named(kubectl: &Kubectl, reader: &Path) -> TestResult {
    for (granted, missing) in [
        (json!([]), "metricsproducers.autoscaling.karpenter.sh"),
        (
            json!([rule(KARPENTER, &["metricsproducers"], &["list"])]),
            "cronfederatedhpas.autoscaling.karmada.io",
        ),
    ] {
        permit(kubectl, HERE, &granted).await?;
        let named = format!("missing permission to list {missing} in namespace default: ");
        await_condition("the missing permission to be named", PATIENCE, async || {
            let output = almanac(reader, &QUESTION).await?;
            let (code, text) = (output.status.code(), stderr(&output));
            let whole = code == Some(2) && text.contains(&named) && text.contains("cannot list");
            Ok(Observation::from_bool(whole && output.stdout.is_empty(), text))
        })
        .await?;
    }
    Ok(())
}

async fn the_rest_is_assumed(kubectl: &Kubectl, reader: &Path) -> TestResult {
    let policies = json!([
        rule(KARMADA, &["cronfederatedhpas", "federatedhpas"], &["list"]),
        rule(KARPENTER, &["metricsproducers"], &["list"]),
    ]);
    permit(kubectl, HERE, &policies).await?;
    let expected = [
        "Deployment.apps default/shop exists, although it is not in the input",
        "Deployment.apps default/shop was not read: missing permission to get deployments.apps",
        "Rollout.example.org default/front was not read: missing permission to get \
         rollouts/scale.example.org",
        "no HorizontalAutoscaler.autoscaling.karpenter.sh in namespace default was read: missing \
         permission to list horizontalautoscalers.autoscaling.karpenter.sh",
        "no HorizontalPodAutoscaler.autoscaling in namespace default was read: missing permission \
         to list horizontalpodautoscalers.autoscaling",
        "no CronJob.batch in namespace default was read: missing permission to list cronjobs.batch",
        "no ConfigMap of Volcano's agent in namespace volcano-system was read: missing permission to get \
         configmaps",
        "whether namespace default is marked with almanac.dev/ignore was not read: missing permission to \
         get namespaces",
    ];
    await_condition("the missing permissions to be reported", PATIENCE, async || {
        let output = almanac(reader, &QUESTION).await?;
        let report: Value =
            serde_json::from_slice(&output.stdout).with_context(|| stderr(&output))?;
        let report: Vec<_> = report["assumptions"].as_array().into_iter().flatten().collect();
        let all = expected.iter().all(|line| report.iter().any(|it| it.as_str() == Some(line)));
        Ok(Observation::from_bool(all && output.status.success(), format!("{report:#?}")))
    })
    .await?;
    let next = almanac(reader, &["next", "--from", PRESENT]).await?;
    for line in &expected[1..] {
        assert!(stderr(&next).contains(&format!("note: {line}\n")), "{}", stderr(&next));
    }
    let explain = almanac(reader, &["explain", "deployment/shop", "--at", PRESENT]).await?;
    let report = stderr(&explain);
    assert!(report.contains(&format!("note: {}\n", expected[1])), "{report}");
    assert!(!stdout(&explain).contains("was not read"), "{}", stdout(&explain));
    assert!(!report.contains("configmaps"), "QoS levels are not read: {report}");
    assert!(!report.contains("cronjobs"), "CronJobs are not mentioned: {report}");
    Ok(())
}

/// A policy for the pods of certain nodes, and one for all others.
const LEVELS: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: volcano-agent-config}
data:
  config.yaml: |
    globalConfig:
      timeBasedQoSPolicies:
      - {name: night, startTime: "22:00", endTime: "08:00", targetQoSLevel: -1, selector: {matchLabels: {app: batch}}}
    nodesConfig:
    - selector: {matchLabels: {pool: quiet}}
      timeBasedQoSPolicies: []
"#;

const PODS: &str = r#"
apiVersion: v1
kind: Pod
metadata: {name: batch, labels: {app: batch}}
spec: {nodeName: n1, containers: [{name: app, image: "registry.k8s.io/pause:3.10"}]}
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {pool: quiet}}
"#;

#[test]
fn pods_and_nodes_are_read_only_if_policies_use_them() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let kubectl = test.kubectl().await?;
        let reader = service_account(test, "reader").await?;
        kubectl.run(&["create", "namespace", AGENT_NAMESPACE]).await?;
        apply(&kubectl, "default", PODS).await?;
        let namespaces = rule("", &["namespaces"], &["get"]);
        let nodes = json!([rule("", &["nodes"], &["list"])]);
        let hpas = rule("autoscaling", &["horizontalpodautoscalers"], &["list"]);
        let jobs = rule("batch", &["cronjobs"], &["list"]);
        let pods_too = rule("", &["pods"], &["list"]);
        permit(&kubectl, HERE, &json!([namespaces, hpas, jobs])).await?;
        permit(&kubectl, OF_AGENT, &json!([config_maps()])).await?;
        // Without a ConfigMap, no permission to list pods is needed.
        await_assumptions(&reader, &[]).await?;
        apply(&kubectl, AGENT_NAMESPACE, LEVELS).await?;
        let pods = "no Pod in namespace default was read: missing permission to list pods";
        let of_nodes = "no Node was read: missing permission to list nodes";
        let mark = "whether namespace volcano-system is marked with almanac.dev/ignore was not read: \
                    missing permission to get namespaces";
        await_assumptions(&reader, &[of_nodes, pods, mark]).await?;
        permit(&kubectl, HERE, &json!([namespaces, hpas, jobs, pods_too])).await?;
        let unlabeled = "Node n1 has no labels; it is not among the objects";
        await_assumptions(&reader, &[unlabeled, of_nodes, mark]).await?;
        permit(&kubectl, OF_AGENT, &json!([config_maps(), namespaces])).await?;
        permit(&kubectl, ("ClusterRole", "default"), &nodes).await?;
        await_assumptions(&reader, &[]).await?;
        let explain = ["explain", "pod/batch", "--at", PRESENT];
        let report = output_of(&reader, &explain).await?;
        assert_eq!(report, output_of(&test.plane.kubeconfig(), &explain).await?);
        assert!(report.contains("there are no policies"), "{report}");
        Ok(())
    })
}

async fn await_assumptions(reader: &Path, expected: &[&str]) -> TestResult {
    await_condition("these assumptions to be reported", PATIENCE, async || {
        let output = almanac(reader, &QUESTION).await?;
        let report: Value =
            serde_json::from_slice(&output.stdout).with_context(|| stderr(&output))?;
        let same = report["assumptions"] == json!(expected);
        Ok(Observation::from_bool(
            same && output.status.success(),
            format!("{:#}", report["assumptions"]),
        ))
    })
    .await
}
