//! `FederatedHPA`: an autoscaler over clusters. Here it is data whose bounds cron rules change;
//! Karmada scales by it.

use k8s_openapi::api::autoscaling::v2::{
    HorizontalPodAutoscalerBehavior, HorizontalPodAutoscalerStatus, MetricSpec,
};
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use super::schema::ScaleTargetReference;

/// The target to scale across clusters, the metrics to scale it by, and its bounds.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "autoscaling.karmada.io",
    version = "v1alpha1",
    kind = "FederatedHPA",
    plural = "federatedhpas",
    shortname = "fhpa",
    category = "karmada-io",
    namespaced,
    status = "HorizontalPodAutoscalerStatus",
    derive = "PartialEq",
    doc = "An autoscaler that aggregates the metrics of several clusters.",
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
    printcolumn(name = "MINPODS", type_ = "integer", json_path = ".spec.minReplicas"),
    printcolumn(name = "MAXPODS", type_ = "integer", json_path = ".spec.maxReplicas"),
    printcolumn(name = "REPLICAS", type_ = "integer", json_path = ".status.currentReplicas"),
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.minReplicas) || self.minReplicas <= self.maxReplicas").message("minReplicas must not exceed maxReplicas"),
)]
pub struct FederatedHPASpec {
    /// The object to scale.
    pub scale_target_ref: ScaleTargetReference,
    /// The lower bound. Defaults to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub min_replicas: Option<i32>,
    /// The upper bound.
    #[schemars(range(min = 1))]
    pub max_replicas: i32,
    /// The metrics to scale by. Defaults to 80 % of the requested CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub metrics: Option<Vec<MetricSpec>>,
    /// The speed of scaling up and down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behavior: Option<HorizontalPodAutoscalerBehavior>,
}
