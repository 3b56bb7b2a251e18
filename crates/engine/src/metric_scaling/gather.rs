//! The inputs of a decision about an autoscaler: its target's replicas, and a sample for each metric.

use jiff::Timestamp;

use super::{
    Answerer, Autoscalers, Expression, FiniteNumber, Memory, Metric, MetricScaling, QueryEvaluator,
    SampleProblem, Settings, evaluate,
};
use crate::seam::View;
use crate::{Exempt, Identity, Reach, Unreachable, Workload};

/// All inputs of a decision about one autoscaler.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// The checked spec.
    pub policy: &'a MetricScaling,
    /// The policy state in the status; `None` when the autoscaler has no status yet.
    pub memory: Option<&'a Memory>,
    /// The current state of the object that it scales.
    pub target: TargetState<'a>,
    /// The sample of each metric's query, in the order of the spec.
    pub samples: Vec<Result<FiniteNumber, SampleProblem>>,
    /// The instant of each sample; `None` for a metric that is not queried and whose value applies now.
    pub sampled_at: Vec<Option<Timestamp>>,
    /// The next instant at which time alone changes a sample; `None` if it changes none.
    pub samples_change_at: Option<Timestamp>,
    /// The settings of all autoscalers.
    pub settings: Settings,
}

/// The current state of the object that an autoscaler scales.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TargetState<'a> {
    /// The target does not exist.
    Missing,
    /// The target could not be read, so it might or might not exist.
    Unreachable(&'a Unreachable),
    /// The target exists.
    Workload(Workload),
}

/// The next instant at which a schedule that a query of this autoscaler names publishes another number.
#[must_use]
pub fn next_boundary(
    view: View<'_, Autoscalers>,
    autoscaler: &Identity,
    now: Timestamp,
) -> Option<Timestamp> {
    let policy = view.state.policies.get(autoscaler)?.policy.as_deref()?;
    let boundaries = policy.metrics.iter().filter_map(|metric| boundary(view, metric, now));
    boundaries.min()
}

fn boundary(view: View<'_, Autoscalers>, metric: &Metric, now: Timestamp) -> Option<Timestamp> {
    metric.query.schedules(view).filter_map(|(_, schedule)| schedule.next_change(now)).min()
}

/// The number of schedule changes without effect on a sample that are skipped.
const MAX_LOOKAHEAD: usize = 64;

/// Gathers the inputs of a decision about the autoscaler of this name. An autoscaler has no decision if it or its
/// target is exempt.
#[must_use]
pub fn gather<'a>(
    view: View<'a, Autoscalers>,
    autoscaler: &Identity,
    reach: &'a Reach,
    now: Timestamp,
) -> Option<Input<'a>> {
    let object = view.state.policies.get(autoscaler)?;
    let policy = object.policy.as_deref()?;
    let target = policy.target.identity();
    if Exempt::for_policy(&view.objects.exempt, autoscaler, Some(target)).is_some() {
        return None;
    }
    let target = match (reach.lacks(target), view.objects.workloads.get(target)) {
        (Some(why), _) => TargetState::Unreachable(why),
        (None, None) => TargetState::Missing,
        (None, Some(workload)) => TargetState::Workload(*workload),
    };
    let all = policy.metrics.iter().map(|metric| sample(view, autoscaler, metric, now));
    let (samples, changes): (Vec<_>, Vec<_>) = all.unzip();
    let samples_change_at = changes.into_iter().flatten().min();
    let sampled_at = policy.metrics.iter().map(|metric| {
        let sample = view.state.extra.get(autoscaler, &metric.query.text);
        sample.and_then(|sample| sample.at)
    });
    let sampled_at = sampled_at.collect();
    let memory = object.memory.as_ref();
    let settings = view.state.extra.settings;
    Some(Input { policy, memory, target, samples, sampled_at, samples_change_at, settings })
}

/// The sample of a metric, and the instant at which time alone changes it.
fn sample(
    view: View<'_, Autoscalers>,
    autoscaler: &Identity,
    metric: &Metric,
    now: Timestamp,
) -> (Result<FiniteNumber, SampleProblem>, Option<Timestamp>) {
    let Settings { answerer, oldest, .. } = view.state.extra.settings;
    let Some(sample) = view.state.extra.get(autoscaler, &metric.query.text) else {
        return match (&metric.query.evaluator, answerer) {
            (QueryEvaluator::Published(expression), Answerer::Almanac) => {
                published(view, expression, now)
            }
            (QueryEvaluator::External(why), Answerer::Almanac) => {
                (Err(SampleProblem::External(why.clone())), None)
            }
            (_, Answerer::Prometheus) => (Err(SampleProblem::NotAsked), None),
        };
    };
    // Prometheus has no number of a schedule in an unreadable namespace, and would apply a default.
    if let Some(problem) = metric.query.unread(view) {
        return (Err(problem), None);
    }
    // Prometheus may return a different number from a boundary on.
    let boundary = sample.at.and_then(|_| boundary(view, metric, now));
    let stale = sample.at.zip(oldest).and_then(|(at, oldest)| at.checked_add(oldest).ok());
    match (stale, sample.at) {
        (Some(stale), Some(at)) if stale <= now && sample.value.is_ok() => {
            (Err(SampleProblem::Stale { at }), boundary)
        }
        _ => (sample.value.clone(), stale.into_iter().chain(boundary).min()),
    }
}

/// The value of an expression over published numbers, and the instant of its next change.
fn published(
    view: View<'_, Autoscalers>,
    expression: &Expression,
    now: Timestamp,
) -> (Result<FiniteNumber, SampleProblem>, Option<Timestamp>) {
    let current = evaluate(expression, view, now);
    let read = || expression.selectors().flat_map(|it| it.selects.schedules(view));
    let change_after = |at: Timestamp| read().filter_map(|(_, it)| it.next_change(at)).min();
    let mut change = change_after(now);
    for _ in 0..MAX_LOOKAHEAD {
        let Some(at) = change else { break };
        if evaluate(expression, view, at) != current {
            break;
        }
        change = change_after(at);
    }
    (current, change)
}
