//! The policy state, the records and the effects after the outcome of the write is known.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{
    Cause, CronScaling, Decision, Execution, FiringOutcome, Memory, Pending, Recorded, RuleMemory,
};
use crate::seam::Effect;
use crate::{Outcome, Reason, Value, Verdict};

/// The time between the first attempt and the second.
const INITIAL_BACKOFF: SignedDuration = SignedDuration::from_secs(1);
/// The maximum time between two attempts.
const MAX_BACKOFF_SECONDS: i64 = 60;

/// The result of a decision and its outcomes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settlement {
    /// The new policy state.
    pub memory: Memory,
    /// The records.
    pub recorded: Vec<Recorded>,
    /// The fields that were set.
    pub effects: Vec<Effect<Reason<Cause>>>,
}

/// Settles the attempts in progress.
///
/// If the target has the desired values, their firings are done. Otherwise they stay pending, to be retried with a
/// doubling backoff, until the decision treats them as too late.
#[must_use]
pub fn settle(
    policy: &CronScaling,
    decision: Decision,
    outcomes: &[Outcome],
    now: Timestamp,
) -> Settlement {
    let Decision { reasons, mut memory, mut recorded, .. } = decision;
    for (rule, memory) in policy.rules.iter().zip(&mut memory.rules) {
        let Some(pending) = &mut memory.pending else { continue };
        let Some(applied) = pending.applying.take() else { continue };
        let message = match outcomes.first() {
            Some(Outcome::Done | Outcome::Unchanged) => {
                let done = Execution::new(pending.at, now, FiringOutcome::Done(applied));
                memory.record(rule, done, &mut recorded);
                continue;
            }
            Some(Outcome::Withdrawn) => {
                // Nothing was attempted. The next turn reads the changes.
                pending.retry_at = now.saturating_add(INITIAL_BACKOFF).unwrap_or(now);
                continue;
            }
            Some(Outcome::Conflict) => {
                Arc::from("another client changed the target at the same time")
            }
            Some(Outcome::Refused(message) | Outcome::Unknown(message)) => Arc::clone(message),
            None => Arc::from("the write was not attempted"),
        };
        memory.attempt_failed(&message, now, &mut recorded);
    }
    if recorded.len() > 1 {
        recorded.sort_by_key(|it| place(policy, it));
    }
    let mut effects = Vec::new();
    // A rule that gives up one firing may apply the next in the same turn.
    for reason in reasons.into_iter().filter(|reason| reason.verdict == Verdict::Won) {
        let rule = reason.rule.and_then(|index| policy.rules.get(index as usize));
        let done = rule.and_then(|rule| applied_by(&rule.name, &recorded));
        for (field, value) in done.into_iter().flat_map(super::Applied::fields) {
            let target = policy.target.identity().clone();
            let value = Value::Number(value);
            effects.push(Effect { target, field, value, reason });
        }
    }
    Settlement { memory, recorded, effects }
}

/// The order of records: by time, then by the spec.
fn place(policy: &CronScaling, recorded: &Recorded) -> (Timestamp, usize) {
    let (at, name) = match recorded {
        Recorded::Ended { rule, execution } => (execution.scheduled(), rule),
        Recorded::AttemptFailed { rule, scheduled, .. }
        | Recorded::Undone { rule, scheduled, .. } => (*scheduled, rule),
        Recorded::Missed { rule, last, .. } => (*last, rule),
        Recorded::ClockWasAhead { rule, until } => (*until, rule),
    };
    let place = policy.rules.iter().position(|rule| rule.name == *name);
    (at, place.unwrap_or(usize::MAX))
}

/// The value that a rule has just set; `None` if it set none.
fn applied_by(rule: &str, recorded: &[Recorded]) -> Option<super::Applied> {
    recorded.iter().rev().find_map(|it| match it {
        Recorded::Ended { rule: of, execution } if **of == *rule => match execution.ending {
            FiringOutcome::Done(applied) => Some(applied),
            _ => None,
        },
        _ => None,
    })
}

impl RuleMemory {
    /// Records that an attempt failed, and sets the time of the retry.
    pub(super) fn attempt_failed(
        &mut self,
        message: &Arc<str>,
        now: Timestamp,
        recorded: &mut Vec<Recorded>,
    ) {
        let Some(pending) = &mut self.pending else { return };
        pending.attempts = pending.attempts.saturating_add(1);
        let pause = 1_i64 << (pending.attempts - 1).min(6);
        let pause = SignedDuration::from_secs(pause.min(MAX_BACKOFF_SECONDS));
        pending.retry_at = now.saturating_add(pause).unwrap_or(now);
        pending.message = Some(Arc::clone(message));
        recorded.push(Recorded::AttemptFailed {
            rule: Arc::clone(&self.name),
            scheduled: pending.at,
            attempts: pending.attempts,
            message: Arc::clone(message),
        });
    }
}

impl Pending {
    /// A new pending firing, before its first attempt.
    pub(super) fn new(at: Timestamp, now: Timestamp) -> Pending {
        Pending { at, attempts: 0, retry_at: now, message: None, applying: None }
    }
}
