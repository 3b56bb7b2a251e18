//! Requirements on any decision about cron rules.

use almanac_engine::Exempt;
use almanac_engine::cron_scaling::{
    Applied, CronRule, Decision, DesiredScale, Execution, FiringOutcome, Input, Memory, Recorded,
    RuleMemory, TargetState,
};
use jiff::{SignedDuration, Timestamp};

use crate::Violations;
use crate::cron_recorded::check_recorded;
use crate::cron_waking::check_waking;
use crate::cron_write::check_write;

/// The maximum distance into the future: a wrong clock handled, or tried, firings beyond it.
const MAX_CLOCK_SKEW: SignedDuration = SignedDuration::from_secs(300);

/// Checks the decision for the rules of one object at `now`.
#[must_use]
pub fn check_cron_scaling(input: &Input<'_>, now: Timestamp, decision: &Decision) -> Violations {
    let mut violations = Violations::default();
    let rules = &input.policy.rules;
    violations.unless(decision.memory.rules.len() >= rules.len(), || {
        format!("remembers {} of {} rules", decision.memory.rules.len(), rules.len())
    });
    for (rule, after) in rules.iter().zip(&decision.memory.rules) {
        let known = input.memory.map_or(&[][..], |memory| &memory.rules);
        let before = known.iter().find(|it| it.name == rule.name);
        let check = RuleCheck { input, rule, before, after, now };
        check.check(&mut violations);
        check.check_clock(&mut violations, &decision.recorded);
    }
    check_superseded(&mut violations, input, now, &decision.memory);
    for unusable in &input.policy.unusable_rules {
        let name = &unusable.name;
        let history = |memory: &Memory| {
            let found = memory.rules.iter().find(|it| *it.name == **name);
            found.map(|it| it.executions.iter().filter(|it| it.executed() < now).count())
        };
        violations.unless(history(&decision.memory) == input.memory.and_then(history), || {
            format!("the unusable rule {name} loses its history")
        });
    }
    if let Some(exempt) = input.exempt {
        let is_trying = decision.memory.rules.iter().any(|it| it.pending.is_some());
        let waits = is_trying && !exempt.is_unread();
        let is_of_edit =
            |it: &Recorded| matches!(it, Recorded::ClockWasAhead { .. } | Recorded::Ended { .. });
        violations.unless(!exempt.is_unread() || decision.recorded.iter().all(is_of_edit), || {
            format!("records {:?} in an unreadable namespace", decision.recorded)
        });
        violations.unless(decision.actions.is_empty() && !waits, || {
            format!("is exempt, and does {:?}, or is about to", decision.actions)
        });
        check_waking(&mut violations, input.policy, &decision.memory, now, decision.wake_at);
        return violations;
    }
    check_recorded(
        &mut violations,
        input.policy,
        input.memory,
        &decision.memory,
        &decision.recorded,
        now,
    );
    check_write(&mut violations, input, now, decision);
    check_waking(&mut violations, input.policy, &decision.memory, now, decision.wake_at);
    violations
}

struct RuleCheck<'a> {
    input: &'a Input<'a>,
    rule: &'a CronRule,
    before: Option<&'a RuleMemory>,
    after: &'a RuleMemory,
    now: Timestamp,
}

impl RuleCheck<'_> {
    fn check(&self, violations: &mut Violations) {
        let (rule, after, now) = (self.rule, self.after, self.now);
        let name = &rule.name;
        violations.unless(after.name == *name && after.fingerprint == rule.fingerprint, || {
            format!("{name} is remembered as {} {}", after.name, after.fingerprint)
        });
        let handled = self.handled_before();
        // An attempt that started before the clock was set back may end before the clock reaches the start again.
        let attempted = self.tried_before().unwrap_or(handled);
        let latest = handled.max(now).max(attempted);
        let goes_on = handled <= after.handled && after.handled <= latest;
        let holds = if self.is_edited() { after.handled == now } else { goes_on };
        violations.unless(holds, || {
            format!("{name} was handled until {handled}, and now until {}", after.handled)
        });
        self.check_limits(violations);
        let fresh = self.fresh(violations);
        for (index, execution) in fresh.iter().enumerate() {
            self.check_execution(violations, execution);
            let newer = index.checked_sub(1).map(|index| fresh[index].scheduled());
            violations.unless(newer.is_none_or(|newer| newer > execution.scheduled()), || {
                format!("{name} records {} out of order, or twice", execution.scheduled())
            });
        }
        self.check_pending(violations);
        let is_idle = rule.suspended || self.is_edited();
        let only_given_up =
            fresh.iter().all(|it| matches!(it.ending, FiringOutcome::Failed { .. }));
        violations.unless(!is_idle || (after.pending.is_none() && only_given_up), || {
            format!("{name} is suspended or new, and acts")
        });
        let is_unread = self.input.exempt.is_some_and(Exempt::is_unread);
        let is_as_before = after.handled == handled
            && fresh.is_empty()
            && after.pending.as_ref().map(|it| it.at) == self.tried_before();
        violations.unless(!is_unread || is_idle || is_as_before, || {
            format!("{name} is applied, or skipped, before it is known whether it is exempt")
        });
        let waits = is_idle || is_unread;
        let latest = rule.firings.previous(now).filter(|at| *at > handled && !waits);
        let is_seen_to = |latest: Timestamp| {
            after.handled >= latest || after.pending.as_ref().is_some_and(|it| it.at == latest)
        };
        violations.unless(latest.is_none_or(is_seen_to), || {
            format!("{name} overlooks its firing {latest:?}")
        });
    }

    fn is_edited(&self) -> bool {
        self.before.is_some_and(|before| before.fingerprint != self.rule.fingerprint)
    }

    /// A wrong clock is recorded once, with the latest discarded instant.
    fn check_clock(&self, violations: &mut Violations, recorded: &[Recorded]) {
        let reported = recorded.iter().filter_map(|it| match it {
            Recorded::ClockWasAhead { rule, until } if *rule == self.rule.name => Some(*until),
            _ => None,
        });
        let known = self.before.into_iter().flat_map(|before| {
            [Some(before.handled), before.pending.as_ref().map(|it| it.at)].into_iter().flatten()
        });
        let expected = known.filter(|at| self.is_wrong(*at)).max();
        violations.unless(reported.eq(expected), || {
            format!("{} does not report once a clock at {expected:?}", self.rule.name)
        });
    }

    fn is_wrong(&self, at: Timestamp) -> bool {
        at.duration_since(self.now) > MAX_CLOCK_SKEW
    }

    /// The firing of the earlier attempts, unless the firing is discarded.
    fn tried_before(&self) -> Option<Timestamp> {
        let pending = self.before.and_then(|it| it.pending.as_ref()).map(|it| it.at);
        pending.filter(|at| !self.is_wrong(*at))
    }

    /// The instant up to which the rule's firings were handled before the decision.
    fn handled_before(&self) -> Timestamp {
        match (self.before, self.input.memory, self.input.created) {
            (Some(before), _, _) if self.is_wrong(before.handled) => self.now,
            (Some(before), _, _) => before.handled,
            (None, None, Some(created)) => created.min(self.now),
            (None, _, _) => self.now,
        }
    }

    fn max_delay(&self) -> SignedDuration {
        SignedDuration::from_secs(i64::from(self.rule.max_delay_seconds))
    }

    fn check_limits(&self, violations: &mut Violations) {
        let (rule, executions) = (self.rule, &self.after.executions);
        let successes = executions.iter().filter(|it| it.ending.is_success()).count();
        let failures = executions.len() - successes;
        let (most_successes, most_failures) =
            (usize::from(rule.successful_history_limit), usize::from(rule.failed_history_limit));
        violations.unless(successes <= most_successes && failures <= most_failures, || {
            format!("{} keeps {successes} successes and {failures} failures", rule.name)
        });
    }

    /// The new entries of the history. The rest must be unchanged, except for the oldest entries.
    fn fresh(&self, violations: &mut Violations) -> &[Execution] {
        let old = self.before.map_or(&[][..], |before| &before.executions);
        let all = &self.after.executions;
        let mut remaining = old;
        let mut count = all.len();
        while count > 0 {
            let Some(found) = remaining.iter().rposition(|it| *it == all[count - 1]) else { break };
            remaining = &remaining[..found];
            count -= 1;
        }
        let (fresh, kept) = all.split_at(count);
        for success in [true, false] {
            let of_kind = |list: &[Execution]| {
                list.iter().filter(|it| it.ending.is_success() == success).count()
            };
            let limit = usize::from(if success {
                self.rule.successful_history_limit
            } else {
                self.rule.failed_history_limit
            });
            let capacity = limit.saturating_sub(of_kind(fresh));
            violations.unless(of_kind(kept) == of_kind(old).min(capacity), || {
                format!("{} drops executions within its limits", self.rule.name)
            });
        }
        fresh
    }

    fn check_execution(&self, violations: &mut Violations, execution: &Execution) {
        let (rule, now) = (self.rule, self.now);
        let at = execution.scheduled();
        let what = || format!("{} records {execution:?}", rule.name);
        let handled = self.handled_before();
        let late = now.duration_since(at);
        violations.unless(execution.executed() == now, || format!("{} at another time", what()));
        // An edited rule starts again, and drops its unfinished firing.
        let is_handled = at <= self.after.handled || self.is_edited();
        violations.unless(handled < at && is_handled, || {
            format!("{}, which was handled before, or is not now", what())
        });
        let is_firing = rule.firings.previous(at) == Some(at);
        violations.unless(is_firing || self.is_edited(), || format!("{}, no firing", what()));
        let holds = match &execution.ending {
            FiringOutcome::Done(applied) => {
                let is_live = match self.input.target {
                    TargetState::Missing | TargetState::Unreachable(_) => false,
                    TargetState::Workload(it) => applied.replicas() == it.replicas,
                    TargetState::Autoscaler(it) => {
                        applied.min().is_none_or(|min| it.min_replicas == Some(min))
                            && applied.max().is_none_or(|max| it.max_replicas == Some(max))
                    }
                };
                is_live && late <= self.max_delay()
            }
            FiringOutcome::Failed { attempts, .. } => {
                let pending = self.before.and_then(|before| before.pending.as_ref());
                let was_tried = pending.is_some_and(|it| it.at == at && it.attempts == *attempts);
                was_tried && (self.is_edited() || late > self.max_delay())
            }
            FiringOutcome::Missed => {
                let is_latest = rule.firings.previous(now) == Some(at);
                !is_latest || late > self.max_delay()
            }
            FiringOutcome::Superseded { by } => {
                self.input.policy.rules.iter().any(|other| other.name == *by)
            }
            // The decision does not use this difference.
            FiringOutcome::Stopped => false,
        };
        violations.unless(holds, || format!("{}, which is not how it ended", what()));
    }

    fn check_pending(&self, violations: &mut Violations) {
        let Some(pending) = &self.after.pending else { return };
        let (rule, at) = (self.rule, pending.at);
        let was_pending = self.tried_before();
        let is_firing = rule.firings.previous(at) == Some(at);
        let is_due = at <= self.now || was_pending == Some(at);
        let is_unread = self.input.exempt.is_some_and(Exempt::is_unread);
        let in_time = is_unread || self.now.duration_since(at) <= self.max_delay();
        violations.unless(is_firing && is_due && in_time && at > self.after.handled, || {
            format!("{} tries {at}, which is not due at {}", rule.name, self.now)
        });
        let Some(applied) = pending.applying else { return };
        let is_own = match rule.desired {
            DesiredScale::Replicas(replicas) => applied == Applied::Replicas(replicas),
            DesiredScale::Bounds(bounds) => {
                let (min, max, moved) = (applied.min(), applied.max(), applied.moved_other_bound());
                let is_own = |value: Option<u32>, own: Option<u32>, other: Option<u32>| {
                    value.is_none() || value == own || (moved && own.is_none() && value == other)
                };
                (min.is_some() || max.is_some())
                    && is_own(min, bounds.min(), bounds.max())
                    && is_own(max, bounds.max(), bounds.min())
            }
        };
        violations.unless(is_own, || {
            format!("{} applies {applied:?}, which is not what the rule sets", rule.name)
        });
    }
}

/// A superseding rule fired after the other, or at the same instant and later in the spec.
fn check_superseded(
    violations: &mut Violations,
    input: &Input<'_>,
    now: Timestamp,
    memory: &Memory,
) {
    let latest = |name: &str| {
        let index = input.policy.rules.iter().position(|rule| *rule.name == *name)?;
        let memory = memory.rules.get(index)?;
        let tried = memory.pending.as_ref().map(|pending| pending.at);
        Some((tried.unwrap_or(memory.handled), index))
    };
    for (index, rule) in memory.rules.iter().enumerate() {
        for execution in rule.executions.iter().filter(|it| it.executed() == now) {
            let FiringOutcome::Superseded { by } = &execution.ending else { continue };
            let is_later = latest(by).is_some_and(|latest| latest > (execution.scheduled(), index));
            // At one `now` the rules may have been edited in between.
            let is_old = input.memory.is_some_and(|before| {
                before
                    .rules
                    .iter()
                    .any(|it| it.name == rule.name && it.executions.contains(execution))
            });
            violations.unless(is_later || is_old, || {
                format!(
                    "{by} supersedes {} of {}, which is later",
                    execution.scheduled(),
                    rule.name
                )
            });
        }
    }
}
