//! Every kind we define, with its definition and its schema, in the order they are documented.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::{Value, json};

use super::{
    CronFederatedHPA, FederatedHPA, HorizontalAutoscaler, MetricsProducer, Placement,
    ScalableNodeGroup,
};
use crate::kinds::Kind;

/// A kind we define.
pub struct CustomResource {
    /// Its definition, as the API server takes it.
    pub definition: CustomResourceDefinition,
}

/// All of them.
#[must_use]
pub fn custom_resources() -> Vec<CustomResource> {
    [
        MetricsProducer::crd(),
        HorizontalAutoscaler::crd(),
        ScalableNodeGroup::crd(),
        CronFederatedHPA::crd(),
        FederatedHPA::crd(),
    ]
    .into_iter()
    .map(|definition| CustomResource { definition })
    .collect()
}

/// The definition of placements, which is for checking only: as long as no controller carries them out, a cluster
/// has that of Open Cluster Management, or none.
#[must_use]
pub(crate) fn placement() -> CustomResource {
    CustomResource { definition: Placement::crd() }
}

impl CustomResource {
    /// The kind's name.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.definition.spec.names.kind
    }

    /// Which of the kinds we know it is.
    #[must_use]
    pub fn known_kind(&self) -> Option<Kind> {
        Kind::of(&self.definition.spec.group, self.kind())
    }

    /// The name of its file in a folder of definitions: `autoscaling.karmada.io_federatedhpas`.
    #[must_use]
    pub fn file_stem(&self) -> String {
        format!("{}_{}", self.definition.spec.group, self.definition.spec.names.plural)
    }

    /// The definition as it is applied to a cluster.
    #[must_use]
    pub fn manifest(&self) -> Value {
        serde_json::to_value(&self.definition).unwrap_or_default()
    }

    /// Where editors look for its schema: `autoscaling.karmada.io/federatedhpa_v1alpha1.json`.
    #[must_use]
    pub fn json_schema_path(&self) -> String {
        let spec = &self.definition.spec;
        format!("{}/{}_{}.json", spec.group, self.kind().to_lowercase(), self.version())
    }

    fn version(&self) -> &str {
        self.definition.spec.versions.first().map_or("", |version| &version.name)
    }

    /// Its schema for editors: plain JSON Schema, which knows nothing of Kubernetes' own words.
    #[must_use]
    pub fn json_schema(&self) -> Value {
        let mut schema = self.schema();
        to_plain(&mut schema);
        let api_version = format!("{}/{}", self.definition.spec.group, self.version());
        schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
        schema["title"] = json!(self.kind());
        schema["properties"]["apiVersion"] = json!({ "const": api_version });
        schema["properties"]["kind"] = json!({ "const": self.kind() });
        schema["properties"]["metadata"] = json!({ "type": "object" });
        schema["required"] = json!(["apiVersion", "kind", "metadata", "spec"]);
        schema
    }

    /// The schema of its one version, as JSON.
    #[must_use]
    pub fn schema(&self) -> Value {
        let version = self.definition.spec.versions.first();
        let validation = version.and_then(|version| version.schema.as_ref());
        let schema = validation.and_then(|validation| validation.open_api_v3_schema.as_ref());
        serde_json::to_value(schema).unwrap_or_default()
    }
}

/// Says in plain JSON Schema what Kubernetes says with words of its own: null besides a type, whole
/// numbers or text, and that a map has no other fields than those it names.
fn to_plain(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    let flag = |name: &str| fields.get(name) == Some(&Value::Bool(true));
    let (nullable, either) = (flag("nullable"), flag("x-kubernetes-int-or-string"));
    let open = flag("x-kubernetes-preserve-unknown-fields");
    let mut types: Vec<Value> = if either {
        vec![json!("integer"), json!("string")]
    } else {
        fields.get("type").cloned().into_iter().collect()
    };
    if nullable && !types.is_empty() {
        types.push(json!("null"));
    }
    fields.retain(|name, _| !name.starts_with("x-kubernetes-") && name != "nullable");
    match types.len() {
        0 => {}
        1 => {
            fields.insert("type".to_owned(), types.swap_remove(0));
        }
        _ => {
            fields.insert("type".to_owned(), Value::Array(types));
        }
    }
    if fields.contains_key("properties") && !open {
        fields.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    for name in ["items", "additionalProperties"] {
        if let Some(inner) = fields.get_mut(name) {
            to_plain(inner);
        }
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(to_plain);
    }
}
