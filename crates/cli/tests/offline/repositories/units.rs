//! Policies for units of nodes together with the pods and workloads of a repository, cluster by cluster.

use crate::repositories::repository::{Repository, findings};

/// A policy for the pods with a label.
fn units(name: &str, label: &str) -> String {
    format!(
        "apiVersion: scheduling.sigs.x-k8s.io/v1alpha1\nkind: ResourcePolicy\nmetadata:\n  name: {name}\nspec:\n  \
         podSelector:\n    matchLabels: {{{label}}}\n  units:\n  - nodeSelector: {{matchLabels: {{pool: spot}}}}\n"
    )
}

/// A workload whose pods have these labels.
fn workload(kind: &str, labels: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: web}}\nspec:\n  template:\n    metadata: {{labels: \
         {{{labels}}}}}\n    spec: {{containers: [{{name: web}}]}}\n"
    )
}

#[test]
fn policies_meet_the_workloads_of_their_own_cluster() {
    let both = "app: web, tier: front";
    let repository = Repository::new("units")
        .file("clusters/prod/policies/web.yaml", units("web", "app: web"))
        .file("clusters/prod/policies/front.yaml", units("front", "tier: front"))
        .file("clusters/prod/web.yaml", workload("DaemonSet", both))
        .file("clusters/staging/policies/web.yaml", units("web", "app: web"))
        .file("clusters/staging/policies/front.yaml", units("front", "tier: front"))
        .file("clusters/staging/web.yaml", workload("Deployment", both));
    let output = repository.run_json("validate", &[]);
    assert_eq!(findings(&output), ["two-policies clusters/staging/policies/web.yaml:6:3"]);
    let message = output["findings"][0]["message"].as_str().unwrap();
    assert!(message.contains("Deployment.apps default/web is also selected by"), "{message}");
    assert!(message.contains("at clusters/staging/policies/front.yaml:1"), "{message}");
    assert_eq!(output["findings"][0]["place"], "clusters/staging");
}

#[test]
fn a_profile_with_the_plugin_is_found_in_a_directory() {
    let profile = |key: &str, plugin: &str| {
        format!(
            "{key}: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- plugins:\n    \
             multiPoint: {{enabled: [{{name: {plugin}}}]}}\n"
        )
    };
    let repository = Repository::new("profiles")
        .file("scheduler/a.yaml", profile("apiVersion", "resourcepolicy"))
        .file("scheduler/b.yaml", profile("piVersion", "resourcepolicy"))
        .file("scheduler/c.yaml", profile("piVersion", "Coscheduling"));
    let output = repository.run_json("validate", &[]);
    let expected = [
        "scheduler-plugin scheduler/a.yaml:5:35",
        "unknown-field scheduler/b.yaml:1:1",
        "scheduler-plugin scheduler/b.yaml:5:35",
    ];
    assert_eq!(findings(&output), expected);
}

#[test]
fn duplicate_pods_nodes_and_workloads_are_reported_with_both_locations_and_ignored() {
    let node = |pool: &str| {
        format!("apiVersion: v1\nkind: Node\nmetadata: {{name: n1, labels: {{pool: {pool}}}}}\n")
    };
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web-x, labels: {app: web}}\nspec: {containers: [{name: web}]}\n";
    let files = |first: &str, other: &str| {
        let repository = Repository::new("units-twice")
            .file("policy.yaml", units("web", "app: web"))
            .file("a/nodes.yaml", node(first))
            .file("b/nodes.yaml", format!("{pod}---\n{}", node(other)))
            .file("b/pods.yaml", pod)
            .file("a/web.yaml", workload("Deployment", "app: web"))
            .file("b/web.yaml", workload("Deployment", "app: web"))
            .file("a/job.yaml", workload("Job", "app: web"))
            .file("b/job.yaml", workload("Job", "app: web"));
        let output = repository.run_json("validate", &["-f", "."]);
        let forecast = repository.run_json("forecast", &["-f", "."]);
        (output, forecast["series"].clone())
    };
    let (output, series) = files("spot", "other");
    let expected = [
        "duplicate-object b/job.yaml:1:1",
        "duplicate-object b/nodes.yaml:6:1",
        "duplicate-object b/pods.yaml:1:1",
        "duplicate-object b/web.yaml:1:1",
    ];
    assert_eq!(findings(&output), expected, "{output}");
    assert_eq!(
        output["findings"][1]["message"],
        "Node n1 is defined twice, first at a/nodes.yaml:1"
    );
    let message = &output["findings"][2]["message"];
    assert_eq!(message, "Pod default/web-x is defined twice, first at b/nodes.yaml:1");
    let (_, other_way_round) = files("other", "spot");
    assert_eq!(series, other_way_round);
}
