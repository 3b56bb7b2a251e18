//! Reading the status of cron rules, intact or mangled.

use almanac_api::status::cron_federated_hpa::{read, read_without_policy};
use almanac_engine::Fingerprint;
use almanac_engine::cron_scaling::{Applied, FiringOutcome, Memory};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::statuses::support::{
    at, decided, executed_at, now, policy, rule_memory, shop, status_of, with_entries,
};
use crate::written::{cron_for_autoscaler, cron_for_workload};

fn names(memory: Option<Memory>) -> Vec<String> {
    let memory = memory.expect("a status exists");
    memory.rules.iter().map(|rule| rule.name.to_string()).collect()
}

/// The entry of the rule `up`, handled at 8:00 of the day on which it fires at 9:00.
fn entry_of_up() -> Value {
    let shop = shop();
    let mut memory = rule_memory(&shop, 0, &[executed_at("2026-01-04T09:00:00Z", 5)]);
    memory.handled = at("2026-01-05T08:00:00Z");
    status_of(&shop, &Memory { rules: vec![memory] })["executionHistories"][0].clone()
}

#[test]
fn an_object_that_never_had_a_status_has_no_memory_and_any_other_has_one() {
    assert_eq!(read(&shop(), &Value::Null), None);
    assert_eq!(read_without_policy(&Value::Null), None);
    for mangled in [
        json!({}),
        json!("gone"),
        json!(7),
        json!([1, 2]),
        json!(false),
        json!({ "executionHistories": { "up": 1 } }),
        json!({ "executionHistories": [null, 1, "up", [], {}, { "ruleName": 3 }] }),
    ] {
        assert_eq!(read(&shop(), &mangled), Some(Memory::default()), "{mangled}");
        assert_eq!(read_without_policy(&mangled), Some(Memory::default()), "{mangled}");
    }
}

#[test]
fn a_rule_missing_from_the_status_does_not_fire_for_the_past() {
    let shop = shop();
    let just_after_nine = at("2026-01-05T09:00:10Z");
    let (without_status, _) = decided(&shop, None, just_after_nine);
    assert_eq!(without_status, Some(5), "a new object fires from its creation on");
    for silent in [json!({}), json!([]), with_entries(&[json!({ "ruleName": "down" })])] {
        let memory = read(&shop, &silent);
        assert_eq!(decided(&shop, memory.as_ref(), just_after_nine).0, None, "{silent}");
    }
}

#[test]
fn a_firing_due_during_a_restart_is_applied_from_the_status() {
    let memory = read(&shop(), &with_entries(&[entry_of_up()]));
    assert_eq!(decided(&shop(), memory.as_ref(), at("2026-01-05T09:00:10Z")).0, Some(5));
}

#[test]
fn a_status_written_by_an_earlier_release_still_counts() {
    let mut entry = entry_of_up();
    // As it stood in a status of the first release. If it has to change here, old rules become new
    // ones at the next upgrade: compose it as before, or write another version and compare both.
    entry["fingerprint"] = json!("6c45a487504e9a5b");
    let memory = read(&shop(), &with_entries(&[entry]));
    assert_eq!(decided(&shop(), memory.as_ref(), at("2026-01-05T09:00:10Z")).0, Some(5));
}

#[test]
fn a_fingerprint_composed_by_another_release_does_not_make_a_rule_new() {
    let counts = |fingerprint: &str| {
        let mut entry = entry_of_up();
        entry["fingerprint"] = json!(fingerprint);
        let memory = read(&shop(), &with_entries(&[entry]));
        decided(&shop(), memory.as_ref(), at("2026-01-05T09:00:10Z")).0.is_some()
    };
    assert!(counts("v2:0123456789abcdef"));
    for mangled in ["v2:0123", "v:0123456789abcdef", "x2:0123456789abcdef", "0123456789abcdef"] {
        assert!(!counts(mangled), "{mangled}");
    }
}

#[test]
fn a_mangled_fingerprint_or_handled_time_loses_the_handled_state_but_not_the_history() {
    let shop = shop();
    for (field, mangled) in [
        ("fingerprint", json!("0123")),
        ("fingerprint", json!(12)),
        ("fingerprint", Value::Null),
        ("lastHandledTime", json!("yesterday")),
        ("lastHandledTime", json!(1_767_571_200)),
        ("lastHandledTime", json!("-004713-01-01T00:00:00Z")),
        ("lastHandledTime", Value::Null),
    ] {
        let mut entry = entry_of_up();
        entry[field] = mangled;
        let memory = read(&shop, &with_entries(&[entry.clone()])).expect("a status exists");
        assert_eq!(memory.rules[0].fingerprint, Fingerprint::empty(), "{entry}");
        let just_after_nine = at("2026-01-05T09:00:10Z");
        let (wanted, carried_over) = decided(&shop, Some(&memory), just_after_nine);
        assert_eq!(wanted, None, "{entry}");
        assert_eq!(carried_over.rules[0].handled, just_after_nine, "{entry}");
        assert_eq!(carried_over.rules[0].executions.len(), 1, "{entry}");
    }
}

#[test]
fn a_mangled_execution_is_left_out_alone() {
    let good = json!({
        "scheduleTime": "2026-01-04T09:00:00Z", "executionTime": "2026-01-04T09:00:01Z",
        "appliedReplicas": 5
    });
    let with = |field: &str, value: Value| {
        let mut execution = good.clone();
        execution[field] = value;
        execution
    };
    for mangled in [
        Value::Null,
        json!("done"),
        json!({}),
        with("appliedReplicas", json!(-1)),
        with("appliedReplicas", json!(2_147_483_648_i64)),
        with("appliedReplicas", json!(9.5)),
        with("appliedReplicas", json!(u64::MAX)),
        with("appliedReplicas", json!("5")),
        with("appliedMinReplicas", json!(-1)),
        with("appliedMaxReplicas", json!(0)),
        with("appliedMaxReplicas", json!([])),
        with("scheduleTime", json!("2026-02-30T09:00:00Z")),
        with("scheduleTime", json!("9999999999-01-01T00:00:00Z")),
        with("executionTime", Value::Null),
    ] {
        let mut entry = entry_of_up();
        entry["successfulExecutions"] = json!([mangled, good, mangled]);
        entry["failedExecutions"] = json!([mangled]);
        let memory = read(&shop(), &with_entries(&[entry])).expect("a status exists");
        let executions = &memory.rules[0].executions;
        assert_eq!(executions.len(), 1, "{mangled}");
        assert_eq!(executions[0].ending, FiringOutcome::Done(Applied::Replicas(5)), "{mangled}");
    }
}

#[test]
fn both_lists_become_one_with_the_newest_first() {
    let success =
        |at: &str| json!({ "scheduleTime": at, "executionTime": at, "appliedReplicas": 1 });
    let failure =
        |at: &str, by: &str| json!({ "scheduleTime": at, "executionTime": by, "message": by });
    let mut entry = entry_of_up();
    entry["successfulExecutions"] =
        json!([success("2026-01-02T09:00:00Z"), success("2026-01-04T09:00:00Z")]);
    entry["failedExecutions"] = json!([
        failure("2026-01-03T09:00:00Z", "2026-01-03T09:05:00Z"),
        failure("2026-01-03T09:00:00Z", "2026-01-03T09:06:00Z"),
        failure("2026-01-05T09:00:00Z", "2026-01-05T09:06:00Z"),
    ]);
    let memory = read(&shop(), &with_entries(&[entry])).expect("a status exists");
    let order: Vec<String> =
        memory.rules[0].executions.iter().map(|it| it.executed().to_string()).collect();
    let expected = [
        "2026-01-05T09:06:00Z",
        "2026-01-04T09:00:00Z",
        "2026-01-03T09:06:00Z",
        "2026-01-03T09:05:00Z",
        "2026-01-02T09:00:00Z",
    ];
    assert_eq!(order, expected);
}

#[test]
fn ten_thousand_executions_and_an_endless_message_are_truncated_to_the_schema_limits() {
    let execution = |day: i64| {
        let at = Timestamp::from_second(1_000_000_000 + day * 86_400).expect("an instant");
        json!({ "scheduleTime": at, "executionTime": at, "appliedReplicas": 1, "message": "ü".repeat(10_000) })
    };
    let executions: Vec<Value> = (0..2_000).map(execution).collect();
    let mut entry = entry_of_up();
    entry["successfulExecutions"] = json!(executions);
    entry["failedExecutions"] = json!(executions);
    let memory = read(&shop(), &with_entries(&[entry])).expect("a status exists");
    let executions = &memory.rules[0].executions;
    assert_eq!(executions.iter().filter(|it| it.ending.is_success()).count(), 32);
    assert_eq!(executions.len(), 64);
    assert_eq!(executions[0].scheduled().as_second(), 1_000_000_000 + 1_999 * 86_400);
    let FiringOutcome::Failed { message, .. } = &executions[1].ending else {
        panic!("{executions:?}")
    };
    assert_eq!(message.chars().count(), 4_096);
    let same = executions.iter().filter(|it| match &it.ending {
        FiringOutcome::Failed { message: other, .. } => std::sync::Arc::ptr_eq(message, other),
        _ => false,
    });
    assert_eq!(same.count(), 32, "equal messages are kept once");
    status_of(&shop(), &memory);
}

#[test]
fn the_first_entry_of_a_rule_is_used_and_entries_of_other_rules_are_dropped() {
    let mut second = entry_of_up();
    second["successfulExecutions"] = json!([]);
    let gone = json!({ "ruleName": "gone" });
    let status = with_entries(&[gone, entry_of_up(), second]);
    let memory = read(&shop(), &status).expect("a status exists");
    assert_eq!(memory.rules.len(), 1);
    assert_eq!(memory.rules[0].executions.len(), 1);
    assert_eq!(names(read_without_policy(&status)), ["gone", "up"]);
}

#[test]
fn entries_are_in_the_order_of_the_usable_rules_with_those_of_unusable_ones_after_them() {
    let entries = ["lunch", "broken", "down", "up"].map(|name| json!({ "ruleName": name }));
    assert_eq!(names(read(&shop(), &with_entries(&entries))), ["up", "down", "lunch", "broken"]);
}

#[test]
fn impossible_rule_names_and_excess_entries_are_dropped() {
    let mut entries: Vec<Value> =
        (0..5_000).map(|index| json!({ "ruleName": format!("r{index}") })).collect();
    entries.push(json!({ "ruleName": "" }));
    entries.insert(0, json!({ "ruleName": "x".repeat(33) }));
    let memory = names(read_without_policy(&with_entries(&entries)));
    assert_eq!((memory.len(), &*memory[0]), (256, "r0"));
}

#[test]
fn a_moved_bound_is_read_from_the_message_of_the_execution() {
    let policy = policy(&cron_for_autoscaler(
        "  - {name: up, schedule: '0 9 * * *', targetMinReplicas: 12}\n",
    ));
    let entry = |message: Value| {
        json!({ "ruleName": "up", "successfulExecutions": [{
            "scheduleTime": "2026-01-04T09:00:00Z", "executionTime": "2026-01-04T09:00:00Z",
            "appliedMinReplicas": 12, "appliedMaxReplicas": 12, "message": message
        }]})
    };
    for (message, moved) in [(json!("moved"), true), (Value::Null, false), (json!(7), false)] {
        let memory = read(&policy, &with_entries(&[entry(message)])).expect("a status exists");
        let applied = Applied::bounds(Some(12), Some(12), moved);
        assert_eq!(memory.rules[0].executions[0].ending, FiringOutcome::Done(applied));
    }
}

#[test]
fn a_firing_handled_before_the_clock_was_set_back_does_not_repeat() {
    let mut entry = entry_of_up();
    entry["lastHandledTime"] = json!("2026-01-05T09:00:00Z");
    let memory = read(&shop(), &with_entries(&[entry])).expect("a status exists");
    for again in ["2026-01-05T08:59:52Z", "2026-01-05T09:00:00Z", "2026-01-05T09:00:01Z"] {
        assert_eq!(decided(&shop(), Some(&memory), at(again)).0, None, "{again}");
    }
}

#[test]
fn a_rule_that_was_unusable_for_a_while_keeps_its_history_and_does_not_fire_for_that_time() {
    let broken =
        policy(&cron_for_workload("  - {name: up, schedule: 'at nine', targetReplicas: 5}\n"));
    let memory = read(&broken, &with_entries(&[entry_of_up()])).expect("a status exists");
    let (_, memory) = decided(&broken, Some(&memory), at("2026-01-05T08:30:00Z"));
    let status = status_of(&broken, &memory);
    let repaired = read(&shop(), &status).expect("a status exists");
    assert_eq!(repaired.rules[0].executions.len(), 1);
    assert_eq!(decided(&shop(), Some(&repaired), at("2026-01-05T09:00:10Z")).0, None);
    assert!(now() > repaired.rules[0].handled);
}
