//! The policy state of cron rules: handled firings, pending firings, and their outcomes.
//!
//! The object's status stores it, except for attempts in progress. After a restart, these are made again, and the
//! current value of the target reveals whether they were applied.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{
    Applied, CronRule, Execution, FiringOutcome, Input, MAX_COUNTED, Recorded, UndoneValue,
};
use crate::Fingerprint;

/// An instant that was handled further in the future than this was handled by a wrong clock. A smaller difference means
/// that the clock was set back.
pub(super) const MAX_CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(5);

const NANOSECOND: SignedDuration = SignedDuration::from_nanos(1);

/// The policy state of all rules of an object.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// The state of each rule, in the order of the spec; then the states of rules that are invalid as written, so that
    /// fixing a rule keeps its history.
    pub rules: Vec<RuleMemory>,
}

/// The policy state of one rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleMemory {
    /// The name of the rule.
    pub name: Arc<str>,
    /// The fingerprint of the rule when its firings were last handled; [`Fingerprint::empty`] while the rule cannot be
    /// used.
    pub fingerprint: Fingerprint,
    /// Every firing up to and including this instant has been handled.
    pub handled: Timestamp,
    /// A later firing that is being applied. Boxed, because few rules have a pending firing at the same time.
    pub pending: Option<Box<Pending>>,
    /// A firing whose value another field manager has immediately replaced, while that lasts.
    pub undone: Option<Box<UndoneValue>>,
    /// The last firing before a run, which is assumed to have set its value. No status contains it.
    pub assumed: Option<Timestamp>,
    /// The results of earlier firings, newest first. Shared, because a decision about a rule that is not due leaves it
    /// unchanged.
    pub executions: Arc<[Execution]>,
}

/// A firing that is being applied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pending {
    /// The scheduled instant of the firing.
    pub at: Timestamp,
    /// The number of failed attempts.
    pub attempts: u32,
    /// The earliest instant of the next attempt.
    pub retry_at: Timestamp,
    /// The reason that the last attempt failed.
    pub message: Option<Arc<str>>,
    /// The value that the attempt in progress would apply; `None` between attempts.
    pub applying: Option<Applied>,
}

impl Memory {
    /// The policy state for a decision: one entry per current rule. Attempts that are abandoned because a rule has
    /// changed are recorded.
    pub(super) fn carried_over(
        input: &Input<'_>,
        now: Timestamp,
        recorded: &mut Vec<Recorded>,
    ) -> Memory {
        // An object without any status is new, and starts with its creation.
        let start = match (input.memory, input.created) {
            (None, Some(created)) => created.min(now),
            _ => now,
        };
        let stored_rules = input.memory.map_or(&[][..], |memory| &memory.rules);
        let of_rule = |index: usize, name: &str| {
            // Most rules have the same index as before.
            let same_place = stored_rules.get(index).filter(|it| *it.name == *name);
            same_place.or_else(|| stored_rules.iter().find(|it| *it.name == *name))
        };
        let policy = input.policy;
        let mut rules = Vec::with_capacity(policy.rules.len() + policy.unusable_rules.len());
        rules.extend(policy.rules.iter().enumerate().map(|(index, rule)| {
            match of_rule(index, &rule.name) {
                Some(known) => known.carried_over(rule, now, recorded),
                None => RuleMemory::beginning(rule, start),
            }
        }));
        for unusable in &policy.unusable_rules {
            let rule_memory = of_rule(rules.len(), &unusable.name);
            rules.extend(rule_memory.map(|it| it.invalidated(now, recorded)));
        }
        Memory { rules }
    }

    /// The policy state while nothing in the object is usable. Rules that are fixed later are new: they do not fire for
    /// the time in which they were invalid. Pending attempts are then recorded as given up.
    #[must_use]
    pub fn invalidated(mut self) -> Memory {
        for rule in &mut self.rules {
            rule.fingerprint = Fingerprint::empty();
        }
        self
    }

    /// For each rule, the later handled instant of two policy states of the same object.
    #[must_use]
    pub fn joined(mut self, other: Memory) -> Memory {
        for rule in other.rules {
            match self.rules.iter_mut().find(|it| it.name == rule.name) {
                Some(known) if known.handled < rule.handled => *known = rule,
                Some(known) if known.handled == rule.handled => {
                    known.undone = rule.undone.or(known.undone.take());
                }
                Some(_) => {}
                None => self.rules.push(rule),
            }
        }
        self
    }

    /// The latest handled instant.
    pub(super) fn known_until(&self) -> Option<Timestamp> {
        let handled = self.rules.iter().map(|rule| rule.handled);
        let executed =
            self.rules.iter().flat_map(|rule| rule.executions.iter().map(Execution::executed));
        handled.chain(executed).filter(|at| *at > Timestamp::UNIX_EPOCH).max()
    }
}

impl RuleMemory {
    /// The policy state of a rule whose firings are handled up to and including `handled`, without any other known
    /// state.
    #[must_use]
    pub fn beginning(rule: &CronRule, handled: Timestamp) -> RuleMemory {
        RuleMemory {
            name: Arc::clone(&rule.name),
            fingerprint: rule.fingerprint,
            handled,
            pending: None,
            undone: None,
            assumed: None,
            executions: Arc::default(),
        }
    }

    /// The policy state with a history from a status, newest first. Equal messages in the history are stored once,
    /// because failures tend to repeat.
    #[must_use]
    pub fn with_executions(
        mut self,
        executions: impl IntoIterator<Item = Execution>,
    ) -> RuleMemory {
        let mut list: Vec<Execution> = executions.into_iter().collect();
        for index in 1..list.len() {
            let (before, rest) = list.split_at_mut(index);
            rest[0].share_message_with(before);
        }
        // A converted empty list would have its own allocation.
        self.executions = if list.is_empty() { Arc::default() } else { list.into() };
        self
    }

    fn carried_over(
        &self,
        rule: &CronRule,
        now: Timestamp,
        recorded: &mut Vec<Recorded>,
    ) -> RuleMemory {
        let mut memory = self.clone();
        memory.discard_skewed_clock(now, recorded);
        if memory.fingerprint != rule.fingerprint {
            // An edited rule starts without state. Its pending attempt is obsolete.
            memory.give_up_pending(now, recorded);
            memory.fingerprint = rule.fingerprint;
            memory.handled = now;
            memory.undone = None;
        }
        memory.trim(rule);
        memory
    }

    /// Discards the handled instant and the pending attempt of a clock that was far ahead. The executions stay in the
    /// history.
    fn discard_skewed_clock(&mut self, now: Timestamp, recorded: &mut Vec<Recorded>) {
        let is_wrong = |at: &Timestamp| at.duration_since(now) > MAX_CLOCK_SKEW;
        let pending = self.pending.take_if(|pending| is_wrong(&pending.at));
        let handled = Some(self.handled).filter(is_wrong);
        let Some(until) = handled.max(pending.map(|pending| pending.at)) else { return };
        if handled.is_some() {
            self.handled = now;
        }
        let rule = Arc::clone(&self.name);
        recorded.push(Recorded::ClockWasAhead { rule, until });
    }

    /// The policy state of a rule that is invalid as written. A rule that is fixed later is new, and does not fire for
    /// the time in which it was invalid.
    fn invalidated(&self, now: Timestamp, recorded: &mut Vec<Recorded>) -> RuleMemory {
        let mut memory = self.clone();
        memory.give_up_pending(now, recorded);
        memory.fingerprint = Fingerprint::empty();
        memory
    }

    fn give_up_pending(&mut self, now: Timestamp, recorded: &mut Vec<Recorded>) {
        if let Some(pending) = self.pending.take() {
            let Pending { at, attempts, .. } = *pending;
            let message = Arc::from("gave up because the rule was changed");
            let ending = FiringOutcome::Failed { attempts, message };
            self.add(Execution::new(at, now, ending), recorded);
        }
    }

    /// Records that all firings from the first to the last were missed.
    pub(super) fn record_missed(
        &mut self,
        rule: &CronRule,
        (first, last): (Timestamp, Timestamp),
        now: Timestamp,
        recorded: &mut Vec<Recorded>,
    ) {
        self.pending.take_if(|pending| pending.at <= last);
        self.handled = self.handled.max(last);
        let earlier = |at: &Timestamp| {
            let moment_before = at.checked_sub(NANOSECOND).ok()?;
            rule.firings.previous(moment_before).filter(|at| *at >= first)
        };
        let (mut count, mut kept) = (0, Vec::new());
        for at in std::iter::successors(Some(last), earlier).take(MAX_COUNTED as usize) {
            if count < u32::from(rule.failed_history_limit) {
                kept.push(Execution::new(at, now, FiringOutcome::Missed));
            }
            count += 1;
        }
        let late = now.duration_since(last);
        recorded.push(Recorded::Missed { rule: Arc::clone(&self.name), count, first, last, late });
        self.executions = kept.into_iter().chain(self.executions.iter().cloned()).collect();
        self.trim(rule);
    }

    /// Records how a firing ended.
    pub(super) fn record(
        &mut self,
        rule: &CronRule,
        execution: Execution,
        recorded: &mut Vec<Recorded>,
    ) {
        let scheduled = execution.scheduled();
        self.pending.take_if(|pending| pending.at <= scheduled);
        self.add(execution, recorded);
        self.trim(rule);
    }

    fn add(&mut self, mut newest: Execution, recorded: &mut Vec<Recorded>) {
        self.handled = self.handled.max(newest.scheduled());
        newest.share_message_with(&self.executions);
        recorded.push(Recorded::Ended { rule: Arc::clone(&self.name), execution: newest.clone() });
        self.executions = std::iter::once(newest).chain(self.executions.iter().cloned()).collect();
    }

    /// Removes the oldest executions that exceed the rule's limits.
    fn trim(&mut self, rule: &CronRule) {
        let limits = (rule.successful_history_limit, rule.failed_history_limit);
        let successes = self.executions.iter().filter(|it| it.ending.is_success()).count();
        let failures = self.executions.len() - successes;
        if successes <= usize::from(limits.0) && failures <= usize::from(limits.1) {
            return;
        }
        let (mut successes, mut failures) = limits;
        let mut is_kept = |execution: &&Execution| {
            let remaining =
                if execution.ending.is_success() { &mut successes } else { &mut failures };
            let keep = *remaining > 0;
            *remaining = remaining.saturating_sub(1);
            keep
        };
        self.executions = self.executions.iter().filter(|it| is_kept(it)).cloned().collect();
    }
}
