//! The `ConfigMaps` of Volcano's agent, and the policies for QoS levels in them.
//!
//! A `ConfigMap` contains a configuration document under one key, and the policies are a part of that document. All
//! other content belongs to other features.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::kinds::Kind;

/// The `ConfigMaps`, each with the key of its document. If several exist, the first is used.
pub const AGENT_CONFIGS: [(&str, &str); 2] =
    [("volcano-agent-config", "config.yaml"), ("volcano-agent-configuration", "colocation-config")];

/// The default namespace of these `ConfigMaps`.
pub const CONFIG_NAMESPACE: &str = "volcano-system";

/// The key of the document in a `ConfigMap`, by its name; `None` unless the agent reads the `ConfigMap`.
#[must_use]
pub fn document_key(name: &str) -> Option<&'static str> {
    AGENT_CONFIGS.iter().find(|(known, _)| *known == name).map(|(_, key)| *key)
}

impl Kind {
    /// Whether an object of the kind is of interest, by its name, since most `ConfigMaps` are not.
    #[must_use]
    pub fn is_of_interest(self, name: &str) -> bool {
        self != Kind::ConfigMap || document_key(name).is_some()
    }
}

/// The fields of the document that lead to lists of policies.
pub(crate) const GLOBAL: &str = "globalConfig";
pub(crate) const NODES: &str = "nodesConfig";
pub(crate) const POLICIES: &str = "timeBasedQoSPolicies";

/// A policy as written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TimeBasedQosPolicy {
    pub(crate) name: Option<String>,
    pub(crate) enable: Option<bool>,
    pub(crate) start_time: Option<String>,
    pub(crate) end_time: Option<String>,
    pub(crate) time_zone: Option<String>,
    pub(crate) selector: Option<LabelSelector>,
    #[serde(rename = "targetQoSLevel")]
    pub(crate) target_qos_level: Option<i64>,
    pub(crate) check_interval: Option<Json>,
}

/// The schema of a policy. Its required fields and their content are checked separately.
pub(crate) fn policy_schema() -> Json {
    let text = json!({ "type": "string", "nullable": true });
    json!({
        "type": "object",
        "properties": {
            "name": text, "startTime": text, "endTime": text, "timeZone": text,
            "enable": { "type": "boolean", "nullable": true },
            "selector": selector_schema(),
            "targetQoSLevel": {
                "type": "integer", "nullable": true,
                "minimum": almanac_engine::qos_levels::Level::MIN,
                "maximum": almanac_engine::qos_levels::Level::MAX
            },
            "checkInterval": { "x-kubernetes-int-or-string": true, "nullable": true }
        }
    })
}

/// The schema of a selector of pods or nodes.
pub(crate) fn selector_schema() -> Json {
    let list = json!({ "type": "array", "nullable": true, "items": { "type": "string" } });
    let expression = json!({
        "type": "object",
        "required": ["key", "operator"],
        "properties": {
            "key": { "type": "string" },
            "operator": { "type": "string", "enum": ["In", "NotIn", "Exists", "DoesNotExist"] },
            "values": list
        }
    });
    json!({
        "type": "object",
        "nullable": true,
        "properties": {
            "matchLabels": {
                "type": "object", "nullable": true,
                "additionalProperties": { "type": "string" }
            },
            "matchExpressions": { "type": "array", "nullable": true, "items": expression }
        }
    })
}
