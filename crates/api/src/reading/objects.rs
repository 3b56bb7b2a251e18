//! From documents to objects: lists are opened, kinds recognised, strangers noted by name.

use std::collections::BTreeMap;

use super::other_object::OtherObject;
use super::source::{Source, Span};
use super::stream;
use super::tree::Node;
use crate::finding::{Code, FieldPath, Finding, Path, Shown};
use crate::kinds::{APPS_MISTYPED, Kind, Recognised, recognise};

/// One object of a kind we know, as it was written.
#[derive(Clone, Debug)]
pub struct ReadObject {
    /// Which of the kinds we know.
    pub kind: Kind,
    /// Its `apiVersion`.
    pub api_version: Box<str>,
    /// Which source it came from: a position in [`Reading::sources`].
    pub source: usize,
    /// The whole object.
    pub node: Node,
}

/// A finding, and where it is.
#[derive(Clone, PartialEq, Debug)]
pub struct PlacedFinding {
    /// Which source: a position in [`Reading::sources`].
    pub source: usize,
    /// Where in the source; `None` when it is about the file as a whole.
    pub span: Option<Span>,
    /// What.
    pub finding: Finding,
}

/// Everything that was read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The files, in the order they were read.
    pub sources: Vec<Source>,
    /// The objects, in the order they were written.
    pub objects: Vec<ReadObject>,
    /// What is wrong with the files as such.
    pub findings: Vec<PlacedFinding>,
    /// The objects of kinds we don't know, as far as they have names, in the order they were written.
    pub others: Vec<OtherObject>,
    /// How many objects of each kind we don't know were passed over, by `apiVersion kind`.
    pub passed_over: BTreeMap<String, usize>,
}

/// Reads the objects of a text and adds them to what was read.
pub fn read_objects(reading: &mut Reading, source: Source) {
    let documents = stream::read(source.text());
    let index = reading.sources.len();
    reading.sources.push(source);
    for text_finding in documents.findings {
        reading.findings.push(PlacedFinding {
            source: index,
            span: Some(text_finding.span),
            finding: text_finding.finding,
        });
    }
    for document in documents.documents {
        reading.take(index, document);
    }
}

impl Reading {
    fn tell(&mut self, source: usize, node: &Node, finding: Finding) {
        let span = Some(node.locate(&finding.field, finding.code.is_about_the_key()));
        self.findings.push(PlacedFinding { source, span, finding });
    }

    fn take(&mut self, source: usize, node: Node) {
        match envelope(&node) {
            Err(finding) => self.tell(source, &node, finding),
            Ok((_, kind)) if kind.ends_with("List") && is_list(&node) => {
                self.open_list(source, node);
            }
            Ok((api_version, kind)) => match recognise(api_version, kind) {
                Recognised::Known(known) => {
                    let api_version = api_version.into();
                    self.objects.push(ReadObject { kind: known, api_version, source, node });
                }
                Recognised::Other => {
                    self.others.extend(OtherObject::read(api_version, kind, &node));
                    *self.passed_over.entry(format!("{api_version} {kind}")).or_default() += 1;
                }
                Recognised::Mistyped { field, meant } => {
                    let written = if field == "kind" { kind } else { api_version };
                    let finding = mistyped(field, written, kind, &meant);
                    self.tell(source, &node, finding);
                }
            },
        }
    }

    fn open_list(&mut self, source: usize, node: Node) {
        let super::tree::Value::Map(entries) = node.value else { return };
        for entry in entries {
            if let ("items", super::tree::Value::List(items)) = (&*entry.key, entry.value.value) {
                for item in items {
                    self.take(source, item);
                }
            }
        }
    }
}

fn is_list(node: &Node) -> bool {
    node.get("items").is_some_and(|items| items.as_list().is_some())
}

/// The two fields every object begins with.
fn envelope(node: &Node) -> Result<(&str, &str), Finding> {
    if !matches!(node.value, super::tree::Value::Map(_)) {
        let message = "a Kubernetes object is a map with apiVersion and kind";
        return Err(Finding::new(Code::NotAnObject, FieldPath::default(), message));
    }
    let text = |key: &'static str| match node.get(key).map(|value| value.as_text()) {
        Some(Some(text)) if !text.is_empty() => Ok(text),
        Some(None | Some(_)) => Err(not_an_object(key, "must be a non-empty string")),
        None => Err(not_an_object(key, "is missing")),
    };
    Ok((text("apiVersion")?, text("kind")?))
}

fn not_an_object(key: &str, what: &str) -> Finding {
    let message =
        format!("Required value: {key} {what}; every Kubernetes object needs apiVersion and kind");
    Finding::new(Code::NotAnObject, Path::Root.key(key), message)
}

fn mistyped(field: &str, written: &str, kind: &str, meant: &str) -> Finding {
    let code = if written == APPS_MISTYPED { Code::MistypedVersion } else { Code::UnknownKind };
    let message = if field == "kind" {
        format!(
            "Invalid value: {}: this API group has no such kind; write {meant}",
            written.shown()
        )
    } else {
        format!("Invalid value: {}: the apiVersion of a {kind} is {meant}", written.shown())
    };
    Finding::new(code, Path::Root.key(field), message).with_fix(format!("write {field}: {meant}"))
}
