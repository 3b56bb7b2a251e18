//! What every test of reading and checking does first: text in, findings out.

#![allow(dead_code, reason = "each test file uses its part of these")]

use almanac_api::checking::{CheckedObject, Setting, check_everything};
use almanac_api::reading::{PlacedFinding, Reading, Source, read_objects};
use jiff::Timestamp;

/// The present of these tests.
pub(crate) fn now() -> Timestamp {
    // 2026-01-05T00:00:00Z, a Monday.
    Timestamp::constant(1_767_571_200, 0)
}

/// Reads and checks one text.
pub(crate) fn check(text: &str) -> (Reading, Vec<CheckedObject>, Vec<PlacedFinding>) {
    let mut reading = Reading::default();
    read_objects(&mut reading, Source::new("test.yaml", text));
    let setting = Setting { namespace: "default", now: now() };
    let (checked, findings) = check_everything(&reading, setting);
    (reading, checked, findings)
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

/// The findings without their places.
pub(crate) fn messages(text: &str) -> Vec<String> {
    let (_, _, findings) = check(text);
    findings.iter().map(|placed| format!("{} {}", placed.finding.code, placed.finding)).collect()
}

/// A `CronFederatedHPA` for a Deployment with the given rules, indented by four.
pub(crate) fn cron_for_workload(rules: &str) -> String {
    cron_for("{apiVersion: apps/v1, kind: Deployment, name: shop}", rules)
}

/// The same for a `FederatedHPA`.
pub(crate) fn cron_for_autoscaler(rules: &str) -> String {
    let reference = "{apiVersion: autoscaling.karmada.io/v1alpha1, kind: FederatedHPA, name: shop}";
    cron_for(reference, rules)
}

/// The same for any reference.
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

/// A `HorizontalAutoscaler` with the given fields of its spec besides the target, in flow form.
pub(crate) fn autoscaler(fields: &str) -> String {
    format!(
        "apiVersion: autoscaling.karpenter.sh/v1alpha1\nkind: HorizontalAutoscaler\nmetadata:\n  \
         name: shop\nspec: {{scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: shop}}, \
         {fields}}}\n"
    )
}
