//! Checks that the records and the policy state of cron rules agree.

use almanac_engine::cron_scaling::{
    CronRule, CronScaling, Execution, FiringOutcome, MAX_COUNTED, Memory, Recorded, RuleMemory,
};
use jiff::{SignedDuration, Timestamp};

use crate::Violations;

/// Checks the records between two policy states of the same rules, at `now`.
///
/// Every new entry of a rule's history was recorded, once and in order. Recorded executions that are missing in the
/// history exceeded its limit. A failed attempt was recorded exactly if the number of the rule's attempts has grown.
pub(crate) fn check_recorded(
    violations: &mut Violations,
    policy: &CronScaling,
    before: Option<&Memory>,
    after: &Memory,
    recorded: &[Recorded],
    now: Timestamp,
) {
    for one in recorded {
        let (Recorded::Ended { rule, .. }
        | Recorded::Missed { rule, .. }
        | Recorded::AttemptFailed { rule, .. }
        | Recorded::Undone { rule, .. }
        | Recorded::ClockWasAhead { rule, .. }) = one;
        let is_known = after.rules.iter().any(|it| it.name == *rule);
        violations.unless(is_known, || format!("records {one:?} of an unknown rule"));
    }
    let known = before.map_or(&[][..], |memory| &memory.rules);
    for rule in &after.rules {
        let before = known.iter().find(|it| it.name == rule.name);
        check_endings(violations, policy, before, rule, recorded, now);
        check_attempts(violations, before, rule, recorded);
    }
}

fn check_endings(
    violations: &mut Violations,
    policy: &CronScaling,
    before: Option<&RuleMemory>,
    after: &RuleMemory,
    recorded: &[Recorded],
    now: Timestamp,
) {
    let rule = policy.rules.iter().find(|rule| rule.name == after.name);
    let ended: Vec<Execution> = recorded
        .iter()
        .flat_map(|it| match it {
            Recorded::Ended { rule, execution } if *rule == after.name => vec![execution.clone()],
            Recorded::Missed { rule: name, .. } if *name == after.name => {
                rule.map(|rule| missed(violations, rule, it, now)).unwrap_or_default()
            }
            _ => Vec::new(),
        })
        .collect();
    violations.unless(ended.iter().all(|it| it.executed() == now), || {
        format!("{} records at another time than {now}: {ended:?}", after.name)
    });
    violations.unless(ended.is_sorted_by(|one, next| one.scheduled() < next.scheduled()), || {
        format!("{} records out of order, or twice: {ended:?}", after.name)
    });
    let old = before.map_or(&[][..], |before| &before.executions);
    let all = ended.iter().rev().chain(old);
    let mut limits = rule.map(|rule| [rule.failed_history_limit, rule.successful_history_limit]);
    let is_within_limit = |execution: &&Execution| {
        let Some(limits) = &mut limits else { return true };
        let remaining = &mut limits[usize::from(execution.ending.is_success())];
        let is_within_limit = *remaining > 0;
        *remaining = remaining.saturating_sub(1);
        is_within_limit
    };
    violations.unless(all.filter(is_within_limit).eq(after.executions.iter()), || {
        format!("{} records {ended:?}, and its history differs", after.name)
    });
}

/// The firings in a record of several missed firings: all from the first to the last.
fn missed(
    violations: &mut Violations,
    rule: &CronRule,
    recorded: &Recorded,
    now: Timestamp,
) -> Vec<Execution> {
    let Recorded::Missed { count, first, last, late, .. } = recorded else { return Vec::new() };
    let after_last = *last + SignedDuration::from_nanos(1);
    let all: Vec<Timestamp> = rule.firings.between(*first, after_last).collect();
    let is_counted = u32::try_from(all.len()).is_ok_and(|all| all.min(MAX_COUNTED) == *count);
    let holds = all.first() == Some(first)
        && all.last() == Some(last)
        && is_counted
        && *late == now.duration_since(*last);
    violations.unless(holds, || format!("{} misses {all:?}, not {recorded:?}", rule.name));
    all.into_iter().map(|at| Execution::new(at, now, FiringOutcome::Missed)).collect()
}

fn check_attempts(
    violations: &mut Violations,
    before: Option<&RuleMemory>,
    after: &RuleMemory,
    recorded: &[Recorded],
) {
    let failed: Vec<_> = recorded
        .iter()
        .filter_map(|it| match it {
            Recorded::AttemptFailed { rule, scheduled, attempts, message }
                if *rule == after.name =>
            {
                Some((*scheduled, *attempts, message))
            }
            _ => None,
        })
        .collect();
    let grown = after.pending.as_ref().and_then(|pending| {
        let known = before.and_then(|it| it.pending.as_ref()).filter(|it| it.at == pending.at);
        let has_grown = pending.attempts > known.map_or(0, |it| it.attempts);
        let message = pending.message.as_ref();
        message.filter(|_| has_grown).map(|message| (pending.at, pending.attempts, message))
    });
    violations.unless(failed.iter().eq(&grown), || {
        format!("{} records the failed attempts {failed:?} instead of {grown:?}", after.name)
    });
}
