//! The kinds of a hub of Open Cluster Management: placements, the objects that they select from, and their decisions.
//!
//! Their definitions are as Open Cluster Management has them, so that its objects apply unchanged, with a few
//! additions: `docs/compatibility.md` lists them. Other modules read the objects.

mod dates_of_taints;
mod managed_cluster;
mod managed_cluster_set;
mod schema;
mod scores_and_decisions;
mod versions;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

use super::Placement;
use crate::kinds::Kind;

pub use dates_of_taints::dates_of_taints;
pub(crate) use schema::{GROUP_SIZE, LABEL_KEY, NAME_OF_GROUP, NAME_OF_NAMESPACE, RATE_LIMIT};
pub(super) use schema::{conditions, label_key, label_selector, selector_requirements};

/// The set that a cluster is in.
pub const CLUSTER_SET_LABEL: &str = "cluster.open-cluster-management.io/clusterset";
/// The placement that a decision is of.
pub const PLACEMENT_LABEL: &str = "cluster.open-cluster-management.io/placement";
/// The name of the group of a decision; empty for none.
pub const GROUP_NAME_LABEL: &str = "cluster.open-cluster-management.io/decision-group-name";
/// The index of the group of a decision.
pub const GROUP_INDEX_LABEL: &str = "cluster.open-cluster-management.io/decision-group-index";

/// The definitions, in the order they are documented.
pub(crate) fn definitions() -> Vec<CustomResourceDefinition> {
    vec![
        versions::as_served(Kind::Placement, Placement::crd()),
        scores_and_decisions::decision(),
        scores_and_decisions::score(),
        managed_cluster::definition(),
        managed_cluster_set::set(),
        managed_cluster_set::binding(),
    ]
}
