//! The shape of `metadata`, which every object has.

use serde_json::json;

use super::Shape;

/// The shape of `metadata`: the Kubernetes fields that people write.
pub(crate) fn metadata_shape() -> Shape {
    let text = json!({ "type": "string", "nullable": true });
    let texts =
        json!({ "type": "object", "nullable": true, "additionalProperties": { "type": "string" } });
    let whole = json!({ "type": "integer", "nullable": true });
    let list = json!({ "type": "array", "nullable": true, "items": { "type": "string" } });
    let anything = json!({});
    Shape::from_schema(&json!({
        "type": "object",
        "properties": {
            "name": text, "generateName": text, "namespace": text, "labels": texts,
            "annotations": texts, "finalizers": list, "ownerReferences": anything,
            "managedFields": anything, "resourceVersion": text, "uid": text, "selfLink": text,
            "generation": whole, "creationTimestamp": text, "deletionTimestamp": text,
            "deletionGracePeriodSeconds": whole
        }
    }))
}
