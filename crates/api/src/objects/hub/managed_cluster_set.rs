//! `ManagedClusterSet`, a set of clusters, and `ManagedClusterSetBinding`, which lets the placements of a namespace
//! select from it.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::{CustomResource, CustomResourceExt, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{schema, versions};
use crate::kinds::Kind;

/// The definition of a set. The default selector type has another name in each version.
pub(super) fn set() -> CustomResourceDefinition {
    let mut definition = versions::as_served(Kind::ManagedClusterSet, ManagedClusterSet::crd());
    versions::let_spec_be_absent(&mut definition);
    versions::deprecate_older(&mut definition);
    for (version, schema) in versions::schemas(&mut definition) {
        let usual = match version {
            "v1beta1" => "LegacyClusterSetLabel",
            _ => "ExclusiveClusterSetLabel",
        };
        let selector = json!({ "selectorType": usual });
        let path = ["spec", "clusterSelector", "selectorType"];
        versions::set_default(schema, &path[..1], json!({ "clusterSelector": selector }));
        versions::set_default(schema, &path[..2], selector);
        versions::set_default(schema, &path, json!(usual));
    }
    definition
}

/// The definition of a binding.
pub(super) fn binding() -> CustomResourceDefinition {
    let definition = ManagedClusterSetBinding::crd();
    let mut definition = versions::as_served(Kind::ManagedClusterSetBinding, definition);
    versions::deprecate_older(&mut definition);
    definition
}

/// The clusters in the set.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, Serialize, Deserialize)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta2",
    kind = "ManagedClusterSet",
    plural = "managedclustersets",
    shortname = "mclset",
    shortname = "mclsets",
    status = "ManagedClusterSetStatus",
    doc = "A set of clusters. The placements of a namespace select from it where a ManagedClusterSetBinding lets them.",
    printcolumn(
        name = "Empty",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"ClusterSetEmpty\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
struct ManagedClusterSetSpec {
    /// The selector of the clusters in the set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster_selector: Option<ManagedClusterSelector>,
    /// The namespaces to manage in the clusters. Almanac does not read them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    managed_namespaces: Vec<ManagedNamespace>,
}

/// The selector of the clusters in a set.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ManagedClusterSelector {
    /// `ExclusiveClusterSetLabel`: a cluster names its set in a label, so it is in at most one set.
    /// `LegacyClusterSetLabel` is the same under an older name. `LabelSelector`: by any labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    selector_type: Option<SelectorType>,
    /// The labels, where that is the type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::label_selector")]
    label_selector: Option<LabelSelector>,
}

/// The types of selectors of the clusters in a set.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
enum SelectorType {
    ExclusiveClusterSetLabel,
    LegacyClusterSetLabel,
    LabelSelector,
}

/// A namespace to manage.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ManagedNamespace {
    /// The namespace.
    #[schemars(schema_with = "schema::name_of_namespace")]
    name: String,
}

/// The observed state.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ManagedClusterSetStatus {
    /// Whether the set is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    conditions: Vec<Condition>,
}

/// The set that is bound.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, Serialize, Deserialize)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta2",
    kind = "ManagedClusterSetBinding",
    plural = "managedclustersetbindings",
    shortname = "mclsetbinding",
    shortname = "mclsetbindings",
    namespaced,
    status = "ManagedClusterSetBindingStatus",
    doc = "Lets the placements of its namespace select from the ManagedClusterSet of the same name.",
    validation = Rule::new("self.metadata.name == self.spec.clusterSet").message("metadata.name: a binding has the name of the set that it binds")
)]
#[serde(rename_all = "camelCase")]
struct ManagedClusterSetBindingSpec {
    /// The name of the set, and of the binding.
    #[schemars(length(min = 1))]
    cluster_set: String,
}

/// The observed state.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ManagedClusterSetBindingStatus {
    /// Whether the set exists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    conditions: Vec<Condition>,
}
