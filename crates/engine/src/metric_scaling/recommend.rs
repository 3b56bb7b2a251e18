//! The recommendation of each metric, and the choice among them.

use super::{Direction, FiniteNumber, Metric, MetricScaling, Select, TargetType};

/// The replicas that a metric recommends, from the current replicas and the set replicas. `None` if the recommendation
/// depends on the current replicas, and these are unknown.
#[must_use]
pub fn recommendation(
    metric: &Metric,
    sample: FiniteNumber,
    current: Option<u32>,
    set: Option<u32>,
    tolerance: f64,
) -> Option<u32> {
    let target = metric.target;
    let is_near = |factor, replicas| {
        replicas > 0
            && (1.0 - tolerance..=1.0 + tolerance).contains(&sample.ratio(factor, target, replicas))
    };
    let factor = match metric.target_type {
        TargetType::AverageValue => {
            let near = current.filter(|current| is_near(1, *current));
            return Some(near.unwrap_or_else(|| sample.scaled(1, target)));
        }
        TargetType::Value => 1,
        TargetType::Utilization => 100,
    };
    let current = current?;
    // A sample near its target changes nothing, regardless of the number of set replicas that exist already.
    let near = set.filter(|set| *set > 0 && is_near(factor, 1));
    Some(near.unwrap_or_else(|| sample.scaled(factor * u64::from(current), target).max(1)))
}

/// The effective recommendation, by the index of its metric; `None` without any recommendation.
///
/// The direction is up if any recommendation is above the set value; otherwise down if any is below it. The rules of
/// that direction select the effective recommendation. If that direction is disabled, the largest is recorded, and the
/// replicas do not change.
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
        // Of several equal recommendations, the first one in the spec applies.
        Select::Max | Select::Disabled => all.rev().max_by_key(|(_, it)| *it),
        Select::Min => all.min_by_key(|(_, it)| *it),
    }
}
