//! Policies together with each other, with their pods, and with the scheduler.

use super::{SPOT, deployment, for_pods, unit, with, workload};
use crate::written::{fails_like, findings, messages, only_message};

#[test]
fn two_policies_of_a_pod_are_reported_with_the_pod() {
    let both =
        [for_pods("a", "{matchLabels: {app: web}}"), for_pods("b", "{matchLabels: {tier: front}}")];
    let both = both.join("---\n");
    assert_eq!(findings(&both), [""; 0], "no pod is known to be of both");
    let web = deployment("web", "{app: web, tier: front}", "{}");
    assert_eq!(
        findings(&format!("{both}{web}")),
        ["9:8 two-policies spec.podSelector: Deployment.apps default/web is also selected by \
          ResourcePolicy.scheduling.sigs.x-k8s.io default/a, at test.yaml:1; a pod of two policies is not scheduled"]
    );
    let pod =
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: one, labels: {app: web, tier: front}}\n";
    let message = only_message(&format!("{both}{web}{pod}"));
    assert!(message.contains("default/web and 1 more are also selected by"), "{message}");
    for alone in [
        deployment("web", "{app: web}", "{}"),
        workload("apps/v1", "DaemonSet", "web", "{app: web, tier: front}", "{}"),
        web.replace("name: web}", "name: web, namespace: other}"),
    ] {
        assert_eq!(findings(&format!("{both}{alone}")), [""; 0], "{alone}");
    }
}

#[test]
fn two_policies_with_overlapping_selectors_are_reported_without_a_pod() {
    let two = |one: &str, other: &str| [for_pods("a", one), for_pods("b", other)].join("---\n");
    let web = "{matchLabels: {app: web}}";
    let either = "{matchExpressions: [{key: app, operator: In, values: [web, shop]}]}";
    let known = "{matchExpressions: [{key: app, operator: Exists}]}";
    let other = "{matchExpressions: [{key: app, operator: NotIn, values: [web]}]}";
    for (one, other, what) in [
        (web, web, "all pods that the policy selects are also selected by"),
        (either, web, "all pods that the policy selects are also selected by"),
        (known, web, "all pods that the policy selects are also selected by"),
        (
            web,
            either,
            "all pods of ResourcePolicy.scheduling.sigs.x-k8s.io default/a, at test.yaml:1, are selected here too",
        ),
        (
            web,
            known,
            "all pods of ResourcePolicy.scheduling.sigs.x-k8s.io default/a, at test.yaml:1, are selected here too",
        ),
    ] {
        let message = only_message(&two(one, other));
        assert!(message.starts_with("two-policies spec.podSelector: "), "{message}");
        assert!(message.contains(what), "{message}");
    }
    for (one, other) in [(web, other), (either, other), (web, "{matchLabels: {tier: front}}")] {
        assert_eq!(findings(&two(one, other)), [""; 0], "{one} {other}");
    }
    assert_eq!(findings(&two(web, web).replace("name: b}", "name: b, namespace: other}")), [""; 0]);
}

#[test]
fn pods_with_a_deletion_cost_of_their_own_are_named() {
    let web = for_pods("a", "{matchLabels: {app: web}}");
    let cost = "{controller.kubernetes.io/pod-deletion-cost: '10'}";
    let message = only_message(&format!("{web}{}", deployment("web", "{app: web}", cost)));
    assert_eq!(
        message,
        "own-deletion-cost spec.podSelector: Deployment.apps default/web, at test.yaml:6, has the annotation \
         controller.kubernetes.io/pod-deletion-cost itself; it is kept, so the order of the units does not \
         decide which of these pods is deleted first"
    );
    assert_eq!(findings(&format!("{web}{}", deployment("web", "{app: shop}", cost))), [""; 0]);
    let ours = "{controller.kubernetes.io/pod-deletion-cost: '10', almanac.dev/deletion-cost-owner: almanac/10}";
    assert_eq!(findings(&format!("{web}{}", deployment("web", "{app: web}", ours))), [""; 0]);
}

#[test]
fn a_key_that_no_pod_of_the_policy_has_is_named() {
    let keys = format!(
        "podSelector: {{matchLabels: {{app: web}}}}, matchLabelKeys: [zone, pod-template-hash], units: [{SPOT}]"
    );
    let web = |labels: &str| format!("{}{}", with(&keys), deployment("web", labels, "{}"));
    fails_like(&web("{app: web}"), "label-of-no-pod spec.matchLabelKeys[0]: ");
    assert_eq!(findings(&web("{app: web, zone: a}")), [""; 0]);
    assert_eq!(findings(&web("{app: shop}")), [""; 0], "it is no pod of the policy");
    for given in [
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "rollouts-pod-template-hash",
        "jobset.sigs.k8s.io/replicatedjob-name",
        "leaderworkerset.sigs.k8s.io/group-index",
    ] {
        let web = web("{app: web}").replace("[zone,", &format!("[{given},"));
        assert_eq!(findings(&web), [""; 0], "{given} is given to pods that are in no file");
    }
}

/// The scheduler configuration of the design, unchanged.
const PROFILE: &str = "piVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled:
      - name: resourcepolicy
";

#[test]
fn a_profile_with_the_plugin_of_the_design_is_reported() {
    let expected = "scheduler-plugin profiles[0].plugins.multiPoint.enabled[0].name: the plugin resourcepolicy is not a \
                part of kube-scheduler; one that was built without it does not start";
    let typo = "1:1 unknown-field piVersion: Unknown field: the key is not apiVersion";
    assert_eq!(findings(PROFILE), [typo.to_owned(), format!("10:15 {expected}")]);
    let profile = PROFILE.replace("piVersion", "apiVersion");
    assert_eq!(findings(&profile), [format!("10:15 {expected}")]);
    assert_eq!(messages(&profile.replace("resourcepolicy", "ResourcePolicy")), [expected]);
    assert_eq!(findings(&profile.replace("resourcepolicy", "Coscheduling")), [""; 0]);
    let settings = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n\
                    - pluginConfig: [{name: resourcepolicy}]\n";
    fails_like(settings, "scheduler-plugin profiles[0].pluginConfig[0].name: ");
    let indented = profile.replace('\n', "\n    ");
    let config_map = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: scheduler}}\ndata:\n  config.yaml: |\n    {indented}"
    );
    fails_like(&config_map, "scheduler-plugin data[config.yaml]: ");
}

#[test]
fn units_that_take_fewer_pods_than_desired_are_reported_with_the_source() {
    let policy = |strategy: &str, max: &str| {
        let units = [unit("name: a, maxCount: 3", "a"), unit(&format!("name: b{max}"), "b")];
        let pods = "podSelector: {matchLabels: {app: web}}";
        with(&format!("{pods}, strategy: {strategy}, units: [{}]", units.join(", ")))
    };
    let web =
        deployment("web", "{app: web}", "{}").replace("spec:\n  t", "spec:\n  replicas: 4\n  t");
    let rules = "---\napiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\nmetadata: {name: hours}\nspec:\n  \
                 scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n  rules:\n  - {name: rush, \
                 schedule: '0 8 * * *', targetReplicas: 9}\n  - {name: calm, schedule: '0 9 * * *', targetReplicas: 2}\n";
    let all = format!("{}{web}{rules}", policy("required", ", maxCount: 2"));
    assert_eq!(
        only_message(&all),
        "units-too-small spec.units: Deployment.apps default/web gets up to 9 replicas by \
         CronFederatedHPA.autoscaling.karmada.io default/hours, rule rush, and all units together take 5 pods of a group; \
         with strategy: required, 4 of them stay pending"
    );
    let autoscaler = "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec:\n  \
                      scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n  maxReplicas: 6\n";
    assert_eq!(
        only_message(&format!("{}{web}{autoscaler}", policy("required", ", maxCount: 2"))),
        "units-too-small spec.units: Deployment.apps default/web may have 6 replicas by the bounds of \
         HorizontalPodAutoscaler.autoscaling default/web, and all units together take 5 pods of a group; with strategy: \
         required, 1 of them stays pending"
    );
    for fine in [
        format!("{}{web}", policy("required", ", maxCount: 2")),
        format!("{}{web}{rules}", policy("prefer", ", maxCount: 2")),
        format!("{}{web}{rules}", policy("required", "")),
        format!("{}{web}{rules}", policy("required", ", maxCount: 6")),
    ] {
        assert_eq!(findings(&fine), [""; 0], "{fine}");
    }
}
