//! The status of a `ScalableNodeGroup`: the number of nodes, and their selector.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::lenient;
use crate::objects::{Observed, ScalableNodeGroupStatus};

/// Writes the status. `nodes` is the number of nodes and their selector; `None` while they are unknown.
#[must_use]
pub fn write(
    nodes: Option<(u32, &str)>,
    conditions: Vec<Condition>,
    observed_generation: Option<i64>,
) -> ScalableNodeGroupStatus {
    ScalableNodeGroupStatus {
        observed: Observed { observed_generation, conditions },
        replicas: nodes.map(|(replicas, _)| lenient::number(replicas)),
        selector: nodes.map(|(_, selector)| selector.to_owned()),
    }
}
