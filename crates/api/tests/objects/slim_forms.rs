//! The slim form of an object for the engine: its policy, the state in its status, its creation time, and its target.
//! For objects that policies act on, their numbers.

#![allow(clippy::panic, reason = "what fails here fails the test")]

use crate::written;
use crate::written::{
    check, check_one, cron_for, cron_for_autoscaler, cron_for_workload, cron_rules_of, now,
    producer,
};
use almanac_api::checking::{CheckContext, CheckedObject, check_json};
use almanac_api::finding::Code;
use almanac_api::kinds::Kind;
use almanac_api::policy_clock::PolicyClock;
use almanac_api::reading::{OtherObject, Reading, Source, read_objects};
use almanac_api::slim;
use almanac_engine::cron_scaling::{CronScaling, Memory};
use almanac_engine::scheduled_capacity::{PublishedNumber, ScheduledCapacity};
use almanac_engine::{Autoscaler, Family, PolicyObject, Slim, Target, Workload};
use jiff::SignedDuration;
use serde_json::{Value, json};

const RULE: &str = "  - {name: up, schedule: '0 9 * * *', targetReplicas: 5}\n";

fn cron_object(object: CheckedObject) -> PolicyObject<CronScaling, Memory> {
    match object.slim {
        Some(Slim::CronScaling(object)) => object,
        other => panic!("{other:?}"),
    }
}

fn schedule_object(object: CheckedObject) -> PolicyObject<ScheduledCapacity, PublishedNumber> {
    match object.slim {
        Some(Slim::ScheduledCapacity(object)) => object,
        other => panic!("{other:?}"),
    }
}

fn codes(checked: &CheckedObject) -> Vec<Code> {
    checked.findings.iter().map(|finding| finding.code).collect()
}

fn as_json(text: &str) -> Value {
    let mut reading = Reading::default();
    read_objects(&mut reading, Source::new("test.yaml", text));
    reading.objects[0].node.to_json()
}

#[test]
fn a_policy_object_has_a_slim_form_even_if_nothing_in_it_is_usable() {
    let history =
        "status: {executionHistories: [{ruleName: up, lastHandledTime: '2026-01-04T09:00:00Z'}]}\n";
    let broken = cron_for_workload(RULE).replace("Deployment", "DaemonSet") + history;
    let checked = check_one(&broken);
    assert_eq!((checked.findings.len(), &checked.scales), (1, &None));
    let object = cron_object(checked);
    assert!(object.policy.is_none());
    let memory = object.memory.expect("a status exists");
    assert_eq!(memory.rules.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["up"]);
    // The object has a slim form with any number of mistakes.
    for text in [
        cron_for_workload(RULE).replace("name: shop\nspec", "name: Shop\nspec"),
        cron_for_workload("    7\n"),
        cron_for_workload(RULE).replace("spec:", "spek:"),
    ] {
        assert!(cron_object(check_one(&text)).policy.is_none(), "{text}");
    }
    for text in [
        producer("{defaultReplicas: -1, behaviors: []}"),
        producer("{}").replace("schedule: {}", "queue: {type: AWSSQSQueue, id: q}"),
        producer("{}").replace("schedule: {}", "scheduel: {}"),
    ] {
        assert!(schedule_object(check_one(&text)).policy.is_none(), "{text}");
    }
    let nameless =
        check_one(&cron_for_workload(RULE).replace("name: shop\nspec", "labels: {}\nspec"));
    assert!(nameless.identity.is_none() && nameless.slim.is_none());
}

#[test]
fn rules_that_cannot_be_used_leave_a_policy_that_keeps_their_histories() {
    let text = cron_for_workload("  - {name: up, schedule: 'at nine', targetReplicas: 5}\n");
    let object = check_one(&text);
    let policy = cron_rules_of(&object).expect("a valid target");
    assert_eq!((policy.rules.len(), policy.unusable_rules.len()), (0, 1));
    assert!(object.scales.is_some());
}

#[test]
fn a_status_is_read_and_a_mangled_one_never_fails_the_object() {
    let with = |status: &str| {
        let checked = check_one(&(cron_for_workload(RULE) + status));
        assert!(checked.findings.is_empty(), "{status}: {:?}", checked.findings);
        cron_object(checked).memory.map(|memory| memory.rules.len())
    };
    assert_eq!(with(""), None);
    assert_eq!(with("status: null\n"), None);
    for empty in ["{}", "gone", "[1, 2]", "{executionHistories: [1, 2], conditions: none}"] {
        assert_eq!(with(&format!("status: {empty}\n")), Some(0), "{empty}");
    }
    assert_eq!(with("status: {executionHistories: [{ruleName: up}, {ruleName: gone}]}\n"), Some(1));

    let text = producer("{defaultReplicas: 1, behaviors: []}");
    let published = |status: &str| schedule_object(check_one(&(text.clone() + status))).memory;
    assert_eq!(published("status: {scheduledCapacity: {currentValue: many}}\n"), None);
    assert_eq!(
        published("status: {scheduledCapacity: {currentValue: 3, behaviorIndex: 0}}\n"),
        Some(PublishedNumber { value: 3, winner: Some(0), next: None })
    );
}

#[test]
fn the_creation_time_counts_until_the_first_edit_and_by_the_policies_clock() {
    let created = |metadata: &str, offset: i64| {
        let text = cron_for_workload(RULE)
            .replace("  name: shop\nspec", &format!("  name: shop\n{metadata}spec"));
        let context = CheckContext {
            clock: PolicyClock::ahead_by(SignedDuration::from_secs(offset)),
            ..CheckContext::new("a", now())
        };
        check(&text);
        let checked = check_json(Kind::CronFederatedHPA, as_json(&text), context);
        cron_object(checked).created.map(|it| it.to_string())
    };
    let at = "  creationTimestamp: '2026-01-04T08:00:00Z'\n";
    let edited = |generation: &str| format!("{at}  generation: {generation}\n");
    assert_eq!(created(at, 0).as_deref(), Some("2026-01-04T08:00:00Z"));
    assert_eq!(created(at, 90).as_deref(), Some("2026-01-04T08:01:30Z"));
    assert_eq!(created(at, -90).as_deref(), Some("2026-01-04T07:58:30Z"));
    for generation in ["0", "1", "null"] {
        assert!(created(&edited(generation), 0).is_some(), "{generation}");
    }
    assert_eq!(created(&edited("2"), 0), None);
    for nothing in ["", "  creationTimestamp: null\n", "  creationTimestamp: yesterday\n"] {
        assert_eq!(created(nothing, 0), None, "{nothing}");
    }
}

#[test]
fn fields_the_api_server_maintains_are_ignored() {
    let mut object = as_json(&cron_for_workload(RULE));
    object["metadata"]["namespace"] = json!("shop");
    let context = CheckContext::new("default", now());
    let plain = check_json(Kind::CronFederatedHPA, object.clone(), context);
    assert_eq!(
        plain.identity,
        Some(Kind::for_family(Family::CronScaling).identity("shop", "shop"))
    );
    object["metadata"]["managedFields"] = json!([{ "manager": "kubectl", "fieldsV1": {} }]);
    object["metadata"]["uid"] = json!("d2f0");
    let managed = check_json(Kind::CronFederatedHPA, object, context);
    assert_eq!(format!("{plain:?}"), format!("{managed:?}"));
    let no_map = [Code::MissingField, Code::WrongType];
    let no_maps = [Code::MissingField, Code::WrongType, Code::WrongType];
    for (none, why) in [
        (Value::Null, &no_map[..]),
        (json!([]), &no_map),
        (json!("x"), &no_map),
        (json!({ "metadata": [], "spec": 3, "data": 3 }), &no_maps),
    ] {
        for kind in Kind::ALL {
            let checked = check_json(*kind, none.clone(), context);
            assert!(checked.slim.is_none(), "{kind:?} {none}");
            let mut codes = codes(&checked);
            codes.sort_unstable();
            // Some kinds have only a status, which may be any value.
            let has_spec = !matches!(kind, Kind::PlacementDecision | Kind::AddOnPlacementScore);
            let why = if has_spec { why } else { &no_map };
            assert_eq!(codes, why, "{kind:?} {none}");
        }
    }
}

#[test]
fn a_target_keeps_the_api_version_of_its_reference() {
    let version = |reference: &str, fields: &str| {
        let rule = format!("  - {{name: up, schedule: '0 9 * * *', {fields}}}\n");
        let object = check_one(&cron_for(reference, &rule));
        cron_rules_of(&object).map(|policy| policy.target_version.to_string())
    };
    for (reference, fields, expected) in [
        ("{apiVersion: apps/v1, kind: Deployment, name: a}", "targetReplicas: 1", "apps/v1"),
        (
            "{apiVersion: example.com/v3, kind: Gadget, name: a}",
            "targetReplicas: 1",
            "example.com/v3",
        ),
        ("{apiVersion: v1, kind: ReplicationController, name: a}", "targetReplicas: 1", "v1"),
        (
            "{apiVersion: autoscaling.karmada.io/v1beta1, kind: FederatedHPA, name: a}",
            "targetMinReplicas: 1",
            "autoscaling.karmada.io/v1beta1",
        ),
        (
            "{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, name: a}",
            "targetMinReplicas: 1",
            "autoscaling/v2",
        ),
    ] {
        assert_eq!(version(reference, fields).as_deref(), Some(expected), "{reference}");
    }
}

#[test]
fn policies_and_autoscalers_both_have_a_target() {
    let shop = Target::Workload(Kind::Deployment.identity("default", "shop"));
    let federated = "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: FederatedHPA\nmetadata: {name: a}\nspec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}}\n";
    let kubernetes = federated
        .replace("autoscaling.karmada.io/v1alpha1", "autoscaling/v2")
        .replace("FederatedHPA", "HorizontalPodAutoscaler");
    for text in [
        &cron_for_workload(RULE),
        &written::autoscaler("minReplicas: 1, maxReplicas: 2"),
        federated,
        &kubernetes,
    ] {
        assert_eq!(check_one(text).scales.as_ref(), Some(&shop), "{text}");
    }
    let bounds =
        cron_for_autoscaler("  - {name: up, schedule: '0 9 * * *', targetMinReplicas: 2}\n");
    let autoscaler = Target::Autoscaler(Kind::FederatedHPA.identity("default", "shop"));
    assert_eq!(check_one(&bounds).scales, Some(autoscaler));
    assert_eq!(check_one(&kubernetes.replace("apps/v1", "app/v1")).scales, None);
    assert_eq!(check_one(&producer("{defaultReplicas: 1, behaviors: []}")).scales, None);
}

#[test]
fn the_slim_form_of_data_is_the_same_with_findings_and_without() {
    for kind in Kind::ALL {
        for spec in [
            json!({ "replicas": 3, "minReplicas": 2, "maxReplicas": 9 }),
            json!({ "replicas": null, "minReplicas": null, "maxReplicas": 9 }),
            json!({ "maxReplicas": 9, "type": "x", "id": "y" }),
            json!({ "maxReplicas": 9, "scaleTargetRef": { "kind": "DaemonSet" } }),
        ] {
            let object = json!({ "metadata": { "name": "a" }, "spec": spec });
            if let Some(expected) = slim::from_object(*kind, &object) {
                let checked = check_json(*kind, object, CheckContext::new("default", now()));
                let found = checked.slim.unwrap_or_else(|| panic!("{:?}", checked.findings));
                assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{kind:?} {spec}");
            }
        }
    }
}

#[test]
fn data_whose_numbers_are_not_in_order_has_no_slim_form() {
    let context = CheckContext::new("default", now());
    let target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "a" });
    for (kind, spec, why) in [
        (Kind::Deployment, json!({ "replicas": "three" }), Code::WrongType),
        (Kind::StatefulSet, json!({ "replicas": -1 }), Code::OutOfRange),
        (Kind::ScalableNodeGroup, json!({ "replicas": 2_147_483_648_i64 }), Code::OutOfRange),
        (Kind::HorizontalPodAutoscaler, json!({ "maxReplicas": 1.5 }), Code::WrongType),
        (
            Kind::FederatedHPA,
            json!({ "minReplicas": 4, "maxReplicas": 3, "scaleTargetRef": target }),
            Code::CrossedBounds,
        ),
        (Kind::FederatedHPA, json!({ "scaleTargetRef": target }), Code::MissingField),
        (Kind::Deployment, json!([]), Code::WrongType),
    ] {
        let object = json!({ "metadata": { "name": "a" }, "spec": spec });
        let checked = check_json(kind, object, context);
        assert!(checked.slim.is_none(), "{kind:?} {spec}");
        assert!(codes(&checked).contains(&why), "{kind:?} {spec}: {:?}", checked.findings);
    }
    let unsaid = check_json(Kind::StatefulSet, json!({ "metadata": { "name": "a" } }), context);
    let one = Workload { replicas: Some(1), ..Workload::default() };
    assert!(matches!(unsaid.slim, Some(Slim::Workload(workload)) if workload == one));
    let bounds = json!({ "metadata": { "name": "a" }, "spec": { "maxReplicas": 4 } });
    let bounds = check_json(Kind::HorizontalPodAutoscaler, bounds, context);
    let expected = Autoscaler { min_replicas: Some(1), max_replicas: Some(4) };
    assert!(matches!(bounds.slim, Some(Slim::Autoscaler(bounds)) if bounds == expected));
}

#[test]
fn objects_of_other_kinds_are_known_by_name_and_replicas() {
    let other = |api_version: &str, kind: &str, rest: &str| {
        format!("---\napiVersion: {api_version}\nkind: {kind}\n{rest}\n")
    };
    let text = other(
        "example.com/v1",
        "Gadget",
        "metadata: {name: a, namespace: shop}\nspec: {replicas: 3}",
    ) + &other(
        "example.com/v1",
        "Gadget",
        "metadata: {name: b, namespace: ''}\nspec: {replicas: many}",
    ) + &other(
        "extensions/v1beta1",
        "Deployment",
        "metadata: {name: c}\nspec: {replicas: -1}",
    ) + &other("v1", "ConfigMap", "metadata: {name: d}\ndata: {}")
        + &other("v1", "Secret", "metadata: {generateName: e-}")
        + &other("v1", "Secret", "metadata: {name: 7}")
        + &other("v1", "Secret", "data: {}")
        + &other("example.com/v1", "Gadget", "metadata: {name: f}\nspec: {replicas: 2147483648}")
        + &other("apps/v1", "Deployment", "metadata: {name: g}");
    let (reading, ..) = check(&text);
    let described = |it: &OtherObject| {
        format!("{} {:?} {}", it.identity("default"), it.replicas, it.api_version)
    };
    let expected = [
        "Gadget.example.com shop/a Some(3) example.com/v1",
        "Gadget.example.com default/b None example.com/v1",
        "Deployment.extensions default/c None extensions/v1beta1",
        "ConfigMap default/d None v1",
        "Gadget.example.com default/f None example.com/v1",
    ];
    assert_eq!(reading.others.iter().map(described).collect::<Vec<_>>(), expected);
    assert_eq!(reading.skipped.objects, 8);
}

#[test]
fn an_unknown_field_from_a_newer_crd_does_not_stop_the_rest() {
    let mut object = as_json(&cron_for_workload(RULE));
    object["spec"]["rules"][0]["jitterSeconds"] = json!(5);
    object["spec"]["calendar"] = json!("working-days");
    let checked = check_json(Kind::CronFederatedHPA, object, CheckContext::new("default", now()));
    assert_eq!(checked.findings, []);
    assert_eq!(cron_object(checked).policy.expect("a usable policy").rules.len(), 1);
}
