//! The value that cron rules request for a field: the value of the last firing, since its instant.

use jiff::Timestamp;

use super::logic::can_be_of;
use super::{CronRule, CronRules, Execution, FiringOutcome, Memory};
use crate::seam::ObjectOf;
use crate::{Field, Inactive, Requested, Value};

/// The value that the rules of an object request for a field. Of several rules that were applied at one instant, the
/// last one in the spec wins. A bound that was moved to admit the other bound is not requested.
pub(super) fn request(object: &ObjectOf<CronRules>, field: Field) -> Result<Requested, Inactive> {
    let value_of = |rule: &CronRule| rule.desired.fields().find(|(it, _)| *it == field);
    let rules = object.policy.as_deref().map_or(&[][..], |policy| &policy.rules);
    let naming = rules.iter().filter_map(|rule| Some((rule, value_of(rule)?.1)));
    let set = naming.clone().filter_map(|(rule, value)| {
        let (applied, since) = last_set(object.memory.as_ref()?, rule, field)?;
        Some((applied, since, value))
    });
    if let Some((applied, since, value)) = set.max_by_key(|(applied, since, _)| (*applied, *since))
    {
        let (since, applied) = (Some(since), Some(applied));
        return Ok(Requested { value: Value::Number(value), since, applied });
    }
    let mut suspended = naming.map(|(rule, _)| rule.suspended);
    Err(match suspended.next() {
        None => Inactive::NotNamed,
        Some(true) if suspended.all(|it| it) => Inactive::Suspended,
        Some(_) => Inactive::NotFired,
    })
}

/// The instant at which a rule last set a field, and the firing of that write.
fn last_set(memory: &Memory, rule: &CronRule, field: Field) -> Option<(Timestamp, Timestamp)> {
    let done = executions(memory, rule).filter(|execution| match execution.ending {
        FiringOutcome::Done(applied) => applied.fields().any(|(it, _)| it == field),
        _ => false,
    });
    let last = done.map(|execution| (execution.executed(), execution.scheduled())).max();
    last.or_else(|| {
        let assumed = memory.rules.iter().find(|it| it.name == rule.name)?.assumed?;
        Some((assumed, assumed))
    })
}

/// The last firing of a rule that set its value.
pub(super) fn last_firing(memory: &Memory, rule: &CronRule) -> Option<Timestamp> {
    let done = executions(memory, rule).filter(|execution| execution.ending.is_success());
    done.map(Execution::scheduled).max()
}

/// The executions of the current version of a rule. An edited rule has none until it fires again: the edit moves the
/// handled instant, and is not part of a history.
fn executions<'a>(memory: &'a Memory, rule: &'a CronRule) -> impl Iterator<Item = &'a Execution> {
    let rule_memory = memory.rules.iter().find(|it| {
        let is_same = it.name == rule.name && it.fingerprint == rule.fingerprint;
        is_same && it.executions.iter().any(|last| last.scheduled() == it.handled)
    });
    let all = rule_memory.into_iter().flat_map(|it| it.executions.iter());
    all.filter(move |execution| can_be_of(rule, execution))
}
