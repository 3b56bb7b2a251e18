//! Requirements on any decision about an autoscaler: never outside the bounds, never faster than the policies, never
//! against a window, never in a direction that is disabled, and nothing without every sample.

use almanac_engine::metric_scaling::{
    Amount, Decision, Direction, Input, Memory, MetricScaling, RatePolicy, Select, TargetState,
};
use almanac_engine::{Action, Verdict};
use jiff::{SignedDuration, Timestamp};

use crate::Violations;

/// Checks the decision for an autoscaler at `now`.
#[must_use]
pub fn check_metric_scaling(input: &Input<'_>, now: Timestamp, decision: &Decision) -> Violations {
    let mut violations = Violations::default();
    let policy = input.policy;
    if let Some(wake_at) = decision.wake_at {
        violations.unless(wake_at > now, || format!("wakes at {wake_at}, which is over at {now}"));
    }
    check_memory(&mut violations, &decision.memory);
    let is_known =
        matches!(input.target, TargetState::Workload(_)) && input.samples.iter().all(Result::is_ok);
    let winners = decision.reasons.iter().filter(|it| it.verdict == Verdict::Won).count();
    violations.unless(winners <= usize::from(is_known), || {
        format!("{winners} reasons have won over {:?}", input.samples)
    });
    violations.unless(winners > 0 || decision.actions.is_empty(), || {
        format!("does {:?}, for which no reason has won", decision.actions)
    });
    let [action] = decision.actions.as_slice() else {
        violations.unless(decision.actions.is_empty(), || {
            format!("does several things at once: {:?}", decision.actions)
        });
        return violations;
    };
    violations.unless(is_known, || format!("does {action:?} without every sample and the target"));
    let Action::SetReplicas { target, replicas } = action else {
        violations.unless(false, || format!("does {action:?}"));
        return violations;
    };
    violations.unless(target == policy.target.identity(), || format!("changes {target}"));
    let (min, max) = (policy.bounds.min(), policy.bounds.max());
    violations.unless((min..=max).contains(replicas), || {
        format!("sets {replicas}, which is outside {min} to {max}")
    });
    let TargetState::Workload(workload) = input.target else { return violations };
    let Some(from) = workload.replicas else { return violations };
    violations.unless(*replicas != from, || format!("sets {replicas} again"));
    check_speed(&mut violations, policy, &decision.memory, (from, *replicas), now);
    violations
}

/// The policy state is sorted, and contains each entry once.
fn check_memory(violations: &mut Violations, memory: &Memory) {
    let recommendations = &memory.recommendations;
    violations.unless(recommendations.is_sorted_by_key(|it| it.since), || {
        format!("the recommendations are not in order: {recommendations:?}")
    });
    let events = &memory.scale_events;
    violations.unless(events.is_sorted_by_key(|it| it.at), || {
        format!("the scale events are not in order: {events:?}")
    });
}

/// A number outside the bounds changes to the nearest bound immediately; all other changes follow windows and policies.
fn check_speed(
    violations: &mut Violations,
    policy: &MetricScaling,
    memory: &Memory,
    (from, to): (u32, u32),
    now: Timestamp,
) {
    let is_up = to > from;
    let nearest = if is_up { policy.bounds.min() } else { policy.bounds.max() };
    if to == nearest && (is_up == (from < nearest)) {
        return;
    }
    let direction = if is_up { Direction::Up } else { Direction::Down };
    let rules = policy.rules(direction);
    violations.unless(rules.select != Select::Disabled, || {
        format!("goes from {from} to {to}, though {direction:?} is disabled")
    });
    for recommended in held(memory, rules.window_seconds, now) {
        let keeps = if is_up { to <= recommended } else { to >= recommended };
        violations.unless(keeps, || {
            format!("goes from {from} to {to} past {recommended}, which is in the window")
        });
    }
    let keeps = |policy: &RatePolicy| {
        let (start, allowance) = allowance(*policy, memory, from, now);
        let change = if is_up { i64::from(to) - start } else { start - i64::from(to) };
        change <= allowance
    };
    let mut kept = rules.policies.iter().map(keeps);
    let is_kept = match rules.select {
        _ if rules.policies.is_empty() => true,
        Select::Max => kept.any(|it| it),
        Select::Min | Select::Disabled => kept.all(|it| it),
    };
    violations.unless(is_kept, || {
        let events = &memory.scale_events;
        format!("goes from {from} to {to} after {events:?}: faster than {:?}", rules.policies)
    });
}

/// The recommendations of the last `seconds`.
fn held(memory: &Memory, seconds: u32, now: Timestamp) -> Vec<u32> {
    let window = SignedDuration::from_secs(seconds.into());
    let all = memory.recommendations.iter().enumerate();
    let within = all.filter(|(index, _)| {
        let until = memory.recommendations.get(index + 1).map_or(now, |next| next.since);
        index + 1 == memory.recommendations.len() || now.duration_since(until) < window
    });
    within.map(|(_, it)| it.replicas).collect()
}

/// The replicas at the start of the period of a policy, and the change that the policy allows since then.
fn allowance(policy: RatePolicy, memory: &Memory, from: u32, now: Timestamp) -> (i64, i64) {
    let period = SignedDuration::from_secs(policy.period_seconds.into());
    let within = memory.scale_events.iter().filter(|it| now.duration_since(it.at) < period);
    let start = within.fold(i64::from(from), |replicas, event| match event.direction {
        Direction::Up => replicas - i64::from(event.change),
        Direction::Down => replicas + i64::from(event.change),
    });
    let allowance = match policy.amount {
        Amount::Replicas(count) => count.into(),
        // A change that exceeds the percentage by less than one replica is still allowed.
        Amount::Percent(percent) => (start.max(0) * i64::from(percent) + 99) / 100,
    };
    (start, allowance)
}
