//! The description of nodes that `almanac up` reads from a file. The result is the described nodes, or all mistakes if
//! any part is unusable. Other modules simulate the nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::fields::envelope::{invalid_name, why_no_subdomain};
use crate::fields::label_selector::{KEY_OF_LABEL, VALUE_OF_LABEL, is_label_key, is_label_text};
use crate::finding::{Code, FieldPath, Finding, MessageValue as _, Path};
use crate::reading::{Node, PlacedFinding, Source, read_embedded};
use crate::shape::Shape;
use crate::slim::quantity;

/// The maximum number of nodes of a description: a typo must not fill the etcd of a laptop.
const MAX_NODES: usize = 5_000;

/// The maximum length of a name in bytes. The name and an added number form the value of a label.
const MAX_NAME_LENGTH: usize = 63 - "-4999".len();

const ZONE: &str = "topology.kubernetes.io/zone";

/// The domain of the labels that name the owner of a node.
const OUR_DOMAIN: &str = "almanac.dev/";

/// Nodes that differ only in their names: this name and a number. Omitted fields have their usual values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct DescribedNodes {
    /// The common start of the names, without the number.
    pub name: String,
    /// The number of nodes.
    pub count: Option<usize>,
    /// The CPUs of each node, as a Kubernetes quantity.
    #[serde(default, deserialize_with = "as_written")]
    pub cpu: Option<String>,
    /// The memory of each node, as a Kubernetes quantity.
    #[serde(default, deserialize_with = "as_written")]
    pub memory: Option<String>,
    /// The maximum number of pods on each node.
    pub pods: Option<u32>,
    /// The topology zone of the nodes, which is also one of their labels.
    zone: Option<String>,
    /// The labels of the nodes, including the label of the topology zone.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The taints of the nodes.
    #[serde(default)]
    pub taints: Vec<DescribedTaint>,
}

/// A taint, as the description writes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct DescribedTaint {
    /// The key that tolerations name.
    pub key: String,
    /// The value that tolerations may require.
    #[serde(default)]
    pub value: String,
    /// The effect on pods that do not tolerate the taint.
    pub effect: DescribedEffect,
}

/// The effects of a taint on pods that do not tolerate the taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum DescribedEffect {
    /// The pods are not scheduled on the node.
    NoSchedule,
    /// The pods are scheduled on the node only if no other node fits.
    PreferNoSchedule,
    /// The pods are not scheduled on the node, and running pods are evicted.
    NoExecute,
}

#[derive(Deserialize)]
struct Description {
    nodes: Vec<DescribedNodes>,
}

/// Checks a description of nodes.
///
/// # Errors
///
/// All mistakes in the description, in the order of the file. Every finding is about source 0.
pub fn check_described_nodes(source: &Source) -> Result<Vec<DescribedNodes>, Vec<PlacedFinding>> {
    let document = read_embedded(source.text());
    let mut placed: Vec<PlacedFinding> = document
        .findings
        .into_iter()
        .map(|(span, finding)| PlacedFinding::new(0, Some(span), finding))
        .collect();
    let Some(root) = document.root else {
        if placed.is_empty() {
            let nodes = Path::Root.key("nodes");
            let finding = Finding::required(&nodes, "the file describes nothing");
            placed.push(PlacedFinding::new(0, None, finding.with_fix(WHAT_TO_WRITE)));
        }
        return Err(placed);
    };
    let mut findings = Vec::new();
    let fitting = shape().examine(&root, &Path::Root, &mut findings);
    check_meaning(&fitting, &mut findings);
    placed.extend(findings.into_iter().map(|finding| place(&root, finding)));
    placed.sort_by_key(|placed| placed.span.map(|span| span.start));
    if !placed.is_empty() {
        return Err(placed);
    }
    let mut nodes = match serde_json::from_value::<Description>(fitting) {
        Ok(description) => description.nodes,
        Err(error) => {
            let finding = Finding::new(Code::WrongType, FieldPath::default(), error.to_string());
            return Err(vec![PlacedFinding::new(0, None, finding)]);
        }
    };
    for node in &mut nodes {
        node.labels.extend(node.zone.take().map(|zone| (ZONE.to_owned(), zone)));
    }
    Ok(nodes)
}

const WHAT_TO_WRITE: &str = "write a list under nodes, such as - name: node";

fn place(root: &Node, finding: Finding) -> PlacedFinding {
    let span = root.locate(&finding.field, finding.code.is_about_the_key());
    PlacedFinding::new(0, Some(span), finding)
}

fn shape() -> &'static Shape {
    static SHAPE: LazyLock<Shape> = LazyLock::new(|| {
        let text = json!({ "type": "string" });
        let taint = json!({
            "type": "object", "required": ["key", "effect"],
            "properties": {
                "key": { "type": "string", "minLength": 1 }, "value": text,
                "effect": {
                    "type": "string", "enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"]
                },
            },
        });
        let node = json!({
            "type": "object", "required": ["name"],
            "properties": {
                "name": { "type": "string", "minLength": 1, "maxLength": MAX_NAME_LENGTH },
                "count": { "type": "integer", "minimum": 1, "maximum": MAX_NODES },
                "cpu": {}, "memory": {},
                "pods": { "type": "integer", "minimum": 1, "maximum": 10_000 },
                "zone": { "type": "string", "minLength": 1 },
                "labels": { "type": "object", "additionalProperties": text },
                "taints": { "type": "array", "items": taint },
            },
        });
        let nodes =
            json!({ "type": "array", "items": node, "x-kubernetes-list-map-keys": ["name"] });
        Shape::from_schema(
            &json!({ "type": "object", "required": ["nodes"], "properties": { "nodes": nodes } }),
        )
    });
    &SHAPE
}

/// The rules that the shape of the file cannot express.
fn check_meaning(description: &Json, findings: &mut Vec<Finding>) {
    let list = Path::Root.key("nodes");
    let nodes = description["nodes"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (position, node) in nodes.iter().enumerate() {
        check_nodes(node, &list.index(position), findings);
    }
    let counts = nodes.iter().map(|node| node["count"].as_u64().unwrap_or(1));
    let all = usize::try_from(counts.sum::<u64>()).unwrap_or(usize::MAX);
    let is_reported = findings.iter().any(|it| it.code == Code::OutOfRange);
    if all > MAX_NODES && !is_reported {
        let message = format!("Too many: {all}: must have at most {MAX_NODES} nodes in all");
        let finding = Finding::new(Code::OutOfRange, list, message);
        findings.push(finding.with_fix("lower some of their counts"));
    }
}

fn check_nodes(node: &Json, path: &Path<'_>, findings: &mut Vec<Finding>) {
    let name = node["name"].as_str().unwrap_or_default();
    if !name.is_empty()
        && let Some(why) = why_no_subdomain(name)
    {
        findings.push(invalid_name(&path.key("name"), name, &why));
    }
    for (amount, example) in [("cpu", "4 or 500m"), ("memory", "16Gi")] {
        check_amount(&node[amount], &path.key(amount), example, findings);
    }
    let labels = path.key("labels");
    for (key, value) in node["labels"].as_object().into_iter().flatten() {
        let field = labels.key(key);
        check_key(key, &field, findings);
        check_value(value, &field, findings);
        if key == ZONE && node["zone"].is_string() {
            let why = "the zone is this label, and is described already";
            findings.push(
                Finding::forbidden(Code::DuplicateItem, &field, why)
                    .with_fix("keep one of the two"),
            );
        }
    }
    check_value(&node["zone"], &path.key("zone"), findings);
    check_taints(node, path, findings);
}

fn check_taints(node: &Json, path: &Path<'_>, findings: &mut Vec<Finding>) {
    let list = path.key("taints");
    let mut seen = BTreeSet::new();
    for (position, taint) in node["taints"].as_array().into_iter().flatten().enumerate() {
        let path = list.index(position);
        let field = path.key("key");
        let key = taint["key"].as_str().unwrap_or_default();
        check_key(key, &field, findings);
        check_value(&taint["value"], &path.key("value"), findings);
        if !seen.insert((key, taint["effect"].as_str())) {
            let message =
                format!("Duplicate value: {}: two taints of one effect", key.in_message());
            let finding = Finding::new(Code::DuplicateItem, field, message);
            findings.push(finding.with_fix("remove one of them"));
        }
    }
}

fn check_amount(written: &Json, field: &Path<'_>, example: &str, findings: &mut Vec<Finding>) {
    let is_above_zero = |it: &Json| quantity::from_json(it).is_some_and(|it| it.billionths() > 0);
    if !written.is_null() && !is_above_zero(written) {
        let text = written.as_str().map_or_else(|| written.to_string(), str::to_owned);
        let why = format!("must be a quantity above zero, such as {example}");
        findings.push(
            Finding::invalid(Code::UnsupportedValue, field, text, &why)
                .with_fix(format!("write a quantity such as {example}")),
        );
    }
}

fn check_key(key: &str, field: &Path<'_>, findings: &mut Vec<Finding>) {
    if key.starts_with(OUR_DOMAIN) {
        let why = "labels and taints of almanac.dev mark the owner of a node";
        findings.push(
            Finding::forbidden(Code::UnsupportedValue, field, why).with_fix("write another key"),
        );
    } else if !key.is_empty() && !is_label_key(key) {
        findings.push(
            Finding::invalid(Code::UnsupportedValue, field, key, KEY_OF_LABEL)
                .with_fix("write a key such as disk or example.com/disk"),
        );
    }
}

fn check_value(value: &Json, field: &Path<'_>, findings: &mut Vec<Finding>) {
    if let Some(value) = value.as_str().filter(|value| !is_label_text(value)) {
        findings.push(
            Finding::invalid(Code::UnsupportedValue, field, value, VALUE_OF_LABEL)
                .with_fix("write a value such as fast or eu-1a"),
        );
    }
}

/// A quantity may be a number.
fn as_written<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    Ok(match Json::deserialize(deserializer)? {
        Json::Null => None,
        Json::String(text) => Some(text),
        number => Some(number.to_string()),
    })
}
