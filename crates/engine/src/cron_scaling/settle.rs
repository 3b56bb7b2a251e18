//! What is remembered once it is known what became of the write.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{CronScaling, Ending, Memory, Pending};
use crate::Outcome;

/// The longest time between two attempts.
const LONGEST_PAUSE_SECONDS: i64 = 60;

/// Settles the attempts under way.
///
/// When the target is as wanted, their firings are done. Otherwise they stay pending, to be tried
/// again after a pause that doubles each time, until the decision finds that it is too late.
#[must_use]
pub fn settle(
    policy: &CronScaling,
    mut memory: Memory,
    outcomes: &[Outcome],
    now: Timestamp,
) -> Memory {
    for (rule, memory) in policy.rules.iter().zip(&mut memory.rules) {
        let Some(pending) = &mut memory.pending else { continue };
        let Some(applied) = pending.applying.take() else { continue };
        let message = match outcomes.first() {
            Some(Outcome::Done | Outcome::Unchanged) => {
                let at = pending.at;
                memory.record(rule, at, now, Ending::Done(applied));
                continue;
            }
            Some(Outcome::Conflict) => {
                Arc::from("somebody else changed the target at the same time")
            }
            Some(Outcome::Refused(message) | Outcome::Unknown(message)) => Arc::clone(message),
            None => Arc::from("nobody carried it out"),
        };
        pending.was_in_vain(message, now);
    }
    memory
}

impl Pending {
    /// A firing that is about to be tried for the first time.
    pub(super) fn new(at: Timestamp, now: Timestamp) -> Pending {
        Pending { at, attempts: 0, retry_at: now, message: None, applying: None }
    }

    /// Notes that an attempt was in vain, and when to try again.
    pub(super) fn was_in_vain(&mut self, message: Arc<str>, now: Timestamp) {
        self.attempts = self.attempts.saturating_add(1);
        let pause = 1_i64 << (self.attempts - 1).min(6);
        let pause = SignedDuration::from_secs(pause.min(LONGEST_PAUSE_SECONDS));
        self.retry_at = now.saturating_add(pause).unwrap_or(now);
        self.message = Some(message);
    }
}
