//! `HorizontalAutoscaler`: scales anything with a `scale` subresource by the result of a query.

use almanac_engine::metric_scaling::{MAX_RECOMMENDATIONS, MAX_SCALE_EVENTS};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema::{self, Observed, ScaleTargetReference};

/// The target, the metrics to scale it by, and its bounds.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "autoscaling.karpenter.sh",
    version = "v1alpha1",
    kind = "HorizontalAutoscaler",
    plural = "horizontalautoscalers",
    shortname = "ha",
    namespaced,
    status = "HorizontalAutoscalerStatus",
    derive = "PartialEq",
    doc = "Scales anything with a scale subresource by the result of a Prometheus query.",
    printcolumn(
        name = "REFERENCE-KIND",
        type_ = "string",
        json_path = ".spec.scaleTargetRef.kind"
    ),
    printcolumn(
        name = "REFERENCE-NAME",
        type_ = "string",
        json_path = ".spec.scaleTargetRef.name"
    ),
    printcolumn(name = "MIN", type_ = "integer", json_path = ".spec.minReplicas"),
    printcolumn(name = "MAX", type_ = "integer", json_path = ".spec.maxReplicas"),
    printcolumn(name = "DESIRED", type_ = "integer", json_path = ".status.desiredReplicas"),
    printcolumn(
        name = "READY",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.minReplicas <= self.maxReplicas").message("minReplicas must not exceed maxReplicas"),
    validation = Rule::new("!has(self.scaleTargetRef.apiVersion) || self.scaleTargetRef.apiVersion != 'app/v1'").message("scaleTargetRef.apiVersion: there is no 'app/v1', write 'apps/v1'"),
)]
pub struct HorizontalAutoscalerSpec {
    /// The object to scale: anything with a `scale` subresource.
    pub scale_target_ref: ScaleTargetReference,
    /// The lower bound.
    #[schemars(range(min = 0))]
    pub min_replicas: i32,
    /// The upper bound.
    #[schemars(range(min = 0))]
    pub max_replicas: i32,
    /// The metrics to scale by. If there are several, the highest recommendation wins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub metrics: Vec<Metric>,
    /// The speed of scaling up and down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behavior: Option<Behavior>,
}

/// A metric to scale by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metric {
    /// The result of a Prometheus query.
    pub prometheus: PrometheusMetric,
}

/// A query and the target for its result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrometheusMetric {
    /// A Prometheus query that yields exactly one sample.
    #[schemars(length(min = 1, max = 4096))]
    pub query: String,
    /// The target for the result.
    pub target: MetricTarget,
}

/// The target for the result of a query.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricTarget {
    /// The comparison of the result with the value.
    #[serde(rename = "type")]
    pub kind: MetricTargetType,
    /// The value: for the whole result, for each replica, or in percent.
    #[schemars(schema_with = "schema::quantity")]
    pub value: Quantity,
}

/// The comparison of a result with its target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MetricTargetType {
    /// The result should equal the value.
    #[default]
    Value,
    /// The result should equal the value for each replica.
    AverageValue,
    /// The result is a fraction of one; the value is a percentage.
    Utilization,
}

/// The speed of scaling up and down.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Behavior {
    /// Scaling up. By default immediately, to the highest recommendation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale_up: Option<ScalingRules>,
    /// Scaling down. By default to the highest recommendation of the last 300 seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale_down: Option<ScalingRules>,
}

/// The speed of scaling in one direction.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScalingRules {
    /// The seconds of past recommendations that are considered before scaling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 3600))]
    pub stabilization_window_seconds: Option<i32>,
    /// The choice among recommendations, and among policies. Defaults to `Max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select_policy: Option<SelectPolicy>,
    /// The limits of changes within periods. Defaults to none: any change is allowed immediately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub policies: Vec<ScalingPolicy>,
}

/// The choice among several recommendations or policies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SelectPolicy {
    /// The one that changes most.
    #[default]
    Max,
    /// The one that changes least.
    Min,
    /// None: never scale in this direction.
    Disabled,
}

/// A limit of changes within a period.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScalingPolicy {
    /// The unit of the value.
    #[serde(rename = "type")]
    pub kind: ScalingPolicyType,
    /// The maximum change within the period.
    #[schemars(range(min = 1))]
    pub value: i32,
    /// The period in seconds.
    #[schemars(range(min = 1, max = 1800))]
    pub period_seconds: i32,
}

/// The unit of a scaling policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ScalingPolicyType {
    /// Replicas.
    #[default]
    Count,
    /// Replicas, under the name Kubernetes gives them.
    Pods,
    /// Percent of the replicas at the start of the period.
    Percent,
}

/// The observed state, and the last changes.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HorizontalAutoscalerStatus {
    /// The fields of every status.
    #[serde(flatten)]
    pub observed: Observed,
    /// The scaled object, to which the rest of this status belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 600))]
    pub target: Option<String>,
    /// The time of the last change of the number of replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_scale_time: Option<Time>,
    /// The current number of replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_replicas: Option<i32>,
    /// The desired number of replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_replicas: Option<i32>,
    /// The last result of each query, in the order of the spec.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub current_metrics: Vec<CurrentMetric>,
    /// The recommendations within the stabilization windows, oldest first: only changes. Each
    /// applies until the next one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_RECOMMENDATIONS))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub recommendations: Vec<Recommendation>,
    /// The changes within the longest period of a policy, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_SCALE_EVENTS))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub scale_events: Vec<ScaleEvent>,
}

/// A recommended number of replicas, regardless of the bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recommendation {
    /// The time from which the recommendation applies.
    pub time: Time,
    /// The recommended number of replicas.
    pub replicas: i32,
}

/// A change of the replicas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScaleEvent {
    /// The time of the change.
    pub time: Time,
    /// The difference in replicas; below zero for fewer.
    pub change: i32,
}

/// The last result of a query.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CurrentMetric {
    /// The query.
    #[schemars(length(max = 4096))]
    pub query: String,
    /// The result of the query; absent if there was no usable result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub value: Option<String>,
}
