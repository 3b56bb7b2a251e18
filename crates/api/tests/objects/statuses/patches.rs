//! Patches after which a status is exactly as intended.

use std::collections::BTreeSet;

use almanac_api::definitions::custom_resources;
use almanac_api::objects::CronFederatedHPAStatus;
use almanac_api::status::replacing_patch;
use almanac_engine::cron_scaling::{FiringOutcome, Memory};
use serde_json::{Value, json};

use crate::statuses::support::{executed, executed_at, now, rule_memory, shop};

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

fn patched(previous: &Value, status: &CronFederatedHPAStatus) -> Value {
    let mut patched = previous.clone();
    merge(&mut patched, &replacing_patch(status).expect("a status is JSON"));
    patched
}

#[test]
fn the_patch_replaces_exactly_the_fields_of_the_crd() {
    let resources = custom_resources();
    let resource = resources.iter().find(|it| it.kind() == "CronFederatedHPA").expect("ours");
    let names = |fields: &Value| -> BTreeSet<String> {
        fields.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    let replaced = replacing_patch(&CronFederatedHPAStatus::default()).expect("JSON");
    let schema = &resource.schema()["properties"]["status"]["properties"];
    assert_eq!(names(&replaced), names(schema));
}

#[test]
fn no_old_field_survives_the_patch() {
    let shop = shop();
    let missed = executed("2026-01-05T09:00:00Z", "2026-01-05T09:07:00Z", FiringOutcome::Missed);
    let full = Memory {
        rules: vec![rule_memory(&shop, 0, &[missed, executed_at("2026-01-04T09:00:00Z", 5)])],
    };
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
fn no_list_contains_a_null() {
    fn nulls_in_lists(value: &Value, in_list: bool) -> bool {
        match value {
            Value::Null => in_list,
            Value::Array(items) => items.iter().any(|item| nulls_in_lists(item, true)),
            Value::Object(fields) => fields.values().any(|field| nulls_in_lists(field, in_list)),
            _ => false,
        }
    }
    let memory =
        Memory { rules: vec![rule_memory(&shop(), 0, &[executed_at("2026-01-04T09:00:00Z", 5)])] };
    let status =
        almanac_api::status::cron_federated_hpa::write(&shop(), &memory, now(), Vec::new(), None);
    let patch = replacing_patch(&status).expect("JSON");
    assert!(!nulls_in_lists(&patch, false), "{patch:#}");
}
