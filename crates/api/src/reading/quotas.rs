//! The bounds of the pods of a namespace: `ResourceQuota` and `LimitRange`, for CPU, memory and the number of pods.
//! Another module detects excess demand.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use almanac_engine::Resource;
use serde_json::Value as Json;

use super::pods::ReadPod;
use crate::finding::Span;
use crate::slim::{Requirements, THOUSANDTH, WHOLE, amount, container_defaults};
use crate::tree::{Entry, Node, Value};

/// The bounds of a `ResourceQuota`.
#[derive(Clone, Debug)]
pub struct ReadQuota {
    /// The namespace in the object; `None` if absent.
    pub namespace: Option<Box<str>>,
    /// The name of the quota.
    pub name: Box<str>,
    /// The index of the source in [`super::Reading::sources`].
    pub source: usize,
    /// The bounds, in the order of the file.
    pub hard: Vec<Hard>,
    scopes: Vec<Scope>,
}

/// An entry of `spec.hard`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hard {
    /// The bounded resource.
    pub resource: Resource,
    /// The key (`requests.cpu`).
    pub key: Box<str>,
    /// The maximum amount.
    pub most: u64,
    /// The location of the bound.
    pub span: Span,
}

/// A condition on the pods that a quota counts.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Scope {
    name: Box<str>,
    operator: Box<str>,
    values: Vec<Box<str>>,
}

/// The defaults of a `LimitRange`.
#[derive(Clone, Debug)]
pub struct ReadLimitRange {
    /// The namespace in the object; `None` if absent.
    pub namespace: Option<Box<str>>,
    /// The index of the source in [`super::Reading::sources`].
    pub source: usize,
    /// The defaults for containers without a request or limit.
    pub defaults: Requirements,
}

/// Whether a file may have a `ResourceQuota`, a `LimitRange`, or a node with allocatable amounts. Never `false` for a
/// file with one, unless the file writes the letters as escapes.
#[must_use]
pub fn may_bound_pods(bytes: &[u8]) -> bool {
    static WORDS: LazyLock<Option<AhoCorasick>> =
        LazyLock::new(|| AhoCorasick::new(["ResourceQuota", "LimitRange", "allocatable"]).ok());
    WORDS.as_ref().is_none_or(|words| words.is_match(bytes))
}

impl ReadQuota {
    pub(super) fn read(api_version: &str, kind: &str, source: usize, node: &Node) -> Option<Self> {
        if (api_version, kind) != ("v1", "ResourceQuota") {
            return None;
        }
        let metadata = node.get("metadata")?;
        let spec = node.get("spec");
        let hard = spec.and_then(|spec| spec.get("hard")).map(|hard| &hard.value);
        let entries = match hard {
            Some(Value::Map(entries)) => entries.iter().filter_map(Hard::read).collect(),
            _ => Vec::new(),
        };
        Some(ReadQuota {
            namespace: text(metadata, "namespace"),
            name: text(metadata, "name")?,
            source,
            hard: entries,
            scopes: spec.map(Node::to_json).map(|spec| scopes(&spec)).unwrap_or_default(),
        })
    }

    /// Whether the quota certainly counts this pod, or the pods of this workload.
    #[must_use]
    pub fn counts(&self, pod: &ReadPod, is_best_effort: bool) -> bool {
        self.scopes.iter().all(|scope| scope.includes(pod, is_best_effort))
    }
}

impl Hard {
    fn read(entry: &Entry) -> Option<Hard> {
        let resource = Resource::from_quota_key(&entry.key)?;
        let unit = match resource {
            Resource::RequestsCpu | Resource::LimitsCpu => THOUSANDTH,
            Resource::RequestsMemory | Resource::LimitsMemory | Resource::Pods => WHOLE,
        };
        let most = amount(&entry.value.to_json(), unit)?;
        Some(Hard { resource, key: entry.key.clone(), most, span: entry.key_span })
    }
}

impl Scope {
    /// Whether the scope certainly includes the pod. Only the fields of a template are known: other pods may have a
    /// deadline, or the default priority class.
    fn includes(&self, pod: &ReadPod, is_best_effort: bool) -> bool {
        let class = pod.priority_class.as_deref();
        let is_named = |class: &str| self.values.iter().any(|it| **it == *class);
        match (&*self.name, &*self.operator) {
            ("BestEffort", "Exists") => is_best_effort,
            ("NotBestEffort", "Exists") => !is_best_effort,
            ("NotTerminating", "Exists") => pod.pod.is_template,
            ("PriorityClass", "Exists") => class.is_some(),
            ("PriorityClass", "In") => class.is_some_and(is_named),
            ("PriorityClass", "NotIn") => class.is_some_and(|class| !is_named(class)),
            _ => false,
        }
    }
}

impl ReadLimitRange {
    pub(super) fn read(api_version: &str, kind: &str, source: usize, node: &Node) -> Option<Self> {
        if (api_version, kind) != ("v1", "LimitRange") {
            return None;
        }
        let namespace = node.get("metadata").and_then(|metadata| text(metadata, "namespace"));
        let defaults = container_defaults(&node.get("spec")?.to_json());
        Some(ReadLimitRange { namespace, source, defaults })
    }
}

/// The conditions of both `scopes` and `scopeSelector`.
fn scopes(spec: &Json) -> Vec<Scope> {
    let texts = |list: &Json| -> Vec<Box<str>> {
        let all = list.as_array().into_iter().flatten();
        all.filter_map(Json::as_str).map(Box::from).collect()
    };
    let plain = texts(&spec["scopes"]).into_iter();
    let plain = plain.map(|name| Scope { name, operator: "Exists".into(), values: Vec::new() });
    let selected = spec["scopeSelector"]["matchExpressions"].as_array().into_iter().flatten();
    let selected = selected.map(|it| Scope {
        name: it["scopeName"].as_str().unwrap_or_default().into(),
        operator: it["operator"].as_str().unwrap_or_default().into(),
        values: texts(&it["values"]),
    });
    plain.chain(selected).collect()
}

fn text(node: &Node, key: &str) -> Option<Box<str>> {
    let text = node.get(key).and_then(Node::as_text).filter(|text| !text.is_empty());
    text.map(Box::from)
}
