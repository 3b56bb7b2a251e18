//! Parses each object of a list or watch separately, and skips its unreadable parts: one malformed part must hide
//! neither the rest of its object nor other objects.
//!
//! A part is unreadable if it is nested deeper than the parser's limit or has another type than the schema. The schemas of
//! pods and workloads exclude both. A policy with an unreadable spec fails validation.

use std::borrow::Cow;

use kube::api::{DynamicObject, ObjectMeta, TypeMeta};
use kube::core::Status;
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::Value;

use crate::json_parts;

type Fields<'a> = Vec<(Cow<'a, str>, &'a str)>;

/// The readable parts of an object.
pub(super) struct ReadObject {
    /// The object; `None` if its name is unreadable.
    pub(super) object: Option<DynamicObject>,
    /// The unreadable parts, each with the error.
    pub(super) unread: Vec<String>,
}

/// An event of a watch.
pub(super) enum Change {
    /// An added or modified object.
    Present(ReadObject),
    /// A deleted object.
    Gone(ReadObject),
    /// The watch is complete up to this version.
    Bookmark(String),
}

#[derive(Deserialize)]
struct Bookmark {
    metadata: BookmarkMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMetadata {
    resource_version: String,
}

/// Parses a line of a watch: an event, or the status of a failed watch.
pub(super) fn change(line: &str) -> serde_json::Result<Result<Change, Box<Status>>> {
    let mut fields = json_parts::fields(line)?;
    let [change, object] = ["type", "object"].map(|name| take(&mut fields, name));
    let Some((change, object)) = change.zip(object) else {
        return Err(serde_json::Error::custom("a watch event needs `type` and `object`"));
    };
    Ok(Ok(match serde_json::from_str::<&str>(change)? {
        "ADDED" | "MODIFIED" => Change::Present(self::object(object, Managers::Kept)),
        "DELETED" => Change::Gone(self::object(object, Managers::Kept)),
        "BOOKMARK" => {
            let Bookmark { metadata } = serde_json::from_str(object)?;
            Change::Bookmark(metadata.resource_version)
        }
        "ERROR" => return serde_json::from_str(object).map(Err),
        other => {
            return Err(serde_json::Error::custom(format!(
                "unknown type of a watch event: {other:?}"
            )));
        }
    }))
}

/// The treatment of managed fields, which are often larger than the rest of the object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Managers {
    /// Keep them: they name the author of a change.
    Kept,
    /// Drop them: a list needs no authors.
    LeftOut,
}

/// Parses an object.
pub(super) fn object(written: &str, managers: Managers) -> ReadObject {
    let mut unread = Vec::new();
    let mut fields = fields_of(written, "the object", &mut unread);
    let metadata = take(&mut fields, "metadata").map(|it| metadata(it, managers, &mut unread));
    // A list does not repeat the type in each object.
    let types = take(&mut fields, "apiVersion").zip(take(&mut fields, "kind"));
    let types = types.and_then(|(api_version, kind)| {
        let api_version = serde_json::from_str(api_version).ok()?;
        Some(TypeMeta { api_version, kind: serde_json::from_str(kind).ok()? })
    });
    let read = |(name, written): (Cow<'_, str>, &str)| {
        let value = serde_json::from_str(written).unwrap_or_else(|why| {
            unread.push(format!("{name}: {why}"));
            // Empty instead of absent: an object without a status would count as new.
            Value::Object(serde_json::Map::new())
        });
        (name.into_owned(), value)
    };
    let data = Value::Object(fields.into_iter().map(read).collect());
    let metadata = metadata.unwrap_or_default();
    let is_named = unread.is_empty() || metadata.name.is_some();
    let object = is_named.then_some(DynamicObject { types, metadata, data });
    ReadObject { object, unread }
}

fn metadata(written: &str, managers: Managers, unread: &mut Vec<String>) -> ObjectMeta {
    if managers == Managers::Kept
        && let Ok(metadata) = serde_json::from_str(written)
    {
        return metadata;
    }
    let mut fields = fields_of(written, "metadata", unread);
    if managers == Managers::LeftOut {
        fields.retain(|(name, _)| name != "managedFields");
    }
    if let Ok(metadata) = metadata_of(&fields) {
        return metadata;
    }
    fields.retain(|field| {
        let why = metadata_of(std::slice::from_ref(field)).err();
        unread.extend(why.as_ref().map(|why| format!("metadata.{}: {why}", field.0)));
        why.is_none()
    });
    metadata_of(&fields).unwrap_or_default()
}

/// Metadata with these fields only.
fn metadata_of(fields: &[(Cow<'_, str>, &str)]) -> serde_json::Result<ObjectMeta> {
    let fields = fields.iter().map(|(name, written)| format!("{}:{written}", Value::from(&**name)));
    serde_json::from_str(&format!("{{{}}}", fields.collect::<Vec<_>>().join(",")))
}

/// Removes a field, and returns its value as JSON. Of duplicates, the last one counts, as in the parser.
fn take<'a>(fields: &mut Fields<'a>, name: &str) -> Option<&'a str> {
    let at = fields.iter().rposition(|(it, _)| it == name)?;
    Some(fields.remove(at).1)
}

fn fields_of<'a>(written: &'a str, what: &str, unread: &mut Vec<String>) -> Fields<'a> {
    json_parts::fields(written).unwrap_or_else(|why| {
        unread.push(format!("{what}: {why}"));
        Vec::new()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(written: &str) -> ReadObject {
        object(written, Managers::LeftOut)
    }

    #[test]
    fn a_listed_object_equals_a_watched_one_without_managed_fields() {
        let written = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "a", "labels": { "b": "c" }, "creationTimestamp": "2026-11-20T08:00:00Z",
                "managedFields": [{ "manager": "kubectl", "operation": "Update" }],
            },
            "data": { "d": "e" }, "status": null,
        });
        let ReadObject { object, unread } = read(&written.to_string());
        let watched: DynamicObject = serde_json::from_value(written.clone()).expect("an object");
        let mut whole = watched.clone();
        whole.metadata.managed_fields = None;
        assert_eq!((object, unread), (Some(whole), Vec::new()));
        let line = format!(r#"{{"type":"MODIFIED","object":{written}}}"#);
        let Ok(Ok(Change::Present(ReadObject { object, .. }))) = change(&line) else {
            panic!("{line}");
        };
        assert_eq!(object, Some(watched));
    }

    #[test]
    fn unreadable_parts_are_left_out_and_named() {
        let deep = "[".repeat(1_000) + &"]".repeat(1_000);
        let text = format!(
            r#"{{"metadata":{{"name":"a","uid":"1","creationTimestamp":"yesterday"}},"spec":{{"b":1}},"status":{deep}}}"#
        );
        let ReadObject { object, unread } = read(&text);
        let object = object.expect("a readable name");
        assert_eq!(object.metadata.uid.as_deref(), Some("1"));
        assert_eq!(object.data, json!({ "spec": { "b": 1 }, "status": {} }));
        let [created, status] = &unread[..] else { panic!("{unread:?}") };
        assert!(created.starts_with("metadata.creationTimestamp: "), "{created}");
        assert!(status.starts_with("status: recursion limit exceeded"), "{status}");
    }

    #[test]
    fn an_object_needs_a_readable_name() {
        let nameless = [r#"{"metadata":{"name":7}}"#, r#"{"metadata":[]}"#, "7", "null"];
        for written in nameless {
            let ReadObject { object, unread } = read(written);
            assert!(object.is_none() && !unread.is_empty(), "{written}: {unread:?}");
        }
    }
}
