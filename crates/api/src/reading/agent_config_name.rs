//! `ConfigMaps` with policies for QoS levels whose name is similar to a name that Volcano's agent reads. The
//! `ConfigMaps` that the agent reads are policies, and checked as policies.

use crate::finding::{Code, Finding, Path};
use crate::kinds::{Kind, nearest};
use crate::objects::AGENT_CONFIGS;
use crate::objects::agent_config::POLICIES;
use crate::tree::{Node, Value};

/// The maximum length of a name in Kubernetes. Longer strings are not compared, because the comparison is slow.
const MAX_NAME_LENGTH: usize = 253;

/// The finding about such a `ConfigMap`; `None` for any other object.
pub(super) fn finding(node: &Node) -> Option<Finding> {
    let text = |key: &str| node.get(key).and_then(Node::as_text);
    if text("apiVersion") != Some("v1") || text("kind") != Some(Kind::ConfigMap.name()) {
        return None;
    }
    let name = node.get("metadata")?.get("name")?.as_text()?;
    let Value::Map(entries) = &node.get("data")?.value else { return None };
    let mut texts = entries.iter().filter_map(|entry| entry.value.as_text());
    if name.len() > MAX_NAME_LENGTH || !texts.any(|text| text.contains(POLICIES)) {
        return None;
    }
    let meant = nearest(name, AGENT_CONFIGS.iter().map(|(known, _)| *known))?;
    let metadata = Path::Root.key("metadata");
    let why = "Volcano's agent does not read a ConfigMap of this name, so its policies do nothing";
    let finding = Finding::invalid(Code::NoSuchTarget, &metadata.key("name"), name, why);
    Some(finding.with_fix(format!("write {meant} if that is meant")))
}
