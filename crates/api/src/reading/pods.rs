//! The pods and the nodes in files, and the workloads whose templates make pods: what policies for QoS levels
//! are about. Of any kind of workload the template is read, since any may make pods.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use almanac_engine::qos_levels::Pod;
use almanac_engine::{Identity, Labels};
use serde_json::Value as Json;

use super::tree::Node;
use crate::exempt::{MARK, exempts};
use crate::kinds::group_and_version;
use crate::slim;

/// A pod that was read, or a workload whose template stands for its pods.
#[derive(Clone, Debug)]
pub struct ReadPod {
    /// Its `apiVersion`.
    pub api_version: Box<str>,
    /// Its `kind`.
    pub kind: Box<str>,
    /// The namespace it names, if it names one.
    pub namespace: Option<Box<str>>,
    /// Its name.
    pub name: Box<str>,
    /// Which source it came from: a position in [`super::Reading::sources`].
    pub source: usize,
    /// What it is, or what its template makes.
    pub pod: Pod,
    /// Whether it bears the mark that exempts it from all policies.
    pub is_marked: bool,
}

/// A node that was read.
#[derive(Clone, Debug)]
pub struct ReadNode {
    /// Its name.
    pub name: Box<str>,
    /// Which source it came from: a position in [`super::Reading::sources`].
    pub source: usize,
    /// Its labels.
    pub labels: Labels,
}

/// Whether a file may hold pods, nodes or workloads. Never `false` for one that does, unless it writes the
/// letters as escapes.
#[must_use]
pub fn may_hold_pods(bytes: &[u8]) -> bool {
    static WORDS: LazyLock<Option<AhoCorasick>> =
        LazyLock::new(|| AhoCorasick::new(["Pod", "Node", "emplate"]).ok());
    WORDS.as_ref().is_none_or(|words| words.is_match(bytes))
}

impl ReadPod {
    /// Reads a pod, or a workload with a template. One that another object owns stands for nothing by itself.
    pub(super) fn read(api_version: &str, kind: &str, source: usize, node: &Node) -> Option<Self> {
        let metadata = node.get("metadata")?;
        let text = |field: &str| {
            let text = metadata.get(field).and_then(Node::as_text);
            text.filter(|text| !text.is_empty()).map(Box::from)
        };
        let name = text("name")?;
        let pod = if (api_version, kind) == ("v1", "Pod") {
            slim::pod(&node.to_json())
        } else {
            let is_owned = metadata
                .get("ownerReferences")
                .and_then(Node::as_list)
                .is_some_and(|owners| !owners.is_empty());
            let template = template(node).filter(|_| !is_owned)?;
            Pod { node: None, left_alone: None, is_template: true, ..slim::pod(&template) }
        };
        Some(ReadPod {
            api_version: api_version.into(),
            kind: kind.into(),
            namespace: text("namespace"),
            name,
            source,
            pod,
            is_marked: ["annotations", "labels"].into_iter().any(|field| {
                let mark = metadata.get(field).and_then(|texts| texts.get(MARK));
                mark.and_then(Node::as_text).is_some_and(exempts)
            }),
        })
    }

    /// What names it, if it is in the namespace it names, or else in the given one.
    #[must_use]
    pub fn identity(&self, namespace: &str) -> Identity {
        let (group, _) = group_and_version(&self.api_version);
        let namespace = self.namespace.as_deref().unwrap_or(namespace);
        Identity::new(group, &*self.kind, namespace, &*self.name)
    }
}

/// The metadata of a template, as an object: `spec.template`, or that of a job which a `CronJob` makes.
fn template(node: &Node) -> Option<Json> {
    let spec = node.get("spec")?;
    let template =
        spec.get("template").or_else(|| spec.get("jobTemplate")?.get("spec")?.get("template"))?;
    // Templates of other things than pods have no containers.
    template.get("spec")?.get("containers")?;
    let metadata = template.get("metadata").map(Node::to_json).unwrap_or_default();
    Some(serde_json::json!({ "metadata": metadata }))
}

impl ReadNode {
    pub(super) fn read(api_version: &str, kind: &str, source: usize, node: &Node) -> Option<Self> {
        if (api_version, kind) != ("v1", "Node") {
            return None;
        }
        let metadata = node.get("metadata")?;
        let name = metadata.get("name")?.as_text()?.into();
        let labels = slim::labels(&metadata.get("labels").map(Node::to_json).unwrap_or_default());
        Some(ReadNode { name, source, labels })
    }
}
