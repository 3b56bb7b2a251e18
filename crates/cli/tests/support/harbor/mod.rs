//! A namespace with policies that all have their boundary at the same time, and their targets.

use almanac_fixtures::objects;
use almanac_harness::{Kubectl, TestResult};
use serde_json::{Value, json};

use crate::running::ROOT;

pub(crate) const HARBOR: &str = "harbor";

/// Creates objects.
pub(crate) async fn create(kubectl: &Kubectl, objects: &[Value]) -> TestResult {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    kubectl.run_with_input(&["-n", HARBOR, "create", "-f", "-"], &list.to_string()).await?;
    Ok(())
}

/// The CRDs, and a namespace.
pub(crate) async fn prepare(kubectl: &Kubectl) -> TestResult {
    kubectl.run(&["apply", "-f", &format!("{ROOT}/deploy/crds")]).await?;
    kubectl.run(&["wait", "--for=condition=Established", "crd", "--all", "--timeout=90s"]).await?;
    kubectl.run(&["create", "namespace", HARBOR]).await?;
    Ok(())
}

/// A schedule with 2 until the boundary, and 7 after the boundary.
pub(crate) fn metrics_producer(name: &str) -> Value {
    let day = json!({"replicas": 7, "start": {"hours": 9}, "end": {"hours": 17}});
    objects::metrics_producer(name, &json!({"defaultReplicas": 2, "behaviors": [day]}))
}

/// A policy with one rule that fires at the boundary.
pub(crate) fn cron(name: &str, api_version: &str, kind: &str, setting: &Value) -> Value {
    let mut rule = json!({"name": "morning", "schedule": "0 9 * * *"});
    for (field, value) in setting.as_object().into_iter().flatten() {
        rule[field] = value.clone();
    }
    let target = objects::target(api_version, kind, name);
    objects::cron_federated_hpa(name, &target, &json!([rule]))
}

/// A workload of the group `apps`, or a replication controller.
pub(crate) fn workload(name: &str, api_version: &str, kind: &str) -> Value {
    objects::workload(api_version, kind, name, 1)
}

/// A group of one node.
pub(crate) fn node_group(name: &str, kind: &str) -> Value {
    objects::scalable_node_group(name, kind, name, 1)
}

/// An autoscaler of the Deployment with its name, by the number of a schedule.
pub(crate) fn autoscaler(name: &str, schedule: &str) -> Value {
    let query =
        format!("karpenter_scheduled_capacity{{name=\"{schedule}\",namespace=\"{HARBOR}\"}}");
    let target = objects::target("apps/v1", "Deployment", name);
    objects::horizontal_autoscaler(name, &target, &query)
}
