//! What placements select from, as far as we read it: clusters, their sets, bindings and scores, and the decisions.

use serde_json::{Value, json};

use crate::kinds::Kind;

/// The set that a cluster is in.
pub const CLUSTER_SET_LABEL: &str = "cluster.open-cluster-management.io/clusterset";
/// The placement that a decision is of.
pub const PLACEMENT_LABEL: &str = "cluster.open-cluster-management.io/placement";
/// The name of the group of a decision; empty for none.
pub const GROUP_NAME_LABEL: &str = "cluster.open-cluster-management.io/decision-group-name";
/// The index of the group of a decision.
pub const GROUP_INDEX_LABEL: &str = "cluster.open-cluster-management.io/decision-group-index";

/// The schema of a kind, without its status; `None` for one that is not here.
pub(crate) fn schema(kind: Kind) -> Option<Value> {
    let spec = match kind {
        Kind::ManagedCluster => cluster(),
        Kind::ManagedClusterSet => cluster_set(),
        Kind::ManagedClusterSetBinding => binding(),
        Kind::AddOnPlacementScore | Kind::PlacementDecision => {
            return Some(json!({ "type": "object", "properties": { "status": {} } }));
        }
        _ => return None,
    };
    // A set is one by name unless it says otherwise.
    let required = if kind == Kind::ManagedClusterSet { json!([]) } else { json!(["spec"]) };
    Some(json!({
        "type": "object",
        "required": required,
        "properties": { "spec": spec, "status": {} }
    }))
}

fn cluster() -> Value {
    let taint = json!({
        "type": "object",
        "required": ["key", "effect"],
        "properties": {
            "key": { "type": "string", "minLength": 1, "maxLength": 316 },
            "value": { "type": "string", "maxLength": 1024, "nullable": true },
            "effect": { "type": "string", "enum": ["NoSelect", "PreferNoSelect", "NoSelectIfNew"] },
            "timeAdded": { "type": "string", "format": "date-time", "nullable": true }
        }
    });
    json!({
        "type": "object",
        "properties": {
            "hubAcceptsClient": { "type": "boolean" },
            "leaseDurationSeconds": { "type": "integer", "format": "int32" },
            "managedClusterClientConfigs": { "type": "array", "items": {} },
            "taints": { "type": "array", "nullable": true, "items": taint }
        }
    })
}

fn cluster_set() -> Value {
    let types = ["ExclusiveClusterSetLabel", "LegacyClusterSetLabel", "LabelSelector"];
    json!({
        "type": "object",
        "properties": {
            "clusterSelector": {
                "type": "object",
                "properties": {
                    "selectorType": { "type": "string", "enum": types },
                    "labelSelector": label_selector()
                }
            },
            "managedNamespaces": { "type": "array", "items": {} }
        }
    })
}

fn label_selector() -> Value {
    let text = json!({ "type": "string" });
    let expression = json!({
        "type": "object",
        "required": ["key", "operator"],
        "properties": {
            "key": text,
            "operator": { "type": "string", "enum": ["In", "NotIn", "Exists", "DoesNotExist"] },
            "values": { "type": "array", "nullable": true, "items": text }
        }
    });
    json!({
        "type": "object",
        "nullable": true,
        "properties": {
            "matchLabels": { "type": "object", "nullable": true, "additionalProperties": text },
            "matchExpressions": { "type": "array", "nullable": true, "items": expression }
        }
    })
}

fn binding() -> Value {
    json!({
        "type": "object",
        "required": ["clusterSet"],
        "properties": { "clusterSet": { "type": "string", "minLength": 1 } }
    })
}
