//! Decides the replicas of a target: the recommendation of each metric, the decisive one, and the effect of the
//! windows, the policies and the bounds on it.

use jiff::{SignedDuration, Timestamp};

use super::limits::{LimitedReplicas, changes_at, highest_held, limit};
use super::memory::QUIET;
use super::recommend::{recommendation, selected};
use super::{
    Cause, Contest, FiniteNumber, Input, LastScale, Memory, MetricScaling, Recorded, TargetState,
};
use crate::reason::{Reasons, WholeChain, Winners};
use crate::{Action, Reason, Verdict};

/// The decision about an autoscaler.
pub type Decision = crate::Decision<Cause, Memory, Recorded>;

/// Decides the replicas of the target at `now`.
#[must_use]
pub fn decide(input: &Input<'_>, now: Timestamp) -> Decision {
    let mut reasons = Winners(Vec::with_capacity(1));
    let mut decision = decide_with(input, now, &mut reasons);
    decision.reasons = reasons.0;
    decision
}

/// The whole chain of reasons of [`decide`]: the effect of every metric, in the order of the spec.
#[must_use]
pub fn explain(input: &Input<'_>, now: Timestamp) -> Vec<Reason<Cause>> {
    let mut reasons = WholeChain(Vec::new());
    decide_with(input, now, &mut reasons);
    reasons.0.sort_by_key(|reason| reason.rule);
    reasons.0
}

fn decide_with(input: &Input<'_>, now: Timestamp, reasons: &mut impl Reasons<Cause>) -> Decision {
    let set = match input.target {
        TargetState::Workload(workload) => workload.replicas,
        TargetState::Missing | TargetState::Unreachable(_) => None,
    };
    let memory = input.memory.cloned().unwrap_or_default();
    let target = input.policy.target.identity();
    let mut memory = memory.carried_over(target, set, now);
    let mut decision = Decision {
        actions: Vec::new(),
        reasons: Vec::new(),
        wake_at: input.samples_change_at,
        memory: Memory::default(),
        recorded: Vec::new(),
    };
    if input.target == TargetState::Missing {
        // A later object of the same name is a different object, which this autoscaler has not scaled.
        memory.last_scale = None;
    }
    note_interference(&mut memory, set, now, &mut decision.recorded);
    let samples = usable(input, reasons);
    if let (Some(samples), Some(current)) = (samples, current_replicas(input, reasons)) {
        let until = waits_for_sample(input, &memory, now);
        if let Some(wanted) =
            until.and_then(|_| DesiredReplicas::from_last(input.policy, &memory, set, now))
        {
            decision.wake_at = earliest([decision.wake_at, until.flatten()]);
            let cause = Cause::Holds { limited: wanted.limited };
            reasons.won(reason(None, Verdict::Won, cause));
            plan_write(input, &wanted, now, &mut memory, &mut decision, reasons);
        } else if let Some(recommended) = recommended(input, &samples, (current, set), reasons) {
            let wanted = DesiredReplicas::new(input.policy, &mut memory, recommended, set, now);
            give_reasons(&wanted, &samples, reasons);
            plan_write(input, &wanted, now, &mut memory, &mut decision, reasons);
        }
    }
    let quiet = memory.contest_ends();
    decision.wake_at = earliest([decision.wake_at, quiet.filter(|at| *at > now)]);
    memory.trim(input.policy, now);
    decision.memory = memory;
    decision
}

/// Records the recommendation of an instant, and scales nothing.
pub(super) fn only_recommend(input: &Input<'_>, memory: Memory, now: Timestamp) -> Memory {
    let mut reasons = Winners(Vec::new());
    let TargetState::Workload(workload) = input.target else { return memory };
    let set = workload.replicas;
    let mut memory = memory.carried_over(input.policy.target.identity(), set, now);
    let recommended = usable(input, &mut reasons).and_then(|samples| {
        let replicas = (workload.current.or(set), set);
        recommended(input, &samples, replicas, &mut reasons)
    });
    if let Some((_, it)) = recommended.and_then(|all| selected(input.policy, &all, set)) {
        memory.recommend(it, now);
    }
    memory
}

/// Whether the sample that multiplies the replicas is not newer than their last change. A second multiplication would
/// apply the sample twice, so the last recommendation applies until a new sample exists. The inner instant is the next
/// one at which time alone yields a sample, for a metric that is not queried.
#[expect(clippy::option_option, reason = "it does not wait, or for an instant, or for an answer")]
fn waits_for_sample(
    input: &Input<'_>,
    memory: &Memory,
    now: Timestamp,
) -> Option<Option<Timestamp>> {
    let last = memory.last_scale?.at;
    let all = input.policy.metrics.iter().zip(&input.sampled_at);
    let mut multiplied = all.filter(|(metric, _)| metric.target_type.multiplies());
    let is_over = |at: &Option<Timestamp>| match at {
        Some(at) => *at > last,
        None => later(input.settings.query_period, last).is_none_or(|again| again <= now),
    };
    let (_, waiting) = multiplied.find(|(_, at)| !is_over(at))?;
    Some(match waiting {
        Some(_) => None,
        None => later(input.settings.query_period, last),
    })
}

/// Every sample if every one is usable. If one sample is unusable, no recommendation exists.
fn usable(input: &Input<'_>, reasons: &mut impl Reasons<Cause>) -> Option<Vec<FiniteNumber>> {
    for (position, _) in (0..).zip(&input.samples).filter(|(_, sample)| sample.is_err()) {
        reasons.won(reason(Some(position), Verdict::Error, Cause::NoSample));
    }
    input.samples.iter().map(|sample| sample.as_ref().ok().copied()).collect()
}

/// The current replicas; the inner `None` if the number is unknown.
#[expect(clippy::option_option, reason = "there is no target, or one of unknown replicas")]
fn current_replicas(input: &Input<'_>, reasons: &mut impl Reasons<Cause>) -> Option<Option<u32>> {
    let cause = match input.target {
        TargetState::Workload(workload) => return Some(workload.current.or(workload.replicas)),
        TargetState::Missing => Cause::TargetMissing,
        TargetState::Unreachable(_) => Cause::TargetUnreachable,
    };
    reasons.won(reason(None, Verdict::Error, cause));
    None
}

/// The recommendation of each metric; `None` if any metric has no recommendation.
fn recommended(
    input: &Input<'_>,
    samples: &[FiniteNumber],
    (current, set): (Option<u32>, Option<u32>),
    reasons: &mut impl Reasons<Cause>,
) -> Option<Vec<u32>> {
    let tolerance = input.settings.tolerance;
    let all = input.policy.metrics.iter().zip(samples);
    let all: Option<Vec<u32>> = all
        .map(|(metric, sample)| recommendation(metric, *sample, current, set, tolerance))
        .collect();
    if all.is_none() {
        reasons.won(reason(None, Verdict::Error, Cause::ReplicasUnknown));
    }
    all
}

/// The desired replicas.
struct DesiredReplicas {
    /// The position of the metric with the decisive recommendation.
    metric: Option<usize>,
    /// The recommendation after each limit.
    limited: LimitedReplicas,
    /// The replicas that are set; `None` if they are unknown.
    set: Option<u32>,
    /// The recommendations, in the order of the metrics.
    recommended: Vec<u32>,
}

impl DesiredReplicas {
    fn new(
        policy: &MetricScaling,
        memory: &mut Memory,
        recommended: Vec<u32>,
        set: Option<u32>,
        now: Timestamp,
    ) -> DesiredReplicas {
        let Some((metric, recommendation)) = selected(policy, &recommended, set) else {
            let from = set.unwrap_or(policy.bounds.min());
            let replicas = policy.bounds.nearest(from);
            let limited = LimitedReplicas {
                from,
                recommended: from,
                stabilized: from,
                allowed: from,
                replicas,
            };
            return DesiredReplicas { metric: None, limited, set, recommended };
        };
        memory.recommend(recommendation, now);
        // If the set replicas are unknown, no rate limits them.
        let highest = || highest_held(policy, memory, recommendation, now);
        let from = set.unwrap_or_else(|| policy.bounds.nearest(highest()));
        let limited = limit(policy, memory, from, recommendation, now);
        DesiredReplicas { metric: Some(metric), limited, set, recommended }
    }
}

impl DesiredReplicas {
    /// The desired replicas if the last recommendation still applies.
    fn from_last(
        policy: &MetricScaling,
        memory: &Memory,
        set: Option<u32>,
        now: Timestamp,
    ) -> Option<DesiredReplicas> {
        let recommended = memory.recommendations.last()?.replicas;
        let limited = limit(policy, memory, set?, recommended, now);
        Some(DesiredReplicas { metric: None, limited, set, recommended: Vec::new() })
    }

    /// Whether the desired value may change once this value is set.
    fn feeds_back(&self, policy: &MetricScaling) -> bool {
        let then = selected(policy, &self.recommended, Some(self.limited.replicas));
        policy.multiplies()
            || then.map(|(_, it)| it) != self.metric.map(|_| self.limited.recommended)
    }
}

fn give_reasons(
    wanted: &DesiredReplicas,
    samples: &[FiniteNumber],
    reasons: &mut impl Reasons<Cause>,
) {
    let limited = wanted.limited;
    let Some(winner) = wanted.metric else {
        reasons.won(reason(None, Verdict::Won, Cause::OnlyBounds { limited }));
        return;
    };
    for (index, (sample, replicas)) in samples.iter().zip(&wanted.recommended).enumerate() {
        let (sample, position) = (*sample, position(index));
        if index == winner {
            let cause = Cause::Sets { sample, limited };
            reasons.won(reason(Some(position), Verdict::Won, cause));
        } else {
            reasons.other(|| {
                let cause = Cause::Recommends { sample, replicas: *replicas };
                reason(Some(position), Verdict::Lost, cause)
            });
        }
    }
}

/// Plans a write of the desired replicas, unless they are set already. A value that was set very recently is not
/// written either: a write would only contend with the field manager that has changed it since.
fn plan_write(
    input: &Input<'_>,
    wanted: &DesiredReplicas,
    now: Timestamp,
    memory: &mut Memory,
    decision: &mut Decision,
    reasons: &mut impl Reasons<Cause>,
) {
    let policy = input.policy;
    let LimitedReplicas { recommended, replicas, .. } = wanted.limited;
    if wanted.set == Some(replicas) {
        let change = changes_at(policy, memory, replicas, recommended, now);
        decision.wake_at = earliest([decision.wake_at, change]);
        return;
    }
    let period = input.settings.query_period;
    if let (Some(last), Some(found)) = (memory.last_scale, wanted.set)
        && (last.replicas == replicas || last.is_contested() && last.replicas != found)
    {
        note_contest(memory, last, found, now, &mut decision.recorded);
        let again = last.at.checked_add(last.backoff(period)).ok();
        if let Some(again) = again.filter(|again| *again > now) {
            let cause = Cause::Contested { found, replicas };
            let until = Some(again);
            reasons.won(Reason { until, ..reason(None, Verdict::Error, cause) });
            let change = changes_at(policy, memory, found, recommended, now);
            decision.wake_at = earliest([decision.wake_at, change, Some(again)]);
            return;
        }
    }
    let target = policy.target.identity().clone();
    decision.actions.push(Action::SetReplicas { target, replicas });
    // The state after the write determines the next wake.
    let mut then = memory.clone();
    then.scaled(wanted.limited.from, replicas, now);
    let change = changes_at(policy, &then, replicas, recommended, now);
    let settles = wanted.feeds_back(policy).then(|| later(period, now)).flatten();
    decision.wake_at = earliest([decision.wake_at, change, settles]);
}

/// Records that another field manager has replaced the value set shortly before, independent of the current
/// recommendation. After a failure, nothing is recorded: the last write may have succeeded after all.
fn note_interference(
    memory: &mut Memory,
    set: Option<u32>,
    now: Timestamp,
    recorded: &mut Vec<Recorded>,
) {
    if let (Some(last), Some(found), None) = (memory.last_scale, set, &memory.failure)
        && last.replicas != found
        && now.duration_since(last.at) < QUIET
        && memory.contest.as_ref().is_none_or(|contest| contest.found != found)
    {
        note_contest(memory, last, found, now, recorded);
    }
}

/// Records once that another field manager has replaced the set value.
fn note_contest(
    memory: &mut Memory,
    last: LastScale,
    found: u32,
    now: Timestamp,
    recorded: &mut Vec<Recorded>,
) {
    if memory.contest.is_none() {
        recorded.push(Recorded::Undone { at: last.at, set: last.replicas, found });
    }
    let by = memory.contest.take().and_then(|contest| contest.by);
    memory.contest = Some(Contest { at: now, found, by });
}

fn earliest<const N: usize>(instants: [Option<Timestamp>; N]) -> Option<Timestamp> {
    instants.into_iter().flatten().min()
}

fn reason(rule: Option<u32>, verdict: Verdict, cause: Cause) -> Reason<Cause> {
    Reason { rule, verdict, cause, since: None, until: None }
}

/// Positions are small; a spec has a bounded number of metrics.
fn position(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// The end of a period that starts at an instant; `None` if it is not later than the instant, or out of range.
pub(super) fn later(period: SignedDuration, now: Timestamp) -> Option<Timestamp> {
    now.checked_add(period).ok().filter(|at| *at > now)
}
