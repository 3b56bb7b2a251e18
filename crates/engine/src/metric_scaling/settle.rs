//! What is remembered, recorded and set once the outcome of the write is known.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Cause, Decision, Limited, Memory, MetricScaling};
use crate::turn::Effect;
use crate::{EffectReason, Field, Occurrence, Outcome, Value, Verdict};

/// Something that happened to an autoscaler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Recorded {
    /// It has set the replicas.
    Scaled {
        /// What they were set to before; `None` when nobody knew.
        from: Option<u32>,
        /// What they are set to now.
        to: u32,
        /// The metric whose recommendation counted, by its position.
        metric: Option<u32>,
    },
    /// The replicas could not be set, for another reason than at the last attempt; it is tried again.
    Failed {
        /// What they were to be.
        to: u32,
        /// Why they could not.
        message: Arc<str>,
    },
    /// Another writer has replaced what it had set.
    Undone {
        /// When it had set it.
        at: Timestamp,
        /// What it had set.
        set: u32,
        /// What the other writer has.
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

/// What follows from a decision and its outcomes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settled {
    /// What is remembered.
    pub memory: Memory,
    /// What happened.
    pub recorded: Vec<Recorded>,
    /// Which fields were set.
    pub effects: Vec<Effect>,
    /// Whether everything is as it was decided, so that [`crate::Decision::wake_at`] holds.
    pub is_done: bool,
}

/// Settles the write, if there was one to be made.
///
/// A target that is as it is to be was set, whoever did it. What could not be written is decided anew: time may
/// have made something else of it.
#[must_use]
pub fn settle(
    policy: &MetricScaling,
    decision: Decision,
    outcomes: &[Outcome],
    now: Timestamp,
) -> Settled {
    let Decision { reasons, mut memory, mut recorded, .. } = decision;
    let won = reasons.iter().find(|reason| reason.verdict == Verdict::Won);
    let limited = won.and_then(|won| match won.cause {
        Cause::Sets { limited, .. } | Cause::OnlyBounds { limited } | Cause::Holds { limited } => {
            Some(limited)
        }
        _ => None,
    });
    let (Some(won), Some(Limited { from, replicas, .. })) = (won, limited) else {
        return Settled { memory, recorded, effects: Vec::new(), is_done: true };
    };
    let metric = won.rule;
    let is_done = match outcomes.first() {
        None => {
            memory.failure.take_if(|_| from == replicas);
            from == replicas
        }
        Some(Outcome::Done) => {
            memory.scaled(from, replicas, now);
            // Where nobody knew what was set, it goes on from what is set now.
            let from = Some(from).filter(|from| *from != replicas);
            recorded.push(Recorded::Scaled { from, to: replicas, metric });
            true
        }
        Some(Outcome::Unchanged) => {
            memory.failure = None;
            true
        }
        // Somebody else was faster: what is to be set then is decided afresh.
        Some(Outcome::Withdrawn | Outcome::Conflict) => false,
        Some(Outcome::Refused(message) | Outcome::Unknown(message)) => {
            // Each attempt fails until the cause is gone, which is recorded once.
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
        reason: EffectReason::MetricScaling(*won),
    };
    let effects = if is_done { vec![effect()] } else { Vec::new() };
    // What was put off is no failure; it has its own time.
    let is_done = is_done || outcomes.is_empty();
    Settled { memory, recorded, effects, is_done }
}
