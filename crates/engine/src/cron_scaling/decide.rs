//! Decides which firings are due, what they set together, and when the next one is.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::plan::{Due, Plan, Share, plan};
use super::{
    Cause, CronRule, CronScaling, Execution, FiringOutcome, Input, Memory, Pending, Recorded,
    RuleMemory, TargetState,
};
use crate::reason::{Reasons, WholeChain, Winners};
use crate::{Action, Exempt, Reason, Verdict};

/// The decision about the rules of one object.
pub type Decision = crate::Decision<Cause, Memory, Recorded>;

const NANOSECOND: SignedDuration = SignedDuration::from_nanos(1);

/// Decides the values of the rules of one object at `now`.
///
/// Firings that cannot be applied any more are recorded immediately. The other firings result in at most one write.
/// They are recorded after its outcome is settled, or immediately if no write is required.
#[must_use]
pub fn decide(input: &Input<'_>, now: Timestamp) -> Decision {
    let mut reasons = Winners(Vec::new());
    let mut decision = decide_with(input, now, &mut reasons);
    decision.reasons = reasons.0;
    decision
}

/// The whole chain of reasons of [`decide`]: the effect of every rule, in the order of the spec.
#[must_use]
pub fn explain(input: &Input<'_>, now: Timestamp) -> Vec<Reason<Cause>> {
    let mut reasons = WholeChain(Vec::new());
    decide_with(input, now, &mut reasons);
    reasons.0.sort_by_key(|reason| reason.rule);
    reasons.0
}

/// The policy state of one object if firings due up to `until` must not be applied, and the records of these firings.
/// [`decide`] handles later firings.
#[must_use]
pub fn skip_stopped(
    input: &Input<'_>,
    until: Timestamp,
    now: Timestamp,
) -> (Memory, Vec<Recorded>) {
    let mut recorded = Vec::new();
    let mut memory = Memory::carried_over(input, now, &mut recorded);
    for (index, (rule, memory)) in input.policy.rules.iter().zip(&mut memory.rules).enumerate() {
        let exempt = input.exempt;
        let at_instant = RuleAtInstant { rule, index, now, was_ahead_until: None, exempt };
        let due_at = at_instant.due_firing(memory, &mut recorded, &mut Winners(Vec::new()));
        if let Some(at) = due_at.filter(|at| *at <= until) {
            at_instant.record(memory, at, FiringOutcome::Stopped, &mut recorded);
        }
    }
    (memory, recorded)
}

fn decide_with(input: &Input<'_>, now: Timestamp, reasons: &mut impl Reasons<Cause>) -> Decision {
    let policy = input.policy;
    let mut recorded = Vec::new();
    let mut memory = Memory::carried_over(input, now, &mut recorded);
    let mut due_firings = Vec::new();
    for (index, (rule, memory)) in policy.rules.iter().zip(&mut memory.rules).enumerate() {
        let was_ahead_until = recorded.iter().find_map(|it| match it {
            Recorded::ClockWasAhead { rule: of, until } if *of == rule.name => Some(*until),
            _ => None,
        });
        let exempt = input.exempt;
        let at_instant = RuleAtInstant { rule, index, now, was_ahead_until, exempt };
        if let Some(at) = at_instant.due_firing(memory, &mut recorded, reasons) {
            due_firings.push(Due { at, rule: index });
        }
    }
    due_firings.sort_by_key(|firing| (firing.at, firing.rule));
    let action = plan_action(input, &due_firings, &mut memory, now, &mut recorded, reasons);
    Decision {
        actions: action.into_iter().collect(),
        reasons: Vec::new(),
        wake_at: wake_at(policy, &memory, now),
        memory,
        recorded,
    }
}

/// The state of one rule at one instant.
struct RuleAtInstant<'a> {
    rule: &'a CronRule,
    index: usize,
    now: Timestamp,
    /// The last instant that a fast clock had handled, if that has just been discarded.
    was_ahead_until: Option<Timestamp>,
    /// The reason that the rule is not applied; `None` unless the object or its target is exempt.
    exempt: Option<Exempt>,
}

impl RuleAtInstant<'_> {
    /// The firing to apply now. Firings that are too late are recorded.
    fn due_firing(
        &self,
        memory: &mut RuleMemory,
        recorded: &mut Vec<Recorded>,
        reasons: &mut impl Reasons<Cause>,
    ) -> Option<Timestamp> {
        if self.rule.suspended {
            reasons.other(|| self.reason(Verdict::Excluded, Cause::Suspended, None));
            return None;
        }
        if let Some(exempt) = self.exempt {
            // While the ignore annotation is unreadable, firings stay due. While the rule is exempt, they are dropped:
            // they neither fail nor fire later.
            if !exempt.is_unread() {
                memory.pending = None;
                let latest = self.rule.firings.previous(self.now);
                memory.handled = latest.map_or(memory.handled, |latest| memory.handled.max(latest));
            }
            reasons.other(|| self.reason(Verdict::Excluded, Cause::Exempt(exempt), None));
            return None;
        }
        self.give_up_late(memory, recorded, reasons);
        let latest = self.rule.firings.previous(self.now).filter(|at| *at > memory.handled);
        let Some(latest) = latest else {
            let was_ahead = |until| Cause::ClockWasAhead { until };
            let cause = self.was_ahead_until.map_or(Cause::NotDue, was_ahead);
            reasons.other(|| Reason {
                until: next_firing(self.rule, memory, self.now),
                ..self.reason(Verdict::Inactive, cause, None)
            });
            return None;
        };
        self.supersede_pending(memory, latest, recorded);
        let Some(first) = self.rule.firings.next(memory.handled) else { return Some(latest) };
        let late = self.now.duration_since(latest);
        if late > max_delay(self.rule) {
            memory.record_missed(self.rule, (first, latest), self.now, recorded);
            reasons.won(self.reason(Verdict::Error, Cause::Missed { by: late }, Some(latest)));
            return None;
        }
        // Only the latest runs.
        let before = latest.checked_sub(NANOSECOND).ok();
        let before = before.and_then(|at| self.rule.firings.previous(at));
        if let Some(last) = before.filter(|last| *last >= first) {
            memory.record_missed(self.rule, (first, last), self.now, recorded);
        }
        Some(latest)
    }

    /// Records that a firing is too late, because all attempts failed or none was made.
    fn give_up_late(
        &self,
        memory: &mut RuleMemory,
        recorded: &mut Vec<Recorded>,
        reasons: &mut impl Reasons<Cause>,
    ) {
        let too_late =
            |pending: &&Pending| self.now.duration_since(pending.at) > max_delay(self.rule);
        let Some(pending) = memory.pending.as_deref().filter(too_late) else { return };
        let (at, attempts) = (pending.at, pending.attempts);
        if attempts == 0 {
            memory.record_missed(self.rule, (at, at), self.now, recorded);
            let by = self.now.duration_since(at);
            reasons.won(self.reason(Verdict::Error, Cause::Missed { by }, Some(at)));
            return;
        }
        let message = pending.message.clone().unwrap_or_else(|| Arc::from("no response"));
        self.record(memory, at, FiringOutcome::Failed { attempts, message }, recorded);
        reasons.won(self.reason(Verdict::Error, Cause::GaveUp { attempts }, Some(at)));
    }

    /// Supersedes the pending firing of a rule whose allowed delay extends past its next firing.
    fn supersede_pending(
        &self,
        memory: &mut RuleMemory,
        latest: Timestamp,
        recorded: &mut Vec<Recorded>,
    ) {
        if let Some(pending) = memory.pending.take_if(|pending| pending.at < latest) {
            let by = Arc::clone(&self.rule.name);
            self.record(memory, pending.at, FiringOutcome::Superseded { by }, recorded);
        }
    }

    fn record(
        &self,
        memory: &mut RuleMemory,
        scheduled: Timestamp,
        ending: FiringOutcome,
        recorded: &mut Vec<Recorded>,
    ) {
        memory.record(self.rule, Execution::new(scheduled, self.now, ending), recorded);
    }

    fn reason(&self, verdict: Verdict, cause: Cause, since: Option<Timestamp>) -> Reason<Cause> {
        Reason { rule: Some(position(self.index)), verdict, cause, since, until: None }
    }
}

/// Combines the due firings into one write, or records them if no write is required.
fn plan_action(
    input: &Input<'_>,
    due: &[Due],
    memory: &mut Memory,
    now: Timestamp,
    recorded: &mut Vec<Recorded>,
    reasons: &mut impl Reasons<Cause>,
) -> Option<Action> {
    let mut is_time = false;
    for firing in due {
        let pending = &mut memory.rules[firing.rule].pending;
        let new = || Box::new(Pending::new(firing.at, now));
        is_time |= pending.get_or_insert_with(new).retry_at <= now;
    }
    if !is_time {
        for firing in due {
            let attempts = memory.rules[firing.rule].pending.as_ref().map_or(0, |it| it.attempts);
            reasons.won(firing.reason(Verdict::Error, Cause::Retrying { attempts }));
        }
        return None;
    }
    let Some(Plan { action, shares }) = plan(input.policy, due, input.target) else {
        let (cause, message) = why_blocked(input);
        for firing in due {
            memory.rules[firing.rule].attempt_failed(&message, now, recorded);
            reasons.won(firing.reason(Verdict::Error, cause));
        }
        return None;
    };
    for (firing, share) in due.iter().zip(shares) {
        let (rule, memory) = (&input.policy.rules[firing.rule], &mut memory.rules[firing.rule]);
        match share {
            Share::Written(applied) => {
                let moved = applied.moved_other_bound();
                let cause = if moved { Cause::MovedOtherBound } else { Cause::Fired };
                reasons.won(firing.reason(Verdict::Won, cause));
                if let Some(pending) = &mut memory.pending {
                    pending.applying = Some(applied);
                }
            }
            Share::AlreadySet(applied) => {
                reasons.won(firing.reason(Verdict::Won, Cause::AlreadySet));
                memory.record(
                    rule,
                    Execution::new(firing.at, now, FiringOutcome::Done(applied)),
                    recorded,
                );
            }
            Share::Superseded { by } => {
                let by = due[by].rule;
                let cause = Cause::Superseded { by: position(by) };
                reasons.other(|| firing.reason(Verdict::Lost, cause));
                let by = Arc::clone(&input.policy.rules[by].name);
                let ending = FiringOutcome::Superseded { by };
                memory.record(rule, Execution::new(firing.at, now, ending), recorded);
            }
        }
    }
    action
}

impl Due {
    fn reason(&self, verdict: Verdict, cause: Cause) -> Reason<Cause> {
        let rule = Some(position(self.rule));
        Reason { rule, verdict, cause, since: Some(self.at), until: None }
    }
}

/// The last instant at which the actions may be applied; `None` without actions.
pub(crate) fn deadline(policy: &CronScaling, decision: &Decision) -> Option<Timestamp> {
    let rules = policy.rules.iter().zip(&decision.memory.rules);
    let applying = rules.filter_map(|(rule, memory)| {
        let pending = memory.pending.as_ref().filter(|it| it.applying.is_some())?;
        pending.at.checked_add(max_delay(rule)).ok()
    });
    applying.min()
}

/// The next instant at which time alone could change the values of the rules.
#[must_use]
pub fn wake_at(policy: &CronScaling, memory: &Memory, now: Timestamp) -> Option<Timestamp> {
    let rules = policy.rules.iter().zip(&memory.rules);
    rules
        .flat_map(|(rule, memory)| {
            let pending = memory.pending.as_ref();
            // An attempt in progress is not repeated before its outcome is known.
            let retry = pending.filter(|it| it.applying.is_none()).map(|it| it.retry_at);
            // Just after the last instant at which the pending firing may be applied.
            let given_up = pending.and_then(|it| {
                it.at.checked_add(max_delay(rule)).and_then(|at| at.checked_add(NANOSECOND)).ok()
            });
            let next = next_firing(rule, memory, now);
            retry.into_iter().chain(given_up).chain(next)
        })
        .filter(|at| *at > now)
        .min()
}

/// The next unhandled firing of a rule; `None` for a suspended rule.
#[must_use]
pub fn next_firing(rule: &CronRule, memory: &RuleMemory, now: Timestamp) -> Option<Timestamp> {
    // After the clock was set back, handled firings do not repeat.
    (!rule.suspended).then(|| rule.firings.next(now.max(memory.handled))).flatten()
}

fn max_delay(rule: &CronRule) -> SignedDuration {
    SignedDuration::from_secs(i64::from(rule.max_delay_seconds))
}

fn why_blocked(input: &Input<'_>) -> (Cause, Arc<str>) {
    if let TargetState::Unreachable(why) = input.target {
        return (Cause::TargetUnreachable, Arc::clone(why.message()));
    }
    let message = format!("{} not found", input.policy.target.identity());
    (Cause::TargetMissing, Arc::from(message))
}

/// Positions are small; a spec has a bounded number of rules.
fn position(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
