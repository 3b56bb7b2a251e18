//! The objects of a cluster for QoS levels: the `ConfigMaps` of Volcano's agent, by their names, and the pods and nodes
//! that their policies are about. These are many, so only the data that decisions depend on is kept.

use std::sync::Arc;

use almanac_api::exempt::{MARK, is_marked};
use almanac_api::kinds::Kind;
use almanac_api::objects::AGENT_CONFIGS;
use almanac_api::slim;
use almanac_engine::qos_levels::{Node, Pod, QosLevels};
use almanac_engine::{Identity, Labels, Slim};
use futures::{StreamExt as _, stream};
use kube::api::DynamicObject;

use super::requests::{AT_ONCE, LookupResult, Requests, of_core};
use super::{FetchedObject, Seen};

/// A pod of a cluster.
pub(super) struct SeenPod {
    pub(super) identity: Identity,
    pub(super) pod: Pod,
    /// Whether it bears the mark that exempts it from all policies.
    pub(super) is_marked: bool,
}

/// A node of a cluster, by its name.
pub(super) type SeenNode = (Arc<str>, Node);

/// Fetches the `ConfigMaps` from the namespace in which the agent looks for them, the one that counts first.
pub(super) async fn config_maps(
    requests: &Requests,
    namespace: &str,
    seen: &mut Seen,
) -> anyhow::Result<Vec<DynamicObject>> {
    let gets = AGENT_CONFIGS.map(|(name, _)| async move {
        (name, requests.get(Kind::ConfigMap, namespace, name).await)
    });
    let answers: Vec<_> = stream::iter(gets).buffered(AT_ONCE).collect().await;
    let (mut found, mut forbidden) = (Vec::new(), Vec::new());
    for (name, answer) in answers {
        match answer? {
            LookupResult::Found(object) => found.push(object),
            LookupResult::Absent => {}
            LookupResult::Forbidden(_) => forbidden.push(name),
        }
    }
    if forbidden.len() == AGENT_CONFIGS.len() {
        seen.unseen.insert(format!(
            "no ConfigMap of Volcano's agent in namespace {namespace} was read: missing permission to get \
             configmaps"
        ));
    } else {
        let unseen = |name| {
            let identity = Kind::ConfigMap.identity(namespace, name);
            format!("{identity} was not read: missing permission to get configmaps")
        };
        seen.unseen.extend(forbidden.into_iter().map(unseen));
    }
    Ok(found)
}

/// The policies of the `ConfigMap` that counts, if there is one.
pub(super) fn policies(objects: &[FetchedObject]) -> Option<QosLevels> {
    let slim = objects.iter().find_map(|object| match &object.checked.slim {
        Some(Slim::QosLevels(levels)) => Some(levels),
        _ => None,
    })?;
    Some(slim.policy.as_deref().cloned().unwrap_or_else(QosLevels::unusable))
}

/// Lists the pods in scope; and the nodes, if it depends on their labels which policies a pod follows.
pub(super) async fn list_pods_and_nodes(
    requests: &Requests,
    policies: &QosLevels,
    seen: &mut Seen,
) -> anyhow::Result<()> {
    match requests.list_slim(&of_core("Pod", "pods"), Some(requests.scope()), seen_pod).await? {
        LookupResult::Found(pods) => seen.pods = pods,
        LookupResult::Absent => {}
        LookupResult::Forbidden(_) => {
            let place = requests.place();
            seen.unseen
                .insert(format!("no Pod in {place} was read: missing permission to list pods"));
        }
    }
    if !policies.reads_node_labels() {
        return Ok(());
    }
    match requests.list_slim(&of_core("Node", "nodes"), None, seen_node).await? {
        LookupResult::Found(nodes) => seen.nodes = nodes,
        LookupResult::Absent => {}
        LookupResult::Forbidden(_) => {
            seen.unseen.insert("no Node was read: missing permission to list nodes".to_owned());
        }
    }
    Ok(())
}

/// Notes whether the namespace of the `ConfigMap` bears the mark, if that is not known by then.
pub(super) async fn read_mark(
    requests: &Requests,
    namespace: &str,
    seen: &mut Seen,
) -> anyhow::Result<()> {
    if requests.is_in_scope(namespace) {
        return Ok(());
    }
    match requests.is_marked_namespace(namespace).await? {
        LookupResult::Found(true) => seen.marked_namespaces.push(namespace.to_owned()),
        LookupResult::Found(false) | LookupResult::Absent => {}
        LookupResult::Forbidden(_) => {
            seen.unseen.insert(format!(
                "whether namespace {namespace} is marked with {MARK} was not read: missing permission to get \
                 namespaces"
            ));
        }
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "nothing else is kept of it")]
fn seen_pod(object: DynamicObject) -> Option<SeenPod> {
    let metadata = &object.metadata;
    let (namespace, name) = (metadata.namespace.as_deref()?, metadata.name.as_deref()?);
    let identity = Identity::new("", "Pod", namespace, name);
    Some(SeenPod { identity, pod: slim::watched_pod(&object), is_marked: is_marked(metadata) })
}

fn seen_node(object: DynamicObject) -> Option<SeenNode> {
    let labels = object.metadata.labels.iter().flatten().map(|(key, value)| (key, &**value));
    let node = Node { labels: Labels::new(labels) };
    Some((object.metadata.name?.into(), node))
}
