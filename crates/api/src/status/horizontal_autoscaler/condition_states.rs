//! The conditions of a `HorizontalAutoscaler`: whether its queries have numbers, whether its target can be scaled,
//! whether the bounds limit the recommendation, and what needs attention.

use std::cmp::Ordering;

use almanac_engine::metric_scaling::{
    Cause, LimitedReplicas, Memory, MetricScaling, SampleProblem, Select, TargetState,
    render_limited,
};
use almanac_engine::{Field, Identity, Verdict, counted, few_joined};

use super::Decided;
use crate::finding::Finding;
use crate::status::TargetProblem;
use crate::status::conditions::{ConditionReason, ConditionState, ConditionType, errors};
use crate::status::other_writer::advice;

impl Decided<'_> {
    /// The result of the winning recommendation; `None` without a recommendation.
    #[must_use]
    pub fn limited(&self) -> Option<LimitedReplicas> {
        let mut reasons = self.decision.reasons.iter();
        reasons.find(|reason| reason.verdict == Verdict::Won)?.cause.limited()
    }

    fn has_known_replicas(&self) -> bool {
        self.decision.reasons.iter().all(|reason| reason.cause != Cause::ReplicasUnknown)
    }
}

/// The conditions of an autoscaler with these findings. `decided` is `None` for an invalid autoscaler.
#[must_use]
pub fn condition_states(
    findings: &[Finding],
    problem: Option<&TargetProblem>,
    decided: Option<&Decided<'_>>,
) -> Vec<ConditionState> {
    let Some(decided) = decided else {
        let reason = ConditionReason::AutoscalerInvalid;
        let message =
            errors(findings).unwrap_or_else(|| "the autoscaler cannot be used".to_owned());
        return [ConditionType::Active, ConditionType::Ready]
            .map(|about| ConditionState { about, holds: false, reason, message: message.clone() })
            .into();
    };
    let (policy, limited) = (decided.input.policy, decided.limited());
    let mut states = vec![active(decided), able_to_scale(policy, problem, decided)];
    states.extend(limited.map(|limited| unbounded(policy, limited)));
    let ready = states.iter().find(|state| state.needs_attention());
    let (holds, reason, message) = match ready {
        Some(worst) => (false, worst.reason, worst.message.clone()),
        None => (true, ConditionReason::Scaling, "nothing needs attention".to_owned()),
    };
    states.push(ConditionState { about: ConditionType::Ready, holds, reason, message });
    states
}

fn active(decided: &Decided<'_>) -> ConditionState {
    let input = decided.input;
    let all = (0..).zip(input.policy.metrics.iter().zip(&input.samples));
    let problems: Vec<(u32, &str, &SampleProblem)> = all
        .filter_map(|(position, (metric, sample))| {
            Some((position, &*metric.query.text, sample.as_ref().err()?))
        })
        .collect();
    let about = ConditionType::Active;
    if problems.is_empty() {
        let message = "every query has a number".to_owned();
        return ConditionState {
            about,
            holds: true,
            reason: ConditionReason::MetricsAvailable,
            message,
        };
    }
    let is_external = |problem: &SampleProblem| matches!(problem, SampleProblem::External(_));
    let reason = if problems.iter().all(|(_, _, problem)| is_external(problem)) {
        ConditionReason::PrometheusRequired
    } else {
        ConditionReason::MetricUnavailable
    };
    let messages = problems.iter().map(|(position, query, problem)| {
        let advice = if is_external(problem) {
            "; start the controller with --prometheus-uri, or change the query"
        } else {
            ""
        };
        format!("metrics[{position}]: {query} {problem}{advice}")
    });
    let message = few_joined(messages, "; ") + "; nothing is scaled";
    ConditionState { about, holds: false, reason, message }
}

fn able_to_scale(
    policy: &MetricScaling,
    problem: Option<&TargetProblem>,
    decided: &Decided<'_>,
) -> ConditionState {
    let about = ConditionType::AbleToScale;
    let target = policy.target.identity();
    let not_able = match problem {
        Some(problem) => Some((problem.reason(), problem.message(target))),
        None => obstacle(target, &decided.decision.memory, decided),
    };
    if let Some((reason, message)) = not_able {
        return ConditionState { about, holds: false, reason, message };
    }
    let (reason, message) = match decided.limited() {
        Some(limited) => held_back(policy, limited),
        None => (ConditionReason::ReadyForNewScale, "the target can be scaled".to_owned()),
    };
    ConditionState { about, holds: true, reason, message }
}

/// The obstacle to scaling a target that can be read.
fn obstacle(
    target: &Identity,
    memory: &Memory,
    decided: &Decided<'_>,
) -> Option<(ConditionReason, String)> {
    if let Some((contest, last)) = memory.contest.as_ref().zip(memory.last_scale) {
        let advice = contest.by.as_deref().and_then(|by| advice(by, Field::Replicas));
        let advice = advice.unwrap_or_else(|| "scale the target with only one of them".to_owned());
        let message = format!(
            "another writer has set the replicas of {target} to {}, where this autoscaler sets {}; {advice}",
            contest.found, last.replicas
        );
        return Some((ConditionReason::UndoneByAnotherWriter, message));
    }
    if let TargetState::Unreachable(why) = decided.input.target {
        let message = format!("failed to read {target}, retrying: {}", why.message());
        return Some((ConditionReason::TargetUnreadable, message));
    }
    if let Some(failure) = &memory.failure {
        let message = format!("failed to scale {target}, retrying: {failure}");
        return Some((ConditionReason::ScaleFailed, message));
    }
    if !decided.has_known_replicas() {
        let message = format!(
            "the number of replicas of {target} is unknown, and the recommendation depends on it; \
             wait until its controller reports it in its status"
        );
        return Some((ConditionReason::ReplicasUnknown, message));
    }
    None
}

/// The limit in time that delays a recommendation, if any.
fn held_back(policy: &MetricScaling, limited: LimitedReplicas) -> (ConditionReason, String) {
    let LimitedReplicas { from, recommended, stabilized, allowed, .. } = limited;
    let direction = if stabilized > from { &policy.up } else { &policy.down };
    let reason = if allowed != stabilized && direction.select == Select::Disabled {
        ConditionReason::ScalingDisabled
    } else if allowed != stabilized {
        ConditionReason::RateLimited
    } else if stabilized < recommended {
        ConditionReason::ScaleUpStabilized
    } else if stabilized > recommended {
        ConditionReason::ScaleDownStabilized
    } else {
        return (ConditionReason::ReadyForNewScale, "the target can be scaled".to_owned());
    };
    (reason, render_limited(policy, limited))
}

fn unbounded(policy: &MetricScaling, limited: LimitedReplicas) -> ConditionState {
    let LimitedReplicas { allowed, replicas, .. } = limited;
    let (min, max) = (policy.bounds.min(), policy.bounds.max());
    let are = if allowed == 1 { "is" } else { "are" };
    let wanted = format!("{} {are} wanted", counted(allowed, "replica"));
    let (reason, message) = match allowed.cmp(&replicas) {
        Ordering::Greater => {
            let message = format!("{wanted}, and maxReplicas is {max}");
            (ConditionReason::TooManyReplicas, message)
        }
        Ordering::Less => {
            let message = format!("{wanted}, and minReplicas is {min}");
            (ConditionReason::TooFewReplicas, message)
        }
        Ordering::Equal => {
            (ConditionReason::WithinBounds, "neither bound makes a difference".to_owned())
        }
    };
    let (about, holds) = (ConditionType::ScalingUnbounded, replicas == allowed);
    ConditionState { about, holds, reason, message }
}
