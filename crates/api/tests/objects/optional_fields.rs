//! Every optional field absent, null, zero, empty and at its maximum: the documented meaning, or a finding, and never a
//! panic.

#![allow(clippy::panic, reason = "what fails here fails the test")]

use crate::written;
use crate::written::{
    check, check_one, cron_for_autoscaler, cron_for_workload, cron_rules_of, fails_like, messages,
    producer, schedule_of,
};
use almanac_engine::cron_scaling::{CronRule, DesiredScale};
use almanac_engine::scheduled_capacity::ScheduledCapacity;

fn rule_of(text: &str) -> CronRule {
    let object = check_one(text);
    let policy = cron_rules_of(&object);
    policy.unwrap_or_else(|| panic!("{text}\n{:#?}", object.findings)).rules[0].clone()
}

fn rule(fields: &str) -> CronRule {
    rule_of(&cron_for_workload(&format!(
        "  - {{name: up, schedule: '30 8 * * *', targetReplicas: 1{fields}}}\n"
    )))
}

fn schedule(text: &str) -> ScheduledCapacity {
    let object = check_one(text);
    let policy = schedule_of(&object);
    policy.unwrap_or_else(|| panic!("{text}\n{:#?}", object.findings)).clone()
}

#[test]
fn an_absent_or_null_field_of_a_rule_has_its_documented_meaning() {
    for fields in [
        "",
        ", suspend: null, timeZone: null, maxDelaySeconds: null, successfulHistoryLimit: null, failedHistoryLimit: null, targetMinReplicas: null",
        ", suspend: , timeZone: ~",
    ] {
        let rule = rule(fields);
        assert!(!rule.suspended, "{fields}");
        assert_eq!(rule.firings.zone().name(), "UTC", "{fields}");
        assert_eq!(rule.max_delay_seconds, 300, "{fields}");
        assert_eq!((rule.successful_history_limit, rule.failed_history_limit), (3, 3), "{fields}");
        assert_eq!(rule.desired, DesiredScale::Replicas(1), "{fields}");
    }
}

#[test]
fn the_default_delay_stays_below_the_time_between_two_firings() {
    for (schedule, delay) in
        [("* * * * *", 59), ("*/5 * * * *", 299), ("*/6 * * * *", 300), ("0 0 29 2 *", 300)]
    {
        let text = cron_for_workload(&format!(
            "  - {{name: up, schedule: '{schedule}', targetReplicas: 1}}\n"
        ));
        assert_eq!(rule_of(&text).max_delay_seconds, delay, "{schedule}");
    }
}

#[test]
fn zero_and_the_maximum_are_accepted() {
    let least = rule(
        ", suspend: false, maxDelaySeconds: 1, successfulHistoryLimit: 1, failedHistoryLimit: 0",
    );
    assert_eq!(
        (least.max_delay_seconds, least.successful_history_limit, least.failed_history_limit),
        (1, 1, 0)
    );
    let most = rule(
        ", suspend: true, maxDelaySeconds: 82799, successfulHistoryLimit: 32, failedHistoryLimit: 32",
    );
    assert!(most.suspended);
    assert_eq!(
        (most.max_delay_seconds, most.successful_history_limit, most.failed_history_limit),
        (82799, 32, 32)
    );
    let zero = cron_for_workload("  - {name: down, schedule: '0 0 * * *', targetReplicas: 0}\n");
    assert_eq!(rule_of(&zero).desired, DesiredScale::Replicas(0));
    let largest = cron_for_autoscaler(
        "  - {name: up, schedule: '0 0 * * *', targetMaxReplicas: 2147483647}\n",
    );
    let DesiredScale::Bounds(bounds) = rule_of(&largest).desired else { panic!("bounds are set") };
    assert_eq!((bounds.min(), bounds.max()), (None, Some(2_147_483_647)));
}

#[test]
fn an_empty_string_does_not_count_as_an_absent_field() {
    for (field, code) in [("timeZone: ''", "time-zone"), ("schedule: ''", "missing-field")] {
        let text = cron_for_workload("  - {name: up, schedule: '0 0 * * *', targetReplicas: 1}\n")
            .replace("schedule: '0 0 * * *'", &format!("schedule: '0 0 * * *', {field}"))
            .replace("schedule: '0 0 * * *', schedule: ''", "schedule: ''");
        fails_like(&text, code);
    }
}

#[test]
fn an_absent_or_null_field_of_a_schedule_has_its_documented_meaning() {
    for fields in ["", ", timezone: null", ", timezone: ~"] {
        let behavior = "{replicas: 2, start: {hours: 9, days: null}, end: {hours: 17, minutes: }, priority: null}";
        let schedule = schedule(&producer(&format!(
            "{{defaultReplicas: 0, behaviors: [{behavior}]{fields}}}"
        )));
        assert_eq!((schedule.zone.name(), schedule.default_value), ("UTC", 0));
        assert_eq!((schedule.behaviors[0].priority, schedule.behaviors[0].value), (0, 2));
        let opens = schedule.behaviors[0].windows.next_transition(written::now());
        assert_eq!(opens.map(|it| it.at.to_string()).as_deref(), Some("2026-01-05T09:00:00Z"));
    }
    assert!(schedule(&producer("{defaultReplicas: 1, behaviors: []}")).behaviors.is_empty());
}

#[test]
fn an_absent_minute_and_hour_are_zero_and_an_absent_day_is_any() {
    let text =
        producer("{defaultReplicas: 0, behaviors: [{replicas: 1, start: {}, end: {hours: 1}}]}");
    let schedule = schedule(&text);
    assert!(schedule.behaviors[0].windows.is_open(written::now()));
    assert!(schedule.behaviors[0].windows.describe().contains("00:00"));
}

#[test]
fn the_extremes_of_a_priority_are_accepted() {
    for priority in [i32::MIN, -1, 0, i32::MAX] {
        let text = producer(&format!(
            "{{defaultReplicas: 0, behaviors: [{{replicas: 1, start: {{hours: 1}}, end: {{hours: 2}}, priority: {priority}}}]}}"
        ));
        assert_eq!(schedule(&text).behaviors[0].priority, priority);
    }
}

#[test]
fn a_required_field_that_is_null_is_rejected() {
    let text = cron_for_workload("  - {name: up, schedule: null, targetReplicas: 1}\n");
    assert_eq!(
        messages(&text),
        ["wrong-type spec.rules[0].schedule: Invalid value: null: must be text, not nothing"]
    );
    let expected = [
        "wrong-type spec.schedule.defaultReplicas: Invalid value: null: must be a whole number, not nothing",
        "wrong-type spec.schedule.behaviors: Invalid value: null: must be a list, not nothing",
    ];
    assert_eq!(messages(&producer("{defaultReplicas: null, behaviors: null}")), expected);
}

#[test]
fn a_nonsensical_status_is_ignored() {
    let text = cron_for_workload("  - {name: up, schedule: '0 0 * * *', targetReplicas: 1}\n")
        + "status: {executionHistories: [1, 2], conditions: none}\n";
    assert_eq!(messages(&text), Vec::<String>::new());
    assert_eq!(&*rule_of(&text).name, "up");
}

#[test]
fn odd_scalars_mean_the_same_as_to_kubectl() {
    let written = |replicas: &str| {
        cron_for_workload(&format!(
            "  - {{name: up, schedule: '0 0 * * *', targetReplicas: {replicas}}}\n"
        ))
    };
    for (replicas, meaning) in
        [("010", 8), ("0x1F", 31), ("1e3", 1000), ("1_000", 1000), ("3.0", 3)]
    {
        assert_eq!(
            rule_of(&written(replicas)).desired,
            DesiredScale::Replicas(meaning),
            "{replicas}"
        );
    }
    for replicas in ["yes", "12:30", "3.5", "2026-01-01"] {
        fails_like(&written(replicas), "wrong-type");
    }
    let merged = "x: &common {schedule: '0 0 * * *', targetReplicas: 1}\n".to_owned()
        + &cron_for_workload("  - {<<: *common, name: up, targetReplicas: 2}\n");
    assert_eq!(messages(&merged), ["unknown-field x: Unknown field: no such field here"]);
}

#[test]
fn lists_of_objects_are_expanded_and_other_kinds_are_counted() {
    let text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}\n\
                - {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n";
    let (reading, checked, findings) = check(text);
    assert_eq!((checked.len(), findings.len()), (1, 0));
    assert_eq!(reading.skipped.objects, 2);
}
