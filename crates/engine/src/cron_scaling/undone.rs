//! Detects when another field manager replaces the value that a rule has just set: an autoscaler, a deployment tool, a
//! person.
//!
//! An undone value is reported once per firing, and stays in the policy state until the change is over. Almanac does
//! not write the value again, because two field managers that both insist would never stop. A later change is
//! legitimate: between its firings, a rule sets nothing.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{CronRules, Execution, FiringOutcome, Recorded, RuleMemory};
use crate::other_writer::ExternalChange;
use crate::seam::{FamilyState, ViewMut};
use crate::{Field, Identity, Objects};

/// A value that is replaced within this time after a firing is undone.
const UNDO_WINDOW: SignedDuration = SignedDuration::from_mins(2);

/// The prefix of the message about an undone value.
pub const ANOTHER_WRITER: &str = "another writer has set";

/// A firing whose value another field manager has immediately replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UndoneValue {
    /// The scheduled instant of the firing.
    pub scheduled: Timestamp,
    /// The field that was replaced.
    pub field: Field,
    /// The change: `another writer has set replicas to 2 since`. The message from a status also contains the next step.
    pub message: Arc<str>,
    /// The field manager that replaced the value; `None` if the message already contains the next step.
    pub by: Option<Arc<str>>,
    /// Whether the value equals that of the rule again, or another rule has set it since. The undone value has then
    /// been reported, and is not reported again.
    pub is_over: bool,
}

impl UndoneValue {
    /// An undone firing, read from the message in a status.
    #[must_use]
    pub fn parse(scheduled: Timestamp, message: &str) -> Option<UndoneValue> {
        let rest = message.strip_prefix(ANOTHER_WRITER)?.trim_start();
        let field = Field::ALL.into_iter().find(|field| {
            rest.strip_prefix(&*field.to_string()).is_some_and(|rest| rest.starts_with(' '))
        })?;
        Some(UndoneValue { scheduled, field, message: message.into(), by: None, is_over: false })
    }
}

/// The last write of a field by any rule, and the current value of the field.
struct LastSet {
    rule: usize,
    scheduled: Timestamp,
    executed: Timestamp,
    field: Field,
    set: u32,
    found: u32,
}

/// Whether the rules of a policy need a turn because their target has changed.
pub(crate) fn reacts_to_changes(
    state: &FamilyState<CronRules>,
    policy: &Identity,
    now: Timestamp,
) -> bool {
    let object = state.policies.get(policy);
    let Some(memory) = object.and_then(|object| object.memory.as_ref()) else { return false };
    memory.rules.iter().any(|rule| {
        let done = rule.executions.iter().filter(|it| it.ending.is_success());
        rule.undone.is_some() || done.clone().any(|it| is_just_now(it.executed(), now))
    })
}

/// Detects values that other field managers have replaced, and the end of each replacement. Each is recorded once per
/// firing. Only a known change by another field manager is considered. A different value may also be Almanac's own:
/// from a write whose response was lost, or from a rule that no longer exists.
pub(crate) fn detect_undone(
    view: ViewMut<'_, CronRules>,
    policy: &Identity,
    foreign: &[ExternalChange],
    now: Timestamp,
) -> Vec<Recorded> {
    let ViewMut { objects, state } = view;
    let Some(all) = last_sets(objects, state, policy) else { return Vec::new() };
    let object = state.policies.get_mut(policy);
    let Some(memory) = object.and_then(|object| object.memory.as_mut()) else { return Vec::new() };
    for (index, rule) in memory.rules.iter_mut().enumerate() {
        // A later firing, or an edit, discards the undone value.
        rule.undone.take_if(|known| known.scheduled != rule.handled);
        if let Some(known) = rule.undone.as_deref_mut() {
            let last = all.iter().find(|it| it.rule == index && it.field == known.field);
            // A value that is restored and replaced again later is legitimate, unless the second replacement is
            // immediate, too.
            known.is_over |= last.is_none_or(|it| it.set == it.found);
        }
    }
    let mut recorded = Vec::new();
    let replaced = all.iter().filter(|it| it.set != it.found && is_just_now(it.executed, now));
    for LastSet { rule, scheduled, field, set, found, .. } in replaced {
        let change = foreign.iter().find(|it| it.field == *field && it.to == *found);
        let Some(ExternalChange { by, .. }) = change else { continue };
        let rule = &mut memory.rules[*rule];
        let known = rule.undone.as_deref();
        if known.is_some_and(|known| !known.is_over && known.field != *field) {
            continue;
        }
        let (scheduled, field, set, found) = (*scheduled, *field, *set, *found);
        if known.is_none() {
            let rule = Arc::clone(&rule.name);
            recorded.push(Recorded::Undone { rule, scheduled, field, set, found });
        }
        let message = Arc::from(format!("{ANOTHER_WRITER} {field} to {found} since"));
        let by = Some(Arc::clone(by));
        rule.undone = Some(Box::new(UndoneValue { scheduled, field, message, by, is_over: false }));
    }
    recorded
}

/// For each field of the target, the rule that set it last, if that write was the rule's latest firing. `None` when the
/// target is unknown.
fn last_sets(
    objects: &Objects,
    state: &FamilyState<CronRules>,
    policy: &Identity,
) -> Option<Vec<LastSet>> {
    let object = state.policies.get(policy)?;
    let (target, memory) = (&object.policy.as_ref()?.target, object.memory.as_ref()?);
    let fields = Field::for_target(target).iter();
    let values =
        fields.filter_map(|field| Some((*field, objects.number(target.identity(), *field)?)));
    let values: Vec<(Field, u32)> = values.collect();
    let is_known = !values.is_empty();
    let all = values.into_iter().filter_map(|(field, found)| {
        let rules = memory.rules.iter().enumerate();
        let last = rules.filter_map(|(index, rule)| Some((index, last_set(rule, field)?)));
        let (rule, (execution, set)) = last.max_by_key(|(_, (it, _))| it.executed())?;
        let (scheduled, executed) = (execution.scheduled(), execution.executed());
        // An edit since then has discarded the earlier state of the rule.
        let is_last = scheduled == memory.rules[rule].handled;
        is_last.then_some(LastSet { rule, scheduled, executed, field, set, found })
    });
    is_known.then(|| all.collect())
}

/// The last value that a rule set for a field.
fn last_set(rule: &RuleMemory, field: Field) -> Option<(&Execution, u32)> {
    let set = rule.executions.iter().filter_map(|execution| {
        let FiringOutcome::Done(applied) = execution.ending else { return None };
        let (_, value) = applied.fields().find(|(it, _)| *it == field)?;
        Some((execution, value))
    });
    set.max_by_key(|(execution, _)| execution.executed())
}

fn is_just_now(executed: Timestamp, now: Timestamp) -> bool {
    now.duration_since(executed).abs() <= UNDO_WINDOW
}
