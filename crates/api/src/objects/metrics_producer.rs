//! `MetricsProducer`: a number over time, published as a metric.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::schema::{self, Observed};

/// The value to publish. Set exactly one source.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "autoscaling.karpenter.sh",
    version = "v1alpha1",
    kind = "MetricsProducer",
    plural = "metricsproducers",
    shortname = "mp",
    namespaced,
    status = "MetricsProducerStatus",
    derive = "PartialEq",
    doc = "Publishes a number as a metric: here, one that follows a schedule.",
    printcolumn(
        name = "VALUE",
        type_ = "integer",
        json_path = ".status.scheduledCapacity.currentValue"
    ),
    printcolumn(
        name = "NEXT",
        type_ = "integer",
        json_path = ".status.scheduledCapacity.nextValue"
    ),
    printcolumn(
        name = "AT",
        type_ = "string",
        json_path = ".status.scheduledCapacity.nextValueTime"
    ),
    printcolumn(
        name = "READY",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!(has(self.schedule) && has(self.scheduleSpec))").message("schedule and scheduleSpec are two names for the same field; set only one of them"),
)]
pub struct MetricsProducerSpec {
    /// A number that follows this schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// An alias of `schedule` from the first releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_spec: Option<Schedule>,
    /// The length of a queue. Accepted, but not supported: its conditions report this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::anything")]
    pub queue: Option<Value>,
    /// The capacity pods have reserved. Accepted, but not supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::anything")]
    pub reserved_capacity: Option<Value>,
    /// The capacity pending pods need. Accepted, but not supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::anything")]
    pub pending_capacity: Option<Value>,
}

/// Behaviors, and the default when none is active.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Schedule {
    /// The numbers, each with the times at which it applies. If several are active at the same time, the
    /// one with the highest priority wins; among equals, the first in this list.
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub behaviors: Vec<ScheduledBehavior>,
    /// The time zone of all patterns, by its IANA name, such as `America/Los_Angeles`. Defaults to
    /// UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub timezone: Option<String>,
    /// The number that applies when no behavior is active.
    #[schemars(range(min = 0))]
    pub default_replicas: i32,
}

/// A number that applies from each start to the next end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduledBehavior {
    /// The number.
    #[schemars(range(min = 0))]
    pub replicas: i32,
    /// The times at which it starts to apply.
    pub start: Pattern,
    /// The times at which it stops applying.
    pub end: Pattern,
    /// The higher priority wins if behaviors overlap. Defaults to 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
}

/// A recurring time of the wall clock. Each field is a comma-separated list of values, without
/// ranges or steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pattern {
    /// Minutes, 0 to 59. Defaults to 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer_or_text")]
    pub minutes: Option<IntOrString>,
    /// Hours, 0 to 23. Defaults to 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer_or_text")]
    pub hours: Option<IntOrString>,
    /// Days of the month, 1 to 31. Defaults to any. If weekdays are set too, both must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer_or_text")]
    pub days: Option<IntOrString>,
    /// Months, such as `Jan,Feb` or `1,2`. Defaults to any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer_or_text")]
    pub months: Option<IntOrString>,
    /// Weekdays, such as `Mon,Tue` or `1,2`. Defaults to any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer_or_text")]
    pub weekdays: Option<IntOrString>,
    /// Years, such as `2026`, for what happens only once. Defaults to any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::integer_or_text")]
    pub years: Option<IntOrString>,
}

/// The published value, and the next one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricsProducerStatus {
    /// The fields of every status.
    #[serde(flatten)]
    pub observed: Observed,
    /// The state of the schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_capacity: Option<ScheduledCapacityStatus>,
}

/// The current and the next state of a schedule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduledCapacityStatus {
    /// The current number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_value: Option<i32>,
    /// The time of the next change of the number. Absent if it does not change within a year.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_value_time: Option<Time>,
    /// The number from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_value: Option<i32>,
    /// The index of the current behavior, counted from 0. Absent if the default applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behavior_index: Option<i32>,
}
