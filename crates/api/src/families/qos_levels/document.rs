//! From a `ConfigMap` of Volcano's agent to the policies for QoS levels in it.
//!
//! Only the fields that lead to lists of policies, and the lists themselves, are read; the rest of the document belongs
//! to other features of the agent. A list is used as a whole or not at all, and an unusable list does not affect other
//! lists.

mod misplaced;
mod policy;

use std::sync::LazyLock;

use almanac_engine::qos_levels::{NodeList, NodeLists, PolicyList, QosLevels};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use self::misplaced::report_misplaced;
use self::policy::check_policies;
use crate::families::Checked;
use crate::fields::label_selector::check_selector;
use crate::finding::{Code, FieldPath, Finding, Path, Severity, Span};
use crate::objects::agent_config::{GLOBAL, NODES, POLICIES, selector_schema};
use crate::objects::document_key;
use crate::reading::{EmbeddedDocument, Entry, Node, ReadObject, Value, read_embedded};
use crate::shape::Shape;

/// The maximum number of findings about one document, more than a person makes by hand; the rest is counted. A document
/// may contain hundreds of thousands of mistakes, and locating each finding scans the file.
const MAX_FINDINGS: usize = 1_000;

/// Checks the document of a `ConfigMap`. The findings have the fields of the document, and locations in its text.
/// `field` is the path to the text.
pub(super) fn check(text: &str, field: &Path<'_>) -> Checked<QosLevels> {
    let EmbeddedDocument { root, findings } = read_embedded(text);
    let mut of_text: Vec<Finding> = findings
        .into_iter()
        .map(|(span, finding)| Finding { field: field.into(), in_text: Some(span), ..finding })
        .collect();
    let Some(root) = root else {
        let is_bad = of_text.iter().any(|it| it.severity() == Severity::Error);
        let value = if is_bad { QosLevels::unusable() } else { QosLevels::none() };
        return Checked { value: Some(value), findings: of_text };
    };
    let mut findings = Vec::new();
    let mut value = check_root(&root, field, &mut findings);
    count_most(&mut findings);
    for finding in &mut findings {
        if finding.in_text.is_none() && finding.field != FieldPath::from(field) {
            let at_key = finding.code.is_about_the_key();
            finding.in_text = Some(root.locate(&finding.field, at_key));
        }
    }
    if of_text.iter().any(|it| is_about_our_fields(it, text)) {
        value = QosLevels::unusable();
    }
    findings.append(&mut of_text);
    Checked { value: Some(value), findings }
}

/// Keeps the first findings, errors before others, and counts the rest.
fn count_most(findings: &mut Vec<Finding>) {
    if findings.len() <= MAX_FINDINGS {
        return;
    }
    findings.sort_by_key(|finding| finding.severity() != Severity::Error);
    let more = findings.len() - MAX_FINDINGS;
    findings.truncate(MAX_FINDINGS + 1);
    if let Some(first) = findings.last_mut() {
        first.message = format!("{more} more mistakes in this document, this one first");
        first.fix = Some("correct those above first".into());
    }
}

/// The field of a policy, by its index over all usable lists.
pub(super) fn field_of(levels: Option<&QosLevels>, position: usize) -> Option<FieldPath> {
    let mut before = 0;
    for (entry, list) in levels?.lists() {
        if position < before + list.len() {
            let (global, nodes) = (Path::Root.key(GLOBAL), Path::Root.key(NODES));
            let entry = entry.and_then(|entry| usize::try_from(entry).ok());
            let entry = entry.map(|entry| nodes.index(entry));
            let path = entry.as_ref().unwrap_or(&global);
            return Some((&path.key(POLICIES).index(position - before)).into());
        }
        before += list.len();
    }
    None
}

/// The location in the text of a `ConfigMap` of a finding about one of its policies.
pub(crate) fn location_in_text(object: &ReadObject, finding: &Finding) -> Option<Span> {
    let name = object.node.get("metadata")?.get("name")?.as_text()?;
    let text = object.node.get("data")?.get(document_key(name)?)?.as_text()?;
    let root = read_embedded(text).root?;
    Some(root.locate(&finding.field, finding.code.is_about_the_key()))
}

/// Whether a mistake in the text makes its policies ambiguous. A duplicate key makes them ambiguous only on the path to
/// the policies, or inside a policy.
fn is_about_our_fields(finding: &Finding, text: &str) -> bool {
    let key = finding.in_text.and_then(|span| text.get(span.start as usize..span.end as usize));
    let ours = [GLOBAL, NODES, POLICIES, "selector"].into_iter().chain(policy::fields());
    let is_key_of_others = finding.code == Code::DuplicateKey
        && key.is_some_and(|key| !ours.into_iter().any(|it| key.contains(it)));
    finding.severity() == Severity::Error && !is_key_of_others
}

fn check_root(root: &Node, field: &Path<'_>, findings: &mut Vec<Finding>) -> QosLevels {
    let Value::Map(entries) = &root.value else {
        findings.push(wrong_type(root, field, "a map"));
        return QosLevels::unusable();
    };
    report_wrong_letter_case(entries, &Path::Root, &[GLOBAL, NODES], findings);
    report_misplaced(root, findings);
    QosLevels { global: check_global(root, findings), nodes: check_nodes(root, findings) }
}

fn check_global(root: &Node, findings: &mut Vec<Finding>) -> PolicyList {
    let path = Path::Root.key(GLOBAL);
    match root.get(GLOBAL).map(|node| (node, &node.value)) {
        None | Some((_, Value::Null)) => PolicyList::Absent,
        Some((node, Value::Map(entries))) => {
            report_wrong_letter_case(entries, &path, &[POLICIES], findings);
            check_list(node, &path, findings)
        }
        Some((node, _)) => {
            findings.push(wrong_type(node, &path, "a map"));
            PolicyList::Unusable
        }
    }
}

fn check_nodes(root: &Node, findings: &mut Vec<Finding>) -> NodeLists {
    let path = Path::Root.key(NODES);
    let entries = match root.get(NODES).map(|node| (node, &node.value)) {
        None | Some((_, Value::Null)) => return NodeLists::Known(Box::default()),
        Some((_, Value::List(entries))) => entries,
        Some((node, _)) => {
            findings.push(wrong_type(node, &path, "a list"));
            return NodeLists::Unusable;
        }
    };
    let mut lists = Vec::new();
    let mut is_usable = true;
    for (position, entry) in entries.iter().enumerate() {
        let path = path.index(position);
        match &entry.value {
            Value::Null => {}
            Value::Map(fields) => {
                report_wrong_letter_case(fields, &path, &["selector", POLICIES], findings);
                lists.extend(check_entry(entry, position, &path, findings));
            }
            _ => {
                findings.push(wrong_type(entry, &path, "a map"));
                is_usable = false;
            }
        }
    }
    if is_usable { NodeLists::Known(lists.into()) } else { NodeLists::Unusable }
}

/// Checks an entry for certain nodes; `None` if it has no list, or selects no node.
fn check_entry(
    entry: &Node,
    position: usize,
    path: &Path<'_>,
    findings: &mut Vec<Finding>,
) -> Option<NodeList> {
    static SELECTOR: LazyLock<Shape> = LazyLock::new(|| Shape::from_schema(&selector_schema()));
    let list = check_list(entry, path, findings);
    if list == PolicyList::Absent {
        return None;
    }
    let field = path.key("selector");
    let selector_node = entry.get("selector").filter(|it| it.value != Value::Null);
    let Some(selector_node) = selector_node else {
        let why = "Ignored: without a selector, these policies apply to no node";
        let fix = "add a selector; {} selects every node";
        findings.push(Finding::new(Code::IgnoredField, path.key(POLICIES), why).with_fix(fix));
        return None;
    };
    let before = findings.len();
    let shape = SELECTOR.examine(selector_node, &field, findings);
    let is_sound = findings.len() == before;
    let selector: Option<LabelSelector> = serde_json::from_value(shape).ok();
    let selector = selector.and_then(|it| check_selector(&it, &field, findings));
    let position = u32::try_from(position).unwrap_or(u32::MAX);
    Some(NodeList { position, selector: selector.filter(|_| is_sound), list })
}

/// Checks the list of policies in a map, if present.
fn check_list(node: &Node, path: &Path<'_>, findings: &mut Vec<Finding>) -> PolicyList {
    let path = path.key(POLICIES);
    match node.get(POLICIES).map(|node| (node, &node.value)) {
        None | Some((_, Value::Null)) => PolicyList::Absent,
        Some((_, Value::List(items))) => match check_policies(items, &path, findings) {
            Some(policies) => PolicyList::Known(policies.into()),
            None => PolicyList::Unusable,
        },
        Some((node, _)) => {
            findings.push(wrong_type(node, &path, "a list"));
            PolicyList::Unusable
        }
    }
}

/// Reports keys that differ from ours only in letter case. Other unknown keys belong to other features and are not
/// reported.
fn report_wrong_letter_case(
    entries: &[Entry],
    path: &Path<'_>,
    ours: &[&str],
    findings: &mut Vec<Finding>,
) {
    for entry in entries {
        let meant =
            ours.iter().find(|it| it.eq_ignore_ascii_case(&entry.key) && **it != &*entry.key);
        if let Some(meant) = meant {
            let why = format!("Ignored: the field is called {meant}");
            let field = path.key(&entry.key);
            findings.push(Finding::new(Code::IgnoredField, field, why).meaning(*meant));
        }
    }
}

fn wrong_type(node: &Node, path: &Path<'_>, due: &str) -> Finding {
    let actual = match &node.value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::Text(_) => "text",
        Value::List(_) => "a list",
        Value::Map(_) => "a map",
    };
    let message = format!("Invalid value: must be {due}, not {actual}");
    Finding::new(Code::WrongType, path, message).with_fix(format!("write {due}"))
}
