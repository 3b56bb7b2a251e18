//! Names of targets, schedules, cluster sets and `ConfigMaps` that differ slightly from the names of present objects.

use crate::written::{autoscaler, check, cron_for, cron_for_workload, messages, producer};

const RULE: &str = "  - {name: up, schedule: '0 9 * * *', targetReplicas: 3}\n";
const HUB: &str = "cluster.open-cluster-management.io";

/// The findings about names in these documents, without other findings.
fn misnamed(documents: &[&str]) -> Vec<String> {
    let mut messages = messages(&documents.join("---\n"));
    messages.retain(|it| it.starts_with("no-such-target "));
    messages
}

fn only_fix(documents: &[&str]) -> String {
    let (_, _, found) = check(&documents.join("---\n"));
    let mut of_names = found.iter().filter(|it| it.finding.code.name() == "no-such-target");
    let fix = of_names.next().and_then(|it| it.finding.fix.clone());
    assert!(of_names.next().is_none(), "{found:?}");
    fix.map(String::from).unwrap_or_default()
}

fn workload(api_version: &str, kind: &str, metadata: &str) -> String {
    format!("apiVersion: {api_version}\nkind: {kind}\nmetadata: {{{metadata}}}\n")
}

fn deployment(metadata: &str) -> String {
    workload("apps/v1", "Deployment", metadata)
}

fn hub_object(kind: &str, version: &str, metadata: &str, spec: &str) -> String {
    format!(
        "apiVersion: {HUB}/{version}\nkind: {kind}\nmetadata: {{{metadata}}}\nspec: {{{spec}}}\n"
    )
}

#[test]
fn a_missing_target_is_reported_with_one_of_a_similar_name() {
    let policy = cron_for("{apiVersion: apps/v1, kind: Deployment, name: shop-frontend}", RULE);
    let front = deployment("name: shop-front");
    let expected = [
        "no-such-target spec.scaleTargetRef.name: Deployment.apps default/shop-frontend is not in the input, but \
      Deployment.apps default/shop-front is",
    ];
    assert_eq!(misnamed(&[&policy, &front]), expected);
    assert_eq!(only_fix(&[&policy, &front]), "write shop-front if that is meant");
    let others = [deployment("name: cart"), deployment("name: shop-front, namespace: other")];
    let of_other_kind = workload("apps/v1", "StatefulSet", "name: shop-front");
    let there = deployment("name: shop-frontend");
    for neighbor in [
        vec![&*others[0]],
        vec![&*others[1]],
        vec![&*of_other_kind],
        vec![&*front, &*there],
        // Either of the two may be meant.
        vec![
            &*front,
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop-frontendapp}\n",
        ],
    ] {
        assert_eq!(misnamed(&[&[&*policy][..], &neighbor].concat()), [""; 0], "{neighbor:?}");
    }
}

#[test]
fn the_target_of_any_kind_and_of_any_policy_or_autoscaler_is_looked_for() {
    let gadget = cron_for("{apiVersion: example.com/v1, kind: Gadget, name: gizmo}", RULE);
    let gadgets = workload("example.com/v1", "Gadget", "name: gizmos");
    assert_eq!(only_fix(&[&gadget, &gadgets]), "write gizmos if that is meant");
    let shops = deployment("name: shops");
    let metrics = autoscaler("minReplicas: 1, maxReplicas: 3, metrics: []");
    assert_eq!(only_fix(&[&metrics, &shops]), "write shops if that is meant");
    // Another mistake in the policy does not hide the finding.
    let broken = cron_for_workload("  - {name: up, schedule: '0 9 * *', targetReplicas: 3}\n");
    assert_eq!(only_fix(&[&broken, &shops]), "write shops if that is meant");
}

#[test]
fn an_unusable_target_counts_as_present() {
    let policy = cron_for_workload(RULE);
    let shops = deployment("name: shops");
    for unusable in [
        deployment("name: shop").replace("apps/v1", "app/v1"),
        deployment("name: shop") + "spec: {replicas: -3}\n",
        deployment("name: shop") + "spec: {replicas: '{{ .Values.peak }}'}\n",
        deployment("name: shop") + "\tx: [\n",
    ] {
        assert_eq!(misnamed(&[&policy, &shops, &unusable]), [""; 0], "{unusable}");
    }
    let of_autoscaler = cron_for(
        "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, name: shop}",
        "  - {name: up, schedule: '0 9 * * *', targetMinReplicas: 3}\n",
    );
    let there = workload("autoscaling/v2", "HorizontalPodAutoscaler", "name: shops");
    let removed = workload("autoscaling/v2beta2", "HorizontalPodAutoscaler", "name: shop");
    assert_eq!(misnamed(&[&of_autoscaler, &there]).len(), 1);
    assert_eq!(misnamed(&[&of_autoscaler, &there, &removed]), [""; 0]);
}

#[test]
fn the_schedule_of_a_query_is_looked_for_by_its_name() {
    let hours = producer("{defaultReplicas: 1, behaviors: []}");
    let query = |matchers: &str| {
        autoscaler(&format!(
            "minReplicas: 1, maxReplicas: 3, metrics: [{{prometheus: {{query: 'karpenter_scheduled_capacity\
             {{{matchers}}}', target: {{type: Value, value: 1}}}}}}]"
        ))
    };
    let producer = "MetricsProducer.autoscaling.karpenter.sh";
    let field = "no-such-target spec.metrics[0].prometheus.query:";
    assert_eq!(
        misnamed(&[&query("name=\"nigth\", namespace=\"default\""), &hours]),
        [format!(
            "{field} {producer} default/nigth is not in the input, but {producer} default/night is"
        )]
    );
    let by_name = query("name=\"nigth\"");
    assert_eq!(
        misnamed(&[&by_name, &hours]),
        [format!("{field} {producer} nigth is not in the input, but {producer} night is")]
    );
    assert_eq!(only_fix(&[&by_name, &hours]), "write night if that is meant");
    for matchers in [
        "name=\"night\"",
        "name=\"noon\"",
        "name=~\"nigth\"",
        "name!=\"nigth\"",
        "name=\"nigth\", namespace=\"other\"",
    ] {
        assert_eq!(misnamed(&[&query(matchers), &hours]), [""; 0], "{matchers}");
    }
}

#[test]
fn a_cluster_set_is_looked_for_wherever_it_is_named() {
    let set = hub_object("ManagedClusterSet", "v1beta2", "name: prod", "");
    let placement = |sets: &str| {
        hub_object("Placement", "v1beta1", "name: web", &format!("clusterSets: [{sets}]"))
    };
    let missing = format!(
        "ManagedClusterSet.{HUB} prodd is not in the input, but ManagedClusterSet.{HUB} prod is"
    );
    let expected = [format!("no-such-target spec.clusterSets[1]: {missing}")];
    assert_eq!(misnamed(&[&placement("other, prodd"), &set]), expected);
    let binding = |set: &str| {
        hub_object(
            "ManagedClusterSetBinding",
            "v1beta2",
            &format!("name: {set}"),
            &format!("clusterSet: {set}"),
        )
    };
    let expected = [format!("no-such-target spec.clusterSet: {missing}")];
    assert_eq!(misnamed(&[&binding("prodd"), &set]), expected);
    let expected = "write prod, also as metadata.name if that is meant";
    assert_eq!(only_fix(&[&binding("prodd"), &set]), expected);
    let cluster = hub_object(
        "ManagedCluster",
        "v1",
        &format!("name: east, labels: {{{HUB}/clusterset: prodd}}"),
        "hubAcceptsClient: true",
    );
    let expected = [format!("no-such-target metadata.labels[{HUB}/clusterset]: {missing}")];
    assert_eq!(misnamed(&[&cluster, &set]), expected);
    // A set that is defined elsewhere is known by its binding.
    let bound = misnamed(&[&placement("prodd"), &binding("prod")]);
    assert!(bound[0].contains("ManagedClusterSetBinding") && bound.len() == 1, "{bound:?}");
    let globals = hub_object("ManagedClusterSet", "v1beta2", "name: globals", "");
    assert_eq!(misnamed(&[&placement("global"), &globals]), [""; 0], "every hub has it");
    assert_eq!(misnamed(&[&placement("prod, test"), &set]), [""; 0]);
}

#[test]
fn a_config_map_of_nearly_the_right_name_is_reported_if_it_has_policies() {
    let config = |name: &str, document: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n  colocation-config: |\n    \
             globalConfig: {{{document}: []}}\n"
        )
    };
    let policies = "timeBasedQoSPolicies";
    let slip = config("volcano-agent-configuraton", policies);
    let expected = [
        "no-such-target metadata.name: Invalid value: \"volcano-agent-configuraton\": Volcano's agent does not read \
      a ConfigMap of this name, so its policies do nothing",
    ];
    assert_eq!(misnamed(&[&slip]), expected);
    assert_eq!(only_fix(&[&slip]), "write volcano-agent-configuration if that is meant");
    for other in [
        config("volcano-agent-configuration", policies),
        config("volcano-agent-configuraton", "cpuBurstConfig"),
        config("our-volcano-settings", policies),
    ] {
        assert_eq!(misnamed(&[&other]), [""; 0], "{other}");
    }
}
