//! The status of a schedule, and the state that is read back.

use almanac_api::finding::Finding;
use almanac_api::status::metrics_producer::{condition_states, read, write};
use almanac_engine::scheduled_capacity::{Change, PublishedNumber};
use serde_json::{Value, json};

use crate::statuses::support::{against_schema, at};
use crate::written::{check, producer};

fn findings(text: &str) -> Vec<Finding> {
    check(text).1.into_iter().flat_map(|object| object.findings).collect()
}

fn condition_lines(text: &str) -> Vec<String> {
    let condition_states = condition_states(&findings(text));
    let line = |it: &almanac_api::status::conditions::ConditionState| {
        format!("{}={} {}: {}", it.about.name(), it.holds, it.reason.name(), it.message)
    };
    condition_states.iter().map(line).collect()
}

#[test]
fn a_published_value_is_written_and_reads_back() {
    let whole = PublishedNumber {
        value: 3,
        winner: Some(1),
        next: Some(Change { at: at("2026-01-05T17:00:00Z"), value: 2 }),
    };
    let status = serde_json::to_value(write(Some(&whole), Vec::new(), Some(2))).expect("JSON");
    let expected = json!({
        "observedGeneration": 2,
        "scheduledCapacity": {
            "currentValue": 3, "nextValue": 2, "nextValueTime": "2026-01-05T17:00:00Z",
            "behaviorIndex": 1
        },
    });
    assert_eq!(status, expected);
    assert_eq!(against_schema("MetricsProducer", &status), Vec::<String>::new());
    for published in
        [whole, PublishedNumber { winner: None, ..whole }, PublishedNumber { next: None, ..whole }]
    {
        let status = serde_json::to_value(write(Some(&published), Vec::new(), None)).expect("JSON");
        assert_eq!(read(&status), Some(published));
    }
}

#[test]
fn the_status_has_no_value_while_nothing_is_published() {
    let status = serde_json::to_value(write(None, Vec::new(), None)).expect("JSON");
    assert_eq!((&status, read(&status)), (&json!({}), None));
}

#[test]
fn only_the_mangled_part_is_ignored() {
    let only = |value| Some(PublishedNumber { value, winner: None, next: None });
    for (capacity, published) in [
        (Value::Null, None),
        (json!([3]), None),
        (json!({ "currentValue": -1 }), None),
        (json!({ "currentValue": 2_147_483_648_i64 }), None),
        (json!({ "currentValue": 3, "behaviorIndex": "first" }), only(3)),
        (json!({ "currentValue": 3, "nextValue": 4 }), only(3)),
        (json!({ "currentValue": 3, "nextValue": 4, "nextValueTime": "soon" }), only(3)),
        (
            json!({ "currentValue": 3, "nextValue": 1e99, "nextValueTime": "2026-01-05T17:00:00Z" }),
            only(3),
        ),
    ] {
        assert_eq!(read(&json!({ "scheduledCapacity": capacity })), published, "{capacity}");
    }
}

#[test]
fn a_valid_schedule_is_active_and_an_error_stops_all_of_it() {
    let expected = [
        "Active=true Scheduled: the schedule is published",
        "Ready=true Scheduled: the schedule is published",
    ];
    assert_eq!(condition_lines(&producer("{defaultReplicas: 1, behaviors: []}")), expected);
    let mistaken = condition_lines(&producer("{defaultReplicas: -1, behaviors: []}"));
    let why = "ScheduleInvalid: spec.schedule.defaultReplicas: Invalid value: -1: must be greater than or equal to 0";
    assert_eq!(mistaken, [format!("Active=false {why}"), format!("Ready=false {why}")]);
}

#[test]
fn an_unsupported_source_is_reported() {
    let text = producer("{}").replace("schedule: {}", "queue: {type: x}");
    let why = "Unsupported: spec.queue: Forbidden: only schedules are supported; this object will \
               not become active";
    assert_eq!(
        condition_lines(&text),
        [format!("Active=false {why}"), format!("Ready=false {why}")]
    );
}
