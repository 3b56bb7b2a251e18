//! `ScalableNodeGroup`: a group of nodes with a `scale` subresource.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema::Observed;

/// The group of nodes, and its desired size.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "autoscaling.karpenter.sh",
    version = "v1alpha1",
    kind = "ScalableNodeGroup",
    plural = "scalablenodegroups",
    shortname = "sng",
    namespaced,
    status = "ScalableNodeGroupStatus",
    derive = "PartialEq",
    doc = "A group of nodes that can be scaled like a Deployment.",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "TYPE", type_ = "string", json_path = ".spec.type"),
    printcolumn(name = "REPLICAS", type_ = "integer", json_path = ".status.replicas"),
    printcolumn(name = "DESIRED", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(
        name = "READY",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(name = "AGE", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ScalableNodeGroupSpec {
    /// The desired number of nodes. Defaults to the current number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// The provider that creates and deletes the nodes. Almanac has one, `Simulated`.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// The provider's name for the group.
    #[schemars(length(min = 1, max = 1024))]
    pub id: String,
}

/// The observed state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScalableNodeGroupStatus {
    /// The fields of every status.
    #[serde(flatten)]
    pub observed: Observed,
    /// The current number of nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The labels that select the nodes of the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub selector: Option<String>,
}
