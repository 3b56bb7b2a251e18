//! A namespace with policies that all have their boundary at the same time, and their targets.

use almanac_harness::{Kubectl, TestResult};
use serde_json::{Value, json};

use crate::running::ROOT;

pub(crate) const HARBOUR: &str = "harbour";

/// Creates objects.
pub(crate) async fn create(kubectl: &Kubectl, objects: &[Value]) -> TestResult {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    kubectl.run_with_input(&["-n", HARBOUR, "create", "-f", "-"], &list.to_string()).await?;
    Ok(())
}

/// The definitions, and a namespace.
pub(crate) async fn prepare(kubectl: &Kubectl) -> TestResult {
    kubectl.run(&["apply", "-f", &format!("{ROOT}/deploy/crds")]).await?;
    kubectl.run(&["wait", "--for=condition=Established", "crd", "--all", "--timeout=90s"]).await?;
    kubectl.run(&["create", "namespace", HARBOUR]).await?;
    Ok(())
}

/// Two until the boundary, seven from then on.
pub(crate) fn metrics_producer(name: &str) -> Value {
    json!({
        "apiVersion": "autoscaling.karpenter.sh/v1alpha1",
        "kind": "MetricsProducer",
        "metadata": {"name": name},
        "spec": {"schedule": {"defaultReplicas": 2, "behaviors": [
            {"replicas": 7, "start": {"hours": 9}, "end": {"hours": 17}},
        ]}},
    })
}

/// One rule, which fires at the boundary.
pub(crate) fn cron(name: &str, api_version: &str, kind: &str, setting: &Value) -> Value {
    let mut rule = json!({"name": "morning", "schedule": "0 9 * * *"});
    for (field, value) in setting.as_object().into_iter().flatten() {
        rule[field] = value.clone();
    }
    json!({
        "apiVersion": "autoscaling.karmada.io/v1alpha1",
        "kind": "CronFederatedHPA",
        "metadata": {"name": name},
        "spec": {
            "scaleTargetRef": {"apiVersion": api_version, "kind": kind, "name": name},
            "rules": [rule],
        },
    })
}

/// A workload of the group `apps`, or a replication controller.
pub(crate) fn workload(name: &str, api_version: &str, kind: &str) -> Value {
    let labels = json!({"app": name});
    let is_old = kind == "ReplicationController";
    let mut object = json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": if is_old { labels.clone() } else { json!({"matchLabels": labels}) },
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10"}]},
            },
        },
    });
    if kind == "StatefulSet" {
        object["spec"]["serviceName"] = json!(name);
    }
    object
}
