//! Cron rules: every error and warning, with a valid case and an invalid case.

use almanac_api::checking::{CheckContext, CheckedObject, check as check_object};
use almanac_api::finding::Finding;
use almanac_api::kubernetes::KubernetesMinor;
use almanac_api::reading::{Reading, Source, read_objects};
use almanac_engine::cron_scaling::DesiredScale;

use crate::written::{
    autoscaler, check, cron_for, cron_for_autoscaler, cron_for_workload, cron_rules_of, fails,
    fails_like, fails_only, now, passes,
};

/// A rule of the list `rules`, completed with these fields.
fn rule(fields: &str) -> String {
    format!("  - {{name: up, schedule: '30 8 * * 1-5', {fields}}}\n")
}

#[test]
fn a_rule_for_a_workload_needs_replicas_of_zero_or_more() {
    for replicas in ["0", "1", "2147483647"] {
        passes(&cron_for_workload(&rule(&format!("targetReplicas: {replicas}"))));
    }
    fails_only(
        &cron_for_workload(&rule("suspend: false")),
        "missing-field spec.rules[0].targetReplicas: Required value: the number of replicas for the Deployment",
    );
    fails_only(
        &cron_for_workload(&rule("targetReplicas: -1")),
        "out-of-range spec.rules[0].targetReplicas: Invalid value: -1: must be greater than or equal to 0",
    );
    fails_only(
        &cron_for_workload(&rule("targetReplicas: 2147483648")),
        "out-of-range spec.rules[0].targetReplicas: Invalid value: 2147483648: must be less than or equal to 2147483647",
    );
}

#[test]
fn a_rule_for_an_autoscaler_needs_a_bound_and_bounds_in_order() {
    for fields in [
        "targetMinReplicas: 1",
        "targetMaxReplicas: 1",
        "targetMinReplicas: 2, targetMaxReplicas: 2",
    ] {
        passes(&cron_for_autoscaler(&rule(fields)));
    }
    fails_only(
        &cron_for_autoscaler(&rule("suspend: true")),
        "missing-field spec.rules[0].targetMinReplicas: Required value: a rule for a FederatedHPA sets targetMinReplicas, targetMaxReplicas or both",
    );
    fails(
        &cron_for_autoscaler(&rule("targetMinReplicas: 3, targetMaxReplicas: 2")),
        &["crossed-bounds spec.rules[0].targetMinReplicas: Invalid value: 3: must not exceed \
             targetMaxReplicas, which is 2"],
    );
    fails_only(
        &cron_for_autoscaler(&rule("targetMinReplicas: 0")),
        "out-of-range spec.rules[0].targetMinReplicas: Invalid value: 0: must be greater than or equal to 1",
    );
    fails_only(
        &cron_for_autoscaler(&rule("targetMaxReplicas: 0")),
        "out-of-range spec.rules[0].targetMaxReplicas: Invalid value: 0: must be greater than or equal to 1",
    );
}

#[test]
fn a_lower_bound_of_zero_needs_an_hpa_and_a_version_that_accepts_it() {
    let zero = rule("targetMinReplicas: 0");
    let of_kubernetes = |version| {
        let kind = "kind: HorizontalPodAutoscaler, name: shop";
        cron_for(&format!("{{apiVersion: autoscaling/{version}, {kind}}}"), &zero)
    };
    let [old, new] = ["1.36", "1.37"].map(|it| it.parse().ok());
    let refused = "Invalid value: 0: must be greater than or equal to 1";
    let needs = "; write 1 or more; 0 needs Kubernetes 1.37 or newer (for files: --kubernetes-version 1.37)";
    for (text, kubernetes, expected) in [
        (of_kubernetes("v2"), None, format!("error: {refused}{needs}")),
        (of_kubernetes("v2"), old, format!("error: {refused}{needs}")),
        (
            of_kubernetes("v2"),
            new,
            "info: a cluster with the CRD of Karmada refuses 0; apply the CRD of Almanac to it, \
             or write 1 or more"
                .to_owned(),
        ),
        (cron_for_autoscaler(&zero), new, format!("error: {refused}")),
        (
            of_kubernetes("v2").replace("Replicas: 0", "Replicas: -1"),
            new,
            "error: Invalid value: -1: must be greater than or equal to 0".to_owned(),
        ),
        (of_kubernetes("v2").replace("Min", "Max"), new, format!("error: {refused}")),
    ] {
        assert_eq!(checked_for(kubernetes, &text), [expected], "{kubernetes:?}\n{text}");
    }
    assert_eq!(
        checked_for(new, &of_kubernetes("v1")),
        checked_for(new, &of_kubernetes("v2")),
        "the version of its API makes no difference"
    );
}

#[test]
fn a_rule_keeps_a_lower_bound_of_zero() {
    let reference = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, name: shop}";
    let text = cron_for(reference, &rule("targetMinReplicas: 0, targetMaxReplicas: 3"));
    let checked = object_for("1.37".parse().ok(), &text);
    let DesiredScale::Bounds(bounds) = cron_rules_of(&checked).expect("usable").rules[0].desired
    else {
        panic!("a rule of an autoscaler sets bounds");
    };
    assert_eq!((bounds.min(), bounds.max()), (Some(0), Some(3)));
}

/// The one object of a text, checked for a version of Kubernetes.
fn object_for(kubernetes: Option<KubernetesMinor>, text: &str) -> CheckedObject {
    let mut reading = Reading::default();
    read_objects(&mut reading, Source::new("test.yaml", text));
    let context = CheckContext { kubernetes, ..CheckContext::new("default", now()) };
    check_object(&reading.objects[0], context)
}

/// The findings about the one object of a text, without their fields.
fn checked_for(kubernetes: Option<KubernetesMinor>, text: &str) -> Vec<String> {
    let said = |it: &Finding| format!("{}: {}", it.severity(), it.sentence_about_field());
    object_for(kubernetes, text).findings.iter().map(said).collect()
}

#[test]
fn a_field_that_does_not_apply_to_the_target_is_a_warning() {
    fails(
        &cron_for_workload(&rule("targetReplicas: 1, targetMinReplicas: 1")),
        &["ignored-field spec.rules[0].targetMinReplicas: Forbidden: a Deployment has no such \
             bound, so this has no effect"],
    );
    fails(
        &cron_for_autoscaler(&rule("targetReplicas: 1, targetMinReplicas: 1")),
        &["ignored-field spec.rules[0].targetReplicas: Forbidden: the FederatedHPA decides the \
             replicas, so this has no effect"],
    );
}

#[test]
fn a_horizontal_pod_autoscaler_is_an_autoscaler_too() {
    let reference = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, name: shop}";
    passes(&cron_for(reference, &rule("targetMinReplicas: 1")));
    fails_only(
        &cron_for(reference, &rule("suspend: false")),
        "missing-field spec.rules[0].targetMinReplicas: Required value: a rule for a HorizontalPodAutoscaler sets targetMinReplicas, targetMaxReplicas or both",
    );
}

#[test]
fn rule_names_are_unique_and_have_1_to_32_characters() {
    let named =
        |name: &str| format!("  - {{name: '{name}', schedule: '0 8 * * *', targetReplicas: 1}}\n");
    passes(&cron_for_workload(&named(&"x".repeat(32))));
    passes(&cron_for_workload(
        &(named("a") + "  - {name: b, schedule: '0 9 * * *', targetReplicas: 1}\n"),
    ));
    fails_only(
        &cron_for_workload(&named(&"x".repeat(33))),
        "out-of-range spec.rules[0].name: Too long: may not be more than 32 characters, this has 33",
    );
    fails(
        &cron_for_workload(&named("")),
        &["missing-field spec.rules[0].name: Required value: every rule needs a unique name"],
    );
    fails(
        &cron_for_workload("  - {schedule: '0 8 * * *', targetReplicas: 1}\n"),
        &["missing-field spec.rules[0].name: Required value: every rule needs a unique name"],
    );
    fails(
        &cron_for_workload(&(named("a") + &named("a"))),
        &["duplicate-item spec.rules[1].name: Duplicate value: \"a\""],
    );
}

#[test]
fn the_schedule_is_a_cron_expression_of_five_fields() {
    let scheduled = |cron: &str| {
        cron_for_workload(&format!("  - {{name: up, schedule: '{cron}', targetReplicas: 1}}\n"))
    };
    for cron in ["30 8 * * *", "@daily", "*/15 0-6 * JAN mon-fri", "0 0 * * 7"] {
        passes(&scheduled(cron));
    }
    fails(
        &scheduled("*/90 0 13 * 5"),
        &[
            "long-step spec.rules[0].schedule: a step of 90 reaches no second value: `*/90` is minute 0",
            "either-day spec.rules[0].schedule: it names days of the month and weekdays, and fires on a \
             date that matches either of them",
        ],
    );
    for (cron, starts) in [
        (
            "0 0 * *",
            "schedule spec.rules[0].schedule: Invalid value: \"0 0 * *\": a cron expression has five fields",
        ),
        ("0 0 31 2 *", "schedule spec.rules[0].schedule: Invalid value: \"0 0 31 2 *\": "),
        ("@every 5m", "schedule spec.rules[0].schedule: Invalid value: \"@every 5m\": "),
        (
            "TZ=UTC 0 0 * * *",
            "schedule spec.rules[0].schedule: Invalid value: \"TZ=UTC 0 0 * * *\": ",
        ),
        ("60 0 * * *", "schedule spec.rules[0].schedule: Invalid value: \"60 0 * * *\": "),
    ] {
        fails_like(&scheduled(cron), starts);
    }
    fails(
        &scheduled(""),
        &["missing-field spec.rules[0].schedule: Required value: must not be empty"],
    );
}

#[test]
fn the_time_zone_is_an_iana_name_in_its_published_spelling() {
    let zoned =
        |zone: &str| cron_for_workload(&rule(&format!("targetReplicas: 1, timeZone: '{zone}'")));
    for zone in ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires"] {
        passes(&zoned(zone));
    }
    for zone in ["", "Local", "+08:00", "CST", "Factory", "europe/berlin", "Europe/Berln"] {
        let starts = format!("time-zone spec.rules[0].timeZone: Invalid value: {zone:?}: ");
        fails_like(&zoned(zone), &starts);
    }
}

#[test]
fn history_limits_have_their_bounds() {
    passes(&cron_for_workload(&rule(
        "targetReplicas: 1, successfulHistoryLimit: 1, failedHistoryLimit: 0",
    )));
    passes(&cron_for_workload(&rule(
        "targetReplicas: 1, successfulHistoryLimit: 32, failedHistoryLimit: 32",
    )));
    fails(
        &cron_for_workload(&rule(
            "targetReplicas: 1, successfulHistoryLimit: 0, failedHistoryLimit: 33",
        )),
        &[
            "out-of-range spec.rules[0].successfulHistoryLimit: Invalid value: 0: must be greater than or equal to 1",
            "out-of-range spec.rules[0].failedHistoryLimit: Invalid value: 33: must be less than or equal to 32",
        ],
    );
}

#[test]
fn a_target_needs_a_kind_a_name_and_a_matching_api_version() {
    let target = |reference: &str| cron_for(reference, &rule("targetReplicas: 1"));
    passes(&target("{apiVersion: example.com/v1, kind: Gadget, name: g}"));
    for (reference, expected) in [
        (
            "{apiVersion: apps/v1, name: shop}",
            "missing-field spec.scaleTargetRef.kind: Required value",
        ),
        (
            "{apiVersion: apps/v1, kind: Deployment}",
            "missing-field spec.scaleTargetRef.name: Required value",
        ),
        (
            "{kind: Deployment, name: shop}",
            "missing-field spec.scaleTargetRef.apiVersion: Required value: the apiVersion of a Deployment is apps/v1",
        ),
        (
            "{apiVersion: app/v1, kind: Deployment, name: shop}",
            "mistyped-version spec.scaleTargetRef.apiVersion: Invalid value: \"app/v1\": there is no such API; write apps/v1",
        ),
        (
            "{apiVersion: v1, kind: Deployment, name: shop}",
            "target spec.scaleTargetRef.apiVersion: Invalid value: \"v1\": the apiVersion of a Deployment is apps/v1",
        ),
        (
            "{apiVersion: a/b/c, kind: Gadget, name: shop}",
            "target spec.scaleTargetRef.apiVersion: Invalid value: \"a/b/c\": an apiVersion is a group and a version, such as apps/v1",
        ),
        (
            "{apiVersion: apps/v1, kind: deployment, name: shop}",
            "target spec.scaleTargetRef.kind: Invalid value: \"deployment\": the group apps has no such kind; write Deployment",
        ),
        (
            "{apiVersion: apps/v1, kind: DaemonSet, name: shop}",
            "target spec.scaleTargetRef.kind: Invalid value: \"DaemonSet\": a DaemonSet runs once \
             per node and has no replica count",
        ),
        (
            "{apiVersion: autoscaling.karmada.io/v1alpha1, kind: CronFederatedHPA, name: shop}",
            "target spec.scaleTargetRef.kind: Invalid value: \"CronFederatedHPA\": in \
             autoscaling.karmada.io, only a FederatedHPA can be scaled",
        ),
        (
            "{apiVersion: apps/v1beta1, kind: StatefulSet, name: shop}",
            "target spec.scaleTargetRef.apiVersion: Invalid value: \"apps/v1beta1\": Kubernetes 1.16 removed this version of StatefulSet; write apps/v1",
        ),
        (
            "{apiVersion: extensions/v1beta1, kind: Deployment, name: shop}",
            "target spec.scaleTargetRef.apiVersion: Invalid value: \"extensions/v1beta1\": Kubernetes 1.16 removed this version of Deployment; write apps/v1",
        ),
        (
            "{apiVersion: apps/v1, kind: Deployment, name: Shop}",
            "invalid-name spec.scaleTargetRef.name: Invalid value: \"Shop\": a name consists of lower-case letters, digits, '-' and '.', and begins and ends with a letter or a digit",
        ),
    ] {
        fails(&target(reference), &[expected]);
    }
}

#[test]
fn a_bad_rule_never_stops_the_others() {
    let rules = "  - {name: a, schedule: '0 8 * * *', targetReplicas: 1}\n\
                 \x20 - {name: b, schedule: 'nonsense', targetReplicas: 2}\n\
                 \x20 - {name: c, schedule: '0 10 * * *', targetReplicas: many}\n\
                 \x20 - {name: d, schedule: '0 11 * * *', targetReplicas: 4}\n";
    let (_, checked, findings) = check(&cron_for_workload(rules));
    assert_eq!(findings.len(), 2, "{findings:#?}");
    let policy = cron_rules_of(&checked[0]).expect("two of the rules can be used");
    let left: Vec<_> = policy.rules.iter().map(|rule| (&*rule.name, rule.position)).collect();
    assert_eq!(left, [("a", 0), ("d", 3)]);
}

#[test]
fn two_writers_of_one_target_are_reported_on_both() {
    let text = cron_for_workload(&rule("targetReplicas: 1"))
        + "---\n"
        + &autoscaler("minReplicas: 1, maxReplicas: 2");
    fails_only(
        &text,
        "two-writers spec.scaleTargetRef: Deployment.apps default/shop is already scaled by CronFederatedHPA.autoscaling.karmada.io default/shop, at test.yaml:1; each undoes the other's work",
    );
    passes(&text.replace(
        "metadata:\n  name: shop\nspec: {",
        "metadata:\n  name: shop\n  namespace: other\nspec: {",
    ));
    passes(&text.replace("targetReplicas: 1", "targetReplicas: 1, suspend: true"));
}

#[test]
fn a_duplicate_object_is_rejected() {
    let one = cron_for_workload(&rule("targetReplicas: 1"));
    fails(
        &(one.clone()
            + "---\n"
            + &one.replace("  name: shop\nspec", "  name: shop\n  namespace: default\nspec")),
        &["duplicate-object CronFederatedHPA.autoscaling.karmada.io default/shop is defined \
             twice, first at test.yaml:1"],
    );
}
