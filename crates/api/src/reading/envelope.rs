//! The two fields that name the kind of an object, and the findings about missing or misspelled ones.

use super::scheduler_profile;
use super::typography::as_meant;
use crate::finding::{Code, FieldPath, Finding, MessageValue, Path};
use crate::kinds::{APPS_MISTYPED, Kind, RemovedVersion, is_nearly_ours, nearest};
use crate::tree::{Entry, Node, Value};

/// The `apiVersion` and the `kind` of an object.
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

/// The finding about a key that is present with an invisible character or a typo.
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
        Finding::new(Code::UnknownField, field, format!("Unknown field: the key is not {key}"))
    };
    if let Some(entry) = disguised.next() {
        return Some(unlike(Path::Root.key(&entry.key)));
    }
    let entry = entries.iter().find(is_slip)?;
    Some(unlike(Path::Root.key(&entry.key)).meaning(key))
}

/// The top-level fields of most objects. No field of these is a typo of another.
const ENVELOPE: [&str; 6] = ["apiVersion", "kind", "metadata", "spec", "status", "data"];

fn not_an_object(key: &str, what: &str) -> Finding {
    let message =
        format!("Required value: {key} {what}; every Kubernetes object needs apiVersion and kind");
    Finding::new(Code::NotAnObject, Path::Root.key(key), message)
}

/// Whether an unrecognized object was probably meant to be a policy, by the present one of `apiVersion` and `kind`, or
/// by the group. The items of a list need both fields: a table that maps kinds is often a list with a `kind` in each
/// item.
pub(super) fn is_nearly_a_policy(node: &Node) -> bool {
    if let Some(items) = node.as_list() {
        let is_object = |it: &Node| ["apiVersion", "kind"].iter().all(|key| it.get(key).is_some());
        return items.iter().any(|it| is_object(it) && is_nearly_a_policy(it));
    }
    if scheduler_profile::finding(node).is_some() {
        return true;
    }
    let text = |key: &str| node.get(key).and_then(Node::as_text).unwrap_or_default();
    is_nearly_ours(text("apiVersion"), text("kind"))
}

/// The finding about a misspelled `apiVersion` or `kind`.
pub(super) fn mistyped(field: &str, written: &str, kind: &str, meant: &str) -> Finding {
    let code = match field {
        // Such a kind may exist: only a part of the group is known.
        "kind" => Code::MistypedKind,
        _ if written == APPS_MISTYPED => Code::MistypedVersion,
        _ => Code::UnknownKind,
    };
    let message = if field == "kind" {
        let written = written.in_message();
        format!("Invalid value: {written}: not a known kind of this API group, but nearly {meant}")
    } else {
        format!("Invalid value: {}: the apiVersion of a {kind} is {meant}", written.in_message())
    };
    // Another kind of the group may have a similar name.
    let is_certain = field != "kind" || meant.eq_ignore_ascii_case(written);
    Finding::new(code, Path::Root.key(field), message)
        .with_fix(format!("write {field}: {meant}"))
        .with_replacement(is_certain.then_some(meant))
}

/// The finding about a version that Kubernetes has removed. The later version may have other fields, so there is no
/// certain replacement.
pub(super) fn removed(written: &str, kind: &str, version: RemovedVersion) -> Finding {
    let field = Path::Root.key("apiVersion");
    let needs = version.needs.map_or(String::new(), |needs| format!(", and {needs}"));
    Finding::invalid(Code::RemovedVersion, &field, written, &version.message(kind))
        .with_fix(format!("write apiVersion: {}{needs}", version.now))
}
