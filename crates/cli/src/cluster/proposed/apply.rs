//! What applying a file makes of an object that is there, as `kubectl apply` with and without `--server-side` does: fields
//! of the file replace, fields that an earlier apply wrote and the file lacks go, and the rest stays. A list is replaced
//! as a whole.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use kube::api::DynamicObject;
use serde_json::{Map, Value, json};

/// What `kubectl apply` applied last, as JSON.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The object that is there once a file is applied.
pub(super) fn apply(live: &DynamicObject, file: &DynamicObject) -> DynamicObject {
    let (mut fields, wanted) = (fields_of(live), fields_of(file));
    let annotations = live.metadata.annotations.as_ref();
    let last = annotations.and_then(|it| serde_json::from_str(it.get(LAST_APPLIED)?).ok());
    drop_unwanted(&mut fields, last.as_ref().unwrap_or(&Value::Null), &wanted);
    let managed = live.metadata.managed_fields.as_deref().unwrap_or_default();
    let of_spec = managed.iter().filter(|it| it.subresource.as_deref().is_none_or(str::is_empty));
    let (applied, others): (Vec<_>, Vec<_>) = of_spec.partition(|it| is_applied(it));
    let tree = |it: &&'_ ManagedFieldsEntry| it.fields_v1.clone().map(|fields| fields.0);
    let others: Vec<Value> = others.iter().filter_map(tree).collect();
    for owned in applied.iter().filter_map(tree) {
        disown(&mut fields, &owned, &others.iter().collect::<Vec<_>>(), &wanted);
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

/// The fields that a file can set. The status stays unless the file has one.
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

/// Whether these fields are those of somebody who applies files. Helm also takes back what it wrote before.
fn is_applied(entry: &ManagedFieldsEntry) -> bool {
    let manager = entry.manager.as_deref().unwrap_or_default();
    manager == "helm" || entry.operation.as_deref() == Some("Apply")
}

/// Removes what was applied and is not wanted any more.
fn drop_unwanted(live: &mut Value, last: &Value, wanted: &Value) {
    let (Some(live), Some(last)) = (live.as_object_mut(), last.as_object()) else { return };
    for (key, former) in last.iter().filter(|(key, _)| *key != "status") {
        match (wanted.get(key), live.get_mut(key)) {
            (None, _) => drop(live.remove(key)),
            (Some(wanted), Some(live)) => drop_unwanted(live, former, wanted),
            (Some(_), None) => {}
        }
    }
}

/// The same for the fields that somebody owns, in the form of `managedFields`, unless others own them too.
fn disown(live: &mut Value, owned: &Value, others: &[&Value], wanted: &Value) {
    let (Some(live), Some(owned)) = (live.as_object_mut(), owned.as_object()) else { return };
    for (field, owned) in owned {
        let Some(key) = field.strip_prefix("f:").filter(|it| *it != "status") else { continue };
        let Some(value) = live.get_mut(key) else { continue };
        let others: Vec<&Value> = others.iter().filter_map(|it| it.get(field)).collect();
        let is_wanted = wanted.get(key);
        if value.is_object() && owned.as_object().is_some_and(|it| !it.is_empty()) {
            disown(value, owned, &others, is_wanted.unwrap_or(&Value::Null));
            let is_empty = value.as_object().is_some_and(Map::is_empty);
            if is_wanted.is_none() && is_empty && others.is_empty() {
                live.remove(key);
            }
        } else if is_wanted.is_none() && others.is_empty() {
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
