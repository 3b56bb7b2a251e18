//! The policy state of a schedule: the published number, as in its status.

use jiff::Timestamp;

use super::{Cause, Decision, ScheduledCapacity};
use crate::seam::Effect;
use crate::{Field, Identity, Occurrence, Outcome, Reason, Value};

/// The number that a schedule publishes, with its winner and its next change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PublishedNumber {
    /// The published number.
    pub value: u32,
    /// The position of the winning behavior; `None` for the default.
    pub winner: Option<u32>,
    /// The next different number; `None` unless it applies within [`super::LOOKS_AHEAD`].
    pub next: Option<Change>,
}

/// A future number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// The instant from which the number applies.
    pub at: Timestamp,
    /// The future number.
    pub value: u32,
}

/// A change of the behavior that decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// The instant of the change.
    pub at: Timestamp,
    /// The previous publication; `None` for the first one.
    pub before: Option<PublishedNumber>,
    /// The current publication.
    pub published: PublishedNumber,
}

impl Recorded {
    /// Whether a behavior has opened or the previous winner has closed, with the position of that behavior. Computed on
    /// demand, because few callers need it.
    #[must_use]
    pub fn occurrence(&self, policy: &ScheduledCapacity) -> (Occurrence, Option<u32>) {
        let last_change = |rule: u32| {
            let behavior = policy.behaviors.get(rule as usize)?;
            behavior.windows.previous_transition(self.at)
        };
        let won_before = self.before.and_then(|before| before.winner);
        let closed = won_before.and_then(last_change).filter(|last| !last.opens);
        // A turn may be late, so the instants of closing and opening are compared with each other, not with `now`.
        let has_opened_since = |rule: &u32| match (last_change(*rule), closed) {
            (Some(opened), Some(closed)) => opened.at >= closed.at,
            // A behavior that has always been open has no opening instant.
            (None, Some(_)) => false,
            (_, None) => true,
        };
        match self.published.winner.filter(has_opened_since) {
            Some(rule) => (Occurrence::Opens, Some(rule)),
            None => (Occurrence::Closes, won_before),
        }
    }
}

/// The result of a decision and its outcomes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settlement {
    /// The new policy state.
    pub memory: Option<PublishedNumber>,
    /// The records.
    pub recorded: Vec<Recorded>,
    /// The fields that were set.
    pub effects: Vec<Effect<Reason<Cause>>>,
}

/// Settles the attempt to publish the decided number.
///
/// Every turn decides independently of earlier turns. After a failure, the old number still applies, and the next turn
/// repeats the write. Time alone does not change that, so the publisher determines the retry.
#[must_use]
pub fn settle(
    schedule: &Identity,
    before: Option<PublishedNumber>,
    decision: Decision,
    outcomes: &[Outcome],
    now: Timestamp,
) -> Settlement {
    if !outcomes.iter().all(Outcome::is_as_wanted) {
        return Settlement { memory: before, recorded: Vec::new(), effects: Vec::new() };
    }
    let published = decision.memory;
    let is_same = before.is_some_and(|before| before.winner == published.winner);
    let effect = |reason| Effect {
        target: schedule.clone(),
        field: Field::Value,
        value: Value::Number(published.value),
        reason,
    };
    let record = || Recorded { at: now, before, published };
    Settlement {
        memory: Some(published),
        recorded: if is_same { Vec::new() } else { vec![record()] },
        effects: decision.reasons.into_iter().map(effect).collect(),
    }
}
