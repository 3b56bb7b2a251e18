//! Checks that cron rules get their next turn when time alone could change the decision.
//!
//! This file does not compute that instant, but verifies the decided instant: no firing falls due before, and one falls
//! due then. The decision searches forward from now to the next firing; the check searches back from the decided
//! instant.

use almanac_engine::cron_scaling::{CronRule, CronScaling, Memory, RuleMemory};
use jiff::{SignedDuration, Timestamp};

use crate::Violations;

const NANOSECOND: SignedDuration = SignedDuration::from_nanos(1);

/// Checks the instant of the next turn of rules with this policy state at `now`.
pub(crate) fn check_waking(
    violations: &mut Violations,
    policy: &CronScaling,
    memory: &Memory,
    now: Timestamp,
    wake_at: Option<Timestamp>,
) {
    let rules =
        || policy.rules.iter().zip(&memory.rules).map(|(rule, memory)| Rule { rule, memory });
    let until = wake_at.map_or(Timestamp::MAX, |at| at - NANOSECOND);
    for rule in rules() {
        for (what, is_slept_over) in [
            ("a firing", rule.fires_within(now, until)),
            ("an attempt", rule.is_tried_within(now, until)),
            ("the end of its delay", rule.is_given_up_within(now, until)),
        ] {
            violations.unless(!is_slept_over, || {
                format!("wakes at {wake_at:?}, and {} has {what} before that", rule.rule.name)
            });
        }
    }
    let Some(at) = wake_at else { return };
    let has_cause = |rule: Rule<'_>| {
        rule.fires_within(until, at)
            || rule.is_tried_within(until, at)
            || rule.is_given_up_within(until, at)
    };
    violations.unless(at > now && rules().any(has_cause), || format!("wakes at {at} for nothing"));
}

/// A rule, and its possible due instants after one instant and up to another.
#[derive(Clone, Copy)]
struct Rule<'a> {
    rule: &'a CronRule,
    memory: &'a RuleMemory,
}

impl Rule<'_> {
    fn fires_within(self, after: Timestamp, until: Timestamp) -> bool {
        let latest = self.rule.firings.previous(until);
        !self.rule.suspended && latest.is_some_and(|at| at > after && at > self.memory.handled)
    }

    /// An attempt in progress is not repeated before its outcome is known.
    fn is_tried_within(self, after: Timestamp, until: Timestamp) -> bool {
        let waiting = self.memory.pending.as_ref().filter(|it| it.applying.is_none());
        waiting.is_some_and(|it| after < it.retry_at && it.retry_at <= until)
    }

    fn is_given_up_within(self, after: Timestamp, until: Timestamp) -> bool {
        let delay = SignedDuration::from_secs(i64::from(self.rule.max_delay_seconds));
        let is_too_late = |it: Timestamp, at: Timestamp| it.duration_since(at) > delay;
        let pending = self.memory.pending.as_ref();
        pending.is_some_and(|it| !is_too_late(after, it.at) && is_too_late(until, it.at))
    }
}
