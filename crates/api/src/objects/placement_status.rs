//! The status of a `Placement`: the number of selected clusters, their groups, and whether they are enough.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hub;

/// The selected clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacementStatus {
    /// The number of selected clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number_of_selected_clusters: Option<i32>,
    /// The groups of decisions, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decision_groups: Vec<DecisionGroupStatus>,
    /// Whether as many clusters are selected as the object requests, and whether it can be used at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "hub::conditions")]
    pub conditions: Vec<Condition>,
    /// The time of the last update of scores in decisions. Almanac writes no scores into decisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_score_update_time: Option<Time>,
}

/// A group of decisions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionGroupStatus {
    /// The index of the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_group_index: Option<i32>,
    /// The name of the group, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_group_name: Option<String>,
    /// The names of its `PlacementDecision`s.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    /// The number of clusters in the group.
    #[serde(default)]
    pub cluster_count: i32,
}
