//! The start of a run of cron rules.
//!
//! The run starts at the current state if each object has a status. Otherwise all current rules are assumed to have
//! been in force since the creation of their object; if the creation time is unknown, always. The replay starts
//! early enough to find the rule that set each field last.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{
    Bounds, Cause, CronRule, CronRules, CronScaling, DesiredScale, FiringOutcome, Memory,
    RuleMemory, request, wake_at,
};
use crate::seam::{Beginning, FamilyState, PriorWrite, ViewMut};
use crate::{
    Exempt, Family, Field, Identity, PolicyName, PolicyObject, Reason, Target, Value, Verdict,
};

/// The start of a run of cron rules, with the values of the fields at that instant.
type Start = crate::seam::Start<CronRules>;
type LastWrite = PriorWrite<Reason<Cause>>;

const NANOSECOND: SignedDuration = SignedDuration::from_nanos(1);

/// The maximum number of earlier firings of a rule to search for one that no other rule supersedes: the number of
/// minutes in a week. Schedules that coincide at all of these always coincide.
const MAX_LOOKBACK: usize = 7 * 24 * 60;

/// An object with rules that change a target.
struct Writer {
    policy: Identity,
    checked: Arc<CronScaling>,
    /// The rules are in force for all firings after this instant; `None` means always.
    since: Option<Timestamp>,
}

pub(super) fn begin(
    mut view: ViewMut<'_, CronRules>,
    policies: &[&Identity],
    beginning: Beginning,
) -> Start {
    let Beginning { from, state_at, is_behind } = beginning;
    let mut start = Start::default();
    let mut by_target: BTreeMap<Target, Vec<Writer>> = BTreeMap::new();
    let exempt = Arc::clone(&view.objects.exempt);
    for policy in policies {
        let Some(object) = view.state.policies.get_mut(*policy) else { continue };
        let Some(checked) = &mut object.policy else { continue };
        // An exempt policy changes nothing, and has changed nothing before either.
        if Exempt::for_policy(&exempt, policy, Some(checked.target.identity())).is_some() {
            continue;
        }
        keep_only_the_latest(Arc::make_mut(checked));
        let created = object.created.filter(|created| *created <= from);
        start.replayed.predates_state |= is_behind || created != object.created;
        let since = state_at.or(created);
        let writer = Writer { policy: (*policy).clone(), checked: Arc::clone(checked), since };
        by_target.entry(checked.target.clone()).or_default().push(writer);
    }
    for (target, writers) in by_target {
        match state_at {
            Some(at) => begin_from_state(&mut view, &target, &writers, at, from, &mut start),
            None => replay(&mut view, &target, &writers, from, &mut start),
        }
    }
    start
}

/// Keeps only the latest entry of each history: an explanation of a value reads that entry, and nothing reads the
/// others.
pub(super) fn keep_only_the_latest(policy: &mut CronScaling) {
    for rule in &mut policy.rules {
        (rule.successful_history_limit, rule.failed_history_limit) = (1, 1);
    }
}

/// Continues every policy from its status. A firing that a later one is sure to overwrite before the start is skipped.
fn begin_from_state(
    view: &mut ViewMut<'_, CronRules>,
    target: &Target,
    writers: &[Writer],
    at: Timestamp,
    from: Timestamp,
    start: &mut Start,
) {
    for writer in writers {
        let object = view.state.policies.get(&writer.policy);
        let memory = object.and_then(|object| object.memory.as_ref());
        start.prior_writes.extend(memory.into_iter().flat_map(|memory| last_set(writer, memory)));
    }
    let is_overdue = |writer: &Writer| {
        let object = view.state.policies.get(&writer.policy);
        object.is_some_and(|object| is_overdue(object, &writer.checked, at))
    };
    let first = first_that_matters(target, writers, from).filter(|first| *first > at);
    if let Some(first) = first.filter(|_| !writers.iter().any(is_overdue)) {
        run_from(view, target, writers, first, start);
    } else {
        start.first_turns.extend(writers.iter().map(|writer| (name(&writer.policy), at)));
    }
}

/// Whether a rule has fired since its status was written.
fn is_overdue(
    object: &PolicyObject<CronScaling, Memory>,
    checked: &CronScaling,
    at: Timestamp,
) -> bool {
    checked.rules.iter().filter(|rule| !rule.suspended).any(|rule| {
        let known_until = object.memory.as_ref().map(|memory| {
            let rule = memory.rules.iter().find(|it| it.name == rule.name);
            rule.map_or(at, |rule| rule.handled)
        });
        let handled = known_until.or(object.created).unwrap_or(at);
        rule.firings.previous(at).is_some_and(|last| last > handled)
    })
}

/// The last known write of each rule, by field. A rule does not move a bound again for a firing that finds the bound
/// moved already.
fn last_set(writer: &Writer, memory: &Memory) -> Vec<LastWrite> {
    let Writer { policy, checked, .. } = writer;
    let mut last_writes = Vec::new();
    for (index, rule) in (0..).zip(&checked.rules) {
        // An edited rule may have set a different value, or a different target, before the edit.
        let is_same = |it: &&RuleMemory| it.name == rule.name && it.fingerprint == rule.fingerprint;
        let rule_memory = memory.rules.iter().find(is_same);
        let executions = rule_memory.map_or(&[][..], |rule_memory| &rule_memory.executions);
        for field in Field::for_target(&checked.target) {
            let last = executions.iter().find_map(|execution| {
                let FiringOutcome::Done(applied) = execution.ending else { return None };
                let (_, value) = applied.fields().find(|(set, _)| set == field)?;
                Some((execution, value, applied.moved_other_bound()))
            });
            let Some((execution, value, moved)) = last else { continue };
            let cause = if moved { Cause::MovedOtherBound } else { Cause::Fired };
            last_writes.push(PriorWrite {
                target: checked.target.identity().clone(),
                field: *field,
                value: Value::Number(value),
                policy: name(policy),
                reason: effect_reason(index, cause),
                since: Some(execution.scheduled()),
                applied: Some(execution.executed()),
            });
        }
    }
    last_writes
}

/// Replays all rules, from the instant of the last firing for the field whose last firing is the oldest.
fn replay(
    view: &mut ViewMut<'_, CronRules>,
    target: &Target,
    writers: &[Writer],
    from: Timestamp,
    start: &mut Start,
) {
    let first = first_that_matters(target, writers, from);
    start.replayed.as_if_in_force |=
        first.is_some() && writers.iter().any(|writer| writer.since.is_none());
    run_from(view, target, writers, first.unwrap_or(from), start);
}

/// The start of a run in which the last write of every named field is known. One extra round determines whether the
/// first of these firings changed its field.
fn first_that_matters(target: &Target, writers: &[Writer], from: Timestamp) -> Option<Timestamp> {
    let last = last_named(target, writers, from).into_values().min()?;
    Some(last_named(target, writers, last).into_values().min().unwrap_or(last))
}

/// Arms every rule from an instant on, and schedules the turn of its first firing. A bound that no rule has named by
/// then starts at the value to which it was last moved.
fn run_from(
    view: &mut ViewMut<'_, CronRules>,
    target: &Target,
    writers: &[Writer],
    first: Timestamp,
    start: &mut Start,
) {
    if let Target::Autoscaler(autoscaler) = target {
        let last_firings = last_named(target, writers, first);
        for field in
            Field::for_target(target).iter().filter(|field| !last_firings.contains_key(field))
        {
            start.prior_writes.extend(moved_bound(view, autoscaler, *field, writers, first));
        }
    }
    for Writer { policy, checked, since } in writers {
        let Some(object) = view.state.policies.get_mut(policy) else { continue };
        let handled = since.map_or(before(first), |since| since.max(before(first)));
        let known = object.memory.take();
        let rules = checked.rules.iter().map(|rule| RuleMemory {
            assumed: last_before(rule, first, *since, known.as_ref()),
            ..RuleMemory::beginning(rule, handled)
        });
        let memory = Memory { rules: rules.collect() };
        let first_turn = wake_at(checked, &memory, handled);
        start.first_turns.extend(first_turn.map(|at| (name(policy), at)));
        object.memory = Some(memory);
    }
}

/// The last firing of a rule before an instant. A firing from before its status was written is included only if its
/// outcome is known.
fn last_before(
    rule: &CronRule,
    first: Timestamp,
    since: Option<Timestamp>,
    known: Option<&Memory>,
) -> Option<Timestamp> {
    let last = rule.firings.previous(before(first)).filter(|_| !rule.suspended);
    let last = last.filter(|at| since.is_none_or(|since| *at > since));
    last.or_else(|| request::last_firing(known?, rule).filter(|at| *at < first))
}

/// For each field that a rule names, the instant of the last firing for the field before the given instant.
fn last_named(target: &Target, writers: &[Writer], from: Timestamp) -> BTreeMap<Field, Timestamp> {
    let mut last_firings = BTreeMap::new();
    for field in Field::for_target(target) {
        let last = writers.iter().flat_map(|writer| {
            let rules = writer.checked.rules.iter();
            let naming = rules.filter(|rule| !rule.suspended && names(rule.desired, *field));
            let last = naming.filter_map(|rule| rule.firings.previous(before(from)));
            last.filter(|at| writer.since.is_none_or(|since| *at > since))
        });
        last_firings.extend(last.max().map(|at| (*field, at)));
    }
    last_firings
}

fn names(desired: DesiredScale, field: Field) -> bool {
    match (desired, field) {
        (DesiredScale::Replicas(_), Field::Replicas) => true,
        (DesiredScale::Bounds(bounds), Field::MinReplicas) => bounds.min().is_some(),
        (DesiredScale::Bounds(bounds), Field::MaxReplicas) => bounds.max().is_some(),
        _ => false,
    }
}

/// The rule that moves an unnamed bound furthest determines the bound. Of several that move it equally far, the first
/// one to fire applies. If the order is unknown, the first one in the spec applies, so that the result does not depend
/// on the start of a run.
fn moved_bound(
    view: &mut ViewMut<'_, CronRules>,
    autoscaler: &Identity,
    field: Field,
    writers: &[Writer],
    from: Timestamp,
) -> Option<LastWrite> {
    let live = view.objects.number(autoscaler, field)?;
    let is_upper = field == Field::MaxReplicas;
    let pushes = |bounds: Bounds| {
        let bound = if is_upper { bounds.min() } else { bounds.max() };
        bound.filter(|bound| if is_upper { *bound > live } else { *bound < live })
    };
    let mut furthest: Option<(u32, Option<Timestamp>, u32, &Identity)> = None;
    for Writer { policy, checked, since } in writers {
        for (index, rule) in (0..).zip(&checked.rules) {
            let DesiredScale::Bounds(bounds) = rule.desired else { continue };
            let first = || first_effect(checked, rule, *since, from);
            let Some((bound, first)) = pushes(bounds).and_then(|bound| Some((bound, first()?)))
            else {
                continue;
            };
            let is_further = furthest.is_none_or(|(known, since, ..)| {
                if bound == known { first < since } else { (bound > known) == is_upper }
            });
            if is_further {
                furthest = Some((bound, first, index, policy));
            }
        }
    }
    let (bound, since, index, policy) = furthest?;
    view.objects.begin_with(autoscaler, field, bound);
    Some(PriorWrite {
        target: autoscaler.clone(),
        field,
        value: Value::Number(bound),
        policy: name(policy),
        reason: effect_reason(index, Cause::MovedOtherBound),
        since,
        applied: since,
    })
}

/// The first firing of a rule before an instant that no later rule in the spec supersedes. The outer `None` means that
/// the rule has none. The inner `None` means that its instant is too long ago to be known.
#[expect(clippy::option_option, reason = "there is none, or there is one of an unknown time")]
fn first_effect(
    checked: &CronScaling,
    rule: &CronRule,
    since: Option<Timestamp>,
    from: Timestamp,
) -> Option<Option<Timestamp>> {
    let further_down =
        || checked.rules.iter().filter(|it| it.position > rule.position && !it.suspended);
    let is_alone =
        |at: &Timestamp| further_down().all(|other| other.firings.previous(*at) != Some(*at));
    if rule.suspended {
        return None;
    }
    if let Some(since) = since {
        let after = since.checked_add(NANOSECOND).ok()?;
        return rule.firings.between(after, from).take(MAX_LOOKBACK).find(is_alone).map(Some);
    }
    let earlier = |at: &Timestamp| rule.firings.previous(before(*at));
    let mut all = std::iter::successors(earlier(&from), earlier).take(MAX_LOOKBACK);
    all.any(|at| is_alone(&at)).then_some(None)
}

/// Makes an object new just before an instant. As in a cluster, a firing at the instant of the creation does not belong
/// to the new object.
pub(super) fn start_as_new(state: &mut FamilyState<CronRules>, policy: &Identity, at: Timestamp) {
    if let Some(object) = state.policies.get_mut(policy) {
        (object.created, object.memory) = (Some(before(at)), None);
    }
}

/// Whether an object has the same rules as in an earlier version of the world: the same names, in the same order, and
/// unedited.
pub(super) fn continues(
    state: &FamilyState<CronRules>,
    policy: &Identity,
    earlier: &FamilyState<CronRules>,
) -> bool {
    let rules = |state: &FamilyState<CronRules>| {
        let checked = state.policies.get(policy)?.policy.as_ref()?;
        let rule = |rule: &CronRule| (Arc::clone(&rule.name), rule.fingerprint);
        Some((checked.target.clone(), checked.rules.iter().map(rule).collect::<Vec<_>>()))
    };
    rules(state) == rules(earlier) && earlier.policies.contains_key(policy)
}

fn effect_reason(rule: u32, cause: Cause) -> Reason<Cause> {
    let (verdict, rule) = (Verdict::Won, Some(rule));
    Reason { rule, verdict, cause, since: None, until: None }
}

fn name(policy: &Identity) -> PolicyName {
    PolicyName::new(Family::CronScaling, policy.clone())
}

pub(super) fn before(at: Timestamp) -> Timestamp {
    at.checked_sub(NANOSECOND).unwrap_or(Timestamp::MIN)
}
