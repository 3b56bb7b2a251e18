//! Patches after which a status is exactly what was meant.

use std::collections::BTreeSet;

use almanac_api::objects::{CronFederatedHPAStatus, MetricsProducerStatus, custom_resources};
use almanac_api::status::{Status, metrics_producer, replacing_patch};
use almanac_engine::cron_scaling::{Ending, Memory};
use almanac_engine::scheduled_capacity::Published;
use serde_json::{Value, json};

use crate::support::{done, executed, now, remembered, shop};

/// A JSON merge patch, as RFC 7386 defines it.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in fields {
        if value.is_null() {
            target.as_object_mut().expect("a map").remove(name);
        } else {
            merge(&mut target[name], value);
        }
    }
}

fn patched<S: Status>(previous: &Value, status: &S) -> Value {
    let mut object = json!({ "spec": { "kept": true }, "status": previous });
    merge(&mut object, &replacing_patch(status).expect("a status is JSON"));
    assert_eq!(object["spec"], json!({ "kept": true }));
    object["status"].clone()
}

fn fields_of<S: Status>(kind: &str) {
    let resources = custom_resources();
    let resource = resources.iter().find(|it| it.kind() == kind).expect("one of ours");
    let names = |schema: &Value| -> BTreeSet<String> {
        schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
            .collect()
    };
    let own =
        |list: &[&str]| -> BTreeSet<String> { list.iter().map(|it| (*it).to_owned()).collect() };
    let schema = &resource.schema()["properties"]["status"];
    let outer: Vec<&str> = S::FIELDS.iter().map(|(name, _)| *name).collect();
    assert_eq!(own(&outer), names(schema), "{kind}");
    for (name, inner) in S::FIELDS {
        assert_eq!(own(inner), names(&schema["properties"][*name]), "{kind} {name}");
    }
}

#[test]
fn the_fields_that_are_replaced_are_those_of_the_definitions() {
    fields_of::<CronFederatedHPAStatus>("CronFederatedHPA");
    fields_of::<MetricsProducerStatus>("MetricsProducer");
}

#[test]
fn nothing_old_stays_of_a_schedule_s_status() {
    let full = json!({
        "observedGeneration": 1, "conditions": [{ "type": "Active" }],
        "scheduledCapacity": {
            "currentValue": 9, "nextValue": 8, "nextValueTime": "2026-01-05T17:00:00Z",
            "behaviorIndex": 2
        },
    });
    let published = Published { value: 3, winner: None, next: None };
    let status = metrics_producer::write(Some(&published), Vec::new(), None);
    assert_eq!(patched(&full, &status), json!({ "scheduledCapacity": { "currentValue": 3 } }));
    assert_eq!(patched(&full, &MetricsProducerStatus::default()), json!({}));
    assert_eq!(
        patched(&Value::Null, &status),
        json!({ "scheduledCapacity": { "currentValue": 3 } })
    );
    assert_eq!(
        replacing_patch(&MetricsProducerStatus::default()).expect("JSON"),
        json!({ "status": {
            "observedGeneration": null, "scheduledCapacity": null, "conditions": null
        }})
    );
}

#[test]
fn nothing_old_stays_of_the_status_of_cron_rules() {
    let shop = shop();
    let missed = executed("2026-01-05T09:00:00Z", "2026-01-05T09:07:00Z", Ending::Missed);
    let full =
        Memory { rules: vec![remembered(&shop, 0, &[missed, done("2026-01-04T09:00:00Z", 5)])] };
    let write = |memory: &Memory| {
        almanac_api::status::cron_federated_hpa::write(&shop, memory, now(), Vec::new(), Some(1))
    };
    let (full, bare) = (write(&full), write(&Memory::default()));
    let as_json = |status: &CronFederatedHPAStatus| serde_json::to_value(status).expect("JSON");
    for (previous, next) in [(&full, &bare), (&bare, &full), (&full, &full)] {
        assert_eq!(patched(&as_json(previous), next), as_json(next));
    }
    let empty = CronFederatedHPAStatus::default();
    assert_eq!(patched(&as_json(&full), &empty), json!({}));
}

#[test]
fn no_null_stands_inside_a_list() {
    fn nulls_in_lists(value: &Value, in_list: bool) -> bool {
        match value {
            Value::Null => in_list,
            Value::Array(items) => items.iter().any(|item| nulls_in_lists(item, true)),
            Value::Object(fields) => fields.values().any(|field| nulls_in_lists(field, in_list)),
            _ => false,
        }
    }
    let memory = Memory { rules: vec![remembered(&shop(), 0, &[done("2026-01-04T09:00:00Z", 5)])] };
    let status =
        almanac_api::status::cron_federated_hpa::write(&shop(), &memory, now(), Vec::new(), None);
    let patch = replacing_patch(&status).expect("JSON");
    assert!(!nulls_in_lists(&patch, false), "{patch:#}");
}
