//! Configurations of kube-scheduler that name the plugin for `ResourcePolicy`. A stock scheduler does not start with
//! this plugin. Other parts of the configurations are not read.

use super::stream;
use crate::finding::{Code, FieldPath, Finding, Path};
use crate::tree::{Node, Value};

const KIND: &str = "KubeSchedulerConfiguration";
const PLUGIN: &str = "resourcepolicy";

/// Whether an object is a configuration of kube-scheduler, valid or not.
pub(super) fn is_scheduler_configuration(node: &Node) -> bool {
    node.get("kind").and_then(Node::as_text) == Some(KIND)
}

/// The finding about a configuration, or about a `ConfigMap` with a configuration.
pub(super) fn finding(node: &Node) -> Option<Finding> {
    let field = if is_scheduler_configuration(node) {
        named_in(node)?
    } else {
        let data = node.get("data").filter(|_| is_config_map(node))?;
        let Value::Map(entries) = &data.value else { return None };
        let entry = entries.iter().find(|entry| entry.value.as_text().is_some_and(is_named_in))?;
        Path::Root.key("data").key(&entry.key).into()
    };
    let message = "the plugin resourcepolicy is not a part of kube-scheduler; one that was built without it does not start";
    let fix = "remove the plugin, unless this scheduler was built with it";
    Some(Finding::new(Code::SchedulerPlugin, field, message).with_fix(fix))
}

fn is_config_map(node: &Node) -> bool {
    node.get("kind").and_then(Node::as_text) == Some("ConfigMap")
}

fn is_named_in(text: &str) -> bool {
    let documents = || stream::read(text).documents;
    text.contains(KIND)
        && documents().iter().any(|it| is_scheduler_configuration(it) && named_in(it).is_some())
}

/// The field in which a profile names the plugin: at an extension point, or for its settings.
fn named_in(configuration: &Node) -> Option<FieldPath> {
    let list = Path::Root.key("profiles");
    let profiles = configuration.get("profiles")?.as_list()?;
    profiles.iter().enumerate().find_map(|(position, profile)| {
        let item = list.index(position);
        let plugins = item.key("plugins");
        let points = match profile.get("plugins").map(|it| &it.value) {
            Some(Value::Map(points)) => &**points,
            _ => &[],
        };
        let enabled = points.iter().find_map(|point| {
            let field = plugins.key(&point.key);
            named_among(point.value.get("enabled")?, &field.key("enabled"))
        });
        enabled.or_else(|| named_among(profile.get("pluginConfig")?, &item.key("pluginConfig")))
    })
}

fn named_among(plugins: &Node, list: &Path<'_>) -> Option<FieldPath> {
    let is_it = |plugin: &Node| {
        let name = plugin.get("name").and_then(Node::as_text);
        name.is_some_and(|name| name.eq_ignore_ascii_case(PLUGIN))
    };
    let position = plugins.as_list()?.iter().position(is_it)?;
    Some(list.index(position).key("name").into())
}
