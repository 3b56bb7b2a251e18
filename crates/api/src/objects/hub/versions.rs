//! The parts of a definition that cannot be derived: several versions, fields that are absent rather than null, objects
//! without a spec, and defaults of objects as a whole.
//!
//! All versions of a kind have the same fields, so an object is stored as it is written and served as it is stored,
//! and no object is converted.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::Value;

use crate::kinds::Kind;

/// The field that may be null: clients in Go write an absent time as null.
const NULLABLE: &str = "timeAdded";

/// The definition in all versions of its kind. The first one is stored.
pub(super) fn as_served(
    kind: Kind,
    mut definition: CustomResourceDefinition,
) -> CustomResourceDefinition {
    let Some(stored) = definition.spec.versions.first_mut() else { return definition };
    let schema = stored.schema.as_mut().and_then(|it| it.open_api_v3_schema.as_mut());
    if let Some(schema) = schema {
        without_null(schema);
    }
    let stored = stored.clone();
    let others = kind.versions().iter().skip(1).map(|name| {
        let mut other = stored.clone();
        (*name).clone_into(&mut other.name);
        other.storage = false;
        other
    });
    definition.spec.versions.extend(others);
    definition
}

/// Marks every version but the stored one as deprecated.
pub(super) fn deprecate_older(definition: &mut CustomResourceDefinition) {
    for version in definition.spec.versions.iter_mut().filter(|it| !it.storage) {
        version.deprecated = Some(true);
    }
}

/// The schemas, each with the name of its version.
pub(super) fn schemas(
    definition: &mut CustomResourceDefinition,
) -> impl Iterator<Item = (&str, &mut JSONSchemaProps)> {
    definition.spec.versions.iter_mut().filter_map(|version| {
        let schema = version.schema.as_mut()?.open_api_v3_schema.as_mut()?;
        Some((&*version.name, schema))
    })
}

/// Removes the spec, which a derived definition always has.
pub(super) fn remove_spec(definition: &mut CustomResourceDefinition) {
    for (_, schema) in schemas(definition) {
        schema.required = None;
        if let Some(properties) = &mut schema.properties {
            properties.remove("spec");
        }
    }
}

/// Makes the spec optional.
pub(super) fn let_spec_be_absent(definition: &mut CustomResourceDefinition) {
    for (_, schema) in schemas(definition) {
        schema.required = None;
    }
}

/// Gives the field at a path a default.
pub(super) fn set_default(schema: &mut JSONSchemaProps, path: &[&str], default: Value) {
    match path {
        [] => schema.default = Some(JSON(default)),
        [name, rest @ ..] => {
            if let Some(field) = schema.properties.as_mut().and_then(|it| it.get_mut(*name)) {
                set_default(field, rest, default);
            }
        }
    }
}

/// Removes null from optional fields, which may be absent instead. An API server drops the null of such a field.
fn without_null(schema: &mut JSONSchemaProps) {
    for (name, field) in schema.properties.iter_mut().flatten() {
        without_null(field);
        field.nullable = (name == NULLABLE).then_some(true);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        without_null(items);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        without_null(values);
    }
}
