//! A checked `HorizontalAutoscaler`.
//!
//! `almanac-api` reads and checks it; the decision computes the replicas.

use std::sync::Arc;

use super::{MetricTarget, Query};
use crate::Target;

/// Metrics that set the replicas of a workload.
#[derive(Clone, Debug)]
pub struct MetricScaling {
    /// The workload that is scaled.
    pub target: Target,
    /// The `apiVersion` of the target reference, for requests to the API server.
    pub target_version: Arc<str>,
    /// The bounds of the replicas, for all values of the metrics.
    pub bounds: ReplicaBounds,
    /// The metrics in the order of the spec. Without metrics, only the bounds apply.
    pub metrics: Box<[Metric]>,
    /// The rules for scaling up.
    pub up: ScalingRules,
    /// The rules for scaling down.
    pub down: ScalingRules,
}

impl MetricScaling {
    /// Whether scaling up uses the largest recommendation and scaling down the smallest: when the replicas reach one of
    /// them, the other applies.
    #[must_use]
    pub fn alternates(&self) -> bool {
        let selects = (self.up.select, self.down.select);
        let compared = |it: &Metric| (Arc::clone(&it.query.text), it.target_type, it.target);
        let mut metrics = self.metrics.iter().map(compared);
        let first = metrics.next();
        let may_differ = metrics.any(|it| Some(it) != first) && self.bounds.min < self.bounds.max;
        may_differ && selects == (Select::Max, Select::Min)
    }
}

impl MetricScaling {
    /// Whether a metric multiplies the current number of replicas.
    #[must_use]
    pub fn multiplies(&self) -> bool {
        self.metrics.iter().any(|metric| metric.target_type.multiplies())
    }

    /// Whether two autoscalers scale in the same way, regardless of their names.
    #[must_use]
    pub fn scales_as(&self, other: &MetricScaling) -> bool {
        let is_same = |(one, other): (&Metric, &Metric)| {
            one.query.text == other.query.text
                && (one.target_type, one.target) == (other.target_type, other.target)
        };
        self.target == other.target
            && self.bounds == other.bounds
            && (&self.up, &self.down) == (&other.up, &other.down)
            && self.metrics.len() == other.metrics.len()
            && self.metrics.iter().zip(&other.metrics).all(is_same)
    }

    /// The number of seconds for which earlier recommendations and changes affect a decision.
    #[must_use]
    pub fn history_seconds(&self) -> u32 {
        let both = [&self.up, &self.down];
        let seconds = both.map(|it| it.window_seconds.max(it.longest_period().unwrap_or(0)));
        seconds.into_iter().max().unwrap_or(0)
    }
}

/// A query, and the target of its sample.
#[derive(Clone, Debug)]
pub struct Metric {
    /// The query.
    pub query: Query,
    /// The comparison of the sample with the target.
    pub target_type: TargetType,
    /// The target of the metric.
    pub target: MetricTarget,
}

/// The comparison of a query's sample with its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TargetType {
    /// The sample should equal the target; the current replicas change the sample.
    Value,
    /// The sample should equal the target times the replicas.
    AverageValue,
    /// The sample is a fraction of one, and the target is a percentage; the current replicas change the sample.
    Utilization,
}

impl TargetType {
    /// Whether the comparison multiplies the current number of replicas.
    #[must_use]
    pub fn multiplies(self) -> bool {
        match self {
            TargetType::Value | TargetType::Utilization => true,
            TargetType::AverageValue => false,
        }
    }

    /// The name of the type in manifests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TargetType::Value => "Value",
            TargetType::AverageValue => "AverageValue",
            TargetType::Utilization => "Utilization",
        }
    }
}

/// The bounds of an autoscaler: in order, and at most `i32::MAX`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplicaBounds {
    min: u32,
    max: u32,
}

/// The lower bound is above the upper one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CrossedBounds;

impl ReplicaBounds {
    /// Creates bounds that are in order.
    pub fn new(min: u32, max: u32) -> Result<ReplicaBounds, CrossedBounds> {
        if min > max { Err(CrossedBounds) } else { Ok(ReplicaBounds { min, max }) }
    }

    /// The lower bound.
    #[must_use]
    pub fn min(self) -> u32 {
        self.min
    }

    /// The upper bound.
    #[must_use]
    pub fn max(self) -> u32 {
        self.max
    }

    /// The number of replicas within the bounds that is nearest to the given one.
    #[must_use]
    pub fn nearest(self, replicas: u32) -> u32 {
        replicas.clamp(self.min, self.max)
    }
}

/// The direction of a change of replicas.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// More replicas.
    Up,
    /// Fewer replicas.
    Down,
}

/// The rules for scaling in one direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScalingRules {
    /// The seconds of earlier recommendations that are considered: at most an hour.
    pub window_seconds: u32,
    /// The choice among several recommendations and policies.
    pub select: Select,
    /// The limits on changes within a period. Without limits, changes are immediate.
    pub policies: Box<[RatePolicy]>,
}

/// The choice among several recommendations or policies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Select {
    /// The largest recommendation; the policy that allows the largest change.
    Max,
    /// The smallest recommendation; the policy that allows the smallest change.
    Min,
    /// No choice: nothing is scaled in this direction.
    Disabled,
}

/// The limit on changes within a period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RatePolicy {
    /// The limit.
    pub amount: Amount,
    /// The period in seconds: from 1 to half an hour.
    pub period_seconds: u32,
}

/// The amount that a policy allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// This number of replicas.
    Replicas(u32),
    /// This percentage of the replicas at the start of the period.
    Percent(u32),
}

impl MetricScaling {
    /// The rules of a direction.
    #[must_use]
    pub fn rules(&self, direction: Direction) -> &ScalingRules {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }
}

impl ScalingRules {
    /// The default for scaling up: immediately, to the largest recommendation.
    #[must_use]
    pub fn default_up() -> ScalingRules {
        ScalingRules { window_seconds: 0, select: Select::Max, policies: Box::default() }
    }

    /// The default for scaling down: to the largest recommendation of five minutes.
    #[must_use]
    pub fn default_down() -> ScalingRules {
        ScalingRules { window_seconds: 300, select: Select::Max, policies: Box::default() }
    }

    /// The longest period of a policy, in seconds.
    #[must_use]
    pub fn longest_period(&self) -> Option<u32> {
        self.policies.iter().map(|policy| policy.period_seconds).max()
    }
}
