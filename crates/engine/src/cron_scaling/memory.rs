//! What is remembered of cron rules: what was handled, what is being tried, and what came of it.
//!
//! It survives in the object's status, all but the attempts under way: after a restart these begin
//! anew, and find out from the target whether they had been carried out.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Applied, CronRule, Ending, Execution, Input};
use crate::Fingerprint;

/// What is remembered of all rules of an object.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// One for each rule, in the order of the spec; then those of rules that cannot be used as they
    /// are written now, so that mending one does not cost its history.
    pub rules: Vec<RuleMemory>,
}

/// What is remembered of one rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleMemory {
    /// The rule's name.
    pub name: Arc<str>,
    /// The rule as it was when its firings were last handled; [`Fingerprint::of_nothing`] while it
    /// cannot be used.
    pub fingerprint: Fingerprint,
    /// Every firing until then, inclusively, has been dealt with.
    pub handled: Timestamp,
    /// A firing after that which is being carried out. Apart, because few rules have one at a time.
    pub pending: Option<Box<Pending>>,
    /// What came of the firings before, newest first. Shared, because a decision about a rule that
    /// is not due leaves it as it is.
    pub executions: Arc<[Execution]>,
}

/// A firing that is being carried out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pending {
    /// The firing.
    pub at: Timestamp,
    /// How often it has been tried in vain.
    pub attempts: u32,
    /// Not to be tried again before.
    pub retry_at: Timestamp,
    /// Why the last attempt was in vain.
    pub message: Option<Arc<str>>,
    /// What the attempt under way would apply; `None` between attempts.
    pub applying: Option<Applied>,
}

impl Memory {
    /// The memory to decide with: one entry a rule, whatever the rules were before.
    pub(super) fn carried_over(input: &Input<'_>, now: Timestamp) -> Memory {
        // An object without any status is new, and begins with its creation.
        let start = match (input.memory, input.created) {
            (None, Some(created)) => created.min(now),
            _ => now,
        };
        let known = input.memory.map_or(&[][..], |memory| &memory.rules);
        let of_rule = |index: usize, name: &str| {
            // Mostly the rules are where they were before.
            let same_place = known.get(index).filter(|it| *it.name == *name);
            same_place.or_else(|| known.iter().find(|it| *it.name == *name))
        };
        let policy = input.policy;
        let mut rules = Vec::with_capacity(policy.rules.len() + policy.unusable_rules.len());
        rules.extend(policy.rules.iter().enumerate().map(|(index, rule)| {
            of_rule(index, &rule.name)
                .map_or_else(|| RuleMemory::beginning(rule, start), |it| it.carried_over(rule, now))
        }));
        for unusable in &policy.unusable_rules {
            rules.extend(of_rule(rules.len(), &unusable.name).map(|it| it.laid_aside(now)));
        }
        Memory { rules }
    }
}

impl RuleMemory {
    /// The memory of a rule whose firings are dealt with until `handled`, inclusively, and of which
    /// nothing else is known.
    #[must_use]
    pub fn beginning(rule: &CronRule, handled: Timestamp) -> RuleMemory {
        RuleMemory {
            name: Arc::clone(&rule.name),
            fingerprint: rule.fingerprint,
            handled,
            pending: None,
            executions: Arc::default(),
        }
    }

    /// The same with a history, newest first, as a status tells it. Equal messages in it are kept
    /// once: the same failure tends to come again.
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
        self.executions = list.into();
        self
    }

    fn carried_over(&self, rule: &CronRule, now: Timestamp) -> RuleMemory {
        let mut memory = self.clone();
        if memory.fingerprint != rule.fingerprint {
            // An edited rule begins anew. What it was trying is no longer wanted.
            memory.give_up_what_was_tried(now);
            memory.fingerprint = rule.fingerprint;
            memory.handled = memory.handled.max(now);
        }
        memory.trim(rule);
        memory
    }

    /// The memory of a rule that cannot be used as it is written now. Whatever it is mended to is
    /// another rule than it was, and does not fire for the time it was broken.
    fn laid_aside(&self, now: Timestamp) -> RuleMemory {
        let mut memory = self.clone();
        memory.give_up_what_was_tried(now);
        memory.fingerprint = Fingerprint::of_nothing();
        memory
    }

    fn give_up_what_was_tried(&mut self, now: Timestamp) {
        if let Some(pending) = self.pending.take() {
            let Pending { at, attempts, .. } = *pending;
            let message = Arc::from("given up, because the rule was changed");
            self.add(at, now, Ending::Failed { attempts, message });
        }
    }

    /// Records how a firing ended.
    pub(super) fn record(
        &mut self,
        rule: &CronRule,
        scheduled: Timestamp,
        now: Timestamp,
        ending: Ending,
    ) {
        self.pending.take_if(|pending| pending.at <= scheduled);
        self.add(scheduled, now, ending);
        self.trim(rule);
    }

    fn add(&mut self, scheduled: Timestamp, now: Timestamp, ending: Ending) {
        self.handled = self.handled.max(scheduled);
        let mut newest = Execution::new(scheduled, now, ending);
        newest.share_message_with(&self.executions);
        self.executions = std::iter::once(newest).chain(self.executions.iter().cloned()).collect();
    }

    /// Forgets what is beyond the rule's limits, the oldest first.
    fn trim(&mut self, rule: &CronRule) {
        let limits = (rule.successful_history_limit, rule.failed_history_limit);
        let successes = self.executions.iter().filter(|it| it.ending.is_success()).count();
        let failures = self.executions.len() - successes;
        if successes <= usize::from(limits.0) && failures <= usize::from(limits.1) {
            return;
        }
        let (mut successes, mut failures) = limits;
        let mut is_kept = |execution: &&Execution| {
            let left = if execution.ending.is_success() { &mut successes } else { &mut failures };
            let keep = *left > 0;
            *left = left.saturating_sub(1);
            keep
        };
        self.executions = self.executions.iter().filter(|it| is_kept(it)).cloned().collect();
    }
}
