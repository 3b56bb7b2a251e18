//! What each metric recommends, and which of the recommendations counts.

use super::{Direction, FiniteNumber, Metric, MetricScaling, Select, TargetType};

/// How many replicas a metric recommends. `None` where that depends on how many there are, and nobody knows.
#[must_use]
pub fn recommendation(
    metric: &Metric,
    sample: FiniteNumber,
    current: Option<u32>,
    tolerance: f64,
) -> Option<u32> {
    let (target, ratio) = (metric.target, sample.ratio(metric.target));
    let is_near = |ratio: f64| tolerance > 0.0 && (1.0 - ratio).abs() <= tolerance;
    match metric.target_type {
        TargetType::AverageValue => {
            let near = current.filter(|it| *it > 0 && is_near(ratio / f64::from(*it)));
            Some(near.unwrap_or_else(|| sample.scaled(1, target)))
        }
        TargetType::Value => {
            let current = current?;
            let near = is_near(ratio) && current > 0;
            Some(if near { current } else { sample.scaled(current.into(), target).max(1) })
        }
        TargetType::Utilization => {
            let current = current?;
            let near = is_near(ratio * 100.0) && current > 0;
            let factor = u64::from(current) * 100;
            Some(if near { current } else { sample.scaled(factor, target).max(1) })
        }
    }
}

/// The recommendation that counts, by the position of its metric. `None` without any.
///
/// The direction is up if any of them is above what is set, else down if any is below; that direction says
/// which of all recommendations counts. Where it is disabled, the largest is remembered, and nothing comes of
/// it: it lies in that direction.
pub(super) fn selected(
    policy: &MetricScaling,
    recommendations: &[u32],
    from: Option<u32>,
) -> Option<(usize, u32)> {
    let from = from.unwrap_or(0);
    let direction =
        if recommendations.iter().any(|it| *it > from) { Direction::Up } else { Direction::Down };
    let all = recommendations.iter().copied().enumerate();
    match policy.rules(direction).select {
        // The first in the spec of several that say the same.
        Select::Max | Select::Disabled => all.rev().max_by_key(|(_, it)| *it),
        Select::Min => all.min_by_key(|(_, it)| *it),
    }
}
