//! The value that cron rules request for a field: that of the last firing, since its instant.

use jiff::Timestamp;

use super::{CronRule, CronRules, Ending, RuleMemory};
use crate::seam::{ObjectOf, Requested};
use crate::{Field, Value};

/// The value that the rules of an object request for a field at an instant. Of several rules that fire at one instant,
/// the last one in the spec counts.
pub(super) fn request(
    object: &ObjectOf<CronRules>,
    field: Field,
    now: Timestamp,
) -> Option<Requested> {
    let rules = object.policy.as_deref()?.rules.iter();
    let last = rules.filter_map(|rule| last_value(object, rule, field, now));
    let (since, value) = last.max_by_key(|(since, _)| *since)?;
    Some((Value::Number(value), Some(since)))
}

/// The last firing of a rule that set a field, and the value.
fn last_value(
    object: &ObjectOf<CronRules>,
    rule: &CronRule,
    field: Field,
    now: Timestamp,
) -> Option<(Timestamp, u32)> {
    // A rule that was edited may have had another value, or another target.
    let is_same = |it: &&RuleMemory| it.name == rule.name && it.fingerprint == rule.fingerprint;
    let memory = object.memory.as_ref()?.rules.iter().find(is_same)?;
    let set = memory.executions.iter().filter_map(|execution| {
        let Ending::Done(applied) = execution.ending else { return None };
        let (_, value) = applied.fields().find(|(it, _)| *it == field)?;
        Some((execution.scheduled(), value))
    });
    let last = set.max_by_key(|(since, _)| *since);
    if last.is_some() || !memory.executions.is_empty() || rule.suspended {
        return last;
    }
    // A history may be limited to nothing, and a forecast does not replay a firing that others have replaced.
    let at = rule.firings.previous(now).filter(|at| object.created.is_none_or(|it| it < *at))?;
    let (_, value) = rule.desired.fields().find(|(it, _)| *it == field)?;
    Some((at, value))
}
