//! `ManagedCluster`: a cluster that is registered with a hub. Agents write it; placements read it.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, CustomResourceExt, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{schema, versions};
use crate::kinds::Kind;

/// The definition.
pub(super) fn definition() -> CustomResourceDefinition {
    let mut definition = versions::as_served(Kind::ManagedCluster, ManagedCluster::crd());
    versions::let_spec_be_absent(&mut definition);
    definition
}

/// The configuration of the cluster in the hub, and the taints that repel placements.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, Serialize, Deserialize)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1",
    kind = "ManagedCluster",
    plural = "managedclusters",
    shortname = "mcl",
    shortname = "mcls",
    status = "ManagedClusterStatus",
    doc = "A cluster of a hub. Its scores are in the namespace of its name.",
    printcolumn(name = "Hub Accepted", type_ = "boolean", json_path = ".spec.hubAcceptsClient"),
    printcolumn(
        name = "Managed Cluster URLs",
        type_ = "string",
        json_path = ".spec.managedClusterClientConfigs[*].url"
    ),
    printcolumn(
        name = "Joined",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"ManagedClusterJoined\")].status"
    ),
    printcolumn(
        name = "Available",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"ManagedClusterConditionAvailable\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
struct ManagedClusterSpec {
    /// Whether the hub accepts the cluster. Almanac does not read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hub_accepts_client: Option<bool>,
    /// The interval, in seconds, at which the agent in the cluster renews its lease.
    #[serde(default = "a_minute", skip_serializing_if = "Option::is_none")]
    lease_duration_seconds: Option<i32>,
    /// The addresses of the API servers of the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    managed_cluster_client_configs: Vec<ClientConfig>,
    /// The taints, which keep the cluster out of placements that do not tolerate them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    taints: Vec<Taint>,
}

#[expect(clippy::unnecessary_wraps, reason = "the type of the field")]
fn a_minute() -> Option<i32> {
    Some(60)
}

/// The address of an API server.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ClientConfig {
    /// The URL of the API server.
    url: String,
    /// The certificates by which the API server is trusted. Defaults to those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "bytes")]
    ca_bundle: Option<String>,
}

/// Keeps a cluster out of placements that do not tolerate it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Taint {
    /// The key that tolerations name.
    #[schemars(schema_with = "schema::label_key")]
    key: String,
    /// The value that tolerations may require as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    value: Option<String>,
    /// `NoSelect` removes the cluster. `NoSelectIfNew` lets placements that have selected it keep it.
    /// With `PreferNoSelect`, it comes after others with the same total.
    effect: TaintEffect,
    /// The time at which the taint was added. Tolerations that expire are counted from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time_added: Option<Time>,
}

/// The effect of a taint.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
enum TaintEffect {
    NoSelect,
    PreferNoSelect,
    NoSelectIfNew,
}

/// The report of the agent in the cluster.
#[derive(KubeSchema, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManagedClusterStatus {
    /// Whether the cluster has joined, and is available.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    conditions: Vec<Condition>,
    /// The resources of all its nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::amounts")]
    capacity: BTreeMap<String, Quantity>,
    /// The part that pods can use. `ResourceAllocatableCPU` and `ResourceAllocatableMemory` rank by it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::amounts")]
    allocatable: BTreeMap<String, Quantity>,
    /// The version of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<ManagedClusterVersion>,
    /// The claims of the cluster about itself. Predicates select by them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cluster_claims: Vec<ManagedClusterClaim>,
    /// The namespaces that the sets of the cluster manage in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["clusterSet".into(), "name".into()]))]
    managed_namespaces: Vec<ManagedNamespaceOfSet>,
}

/// The version of a cluster.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ManagedClusterVersion {
    /// The version of Kubernetes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kubernetes: Option<String>,
}

/// A claim of a cluster about itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ManagedClusterClaim {
    /// The name of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    name: Option<String>,
    /// The value of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    value: Option<String>,
}

/// A namespace that a set manages in its clusters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ManagedNamespaceOfSet {
    /// The namespace.
    #[schemars(schema_with = "schema::name_of_namespace")]
    name: String,
    /// The set.
    cluster_set: String,
    /// Whether the namespace exists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    conditions: Vec<Condition>,
}

fn bytes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "byte" })
}
