//! What a rule has set and another writer has replaced at once: an autoscaler, a tool that keeps a
//! cluster as a repository says, a person.
//!
//! It is noticed, told once a firing, and stays known until it is over; nothing is written again, for
//! two who both insist would go on for ever. What is replaced later is nobody's mistake: between its
//! firings a rule wants nothing.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{Ending, Execution, Recorded, RuleMemory};
use crate::{Field, Identity, Value, World};

/// What is replaced within that time after a firing, is replaced at once.
const AT_ONCE: SignedDuration = SignedDuration::from_mins(2);

/// How it is told that another writer has replaced what a rule has set.
pub const ANOTHER_WRITER: &str = "another writer has set";

/// A firing whose value another writer has replaced at once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Undone {
    /// The firing.
    pub scheduled: Timestamp,
    /// What was done to it: `another writer has set replicas to 2 since`.
    pub said: Arc<str>,
}

/// A value that is not as a rule has set it.
struct Replaced {
    rule: usize,
    scheduled: Timestamp,
    executed: Timestamp,
    field: Field,
    set: u32,
    found: u32,
}

/// Whether it matters to the rules of a policy that the numbers of their target have changed.
pub(crate) fn minds_changes(world: &World, policy: &Identity, now: Timestamp) -> bool {
    let object = world.cron_scalings.get(policy);
    let Some(memory) = object.and_then(|object| object.memory.as_ref()) else { return false };
    memory.rules.iter().any(|rule| {
        let done = rule.executions.iter().filter(|it| it.ending.is_success());
        rule.undone.is_some() || done.clone().any(|it| is_just_now(it.executed(), now))
    })
}

/// Notices what another writer has replaced, and that it is over. Once a firing it is recorded.
pub(crate) fn notice(world: &mut World, policy: &Identity, now: Timestamp) -> Vec<Recorded> {
    let Some(replaced) = replaced(world, policy) else { return Vec::new() };
    let is_undone = |it: &Replaced| !is_set_by_another_policy(world, policy, it);
    let replaced: Vec<Replaced> = replaced.into_iter().filter(is_undone).collect();
    let object = world.cron_scalings.get_mut(policy);
    let Some(memory) = object.and_then(|object| object.memory.as_mut()) else { return Vec::new() };
    let mut recorded = Vec::new();
    for (index, rule) in memory.rules.iter_mut().enumerate() {
        let own = || replaced.iter().filter(|it| it.rule == index);
        let is_so = |known: &Undone| own().any(|it| it.scheduled == known.scheduled);
        rule.undone.take_if(|known| !is_so(known));
        let Some(first) = own().find(|it| is_just_now(it.executed, now)) else { continue };
        if rule.undone.is_some() {
            continue;
        }
        let Replaced { scheduled, field, set, found, .. } = *first;
        let said = Arc::from(format!("{ANOTHER_WRITER} {field} to {found} since"));
        rule.undone = Some(Box::new(Undone { scheduled, said }));
        let rule = Arc::clone(&rule.name);
        recorded.push(Recorded::Undone { rule, scheduled, field, set, found });
    }
    recorded
}

/// Of each field of the target what one of the rules has set last, where it is something else by now.
/// `None` when nothing is known of the target.
fn replaced(world: &World, policy: &Identity) -> Option<Vec<Replaced>> {
    let object = world.cron_scalings.get(policy)?;
    let (target, memory) = (&object.policy.as_ref()?.target, object.memory.as_ref()?);
    let fields = Field::of_target(target).iter();
    let values = fields.filter_map(|field| match field.read(world, target.identity())? {
        Value::Number(number) => Some((*field, number)),
        Value::Text(_) | Value::Names(_) | Value::Numbers(_) => None,
    });
    let values: Vec<(Field, u32)> = values.collect();
    let is_known = !values.is_empty();
    let replaced = values.into_iter().filter_map(|(field, found)| {
        let rules = memory.rules.iter().enumerate();
        let last = rules.filter_map(|(index, rule)| Some((index, last_set(rule, field)?)));
        let (rule, (execution, set)) = last.max_by_key(|(_, (it, _))| it.executed())?;
        let (scheduled, executed) = (execution.scheduled(), execution.executed());
        // Whoever has edited the rule since has begun anew.
        let is_last = scheduled == memory.rules[rule].handled;
        let is_replaced = is_last && set != found;
        is_replaced.then_some(Replaced { rule, scheduled, executed, field, set, found })
    });
    is_known.then(|| replaced.collect())
}

/// Whether it was another policy that has set the value last.
fn is_set_by_another_policy(world: &World, policy: &Identity, replaced: &Replaced) -> bool {
    let objects = &world.cron_scalings;
    let target = |policy| Some(objects.get(policy)?.policy.as_ref()?.target.identity());
    let own = target(policy);
    let others = objects.iter().filter(|(name, _)| *name != policy && target(name) == own);
    let memories = others.filter_map(|(_, object)| object.memory.as_ref());
    let mut set = memories.flat_map(|it| &it.rules).filter_map(|it| last_set(it, replaced.field));
    set.any(|(execution, _)| execution.executed() >= replaced.executed)
}

/// What a rule has set a field to last.
fn last_set(rule: &RuleMemory, field: Field) -> Option<(&Execution, u32)> {
    let set = rule.executions.iter().filter_map(|execution| {
        let Ending::Done(applied) = execution.ending else { return None };
        let (_, value) = applied.fields().find(|(it, _)| *it == field)?;
        Some((execution, value))
    });
    set.max_by_key(|(execution, _)| execution.executed())
}

fn is_just_now(executed: Timestamp, now: Timestamp) -> bool {
    now.duration_since(executed).abs() <= AT_ONCE
}
