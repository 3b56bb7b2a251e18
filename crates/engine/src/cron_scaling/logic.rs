//! The family's implementation of the interface that all families share.

use std::sync::Arc;

use almanac_calendar::Zone;
use jiff::Timestamp;

use super::memory::MAX_CLOCK_SKEW;
use super::{
    Cause, CronRule, CronScaling, Decision, DesiredScale, Execution, FiringOutcome, Input, Memory,
    Recorded, UndoneValue, begin, deadline, decide, explain, gather, next_firing, render, request,
    settle, skip_stopped, undone, wake_at,
};
use crate::other_writer::ExternalChange;
use crate::seam::{
    Beginning, FamilyState, Happened, ObjectOf, Opening, PolicyDecision, PolicyFamily, ReasonText,
    Settlement, Start, Times, View, ViewMut,
};
use crate::{
    Exempt, Field, Footprint, Identity, Inactive, Occurrence, Outcome, Reach, Reason,
    ReplicaMaximum, Requested, RuleExplanation, RuleSchedule, Schedule, Target, TargetReference,
    Verdict,
};

/// The start of the message of a superseded firing in a status.
pub const SUPERSEDED: &str = "superseded by";

/// Cron rules, as a family of policies.
#[derive(Clone, Copy, Debug)]
pub struct CronRules;

impl PolicyFamily for CronRules {
    const FOLLOWS_SCHEDULES: bool = true;
    const SETS_BY_FIRINGS: bool = true;
    const IS_DATED: bool = true;

    type Policy = CronScaling;
    type Memory = Memory;
    type Extra = ();
    type Input<'w> = Input<'w>;
    type Decision = Decision;
    type Cause = Cause;
    type Record = Recorded;

    fn gather<'w>(view: View<'w, Self>, policy: &Identity, at: Opening<'w>) -> Option<Input<'w>> {
        gather(view, policy, at.reach)
    }

    fn decide(input: &Input<'_>, now: Timestamp) -> Decision {
        decide(input, now)
    }

    fn settle(
        state: &mut FamilyState<Self>,
        policy: &Identity,
        open: PolicyDecision<Self>,
        outcomes: &[Outcome],
        times: Times,
    ) -> Settlement<Self> {
        let settled = settle(&open.policy, open.decision, outcomes, times.now);
        let wake_at = wake_at(&open.policy, &settled.memory, times.opened_at);
        if let Some(object) = state.policies.get_mut(policy) {
            // The rule may have become invalid since then. Its history stays.
            let is_usable = object.policy.is_some();
            let memory = settled.memory;
            object.memory = Some(if is_usable { memory } else { memory.invalidated() });
        }
        Settlement { recorded: settled.recorded, effects: settled.effects, wake_at }
    }

    fn footprint(view: View<'_, CronRules>, identity: &Identity) -> Option<Footprint> {
        let policy = view.state.policy(identity)?;
        let object = policy.target.identity();
        // Without a usable rule, nothing is ever written. The same is true of an exempt object.
        let is_idle = policy.rules.is_empty() || is_exempt(view, identity, policy);
        let fields = Field::for_target(&policy.target).iter().filter(|_| !is_idle);
        let writes = fields.map(|field| (object.clone(), *field)).collect();
        Some(Footprint { reads: vec![object.clone()], writes })
    }

    fn is_armed(view: View<'_, CronRules>, identity: &Identity) -> bool {
        view.state.policy(identity).is_some_and(|policy| {
            let is_idle = policy.rules.is_empty() || policy.is_suspended();
            !is_idle && !is_exempt(view, identity, policy)
        })
    }

    fn describe(
        view: View<'_, Self>,
        policy: &Identity,
        reason: &Reason<Cause>,
    ) -> Option<ReasonText> {
        let policy = view.state.policy(policy)?;
        let rule = reason.rule.and_then(|rule| policy.rules.get(rule as usize));
        Some((rule.map(|rule| Arc::clone(&rule.name)), render(policy, reason)))
    }

    fn explain(
        view: View<'_, CronRules>,
        policy: &Identity,
        _: Option<&Identity>,
        now: Timestamp,
    ) -> Vec<RuleExplanation> {
        let reach = Reach::everything();
        let Some(input) = gather(view, policy, &reach) else { return Vec::new() };
        // The last firing explains the current state of the target. Of the earlier firings, only the last write of each
        // field is relevant.
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
                    outcome_of(&input, reason, execution)
                }
                _ => explained(input.policy, &reason),
            }
        });
        let unusable = input.policy.unusable_rules.iter().map(|rule| {
            let (name, message) =
                (Some(Arc::from(&*rule.name)), "is invalid as written".to_owned());
            let position = Some(rule.position);
            RuleExplanation { position, ..RuleExplanation::new(name, Verdict::Error, message) }
        });
        let mut explained: Vec<RuleExplanation> = usable.chain(unusable).collect();
        explained.sort_by_key(|it| it.position);
        explained
    }

    fn occurrence(_: View<'_, Self>, _: &Identity, record: &Recorded) -> Option<Happened> {
        record.occurrence()
    }

    fn begin(view: ViewMut<'_, Self>, policies: &[&Identity], from: Beginning) -> Start<Self> {
        begin::begin(view, policies, from)
    }

    fn stored(mut object: ObjectOf<Self>, before: Option<ObjectOf<Self>>) -> ObjectOf<Self> {
        object.memory = before.and_then(|before| before.memory).or(object.memory);
        if object.policy.is_none() {
            object.memory = Some(object.memory.unwrap_or_default().invalidated());
        }
        object
    }

    fn with_memory_from(from_status: Option<Memory>, before: Memory) -> Option<Memory> {
        Some(from_status.unwrap_or_default().joined(before))
    }

    fn target(view: View<'_, CronRules>, policy: &Identity) -> Option<TargetReference> {
        let policy = view.state.policy(policy)?;
        let api_version = Arc::clone(&policy.target_version);
        Some(TargetReference { target: policy.target.clone(), api_version })
    }

    fn deadline(open: &PolicyDecision<Self>) -> Option<Timestamp> {
        deadline(&open.policy, &open.decision)
    }

    fn skip_stopped(
        view: View<'_, Self>,
        policy: &Identity,
        until: Timestamp,
        now: Timestamp,
    ) -> Option<(Memory, Settlement<Self>)> {
        let reach = Reach::everything();
        let input = gather(view, policy, &reach)?;
        let (memory, recorded) = skip_stopped(&input, until, now);
        let wake_at = wake_at(input.policy, &memory, now);
        Some((memory, Settlement { recorded, effects: Vec::new(), wake_at }))
    }

    fn zones(view: View<'_, CronRules>, policy: &Identity) -> Vec<(Option<Arc<str>>, Zone)> {
        let rules = view.state.policy(policy).into_iter().flat_map(|policy| &policy.rules);
        rules.map(|rule| (Some(Arc::clone(&rule.name)), rule.firings.zone())).collect()
    }

    fn schedules(view: View<'_, CronRules>, policy: &Identity) -> Vec<RuleSchedule> {
        let rules = view.state.policy(policy).into_iter().flat_map(|policy| &policy.rules);
        let of_rule = |rule: &CronRule| RuleSchedule {
            rule: Arc::clone(&rule.name),
            position: rule.position,
            is_off: rule.suspended,
            schedule: Schedule::Firings(rule.firings.clone()),
            ranked: None,
            requested_value: match rule.desired {
                DesiredScale::Replicas(number) => Some(number.into()),
                DesiredScale::Bounds(_) => None,
            },
            sets: rule.desired.fields().collect(),
        };
        rules.map(of_rule).collect()
    }

    fn replica_maximum(view: View<'_, CronRules>, policy: &Identity) -> Option<ReplicaMaximum> {
        let checked = view.state.policy(policy)?;
        let Target::Workload(workload) = &checked.target else { return None };
        let is_exempt = is_exempt(view, policy, checked);
        let rules = checked.rules.iter().filter(|rule| !rule.suspended && !is_exempt);
        let candidates = rules.filter_map(|rule| match rule.desired {
            DesiredScale::Replicas(replicas) => Some((replicas, rule)),
            DesiredScale::Bounds(_) => None,
        });
        // Of several equal maximums, the first one applies.
        let (most, rule) = candidates.rev().max_by_key(|(replicas, _)| *replicas)?;
        let rule = Some(Arc::clone(&rule.name));
        Some(ReplicaMaximum { workload: workload.clone(), most, rule })
    }

    fn request(
        view: View<'_, Self>,
        policy: &Identity,
        field: Field,
        _: Timestamp,
    ) -> Result<Requested, Inactive> {
        let object = view.state.policies.get(policy);
        object.map_or(Err(Inactive::NotNamed), |object| request::request(object, field))
    }

    fn reacts_to_changes(view: View<'_, Self>, policy: &Identity, now: Timestamp) -> bool {
        undone::reacts_to_changes(view.state, policy, now)
    }

    fn detect_undone(
        view: ViewMut<'_, Self>,
        policy: &Identity,
        foreign: &[ExternalChange],
        now: Timestamp,
    ) -> Vec<Recorded> {
        undone::detect_undone(view, policy, foreign, now)
    }

    /// A policy that can never act does not affect its connected policies.
    fn known_until(state: &FamilyState<Self>, policy: &Identity) -> Option<Timestamp> {
        let object = state.policies.get(policy)?;
        object.policy.as_ref().filter(|policy| !policy.rules.is_empty())?;
        object.memory.as_ref()?.known_until()
    }

    fn start_as_new(state: &mut FamilyState<Self>, policy: &Identity, at: Timestamp) {
        begin::start_as_new(state, policy, at);
    }

    fn continues(state: &FamilyState<Self>, policy: &Identity, before: &FamilyState<Self>) -> bool {
        begin::continues(state, policy, before)
    }

    fn moves_other_bound(cause: Cause) -> bool {
        cause == Cause::MovedOtherBound
    }

    fn undone(record: &Recorded) -> Option<Field> {
        let Recorded::Undone { field, .. } = record else { return None };
        Some(*field)
    }

    fn superseded(record: &Recorded) -> Option<Arc<str>> {
        let (occurrence, rule) = record.occurrence()?;
        rule.filter(|_| occurrence == Occurrence::Superseded)
    }
}

/// Whether a policy or its target is exempt.
fn is_exempt(view: View<'_, CronRules>, policy: &Identity, checked: &CronScaling) -> bool {
    let target = checked.target.identity();
    Exempt::for_policy(&view.objects.exempt, policy, Some(target)).is_some()
}

/// The result of a rule's last firing. A firing from before an edit explains nothing.
fn newest<'a>(input: &Input<'a>, rule: &CronRule) -> Option<&'a Execution> {
    let memory = input.memory?.rules.iter().find(|it| it.name == rule.name)?;
    memory.executions.first().filter(|execution| can_be_of(rule, execution))
}

/// Whether the current form of a rule can be the source of an execution.
pub(super) fn can_be_of(rule: &CronRule, execution: &Execution) -> bool {
    let scheduled = execution.scheduled();
    let fires = rule.firings.previous(scheduled) == Some(scheduled);
    let sets = |named: Option<u32>, applied: Option<u32>| {
        named.is_none() || applied.is_none() || named == applied
    };
    fires
        && match (&execution.ending, rule.desired) {
            (FiringOutcome::Done(applied), DesiredScale::Replicas(replicas)) => {
                applied.replicas() == Some(replicas)
            }
            (FiringOutcome::Done(applied), DesiredScale::Bounds(bounds)) => {
                sets(bounds.min(), applied.min()) && sets(bounds.max(), applied.max())
            }
            (
                FiringOutcome::Failed { .. }
                | FiringOutcome::Missed
                | FiringOutcome::Superseded { .. }
                | FiringOutcome::Stopped,
                _,
            ) => true,
        }
}

/// The outcome of a rule's last firing.
fn outcome_of(input: &Input<'_>, reason: Reason<Cause>, execution: &Execution) -> RuleExplanation {
    let (verdict, cause) = match &execution.ending {
        FiringOutcome::Done(it) if it.moved_other_bound() => (Verdict::Won, Cause::MovedOtherBound),
        FiringOutcome::Done(_) => (Verdict::Won, Cause::Fired),
        FiringOutcome::Superseded { by } => {
            let by = input.policy.rules.iter().position(|rule| rule.name == *by);
            let by = by.and_then(|by| u32::try_from(by).ok()).unwrap_or(u32::MAX);
            (Verdict::Lost, Cause::Superseded { by })
        }
        FiringOutcome::Missed => (Verdict::Error, Cause::Missed { by: execution.later() }),
        FiringOutcome::Stopped => (Verdict::Error, Cause::Stopped),
        FiringOutcome::Failed { attempts, .. } => {
            (Verdict::Error, Cause::GaveUp { attempts: *attempts })
        }
    };
    let since = Some(execution.scheduled());
    let reason = Reason { verdict, cause, since, until: None, ..reason };
    let explained = explained(input.policy, &reason);
    let memory = input.memory.and_then(|memory| {
        memory.rules.iter().find(|it| explained.rule.as_deref() == Some(&*it.name))
    });
    let undone = memory.and_then(|memory| memory.undone.as_deref());
    let is_so = |it: &&UndoneValue| it.scheduled == execution.scheduled() && !it.is_over;
    if let Some(undone) = undone.filter(is_so) {
        let message = format!("{}; {}", explained.message, undone.message);
        return RuleExplanation { message, ..explained };
    }
    // A status contains a message about the outcome of any firing.
    match &execution.ending {
        FiringOutcome::Failed { attempts: 0, message } => {
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
    let name = rule.map(|rule| Arc::clone(&rule.name));
    let position = rule.map(|rule| rule.position);
    let explanation = RuleExplanation::from_reason(reason, name, render(policy, reason));
    RuleExplanation { position, ..explanation }
}

/// The pending and overdue firings of the rules of a world.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FiringBacklog {
    /// The number of rules with a next firing.
    pub armed: u64,
    /// The earliest of these firings.
    pub next: Option<Timestamp>,
    /// The oldest firing that is due and not yet handled, including firings that are being retried.
    pub oldest_overdue: Option<Timestamp>,
    /// The number of firings that have failed at least once and are being retried.
    pub retrying: u64,
}

/// The pending and overdue firings of the rules of a world at an instant.
#[must_use]
pub fn firing_backlog(view: View<'_, CronRules>, now: Timestamp) -> FiringBacklog {
    let usable = view.state.policies.iter().filter_map(|(identity, object)| {
        let (policy, memory) = object.policy.as_ref().zip(object.memory.as_ref())?;
        let exempt =
            Exempt::for_policy(&view.objects.exempt, identity, Some(policy.target.identity()));
        // Firings stay due while the ignore annotation of the namespace is unreadable.
        exempt.is_none_or(Exempt::is_unread).then_some((policy, memory))
    });
    let rules = usable.flat_map(|(policy, memory)| policy.rules.iter().zip(&memory.rules));
    let mut backlog = FiringBacklog::default();
    let earliest = |one: Option<Timestamp>, other| Some(one.map_or(other, |one| one.min(other)));
    for (rule, memory) in rules.filter(|(rule, _)| !rule.suspended) {
        backlog.retrying += u64::from(memory.pending.as_ref().is_some_and(|it| it.attempts > 0));
        let next = match rule.firings.next(memory.handled) {
            Some(due_at) if due_at <= now => {
                backlog.oldest_overdue = earliest(backlog.oldest_overdue, due_at);
                next_firing(rule, memory, now)
            }
            next => next,
        };
        if let Some(next) = next {
            backlog.armed += 1;
            backlog.next = earliest(backlog.next, next);
        }
    }
    backlog
}
