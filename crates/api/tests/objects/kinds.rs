//! Kinds of a partly known group, misspelled kinds and versions, and removed versions.

use crate::written::{check, findings, messages};

const HUB: &str = "cluster.open-cluster-management.io/v1beta1";

fn object(api_version: &str, kind: &str) -> String {
    format!("apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{}}\n")
}

#[test]
fn an_unknown_kind_of_a_group_with_known_kinds_is_skipped() {
    for (api_version, kind) in [
        (HUB, "BackupSchedule"),
        (HUB, "Restore"),
        (HUB, "ClusterCurator"),
        (HUB, "ClusterClaim"),
        ("scheduling.sigs.x-k8s.io/v1alpha1", "PodGroup"),
        ("autoscaling.karmada.io/v1alpha1", "Gadget"),
        ("apps/v1", "ControllerRevision"),
        ("batch/v1", "Job"),
        ("v1", "PodTemplate"),
        ("v1", "Config"),
        ("policy/v1", "PodDisruptionBudgets"),
        ("example.com/v1", "Deploymnt"),
    ] {
        let text = object(api_version, kind);
        assert_eq!(findings(&text), [""; 0], "{text}");
        assert_eq!(check(&text).0.skipped.objects, 1, "{text}");
    }
}

#[test]
fn a_kind_that_is_nearly_a_known_one_is_a_warning_with_that_one() {
    for (api_version, kind, meant) in [
        (HUB, "Placment", "Placement"),
        (HUB, "Placements", "Placement"),
        ("autoscaling.karpenter.sh/v1alpha1", "MetricProducer", "MetricsProducer"),
        ("autoscaling.karmada.io/v1alpha1", "CronFederatedHpa", "CronFederatedHPA"),
        ("apps/v1", "Deploymnt", "Deployment"),
        ("apps/v1", "StatefulSets", "StatefulSet"),
        ("batch/v1", "Cronjob", "CronJob"),
        ("autoscaling/v2", "HorizontalPodAutoScaler", "HorizontalPodAutoscaler"),
        ("v1", "Configmap", "ConfigMap"),
        ("v1", "ResourceQouta", "ResourceQuota"),
        ("v1", "node", "Node"),
    ] {
        let text = object(api_version, kind);
        let (_, _, found) = check(&text);
        let [finding] = &found[..] else { panic!("{text}{found:?}") };
        assert_eq!(finding.finding.severity().to_string(), "warning");
        assert_eq!(
            findings(&text),
            [format!(
                "2:7 mistyped-kind kind: Invalid value: \"{kind}\": not a known kind of this API group, but nearly \
                 {meant}"
            )]
        );
        assert_eq!(finding.finding.fix.as_deref(), Some(&*format!("write kind: {meant}")));
        // Only a kind that differs in letter case alone is certainly a typo.
        assert_eq!(
            finding.finding.replacement.is_some(),
            kind.eq_ignore_ascii_case(meant),
            "{kind}"
        );
    }
}

#[test]
fn a_known_kind_in_another_group_or_version_is_an_error() {
    for (api_version, kind, meant) in [
        ("autoscaling.karmada.io/v1alpha1", "MetricsProducer", "autoscaling.karpenter.sh/v1alpha1"),
        ("karmada.io/v1", "CronFederatedHPA", "autoscaling.karmada.io/v1alpha1"),
        ("cluster.open-cluster-management.io/v1", "Placement", HUB),
    ] {
        let text = object(api_version, kind);
        let expected = format!(
            "unknown-kind apiVersion: Invalid value: \"{api_version}\": the apiVersion of a {kind} is {meant}"
        );
        assert!(messages(&text).contains(&expected), "{:?}", messages(&text));
    }
}

#[test]
fn a_removed_version_is_named_with_the_release_and_the_version_to_write() {
    let job = "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: a}\n\
               spec: {schedule: '0 3 * * *', timeZone: Etc/UTC}\n";
    let expected = [
        "1:13 removed-version apiVersion: Invalid value: \"batch/v1beta1\": Kubernetes 1.25 removed this version of \
      CronJob; write batch/v1",
    ];
    assert_eq!(findings(job), expected);
    assert_eq!(check(job).0.cron_jobs.len(), 1, "the CronJob is displayed nevertheless");
    assert_eq!(findings(&job.replace("v1beta1", "v1")), [""; 0]);
    for (api_version, kind, release, now) in [
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", "1.26", "autoscaling/v2"),
        ("apps/v1beta1", "Deployment", "1.16", "apps/v1"),
        ("apps/v1beta2", "StatefulSet", "1.16", "apps/v1"),
        ("extensions/v1beta1", "ReplicaSet", "1.16", "apps/v1"),
        ("policy/v1beta1", "PodDisruptionBudget", "1.25", "policy/v1"),
        ("scheduling.k8s.io/v1beta1", "PriorityClass", "1.22", "scheduling.k8s.io/v1"),
    ] {
        assert_eq!(
            findings(&object(api_version, kind)),
            [format!(
                "1:13 removed-version apiVersion: Invalid value: \"{api_version}\": Kubernetes {release} removed this \
                 version of {kind}; write {now}"
            )]
        );
    }
    assert_eq!(findings(&object("extensions/v1beta1", "Ingress")), [""; 0]);
    let (_, _, findings) = check(&object("apps/v1beta1", "Deployment"));
    let fix = "write apiVersion: apps/v1, and spec.selector, which is required there";
    assert_eq!(findings[0].finding.fix.as_deref(), Some(fix));
}

#[test]
fn an_autoscaler_in_a_removed_version_is_still_a_target() {
    for (version, release) in [("v2beta1", "1.25"), ("v2beta2", "1.26")] {
        let reference = format!(
            "{{apiVersion: autoscaling/{version}, kind: HorizontalPodAutoscaler, name: a}}"
        );
        let rule = "  - {name: up, schedule: '0 9 * * *', targetMinReplicas: 1}\n";
        let text = crate::written::cron_for(&reference, rule);
        assert_eq!(
            messages(&text),
            [format!(
                "removed-version spec.scaleTargetRef.apiVersion: Invalid value: \"autoscaling/{version}\": Kubernetes \
                 {release} removed this version of HorizontalPodAutoscaler; write autoscaling/v2"
            )]
        );
        let (_, checked, findings) = check(&text);
        assert_eq!(findings[0].finding.fix.as_deref(), Some("write apiVersion: autoscaling/v2"));
        let rules = crate::written::cron_rules_of(&checked[0]).expect("usable rules");
        assert_eq!(&*rules.target_version, "autoscaling/v2");
    }
}

#[test]
fn a_target_may_be_of_an_unknown_kind_but_not_a_policy() {
    let target = |api_version: &str, kind: &str| {
        let reference = format!("{{apiVersion: {api_version}, kind: {kind}, name: a}}");
        let rule = "  - {name: up, schedule: '0 9 * * *', targetReplicas: 1}\n";
        messages(&crate::written::cron_for(&reference, rule))
    };
    assert_eq!(target(HUB, "Gadget"), [""; 0]);
    let expected = [
        "target spec.scaleTargetRef.kind: Invalid value: \"Placement\": a Placement has no replicas to set",
    ];
    assert_eq!(target(HUB, "Placement"), expected);
}
