//! Limits a recommendation to the replicas that may be set now, by the stabilization windows, the policies and the
//! bounds, in this order, as in Kubernetes. The result depends only on the time and the policy state. So a caller can
//! also compute the instant of its next change.

use jiff::Timestamp;

use super::memory::{after, before};
use super::{Amount, Direction, Memory, MetricScaling, RatePolicy, ScaleEvent, Select};

/// A recommendation, limited step by step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LimitedReplicas {
    /// The replicas before the change.
    pub from: u32,
    /// The recommendation.
    pub recommended: u32,
    /// The result of the stabilization windows.
    pub stabilized: u32,
    /// The result of the policies, and of a direction that is disabled.
    pub allowed: u32,
    /// The result of the bounds: the desired replicas.
    pub replicas: u32,
}

/// Limits a recommendation to the replicas that may be set at an instant.
///
/// The recommendation of this instant is the last one in the policy state, if any exists.
#[must_use]
pub fn limit(
    policy: &MetricScaling,
    memory: &Memory,
    from: u32,
    recommended: u32,
    now: Timestamp,
) -> LimitedReplicas {
    let stabilized = stabilize(policy, memory, from, recommended, now);
    let allowed = allow(policy, memory, from, stabilized, now);
    let replicas = policy.bounds.nearest(allowed);
    LimitedReplicas { from, recommended, stabilized, allowed, replicas }
}

/// The maximum that the scale-down window leaves of a recommendation: the set value if it is known, unless others set
/// it.
pub(super) fn highest_held(
    policy: &MetricScaling,
    memory: &Memory,
    recommended: u32,
    now: Timestamp,
) -> u32 {
    stabilize(policy, memory, u32::MAX, recommended, now)
}

/// The replicas nearest to the set ones, between the smallest recommendation of the scale-up window and the largest
/// recommendation of the scale-down window.
fn stabilize(
    policy: &MetricScaling,
    memory: &Memory,
    from: u32,
    recommended: u32,
    now: Timestamp,
) -> u32 {
    let within = |seconds: u32| {
        let cutoff = before(now, seconds);
        // Each recommendation applies until the next one starts.
        let earlier_pairs =
            memory.recommendations.windows(2).filter(move |pair| pair[1].since > cutoff);
        earlier_pairs.map(|pair| pair[0].replicas).filter(move |_| seconds > 0)
    };
    let least = within(policy.up.window_seconds).fold(recommended, u32::min);
    let most = within(policy.down.window_seconds).fold(recommended, u32::max);
    from.max(least).min(most)
}

/// Limits a change to the maximum that the policies of the direction allow.
fn allow(policy: &MetricScaling, memory: &Memory, from: u32, wanted: u32, now: Timestamp) -> u32 {
    let direction = match wanted.cmp(&from) {
        std::cmp::Ordering::Greater => Direction::Up,
        std::cmp::Ordering::Less => Direction::Down,
        std::cmp::Ordering::Equal => return wanted,
    };
    let rules = policy.rules(direction);
    let furthest = rules.policies.iter().map(|it| reach(*it, direction, memory, from, now));
    // The policy that allows the largest change.
    let furthest = match (rules.select, direction) {
        (Select::Disabled, _) => return from,
        (Select::Max, Direction::Up) | (Select::Min, Direction::Down) => furthest.max(),
        (Select::Min, Direction::Up) | (Select::Max, Direction::Down) => furthest.min(),
    };
    match (furthest, direction) {
        (None, _) => wanted,
        (Some(furthest), Direction::Up) => wanted.min(furthest.max(from)),
        (Some(furthest), Direction::Down) => wanted.max(furthest.min(from)),
    }
}

/// The replicas that a policy allows, given the changes within its period.
fn reach(
    policy: RatePolicy,
    direction: Direction,
    memory: &Memory,
    from: u32,
    now: Timestamp,
) -> u32 {
    let cutoff = before(now, policy.period_seconds);
    let changed = |direction: Direction| -> i64 {
        let events = memory.scale_events.iter();
        let counted = events.filter(|it| it.at > cutoff && it.direction == direction);
        counted.map(|event| i64::from(event.change)).sum()
    };
    let start = i64::from(from) - changed(Direction::Up) + changed(Direction::Down);
    let reach = match (policy.amount, direction) {
        (Amount::Replicas(count), Direction::Up) => start + i64::from(count),
        (Amount::Replicas(count), Direction::Down) => start - i64::from(count),
        // In whole numbers: 10 % of 100 are 10.
        (Amount::Percent(percent), Direction::Up) => {
            start + (start.max(0) * i64::from(percent) + 99) / 100
        }
        // The remaining percentage stays, rounded down.
        (Amount::Percent(percent), Direction::Down) => {
            start.max(0) * (100 - i64::from(percent).min(100)) / 100
        }
    };
    u32::try_from(reach.clamp(0, i32::MAX.into())).unwrap_or_default()
}

/// The next instant at which time alone changes the limits of an unchanged recommendation.
#[must_use]
pub fn changes_at(
    policy: &MetricScaling,
    memory: &Memory,
    from: u32,
    recommended: u32,
    now: Timestamp,
) -> Option<Timestamp> {
    if from == recommended {
        return None;
    }
    let current = limit(policy, memory, from, recommended, now).replicas;
    let windows = [policy.up.window_seconds, policy.down.window_seconds];
    let ends = memory.recommendations.iter().skip(1).map(|it| it.since);
    let window_ends = ends.flat_map(|end| windows.into_iter().filter_map(move |it| after(end, it)));
    let rules = [&policy.up, &policy.down];
    let periods = || rules.into_iter().flat_map(|it| &it.policies).map(|it| it.period_seconds);
    let period_ends = |event: &ScaleEvent| {
        let at = event.at;
        periods().filter_map(move |period| after(at, period)).collect::<Vec<_>>()
    };
    let period_ends = memory.scale_events.iter().flat_map(period_ends);
    let mut instants: Vec<Timestamp> =
        window_ends.chain(period_ends).filter(|at| *at > now).collect();
    instants.sort_unstable();
    instants.dedup();
    let is_different =
        |at: &Timestamp| limit(policy, memory, from, recommended, *at).replicas != current;
    instants.into_iter().find(is_different)
}
