//! Writes the policy state of cron rules to the status.

use std::collections::{BTreeMap, BTreeSet};

use almanac_engine::Fingerprint;
use almanac_engine::cron_scaling::{
    CronRule, CronScaling, Memory, RuleMemory, UndoneValue, next_firing,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::{can_be_a_name, executions};
use crate::lenient;
use crate::objects::{
    CronFederatedHPAStatus, ExecutionHistory, MAX_EXECUTIONS, MAX_RULES, Observed,
};

/// Writes the status of an object: one history per rule, in the order of the spec, each within the
/// limits of its rule.
///
/// `now` only determines the next firing, so the same state gives the same status at any instant between two firings. A
/// suspended or unusable rule has no next firing. A usable rule without state has an entry with its next firing only,
/// which is read back as a rule whose past is lost. An unusable rule without state has no entry.
#[must_use]
pub fn write(
    policy: &CronScaling,
    memory: &Memory,
    now: Timestamp,
    conditions: Vec<Condition>,
    observed_generation: Option<i64>,
) -> CronFederatedHPAStatus {
    let known: BTreeMap<&str, &RuleMemory> =
        memory.rules.iter().rev().map(|it| (&*it.name, it)).collect();
    let usable = policy.rules.iter().map(|rule| (rule.position, &*rule.name, Some(rule)));
    let unusable = policy.unusable_rules.iter().map(|rule| (rule.position, &*rule.name, None));
    let mut rules: Vec<(u32, &str, Option<&CronRule>)> = usable.chain(unusable).collect();
    rules.sort_by_key(|(position, ..)| *position);
    let histories = rules.into_iter().filter_map(|(_, name, rule)| {
        let memory = known.get(name).copied();
        match rule {
            Some(rule) => Some(history_of(rule, memory, now)),
            None => memory.map(invalidated),
        }
    });
    status(histories, conditions, observed_generation)
}

/// Writes the status of an invalid object: the unchanged histories, and no next firings. Once the object is fixed, its
/// rules do not fire for the time while the object was invalid.
#[must_use]
pub fn write_without_policy(
    memory: &Memory,
    conditions: Vec<Condition>,
    observed_generation: Option<i64>,
) -> CronFederatedHPAStatus {
    status(memory.rules.iter().map(invalidated), conditions, observed_generation)
}

/// The status of these histories. No name occurs twice: the API server would reject the status.
fn status(
    histories: impl Iterator<Item = ExecutionHistory>,
    conditions: Vec<Condition>,
    observed_generation: Option<i64>,
) -> CronFederatedHPAStatus {
    let mut names = BTreeSet::new();
    let histories: Vec<ExecutionHistory> = histories
        .filter(|it| can_be_a_name(&it.rule_name) && names.insert(it.rule_name.clone()))
        .take(MAX_RULES)
        .collect();
    let executed = histories.iter().flat_map(|it| &it.successful_executions);
    CronFederatedHPAStatus {
        observed: Observed { observed_generation, conditions },
        next_execution_time: histories.iter().filter_map(|it| it.next_execution_time.clone()).min(),
        last_execution_time: executed.map(|it| it.execution_time.clone()).max(),
        execution_histories: histories,
    }
}

fn history_of(rule: &CronRule, memory: Option<&RuleMemory>, now: Timestamp) -> ExecutionHistory {
    let Some(memory) = memory else {
        let next = next_firing(rule, &RuleMemory::beginning(rule, now), now);
        return ExecutionHistory {
            rule_name: rule.name.to_string(),
            next_execution_time: next.map(lenient::time),
            ..ExecutionHistory::default()
        };
    };
    // A fingerprint with an unknown last handled time would be read back as another state.
    let fingerprint = (handled(memory).is_some() && memory.fingerprint != Fingerprint::empty())
        .then_some(memory.fingerprint);
    let successful = usize::from(rule.successful_history_limit);
    let failed = usize::from(rule.failed_history_limit);
    ExecutionHistory {
        rule_name: rule.name.to_string(),
        fingerprint: fingerprint.map(|it| it.to_string()),
        last_handled_time: handled(memory).map(lenient::time),
        next_execution_time: next_firing(rule, memory, now).map(lenient::time),
        successful_executions: executions::write_successes(
            &memory.executions,
            undone(rule, memory),
            Some(rule.desired),
            successful,
        ),
        failed_executions: executions::write_failures(&memory.executions, failed),
    }
}

/// The change of another field manager to a value that a rule set. An edit since then made the rule start again.
pub(super) fn undone<'a>(rule: &CronRule, memory: &'a RuleMemory) -> Option<&'a UndoneValue> {
    let undone = memory.undone.as_deref().filter(|_| memory.fingerprint == rule.fingerprint);
    undone.filter(|it| !it.is_over)
}

/// The history of a rule that cannot be used. Without a fingerprint the rule starts again once fixed. The last handled
/// time remains: after the clock was set back, this time prevents handled firings from firing again.
fn invalidated(memory: &RuleMemory) -> ExecutionHistory {
    ExecutionHistory {
        rule_name: memory.name.to_string(),
        fingerprint: None,
        last_handled_time: handled(memory).map(lenient::time),
        next_execution_time: None,
        successful_executions: executions::write_successes(
            &memory.executions,
            None,
            None,
            MAX_EXECUTIONS,
        ),
        failed_executions: executions::write_failures(&memory.executions, MAX_EXECUTIONS),
    }
}

/// The last handled time of a rule; `None` if unknown. The time is rounded down to a whole second. Firings are at whole
/// seconds, so none lies between this and the exact instant, and none is lost or repeated.
fn handled(memory: &RuleMemory) -> Option<Timestamp> {
    Some(lenient::whole_second(memory.handled)).filter(|at| *at > Timestamp::UNIX_EPOCH)
}
