//! The policy state, records and effects after the outcome of the write.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Cause, Decision, LimitedReplicas, Memory, MetricScaling};
use crate::seam::Effect;
use crate::{Field, Occurrence, Outcome, Reason, Value, Verdict};

/// An event of an autoscaler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Recorded {
    /// The autoscaler has set the replicas.
    Scaled {
        /// The previous value; `None` if it was unknown.
        from: Option<u32>,
        /// The new value.
        to: u32,
        /// The position of the metric with the decisive recommendation.
        metric: Option<u32>,
    },
    /// The replicas could not be set, for a different reason than at the last attempt. The next turn tries again.
    Failed {
        /// The desired value.
        to: u32,
        /// The reason for the failure.
        message: Arc<str>,
    },
    /// Another field manager has replaced the set value.
    Undone {
        /// The instant at which the autoscaler had set the value.
        at: Timestamp,
        /// The value that the autoscaler had set.
        set: u32,
        /// The value that the other field manager set.
        found: u32,
    },
}

impl Recorded {
    pub(crate) fn occurrence(&self) -> Option<(Occurrence, Option<Arc<str>>)> {
        match self {
            Recorded::Scaled { metric, .. } => {
                Some((Occurrence::Scales, metric.map(super::reasons::metric_name)))
            }
            Recorded::Failed { .. } | Recorded::Undone { .. } => None,
        }
    }
}

/// The result of a decision and its outcomes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settlement {
    /// The policy state.
    pub memory: Memory,
    /// The records.
    pub recorded: Vec<Recorded>,
    /// The fields that were set.
    pub effects: Vec<Effect<Reason<Cause>>>,
    /// Whether every value is the decided one, so that [`crate::Decision::wake_at`] applies.
    pub is_done: bool,
}

/// Settles the write, if there was one.
///
/// A target with its desired value counts as set, by any field manager. A failed write is decided again: the desired
/// value may have changed over time.
#[must_use]
pub fn settle(
    policy: &MetricScaling,
    decision: Decision,
    outcomes: &[Outcome],
    now: Timestamp,
) -> Settlement {
    let Decision { reasons, mut memory, mut recorded, .. } = decision;
    let won = reasons.iter().find(|reason| reason.verdict == Verdict::Won);
    let limited = won.and_then(|won| won.cause.limited());
    let (Some(won), Some(LimitedReplicas { from, replicas, .. })) = (won, limited) else {
        return Settlement { memory, recorded, effects: Vec::new(), is_done: true };
    };
    let metric = won.rule;
    let is_done = match outcomes.first() {
        None => {
            memory.failure.take_if(|_| from == replicas);
            from == replicas
        }
        Some(Outcome::Done) => {
            memory.scaled(from, replicas, now);
            // If the set value was unknown, the policy state continues from the current value.
            let from = Some(from).filter(|from| *from != replicas);
            recorded.push(Recorded::Scaled { from, to: replicas, metric });
            true
        }
        Some(Outcome::Unchanged) => {
            memory.failure = None;
            true
        }
        // Another field manager was faster: the next decision determines the desired value.
        Some(Outcome::Withdrawn | Outcome::Conflict) => false,
        Some(Outcome::Refused(message) | Outcome::Unknown(message)) => {
            // Each attempt fails until the cause is removed. The failure is recorded once.
            if memory.failure.as_ref() != Some(message) {
                let message = Arc::clone(message);
                recorded.push(Recorded::Failed { to: replicas, message });
            }
            memory.failure = Some(Arc::clone(message));
            false
        }
    };
    let effect = || Effect {
        target: policy.target.identity().clone(),
        field: Field::Replicas,
        value: Value::Number(replicas),
        reason: *won,
    };
    let effects = if is_done { vec![effect()] } else { Vec::new() };
    // A postponed write is not a failure. It has its own next instant.
    let is_done = is_done || outcomes.is_empty();
    Settlement { memory, recorded, effects, is_done }
}
