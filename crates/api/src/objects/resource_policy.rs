//! `ResourcePolicy`: units of nodes with priorities and caps; pods fill the best unit first, and leave the worst first.
//!
//! The kind follows the design; `docs/compatibility.md` lists bounds that the design does not define.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::Rule;
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::hub::LABEL_KEY;
use super::schema::Observed;

/// The maximum number of reconciled policies of a namespace: a tenant must not slow down all others.
pub const MAX_POLICIES: usize = 64;
/// The maximum number of labels, expressions and values in the selectors of all units of a policy together.
pub(crate) const MAX_TERMS: usize = 10_000;
/// The maximum number of labels, expressions and values in the pod selector of a policy, which is compared with every
/// pod of the namespace.
pub(crate) const MAX_POD_TERMS: usize = 1_000;
/// The maximum number of units of a policy. The limit bounds the rules that compare each unit with each other.
const MAX_UNITS: usize = 64;
/// The maximum length of the name of a unit.
const MAX_UNIT_NAME: usize = 63;
/// The maximum number of labels by which pods are grouped.
const MAX_KEYS: usize = 8;
/// The maximum number of groups that a status lists for a unit.
pub(crate) const MAX_GROUPS: usize = 64;
/// The maximum length of the key of a label.
const MAX_KEY: usize = 317;
/// The maximum length of the value of a label.
const MAX_VALUE: usize = 63;

/// The nodes that the pods of the namespace use, their order, and the maximum number of pods on each kind of node.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "scheduling.sigs.x-k8s.io",
    version = "v1alpha1",
    kind = "ResourcePolicy",
    plural = "resourcepolicies",
    shortname = "rp",
    namespaced,
    status = "ResourcePolicyStatus",
    derive = "PartialEq",
    doc = "Units of nodes with priorities and caps: pods fill the best unit first, and leave the worst first.",
    printcolumn(name = "STRATEGY", type_ = "string", json_path = ".spec.strategy"),
    printcolumn(name = "USED", type_ = "integer", json_path = ".status.used"),
    printcolumn(name = "SPILLED", type_ = "integer", json_path = ".status.spilled"),
    printcolumn(
        name = "READY",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(
        name = "OVERCAP",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='OverCap')].status"
    ),
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ResourcePolicySpec {
    /// The pods of the namespace that are governed: all, if it is empty or absent. Pods of a `DaemonSet` and mirror pods
    /// never are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "pod_selector")]
    pub pod_selector: Option<LabelSelector>,
    /// The pods among these that count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_policy: Option<MatchPolicy>,
    /// The labels whose values form the groups of pods that are counted separately. Pods without one of them are in a
    /// group of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "label_keys")]
    pub match_label_keys: Vec<String>,
    /// The use of nodes outside all units: with `prefer` they are used after all units, with `required` never.
    #[serde(default = "prefer", skip_serializing_if = "Option::is_none")]
    pub strategy: Option<UnitStrategy>,
    /// The units. A node belongs to the unit with the highest priority whose selector matches it, or to the first of
    /// several.
    #[schemars(length(min = 1, max = MAX_UNITS))]
    #[x_kube(
        merge_strategy = ListMerge::Atomic,
        validation = each_name_once(),
        validation = no_name_of_one_without()
    )]
    pub units: Vec<Unit>,
}

/// The pods that count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MatchPolicy {
    /// Whether pods that are being deleted no longer count. Defaults to false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_terminating_pod: Option<bool>,
}

/// The use of nodes outside all units: with `prefer` they are used after all units, with `required` never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum UnitStrategy {
    /// Pods use them after all units.
    Prefer,
    /// Pods never use them.
    Required,
}

/// A kind of nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unit {
    /// The name of the unit. Defaults to `unit-` and its index in the list, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_UNIT_NAME))]
    pub name: Option<String>,
    /// Units with a higher priority are filled first, and are the last to lose pods. Defaults to 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub priority: Option<i32>,
    /// The maximum number of pods of a group in the unit. Without it, as many as fit its nodes; 0 closes the unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_count: Option<i32>,
    /// The selector of its nodes. It must not be empty.
    #[schemars(schema_with = "node_selector")]
    pub node_selector: LabelSelector,
}

/// The usage of the units.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourcePolicyStatus {
    /// The fields of every status.
    #[serde(flatten)]
    pub observed: Observed,
    /// The number of pods that count in units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<i32>,
    /// The number of pods on nodes outside all units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spilled: Option<i32>,
    /// The units, in the order of the spec.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_UNITS))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub units: Vec<UnitStatus>,
}

/// The usage of a unit.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitStatus {
    /// The name of the unit.
    #[schemars(length(max = MAX_UNIT_NAME))]
    pub name: String,
    /// The maximum number of pods of a group in the unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<i32>,
    /// The number of pods that count in the unit, over all groups.
    pub used: i32,
    /// The number of further pods for which the unit keeps capacity.
    pub leased: i32,
    /// The groups that have pods in it, the fullest first; of many, not all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_GROUPS))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub groups: Vec<UnitGroupStatus>,
}

/// The usage of a unit by a group of pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnitGroupStatus {
    /// The labels of the group. A key of `matchLabelKeys` that is not here is one that its pods don't have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "labels_of_group")]
    pub labels: BTreeMap<String, String>,
    /// The number of pods of the group that count in the unit.
    pub used: i32,
    /// The number of further pods of the group for which the unit keeps capacity.
    pub leased: i32,
}

#[expect(clippy::unnecessary_wraps, reason = "the type of the field")]
fn prefer() -> Option<UnitStrategy> {
    Some(UnitStrategy::Prefer)
}

fn each_name_once() -> Rule {
    let rule = "self.all(one, !has(one.name) || \
                self.exists_one(other, has(other.name) && other.name == one.name))";
    Rule::new(rule).message("Duplicate value: each unit has a name of its own")
}

/// Rejects a name that a unit without a name gets from its index. A policy has fewer than a hundred units.
fn no_name_of_one_without() -> Rule {
    let rule = "self.all(one, !has(one.name) || !one.name.matches('^unit-(0|[1-9][0-9]?)$') || \
                int(one.name.substring(5)) >= size(self) || \
                has(self[int(one.name.substring(5))].name))";
    Rule::new(rule)
        .message("Duplicate value: a unit without a name is called unit- and its position")
}

fn label_keys(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": MAX_KEYS,
        "items": { "type": "string", "maxLength": MAX_KEY, "pattern": LABEL_KEY },
        "x-kubernetes-list-type": "set"
    })
}

fn labels_of_group(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": { "type": "string", "maxLength": MAX_VALUE }
    })
}

fn pod_selector(_: &mut SchemaGenerator) -> Schema {
    selector(&[])
}

/// The schema of a node selector. An empty selector would match every node, which is rarely intended, and would hide
/// all units after it.
fn node_selector(_: &mut SchemaGenerator) -> Schema {
    let is_there = |list: &str| format!("has(self.{list}) && size(self.{list}) > 0");
    let rule = [is_there("matchLabels"), is_there("matchExpressions")].join(" || ");
    let message = "Required value: an empty selector would match every node";
    selector(&[serde_json::json!({ "rule": rule, "message": message })])
}

/// A selector of labels, with these rules for all of it.
fn selector(rules: &[serde_json::Value]) -> Schema {
    let with_values = "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : \
                       !has(self.values) || size(self.values) == 0";
    let mut schema = json_schema!({
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "matchLabels": {
                "description": "The required labels and their values.",
                "type": "object",
                "maxProperties": 64,
                "additionalProperties": { "type": "string", "maxLength": MAX_VALUE }
            },
            "matchExpressions": {
                "description": "Requirements of labels.",
                "type": "array",
                "maxItems": 64,
                "x-kubernetes-list-type": "atomic",
                "items": {
                    "type": "object",
                    "required": ["key", "operator"],
                    "x-kubernetes-validations": [{
                        "rule": with_values,
                        "message": "values: at least one for In and NotIn, none for the others"
                    }],
                    "properties": {
                        "key": {
                            "description": "The name of the label.",
                            "type": "string",
                            "maxLength": MAX_KEY
                        },
                        "operator": {
                            "description": "The comparison with its value.",
                            "type": "string",
                            "enum": ["In", "NotIn", "Exists", "DoesNotExist"]
                        },
                        "values": {
                            "description": "At least one for `In` and `NotIn`, none for the others.",
                            "type": "array",
                            "maxItems": 1024,
                            "x-kubernetes-list-type": "atomic",
                            "items": { "type": "string", "maxLength": MAX_VALUE }
                        }
                    }
                }
            }
        }
    });
    if !rules.is_empty() {
        schema.insert("x-kubernetes-validations".to_owned(), rules.into());
    }
    schema
}
