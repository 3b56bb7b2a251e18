//! The inputs of a decision about levels: the `ConfigMap`, and each pod with its list.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{LevelFormat, Levels, ListInForce, Pod, QosLevels};
use crate::seam::View;
use crate::{Identity, Labels};

/// The settings of the agent of a cluster.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgentSettings {
    /// The namespace of the agent's `ConfigMap`; `None` for any namespace.
    pub config_namespace: Option<Arc<str>>,
    /// The format of levels.
    pub level_format: LevelFormat,
}

/// All inputs of a decision.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// The `ConfigMap`.
    pub identity: &'a Identity,
    /// The checked content.
    pub policy: &'a QosLevels,
    /// The format of levels.
    pub format: LevelFormat,
    /// The pods that may be changed, in order.
    pub pods: Vec<FollowingPod<'a>>,
    /// Whether the pods are complete. A decision about one pod does not determine the next decision about all pods.
    pub is_about_all: bool,
}

/// A pod, and the list that it follows.
#[derive(Clone, Copy, Debug)]
pub struct FollowingPod<'a> {
    /// The name of the pod.
    pub identity: &'a Identity,
    /// The object.
    pub pod: &'a Pod,
    /// The list.
    pub list: ListInForce<'a>,
}

/// The role of a `ConfigMap` for the agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ConfigMapRole<'a> {
    /// The `ConfigMap` is in effect.
    InForce,
    /// Another `ConfigMap` is in effect.
    After(&'a Identity),
    /// The agent ignores the namespace of the `ConfigMap`.
    OtherNamespace,
}

/// The role of a `ConfigMap` for the agent. Of several, the first by name is in effect, even if it is unusable.
pub(super) fn role<'a>(view: View<'a, Levels>, config: &Identity) -> ConfigMapRole<'a> {
    let namespace = view.state.extra.config_namespace.as_deref();
    let is_here = |it: &Identity| namespace.is_none_or(|namespace| namespace == it.namespace());
    if !is_here(config) {
        return ConfigMapRole::OtherNamespace;
    }
    match view.state.policies.keys().find(|it| is_here(it)) {
        Some(first) if first != config => ConfigMapRole::After(first),
        _ => ConfigMapRole::InForce,
    }
}

/// Gathers the inputs of a decision about the levels in the `ConfigMap` of this name. Nothing must be fetched. A
/// `ConfigMap` that is not in effect, or is exempt, has no decision.
#[must_use]
pub fn gather<'a>(view: View<'a, Levels>, config: &Identity) -> Option<Input<'a>> {
    gather_from(view, config, view.objects.pods.iter(), true)
}

/// Gathers the inputs of a decision about a single pod, without work for the others.
#[must_use]
pub fn gather_only<'a>(
    view: View<'a, Levels>,
    config: &Identity,
    pod: &Identity,
) -> Option<Input<'a>> {
    gather_from(view, config, view.objects.pods.get_key_value(pod).into_iter(), false)
}

fn gather_from<'a>(
    view: View<'a, Levels>,
    config: &Identity,
    pods: impl Iterator<Item = (&'a Identity, &'a Pod)>,
    is_about_all: bool,
) -> Option<Input<'a>> {
    let (identity, object) = view.state.policies.get_key_value(config)?;
    let policy = object.policy.as_deref()?;
    if role(view, config) != ConfigMapRole::InForce || view.objects.exempt.get(config).is_some() {
        return None;
    }
    let mut lists = Lists::new(view, policy);
    let pods = pods.filter(|(identity, pod)| {
        pod.left_alone.is_none() && view.objects.exempt.get(identity).is_none()
    });
    let pods =
        pods.map(|(identity, pod)| FollowingPod { identity, pod, list: lists.list_for(pod) });
    let pods = pods.collect();
    let format = view.state.extra.level_format;
    Some(Input { identity, policy, format, pods, is_about_all })
}

/// The lists of the nodes, each looked up once.
struct Lists<'a> {
    view: View<'a, Levels>,
    policy: &'a QosLevels,
    without_node: ListInForce<'a>,
    of_nodes: BTreeMap<&'a str, ListInForce<'a>>,
}

impl<'a> Lists<'a> {
    fn new(view: View<'a, Levels>, policy: &'a QosLevels) -> Self {
        let without_node = policy.in_force(None);
        Lists { view, policy, without_node, of_nodes: BTreeMap::new() }
    }

    fn list_for(&mut self, pod: &'a Pod) -> ListInForce<'a> {
        let Some(node) = pod.node.as_deref() else { return self.without_node };
        let (view, policy) = (self.view, self.policy);
        *self.of_nodes.entry(node).or_insert_with(|| match labels_of(view, node) {
            Some(labels) => policy.in_force(Some(labels)),
            None if policy.reads_node_labels() => ListInForce::UnknownNode,
            None => policy.in_force(Some(&Labels::default())),
        })
    }
}

/// The labels of the node of this name; `None` if the node is unknown.
pub(super) fn labels_of<'a>(view: View<'a, Levels>, node: &str) -> Option<&'a Labels> {
    view.objects.nodes.get(node).map(|node| &node.labels)
}
