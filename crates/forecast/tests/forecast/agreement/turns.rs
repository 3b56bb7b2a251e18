//! The turns of controllers that start with a world at an instant. The time before is computed minute by minute: the last
//! firing of each rule, and the recommendations of each autoscaler. This module shares no code with the start or the
//! clock of a forecast.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use almanac_engine::metric_scaling::{Memory, Recommendation, TargetType};
use almanac_engine::scheduled_capacity::value_at;
use almanac_engine::turn;
use almanac_engine::{Family, Field, Identity, Influences, Outcome, PolicyName, Value, World};
use almanac_fixtures::names;
use jiff::{SignedDuration, Timestamp};

use super::pods::Pods;
use super::worlds::{Case, Scaler, deployment, instant};

/// A value, its writer, and its first instant.
pub(super) type Change = (Timestamp, Option<Value>, Option<(PolicyName, Option<Arc<str>>)>);

/// The changes of each field, in order.
pub(super) type Timelines = BTreeMap<(Identity, Field), Vec<Change>>;

/// Every rule fires within a week.
const WEEK: i64 = 7 * 1440;

/// The last firing for a Deployment before an instant: its minute, the policy, the rule and the value. Of several at
/// one minute the last policy by name decides, and of its rules the last in the list.
pub(super) fn last_firing(
    case: &Case,
    of: usize,
    before: Timestamp,
) -> Option<(Timestamp, PolicyName, Arc<str>, u32)> {
    let elapsed = before.duration_since(instant(0));
    let last = elapsed.as_secs().div_euclid(60) + i64::from(elapsed.subsec_nanos() > 0);
    let first = last - WEEK - 1440;
    (first..=last).rev().filter(|minute| instant(*minute) < before).find_map(|minute| {
        let policies = case.crons.iter().enumerate().rev().filter(|(_, (target, _))| *target == of);
        let mut rules = policies.flat_map(|(number, (_, rules))| {
            rules.iter().enumerate().rev().map(move |(index, rule)| (number, index, rule))
        });
        let fired = rules.find(|(_, _, (firing, _))| firing.is_at(minute));
        fired.map(|(number, index, (_, replicas))| {
            let policy = names::cron_federated_hpa(&format!("c{number}"));
            (instant(minute), policy, format!("r{index}").into(), *replicas)
        })
    })
}

/// The recommendations of an autoscaler before the start, second by second, for this number of replicas.
fn recommended(case: &Case, scaler: &Scaler, world: &World, replicas: u32) -> Option<Memory> {
    let window = scaler.up_window.max(scaler.down_window);
    let from = case.from();
    let earliest = from - SignedDuration::from_secs(window.into());
    let created = scaler.created.map(|minutes| from - SignedDuration::from_mins(minutes));
    let earliest = created.map_or(earliest, |it| it.max(earliest));
    let mut recommendations: Vec<Recommendation> = Vec::new();
    let mut at = earliest;
    while at < from {
        let answer = match scaler.answer {
            Err(sample) => sample,
            Ok(number) => {
                let schedule = names::metrics_producer(&format!("s{number}")).identity;
                let policy = world.scheduled_capacity.policies.get(&schedule)?.policy.as_ref()?;
                value_at(policy, at)
            }
        };
        let wanted = recommends(scaler, answer, replicas);
        if recommendations.last().is_none_or(|last| last.replicas != wanted) {
            recommendations.push(Recommendation { since: at, replicas: wanted });
        }
        at += SignedDuration::from_secs(1);
    }
    Some(Memory { recommendations, ..Memory::default() })
}

/// The recommendation that Kubernetes documents, in whole numbers. A sample equal to the target changes nothing.
fn recommends(scaler: &Scaler, answer: u32, replicas: u32) -> u32 {
    let (answer, target) = (u64::from(answer) * 1000, u64::from(scaler.target));
    let needed = |factor: u64| u32::try_from((answer * factor).div_ceil(target)).unwrap();
    match scaler.kind {
        TargetType::AverageValue => needed(1),
        TargetType::Value if answer == target && replicas > 0 => replicas,
        TargetType::Value => needed(replicas.into()).max(1),
        TargetType::Utilization if answer * 100 == target && replicas > 0 => replicas,
        TargetType::Utilization => needed(u64::from(replicas) * 100).max(1),
    }
}

/// Whether a schedule publishes another value from the start on than immediately before.
fn changes_at_the_beginning(case: &Case, scaler: &Scaler, world: &World) -> bool {
    // An autoscaler that is created at the start has no past.
    let Ok(number) = scaler.answer else { return false };
    if scaler.created == Some(0) {
        return false;
    }
    let schedule = names::metrics_producer(&format!("s{number}")).identity;
    let Some(object) = world.scheduled_capacity.policies.get(&schedule) else { return false };
    let policy = object.policy.as_ref().unwrap();
    let from = case.from();
    value_at(policy, from - SignedDuration::from_nanos(1)) != value_at(policy, from)
}

/// The world of a case at the start, including its past and its initial values.
fn begun(case: &Case) -> (World, Timelines) {
    let (mut world, from) = (case.world(), case.from());
    let mut timelines = Timelines::new();
    for number in 0..case.deployments.len() {
        let last = last_firing(case, number, from);
        let replicas = last.as_ref().map_or(case.deployments[number], |it| it.3);
        world.objects.workloads.get_mut(&deployment(number)).unwrap().replicas = Some(replicas);
        let by = last.map(|(_, policy, rule, _)| (policy, Some(rule)));
        let change = (from, Some(Value::Number(replicas)), by);
        timelines.insert((deployment(number), Field::Replicas), vec![change]);
    }
    for object in world.cron_scaling.policies.values_mut() {
        object.created = Some(from - SignedDuration::from_secs(1));
    }
    for (number, scaler) in case.scalers.iter().enumerate() {
        let target = world.objects.workloads[&deployment(scaler.deployment)];
        let memory = recommended(case, scaler, &world, target.replicas.unwrap());
        let name = names::horizontal_autoscaler(&format!("h{number}")).identity;
        world.metric_scaling.policies.get_mut(&name).unwrap().memory = memory;
    }
    (world, timelines)
}

/// The changes that controllers make in a world until an instant.
pub(super) fn run(case: &Case, until: Timestamp) -> Timelines {
    let (mut world, mut timelines) = begun(case);
    let from = case.from();
    let of_units = |policy: &PolicyName| policy.family == Family::Units;
    let mut pods = case.units.map(Pods::new);
    let mut due: BTreeSet<(Timestamp, PolicyName)> =
        world.policies().filter(|it| !of_units(it)).map(|it| (from, it)).collect();
    if due.is_empty() {
        follow(&mut pods, &world, &mut timelines, from);
    }
    let (mut influences, mut woken) = (Influences::default(), BTreeSet::new());
    // An autoscaler starts before the events of this instant, unless it receives a new sample at that instant.
    let mut first: Vec<PolicyName> = Vec::new();
    for (number, scaler) in case.scalers.iter().enumerate() {
        let name = names::horizontal_autoscaler(&format!("h{number}"));
        if !changes_at_the_beginning(case, scaler, &world) && due.remove(&(from, name.clone())) {
            first.push(name);
        }
    }
    first.reverse();
    while let Some((at, policy)) =
        first.pop().map(|policy| (from, policy)).or_else(|| due.pop_first())
    {
        due.retain(|(_, other)| *other != policy);
        if at >= until {
            break;
        }
        let Some(turn) = turn::take(&mut world, &policy, at) else { continue };
        if let Some(next) = turn.wake_at {
            forward(&mut due, &policy, next);
        }
        let mut done = turn.done.iter().filter(|(_, outcome)| *outcome == Outcome::Done).peekable();
        if done.peek().is_some() {
            for (other, when) in influences.after_write(&world, &policy, at) {
                let has_turn_now = due.contains(&(at, other.clone()));
                if when > at {
                    forward(&mut due, &other, when);
                } else if !has_turn_now {
                    woken.insert(other);
                }
            }
        }
        for (action, _) in done {
            for (number, scaler) in case.scalers.iter().enumerate() {
                let name = names::horizontal_autoscaler(&format!("h{number}"));
                if deployment(scaler.deployment) == *action.target() && name != policy {
                    forward(&mut due, &name, at + SignedDuration::from_secs(10));
                }
            }
        }
        if due.first().is_none_or(|(next, _)| *next > at) {
            for other in std::mem::take(&mut woken) {
                forward(&mut due, &other, at);
            }
        }
        for effect in turn.effects {
            let (rule, _) = effect.reason.render(&world, &policy.identity).unwrap();
            let by = Some((policy.clone(), rule));
            let of_field = timelines.entry((effect.target, effect.field)).or_default();
            add(of_field, (at, Some(effect.value), by));
        }
        if first.is_empty() && due.first().is_none_or(|(next, _)| *next > at) {
            follow(&mut pods, &world, &mut timelines, at);
        }
    }
    timelines
}

/// The number of pods becomes the desired replicas of the Deployments of a world.
fn follow(pods: &mut Option<Pods>, world: &World, timelines: &mut Timelines, at: Timestamp) {
    let Some(pods) = pods else { return };
    pods.become_as_many(
        [0, 1].map(|it| world.objects.workloads[&deployment(it)].replicas.unwrap()),
    );
    pods.publish_numbers(timelines, at);
}

fn forward(due: &mut BTreeSet<(Timestamp, PolicyName)>, policy: &PolicyName, at: Timestamp) {
    let known = due.iter().find(|(_, it)| it == policy).cloned();
    if known.as_ref().is_some_and(|(known, _)| *known <= at) {
        return;
    }
    if let Some(known) = known {
        due.remove(&known);
    }
    due.insert((at, policy.clone()));
}

/// Adds a change. The last one at an instant counts, and a value that continues is added once.
pub(super) fn add(of_field: &mut Vec<Change>, change: Change) {
    if of_field.last().is_some_and(|last| last.1 == change.1 && last.2 == change.2) {
        return;
    }
    if of_field.last().is_some_and(|last| last.0 == change.0) {
        of_field.pop();
        return add_after(of_field, change);
    }
    of_field.push(change);
}

fn add_after(of_field: &mut Vec<Change>, change: Change) {
    if of_field.last().is_none_or(|last| last.1 != change.1 || last.2 != change.2) {
        of_field.push(change);
    }
}
