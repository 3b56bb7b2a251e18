//! `CronFederatedHPA`: cron rules that set a workload's replicas, or an autoscaler's bounds.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema::{Observed, ScaleTargetReference};

/// The maximum number of rules of an object.
pub(crate) const MAX_RULES: usize = 256;

/// The maximum number of characters of the name of a rule.
pub(crate) const MAX_RULE_NAME: usize = 32;

/// The maximum number of successful or failed executions that are stored for a rule. Higher limits of the rule have no
/// effect.
pub(crate) const MAX_EXECUTIONS: usize = 32;

/// The maximum number of characters of the message of an execution.
pub(crate) const MAX_MESSAGE: usize = 4_096;

/// The target, and the rules that scale it.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "autoscaling.karmada.io",
    version = "v1alpha1",
    kind = "CronFederatedHPA",
    plural = "cronfederatedhpas",
    shortname = "cronfhpa",
    category = "karmada-io",
    namespaced,
    status = "CronFederatedHPAStatus",
    derive = "PartialEq",
    doc = "Cron rules that scale a workload, or set the bounds of an autoscaler, at given times.",
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
    printcolumn(name = "NEXT", type_ = "string", json_path = ".status.nextExecutionTime"),
    printcolumn(name = "LAST", type_ = "string", json_path = ".status.lastExecutionTime"),
    printcolumn(
        name = "READY",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.scaleTargetRef.apiVersion) || self.scaleTargetRef.apiVersion != 'app/v1'").message("scaleTargetRef.apiVersion: there is no 'app/v1', write 'apps/v1'"),
    validation = Rule::new("!has(self.scaleTargetRef.apiVersion) || !self.scaleTargetRef.apiVersion.startsWith('autoscaling.karmada.io/') || self.scaleTargetRef.kind == 'FederatedHPA'").message("scaleTargetRef.kind: in autoscaling.karmada.io, only a FederatedHPA can be scaled"),
    validation = Rule::new("has(self.scaleTargetRef.apiVersion) && (self.scaleTargetRef.apiVersion.startsWith('autoscaling.karmada.io/') && self.scaleTargetRef.kind == 'FederatedHPA' || self.scaleTargetRef.apiVersion.startsWith('autoscaling/') && self.scaleTargetRef.kind == 'HorizontalPodAutoscaler') ? self.rules.all(r, has(r.targetMinReplicas) || has(r.targetMaxReplicas)) : true").message("rules: every rule for an autoscaler needs targetMinReplicas, targetMaxReplicas or both"),
    validation = Rule::new("has(self.scaleTargetRef.apiVersion) && (self.scaleTargetRef.apiVersion.startsWith('autoscaling.karmada.io/') && self.scaleTargetRef.kind == 'FederatedHPA' || self.scaleTargetRef.apiVersion.startsWith('autoscaling/') && self.scaleTargetRef.kind == 'HorizontalPodAutoscaler') ? true : self.rules.all(r, has(r.targetReplicas))").message("rules: every rule for a workload needs targetReplicas"),
    validation = Rule::new("has(self.scaleTargetRef.apiVersion) && self.scaleTargetRef.apiVersion.startsWith('autoscaling/') && self.scaleTargetRef.kind == 'HorizontalPodAutoscaler' || self.rules.all(r, !has(r.targetMinReplicas) || r.targetMinReplicas > 0)").message("rules: targetMinReplicas: 0 needs a HorizontalPodAutoscaler, on Kubernetes 1.37 or newer"),
)]
pub struct CronFederatedHPASpec {
    /// The object that the rules change: anything with a `scale` subresource, such as a Deployment, or the
    /// bounds of a `FederatedHPA` or a `HorizontalPodAutoscaler`.
    pub scale_target_ref: ScaleTargetReference,
    /// The rules, each with its schedule and the values to set.
    #[schemars(length(max = MAX_RULES))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub rules: Vec<CronFederatedHPARule>,
}

/// One rule: a schedule, and the values to set when it fires.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.ruleName)").message("the field is 'name', not 'ruleName'"),
    validation = Rule::new("has(self.ruleName) || size(self.name) > 0").message("name: Required value: every rule needs a unique name"),
    validation = Rule::new("!has(self.targetMinReplicas) || !has(self.targetMaxReplicas) || self.targetMinReplicas <= self.targetMaxReplicas").message("targetMinReplicas must not exceed targetMaxReplicas"),
)]
pub struct CronFederatedHPARule {
    /// The name of the rule, 1 to 32 characters, unique within the object. The history of a rule
    /// is kept under its name: a renamed rule is a new rule.
    // The schema gives it an empty default instead of requiring it: only then does the API server
    // evaluate the rule that explains `ruleName`.
    #[serde(default)]
    #[schemars(length(max = MAX_RULE_NAME))]
    pub name: String,
    /// Not supported: some published examples use it instead of `name`, and the error explains this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub rule_name: Option<String>,
    /// The schedule of the firings: a cron expression of five fields, as for a Kubernetes `CronJob`.
    #[schemars(length(min = 1, max = 256))]
    pub schedule: String,
    /// The replicas to set. Required for workloads; not used for autoscalers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub target_replicas: Option<i32>,
    /// The lower bound to set. For autoscalers, which require this, `targetMaxReplicas` or both. A
    /// bound that isn't set keeps its value, unless it is moved to fit the one that is. 0 needs a
    /// `HorizontalPodAutoscaler` with an object or external metric, on Kubernetes 1.37 or newer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub target_min_replicas: Option<i32>,
    /// The upper bound to set. For autoscalers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub target_max_replicas: Option<i32>,
    /// Whether the rule is stopped from firing. Firings missed in the meantime are skipped.
    #[serde(default = "not_suspended", skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// The time zone of the schedule, by its IANA name, such as `Europe/Berlin`. Defaults to UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub time_zone: Option<String>,
    /// The maximum delay of a firing in seconds, after downtime or a failure. Must be smaller than
    /// the shortest time between two firings. Defaults to 300, or to one second less than that
    /// time if it is shorter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_delay_seconds: Option<i32>,
    /// The number of successful executions that the status keeps.
    #[serde(default = "three", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_EXECUTIONS))]
    pub successful_history_limit: Option<i32>,
    /// The number of failed executions that the status keeps.
    #[serde(default = "three", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = MAX_EXECUTIONS))]
    pub failed_history_limit: Option<i32>,
}

#[expect(clippy::unnecessary_wraps, reason = "the type of the field")]
fn not_suspended() -> Option<bool> {
    Some(false)
}

#[expect(clippy::unnecessary_wraps, reason = "the type of the field")]
fn three() -> Option<i32> {
    Some(3)
}

/// The past firings, and the next ones.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CronFederatedHPAStatus {
    /// The fields of every status.
    #[serde(flatten)]
    pub observed: Observed,
    /// The time of the next firing of any rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_execution_time: Option<Time>,
    /// The time of the last execution of any rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_execution_time: Option<Time>,
    /// The history of each rule, in the order of the spec.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_RULES))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["ruleName".into()]))]
    pub execution_histories: Vec<ExecutionHistory>,
}

/// The history of one rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionHistory {
    /// The name of the rule.
    #[schemars(length(max = MAX_RULE_NAME))]
    pub rule_name: String,
    /// Identifies the version of the rule that was last handled; a rule that has changed since does
    /// not fire for the past.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    pub fingerprint: Option<String>,
    /// The firings up to this instant are settled: applied, missed or superseded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_time: Option<Time>,
    /// The time of the next firing. Absent while the rule is suspended or invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_execution_time: Option<Time>,
    /// Successful executions, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_EXECUTIONS))]
    pub successful_executions: Vec<SuccessfulExecution>,
    /// Failed and missed executions, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_EXECUTIONS))]
    pub failed_executions: Vec<FailedExecution>,
}

/// A firing that was applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuccessfulExecution {
    /// The scheduled time of the firing.
    pub schedule_time: Time,
    /// The time at which it was applied.
    pub execution_time: Time,
    /// The replicas that were set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_replicas: Option<i32>,
    /// The upper bound that was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_max_replicas: Option<i32>,
    /// The lower bound that was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_min_replicas: Option<i32>,
    /// Additional information, such as a bound that was moved to fit although the rule doesn't set
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_MESSAGE))]
    pub message: Option<String>,
}

/// A firing that was not applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedExecution {
    /// The scheduled time of the firing.
    pub schedule_time: Time,
    /// The time at which it was given up.
    pub execution_time: Time,
    /// The reason that it was not applied.
    #[schemars(length(max = MAX_MESSAGE))]
    pub message: String,
}
