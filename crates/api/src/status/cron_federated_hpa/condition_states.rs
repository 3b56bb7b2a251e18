//! Whether cron rules are active, and whether they need attention.

use almanac_engine::cron_scaling::{CronRule, CronScaling, Execution, Memory};

use super::{executions, writing};
use crate::finding::Finding;
use crate::lenient;
use crate::status::TargetProblem;
use crate::status::conditions::{ConditionReason, ConditionState, ConditionType, errors};

/// The maximum number of faulty rules that a message lists; the others are counted.
const MAX_RULES_IN_MESSAGE: usize = 5;

/// The maximum number of characters of the message about a rule.
const FAILURE_CHARACTERS: usize = 1_000;

/// Returns whether an object is active and ready. `policy` is the usable part of the object, if any; `problem` is an
/// obstacle to changing the target; `memory` is the state of the rules.
///
/// Active: at least one rule can fire. Ready: nothing needs the user's attention. If several problems do, the reason is
/// the gravest problem, and the message lists all. Warnings and missed or superseded firings do not need attention. A
/// firing that was given up needs attention until a later one of its rule succeeds.
#[must_use]
pub fn condition_states(
    policy: Option<&CronScaling>,
    findings: &[Finding],
    problem: Option<&TargetProblem>,
    memory: Option<&Memory>,
) -> [ConditionState; 2] {
    let errors = errors(findings);
    let usable = policy.filter(|policy| !policy.rules.is_empty());
    let problem = policy.zip(problem);
    let problem = problem.map(|(policy, it)| (it.reason(), it.message(policy.target.identity())));
    let Some(policy) = usable else {
        let why = errors.unwrap_or_else(|| {
            "there are no rules: add one to spec.rules, or delete the object".to_owned()
        });
        let reason = ConditionReason::NoUsableRule;
        let all = joined(why.clone(), problem.map(|(_, message)| message));
        return [active(false, reason, why), ready(false, reason, all)];
    };
    let count = Count::from_policy(policy);
    let working =
        if count.armed == 0 { ConditionReason::Suspended } else { ConditionReason::Armed };
    let active = match &problem {
        Some((reason, message)) => active(false, *reason, message.clone()),
        None => active(count.armed > 0, working, count.message()),
    };
    let problems = problem.into_iter().chain(errors.map(|it| (ConditionReason::RulesInvalid, it)));
    let of_rules = |about: fn(&CronRule, &Memory) -> Option<String>, reason| {
        let message = memory.and_then(|memory| rule_messages(policy, memory, about));
        message.map(|it| (reason, it))
    };
    let failed = of_rules(last_failure, ConditionReason::LastFiringFailed);
    let undone = of_rules(undone, ConditionReason::UndoneByAnotherWriter);
    let mut all = problems.chain(failed).chain(undone);
    let ready = match all.next() {
        Some((gravest, first)) => {
            ready(false, gravest, all.fold(first, |message, (_, more)| joined(message, Some(more))))
        }
        None => ready(true, working, "nothing needs attention".to_owned()),
    };
    [active, ready]
}

fn active(holds: bool, reason: ConditionReason, message: String) -> ConditionState {
    ConditionState { about: ConditionType::Active, holds, reason, message }
}

fn ready(holds: bool, reason: ConditionReason, message: String) -> ConditionState {
    ConditionState { about: ConditionType::Ready, holds, reason, message }
}

fn joined(first: String, further: Option<String>) -> String {
    match further {
        Some(further) => format!("{first}. Also, {further}"),
        None => first,
    }
}

/// The messages of `about` about the rules, as one message; `None` without any.
fn rule_messages(
    policy: &CronScaling,
    memory: &Memory,
    about: fn(&CronRule, &Memory) -> Option<String>,
) -> Option<String> {
    let rules = policy.rules.iter().filter(|rule| !rule.suspended);
    let mut rules: Vec<String> = rules.filter_map(|rule| about(rule, memory)).collect();
    let more = rules.len().saturating_sub(MAX_RULES_IN_MESSAGE);
    rules.truncate(MAX_RULES_IN_MESSAGE);
    let messages = rules.join("; ");
    match more {
        _ if rules.is_empty() => None,
        0 => Some(messages),
        more => Some(format!("{messages}; and {more} more")),
    }
}

/// The message about the last attempted firing of a rule, if the firing was given up. A firing is not the last one if
/// the rule was changed since, or has handled a later firing that is not stored.
fn last_failure(rule: &CronRule, memory: &Memory) -> Option<String> {
    let known = memory.rules.iter().find(|it| it.name == rule.name)?;
    let newest = |it: &&Execution| (it.scheduled(), it.executed());
    let latest = known.executions.iter().max_by_key(newest)?;
    // A status stores the last handled time in whole seconds.
    if latest.scheduled().as_second() != known.handled.as_second() {
        return None;
    }
    let was_tried = |it: &&Execution| it.ending.is_success() || executions::given_up(it).is_some();
    let last = known.executions.iter().filter(was_tried).max_by_key(newest)?;
    let why = executions::given_up(last)?;
    let message = format!("rule {}, scheduled for {}, {why}", rule.name, last.scheduled());
    Some(lenient::cut(&message, FAILURE_CHARACTERS))
}

/// The change of another field manager to the value that a rule has set.
fn undone(rule: &CronRule, memory: &Memory) -> Option<String> {
    let known = memory.rules.iter().find(|it| it.name == rule.name)?;
    let undone = writing::undone(rule, known)?;
    let (name, scheduled) = (&rule.name, undone.scheduled);
    let change = executions::undone_message(undone);
    let message = format!("rule {name}, scheduled for {scheduled}, was applied, but {change}");
    Some(lenient::cut(&message, FAILURE_CHARACTERS))
}

/// The number of rules in each state.
struct Count {
    armed: usize,
    suspended: usize,
    unusable: usize,
}

impl Count {
    fn from_policy(policy: &CronScaling) -> Count {
        let suspended = policy.rules.iter().filter(|rule| rule.suspended).count();
        Count {
            armed: policy.rules.len() - suspended,
            suspended,
            unusable: policy.unusable_rules.len(),
        }
    }

    /// `2 rules are armed, 1 is suspended, 1 cannot be used`.
    fn message(&self) -> String {
        let armed = match self.armed {
            0 => "no rule is armed".to_owned(),
            1 => "1 rule is armed".to_owned(),
            armed => format!("{armed} rules are armed"),
        };
        let suspended = match self.suspended {
            0 => String::new(),
            1 => ", 1 is suspended".to_owned(),
            suspended => format!(", {suspended} are suspended"),
        };
        let unusable = match self.unusable {
            0 => String::new(),
            unusable => format!(", {unusable} cannot be used"),
        };
        armed + &suspended + &unusable
    }
}
