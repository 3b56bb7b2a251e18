//! What is remembered of cron rules: what was handled, what is being tried, and what came of it.
//!
//! It survives in the object's status, all but the attempts under way: after a restart these begin
//! anew, and find out from the target whether they had been carried out.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{CronRule, Input};
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
    /// The rule as it was when its firings were last handled.
    pub fingerprint: Fingerprint,
    /// Every firing until then, inclusively, has been dealt with.
    pub handled: Timestamp,
    /// A firing after that which is being carried out.
    pub pending: Option<Pending>,
    /// What came of the firings before, newest first.
    pub executions: Vec<Execution>,
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

/// What came of one firing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Execution {
    /// The firing.
    pub scheduled: Timestamp,
    /// When this came of it.
    pub executed: Timestamp,
    /// What came of it.
    pub ending: Ending,
}

/// How a firing ended. Each ends once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// It was carried out, or found its value there already.
    Done(Applied),
    /// It was tried in vain until it was too late.
    Failed {
        /// How often.
        attempts: u32,
        /// Why the last attempt was in vain.
        message: Arc<str>,
    },
    /// Nobody was there to carry it out while there was time.
    Missed {
        /// How late it was noticed.
        by: SignedDuration,
    },
    /// A later firing of the same object set the same, so that this one had nothing left to do.
    Superseded {
        /// The rule that fired later.
        by: Arc<str>,
    },
}

impl Ending {
    /// Whether it counts as a success.
    #[must_use]
    pub fn is_success(&self) -> bool {
        matches!(self, Ending::Done(_))
    }
}

/// What a firing set, as it was really written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Applied {
    /// Replicas.
    pub replicas: Option<u32>,
    /// The lower bound.
    pub min: Option<u32>,
    /// The upper bound.
    pub max: Option<u32>,
    /// Whether one of the bounds was not the rule's own, but moved to make way for the other.
    pub moved_other_bound: bool,
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
        let of_rule = |name: &str| known.iter().find(|it| *it.name == *name);
        let rules = input.policy.rules.iter().map(|rule| match of_rule(&rule.name) {
            Some(before) => before.carried_over(rule, now),
            None => RuleMemory {
                name: Arc::clone(&rule.name),
                fingerprint: rule.fingerprint,
                handled: start,
                pending: None,
                executions: Vec::new(),
            },
        });
        let unusable = input.policy.unusable_rules.iter().filter_map(|name| of_rule(name)).cloned();
        Memory { rules: rules.chain(unusable).collect() }
    }
}

impl RuleMemory {
    fn carried_over(&self, rule: &CronRule, now: Timestamp) -> RuleMemory {
        let mut memory = self.clone();
        if memory.fingerprint != rule.fingerprint {
            // An edited rule begins anew. What it was trying is no longer wanted.
            if let Some(Pending { at, attempts, .. }) = memory.pending.take() {
                let message = Arc::from("given up, because the rule was changed");
                memory.record(rule, at, now, Ending::Failed { attempts, message });
            }
            memory.fingerprint = rule.fingerprint;
            memory.handled = memory.handled.max(now);
        }
        memory.trim(rule);
        memory
    }

    /// Records how a firing ended.
    pub(super) fn record(
        &mut self,
        rule: &CronRule,
        scheduled: Timestamp,
        now: Timestamp,
        ending: Ending,
    ) {
        self.handled = self.handled.max(scheduled);
        if self.pending.as_ref().is_some_and(|pending| pending.at <= scheduled) {
            self.pending = None;
        }
        self.executions.insert(0, Execution { scheduled, executed: now, ending });
        self.trim(rule);
    }

    /// Forgets what is beyond the rule's limits, the oldest first.
    fn trim(&mut self, rule: &CronRule) {
        let (mut successes, mut failures) =
            (rule.successful_history_limit, rule.failed_history_limit);
        self.executions.retain(|execution| {
            let left = if execution.ending.is_success() { &mut successes } else { &mut failures };
            let keep = *left > 0;
            *left = left.saturating_sub(1);
            keep
        });
    }
}
