//! Pieces of schema that the kinds of a hub share.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::json;

/// The key of a label or a taint: a name, with an optional domain of its owner before it.
pub(crate) const LABEL_KEY: &str = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?\
     (([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";
/// The name of a group of decisions.
pub(crate) const NAME_OF_GROUP: &str = "^[a-zA-Z0-9][-A-Za-z0-9_.]{0,61}[a-zA-Z0-9]$";
/// The number of clusters in a group of decisions, where it is text.
pub(crate) const GROUP_SIZE: &str = "^((100|[1-9][0-9]{0,1})%|[1-9][0-9]*)$";
/// The interval between updates of scores.
pub(crate) const RATE_LIMIT: &str = "^[0-9]+[hms]$";
/// The name of a namespace.
pub(crate) const NAME_OF_NAMESPACE: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// A quantity, such as `1500m`.
const QUANTITY: &str = "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))\
     (([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$";
/// The reason of a condition.
const REASON: &str = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";

/// The key of a label or a taint.
pub(crate) fn label_key(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "maxLength": 316, "pattern": LABEL_KEY })
}

/// Conditions after the Kubernetes convention, one of each type.
pub(crate) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "reason", "message", "lastTransitionTime"],
            "properties": {
                "type": { "type": "string", "maxLength": 316, "pattern": LABEL_KEY },
                "status": { "type": "string", "enum": ["True", "False", "Unknown"] },
                "observedGeneration": { "type": "integer", "format": "int64", "minimum": 0 },
                "lastTransitionTime": { "type": "string", "format": "date-time" },
                "reason": { "type": "string", "minLength": 1, "maxLength": 1024, "pattern": REASON },
                "message": { "type": "string", "maxLength": 32768 }
            }
        }
    })
}

/// A selector of labels: all requirements must match.
pub(crate) fn label_selector(generator: &mut SchemaGenerator) -> Schema {
    let mut expressions = selector_requirements(generator);
    expressions.insert("x-kubernetes-list-type".to_owned(), json!("atomic"));
    expressions.insert("description".to_owned(), json!("Requirements of labels."));
    json_schema!({
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "matchLabels": {
                "description": "The required labels and their values.",
                "type": "object",
                "additionalProperties": { "type": "string" }
            },
            "matchExpressions": expressions
        }
    })
}

/// Requirements of labels or claims.
pub(crate) fn selector_requirements(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "required": ["key", "operator"],
            "properties": {
                "key": { "description": "The name of the label or claim.", "type": "string" },
                "operator": {
                    "description": "`In`, `NotIn`, `Exists` or `DoesNotExist`.",
                    "type": "string"
                },
                "values": {
                    "description": "At least one for `In` and `NotIn`, none for the others.",
                    "type": "array",
                    "items": { "type": "string" },
                    "x-kubernetes-list-type": "atomic"
                }
            }
        }
    })
}

/// Amounts of resources, by their names.
pub(super) fn amounts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": {
            "pattern": QUANTITY,
            "x-kubernetes-int-or-string": true
        }
    })
}

/// The name of a namespace.
pub(super) fn name_of_namespace(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "maxLength": 63, "pattern": NAME_OF_NAMESPACE })
}
