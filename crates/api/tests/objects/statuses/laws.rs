//! Properties of any policy state, any status and any JSON in place of a status.

use std::sync::LazyLock;

use almanac_api::objects::CronFederatedHPAStatus;
use almanac_api::status::conditions::{ConditionReason, ConditionState, ConditionType, conditions};
use almanac_api::status::cron_federated_hpa::{
    read, read_without_policy, write, write_without_policy,
};
use almanac_api::status::metrics_producer;
use almanac_engine::cron_scaling::{
    Applied, CronScaling, Execution, FiringOutcome, Memory, RuleMemory, next_firing, settle,
};
use almanac_engine::{Fingerprint, Outcome};
use jiff::{SignedDuration, Timestamp};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

use crate::statuses::support::{
    against_schema, as_json, at, decided, decision, now, policy, shop, status_of, with_entries,
};
use crate::written::cron_for_autoscaler;

/// Rules for an autoscaler: the lower bound, the upper bound, and both.
fn bounds() -> CronScaling {
    static CHECKED: LazyLock<CronScaling> = LazyLock::new(|| {
        policy(&cron_for_autoscaler(
            "  - {name: up, schedule: '0 9 * * *', targetMinReplicas: 3}\n  \
             - {name: down, schedule: '*/7 * * * *', targetMaxReplicas: 3, successfulHistoryLimit: 32}\n  \
             - {name: lunch, schedule: '0 12 * * *', targetMinReplicas: 1, targetMaxReplicas: 3}\n",
        ))
    });
    CHECKED.clone()
}

fn policies() -> impl Strategy<Value = CronScaling> {
    prop_oneof![Just(shop()), Just(bounds())]
}

/// Between 1970 and 2169, to the nanosecond.
fn instants() -> impl Strategy<Value = Timestamp> {
    (0_i64..6_300_000_000, 0_i32..1_000_000_000)
        .prop_map(|(second, fraction)| Timestamp::new(second, fraction).expect("in range"))
}

fn endings() -> impl Strategy<Value = FiringOutcome> {
    let bound = || option::of(1_u32..5);
    prop_oneof![
        (0_u32..=2_147_483_647)
            .prop_map(|replicas| FiringOutcome::Done(Applied::Replicas(replicas))),
        (bound(), bound(), any::<bool>())
            .prop_map(|(min, max, moved)| FiringOutcome::Done(Applied::bounds(min, max, moved))),
        (0_u32..5, ".*")
            .prop_map(|(attempts, text)| FiringOutcome::Failed { attempts, message: text.into() }),
        (1_u32..5, 4_000_usize..4_200).prop_map(|(attempts, length)| FiringOutcome::Failed {
            attempts,
            message: "ü".repeat(length).into()
        }),
        Just(FiringOutcome::Missed),
        Just(FiringOutcome::Stopped),
        ".*".prop_map(|by| FiringOutcome::Superseded { by: by.into() }),
    ]
}

fn executions() -> impl Strategy<Value = Vec<Execution>> {
    let later = -3_000_000_000_i64..400_000_000_000_000;
    let one = (instants(), later, endings()).prop_map(|(scheduled, later, ending)| {
        let executed = scheduled.saturating_add(SignedDuration::from_nanos(later));
        let executed = executed.expect("in range").max(Timestamp::UNIX_EPOCH);
        Execution::new(scheduled, executed, ending)
    });
    vec(one, 0..80)
}

/// The policy state of any rules, including unknown and repeated rules.
fn memories() -> impl Strategy<Value = Memory> {
    let names = select(vec!["up", "down", "lunch", "broken", "gone", ""]);
    let handled = prop_oneof![instants(), Just(Timestamp::UNIX_EPOCH), Just(Timestamp::MIN)];
    let fingerprints = prop_oneof![
        Just(Fingerprint::empty()),
        any::<u64>().prop_map(|text| Fingerprint::from_parts([&*text.to_string()]))
    ];
    let rule = (names, fingerprints, handled, executions());
    let rule = rule.prop_map(|(name, fingerprint, handled, list)| RuleMemory {
        name: name.into(),
        fingerprint,
        handled,
        pending: None,
        undone: None,
        assumed: None,
        executions: list.into(),
    });
    vec(rule, 0..6).prop_map(|rules| Memory { rules })
}

/// JSON that resembles a status in some parts only.
fn anything() -> impl Strategy<Value = Value> {
    let words = select(vec![
        "up",
        "down",
        "broken",
        "Active",
        "True",
        "2026-01-05T09:00:00Z",
        "0123456789abcdef",
        "",
        "9999-12-30T22:00:00Z",
        "2026-01-05",
        "-009999-01-02T01:59:59Z",
        "1969-01-01T00:00:00Z",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0_i64..10).prop_map(Value::from),
        words.prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    let keys = || {
        select(vec![
            "executionHistories",
            "ruleName",
            "fingerprint",
            "lastHandledTime",
            "nextExecutionTime",
            "successfulExecutions",
            "failedExecutions",
            "scheduleTime",
            "executionTime",
            "appliedReplicas",
            "appliedMinReplicas",
            "appliedMaxReplicas",
            "message",
            "conditions",
            "type",
            "status",
            "lastTransitionTime",
            "scheduledCapacity",
            "currentValue",
            "nextValue",
            "nextValueTime",
            "behaviorIndex",
        ])
    };
    leaf.prop_recursive(6, 200, 12, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((keys(), inner), 0..12).prop_map(|fields| {
                fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            }),
        ]
    })
}

/// A status that is mangled at a few places, at any depth.
fn nearly_statuses() -> impl Strategy<Value = Value> {
    let change = (any::<Index>(), any::<Index>(), 1..7, anything());
    (memories(), policies(), vec(change, 0..6)).prop_map(|(memory, policy, changes)| {
        let mut status = status_of(&policy, &memory);
        for (item, field, depth, value) in changes {
            *somewhere_in(&mut status, item, field, depth) = value;
        }
        status
    })
}

/// Walks down into a value along a random path.
fn somewhere_in(value: &mut Value, item: Index, field: Index, depth: i32) -> &mut Value {
    let (items, fields) =
        (value.as_array().map_or(0, Vec::len), value.as_object().map_or(0, Map::len));
    if depth == 0 || items + fields == 0 {
        return value;
    }
    let inner = match value {
        Value::Array(list) => &mut list[item.index(items)],
        Value::Object(map) => map.values_mut().nth(field.index(fields)).expect("inside"),
        _ => return value,
    };
    somewhere_in(inner, item, field, depth - 1)
}

fn written(policy: &CronScaling, memory: &Memory) -> Value {
    as_json(&write(policy, memory, now(), Vec::new(), None))
}

proptest! {
    #[test]
    fn reading_and_writing_a_status_is_byte_for_byte_lossless(
        policy in policies(), memory in memories(),
    ) {
        let first = written(&policy, &memory);
        let read_back = read(&policy, &first).expect("a status exists");
        prop_assert_eq!(&written(&policy, &read_back), &first);
        prop_assert_eq!(read(&policy, &first), Some(read_back));
    }

    #[test]
    fn the_status_of_an_invalid_policy_round_trips_byte_for_byte(memory in memories()) {
        let first = as_json(&write_without_policy(&memory, Vec::new(), None));
        let read_back = read_without_policy(&first).expect("a status exists");
        prop_assert_eq!(as_json(&write_without_policy(&read_back, Vec::new(), None)), first);
    }

    #[test]
    fn a_well_formed_status_is_read_like_the_typed_one(
        policy in policies(), memory in memories(),
    ) {
        let status = write(&policy, &memory, now(), Vec::new(), None);
        let typed: CronFederatedHPAStatus =
            serde_json::from_value(as_json(&status)).expect("a status reads back");
        prop_assert_eq!(&typed, &status);
        let read_back = read(&policy, &as_json(&status)).expect("a status exists");
        for entry in &typed.execution_histories {
            let known = read_back.rules.iter().find(|rule| *rule.name == *entry.rule_name);
            let known = known.expect("every entry is read").executions.len();
            let entries = entry.successful_executions.len() + entry.failed_executions.len();
            prop_assert_eq!(known, entries);
        }
    }

    #[test]
    fn the_status_is_the_same_at_any_instant_between_two_firings(
        policy in policies(), memory in memories(), later in 0_i64..100_000_000_000_000,
    ) {
        let later = now() + SignedDuration::from_nanos(later);
        let next = policy.rules.iter().filter_map(|rule| rule.firings.next(now())).min();
        let later = later.min(next.expect("rules fire") - SignedDuration::from_nanos(1));
        let at_once = write(&policy, &memory, now(), Vec::new(), None);
        prop_assert_eq!(write(&policy, &memory, later, Vec::new(), None), at_once);
    }

    #[test]
    fn any_value_is_read_as_a_status_and_a_valid_one_is_written_back(
        status in prop_oneof![anything(), nearly_statuses()], policy in policies(),
    ) {
        let memory = read(&policy, &status);
        prop_assert_eq!(memory.is_none(), status.is_null());
        let memory = memory.unwrap_or_default();
        for rule in &memory.rules {
            prop_assert!(rule.executions.len() <= 64);
        }
        let first = written(&policy, &memory);
        let read_back = read(&policy, &first).expect("a status exists");
        prop_assert_eq!(written(&policy, &read_back), first);
        as_json(&write_without_policy(
            &read_without_policy(&status).unwrap_or_default(),
            Vec::new(),
            None,
        ));
        let published = metrics_producer::read(&status);
        let producer = metrics_producer::write(published.as_ref(), Vec::new(), None);
        let producer = serde_json::to_value(producer).expect("a status is JSON");
        prop_assert_eq!(against_schema("MetricsProducer", &producer), Vec::<String>::new());
        let state = ConditionState {
            about: ConditionType::Active,
            holds: true,
            reason: ConditionReason::Armed,
            message: String::new(),
        };
        prop_assert_eq!(conditions(&status, &[state], None, now()).len(), 1);
    }

    #[test]
    fn a_mangled_entry_does_not_affect_other_rules(
        executions in executions(), mangled in anything(), place in any::<Index>(),
    ) {
        let names_one_of_these = ["up", "down"].map(Value::from).contains(&mangled["ruleName"]);
        prop_assume!(!names_one_of_these);
        let handled = at("2026-01-05T09:30:00Z");
        let memory = |index: usize| {
            let memory = RuleMemory::beginning(&shop().rules[index], handled);
            memory.with_executions(executions.iter().cloned())
        };
        let status = status_of(&shop(), &Memory { rules: vec![memory(0), memory(1)] });
        let entries = status["executionHistories"].as_array().expect("entries");
        let whole = with_entries(&entries[..2]);
        let mut entries = entries[..2].to_vec();
        entries.insert(place.index(3), mangled);
        let without = read(&shop(), &whole).expect("a status exists");
        let mut with = read(&shop(), &with_entries(&entries)).expect("a status exists");
        with.rules.retain(|rule| ["up", "down"].contains(&&*rule.name));
        prop_assert_eq!(with, without);
    }

    #[test]
    fn a_mangled_execution_does_not_affect_others(
        executions in executions(), mangled in anything(), place in any::<Index>(),
    ) {
        let is_one = !mangled["scheduleTime"].is_null();
        prop_assume!(!is_one);
        let rule = &shop().rules[0];
        let memory = RuleMemory::beginning(rule, now()).with_executions(executions);
        let mut status = status_of(&shop(), &Memory { rules: vec![memory] });
        let whole = read(&shop(), &status);
        for list in ["successfulExecutions", "failedExecutions"] {
            let list = &mut status["executionHistories"][0][list];
            let mut executions = list.as_array().cloned().unwrap_or_default();
            executions.insert(place.index(executions.len() + 1), mangled.clone());
            *list = json!(executions);
        }
        prop_assert_eq!(read(&shop(), &status), whole);
    }

    #[test]
    fn a_restart_from_the_status_does_not_change_decisions(
        steps in vec(1_i64..40_000_000_000_000, 1..12),
    ) {
        let policy = shop();
        let mut now = now();
        let (_, mut memory) = decided(&policy, Some(&Memory::default()), now);
        for step in steps {
            now += SignedDuration::from_nanos(step);
            let status = status_of(&policy, &memory);
            let from_status = read(&policy, &status).expect("a status exists");
            let (wanted, next) = decided(&policy, Some(&memory), now);
            let (restarted, next_restarted) = decided(&policy, Some(&from_status), now);
            prop_assert_eq!(restarted, wanted);
            prop_assert_eq!(status_of(&policy, &next_restarted), status_of(&policy, &next));
            let next_firings = |memory: &Memory| {
                let rules = policy.rules.iter().zip(&memory.rules);
                rules.map(|(rule, memory)| next_firing(rule, memory, now)).collect::<Vec<_>>()
            };
            prop_assert_eq!(next_firings(&next_restarted), next_firings(&next));
            // No test applies the decision, so the decision is assumed to be applied.
            let decision = decision(&policy, Some(&memory), now);
            memory = settle(&policy, decision, &[Outcome::Done], now).memory;
        }
    }
}
