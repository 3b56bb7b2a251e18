//! Where a run of cron rules begins.
//!
//! With what is, where that is known: the status of each object, and the time of its creation. Else
//! all rules are taken to have always been in force as they are written now, and are replayed from
//! as far back as it matters for who set a field last.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{Because, Bounds, CronRule, CronScaling, Ending, Memory, RuleMemory, Setting, wake_at};
use crate::beginning::{Beginning, Begun, Held};
use crate::{Family, Field, Identity, PolicyName, Reason, Target, Value, Verdict, Why, World};

const A_NANOSECOND: SignedDuration = SignedDuration::from_nanos(1);

/// How many firings of a rule are looked at to find one that no other rule supersedes: as many as a
/// week has minutes. Schedules that meet at all of so many meet at all.
const LOOKS_BACK: usize = 7 * 24 * 60;

/// The objects that change one target, and their rules.
type Writers<'a> = [(&'a Identity, &'a CronScaling)];

pub(super) fn begin(world: &mut World, policies: &[&Identity], beginning: Beginning) -> Begun {
    let mut by_target: BTreeMap<Target, Vec<Identity>> = BTreeMap::new();
    for policy in policies {
        let object = world.cron_scalings.get_mut(*policy);
        if let Some(checked) = object.and_then(|object| object.policy.as_mut()) {
            keep_only_the_latest(Arc::make_mut(checked));
            by_target.entry(checked.target.clone()).or_default().push((*policy).clone());
        }
    }
    let mut begun = Begun::default();
    for (target, policies) in by_target {
        let checked: Vec<_> = policies
            .iter()
            .filter_map(|policy| {
                let object = world.cron_scalings.get(policy)?;
                Some((policy, object.policy.clone()?))
            })
            .collect();
        let writers: Vec<_> = checked.iter().map(|(policy, it)| (*policy, &**it)).collect();
        match beginning.what_is_at {
            Some(at) => {
                begin_with_what_is(world, &target, &writers, at, beginning.from, &mut begun);
            }
            None => replay(world, &target, &writers, beginning.from, &mut begun),
        }
    }
    begun
}

/// Nobody reads the histories of a run, but for the latest of each when somebody asks why.
fn keep_only_the_latest(policy: &mut CronScaling) {
    for rule in &mut policy.rules {
        (rule.successful_history_limit, rule.failed_history_limit) = (1, 1);
    }
}

/// Everybody goes on from what their status says. What is sure to be set anew before the beginning
/// need not be run through.
fn begin_with_what_is(
    world: &mut World,
    target: &Target,
    writers: &Writers<'_>,
    at: Timestamp,
    from: Timestamp,
    begun: &mut Begun,
) {
    for (policy, checked) in writers {
        let memory = world.cron_scalings.get(*policy).and_then(|object| object.memory.as_ref());
        let held = memory.map(|memory| last_set(policy, checked, memory)).unwrap_or_default();
        begun.held.extend(held);
    }
    let set_anew_from = set_anew(target, writers, from).filter(|first| *first > at);
    match set_anew_from {
        Some(first) => arm_all(world, writers, before(first), begun),
        None => begun.first_turns.extend(writers.iter().map(|(policy, _)| (name(policy), at))),
    }
}

/// What each rule is known to have set last, field by field: a bound that it once moved is not set
/// again by a firing that found it out of the way.
fn last_set(policy: &Identity, checked: &CronScaling, memory: &Memory) -> Vec<Held> {
    let mut held = Vec::new();
    for (index, rule) in (0..).zip(&checked.rules) {
        // A rule that was changed since may have set something else, or another target.
        let is_same = |it: &&RuleMemory| it.name == rule.name && it.fingerprint == rule.fingerprint;
        let known = memory.rules.iter().find(is_same);
        let executions = known.map_or(&[][..], |known| &known.executions);
        for field in Field::of_target(&checked.target) {
            let last = executions.iter().find_map(|execution| {
                let Ending::Done(applied) = execution.ending else { return None };
                let (_, value) = applied.fields().find(|(set, _)| set == field)?;
                Some((execution.executed(), value, applied.moved_other_bound()))
            });
            let Some((since, value, moved)) = last else { continue };
            let because = if moved { Because::MovedOtherBound } else { Because::Fired };
            held.push(Held {
                target: checked.target.identity().clone(),
                field: *field,
                value: Value::Number(value),
                policy: name(policy),
                why: why(index, because),
                since: Some(since),
            });
        }
    }
    held
}

/// Everybody fires from the instant on at which the field that was named longest ago was.
fn replay(
    world: &mut World,
    target: &Target,
    writers: &Writers<'_>,
    from: Timestamp,
    begun: &mut Begun,
) {
    let named = last_named(target, writers, from);
    if let Target::Autoscaler(autoscaler) = target {
        for field in Field::of_target(target).iter().filter(|field| !named.contains_key(field)) {
            begun.held.extend(moved_long_ago(world, autoscaler, *field, writers, from));
        }
    }
    let last = named.into_values().min();
    begun.replayed.as_if_in_force |= last.is_some();
    // One round more tells whether the first of these found its value there already.
    let first = last.and_then(|last| last_named(target, writers, last).into_values().min());
    arm_all(world, writers, first.or(last).map_or(before(from), before), begun);
}

/// From when on every field is set anew before an instant, and by whom is sure; `None` when one of them
/// is not.
fn set_anew(target: &Target, writers: &Writers<'_>, from: Timestamp) -> Option<Timestamp> {
    let all_named = |from: Timestamp| {
        let named = last_named(target, writers, from);
        let all = Field::of_target(target).iter().all(|field| named.contains_key(field));
        named.into_values().min().filter(|_| all)
    };
    all_named(all_named(from)?)
}

/// Lets every rule be handled until an instant, and asks for the turn of its next firing.
fn arm_all(world: &mut World, writers: &Writers<'_>, handled: Timestamp, begun: &mut Begun) {
    for (policy, checked) in writers {
        let Some(object) = world.cron_scalings.get_mut(*policy) else { continue };
        let rules = checked.rules.iter().map(|rule| RuleMemory::beginning(rule, handled));
        let memory = Memory { rules: rules.collect() };
        let first_turn = wake_at(checked, &memory, handled);
        begun.first_turns.extend(first_turn.map(|at| (name(policy), at)));
        object.memory = Some(memory);
    }
}

/// For each field that a rule names, when that was the case last before an instant.
fn last_named(
    target: &Target,
    writers: &Writers<'_>,
    from: Timestamp,
) -> BTreeMap<Field, Timestamp> {
    let mut named = BTreeMap::new();
    for field in Field::of_target(target) {
        let rules = writers.iter().flat_map(|(_, checked)| &checked.rules);
        let naming = rules.filter(|rule| !rule.suspended && names(rule.setting, *field));
        let last = naming.filter_map(|rule| rule.firings.previous(before(from))).max();
        named.extend(last.map(|at| (*field, at)));
    }
    named
}

fn names(setting: Setting, field: Field) -> bool {
    match (setting, field) {
        (Setting::Replicas(_), Field::Replicas) => true,
        (Setting::Bounds(bounds), Field::MinReplicas) => bounds.min().is_some(),
        (Setting::Bounds(bounds), Field::MaxReplicas) => bounds.max().is_some(),
        _ => false,
    }
}

/// A bound that no rule names has made way, some time or other, for the rule that moves it furthest:
/// since when, nobody can say. Of several that move it as far the first one counts, so that it does
/// not depend on where a run begins.
fn moved_long_ago(
    world: &mut World,
    autoscaler: &Identity,
    field: Field,
    writers: &Writers<'_>,
    from: Timestamp,
) -> Option<Held> {
    let live = field.read(world, autoscaler)?.number()?;
    let named = |bounds: Bounds| match field {
        Field::MaxReplicas => bounds.min().filter(|min| *min > live),
        _ => bounds.max().filter(|max| *max < live),
    };
    let mut furthest: Option<(u32, u32, &Identity)> = None;
    for (policy, checked) in writers {
        for (index, rule) in (0..).zip(&checked.rules) {
            let Setting::Bounds(bounds) = rule.setting else { continue };
            let Some(bound) = named(bounds).filter(|_| ever_has_an_effect(checked, rule, from))
            else {
                continue;
            };
            let is_further = furthest.is_none_or(|(known, ..)| match field {
                Field::MaxReplicas => bound > known,
                _ => bound < known,
            });
            if is_further {
                furthest = Some((bound, index, policy));
            }
        }
    }
    let (bound, index, policy) = furthest?;
    field.begin_with(world, autoscaler, bound);
    Some(Held {
        target: autoscaler.clone(),
        field,
        value: Value::Number(bound),
        policy: name(policy),
        why: why(index, Because::MovedOtherBound),
        since: None,
    })
}

/// Whether a rule fires at an instant at which no rule further down takes its place.
fn ever_has_an_effect(checked: &CronScaling, rule: &CronRule, from: Timestamp) -> bool {
    let earlier = |at: &Timestamp| rule.firings.previous(before(*at));
    let further_down =
        || checked.rules.iter().filter(|it| it.position > rule.position && !it.suspended);
    let is_alone =
        |at: Timestamp| further_down().all(|other| other.firings.previous(at) != Some(at));
    !rule.suspended && std::iter::successors(earlier(&from), earlier).take(LOOKS_BACK).any(is_alone)
}

fn why(rule: u32, because: Because) -> Why {
    let (verdict, rule) = (Verdict::Won, Some(rule));
    Why::CronScaling(Reason { rule, verdict, because, since: None, until: None })
}

fn name(policy: &Identity) -> PolicyName {
    PolicyName::new(Family::CronScaling, policy.clone())
}

fn before(at: Timestamp) -> Timestamp {
    at.checked_sub(A_NANOSECOND).unwrap_or(Timestamp::MIN)
}
