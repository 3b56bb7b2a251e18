//! Policies from text, statuses as JSON, and checked decisions.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use almanac_api::definitions::{CustomResource, custom_resources};
use almanac_api::finding::Finding;
use almanac_api::objects::CronFederatedHPAStatus;
use almanac_api::status::cron_federated_hpa::write;
use almanac_checker::check_cron_scaling;
use almanac_engine::cron_scaling::{
    Applied, CronScaling, Decision, Execution, FiringOutcome, Input, Memory, RuleMemory,
    TargetState, decide,
};
use almanac_engine::{Action, Workload};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::written::{check, cron_for_workload, cron_rules_of};

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The current time of these tests, a Monday, between all firings.
pub(crate) fn now() -> Timestamp {
    at("2026-01-05T10:00:30Z")
}

pub(crate) fn policy_and_findings(text: &str) -> (Option<CronScaling>, Vec<Finding>) {
    let (_, checked, _) = check(text);
    let policy = cron_rules_of(&checked[0]).cloned();
    (policy, checked.into_iter().flat_map(|object| object.findings).collect())
}

pub(crate) fn policy(text: &str) -> CronScaling {
    let (policy, findings) = policy_and_findings(text);
    policy.unwrap_or_else(|| panic!("{text}\n{findings:#?}"))
}

/// `up` at 9:00, `broken`, `down` at 18:00 and `lunch`, which is suspended.
pub(crate) const SHOP: &str = "  - {name: up, schedule: '0 9 * * *', targetReplicas: 5}\n  \
    - {name: broken, schedule: 'at nine', targetReplicas: 5}\n  \
    - {name: down, schedule: '0 18 * * *', targetReplicas: 1, failedHistoryLimit: 2}\n  \
    - {name: lunch, schedule: '0 12 * * *', targetReplicas: 3, suspend: true}\n";

pub(crate) fn shop() -> CronScaling {
    static CHECKED: LazyLock<CronScaling> = LazyLock::new(|| policy(&cron_for_workload(SHOP)));
    CHECKED.clone()
}

pub(crate) fn executed(scheduled: &str, executed: &str, ending: FiringOutcome) -> Execution {
    Execution::new(at(scheduled), at(executed), ending)
}

pub(crate) fn executed_at(scheduled: &str, replicas: u32) -> Execution {
    executed(scheduled, scheduled, FiringOutcome::Done(Applied::Replicas(replicas)))
}

/// The state of the rule at `index`, handled until a minute before [`now`].
pub(crate) fn rule_memory(policy: &CronScaling, index: usize, list: &[Execution]) -> RuleMemory {
    let handled = at("2026-01-05T10:00:00Z");
    RuleMemory::beginning(&policy.rules[index], handled).with_executions(list.iter().cloned())
}

pub(crate) fn status_of(policy: &CronScaling, memory: &Memory) -> Value {
    as_json(&write(policy, memory, now(), Vec::new(), Some(1)))
}

/// The status as JSON, checked against the schema of the API server.
pub(crate) fn as_json(status: &CronFederatedHPAStatus) -> Value {
    let value = serde_json::to_value(status).expect("a status is JSON");
    let complaints = against_schema("CronFederatedHPA", &value);
    assert!(complaints.is_empty(), "{complaints:#?}\n{value:#}");
    value
}

/// The violations of the schema of a kind's status.
pub(crate) fn against_schema(kind: &str, status: &Value) -> Vec<String> {
    static SCHEMAS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
        let resources = custom_resources();
        let schema = |it: &CustomResource| it.schema()["properties"]["status"].clone();
        resources.iter().map(|it| (it.kind().to_owned(), schema(it))).collect()
    });
    let mut complaints = Vec::new();
    compare(&SCHEMAS[kind], status, "status", &mut complaints);
    complaints
}

fn compare(schema: &Value, value: &Value, path: &str, complaints: &mut Vec<String>) {
    let mut unless = |holds: bool, what: &str| {
        if !holds {
            complaints.push(format!("{path}: {what}: {value}"));
        }
    };
    let most = |name: &str| schema[name].as_u64().unwrap_or(u64::MAX);
    let length = |count: usize| u64::try_from(count).expect("a length");
    match value {
        Value::String(text) => {
            unless(schema["type"] == "string", "no text");
            unless(length(text.chars().count()) <= most("maxLength"), "too long");
            let is_time = schema["format"] == "date-time";
            unless(!is_time || (text.len() == 20 && text.ends_with('Z')), "no time");
        }
        Value::Number(number) => {
            unless(schema["type"] == "integer", "no number");
            let least = schema["minimum"].as_i64().unwrap_or(i64::MIN);
            unless(number.as_i64().is_some_and(|number| number >= least), "too small");
        }
        Value::Array(items) => {
            unless(schema["type"] == "array", "no list");
            unless(length(items.len()) <= most("maxItems"), "too many");
            if let Some(key) = schema["x-kubernetes-list-map-keys"][0].as_str() {
                let mut keys: Vec<_> = items.iter().map(|item| item[key].to_string()).collect();
                keys.sort_unstable();
                unless(keys.windows(2).all(|two| two[0] != two[1]), "the same key twice");
            }
            for (index, item) in items.iter().enumerate() {
                compare(&schema["items"], item, &format!("{path}[{index}]"), complaints);
            }
        }
        Value::Object(fields) => {
            unless(schema["type"] == "object", "no map");
            for required in schema["required"].as_array().into_iter().flatten() {
                unless(fields.contains_key(required.as_str().expect("a name")), "incomplete");
            }
            for (name, field) in fields {
                compare(&schema["properties"][name], field, &format!("{path}.{name}"), complaints);
            }
        }
        Value::Bool(_) | Value::Null => unless(false, "of no type a status has"),
    }
}

/// The decision about a workload with 0 replicas that was created long ago.
pub(crate) fn decision(policy: &CronScaling, memory: Option<&Memory>, now: Timestamp) -> Decision {
    let target = TargetState::Workload(Workload { replicas: Some(0), ..Workload::default() });
    let created = Some(at("2020-01-01T00:00:00Z"));
    let input = Input { policy, created, memory, target, exempt: None };
    let decision = decide(&input, now);
    check_cron_scaling(&input, now, &decision).stop();
    decision
}

/// The desired replicas of that workload, and the state of the rules after the decision.
pub(crate) fn decided(
    policy: &CronScaling,
    memory: Option<&Memory>,
    now: Timestamp,
) -> (Option<u32>, Memory) {
    let decision = decision(policy, memory, now);
    let replicas = match decision.actions.first() {
        Some(Action::SetReplicas { replicas, .. }) => Some(*replicas),
        Some(other) => panic!("{other:?} is nothing to do with a workload"),
        None => None,
    };
    (replicas, decision.memory)
}

/// A status with these entries.
pub(crate) fn with_entries(entries: &[Value]) -> Value {
    json!({ "executionHistories": entries })
}
