//! The two kinds whose content is all in their status: `AddOnPlacementScore`, the scores of a cluster, and
//! `PlacementDecision`, the clusters that a placement has selected.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, CustomResourceExt, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{schema, versions};
use crate::kinds::Kind;

/// The definition of scores.
pub(super) fn score() -> CustomResourceDefinition {
    let mut definition = versions::as_served(Kind::AddOnPlacementScore, AddOnPlacementScore::crd());
    versions::remove_spec(&mut definition);
    definition
}

/// The definition of decisions.
pub(super) fn decision() -> CustomResourceDefinition {
    let mut definition = versions::as_served(Kind::PlacementDecision, PlacementDecision::crd());
    versions::remove_spec(&mut definition);
    definition
}

/// An empty spec, which the derive of a definition requires.
#[derive(CustomResource, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1alpha1",
    kind = "AddOnPlacementScore",
    plural = "addonplacementscores",
    namespaced,
    status = "AddOnPlacementScoreStatus",
    doc = "Scores of the cluster to which its namespace belongs. All content is in the status. A plain kubectl apply drops it: create the object, then apply it again with --server-side --subresource=status."
)]
struct NoSpecOfScores {}

/// The scores.
#[derive(KubeSchema, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AddOnPlacementScoreStatus {
    /// Whether the scores could be computed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    conditions: Vec<Condition>,
    /// The scores, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    scores: Vec<Score>,
    /// From this instant on, all of them are 0. Without it, they never expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    valid_until: Option<Time>,
}

/// A score.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Score {
    /// The name that placements use.
    name: String,
    /// The suitability of the cluster. 0 may be omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -100, max = 100))]
    value: Option<i32>,
}

/// An empty spec, which the derive of a definition requires.
#[derive(CustomResource, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta1",
    kind = "PlacementDecision",
    plural = "placementdecisions",
    namespaced,
    status = "PlacementDecisionStatus",
    doc = "Clusters that a placement has selected, at most 100. Its labels name the placement and the group."
)]
struct NoSpecOfDecisions {}

/// The selected clusters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PlacementDecisionStatus {
    /// The clusters.
    decisions: Vec<ClusterDecision>,
}

/// A selected cluster.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ClusterDecision {
    /// The name of the cluster.
    cluster_name: String,
    /// The reason for the selection. May be empty.
    reason: String,
    /// The score of the cluster. Almanac sets none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    score: Option<i64>,
}
