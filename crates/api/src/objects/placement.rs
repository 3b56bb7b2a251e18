//! `Placement`: a selection of clusters from the sets bound to its namespace.
//!
//! The kind follows Open Cluster Management, in `v1beta1` and in the `v1alpha1` of the design. Both versions have the
//! fields of either version, and both spellings of `BuiltIn`.

use almanac_engine::placement::ScoreSource;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::core::Rule;
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::hub;
use super::placement_status::PlacementStatus;

/// The maximum number of scores of a placement. The limit bounds the rules that compare each score with each other.
const MAX_SCORES: usize = 64;
/// The maximum length of the name of a score, and of the objects that contain the score.
const MAX_NAME: usize = 253;

/// With the value `true`, this annotation keeps the selection of a placement unchanged.
pub const DISABLE_ANNOTATION: &str =
    "cluster.open-cluster-management.io/experimental-scheduling-disable";

/// The selection of clusters. Without any field, all clusters of the sets bound to the namespace are selected.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta1",
    kind = "Placement",
    plural = "placements",
    namespaced,
    status = "PlacementStatus",
    derive = "PartialEq",
    doc = "Selects clusters from the ManagedClusterSets that are bound to its namespace.",
    printcolumn(
        name = "Succeeded",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"PlacementSatisfied\")].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"PlacementSatisfied\")].reason"
    ),
    printcolumn(
        name = "SelectedClusters",
        type_ = "integer",
        json_path = ".status.numberOfSelectedClusters"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct PlacementSpec {
    /// The sets to select from. Without any, all sets that are bound to the namespace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_sets: Vec<String>,
    /// The maximum number of clusters to select. Without it, all that match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub number_of_clusters: Option<i32>,
    /// The predicates, one of which must match a cluster. Without any, every cluster matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predicates: Vec<ClusterPredicate>,
    /// The ranking of the clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prioritizer_policy: Option<PrioritizerPolicy>,
    /// Accepted, and has no effect yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread_policy: Option<SpreadPolicy>,
    /// The taints of clusters that are tolerated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// The division of the selected clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_strategy: Option<DecisionStrategy>,
    /// The order of the clusters in the decisions: `ClusterName`. `Score` is accepted, and has no effect yet.
    #[serde(default = "by_name", skip_serializing_if = "Option::is_none")]
    pub sort_by: Option<SortBy>,
    /// Accepted, and has no effect yet.
    #[serde(default = "every_minute", skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = hub::RATE_LIMIT))]
    pub score_rate_limit: Option<String>,
}

/// The requirements of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterPredicate {
    /// The selector, all parts of which must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_cluster_selector: Option<ClusterSelector>,
}

/// Selects clusters: all parts must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSelector {
    /// The labels by which clusters are selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "hub::label_selector")]
    pub label_selector: Option<LabelSelector>,
    /// The claims by which clusters are selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_selector: Option<ClaimSelector>,
    /// The expressions over the whole object by which clusters are selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cel_selector: Option<CelSelector>,
}

/// Selects clusters by their claims: all requirements must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimSelector {
    /// The requirements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "hub::selector_requirements")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// Selects clusters by expressions: all of them must be true.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CelSelector {
    /// The expressions, in the Common Expression Language. `managedCluster` is the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cel_expressions: Vec<String>,
}

/// The scores that rank clusters.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrioritizerPolicy {
    /// `Additive`: Balance and Steady apply unless their weight is changed. `Exact`: only the listed scores apply.
    #[serde(default = "additive", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "mode")]
    pub mode: Option<String>,
    /// The scores, with their weights.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_SCORES))]
    #[x_kube(validation = each_score_once())]
    pub configurations: Vec<PrioritizerConfig>,
}

/// A score and its weight.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.scoreCoordinate) || has(self.name)").message("scoreCoordinate: Required value: the score of the weight"),
)]
pub struct PrioritizerConfig {
    /// The name of a score that is built in. `scoreCoordinate` overrides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "built_in")]
    pub name: Option<String>,
    /// The score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_coordinate: Option<ScoreCoordinate>,
    /// The weight of the score. Below 0, the last clusters come first; 0 is off.
    #[serde(default = "one", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -10, max = 10))]
    pub weight: Option<i32>,
}

/// The source of a score.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScoreCoordinate {
    /// `BuiltIn` or `AddOn`. The design writes `BuildIn`.
    #[serde(default = "built_in_type", rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "coordinate_type")]
    pub kind: Option<String>,
    /// The name of a score that is built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "built_in")]
    pub built_in: Option<String>,
    /// `builtIn` in the spelling of the design.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "built_in")]
    pub build_in: Option<String>,
    /// A score in the `AddOnPlacementScore`s of the clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub add_on: Option<AddOnScore>,
}

/// A score in the `AddOnPlacementScore`s of the clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddOnScore {
    /// The name of the objects.
    #[schemars(length(max = MAX_NAME))]
    pub resource_name: String,
    /// The name of the score in them.
    #[schemars(length(max = MAX_NAME))]
    pub score_name: String,
}

/// Tolerates taints of clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Toleration {
    /// The key of the taints. Empty for all, with the operator `Exists`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "hub::label_key")]
    pub key: Option<String>,
    /// `Equal` or `Exists`.
    #[serde(default = "equal", skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    /// The value of the taints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub value: Option<String>,
    /// The effect of the taints. Without it, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "effect")]
    pub effect: Option<String>,
    /// The seconds after its addition for which a taint is tolerated. Without it, forever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

/// The division of the selected clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionStrategy {
    /// The division into groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_strategy: Option<GroupStrategy>,
}

/// The division of selected clusters into groups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupStrategy {
    /// The groups that are formed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decision_groups: Vec<DecisionGroup>,
    /// The maximum number of clusters in a group: a number, or a percentage such as `25%`.
    #[serde(default = "all", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "number_or_percentage")]
    pub clusters_per_decision_group: Option<IntOrString>,
}

/// The selected clusters that form groups of their own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionGroup {
    /// The name of the group, which is a label of its decisions.
    #[schemars(regex(pattern = hub::NAME_OF_GROUP))]
    pub group_name: String,
    /// The selector of the clusters in these groups.
    pub group_cluster_selector: GroupClusterSelector,
}

/// Selects clusters: both parts must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupClusterSelector {
    /// The labels by which clusters are selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "hub::label_selector")]
    pub label_selector: Option<LabelSelector>,
    /// The claims by which clusters are selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_selector: Option<ClaimSelector>,
}

/// The order of the clusters in the decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SortBy {
    /// By their names.
    ClusterName,
    /// By their totals.
    Score,
}

/// The spread of selected clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpreadPolicy {
    /// The constraints, the most important first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub spread_constraints: Vec<SpreadConstraint>,
}

/// A label or claim over whose values selected clusters are spread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpreadConstraint {
    /// The maximum difference in the number of clusters of two values.
    #[serde(default = "one", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_skew: Option<i32>,
    /// The name of a label or a claim.
    #[schemars(schema_with = "hub::label_key")]
    pub topology_key: String,
    /// Whether it is a label or a claim.
    pub topology_key_type: TopologyKeyType,
    /// The behavior if the clusters cannot be spread.
    #[serde(default = "anyway", skip_serializing_if = "Option::is_none")]
    pub when_unsatisfiable: Option<WhenUnsatisfiable>,
}

/// The type of a topology key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TopologyKeyType {
    /// A label.
    Label,
    /// A claim.
    Claim,
}

/// The behavior if clusters cannot be spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WhenUnsatisfiable {
    /// Select no more.
    DoNotSchedule,
    /// Select the clusters nevertheless.
    ScheduleAnyway,
}

/// Two configurations of one score would be two weights. A score belongs to an add-on or is built in, and its name is
/// the first name that is not empty. An entry without a name is not a score.
fn each_score_once() -> Rule {
    let score = |variable: &str| {
        let at = format!("{variable}.scoreCoordinate");
        let unless_empty = |path: String| format!("has({path}) && {path} != '' ? [{path}] : ");
        let [usual, older] = ["builtIn", "buildIn"].map(|it| unless_empty(format!("{at}.{it}")));
        let name = unless_empty(format!("{variable}.name"));
        format!(
            "(!has({at}) ? ({name}[]) : {at}.type == 'AddOn' ? (has({at}.addOn) ? \
             [{at}.addOn.resourceName, {at}.addOn.scoreName] : []) : {usual}{older}{name}[])"
        )
    };
    let (one, other) = (score("one"), score("other"));
    let rule = format!("self.all(one, {one} == [] || self.exists_one(other, {one} == {other}))");
    Rule::new(rule).message("Duplicate value: each score has one weight")
}

fn mode(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["Additive", "Exact", ""] })
}

fn coordinate_type(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["BuiltIn", "AddOn", "BuildIn", ""] })
}

fn built_in(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = ScoreSource::BUILT_IN.into_iter().chain([""]).collect();
    json_schema!({ "type": "string", "enum": names })
}

fn effect(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["NoSelect", "PreferNoSelect", "NoSelectIfNew"] })
}

fn number_or_percentage(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "pattern": hub::GROUP_SIZE,
        "x-kubernetes-int-or-string": true
    })
}

/// The functions that provide the defaults of optional fields to serde and to the schema.
macro_rules! defaults {
    ($($name:ident: $type:ty = $value:expr;)+) => {
        $(
            fn $name() -> Option<$type> {
                Some($value)
            }
        )+
    };
}

defaults! {
    additive: String = "Additive".to_owned();
    all: IntOrString = IntOrString::String("100%".to_owned());
    anyway: WhenUnsatisfiable = WhenUnsatisfiable::ScheduleAnyway;
    built_in_type: String = "BuiltIn".to_owned();
    by_name: SortBy = SortBy::ClusterName;
    equal: String = "Equal".to_owned();
    every_minute: String = "1m".to_owned();
    one: i32 = 1;
}
