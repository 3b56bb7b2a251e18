//! Applies a file to a live object, as `kubectl apply` does with and without `--server-side`. Fields of the file
//! replace those of the object. Fields from an earlier version of the file are removed, and all others stay. A list
//! is replaced as a whole. The earlier version comes from kubectl's annotation, or else the fields of the manager
//! that applies the file.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use kube::api::DynamicObject;
use serde_json::{Map, Value, json};

/// The annotation with the last applied configuration of kubectl, as JSON.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The object after a file is applied.
pub(super) fn apply(live: &DynamicObject, file: &DynamicObject) -> DynamicObject {
    let (mut fields, mut wanted) = (fields_of(live), fields_of(file));
    // kubectl adds an annotation to each file. So a file without annotations never removes the annotations of other
    // managers.
    if wanted["metadata"]["annotations"].is_null() {
        wanted["metadata"]["annotations"] = json!({});
    }
    let annotations = live.metadata.annotations.as_ref();
    let last = annotations.and_then(|it| serde_json::from_str(it.get(LAST_APPLIED)?).ok());
    let managed = live.metadata.managed_fields.as_deref().unwrap_or_default();
    let of_spec = managed.iter().filter(|it| it.subresource.as_deref().is_none_or(str::is_empty));
    let owners: Vec<Owner<'_>> = of_spec.filter_map(Owner::from_entry).collect();
    let is_by_server = owners.iter().any(|it| it.is_applied && it.manager == "kubectl");
    match last {
        Some(Value::Object(mut last)) if !is_by_server => {
            last.remove("status");
            drop_unwanted(&mut fields, &Value::Object(last), &wanted);
        }
        _ => remove_owned(&mut fields, &owners, &wanted),
    }
    merge(&mut fields, wanted);
    let mut metadata = fields.as_object_mut().and_then(|it| it.remove("metadata"));
    let mut texts = |key: &str| {
        let texts = metadata.as_mut()?.as_object_mut()?.remove(key)?;
        serde_json::from_value(texts).ok()
    };
    let (labels, annotations) = (texts("labels"), texts("annotations"));
    let metadata = ObjectMeta { labels, annotations, ..live.metadata.clone() };
    DynamicObject { types: live.types.clone(), metadata, data: fields }
}

/// The fields that a file can set. The status stays unless the file contains one.
fn fields_of(object: &DynamicObject) -> Value {
    let mut fields = object.data.clone();
    let (labels, annotations) = (&object.metadata.labels, &object.metadata.annotations);
    if let Some(map) = fields.as_object_mut() {
        let texts = [("labels", labels), ("annotations", annotations)];
        let texts =
            texts.into_iter().filter_map(|(key, it)| Some((key.to_owned(), json!(it.as_ref()?))));
        map.insert("metadata".to_owned(), Value::Object(texts.collect()));
    }
    fields
}

/// A field manager.
struct Owner<'a> {
    manager: &'a str,
    /// Whether the manager applied these fields, so that a later apply removes them. Helm removes its fields, too.
    is_applied: bool,
    fields: Value,
}

impl Owner<'_> {
    fn from_entry(entry: &ManagedFieldsEntry) -> Option<Owner<'_>> {
        let manager = entry.manager.as_deref().unwrap_or_default();
        let is_applied = manager == "helm" || entry.operation.as_deref() == Some("Apply");
        let mut fields = entry.fields_v1.clone()?.0;
        // The status stays unless the file contains one.
        fields.as_object_mut()?.remove("f:status");
        Some(Owner { manager, is_applied, fields })
    }
}

/// Removes the fields of an earlier version of the file. Its manager is the manager that owns most fields of the
/// file. Fields with further owners stay.
fn remove_owned(live: &mut Value, owners: &[Owner<'_>], wanted: &Value) {
    let applied = owners.iter().enumerate().filter(|(_, it)| it.is_applied);
    let Some((position, owner)) = applied.max_by_key(|(_, it)| overlap(&it.fields, wanted)) else {
        return;
    };
    let others = owners.iter().enumerate().filter(|(other, _)| *other != position);
    let others: Vec<&Value> = others.map(|(_, it)| &it.fields).collect();
    disown(live, &owner.fields, &others, wanted);
}

/// The number of fields of the file that the manager owns.
fn overlap(owned: &Value, wanted: &Value) -> usize {
    let owned = owned.as_object().into_iter().flatten();
    let both =
        owned.filter_map(|(field, owned)| Some((owned, wanted.get(field.strip_prefix("f:")?)?)));
    both.map(|(owned, wanted)| 1 + overlap(owned, wanted)).sum()
}

/// Removes applied fields that the file no longer has.
fn drop_unwanted(live: &mut Value, last: &Value, wanted: &Value) {
    let (Some(live), Some(last)) = (live.as_object_mut(), last.as_object()) else { return };
    for (key, former) in last {
        match (wanted.get(key), live.get_mut(key)) {
            (None, _) => drop(live.remove(key)),
            (Some(wanted), Some(live)) => drop_unwanted(live, former, wanted),
            (Some(_), None) => {}
        }
    }
}

/// Removes the fields of a manager, given in the form of `managedFields`. Fields with further owners stay. A map that
/// is owned as one value is replaced as a whole.
fn disown(live: &mut Value, owned: &Value, others: &[&Value], wanted: &Value) {
    let (Some(live), Some(owned)) = (live.as_object_mut(), owned.as_object()) else { return };
    for (field, owned) in owned {
        let Some(key) = field.strip_prefix("f:") else { continue };
        let Some(value) = live.get_mut(key) else { continue };
        let others: Vec<&Value> = others.iter().filter_map(|it| it.get(field)).collect();
        let is_wanted = wanted.get(key);
        let is_whole = owned.as_object().is_none_or(Map::is_empty);
        if value.is_object() && !is_whole {
            disown(value, owned, &others, is_wanted.unwrap_or(&Value::Null));
            let is_empty = value.as_object().is_some_and(Map::is_empty);
            if is_wanted.is_none() && is_empty && others.is_empty() {
                live.remove(key);
            }
        } else if is_wanted.is_some() && value.is_object()
            || is_wanted.is_none() && others.is_empty()
        {
            live.remove(key);
        }
    }
}

fn merge(live: &mut Value, wanted: Value) {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => {
            for (key, value) in wanted {
                if value.is_null() {
                    live.remove(&key);
                } else {
                    merge(live.entry(key).or_insert(Value::Null), value);
                }
            }
        }
        (live, wanted) => *live = wanted,
    }
}
