//! The objects of a cluster for QoS levels: the `ConfigMaps` of Volcano's agent, by their names, and the pods and nodes
//! of their policies. There are many pods and nodes, so only the data that decisions depend on is kept.

use std::sync::Arc;

use almanac_api::exempt::{MARK, is_marked};
use almanac_api::kinds::Kind;
use almanac_api::objects::AGENT_CONFIGS;
use almanac_api::slim;
use almanac_engine::qos_levels::{Node, Pod, QosLevels};
use almanac_engine::{Identity, Labels, Slim};
use futures::{StreamExt as _, stream};
use kube::api::DynamicObject;

use super::requests::{LookupResult, MAX_CONCURRENT, Requests, core_resource};
use super::{ExtraObjects, FetchedObject};

/// A pod of a cluster.
pub(super) struct ListedPod {
    pub(super) identity: Identity,
    pub(super) pod: Pod,
    /// Whether the pod has the ignore annotation.
    pub(super) is_marked: bool,
}

/// A node of a cluster, by its name.
pub(super) type ListedNode = (Arc<str>, Node);

/// Fetches the `ConfigMaps` from the namespace of the agent, with the one in effect first.
pub(super) async fn config_maps(
    requests: &Requests,
    namespace: &str,
    extras: &mut ExtraObjects,
) -> anyhow::Result<Vec<DynamicObject>> {
    let gets = AGENT_CONFIGS.map(|(name, _)| async move {
        (name, requests.get(Kind::ConfigMap, namespace, name).await)
    });
    let results: Vec<_> = stream::iter(gets).buffered(MAX_CONCURRENT).collect().await;
    let (mut config_maps, mut forbidden) = (Vec::new(), Vec::new());
    for (name, result) in results {
        match result? {
            LookupResult::Found(object) => config_maps.push(object),
            LookupResult::Absent => {}
            LookupResult::Forbidden(_) => forbidden.push(name),
        }
    }
    if forbidden.len() == AGENT_CONFIGS.len() {
        extras.unseen.insert(format!(
            "no ConfigMap of Volcano's agent in namespace {namespace} was read: missing permission to get \
             configmaps"
        ));
    } else {
        let unseen = |name| {
            let identity = Kind::ConfigMap.identity(namespace, name);
            format!("{identity} was not read: missing permission to get configmaps")
        };
        extras.unseen.extend(forbidden.into_iter().map(unseen));
    }
    Ok(config_maps)
}

/// The policies of the `ConfigMap` in effect; `None` without such a `ConfigMap`.
pub(super) fn policies(objects: &[FetchedObject]) -> Option<QosLevels> {
    let slim = objects.iter().find_map(|object| match &object.checked.slim {
        Some(Slim::QosLevels(levels)) => Some(levels),
        _ => None,
    })?;
    Some(slim.policy.as_deref().cloned().unwrap_or_else(QosLevels::unusable))
}

/// Lists the pods in scope, and also the nodes if a policy selects pods by node labels.
pub(super) async fn list_pods_and_nodes(
    requests: &Requests,
    policies: &QosLevels,
    extras: &mut ExtraObjects,
) -> anyhow::Result<()> {
    match requests
        .list_slim(&core_resource("Pod", "pods"), Some(requests.scope()), listed_pod)
        .await?
    {
        LookupResult::Found(pods) => extras.pods = pods,
        LookupResult::Absent => {}
        LookupResult::Forbidden(_) => {
            let place = requests.place();
            extras
                .unseen
                .insert(format!("no Pod in {place} was read: missing permission to list pods"));
        }
    }
    if !policies.reads_node_labels() {
        return Ok(());
    }
    match requests.list_slim(&core_resource("Node", "nodes"), None, listed_node).await? {
        LookupResult::Found(nodes) => extras.nodes = nodes,
        LookupResult::Absent => {}
        LookupResult::Forbidden(_) => {
            extras.unseen.insert("no Node was read: missing permission to list nodes".to_owned());
        }
    }
    Ok(())
}

/// Records whether the namespace of the `ConfigMap` has the ignore annotation, unless that is already recorded.
pub(super) async fn read_mark(
    requests: &Requests,
    namespace: &str,
    extras: &mut ExtraObjects,
) -> anyhow::Result<()> {
    if requests.is_in_scope(namespace) {
        return Ok(());
    }
    match requests.is_marked_namespace(namespace).await? {
        LookupResult::Found(true) => extras.marked_namespaces.push(namespace.to_owned()),
        LookupResult::Found(false) | LookupResult::Absent => {}
        LookupResult::Forbidden(_) => {
            extras.unseen.insert(format!(
                "whether namespace {namespace} is marked with {MARK} was not read: missing permission to get \
                 namespaces"
            ));
        }
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "only these fields are kept")]
fn listed_pod(object: DynamicObject) -> Option<ListedPod> {
    let metadata = &object.metadata;
    let (namespace, name) = (metadata.namespace.as_deref()?, metadata.name.as_deref()?);
    let identity = Identity::new("", "Pod", namespace, name);
    Some(ListedPod { identity, pod: slim::watched_pod(&object), is_marked: is_marked(metadata) })
}

fn listed_node(object: DynamicObject) -> Option<ListedNode> {
    let labels = object.metadata.labels.iter().flatten().map(|(key, value)| (key, &**value));
    let node = Node { labels: Labels::new(labels) };
    Some((object.metadata.name?.into(), node))
}
