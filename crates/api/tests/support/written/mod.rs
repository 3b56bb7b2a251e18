//! Functions for all tests of reading and checking, from a text to its findings.

#![allow(dead_code, reason = "each test file uses its part of these")]

use almanac_api::checking::{
    self, CheckContext, CheckedObject, Layout, check_everything, check_json,
};
use almanac_api::finding::Code;
use almanac_api::reading::{PlacedFinding, Reading, Source, read_objects};
use almanac_engine::Slim;
use almanac_engine::cron_scaling::CronScaling;
use almanac_engine::scheduled_capacity::ScheduledCapacity;
use jiff::Timestamp;

/// The current time of these tests.
pub(crate) fn now() -> Timestamp {
    // 2026-01-05T00:00:00Z, a Monday.
    Timestamp::constant(1_767_571_200, 0)
}

/// Reads and checks one text.
pub(crate) fn check(text: &str) -> (Reading, Vec<CheckedObject>, Vec<PlacedFinding>) {
    let mut reading = Reading::default();
    read_objects(&mut reading, Source::new("test.yaml", text));
    let context = CheckContext::new("default", now());
    assert_same_from_an_api_server(&reading, context);
    let everything = check_everything(&reading, context, &Layout::default());
    (reading, everything.objects, everything.findings)
}

/// Checks that an object has the same result from a file and from an API server. Objects with unknown fields are
/// skipped.
fn assert_same_from_an_api_server(reading: &Reading, context: CheckContext<'_>) {
    for object in &reading.objects {
        let as_json = object.node.to_json();
        let from_file = checking::check(object, context);
        if from_file.findings.iter().any(|finding| finding.code == Code::UnknownField) {
            continue;
        }
        let from_server = check_json(object.kind, as_json.clone(), context);
        assert_eq!(format!("{from_file:#?}"), format!("{from_server:#?}"), "{as_json:#}");
    }
}

/// The only object of a text, checked.
pub(crate) fn check_one(text: &str) -> CheckedObject {
    let (_, mut checked, findings) = check(text);
    assert_eq!(checked.len(), 1, "{text}\n{findings:#?}");
    checked.remove(0)
}

/// The usable cron rules of an object; `None` for an unusable object.
pub(crate) fn cron_rules_of(object: &CheckedObject) -> Option<&CronScaling> {
    match object.slim.as_ref()? {
        Slim::CronScaling(object) => object.policy.as_deref(),
        _ => None,
    }
}

/// The schedule of an object; `None` for an unusable object.
pub(crate) fn schedule_of(object: &CheckedObject) -> Option<&ScheduledCapacity> {
    match object.slim.as_ref()? {
        Slim::ScheduledCapacity(object) => object.policy.as_deref(),
        _ => None,
    }
}

/// Whether any part of an object is usable.
pub(crate) fn is_usable(object: &CheckedObject) -> bool {
    match &object.slim {
        Some(Slim::CronScaling(object)) => object.policy.is_some(),
        Some(Slim::ScheduledCapacity(object)) => object.policy.is_some(),
        Some(Slim::MetricScaling(object)) => object.policy.is_some(),
        Some(Slim::QosLevels(object)) => object.policy.is_some(),
        Some(Slim::Placement(object)) => object.policy.is_some(),
        Some(Slim::Units(object)) => object.policy.is_some(),
        Some(
            Slim::Hub(_)
            | Slim::UnitObject(_)
            | Slim::Autoscaler(_)
            | Slim::Workload(_)
            | Slim::Pod(_)
            | Slim::Node(_),
        ) => true,
        None => object.scales.is_some(),
    }
}

/// Every finding as one line: `line:column code field: message`.
pub(crate) fn findings(text: &str) -> Vec<String> {
    let (reading, _, findings) = check(text);
    findings
        .iter()
        .map(|placed| {
            let place = placed.span.map_or("-".to_owned(), |span| {
                let position = reading.sources[placed.source].position(span.start);
                format!("{}:{}", position.line, position.column)
            });
            format!("{place} {} {}", placed.finding.code, placed.finding)
        })
        .collect()
}

/// Every finding as one line, without its location.
pub(crate) fn messages(text: &str) -> Vec<String> {
    let (_, _, findings) = check(text);
    findings.iter().map(|placed| format!("{} {}", placed.finding.code, placed.finding)).collect()
}

/// Expects a text without findings.
#[track_caller]
pub(crate) fn passes(text: &str) {
    fails(text, &[]);
}

/// Expects these findings, without their locations.
#[track_caller]
pub(crate) fn fails(text: &str, expected: &[&str]) {
    assert_eq!(messages(text), expected, "{text}");
}

/// Expects this one finding, without its location.
#[track_caller]
pub(crate) fn fails_only(text: &str, expected: &str) {
    fails(text, &[expected]);
}

/// Expects a single finding that starts with this text, without its location.
#[track_caller]
pub(crate) fn fails_like(text: &str, beginning: &str) {
    let message = only_message(text);
    assert!(message.starts_with(beginning), "{message} does not begin with {beginning}");
}

/// The one finding of a text, without its location.
#[track_caller]
pub(crate) fn only_message(text: &str) -> String {
    let messages = messages(text);
    assert_eq!(messages.len(), 1, "{text}\n{messages:#?}");
    messages[0].clone()
}

/// A `CronFederatedHPA` for a Deployment with the given rules, indented by four.
pub(crate) fn cron_for_workload(rules: &str) -> String {
    cron_for("{apiVersion: apps/v1, kind: Deployment, name: shop}", rules)
}

/// A `CronFederatedHPA` for a `FederatedHPA` with the given rules.
pub(crate) fn cron_for_autoscaler(rules: &str) -> String {
    let reference = "{apiVersion: autoscaling.karmada.io/v1alpha1, kind: FederatedHPA, name: shop}";
    cron_for(reference, rules)
}

/// A `CronFederatedHPA` with any target reference and the given rules.
pub(crate) fn cron_for(reference: &str, rules: &str) -> String {
    format!(
        "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\nmetadata:\n  \
         name: shop\nspec:\n  scaleTargetRef: {reference}\n  rules:\n{rules}"
    )
}

/// A `MetricsProducer` with the given schedule in flow form.
pub(crate) fn producer(schedule: &str) -> String {
    format!(
        "apiVersion: autoscaling.karpenter.sh/v1alpha1\nkind: MetricsProducer\nmetadata:\n  \
         name: night\nspec:\n  schedule: {schedule}\n"
    )
}

/// A `HorizontalAutoscaler` with the given fields of its spec in addition to the target, in flow form.
pub(crate) fn autoscaler(fields: &str) -> String {
    format!(
        "apiVersion: autoscaling.karpenter.sh/v1alpha1\nkind: HorizontalAutoscaler\nmetadata:\n  \
         name: shop\nspec: {{scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: shop}}, \
         {fields}}}\n"
    )
}

/// A `ConfigMap` of the agent with this document, written as a block.
pub(crate) fn levels_config(document: &str) -> String {
    let lines: Vec<String> = document.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: volcano-agent-config}}\ndata:\n  \
         config.yaml: |\n{}",
        lines.concat()
    )
}
