//! What must be true once the outcome of a cron rules' write is settled.

use almanac_engine::Outcome;
use almanac_engine::cron_scaling::{Ending, Memory, RuleMemory};
use jiff::Timestamp;

use crate::Violations;

/// Checks what became of the memory that was decided, given the outcomes of the actions.
#[must_use]
pub fn check_cron_settled(
    decided: &Memory,
    outcomes: &[Outcome],
    now: Timestamp,
    settled: &Memory,
) -> Violations {
    let mut violations = Violations::default();
    violations.unless(decided.rules.len() == settled.rules.len(), || {
        "settling adds or removes a rule".to_owned()
    });
    let is_as_wanted = outcomes.first().is_some_and(Outcome::is_as_wanted);
    for (before, after) in decided.rules.iter().zip(&settled.rules) {
        let holds = if is_trying(before) {
            if is_as_wanted { is_done(before, after, now) } else { is_kept(before, after, now) }
        } else {
            before == after
        };
        violations
            .unless(holds, || format!("with {outcomes:?}, {before:?} is settled as {after:?}"));
    }
    violations
}

fn is_trying(rule: &RuleMemory) -> bool {
    rule.pending.as_ref().is_some_and(|pending| pending.applying.is_some())
}

fn is_done(before: &RuleMemory, after: &RuleMemory, now: Timestamp) -> bool {
    let Some(pending) = &before.pending else { return false };
    after.pending.is_none()
        && after.handled == before.handled.max(pending.at)
        && after.executions.first().is_some_and(|newest| {
            newest.scheduled == pending.at
                && newest.executed == now
                && matches!(newest.ending, Ending::Done(applied) if Some(applied) == pending.applying)
        })
}

fn is_kept(before: &RuleMemory, after: &RuleMemory, now: Timestamp) -> bool {
    let (Some(before_it), Some(after_it)) = (&before.pending, &after.pending) else { return false };
    after_it.at == before_it.at
        && after_it.applying.is_none()
        && after_it.attempts == before_it.attempts.saturating_add(1)
        && after_it.retry_at > now
        && after_it.message.is_some()
        && after.handled == before.handled
        && after.executions == before.executions
}
