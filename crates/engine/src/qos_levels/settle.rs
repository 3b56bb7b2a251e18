//! Evaluates the outcomes of the writes. The family has no policy state: the next turn decides again about a failed
//! write.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Cause, DecidedPod, Decision};
use crate::seam::Effect;
use crate::{Field, Identity, Occurrence, Outcome, Reason, Value};

/// A change of the level of a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// The instant of the change.
    pub at: Timestamp,
    /// The pod whose level has changed.
    pub pod: Identity,
    /// The policy that set the level before, according to the pod's annotations.
    pub ended: Option<Arc<str>>,
    /// The policy that sets the level now.
    pub begun: Option<Arc<str>>,
    /// The instant at which the new policy opened, if a different policy applied before; also `None` for a policy that
    /// is always open.
    pub opened: Option<Timestamp>,
    /// The previous level.
    pub from: Option<Arc<str>>,
    /// The current level.
    pub to: Option<Arc<str>>,
}

impl Recorded {
    /// The occurrence and its policy; `None` when the same policy continues.
    pub(crate) fn occurrence(&self) -> Option<(Occurrence, Option<Arc<str>>)> {
        if self.ended == self.begun {
            return None;
        }
        // A policy that was open all the time applies from now on because the previous policy has closed.
        let opens = self.ended.is_none() || self.opened == Some(self.at);
        Some(match &self.begun {
            Some(policy) if opens => (Occurrence::Opens, Some(Arc::clone(policy))),
            _ => (Occurrence::Closes, self.ended.clone()),
        })
    }
}

/// The result of a decision and its outcomes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Settlement {
    /// The records.
    pub recorded: Vec<Recorded>,
    /// The desired levels that are set, whether or not a write was required.
    pub effects: Vec<Effect<Reason<Cause>>>,
}

/// Evaluates the outcomes of the actions, in their order. A failed write changes nothing: the next turn repeats it, and
/// the shell determines the delay.
#[must_use]
pub fn settle(decision: Decision, outcomes: &[Outcome], now: Timestamp) -> Settlement {
    let mut settled = Settlement::default();
    let mut outcomes = outcomes.iter();
    for pod in decision.pods {
        if pod.is_written() {
            let outcome = outcomes.next();
            if !outcome.is_some_and(Outcome::is_as_wanted) {
                continue;
            }
            if outcome == Some(&Outcome::Done) {
                settled.recorded.push(recorded(&pod, now));
            }
        }
        settled.effects.push(Effect {
            value: value_of(pod.wanted.level),
            target: pod.pod,
            field: Field::QosLevel,
            reason: pod.reason,
        });
    }
    settled
}

/// A level as a value; an absent level is an absent value.
pub(crate) fn value_of(level: Option<Arc<str>>) -> Value {
    level.map_or(Value::Nothing, Value::Text)
}

fn recorded(pod: &DecidedPod, at: Timestamp) -> Recorded {
    Recorded {
        at,
        pod: pod.pod.clone(),
        ended: pod.found.policy.clone(),
        begun: pod.policy.clone(),
        opened: pod.opened,
        from: pod.found.level.clone(),
        to: pod.wanted.level.clone(),
    }
}
