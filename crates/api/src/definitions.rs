//! The kinds that we define, each with its CRD and its schema, in the order of the documentation; and the fields that
//! another CRD of a kind lacks. The descriptor of a family lists the kinds that it defines.

mod missing_fields;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion,
};
use serde_json::{Map, Value, json};

use crate::families::Controlled;
use crate::kinds::Kind;

pub use missing_fields::MissingFields;

/// A kind we define.
pub struct CustomResource {
    /// The CRD, as the API server accepts it.
    pub definition: CustomResourceDefinition,
}

/// The kinds of all objects that Almanac's controllers reconcile by default. The other kinds are separate. A hub of
/// Open Cluster Management, or a cluster whose scheduler has a plugin for units, has CRDs of its own, and ours must not
/// replace them.
#[must_use]
pub fn custom_resources() -> Vec<CustomResource> {
    let by_default = Controlled::all().filter(|it| it.is_by_default());
    let mut resources: Vec<_> = by_default.flat_map(custom_resources_of).collect();
    resources.sort_by_key(CustomResource::known_kind);
    resources
}

/// All kinds we define.
#[must_use]
pub fn all_custom_resources() -> Vec<CustomResource> {
    let others = Controlled::all().filter(|it| !it.is_by_default());
    custom_resources().into_iter().chain(others.flat_map(custom_resources_of)).collect()
}

/// The kinds that the reconciliation of some objects requires.
#[must_use]
pub fn custom_resources_of(controlled: Controlled) -> Vec<CustomResource> {
    let definitions = controlled.definitions().into_iter();
    definitions.map(|definition| CustomResource { definition }).collect()
}

impl CustomResource {
    /// The name of the kind, such as `Placement`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.definition.spec.names.kind
    }

    /// The kind; `None` for one that Almanac does not read.
    #[must_use]
    pub fn known_kind(&self) -> Option<Kind> {
        Kind::find(&self.definition.spec.group, self.kind())
    }

    /// The name of the file in a directory of CRDs: `autoscaling.karmada.io_federatedhpas`.
    #[must_use]
    pub fn file_stem(&self) -> String {
        format!("{}_{}", self.definition.spec.group, self.definition.spec.names.plural)
    }

    /// The CRD as it is applied to a cluster.
    #[must_use]
    pub fn manifest(&self) -> Value {
        serde_json::to_value(&self.definition).unwrap_or_default()
    }

    /// The schemas for editors, one for each version, with the paths that editors search
    /// (`autoscaling.karmada.io/federatedhpa_v1alpha1.json`): plain JSON Schema, without Kubernetes' own keywords.
    pub fn json_schemas(&self) -> impl Iterator<Item = (String, Value)> {
        let spec = &self.definition.spec;
        spec.versions.iter().map(move |version| {
            let name = self.kind().to_lowercase();
            let path = format!("{}/{name}_{}.json", spec.group, version.name);
            (path, self.json_schema(version))
        })
    }

    fn json_schema(&self, version: &CustomResourceDefinitionVersion) -> Value {
        let mut schema = schema_of(version);
        to_plain(&mut schema);
        let api_version = format!("{}/{}", self.definition.spec.group, version.name);
        schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
        schema["title"] = json!(self.kind());
        schema["properties"]["apiVersion"] = json!({ "const": api_version });
        schema["properties"]["kind"] = json!({ "const": self.kind() });
        schema["properties"]["metadata"] = json!({ "type": "object" });
        let own = schema["required"].as_array().cloned().unwrap_or_default();
        let envelope = ["apiVersion", "kind", "metadata"].map(Value::from);
        schema["required"] = envelope.into_iter().chain(own).collect();
        schema
    }

    /// The schema of the stored version, which has the fields of all versions.
    #[must_use]
    pub fn schema(&self) -> Value {
        self.definition.spec.versions.first().map(schema_of).unwrap_or_default()
    }
}

fn schema_of(version: &CustomResourceDefinitionVersion) -> Value {
    let schema = version.schema.as_ref().and_then(|it| it.open_api_v3_schema.as_ref());
    serde_json::to_value(schema).unwrap_or_default()
}

/// Expresses in plain JSON Schema the fields that the rules of a map forbid or require, if a rule does nothing else.
fn apply_rules(fields: &mut Map<String, Value>) {
    let rules = fields.get("x-kubernetes-validations").and_then(Value::as_array);
    let texts = rules.into_iter().flatten().filter_map(|rule| rule["rule"].as_str());
    let texts: Vec<String> = texts.map(str::to_owned).collect();
    let parts = |begin, end| {
        texts.iter().filter_map(move |rule| {
            let last = rule.rsplit(" || ").next()?;
            Some((rule, last.strip_prefix(begin)?.strip_suffix(end)?))
        })
    };
    let forbidden: Vec<&str> =
        parts("!has(self.", ")").filter(|(rule, _)| !rule.contains("||")).map(|it| it.1).collect();
    // A field that is optional only next to a forbidden field is required.
    let is_needed = |rule: &str| {
        let first = rule.split(" || ").next().and_then(|it| it.strip_prefix("has(self."));
        first.and_then(|it| it.strip_suffix(")")).is_some_and(|it| forbidden.contains(&it))
    };
    let needed = parts("size(self.", ") > 0").filter(|(rule, _)| is_needed(rule)).map(|it| it.1);
    let needed: Vec<&str> = needed.collect();
    if let Some(properties) = fields.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| !forbidden.contains(&name.as_str()));
        for name in &needed {
            if let Some(Value::Object(field)) = properties.get_mut(*name) {
                field.entry("minLength").or_insert(json!(1));
            }
        }
    }
    if !needed.is_empty() {
        let required = fields.entry("required").or_insert_with(|| json!([]));
        let known = required.as_array().cloned().unwrap_or_default();
        let more = needed.into_iter().map(Value::from).filter(|it| !known.contains(it));
        *required = known.iter().cloned().chain(more).collect();
    }
}

/// Replaces Kubernetes' own keywords with plain JSON Schema: null as a second type, whole numbers or text, and maps
/// without unknown fields.
fn to_plain(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    let flag = |name: &str| fields.get(name) == Some(&Value::Bool(true));
    let (nullable, either) = (flag("nullable"), flag("x-kubernetes-int-or-string"));
    let open = flag("x-kubernetes-preserve-unknown-fields");
    apply_rules(fields);
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
