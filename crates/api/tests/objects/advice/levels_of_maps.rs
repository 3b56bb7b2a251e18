//! The advice about a field that belongs to another map of the object, which may already contain the field.

use super::{advised, rule, units};
use crate::written::{autoscaler, check, cron_for_workload, producer};

#[test]
fn a_field_that_is_also_in_the_right_map_is_kept_once() {
    let times = "start: {hours: 9, timezone: UTC}, end: {hours: 5}";
    let schedule = producer(&format!(
        "{{timezone: UTC, defaultReplicas: 1, behaviors: [{{replicas: 3, defaultReplicas: 2, {times}}}]}}"
    ));
    let twice = "keep only one of the two: spec.schedule has";
    let behavior = "spec.schedule.behaviors[0]";
    advised(
        &schedule,
        &format!("{behavior}.defaultReplicas"),
        &format!("{twice} defaultReplicas, too"),
    );
    advised(&schedule, &format!("{behavior}.start.timezone"), &format!("{twice} timezone, too"));
    let reference = "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}";
    advised(
        &rule(&format!("targetReplicas: 3, {reference}")),
        "spec.rules[0].scaleTargetRef",
        "keep only one of the two: spec has scaleTargetRef, too",
    );
    let below = schedule + "  timezone: Europe/Berlin\n";
    advised(&below, "spec.timezone", "keep only one of the two: schedule has timezone, too");
    let of_rules = rule("targetReplicas: 3").replace("  rules:", "  targetReplicas: 2\n  rules:");
    advised(
        &of_rules,
        "spec.targetReplicas",
        "keep only one of the two: each of rules has targetReplicas, too",
    );
}

#[test]
fn a_field_of_an_outer_map_is_not_a_label_and_narrows_nothing() {
    let fields = "podSelector: {strategy: prefer}\n  \
                  units: [{name: x, nodeSelector: {priority: 3, name: gold}}]";
    let text = units(fields).replace("  strategy: required\n", "");
    advised(&text, "spec.podSelector.strategy", "move it into spec, where it belongs");
    let unit = "spec.units[0]";
    advised(
        &text,
        &format!("{unit}.nodeSelector.priority"),
        "move it into spec.units[0], where it belongs",
    );
    let label = "put it under matchLabels, as in matchLabels: {name: gold}";
    advised(&text, &format!("{unit}.nodeSelector.name"), label);
    // A field that narrows a selection must not be removed because another map has that field.
    let both = units("podSelector: {}\n  units: [{name: x, podSelector: {}, nodeSelector: {}}]");
    let carefully = "remove it only if the wider selection is intended";
    advised(&both, &format!("{unit}.podSelector"), carefully);
    let policies = "[{type: Count, value: 3, periodSeconds: 60, selectPolicy: Max}]";
    let text = autoscaler(&format!(
        "minReplicas: 1, maxReplicas: 3, behavior: {{scaleUp: {{policies: {policies}}}}}"
    ));
    advised(
        &text,
        "spec.behavior.scaleUp.policies[0].selectPolicy",
        "move it into spec.behavior.scaleUp, where it belongs",
    );
}

#[test]
fn the_fix_moves_a_field_of_another_level_there() {
    let of_rule = |field: &str| rule(&format!("targetReplicas: 3, {field}"));
    let in_spec = |field: &str| {
        of_rule("suspend: false").replace("  rules:", &format!("  {field}\n  rules:"))
    };
    let schedule = |schedule: &str, start: &str| {
        let start = format!("start: {{hours: 9, {start}}}, end: {{hours: 5}}");
        producer(&format!(
            "{{defaultReplicas: 1, behaviors: [{{replicas: 3, {schedule}, {start}}}]}}"
        ))
    };
    let metric =
        "{minReplicas: 1, prometheus: {query: a, target: {type: Value, value: 1, query: b}}}";
    let autoscaler = autoscaler(&format!("minReplicas: 1, maxReplicas: 3, metrics: [{metric}]"));
    let reference = "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}";
    let without_reference = |rule: &str| {
        let text = of_rule(rule);
        text.replace("  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}\n", "")
    };
    let in_spec_alone = |field: &str| {
        let rules = "  - {name: up, schedule: '0 8 * * *', targetReplicas: 1}\n  - {name: down}\n";
        cron_for_workload(rules).replace("  rules:", &format!("  {field}\n  rules:"))
    };
    for (text, field, fix) in [
        (
            without_reference(reference),
            "spec.rules[0].scaleTargetRef",
            "move it into spec, where it belongs",
        ),
        (
            without_reference("ScaleTargetRef: {}"),
            "spec.rules[0].ScaleTargetRef",
            "move it into spec, where it belongs, as scaleTargetRef",
        ),
        (in_spec("timeZone: Etc/UTC"), "spec.timeZone", "move it into each of rules"),
        (
            in_spec_alone("targetReplicas: 3"),
            "spec.targetReplicas",
            "move it into each of rules without targetReplicas",
        ),
        (in_spec_alone("suspend: true"), "spec.suspend", "move it into each of rules"),
        (in_spec("enabled: false"), "spec.enabled", "write suspend: true in each of rules instead"),
        (
            schedule("timeZone: Europe/Berlin", "days: 1"),
            "spec.schedule.behaviors[0].timeZone",
            "move it into spec.schedule, where it belongs, as timezone",
        ),
        (
            schedule("priority: 1", "replicas: 4").replace("replicas: 3, ", ""),
            "spec.schedule.behaviors[0].start.replicas",
            "move it into spec.schedule.behaviors[0], where it belongs",
        ),
        (
            autoscaler.replace("minReplicas: 1, maxReplicas", "maxReplicas"),
            "spec.metrics[0].minReplicas",
            "move it into spec, where it belongs",
        ),
        (
            autoscaler.replace("query: a, ", ""),
            "spec.metrics[0].prometheus.target.query",
            "move it into spec.metrics[0].prometheus, where it belongs",
        ),
        (
            producer("{defaultReplicas: 1, behaviors: []}") + "  timeZone: Europe/Berlin\n",
            "spec.timeZone",
            "move it into schedule, as timezone",
        ),
    ] {
        advised(&text, field, fix);
    }
}

#[test]
fn the_kind_of_an_object_is_not_that_of_a_target() {
    let (_, _, findings) = check(&rule("targetReplicas: 3, kind: Deployment"));
    let fix = findings[0].clone().finding.with_some_fix().fix;
    assert_eq!(fix.as_deref(), Some("remove it"));
}
