//! The status of a `HorizontalAutoscaler`: its policy state, the results of its queries, and its conditions.

mod condition_states;
mod memory;

use almanac_engine::metric_scaling::{Decision, Input, Memory, TargetState};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

pub use self::condition_states::condition_states;
pub use self::memory::read;
use crate::lenient;
use crate::objects::{CurrentMetric, HorizontalAutoscalerStatus, Observed};

/// The decision of an autoscaler at an instant, and the inputs.
pub struct Decided<'a> {
    /// The inputs of the decision.
    pub input: &'a Input<'a>,
    /// The decision from these inputs.
    pub decision: &'a Decision,
}

/// Writes the status. `decided` is `None` without a decision, because the object is invalid or exempt.
#[must_use]
pub fn write(
    memory: &Memory,
    decided: Option<&Decided<'_>>,
    conditions: Vec<Condition>,
    observed_generation: Option<i64>,
) -> HorizontalAutoscalerStatus {
    let mut status = HorizontalAutoscalerStatus {
        observed: Observed { observed_generation, conditions },
        ..HorizontalAutoscalerStatus::default()
    };
    memory::write(memory, &mut status);
    let Some(decided) = decided else { return status };
    let input = decided.input;
    status.current_metrics = current_metrics(input);
    if let TargetState::Workload(workload) = input.target {
        status.current_replicas = workload.current.or(workload.replicas).map(lenient::number);
        // Otherwise the desired number is the last value that was set. A value that could not be set must not count as
        // set.
        let desired = decided.limited().map(|limited| limited.replicas);
        if let Some(desired) = desired.filter(|it| workload.replicas == Some(*it)) {
            status.desired_replicas = Some(lenient::number(desired));
        }
    }
    status
}

fn current_metrics(input: &Input<'_>) -> Vec<CurrentMetric> {
    let all = input.policy.metrics.iter().zip(&input.samples);
    let current = all.map(|(metric, sample)| CurrentMetric {
        query: metric.query.text.to_string(),
        value: sample.as_ref().ok().map(ToString::to_string),
    });
    current.collect()
}
