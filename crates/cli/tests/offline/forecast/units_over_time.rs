//! Policies for units and files with pods: the owners of pods, their order, and the release of capacity.

use serde_json::json;

use crate::forecast::units::{AT, filled, folder, node, pod, policy, unit, web};

fn two_units() -> String {
    policy("web", "", &[&unit("best", 2, 10), &unit("worst", 1, 10)])
}

/// The object in the namespace `another`, the first in the order of names.
fn in_another(text: &str) -> String {
    text.replacen("metadata: {name: ", "metadata: {namespace: another, name: ", 1)
}

fn roomy(name: &str, pool: &str, cpu: &str) -> String {
    let room = format!("status: {{allocatable: {{cpu: '{cpu}', memory: 64Gi, pods: '110'}}}}\n");
    node(name, pool) + &room
}

#[test]
fn a_unit_is_full_in_one_namespace_only() {
    let capped =
        |name: &str, max: i32| policy(name, "strategy: required,", &[&unit("best", 1, max)]);
    let folder = folder(
        "units-of-two-namespaces",
        &[
            capped("web", 10),
            in_another(&capped("caps", 1)),
            web(3),
            in_another(&web(3)),
            roomy("n1", "best", "16"),
        ],
    );
    assert_eq!(filled(&folder), (json!({"best": 3}), json!(0)));
}

#[test]
fn a_pod_with_a_high_cost_of_its_user_is_kept() {
    let own = ", annotations: {controller.kubernetes.io/pod-deletion-cost: '100000'}";
    let folder = folder(
        "units-own-cost",
        &[
            two_units(),
            web(1),
            node("n1", "best"),
            node("n2", "worst"),
            pod("web-7d9-a", "", "nodeName: n1,"),
            pod("web-7d9-b", own, "nodeName: n2,"),
        ],
    );
    assert_eq!(filled(&folder), (json!({"best": 0, "worst": 1}), json!(0)));
}

#[test]
fn the_pods_of_a_revision_are_one_group_with_every_controller() {
    for (kind, owner, label, revision) in [
        ("StatefulSet", "kind: StatefulSet, name: web", "controller-revision-hash", "web-5d"),
        ("Rollout", "kind: ReplicaSet, name: web-5d", "rollouts-pod-template-hash", "5d"),
        ("Deployment", "kind: ReplicaSet, name: web-5d", "pod-template-hash", "5d"),
    ] {
        let group = if kind == "Rollout" { "argoproj.io/v1alpha1" } else { "apps/v1" };
        let workload = web(6)
            .replace("apps/v1", group)
            .replace("kind: Deployment", &format!("kind: {kind}"))
            .replace("spec: {replicas", "spec: {serviceName: web, replicas");
        let workload = if kind == "StatefulSet" {
            workload
        } else {
            workload.replace("serviceName: web, ", "")
        };
        let of = |name: &str| {
            format!(
                "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{app: web, {label}: {revision}}}, \
                 ownerReferences: [{{apiVersion: apps/v1, {owner}, controller: true, uid: a}}]}}\n\
                 spec: {{nodeName: n1, containers: [{{name: web, image: web}}]}}\n"
            )
        };
        let grouped = format!("matchLabelKeys: [{label}], strategy: required,");
        let folder = folder(
            &format!("units-revisions-{kind}"),
            &[
                policy("web", &grouped, &[&unit("best", 1, 4)]),
                workload,
                node("n1", "best"),
                of("web-0"),
                of("web-1"),
            ],
        );
        assert_eq!(filled(&folder), (json!({"best": 4}), json!(2)), "{kind}");
    }
}

#[test]
fn the_capacity_of_any_terminating_pod_is_free_once_the_pod_is_gone() {
    let hog = |more: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: hog, deletionTimestamp: '{AT}'{more}}}\n\
             spec: {{nodeName: n1, containers: [{{name: hog, image: hog, resources: {{requests: {{cpu: '2'}}}}}}]}}\n"
        )
    };
    let of_daemon_set = ", ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: hog, controller: true, uid: a}]";
    let wide = web(1).replace("image: web}", "image: web, resources: {requests: {cpu: '2'}}}");
    for (case, more) in [("elsewhere", ", namespace: elsewhere"), ("daemon-set", of_daemon_set)] {
        let folder = folder(
            &format!("units-leaving-{case}"),
            &[
                policy("web", "strategy: required,", &[&unit("best", 1, 4)]),
                wide.clone(),
                roomy("n1", "best", "2"),
                hog(more),
            ],
        );
        assert_eq!(filled(&folder), (json!({"best": 1}), json!(0)), "{case}");
    }
}
