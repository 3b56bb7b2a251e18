//! The status of cron rules.

use almanac_api::status::cron_federated_hpa::{read_without_policy, write, write_without_policy};
use almanac_engine::cron_scaling::{Applied, Execution, FiringOutcome, Memory};
use serde_json::{Value, json};

use crate::statuses::support::{
    as_json, at, executed, executed_at, now, policy, rule_memory, shop, status_of, with_entries,
};
use crate::written::{cron_for_autoscaler, cron_for_workload};

/// The entry of the status for one execution of the first of these rules.
fn written_execution(
    policy: &almanac_engine::cron_scaling::CronScaling,
    execution: Execution,
) -> Value {
    let memory = Memory { rules: vec![rule_memory(policy, 0, &[execution])] };
    let entry = status_of(policy, &memory)["executionHistories"][0].clone();
    let [success, failure] =
        ["successfulExecutions", "failedExecutions"].map(|it| entry[it][0].clone());
    if success.is_null() { failure } else { success }
}

#[test]
fn histories_are_in_spec_order_including_unusable_rules() {
    let shop = shop();
    let mut broken = rule_memory(&shop, 0, &[executed_at("2026-01-03T09:00:00Z", 5)]);
    broken.name = "broken".into();
    let memory = Memory {
        rules: vec![
            rule_memory(&shop, 0, &[executed_at("2026-01-05T09:00:00Z", 5)]),
            rule_memory(
                &shop,
                1,
                &[executed(
                    "2026-01-04T18:00:00Z",
                    "2026-01-04T18:07:12.9Z",
                    FiringOutcome::Missed,
                )],
            ),
            rule_memory(&shop, 2, &[executed_at("2026-01-04T12:00:00Z", 3)]),
            broken,
        ],
    };
    let mark = |index: usize| shop.rules[index].fingerprint.to_string();
    let handled = "2026-01-05T10:00:00Z";
    let success = |at: &str, replicas: i32| json!([{ "scheduleTime": at, "executionTime": at, "appliedReplicas": replicas }]);
    let expected = json!({
        "observedGeneration": 1,
        "nextExecutionTime": "2026-01-05T18:00:00Z",
        "lastExecutionTime": "2026-01-05T09:00:00Z",
        "executionHistories": [
            {
                "ruleName": "up", "fingerprint": mark(0), "lastHandledTime": handled,
                "nextExecutionTime": "2026-01-06T09:00:00Z",
                "successfulExecutions": success("2026-01-05T09:00:00Z", 5),
            },
            {
                "ruleName": "broken", "lastHandledTime": handled,
                "successfulExecutions": success("2026-01-03T09:00:00Z", 5),
            },
            {
                "ruleName": "down", "fingerprint": mark(1), "lastHandledTime": handled,
                "nextExecutionTime": "2026-01-05T18:00:00Z",
                "failedExecutions": [{
                    "scheduleTime": "2026-01-04T18:00:00Z",
                    "executionTime": "2026-01-04T18:07:12Z",
                    "message": "missed by 7m 12s",
                }],
            },
            {
                "ruleName": "lunch", "fingerprint": mark(2), "lastHandledTime": handled,
                "successfulExecutions": success("2026-01-04T12:00:00Z", 3),
            },
        ],
    });
    assert_eq!(status_of(&shop, &memory), expected);
}

#[test]
fn a_failure_has_a_readable_message() {
    let failed = |attempts| FiringOutcome::Failed { attempts, message: "no such thing".into() };
    for (ending, message) in [
        (failed(0), "no such thing"),
        (failed(1), "gave up after 1 attempt: no such thing"),
        (failed(7), "gave up after 7 attempts: no such thing"),
        (FiringOutcome::Missed, "missed by 1h 30s"),
        (FiringOutcome::Superseded { by: "down".into() }, "superseded by rule \"down\""),
        (FiringOutcome::Stopped, "not carried out: everything was stopped"),
    ] {
        let execution = executed("2026-01-05T09:00:00Z", "2026-01-05T10:00:30Z", ending);
        assert_eq!(written_execution(&shop(), execution)["message"], message);
    }
}

#[test]
fn a_message_is_truncated_to_the_schema_limit() {
    let ending = FiringOutcome::Failed { attempts: 7, message: "ü".repeat(5_000).into() };
    let execution = executed("2026-01-05T09:00:00Z", "2026-01-05T09:05:00Z", ending);
    let message =
        written_execution(&shop(), execution)["message"].as_str().map(str::to_owned).expect("text");
    assert_eq!(message.chars().count(), 4_096);
    assert!(message.starts_with("gave up after 7") && message.ends_with("ü…"), "{message}");
}

#[test]
fn a_moved_bound_is_reported_as_far_as_it_is_known() {
    let rule = |fields: &str| {
        policy(&cron_for_autoscaler(&format!(
            "  - {{name: up, schedule: '0 9 * * *', {fields}}}\n"
        )))
    };
    let bounds = |min, max| Applied::bounds(min, max, true);
    let max_moved = "maxReplicas was moved to 12 to fit minReplicas";
    let min_moved = "minReplicas was moved to 12 to fit maxReplicas";
    let one_moved = "one bound was moved to fit the other";
    for (fields, applied, message) in [
        ("targetMinReplicas: 12", bounds(Some(12), Some(12)), max_moved),
        ("targetMaxReplicas: 12", bounds(Some(12), Some(12)), min_moved),
        ("targetMinReplicas: 10", bounds(None, Some(12)), max_moved),
        ("targetMaxReplicas: 15", bounds(Some(12), None), min_moved),
        // The rule has been edited since.
        ("targetMinReplicas: 10", bounds(Some(12), Some(12)), one_moved),
        ("targetMinReplicas: 12, targetMaxReplicas: 12", bounds(Some(12), Some(12)), one_moved),
    ] {
        let at = "2026-01-05T09:00:00Z";
        let success =
            written_execution(&rule(fields), executed(at, at, FiringOutcome::Done(applied)));
        assert_eq!(success["message"], message, "{fields}");
        assert_eq!(success["appliedMinReplicas"], json!(applied.min()), "{fields}");
        assert_eq!(success["appliedMaxReplicas"], json!(applied.max()), "{fields}");
        assert_eq!(success["appliedReplicas"], Value::Null, "{fields}");
    }
    let own = Applied::bounds(Some(2), None, false);
    let at = "2026-01-05T09:00:00Z";
    let success = written_execution(
        &rule("targetMinReplicas: 2"),
        executed(at, at, FiringOutcome::Done(own)),
    );
    assert_eq!(success["message"], Value::Null);
}

#[test]
fn a_history_is_written_newest_first_and_within_the_limits_of_its_rule() {
    let shop = shop();
    let days = (1..=5).map(|day| format!("2025-12-0{day}T18:00:00Z"));
    let executions: Vec<Execution> = days
        .flat_map(|at| [executed_at(&at, 1), executed(&at, &at, FiringOutcome::Missed)])
        .collect();
    let memory = Memory { rules: vec![rule_memory(&shop, 1, &executions)] };
    let entry = &status_of(&shop, &memory)["executionHistories"][1];
    let times = |list: &str| -> Vec<Value> {
        let list = entry[list].as_array().expect("a list");
        list.iter().map(|it| it["scheduleTime"].clone()).collect()
    };
    let expected = ["2025-12-05T18:00:00Z", "2025-12-04T18:00:00Z", "2025-12-03T18:00:00Z"];
    assert_eq!(times("successfulExecutions"), expected);
    assert_eq!(times("failedExecutions"), ["2025-12-05T18:00:00Z", "2025-12-04T18:00:00Z"]);
}

#[test]
fn a_rule_without_state_has_only_its_next_firing() {
    let histories = &status_of(&shop(), &Memory::default())["executionHistories"];
    let expected = json!([
        { "ruleName": "up", "nextExecutionTime": "2026-01-06T09:00:00Z" },
        { "ruleName": "down", "nextExecutionTime": "2026-01-05T18:00:00Z" },
        { "ruleName": "lunch" },
    ]);
    assert_eq!(*histories, expected);
}

#[test]
fn a_firing_handled_before_the_clock_was_set_back_is_not_the_next() {
    let shop = shop();
    let mut memory = rule_memory(&shop, 1, &[]);
    memory.handled = at("2026-01-05T18:00:00.5Z");
    let memory = Memory { rules: vec![memory] };
    let entry = &status_of(&shop, &memory)["executionHistories"][1];
    assert_eq!(entry["lastHandledTime"], "2026-01-05T18:00:00Z");
    assert_eq!(entry["nextExecutionTime"], "2026-01-06T18:00:00Z");
}

#[test]
fn an_invalid_object_keeps_its_histories_and_has_no_next_firing() {
    let shop = shop();
    let memory =
        Memory { rules: vec![rule_memory(&shop, 0, &[executed_at("2026-01-05T09:00:00Z", 5)])] };
    let memory = read_without_policy(&status_of(&shop, &memory)).expect("a status exists");
    let status = as_json(&write_without_policy(&memory, Vec::new(), Some(2)));
    let expected = json!({
        "observedGeneration": 2,
        "lastExecutionTime": "2026-01-05T09:00:00Z",
        "executionHistories": [{
            "ruleName": "up", "lastHandledTime": "2026-01-05T10:00:00Z",
            "successfulExecutions": [{
                "scheduleTime": "2026-01-05T09:00:00Z",
                "executionTime": "2026-01-05T09:00:00Z", "appliedReplicas": 5,
            }],
        }, { "ruleName": "down" }, { "ruleName": "lunch" }],
    });
    assert_eq!(status, expected);
    let again = read_without_policy(&status).expect("a status exists");
    assert_eq!(as_json(&write_without_policy(&again, Vec::new(), Some(2))), status);
}

#[test]
fn names_are_unique_and_within_the_schema_limit() {
    let long = "x".repeat(33);
    let policy = policy(&cron_for_workload(&format!(
        "  - {{name: a, schedule: '0 9 * * *', targetReplicas: 1}}\n  \
         - {{name: a, schedule: '0 9 * * *', targetReplicas: 1}}\n  \
         - {{name: {long}, schedule: '0 9 * * *', targetReplicas: 1}}\n"
    )));
    let mut rules = vec![rule_memory(&policy, 0, &[]), rule_memory(&policy, 0, &[])];
    rules[1].name = long.into();
    let status = write(&policy, &Memory { rules: rules.clone() }, now(), Vec::new(), None);
    assert_eq!(as_json(&status)["executionHistories"].as_array().map(Vec::len), Some(1));
    rules.push(rules[0].clone());
    let status = write_without_policy(&Memory { rules }, Vec::new(), None);
    assert_eq!(as_json(&status)["executionHistories"].as_array().map(Vec::len), Some(1));
    let entries = with_entries(&[json!({ "ruleName": "a" }), json!({ "ruleName": "a" })]);
    assert_eq!(read_without_policy(&entries).map(|memory| memory.rules.len()), Some(1));
}
