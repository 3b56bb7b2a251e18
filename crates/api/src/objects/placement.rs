//! `Placement`: which clusters of the sets bound to its namespace are selected.
//!
//! As Open Cluster Management has it, in `v1beta1` and in the `v1alpha1` of the design: fields that only one of
//! them has are in both, and so are both spellings of `BuiltIn`.

use almanac_engine::placement::ScoreSource;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::core::Rule;
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::hub;
use super::placement_status::PlacementStatus;

/// The most scores that a placement lists. The limit bounds the rules that compare each score with each other.
const MAX_SCORES: usize = 64;
/// The longest name of a score, and of the objects that it is in.
const MAX_NAME: usize = 253;

/// With the value `true`, this annotation keeps the selection of a placement unchanged.
pub const DISABLE_ANNOTATION: &str =
    "cluster.open-cluster-management.io/experimental-scheduling-disable";

/// How clusters are selected. Without anything, all clusters of the sets bound to the namespace are.
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
    /// How many clusters to select at most. Without it, all that match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub number_of_clusters: Option<i32>,
    /// One of them has to match a cluster. Without any, every cluster matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predicates: Vec<ClusterPredicate>,
    /// How the clusters are ranked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prioritizer_policy: Option<PrioritizerPolicy>,
    /// Accepted, and has no effect yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread_policy: Option<SpreadPolicy>,
    /// The taints of clusters that are tolerated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// How selected clusters are divided.
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
    /// All of it has to match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_cluster_selector: Option<ClusterSelector>,
}

/// Selects clusters: all parts have to match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSelector {
    /// By their labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "hub::label_selector")]
    pub label_selector: Option<LabelSelector>,
    /// By their claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_selector: Option<ClaimSelector>,
    /// By expressions over the whole object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cel_selector: Option<CelSelector>,
}

/// Selects clusters by their claims: all requirements have to hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimSelector {
    /// The requirements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "hub::selector_requirements")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// Selects clusters by expressions: all of them have to hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CelSelector {
    /// The expressions, in the Common Expression Language. `managedCluster` is the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cel_expressions: Vec<String>,
}

/// What ranks clusters.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrioritizerPolicy {
    /// `Additive`: Balance and Steady count unless their weight is changed. `Exact`: only what is listed counts.
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
    validation = Rule::new("has(self.scoreCoordinate) || has(self.name)").message("scoreCoordinate: Required value: which score the weight is of"),
)]
pub struct PrioritizerConfig {
    /// The name of a score that is built in. `scoreCoordinate` overrides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "built_in")]
    pub name: Option<String>,
    /// Which score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_coordinate: Option<ScoreCoordinate>,
    /// Its weight. Below 0 the last clusters come first; 0 is off.
    #[serde(default = "one", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -10, max = 10))]
    pub weight: Option<i32>,
}

/// Where a score comes from.
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
    /// The same, as the design writes it.
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
    /// For how long after a taint was added it is tolerated. Without it, forever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

/// How selected clusters are divided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionStrategy {
    /// Into groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_strategy: Option<GroupStrategy>,
}

/// How selected clusters are divided into groups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupStrategy {
    /// The groups that are formed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decision_groups: Vec<DecisionGroup>,
    /// How many clusters a group has at most: a number, or a percentage such as `25%`.
    #[serde(default = "all", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "number_or_percentage")]
    pub clusters_per_decision_group: Option<IntOrString>,
}

/// Selected clusters that are in groups of their own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionGroup {
    /// The name of the group, which is a label of its decisions.
    #[schemars(regex(pattern = hub::NAME_OF_GROUP))]
    pub group_name: String,
    /// Which of the clusters.
    pub group_cluster_selector: GroupClusterSelector,
}

/// Selects clusters: both parts have to match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupClusterSelector {
    /// By their labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "hub::label_selector")]
    pub label_selector: Option<LabelSelector>,
    /// By their claims.
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

/// How selected clusters are spread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpreadPolicy {
    /// Over what, the most important first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    pub spread_constraints: Vec<SpreadConstraint>,
}

/// Over what selected clusters are spread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpreadConstraint {
    /// By how many clusters two values may differ.
    #[serde(default = "one", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_skew: Option<i32>,
    /// The name of a label or a claim.
    #[schemars(schema_with = "hub::label_key")]
    pub topology_key: String,
    /// Whether it is a label or a claim.
    pub topology_key_type: TopologyKeyType,
    /// What to do where the clusters cannot be spread.
    #[serde(default = "anyway", skip_serializing_if = "Option::is_none")]
    pub when_unsatisfiable: Option<WhenUnsatisfiable>,
}

/// What selected clusters are spread by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TopologyKeyType {
    /// A label.
    Label,
    /// A claim.
    Claim,
}

/// What to do where clusters cannot be spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WhenUnsatisfiable {
    /// Select no more.
    DoNotSchedule,
    /// Select all the same.
    ScheduleAnyway,
}

/// Two configurations of one score would be two weights. A score is one of an add-on, or one that is built in, by the
/// first of its names that is not empty; an entry without a name is not a score.
fn each_score_once() -> Rule {
    let score = |of: &str| {
        let at = format!("{of}.scoreCoordinate");
        let unless_empty = |path: String| format!("has({path}) && {path} != '' ? [{path}] : ");
        let [usual, older] = ["builtIn", "buildIn"].map(|it| unless_empty(format!("{at}.{it}")));
        let name = unless_empty(format!("{of}.name"));
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

/// A default of an optional field: the function that serde and the schema take it from.
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
