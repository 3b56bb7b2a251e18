//! The reasons for a number of replicas, and their messages.

use std::sync::Arc;

use super::{
    Amount, Direction, FiniteNumber, Input, LimitedReplicas, MetricScaling, RatePolicy, Select,
    TargetType,
};
use crate::answers::MetricRecommendation;
use crate::{Reason, counted};

/// The outcome for a metric, or for an autoscaler as a whole, and the reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The recommendation of the metric is decisive.
    Sets {
        /// The sample of the metric's query.
        sample: FiniteNumber,
        /// The recommendation with its limits.
        limited: LimitedReplicas,
    },
    /// The metric has a recommendation, but the one of another metric is decisive.
    Recommends {
        /// The sample of the metric's query.
        sample: FiniteNumber,
        /// The number of replicas.
        replicas: u32,
    },
    /// The sample that multiplies the replicas is older than their last change: the last recommendation applies.
    Holds {
        /// The recommendation with its limits.
        limited: LimitedReplicas,
    },
    /// The metric's query has no usable sample, so nothing is scaled.
    NoSample,
    /// The current replicas are unknown, and the recommendation of the metric depends on them.
    ReplicasUnknown,
    /// The autoscaler has no metrics: only the bounds apply.
    OnlyBounds {
        /// The bounds that apply.
        limited: LimitedReplicas,
    },
    /// The target does not exist.
    TargetMissing,
    /// The target could not be read.
    TargetUnreachable,
    /// Another field manager has replaced the set value. The autoscaler sets the value again later.
    Contested {
        /// The value that the other field manager has set.
        found: u32,
        /// The value that will be set again.
        replicas: u32,
    },
}

impl Cause {
    /// The decided replicas, with their limits.
    #[must_use]
    pub fn limited(&self) -> Option<LimitedReplicas> {
        match *self {
            Cause::Sets { limited, .. }
            | Cause::Holds { limited }
            | Cause::OnlyBounds { limited } => Some(limited),
            Cause::Recommends { .. }
            | Cause::NoSample
            | Cause::ReplicasUnknown
            | Cause::TargetMissing
            | Cause::TargetUnreachable
            | Cause::Contested { .. } => None,
        }
    }

    /// Whether the cause decides this number of replicas and leaves it unchanged.
    pub(super) fn keeps(&self, replicas: u32) -> bool {
        self.limited().is_some_and(|it| it.from == replicas && it.replicas == replicas)
    }

    /// The sample of the metric's query, and the replicas that it recommends.
    pub(super) fn answered(&self) -> Option<MetricRecommendation> {
        match *self {
            Cause::Sets { sample, limited } => {
                Some(MetricRecommendation { sample, recommendation: limited.recommended })
            }
            Cause::Recommends { sample, replicas } => {
                Some(MetricRecommendation { sample, recommendation: replicas })
            }
            Cause::Holds { .. }
            | Cause::NoSample
            | Cause::ReplicasUnknown
            | Cause::OnlyBounds { .. }
            | Cause::TargetMissing
            | Cause::TargetUnreachable
            | Cause::Contested { .. } => None,
        }
    }
}

/// A reason as a line for users.
#[must_use]
pub fn render(policy: &MetricScaling, reason: &Reason<Cause>) -> String {
    let metric = reason.rule.and_then(|rule| policy.metrics.get(rule as usize));
    let recommended = |sample: FiniteNumber, replicas: u32| match metric {
        Some(metric) => {
            let percent = if metric.target_type == TargetType::Utilization { "%" } else { "" };
            let (name, target) = (metric.target_type.name(), metric.target);
            let query = &metric.query.text;
            format!("{query} is {sample}, {name} {target}{percent}: {}", replicas_text(replicas))
        }
        None => replicas_text(replicas),
    };
    match reason.cause {
        Cause::Sets { sample, limited } => {
            let limits = limits(policy, limited);
            [recommended(sample, limited.recommended), limits].concat()
        }
        Cause::Recommends { sample, replicas } => recommended(sample, replicas),
        Cause::Holds { limited } => {
            let recommendation =
                format!("{} until the next answer", replicas_text(limited.recommended));
            [recommendation, limits(policy, limited)].concat()
        }
        Cause::NoSample => {
            let query = metric.map_or("its query", |metric| &*metric.query.text);
            format!("{query} has no usable sample, so nothing is scaled")
        }
        Cause::ReplicasUnknown => "depends on the current replicas, which are unknown".to_owned(),
        Cause::OnlyBounds { limited } => {
            ["no metrics".to_owned(), limits(policy, limited)].concat()
        }
        Cause::TargetMissing => "the target was not found".to_owned(),
        Cause::TargetUnreachable => "the target could not be read".to_owned(),
        Cause::Contested { found, replicas } => {
            format!("another writer has set {found}; {replicas} will be set again later")
        }
    }
}

fn replicas_text(count: u32) -> String {
    counted(count, "replica")
}

/// The recommendation, and every limit that makes a difference.
#[must_use]
pub fn render_limited(policy: &MetricScaling, limited: LimitedReplicas) -> String {
    let recommended = replicas_text(limited.recommended);
    format!("{recommended} recommended{}", limits(policy, limited))
}

/// Every limit that makes a difference, in their order.
fn limits(policy: &MetricScaling, limited: LimitedReplicas) -> String {
    let LimitedReplicas { from, recommended, stabilized, allowed, replicas } = limited;
    let mut parts = vec![String::new()];
    if stabilized != recommended {
        let is_up = stabilized < recommended;
        let (name, rules) =
            if is_up { ("scaleUp", &policy.up) } else { ("scaleDown", &policy.down) };
        let window = rules.window_seconds;
        parts.push(format!("{stabilized} by the {name} window of {window} s"));
    }
    if allowed != stabilized {
        let (direction, name) = if stabilized > from {
            (Direction::Up, "scaleUp")
        } else {
            (Direction::Down, "scaleDown")
        };
        let rules = policy.rules(direction);
        if rules.select == Select::Disabled {
            parts.push(format!("{allowed}, because {name} is Disabled"));
        } else {
            let policies: Vec<String> = rules.policies.iter().map(render_rate).collect();
            let policies = policies.join(", ");
            parts.push(format!("{allowed} by the {name} policies ({policies})"));
        }
    }
    if replicas != allowed {
        let name = if replicas < allowed { "maxReplicas" } else { "minReplicas" };
        parts.push(format!("{replicas} by {name}"));
    }
    parts.join("; ")
}

fn render_rate(policy: &RatePolicy) -> String {
    let seconds = policy.period_seconds;
    match policy.amount {
        Amount::Replicas(count) => format!("{count} in {seconds} s"),
        Amount::Percent(percent) => format!("{percent} % in {seconds} s"),
    }
}

/// Metrics have no names; their position in the spec identifies them.
pub(super) fn metric_name(position: u32) -> Arc<str> {
    Arc::from(format!("metrics[{position}]"))
}

/// A reason as a line for a user, with the problem of a sample.
pub(super) fn explained(input: &Input<'_>, reason: &Reason<Cause>) -> String {
    let position = reason.rule.map(|rule| rule as usize);
    let problem = position.and_then(|rule| input.samples.get(rule)?.as_ref().err());
    let metric = position.and_then(|rule| input.policy.metrics.get(rule));
    match (reason.cause, metric.zip(problem)) {
        (Cause::NoSample, Some((metric, problem))) => {
            format!("{} {problem}; nothing is scaled", metric.query.text)
        }
        _ => render(input.policy, reason),
    }
}
