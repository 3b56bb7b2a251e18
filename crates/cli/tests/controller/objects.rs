//! The objects that the tests of the controller make.

use serde_json::{Value, json};

/// A kind of objects, as its paths have it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// `/apis/apps/v1`.
    pub(crate) root: &'static str,
    /// `deployments`.
    pub(crate) plural: &'static str,
}

pub(crate) const CRON_VERSION: &str = "autoscaling.karmada.io/v1alpha1";
pub(crate) const CRON: Kind =
    Kind { root: "/apis/autoscaling.karmada.io/v1alpha1", plural: "cronfederatedhpas" };
pub(crate) const FEDERATED: Kind =
    Kind { root: "/apis/autoscaling.karmada.io/v1alpha1", plural: "federatedhpas" };
pub(crate) const HORIZONTAL: Kind =
    Kind { root: "/apis/autoscaling/v2", plural: "horizontalpodautoscalers" };
pub(crate) const DEPLOYMENT: Kind = Kind { root: "/apis/apps/v1", plural: "deployments" };
pub(crate) const STATEFUL: Kind = Kind { root: "/apis/apps/v1", plural: "statefulsets" };
pub(crate) const PRODUCER: Kind =
    Kind { root: "/apis/autoscaling.karpenter.sh/v1alpha1", plural: "metricsproducers" };
pub(crate) const LEASE: Kind = Kind { root: "/apis/coordination.k8s.io/v1", plural: "leases" };

impl Kind {
    /// The path of all its objects of a namespace; of all there are when the namespace is empty.
    pub(crate) fn collection(self, namespace: &str) -> String {
        let Self { root, plural } = self;
        if namespace.is_empty() {
            format!("{root}/{plural}")
        } else {
            format!("{root}/namespaces/{namespace}/{plural}")
        }
    }

    /// The path of one object.
    pub(crate) fn path(self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.collection(namespace))
    }
}

/// A Deployment of so many replicas, none of which is ever made.
pub(crate) fn deployment(name: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": pod(name)},
    })
}

/// A `StatefulSet` of so many replicas, none of which is ever made.
pub(crate) fn stateful(name: &str, replicas: u32) -> Value {
    let mut object = deployment(name, replicas);
    object["kind"] = json!("StatefulSet");
    object["spec"]["serviceName"] = json!(name);
    object
}

/// A `FederatedHPA` with these bounds; without a lower one it has none.
pub(crate) fn federated(name: &str, min: Option<u32>, max: u32) -> Value {
    autoscaler(CRON_VERSION, "FederatedHPA", name, (min, max))
}

/// A `HorizontalPodAutoscaler` with these bounds.
pub(crate) fn horizontal(name: &str, min: Option<u32>, max: u32) -> Value {
    autoscaler("autoscaling/v2", "HorizontalPodAutoscaler", name, (min, max))
}

fn autoscaler(version: &str, kind: &str, name: &str, bounds: (Option<u32>, u32)) -> Value {
    let usage = json!({"type": "Utilization", "averageUtilization": 60});
    let mut object = json!({
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "scaleTargetRef": target("apps/v1", "Deployment", name),
            "maxReplicas": bounds.1,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": usage}}],
        },
    });
    if let Some(min) = bounds.0 {
        object["spec"]["minReplicas"] = json!(min);
    }
    object
}

fn pod(name: &str) -> Value {
    let containers = json!([{"name": name, "image": "registry.k8s.io/pause:3.10"}]);
    json!({"metadata": {"labels": {"app": name}}, "spec": {"containers": containers}})
}

/// A reference to a target.
pub(crate) fn target(version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": version, "kind": kind, "name": name})
}

/// A `CronFederatedHPA`.
pub(crate) fn cron(name: &str, target: &Value, rules: &Value) -> Value {
    json!({
        "apiVersion": CRON_VERSION,
        "kind": "CronFederatedHPA",
        "metadata": {"name": name},
        "spec": {"scaleTargetRef": target, "rules": rules},
    })
}
