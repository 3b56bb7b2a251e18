//! The ignore annotation or label, which exempts an object or all objects of a namespace from every policy, and the namespaces
//! that are exempt by default.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::ApiResource;
use serde_json::Value;

/// The key of the ignore annotation, or label. Any value but `false` exempts.
pub const MARK: &str = "almanac.dev/ignore";

/// The namespaces that are exempt by default.
pub const EXEMPT_NAMESPACES: [&str; 1] = ["kube-system"];

/// The resource of namespaces, which may have the ignore annotation, for requests to an API server.
#[must_use]
pub fn namespaces() -> ApiResource {
    ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        api_version: "v1".to_owned(),
        kind: "Namespace".to_owned(),
        plural: "namespaces".to_owned(),
    }
}

/// Whether an object with these metadata has the ignore annotation.
#[must_use]
pub fn is_marked(metadata: &ObjectMeta) -> bool {
    let both = [&metadata.annotations, &metadata.labels].into_iter().flatten();
    both.filter_map(|texts| texts.get(MARK)).any(|value| exempts(value))
}

/// Whether an object with these metadata, as JSON, has the ignore annotation.
#[must_use]
pub fn is_marked_in(metadata: &Value) -> bool {
    let both = ["annotations", "labels"].map(|field| &metadata[field][MARK]);
    both.into_iter().filter_map(Value::as_str).any(exempts)
}

/// Whether the value of the ignore annotation exempts.
pub(crate) fn exempts(value: &str) -> bool {
    value != "false"
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn the_mark_is_an_annotation_or_a_label_that_is_not_false() {
        for (metadata, marked) in [
            (json!({}), false),
            (json!({ "annotations": {}, "labels": { "app": "x" } }), false),
            (json!({ "annotations": { MARK: "true" } }), true),
            (json!({ "annotations": { MARK: "" } }), true),
            (json!({ "annotations": { MARK: "until Friday" }, "labels": {} }), true),
            (json!({ "labels": { MARK: "true" } }), true),
            (json!({ "annotations": { MARK: "false" } }), false),
            (json!({ "labels": { MARK: "false" } }), false),
        ] {
            assert_eq!(is_marked_in(&metadata), marked, "{metadata}");
            let typed: ObjectMeta = from_value(metadata.clone()).expect("valid metadata");
            assert_eq!(is_marked(&typed), marked, "{metadata}");
        }
    }
}
