//! The family's implementation of the interface that all families share.

use std::sync::Arc;

use almanac_calendar::Zone;
use jiff::Timestamp;

use super::memory::MAX_CLOCK_SKEW;
use super::{
    Cause, CronRule, CronScaling, Decision, DesiredScale, Ending, Execution, Input, Memory, Undone,
    decide, explain, gather, next_firing, render, settle, skip_stopped, undone, wake_at,
};
use crate::answers::{ReplicasAskedFor, RuleExplanation};
use crate::beginning::{Beginning, RunStart};
use crate::families::{Logic, OpenDecision, Recorded};
use crate::other_writer::ExternalChange;
use crate::schedules::{RuleSchedule, Schedule};
use crate::seam::{Policies, PolicyFamily, PolicyObject};
use crate::turn::{Closed, PolicyDecision};
use crate::{
    Exempt, Field, Footprint, Identity, Outcome, Reach, Reason, Slim, Target, TargetReference,
    Verdict, World,
};

/// How the message of a superseded firing starts in a status.
pub const SUPERSEDED: &str = "superseded by";

/// Cron rules, as a family of policies.
#[derive(Clone, Copy, Debug)]
pub struct CronRules;

impl PolicyFamily for CronRules {
    type Policy = CronScaling;
    type Memory = Memory;
    type Extra = ();
}

fn policy_of<'w>(world: &'w World, policy: &Identity) -> Option<&'w CronScaling> {
    world.cron_scaling.policies.get(policy)?.policy.as_deref()
}

impl Logic for CronRules {
    fn names<'w>(&self, world: &'w World) -> Box<dyn Iterator<Item = &'w Identity> + 'w> {
        Box::new(world.cron_scaling.policies.keys())
    }

    fn footprint(&self, world: &World, identity: &Identity) -> Option<Footprint> {
        let policy = policy_of(world, identity)?;
        let object = policy.target.identity();
        // Without a usable rule, nothing is ever written, and neither is what is exempt.
        let is_exempt = Exempt::of(&world.objects.exempt, identity, Some(object)).is_some();
        let is_idle = policy.rules.is_empty() || is_exempt;
        let fields = Field::of_target(&policy.target).iter().filter(|_| !is_idle);
        let writes = fields.map(|field| (object.clone(), *field)).collect();
        Some(Footprint { reads: vec![object.clone()], writes })
    }

    fn target(&self, world: &World, policy: &Identity) -> Option<TargetReference> {
        let policy = policy_of(world, policy)?;
        let api_version = Arc::clone(&policy.target_version);
        Some(TargetReference { target: policy.target.clone(), api_version })
    }

    fn zones(&self, world: &World, policy: &Identity) -> Vec<(Option<Arc<str>>, Zone)> {
        let rules = policy_of(world, policy).into_iter().flat_map(|policy| &policy.rules);
        rules.map(|rule| (Some(Arc::clone(&rule.name)), rule.firings.zone())).collect()
    }

    fn schedules(&self, world: &World, policy: &Identity) -> Vec<RuleSchedule> {
        let rules = policy_of(world, policy).into_iter().flat_map(|policy| &policy.rules);
        let of_rule = |rule: &CronRule| RuleSchedule {
            rule: Arc::clone(&rule.name),
            position: rule.position,
            is_off: rule.suspended,
            schedule: Schedule::Firings(rule.firings.clone()),
            ranked: None,
            asks_for: match rule.desired {
                DesiredScale::Replicas(number) => Some(number.into()),
                DesiredScale::Bounds(_) => None,
            },
            sets: rule.desired.fields().collect(),
        };
        rules.map(of_rule).collect()
    }

    fn follows_schedules(&self) -> bool {
        true
    }

    fn open(
        &self,
        world: &World,
        policy: &Identity,
        reach: &Reach,
        now: Timestamp,
    ) -> Option<OpenDecision> {
        let decision = decide(&gather(world, policy, reach)?, now);
        let policy = Arc::clone(world.cron_scaling.policies.get(policy)?.policy.as_ref()?);
        Some(OpenDecision::CronScaling(PolicyDecision { policy, decision }))
    }

    fn skip_stopped(
        &self,
        world: &mut World,
        policy: &Identity,
        until: Timestamp,
        now: Timestamp,
    ) -> Option<Closed> {
        let reach = Reach::everything();
        let input = gather(world, policy, &reach)?;
        let (memory, recorded) = skip_stopped(&input, until, now);
        let wake_at = wake_at(input.policy, &memory, now);
        world.cron_scaling.policies.get_mut(policy)?.memory = Some(memory);
        let recorded = recorded.into_iter().map(Recorded::CronScaling).collect();
        Some(Closed { recorded, effects: Vec::new(), wake_at })
    }

    fn sets_by_firings(&self) -> bool {
        true
    }

    fn explain(
        &self,
        world: &World,
        policy: &Identity,
        _: Option<&Identity>,
        now: Timestamp,
    ) -> Vec<RuleExplanation> {
        let reach = Reach::everything();
        let Some(input) = gather(world, policy, &reach) else { return Vec::new() };
        // The last firing explains the current state of the target; of earlier ones, only those
        // that are still the last write of a field matter.
        let last = input.policy.rules.iter().filter_map(|rule| newest(&input, rule));
        let last = last.map(Execution::scheduled);
        let last = last.filter(|at| at.duration_since(now) <= MAX_CLOCK_SKEW).max();
        let usable = explain(&input, now).into_iter().map(|reason| {
            let rule = reason.rule.and_then(|index| input.policy.rules.get(index as usize));
            let is_idle = reason.cause == Cause::NotDue;
            let newest = rule.filter(|_| is_idle).and_then(|rule| newest(&input, rule));
            match newest {
                Some(execution) if execution.scheduled().duration_since(now) > MAX_CLOCK_SKEW => {
                    let cause = Cause::ClockWasAhead { until: execution.scheduled() };
                    explained(input.policy, &Reason { cause, ..reason })
                }
                Some(execution) if Some(execution.scheduled()) == last => {
                    what_became(&input, reason, execution)
                }
                _ => explained(input.policy, &reason),
            }
        });
        let unusable = input.policy.unusable_rules.iter().map(|rule| RuleExplanation {
            rule: Some(Arc::from(&*rule.name)),
            position: Some(rule.position),
            verdict: Verdict::Error,
            message: "is invalid as written".to_owned(),
            since: None,
            until: None,
            scored: None,
            answered: None,
        });
        let mut explained: Vec<RuleExplanation> = usable.chain(unusable).collect();
        explained.sort_by_key(|it| it.position);
        explained
    }

    fn reacts_to_changes(&self, world: &World, policy: &Identity, now: Timestamp) -> bool {
        undone::reacts_to_changes(world, policy, now)
    }

    fn detect_undone(
        &self,
        world: &mut World,
        policy: &Identity,
        foreign: &[ExternalChange],
        now: Timestamp,
    ) -> Vec<Recorded> {
        let recorded = undone::detect_undone(world, policy, foreign, now);
        recorded.into_iter().map(Recorded::CronScaling).collect()
    }

    fn asks_for(&self, world: &World, policy: &Identity) -> Option<ReplicasAskedFor> {
        let checked = policy_of(world, policy)?;
        let Target::Workload(workload) = &checked.target else { return None };
        let is_exempt = Exempt::of(&world.objects.exempt, policy, Some(workload)).is_some();
        let rules = checked.rules.iter().filter(|rule| !rule.suspended && !is_exempt);
        let asked = rules.filter_map(|rule| match rule.desired {
            DesiredScale::Replicas(replicas) => Some((replicas, rule)),
            DesiredScale::Bounds(_) => None,
        });
        // Of several that are as high, the first.
        let (most, rule) = asked.rev().max_by_key(|(replicas, _)| *replicas)?;
        let rule = Some(Arc::clone(&rule.name));
        Some(ReplicasAskedFor { workload: workload.clone(), most, rule })
    }

    fn begin(&self, world: &mut World, policies: &[&Identity], beginning: Beginning) -> RunStart {
        super::begin::begin(world, policies, beginning)
    }

    fn known_until(&self, world: &World, policy: &Identity) -> Option<Timestamp> {
        let object = world.cron_scaling.policies.get(policy)?;
        // A policy that can never act says nothing about those it is connected to.
        object.policy.as_ref().filter(|policy| !policy.rules.is_empty())?;
        object.memory.as_ref()?.known_until()
    }

    fn slim(&self, world: &World, policy: &Identity) -> Option<Slim> {
        world.cron_scaling.policies.get(policy).cloned().map(Slim::CronScaling)
    }

    fn remove(&self, world: &mut World, policy: &Identity) {
        world.cron_scaling.policies.remove(policy);
    }
}

/// The result of a rule's last firing. What it did before it was edited explains nothing.
fn newest<'a>(input: &Input<'a>, rule: &CronRule) -> Option<&'a Execution> {
    let memory = input.memory?.rules.iter().find(|it| it.name == rule.name)?;
    memory.executions.first().filter(|execution| can_be_of(rule, execution))
}

/// Whether a rule can have done this as it is written now.
fn can_be_of(rule: &CronRule, execution: &Execution) -> bool {
    let scheduled = execution.scheduled();
    let fires = rule.firings.previous(scheduled) == Some(scheduled);
    let sets = |named: Option<u32>, applied: Option<u32>| {
        named.is_none() || applied.is_none() || named == applied
    };
    fires
        && match (&execution.ending, rule.desired) {
            (Ending::Done(applied), DesiredScale::Replicas(replicas)) => {
                applied.replicas() == Some(replicas)
            }
            (Ending::Done(applied), DesiredScale::Bounds(bounds)) => {
                sets(bounds.min(), applied.min()) && sets(bounds.max(), applied.max())
            }
            (
                Ending::Failed { .. }
                | Ending::Missed
                | Ending::Superseded { .. }
                | Ending::Stopped,
                _,
            ) => true,
        }
}

/// What became of a rule when it last fired.
fn what_became(input: &Input<'_>, reason: Reason<Cause>, execution: &Execution) -> RuleExplanation {
    let (verdict, cause) = match &execution.ending {
        Ending::Done(applied) if applied.moved_other_bound() => {
            (Verdict::Won, Cause::MovedOtherBound)
        }
        Ending::Done(_) => (Verdict::Won, Cause::Fired),
        Ending::Superseded { by } => {
            let by = input.policy.rules.iter().position(|rule| rule.name == *by);
            let by = by.and_then(|by| u32::try_from(by).ok()).unwrap_or(u32::MAX);
            (Verdict::Lost, Cause::Superseded { by })
        }
        Ending::Missed => (Verdict::Error, Cause::Missed { by: execution.later() }),
        Ending::Stopped => (Verdict::Error, Cause::Stopped),
        Ending::Failed { attempts, .. } => (Verdict::Error, Cause::GaveUp { attempts: *attempts }),
    };
    let since = Some(execution.scheduled());
    let explained =
        explained(input.policy, &Reason { verdict, cause, since, until: None, ..reason });
    let memory = input.memory.and_then(|memory| {
        memory.rules.iter().find(|it| explained.rule.as_deref() == Some(&*it.name))
    });
    let undone = memory.and_then(|memory| memory.undone.as_deref());
    let is_so = |it: &&Undone| it.scheduled == execution.scheduled() && !it.is_over;
    if let Some(undone) = undone.filter(is_so) {
        let message = format!("{}; {}", explained.message, undone.message);
        return RuleExplanation { message, ..explained };
    }
    // A status describes any result of a firing in words.
    match &execution.ending {
        Ending::Failed { attempts: 0, message } => {
            let rule = reason.rule.and_then(|index| input.policy.rules.get(index as usize));
            let schedule = rule.map_or_else(String::new, |rule| rule.firings.describe());
            let is_lost = message.starts_with(SUPERSEDED);
            RuleExplanation {
                verdict: if is_lost { Verdict::Lost } else { Verdict::Error },
                message: format!("{schedule}: fired, {message}"),
                ..explained
            }
        }
        _ => explained,
    }
}

fn explained(policy: &CronScaling, reason: &Reason<Cause>) -> RuleExplanation {
    let rule = reason.rule.and_then(|index| policy.rules.get(index as usize));
    RuleExplanation {
        rule: rule.map(|rule| Arc::clone(&rule.name)),
        position: rule.map(|rule| rule.position),
        verdict: reason.verdict,
        message: render(policy, reason),
        since: reason.since,
        until: reason.until,
        scored: None,
        answered: None,
    }
}

/// Stores an object, and keeps what is already remembered of it.
pub(crate) fn upsert(
    objects: &mut Policies<CronScaling, Memory>,
    identity: Identity,
    mut object: PolicyObject<CronScaling, Memory>,
) {
    let remembered = objects.remove(&identity).and_then(|before| before.memory);
    object.memory = remembered.or(object.memory);
    if object.policy.is_none() {
        object.memory = Some(object.memory.unwrap_or_default().invalidated());
    }
    objects.insert(identity, object);
}

/// Settles an open turn in the world.
pub(crate) fn close(
    world: &mut World,
    identity: &Identity,
    open: PolicyDecision<CronScaling, Decision>,
    outcomes: &[Outcome],
    opened_at: Timestamp,
    now: Timestamp,
) -> Closed {
    let settled = settle(&open.policy, open.decision, outcomes, now);
    let wake_at = wake_at(&open.policy, &settled.memory, opened_at);
    if let Some(object) = world.cron_scaling.policies.get_mut(identity) {
        // It may have become invalid meanwhile. Its history stays.
        let is_usable = object.policy.is_some();
        let memory = settled.memory;
        object.memory = Some(if is_usable { memory } else { memory.invalidated() });
    }
    let recorded = settled.recorded.into_iter().map(Recorded::CronScaling).collect();
    Closed { recorded, effects: settled.effects, wake_at }
}

/// What the rules of a world wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FiringBacklog {
    /// How many rules wait for a firing.
    pub armed: u64,
    /// When the first of these is.
    pub next: Option<Timestamp>,
    /// The oldest firing that is due and not yet handled, whether it is being tried or not.
    pub oldest_overdue: Option<Timestamp>,
    /// How many firings have failed at least once and are being retried.
    pub retrying: u64,
}

/// What the rules of a world wait for at an instant.
#[must_use]
pub fn firing_backlog(world: &World, now: Timestamp) -> FiringBacklog {
    let usable = world.cron_scaling.policies.iter().filter_map(|(identity, object)| {
        let (policy, memory) = object.policy.as_ref().zip(object.memory.as_ref())?;
        let exempt = Exempt::of(&world.objects.exempt, identity, Some(policy.target.identity()));
        // Firings wait while the mark of the namespace is unreadable.
        exempt.is_none_or(Exempt::is_unread).then_some((policy, memory))
    });
    let rules = usable.flat_map(|(policy, memory)| policy.rules.iter().zip(&memory.rules));
    let mut firing_backlog = FiringBacklog::default();
    let earliest = |one: Option<Timestamp>, other| Some(one.map_or(other, |one| one.min(other)));
    for (rule, memory) in rules.filter(|(rule, _)| !rule.suspended) {
        firing_backlog.retrying +=
            u64::from(memory.pending.as_ref().is_some_and(|it| it.attempts > 0));
        let due = rule.firings.next(memory.handled);
        let next = match due {
            Some(due) if due <= now => {
                firing_backlog.oldest_overdue = earliest(firing_backlog.oldest_overdue, due);
                next_firing(rule, memory, now)
            }
            next => next,
        };
        if let Some(next) = next {
            firing_backlog.armed += 1;
            firing_backlog.next = earliest(firing_backlog.next, next);
        }
    }
    firing_backlog
}
