//! QoS levels from a cluster: the results equal those from a kubectl export of the cluster.

use std::fs;
use std::path::Path;

use crate::live::{PRESENT, almanac, apply, ask_both, output_of, stderr, stdout};
use almanac_harness::{ControlPlaneOptions, Kubectl, OwnTest, TestResult, on_own_control_plane};
use serde_json::{Value, json};

/// The `ConfigMap` of the design, which applies, and the one that Volcano installs.
const AGENT: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: volcano-agent-config}
data:
  config.yaml: |
    globalConfig:
      timeBasedQoSPolicies:
      - name: offline-qos-during-day
        startTime: "08:00"
        endTime: "22:00"
        timeZone: Asia/Shanghai
        selector: {matchLabels: {workload-type: offline}}
        targetQoSLevel: -1
    nodesConfig:
    - selector: {matchLabels: {pool: quiet}}
      timeBasedQoSPolicies: []
---
apiVersion: v1
kind: ConfigMap
metadata: {name: volcano-agent-configuration}
data:
  colocation-config: |
    {"globalConfig": {"timeBasedQoSPolicies": [{"name": "other", "startTime": "01:00", "endTime": "02:00",
      "selector": {"matchLabels": {"workload-type": "offline"}}, "targetQoSLevel": 2}]}}
"#;

const NODES: &str = r"
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {pool: quiet}}
";

fn pod(name: &str, node: &str, annotations: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "annotations": annotations,
            "labels": {"app": "batch", "workload-type": "offline"},
        },
        "spec": {"nodeName": node, "containers": [{"name": "app", "image": "registry.k8s.io/pause:3.10"}]},
    })
}

async fn prepare(kubectl: &Kubectl) -> TestResult {
    kubectl.run(&["create", "namespace", "volcano-system"]).await?;
    kubectl.run(&["create", "namespace", "shop"]).await?;
    apply(kubectl, "volcano-system", AGENT).await?;
    apply(kubectl, "default", NODES).await?;
    // More objects than a page of a list contains.
    let mut pods: Vec<Value> = (0..510)
        .map(|number| {
            pod(&format!("batch-{number:03}"), "n1", &json!({"volcano.sh/qos-level": "1"}))
        })
        .collect();
    pods.push(pod("quiet", "n2", &json!({})));
    pods.push(pod("ours", "n1", &json!({"almanac.dev/ignore": "true"})));
    let applied_level = json!({"volcano.sh/qos-level": "-1", "volcano.sh/original-qos-level": "2"});
    pods.push(pod("left-behind", "n2", &applied_level));
    let list = json!({"apiVersion": "v1", "kind": "List", "items": pods});
    apply(kubectl, "shop", &list.to_string()).await?;
    apply(kubectl, "default", &pod("single", "n1", &json!({})).to_string()).await
}

#[test]
fn levels_in_a_cluster_are_those_of_its_kubectl_export() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let kubectl = test.kubectl().await?;
        prepare(&kubectl).await?;
        for scope in [&["-n", "shop"][..], &["-n", "default"], &["-A"]] {
            assert_same_output(test, &kubectl, scope).await?;
        }
        let kubeconfig = test.plane.kubeconfig();
        let forecast = ["forecast", "--from", PRESENT, "--for", "1d", "-n", "shop"];
        let report = output_of(&kubeconfig, &forecast).await?;
        assert!(report.contains("510 pods of app=batch in shop qosLevel"), "{report}");
        // A name selects the source if no flag does. With quiet output, a list has no notes about policies.
        let explain = |name| ["explain", name, "--at", PRESENT];
        let report = output_of(&kubeconfig, &explain("po/shop/batch-007")).await?;
        assert!(report.contains("qosLevel of Pod shop/batch-007 is -1, since"), "{report}");
        let report = output_of(&kubeconfig, &explain("pods/shop/quiet")).await?;
        assert!(report.contains("there are no policies"), "{report}");
        let report = output_of(&kubeconfig, &explain("pod/shop/left-behind")).await?;
        assert!(report.contains("qosLevel of Pod shop/left-behind is 2"), "{report}");
        let report = output_of(&kubeconfig, &explain("pod/shop/ours")).await?;
        assert!(report.contains("the pod is unchanged"), "{report}");
        an_exempt_config_map_is_not_applied(&kubectl, &kubeconfig).await?;
        without_a_config_map_no_level_is_printed(&kubectl, &kubeconfig).await
    })
}

/// Exports the objects with kubectl, and checks that the cluster and the export have the same results.
async fn assert_same_output(test: &OwnTest, kubectl: &Kubectl, scope: &[&str]) -> TestResult {
    let files = ["levels.yaml", "pods.yaml"].map(|name| test.plane.folder().join(name));
    let levels = ["get", "configmaps", "-n", "volcano-system", "-o", "yaml"];
    let pods = [&["get", "pods,nodes", "-o", "yaml"], scope].concat();
    for (file, question) in files.iter().zip([&levels[..], &pods]) {
        fs::write(file, kubectl.run(question).await?)?;
    }
    let files = files.map(|file| file.display().to_string());
    let kubeconfig = test.plane.kubeconfig();
    let during = ["--from", PRESENT, "--for", "2d"];
    for question in [
        &["forecast", "-o", "text"][..],
        &["forecast", "-o", "json"],
        &["forecast", "-o", "json", "--qos-level-format", "name", "pod/*-0*"],
        &["forecast", "-o", "svg"],
        &["next", "-o", "text"],
        &["next", "-o", "json"],
    ] {
        let question = [question, &during].concat();
        ask_both(&kubeconfig, &question, scope, &files).await?;
    }
    Ok(())
}

/// The namespace of the `ConfigMap` is not the requested namespace.
async fn an_exempt_config_map_is_not_applied(kubectl: &Kubectl, kubeconfig: &Path) -> TestResult {
    kubectl.run(&["annotate", "namespace", "volcano-system", "almanac.dev/ignore=true"]).await?;
    let forecast = ["forecast", "--from", PRESENT, "-n", "shop", "-o", "json"];
    let report: Value = serde_json::from_str(&output_of(kubeconfig, &forecast).await?)?;
    assert_eq!(report["series"], json!([]));
    let why = report["assumptions"][0].as_str().unwrap_or_default();
    assert!(why.contains("volcano-agent-config is not applied"), "{report:#}");
    kubectl.run(&["annotate", "namespace", "volcano-system", "almanac.dev/ignore-"]).await?;
    Ok(())
}

async fn without_a_config_map_no_level_is_printed(
    kubectl: &Kubectl,
    kubeconfig: &Path,
) -> TestResult {
    kubectl.run(&["delete", "configmap", "-n", "volcano-system", "--all"]).await?;
    let output = almanac(kubeconfig, &["forecast", "--from", PRESENT, "-n", "shop"]).await?;
    assert!(stdout(&output).contains("nothing to forecast"), "{}", stdout(&output));
    assert!(stderr(&output).contains("no policies found in namespace shop"), "{}", stderr(&output));
    let output = almanac(kubeconfig, &["explain", "pod/shop/quiet"]).await?;
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("pods are read only where there is a ResourcePolicy"));
    Ok(())
}
