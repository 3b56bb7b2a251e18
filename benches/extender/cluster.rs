//! An API server with nodes that become ready once and send no heartbeats, and an extender that uses this API server.

use std::time::Duration;

use almanac_harness::{
    Component, ControlPlane, ControlPlaneOptions, Kubectl, Observation, Program, ProgramPort,
    await_condition,
};
use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const MAX_IN_FLIGHT: usize = 32;
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

/// The units of the policy, the best unit first.
pub(crate) const UNITS: [&str; 3] = ["best", "middle", "worst"];

/// The programs of a benchmark.
pub(crate) struct Cluster {
    pub(crate) plane: ControlPlane,
    pub(crate) client: Client,
    pub(crate) extender: Program,
    pub(crate) port: ProgramPort,
}

impl Cluster {
    /// A control plane without controllers and without a scheduler.
    pub(crate) async fn start() -> Result<Cluster> {
        // Without controllers, no component removes the taint of a new node.
        let no_taints = "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition";
        let options = ControlPlaneOptions::api_only().flag(Component::ApiServer, no_taints);
        let plane = ControlPlane::start(&options).await?;
        let kubectl = Kubectl::provide(&plane.kubeconfig(), None).await?;
        kubectl.run(&["apply", "-f", &format!("{ROOT}/deploy/units-crds")]).await?;
        let crd = "customresourcedefinition/resourcepolicies.scheduling.sigs.x-k8s.io";
        kubectl.run(&["wait", crd, "--for=condition=Established"]).await?;
        let units = UNITS.iter().zip([3, 2, 1]).map(|(unit, priority)| {
            json!({"name": unit, "priority": priority, "nodeSelector": {"matchLabels": {"unit": unit}}})
        });
        let mut units: Vec<Value> = units.collect();
        for unit in &mut units[..2] {
            unit["maxCount"] = json!(500);
        }
        let policy = json!({
            "apiVersion": "scheduling.sigs.x-k8s.io/v1alpha1", "kind": "ResourcePolicy",
            "metadata": {"name": "shop"},
            "spec": {"podSelector": {"matchLabels": {"app": "shop"}}, "units": units},
        });
        kubectl.run_with_input(&["apply", "-f", "-"], &policy.to_string()).await?;
        let port = ProgramPort::take()?;
        let program = std::env::current_exe()?.with_file_name("almanac");
        ensure!(
            program.is_file(),
            "the program is missing; build it with `cargo build --profile dist -p almanac`"
        );
        let listen = format!("--scheduler-listen=127.0.0.1:{}", port.number());
        let kubeconfig = format!("--kubeconfig={}", plane.kubeconfig().display());
        let arguments =
            ["extender", &kubeconfig, &listen, "--leader-elect=false", "--log-level=warn"];
        let extender = Program::start_listening(&program, &arguments, &[])?;
        extender.await_ready().await?;
        let client = plane.client()?;
        Ok(Cluster { plane, client, extender, port })
    }

    /// Creates nodes, a third of them in each unit, and waits until the extender has free capacity on all nodes.
    pub(crate) async fn add_nodes(&self, numbers: std::ops::Range<usize>) -> Result<()> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        futures::stream::iter(numbers)
            .map(|number| {
                let nodes = nodes.clone();
                async move {
                    let node = serde_json::from_value(node(number))?;
                    nodes.create(&PostParams::default(), &node).await?;
                    anyhow::Ok(())
                }
            })
            .buffer_unordered(MAX_IN_FLIGHT)
            .try_collect()
            .await
    }

    /// Creates pods with these names.
    pub(crate) async fn add_pods(&self, app: &str, names: &[String]) -> Result<Vec<Pod>> {
        let pods: Api<Pod> = Api::default_namespaced(self.client.clone());
        futures::stream::iter(names)
            .map(|name| {
                let pods = pods.clone();
                async move {
                    let pod = serde_json::from_value(pod(name, app))?;
                    anyhow::Ok(pods.create(&PostParams::default(), &pod).await?)
                }
            })
            .buffered(MAX_IN_FLIGHT)
            .try_collect()
            .await
    }

    pub(crate) async fn delete_pods(&self) -> Result<()> {
        let pods: Api<Pod> = Api::default_namespaced(self.client.clone());
        let at_once = kube::api::DeleteParams::default().grace_period(0);
        for pod in pods.list(&kube::api::ListParams::default()).await? {
            pods.delete(&pod.name_any(), &at_once).await?;
        }
        await_condition("all pods to be gone", PATIENCE, async || {
            let remaining = pods.list(&kube::api::ListParams::default()).await?.items.len();
            Ok(Observation::from_bool(remaining == 0, format!("{remaining}")))
        })
        .await
        .context("failed to delete the pods")
    }
}

pub(crate) fn node_name(number: usize) -> String {
    format!("node-{number:05}.machines.example.com")
}

fn node(number: usize) -> Value {
    let name = node_name(number);
    let room = json!({"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "100Gi"});
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
            "topology.kubernetes.io/zone": format!("zone-{}", number % 3), "unit": UNITS[number % 3],
        }},
        "status": {
            "capacity": room, "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    })
}

fn pod(name: &str, app: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": app}},
        "spec": {"containers": [{
            "name": "main", "image": "example.com/main:1",
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
        }]},
    })
}
