//! Keeps simulated nodes alive, and stops, restarts or removes them for tests. `spec` describes the nodes, `kubelet`
//! serves their pods, `heartbeat` renews the leases, and `described` handles the nodes that are kept from run to run.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{Node, NodeCondition, Pod};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::heartbeat;
use super::kubelet::Kubelet;
use super::spec::{NodeSpec, conditions};
use crate::await_condition::{Observation, PATIENCE, await_condition};

/// The number of requests about nodes in flight at once.
pub(super) const NODES_AT_ONCE: usize = 16;

/// The message of the conditions of a ready node.
pub(super) const WELL: &str = "simulated and well";

/// Nodes that exist only as objects. After the simulator is dropped, their leases are not renewed and their
/// pods are not served, so the nodes become lost. [`NodeSimulator::remove_all`] deletes them.
pub struct NodeSimulator {
    client: Client,
    running_nodes: RunningNodes,
    names: Vec<String>,
    kubelet: Kubelet,
    tasks: JoinSet<()>,
}

/// The nodes that are up, shared with the tasks that work for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunningNodes(Arc<Mutex<BTreeSet<String>>>);

impl RunningNodes {
    pub(crate) fn names(&self) -> Vec<String> {
        self.with(|names| names.iter().cloned().collect())
    }

    pub(super) fn has(&self, node: &str) -> bool {
        self.with(|names| names.contains(node))
    }

    pub(super) fn with<T>(&self, act: impl FnOnce(&mut BTreeSet<String>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl NodeSimulator {
    /// Creates the nodes and serves the pods of every namespace that are bound to them.
    pub async fn start(client: &Client, specs: &[NodeSpec]) -> Result<Self> {
        Self::start_with(client, specs.to_vec(), None).await
    }

    /// Creates the nodes and serves the pods of one namespace that are bound to them.
    pub async fn for_namespace(
        client: &Client,
        specs: &[NodeSpec],
        namespace: &str,
        is_fenced: bool,
    ) -> Result<Self> {
        let owned = specs.iter().map(|spec| spec.owned_by(namespace, is_fenced)).collect();
        // Without a fence, pods of other namespaces may be bound to these nodes, and must be served too.
        let served = is_fenced.then(|| namespace.to_owned());
        Self::start_with(client, owned, served).await
    }

    async fn start_with(
        client: &Client,
        specs: Vec<NodeSpec>,
        namespace: Option<String>,
    ) -> Result<Self> {
        let mut objects = Vec::new();
        for spec in &specs {
            objects.extend(spec.objects()?);
        }
        let names: Vec<_> = objects.iter().map(ResourceExt::name_any).collect();
        let running_nodes = RunningNodes::default();
        running_nodes.with(|running| running.extend(names.iter().cloned()));
        take_leases(client, &names).await?;
        register(client, objects).await?;
        Ok(Self::serving(client, running_nodes, names, namespace))
    }

    /// Serves existing nodes, once they are [adopted](Self::adopt).
    #[must_use]
    pub fn without_nodes(client: &Client) -> Self {
        Self::serving(client, RunningNodes::default(), Vec::new(), None)
    }

    /// Serves the pods of one namespace, or of all namespaces, on nodes that are up.
    pub(super) fn serving(
        client: &Client,
        running_nodes: RunningNodes,
        names: Vec<String>,
        namespace: Option<String>,
    ) -> Self {
        let kubelet = Kubelet::new(client, &running_nodes);
        let mut tasks = JoinSet::new();
        tasks.spawn(heartbeat::keep_renewing(client.clone(), running_nodes.clone()));
        tasks.spawn(kubelet.clone().serve(namespace));
        Self { client: client.clone(), running_nodes, names, kubelet, tasks }
    }

    /// Runs another task until the simulator is dropped.
    pub(super) fn add_task(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Keeps an existing node alive from now on, and serves its pods.
    pub async fn adopt(&self, node: &Node) -> Result<()> {
        let name = node.name_any();
        if self.running_nodes.with(|names| names.insert(name.clone())) {
            let begun = async {
                heartbeat::renew(&self.client, vec![name.clone()]).await?;
                self.take_on_pods(&name).await
            };
            if let Err(error) = begun.await {
                self.running_nodes.with(|names| names.remove(&name));
                return Err(error);
            }
        }
        if was_lost(node) {
            report_conditions(&self.client, &name, true, WELL).await?;
        }
        Ok(())
    }

    /// Stops serving a node whose object was deleted.
    pub async fn let_go(&self, node: &str) -> Result<()> {
        self.running_nodes.with(|names| names.remove(node));
        delete_if_there(&heartbeat::leases(&self.client), node).await
    }

    /// The names of all nodes of the simulator, in the order of the description.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Keeps new pods off a node.
    pub async fn cordon(&self, node: &str) -> Result<()> {
        self.patch(node, json!({"spec": {"unschedulable": true}})).await
    }

    /// Lets new pods on a node again.
    pub async fn uncordon(&self, node: &str) -> Result<()> {
        self.patch(node, json!({"spec": {"unschedulable": null}})).await
    }

    /// Sets or removes a label of a node.
    pub async fn relabel(&self, node: &str, key: &str, value: Option<&str>) -> Result<()> {
        self.patch(node, json!({"metadata": {"labels": {key: value}}})).await
    }

    /// Shuts a node down gracefully: the node reports that it is not ready, and stops its heartbeats.
    pub async fn stop_node(&self, node: &str) -> Result<()> {
        self.cut_off(node)?;
        report_conditions(&self.client, node, false, "simulated, and shutting down").await
    }

    /// Cuts a node off: the node stops its heartbeats, and the controller manager detects that after its timeout.
    pub fn cut_off(&self, node: &str) -> Result<()> {
        ensure!(
            self.running_nodes.with(|names| names.remove(node)),
            "{node} is not a node that is up"
        );
        Ok(())
    }

    /// Restarts a node with its remaining pods.
    pub async fn bring_up(&self, node: &str) -> Result<()> {
        ensure!(self.names.iter().any(|name| name == node), "{node} is not one of these nodes");
        heartbeat::renew(&self.client, vec![node.to_owned()]).await?;
        report_conditions(&self.client, node, true, WELL).await?;
        self.running_nodes.with(|names| names.insert(node.to_owned()));
        self.take_on_pods(node).await
    }

    /// Serves the pods of a node that were bound while it was down.
    async fn take_on_pods(&self, node: &str) -> Result<()> {
        let here = ListParams::default().fields(&format!("spec.nodeName={node}"));
        for pod in Api::<Pod>::all(self.client.clone()).list(&here).await? {
            self.kubelet.take_on(pod);
        }
        Ok(())
    }

    /// Deletes the object of a node, as a cloud provider does for a deleted machine.
    pub async fn remove(&self, node: &str) -> Result<()> {
        self.running_nodes.with(|names| names.remove(node));
        delete_if_there(&Api::<Node>::all(self.client.clone()), node).await?;
        delete_if_there(&heartbeat::leases(&self.client), node).await
    }

    /// Deletes all nodes of the simulator.
    pub async fn remove_all(&self) -> Result<()> {
        futures::stream::iter(&self.names)
            .map(|node| self.remove(node))
            .buffer_unordered(NODES_AT_ONCE)
            .try_collect()
            .await
    }

    async fn patch(&self, node: &str, patch: Value) -> Result<()> {
        Api::<Node>::all(self.client.clone())
            .patch(node, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .with_context(|| format!("failed to change node {node}"))?;
        Ok(())
    }
}

impl Drop for NodeSimulator {
    fn drop(&mut self) {
        self.tasks.abort_all();
        // The tasks that work on pods stop at their next check.
        self.running_nodes.with(BTreeSet::clear);
    }
}

/// Whether a node was treated as lost while its lease was not renewed.
pub(super) fn was_lost(node: &Node) -> bool {
    conditions_of(node).any(|it| it.type_ == "Ready" && it.status != "True")
}

pub(super) fn conditions_of(node: &Node) -> impl Iterator<Item = &NodeCondition> {
    node.status.iter().flat_map(|status| status.conditions.iter().flatten())
}

pub(super) async fn report_conditions(
    client: &Client,
    node: &str,
    is_ready: bool,
    because: &str,
) -> Result<()> {
    let patch = json!({"status": {"conditions": conditions(is_ready, because)}});
    Api::<Node>::all(client.clone())
        .patch_status(node, &PatchParams::default(), &Patch::Strategic(patch))
        .await
        .with_context(|| format!("failed to report the conditions of node {node}"))?;
    Ok(())
}

/// The API server creates the namespace of the leases soon after it reports that it is ready.
pub(super) async fn take_leases(client: &Client, nodes: &[String]) -> Result<()> {
    await_condition("the leases of the nodes", PATIENCE, async || {
        heartbeat::renew(client, nodes.to_vec()).await?;
        Ok(Observation::Holds(()))
    })
    .await
}

async fn register(client: &Client, objects: Vec<Node>) -> Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    let register = |object: Node| {
        let nodes = nodes.clone();
        async move {
            let registered = nodes.create(&PostParams::default(), &object).await.map(drop);
            registered.with_context(|| format!("failed to register node {}", object.name_any()))
        }
    };
    at_once(objects.into_iter().map(register)).await
}

/// Runs the work of several nodes, at most `NODES_AT_ONCE` at a time.
pub(super) async fn at_once(
    work: impl IntoIterator<Item = impl Future<Output = Result<()>>>,
) -> Result<()> {
    let work = futures::stream::iter(work).buffer_unordered(NODES_AT_ONCE);
    work.try_for_each(|()| async { Ok(()) }).await
}

/// Deletes this node, but not another node that has its name by now. Returns whether the node existed.
pub(super) async fn delete_only(
    nodes: &Api<Node>,
    name: &str,
    uid: Option<String>,
) -> kube::Result<bool> {
    let only_this = Preconditions { uid, resource_version: None };
    match nodes.delete(name, &DeleteParams::default().preconditions(only_this)).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(false),
        Err(error) => Err(error),
    }
}

pub(super) async fn delete_if_there<K>(api: &Api<K>, name: &str) -> Result<()>
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    match api.delete(name, &DeleteParams::default()).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error).with_context(|| format!("failed to delete {name}")),
    }
}
