//! The two fields by which an object says what it is, and what is said where they are missing or nearly right.

use super::tree::{Entry, Node, Value};
use super::typography::as_meant;
use crate::finding::{Code, FieldPath, Finding, Path, Shown};
use crate::kinds::{APPS_MISTYPED, Kind, nearest};

/// The two fields every object begins with.
pub(super) fn envelope(node: &Node) -> Result<(&str, &str), Finding> {
    if !matches!(node.value, Value::Map(_)) {
        if node.as_list().is_some_and(|items| items.iter().any(|it| it.get("kind").is_some())) {
            let message = "a list of objects is not a Kubernetes object";
            return Err(Finding::new(Code::NotAnObject, FieldPath::default(), message)
                .with_fix("make it the items of a List, or write '---' between the objects"));
        }
        let message = "a Kubernetes object is a map with apiVersion and kind";
        return Err(Finding::new(Code::NotAnObject, FieldPath::default(), message)
            .with_fix("write apiVersion and kind at the beginning, or move the text elsewhere"));
    }
    let text = |key: &'static str| match node.get(key).map(|value| value.as_text()) {
        Some(Some(text)) if !text.is_empty() => Ok(text),
        Some(None | Some(_)) => Err(not_an_object(key, "must be a non-empty string")),
        None => Err(misspelled(node, key).unwrap_or_else(|| not_an_object(key, "is missing"))),
    };
    let known = || Kind::written(node.get("kind")?.as_text()?);
    let api_version = text("apiVersion").map_err(|finding| match known() {
        Some(kind) => finding.with_fix(format!("write apiVersion: {}", kind.api_version())),
        None => finding,
    });
    Ok((api_version?, text("kind")?))
}

/// A key that is there, but for a letter in it that nobody sees, or for a slip.
fn misspelled(node: &Node, key: &str) -> Option<Finding> {
    let Value::Map(entries) = &node.value else { return None };
    let mut disguised = entries.iter().filter(|entry| as_meant(&entry.key).trim() == key);
    let is_slip = |entry: &&Entry| {
        let is_known = ENVELOPE.contains(&&*entry.key);
        !is_known
            && entry.value.as_text().is_some()
            && nearest(&entry.key, [key].into_iter()).is_some()
    };
    let unlike = |field: Path<'_>| {
        Finding::new(Code::UnknownField, field, format!("Unknown field: this is not {key}"))
    };
    if let Some(entry) = disguised.next() {
        return Some(unlike(Path::Root.key(&entry.key)));
    }
    let entry = entries.iter().find(is_slip)?;
    Some(unlike(Path::Root.key(&entry.key)).with_fix(format!("write {key}")))
}

/// The fields at the top of most objects. None of them is a slip of another one.
const ENVELOPE: [&str; 6] = ["apiVersion", "kind", "metadata", "spec", "status", "data"];

fn not_an_object(key: &str, what: &str) -> Finding {
    let message =
        format!("Required value: {key} {what}; every Kubernetes object needs apiVersion and kind");
    Finding::new(Code::NotAnObject, Path::Root.key(key), message)
}

/// What is said of an `apiVersion` or a `kind` that is nearly right.
pub(super) fn mistyped(field: &str, written: &str, kind: &str, meant: &str) -> Finding {
    let code = if written == APPS_MISTYPED { Code::MistypedVersion } else { Code::UnknownKind };
    let message = if field == "kind" {
        format!(
            "Invalid value: {}: this API group has no such kind; write {meant}",
            written.shown()
        )
    } else {
        format!("Invalid value: {}: the apiVersion of a {kind} is {meant}", written.shown())
    };
    // Of another group there may be several versions, with other fields.
    let is_certain =
        meant == "apps/v1" && code == Code::MistypedVersion || meant.eq_ignore_ascii_case(written);
    Finding::new(code, Path::Root.key(field), message)
        .with_fix(format!("write {field}: {meant}"))
        .with_replacement(is_certain.then_some(meant))
}
