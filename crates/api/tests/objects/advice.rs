//! The advice on common mistakes. A fix with only one possible meaning is written by `fix_text`.

#![expect(clippy::panic, reason = "what fails here fails the test")]

mod levels_of_maps;
mod words;

use almanac_api::reading::{Source, fix_text};

use crate::written::{check, cron_for_workload, producer};

/// Expects this fix in the finding about a field.
#[track_caller]
fn advised(text: &str, field: &str, fix: &str) {
    let (_, _, findings) = check(text);
    let of_field = findings.iter().find(|it| it.finding.field.to_string() == field);
    let of_field = of_field.unwrap_or_else(|| panic!("nothing about {field}: {findings:#?}"));
    assert_eq!(of_field.finding.fix.as_deref(), Some(fix), "{text}");
}

/// Expects a fix with one possible meaning: after `fix_text`, no finding about the field is left.
#[track_caller]
fn assert_fixed(text: &str, field: &str, fix: &str) {
    advised(text, field, fix);
    let after = fixed_text(text);
    assert_ne!(after, text);
    let (_, _, findings) = check(&after);
    let is_left = findings.iter().any(|it| it.finding.fix.as_deref() == Some(fix));
    assert!(!is_left, "{after}\n{findings:#?}");
}

/// A text after all possible fixes, applied together.
#[track_caller]
fn fixed_text(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..8 {
        let (_, _, findings) = check(&text);
        let Some(fixed) = fix_text(Source::new("test.yaml", &text).text(), &findings) else {
            let left: Vec<_> =
                findings.iter().filter(|it| it.finding.replacement.is_some()).collect();
            assert!(left.is_empty(), "{text}\n{left:#?}");
            return text;
        };
        text = fixed.text;
    }
    panic!("it is never done: {text}")
}

fn rule(fields: &str) -> String {
    cron_for_workload(&format!("  - {{name: up, schedule: '30 8 * * *', {fields}}}\n"))
}

fn units(fields: &str) -> String {
    format!(
        "apiVersion: scheduling.sigs.x-k8s.io/v1alpha1\nkind: ResourcePolicy\nmetadata: {{name: a}}\nspec:\n  \
         strategy: required\n  {fields}\n"
    )
}

fn placement(fields: &str) -> String {
    format!(
        "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {{name: a}}\nspec: \
         {{{fields}}}\n"
    )
}

fn levels(fields: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: volcano-agent-configuration, namespace: volcano-system}}\n\
         data:\n  colocation-config: |\n    globalConfig:\n      timeBasedQoSPolicies:\n      - {{name: a, {fields}}}\n"
    )
}

const OPEN: &str = "startTime: '22:00', endTime: '06:00'";
const PODS: &str = "selector: {matchLabels: {app: web}}";

#[test]
fn labels_next_to_match_labels_are_moved_under_it() {
    let web = "put it under matchLabels, as in matchLabels: {app: web}";
    let unit = "units: [{name: x, nodeSelector: {matchLabels: {pool: x}}}]";
    let text = units(&format!("podSelector: {{app: web}}\n  {unit}"));
    advised(&text, "spec.podSelector.app", web);
    let text = units("podSelector: {}\n  units: [{name: x, nodeSelector: {pool: 1}}]");
    let number = "put it under matchLabels, as in matchLabels: {pool: \"1\"}";
    advised(&text, "spec.units[0].nodeSelector.pool", number);
    let selector = "predicates: [{requiredClusterSelector: {labelSelector: {env: prod}}}]";
    advised(
        &placement(selector),
        "spec.predicates[0].requiredClusterSelector.labelSelector.env",
        "put it under matchLabels, as in matchLabels: {env: prod}",
    );
    let text = levels(&format!("{OPEN}, targetQoSLevel: -1, selector: {{app: web}}"));
    advised(&text, "globalConfig.timeBasedQoSPolicies[0].selector.app", web);
}

#[test]
fn a_field_of_the_same_role_is_what_is_meant() {
    assert_fixed(
        &units("podSelector: {}\n  units: [{name: x, max: 10, nodeSelector: {}}]"),
        "spec.units[0].max",
        "write maxCount",
    );
    assert_fixed(
        &placement("clusterReplicas: 2"),
        "spec.clusterReplicas",
        "write numberOfClusters",
    );
    let of_autoscaler =
        rule("minReplicas: 3").replace("apps/v1", "autoscaling.karmada.io/v1alpha1");
    let of_autoscaler = of_autoscaler.replace("Deployment", "FederatedHPA");
    assert_fixed(&of_autoscaler, "spec.rules[0].minReplicas", "write targetMinReplicas");
    assert_fixed(&rule("replicas: 3"), "spec.rules[0].replicas", "write targetReplicas");
    // A Deployment has no bounds.
    let number = "write targetReplicas, with the number of replicas from then on";
    advised(&rule("maxReplicas: 10"), "spec.rules[0].maxReplicas", number);
    // If two fields may mean the same field, the field with the similar spelling is used.
    let two = placement("maxClusters: 3, numberOfCluster: 2");
    assert_fixed(&two, "spec.numberOfCluster", "write numberOfClusters");
    assert_fixed(
        &rule("timezone: Europe/Berlin, targetReplicas: 3"),
        "spec.rules[0].timezone",
        "write timeZone",
    );
    let list = "globalConfig.timeBasedQoSPolicies[0]";
    let text = levels(&format!("{OPEN}, {PODS}, qosLevel: -1"));
    assert_fixed(&text, &format!("{list}.qosLevel"), "write targetQoSLevel");
    let text = levels(&format!(
        "{OPEN}, labelSelector: {{matchLabels: {{app: web}}}}, targetQoSLevel: -1"
    ));
    assert_fixed(&text, &format!("{list}.labelSelector"), "write selector");
    let text = levels(&format!("{OPEN}, {PODS}, targetQoSLevel: -1, enabled: false"));
    assert_fixed(&text, &format!("{list}.enabled"), "write enable");
}

#[test]
fn findings_on_fields_of_another_project_name_the_project() {
    let text = cron_for_workload("  []\n")
        .replace("rules:\n  []", "timezone: Europe/Berlin\n  jobs:\n  - {name: up, schedule: '0 8 * * *', targetSize: 3}")
        .replace("scaleTargetRef", "targetRef");
    assert_fixed(&text, "spec.jobs", "write rules");
    assert_fixed(&text, "spec.targetRef", "write scaleTargetRef");
    advised(&text, "spec.timezone", "move it into each of rules, as timeZone");
    let (_, _, findings) = check(&text);
    let problems: Vec<&str> = findings.iter().map(|it| it.finding.problem()).collect();
    let whose = "Unknown field: it is one of a CronHorizontalPodAutoscaler of kubernetes-cronhpa-controller";
    assert!(problems.contains(&whose), "{problems:?}");
    assert!(!problems.iter().any(|it| it.starts_with("Required value")), "{problems:?}");
}

#[test]
fn a_field_is_removed_only_if_nothing_else_is_meant() {
    let text = cron_for_workload("  - {name: up, schedule: '0 8 * * *', targetReplicas: 3}\n")
        .replace("  rules:", "  timezone: Europe/Berlin\n  rules:");
    advised(&text, "spec.timezone", "move it into each of rules, as timeZone");
    let pattern = producer(
        "{defaultReplicas: 1, behaviors: [{replicas: 3, start: {pattern: {hours: 8}}, end: {}}]}",
    );
    advised(
        &pattern,
        "spec.schedule.behaviors[0].start.pattern",
        "write what is in it one level up, without pattern",
    );
    let (_, _, findings) = check(&rule("targetReplicas: 3, color: red"));
    let fix = findings[0].clone().finding.with_some_fix().fix;
    assert_eq!(fix.as_deref(), Some("remove it"));
    // A field that narrows a selection or disables a policy is not removed without a warning.
    let off = rule("targetReplicas: 0, enabled: false");
    advised(&off, "spec.rules[0].enabled", "write suspend: true instead");
    let terms =
        units("podSelector: {}\n  units: [{name: x, nodeSelector: {nodeSelectorTerms: []}}]");
    let by_expressions = "write it as an item of matchExpressions, with the operator In, NotIn, Exists or DoesNotExist";
    advised(&terms, "spec.units[0].nodeSelector.nodeSelectorTerms", by_expressions);
    let excluded =
        units("podSelector: {}\n  excludeNodes: {}\n  units: [{name: x, nodeSelector: {}}]");
    let carefully = "remove it only if the wider selection is intended";
    advised(&excluded, "spec.excludeNodes", carefully);
    let minutes = rule("targetReplicas: 3, maxDelayMinutes: 5");
    advised(&minutes, "spec.rules[0].maxDelayMinutes", "write maxDelaySeconds: 300 instead");
}

#[test]
fn values_in_everyday_form_get_the_required_form() {
    let list = "globalConfig.timeBasedQoSPolicies[0]";
    let level = |level: &str| levels(&format!("{OPEN}, {PODS}, targetQoSLevel: {level}"));
    assert_fixed(&level("BE"), &format!("{list}.targetQoSLevel"), "write -1");
    assert_fixed(&level("\"1\""), &format!("{list}.targetQoSLevel"), "remove the quotes: 1");
    let window = |start: &str| {
        levels(&format!("startTime: {start}, endTime: '06:00', {PODS}, targetQoSLevel: -1"))
    };
    for (written, meant) in [
        ("10pm", "22:00"),
        ("'12:30 AM'", "00:30"),
        ("\"20:0\"", "20:00"),
        ("'9:05'", "09:05"),
        ("'24:00'", "00:00"),
    ] {
        let (_, _, findings) = check(&window(written));
        let finding = findings[0].clone().finding.with_some_fix();
        assert_eq!(finding.fix.as_deref(), Some(&*format!("write {meant}")), "{written}");
        fixed_text(&window(written));
    }
    for (written, meant) in [
        ("0 8 1 Sept *", "0 8 1 sep *"),
        ("0 8 * * Tues-Thurs", "0 8 * * tue-thu"),
        ("0 8 1 September,October *", "0 8 1 sep,oct *"),
    ] {
        let text = rule("targetReplicas: 3").replace("30 8 * * *", written);
        assert_fixed(&text, "spec.rules[0].schedule", &format!("write {meant:?}"));
    }
    let delay = rule("targetReplicas: 3, maxDelaySeconds: 5m");
    assert_fixed(&delay, "spec.rules[0].maxDelaySeconds", "write 300");
    assert_fixed(
        &rule("targetReplicas: \"10\""),
        "spec.rules[0].targetReplicas",
        "remove the quotes: 10",
    );
    advised(
        &rule("targetReplicas: \"010\""),
        "spec.rules[0].targetReplicas",
        "write a whole number instead",
    );
    let behavior = |start: &str| {
        producer(&format!(
            "{{defaultReplicas: 1, behaviors: [{{replicas: 3, start: {start}, end: {{hours: 6}}}}]}}"
        ))
    };
    let start = "spec.schedule.behaviors[0].start";
    assert_fixed(&behavior("{hours: 24}"), &format!("{start}.hours"), "write 0");
    advised(
        &behavior("{hours: 24, weekdays: Fri}"),
        &format!("{start}.hours"),
        "write 0, which belongs to the next day",
    );
    assert_fixed(&behavior("{hours: 8pm}"), &format!("{start}.hours"), "write 20");
    assert_fixed(
        &behavior("{hours: 8, weekdays: Tues}"),
        &format!("{start}.weekdays"),
        "write Tue",
    );
}

#[test]
fn documents_are_texts_under_the_key_that_the_agent_reads() {
    let map =
        levels(&format!("{OPEN}, {PODS}, targetQoSLevel: -1")).replace("config: |", "config:");
    let fix = "write | after its colon, which makes what follows one text";
    advised(&map, "data.colocation-config", fix);
    let other = levels(&format!("{OPEN}, {PODS}, targetQoSLevel: -1"));
    let other = other.replace("colocation-config:", "config.yml:");
    assert_fixed(&other, "data[config.yml]", "write colocation-config");
}

#[test]
fn a_finding_on_an_offset_names_time_zones_that_have_it() {
    for (zone, places) in [
        (
            "GMT+1",
            "Africa/Lagos for this offset all year, or Europe/Berlin, which has it in winter",
        ),
        ("+530", "Asia/Kolkata for this offset all year"),
        (
            "UTC-8",
            "Etc/GMT+8, whose sign is reversed, for this offset all year, or America/Los_Angeles, which has it in winter",
        ),
        ("+0545", "an IANA name such as Asia/Shanghai"),
    ] {
        let (_, _, findings) = check(&rule(&format!("targetReplicas: 3, timeZone: '{zone}'")));
        let message = &findings[0].finding.message;
        assert!(message.ends_with(&format!("has no clock changes; write {places}")), "{message}");
    }
}

fn cron_job(spec: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: a}}\nspec: {{{spec}, jobTemplate: {{}}}}\n"
    )
}

#[test]
fn a_cron_job_for_manual_starts_is_only_an_info() {
    let never = cron_job("schedule: '0 0 31 2 *'");
    let (reading, _, _) = check(&never);
    let findings = &reading.cron_jobs[0].findings;
    assert_eq!(findings.len(), 1, "{findings:?}");
    let finding = &findings[0].finding;
    let expected = ("never-fires", "info".to_owned());
    assert_eq!((finding.code.name(), finding.severity().to_string()), expected);
    let expected =
        Some("keep it if its Jobs are started manually; suspend: true has the same effect");
    assert_eq!(finding.fix.as_deref(), expected);
    let (reading, _, _) = check(&cron_job("schedule: '0 0 31 2 *', suspend: true"));
    assert!(reading.cron_jobs[0].findings.is_empty());
}

#[test]
fn mistyped_fields_of_a_cron_job_get_the_right_name() {
    for (spec, field, fix) in [
        ("schedule: '0 8 * * *', timezone: Europe/Berlin", "spec.timezone", "write timeZone"),
        ("cron: '0 8 * * *'", "spec.cron", "write schedule"),
        ("schedule: '0 8 * * *', paused: true", "spec.paused", "write suspend"),
        (
            "schedule: '0 8 * * *', concurrencyPolicy: forbid",
            "spec.concurrencyPolicy",
            "write Forbid",
        ),
        (
            "schedule: '0 8 * * *', startingDeadlineSeconds: 5m",
            "spec.startingDeadlineSeconds",
            "write 300",
        ),
    ] {
        let (reading, _, _) = check(&cron_job(spec));
        let findings = &reading.cron_jobs[0].findings;
        assert_eq!(findings.len(), 1, "{spec}: {findings:#?}");
        assert_eq!(findings[0].finding.field.to_string(), field);
        assert_eq!(findings[0].finding.fix.as_deref(), Some(fix));
    }
}
