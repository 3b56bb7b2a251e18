//! The explanations of placed and pending pods, and of the usage of each node unit, for files.

use std::path::Path;

use serde_json::json;

use crate::forecast::assert_written_down;
use crate::forecast::running::{almanac, segments};
use crate::forecast::units::{
    AT, explained, filled, folder, lines, node, on, pod, policy, unit, web,
};

#[test]
fn a_pod_is_explained_by_its_unit_and_the_unit_of_the_next_pod() {
    let cost = ", annotations: {controller.kubernetes.io/pod-deletion-cost: '200', \
                almanac.dev/deletion-cost-owner: almanac/200}";
    let own = ", annotations: {controller.kubernetes.io/pod-deletion-cost: '7'}";
    let folder = folder(
        "units-explained",
        &[
            policy("web", "", &[&unit("a", 2, 1), &unit("b", 1, 9)]),
            node("a1", "a"),
            node("b1", "b"),
            web(3),
            pod("web-7d9-x", "", &on("a1")),
            pod("web-7d9-y", cost, &on("b1")),
            pod("web-7d9-z", own, &on("b1")),
        ],
    );
    let here = |pods: &str, node: &str, unit: &str| {
        format!(
            "the pod is on node {node}, in unit \"{unit}\" of ResourcePolicy default/web ({pods})"
        )
    };
    let next = [
        "excluded a: for the next pod like it: unit \"a\" of ResourcePolicy default/web is full: 1 of 1 pod",
        "inactive b: for the next pod like it: unit \"b\" of ResourcePolicy default/web has room: 2 of 9 pods",
        "excluded outside all units: for the next pod like it: there are no nodes outside all units",
    ];
    for (name, first) in [
        ("x", format!("won a: {}; its deletion cost will be 300", here("1 of 1 pod", "a1", "a"))),
        ("y", format!("won b: {}; its deletion cost is 200", here("2 of 9 pods", "b1", "b"))),
        (
            "z",
            format!(
                "won b: {}; its deletion cost is set by its user, and is kept",
                here("2 of 9 pods", "b1", "b")
            ),
        ),
    ] {
        let output = explained(&folder, &format!("pod/web-7d9-{name}"));
        assert_eq!(output["policy"]["kind"], "ResourcePolicy");
        assert_eq!(output["target"]["name"], format!("web-7d9-{name}"));
        let expected: Vec<&str> = [first.as_str()].into_iter().chain(next).collect();
        assert_eq!(lines(&output), expected);
    }
    let shown = almanac(&folder, &["explain", "-f", ".", "pod/web-7d9-y", "--at", AT]);
    assert_written_down("units-pod.txt", &shown);
}

#[test]
fn a_pending_pod_is_explained_by_each_unit() {
    let units = policy(
        "web",
        "strategy: required,",
        &[&unit("a", 3, 1), &unit("b", 2, 9), &unit("c", 1, 0)],
    );
    let large = "---\napiVersion: v1\nkind: Node\nmetadata: {name: b1, labels: {pool: b}}\nstatus: {allocatable: \
                 {cpu: '2', pods: '0'}}\n";
    let folder = folder(
        "units-pending",
        &[
            units,
            node("a1", "a"),
            large.to_owned(),
            node("c1", "c"),
            web(2),
            pod("web-7d9-x", "", &on("a1")),
            pod("web-7d9-y", "", ""),
        ],
    );
    let output = explained(&folder, "pod/web-7d9-y");
    let expected = [
        "inactive -: pending: ResourcePolicy default/web allows nodes of unit \"b\", and none has room for it",
        "excluded a: unit \"a\" of ResourcePolicy default/web is full: 1 of 1 pod",
        "excluded b: no node of unit \"b\" has room for it",
        "excluded c: unit \"c\" of ResourcePolicy default/web is closed: its maxCount is 0",
        "excluded outside all units: strategy: required allows no node outside the units",
    ];
    assert_eq!(lines(&output), expected);
    assert_eq!(filled(&folder), (json!({ "a": 1, "b": 0, "c": 0 }), json!(1)));
}

#[test]
fn a_pod_of_two_policies_is_explained_with_both() {
    let of = |name: &str| policy(name, "", &[&unit("a", 1, 9)]);
    let folder = folder("units-two", &[of("web"), of("other"), web(1), pod("web-7d9-x", "", "")]);
    let output = explained(&folder, "pod/web-7d9-x");
    let message =
        "2 ResourcePolicies select the pod (default/other, default/web), and only one may";
    // The explained policy also has a finding that names the other policy.
    assert_eq!(lines(&output)[0], format!("error -: {message}"));
    assert_eq!(filled(&folder), (json!({ "a": 0 }), json!(1)));
    let output = explained(&folder, "rp/web");
    let last = lines(&output).pop().unwrap();
    assert_eq!(last, "error -: not scheduled: 1 pod that several policies select (other, web)");
}

#[test]
fn pods_without_a_policy_have_a_reason() {
    let of = |kind: &str| {
        pod("stray", "", &on("a1"))
            .replace("ReplicaSet", kind)
            .replace("name: stray", &format!("name: {}", kind.to_lowercase()))
    };
    let mirror = pod("mirror", ", annotations: {kubernetes.io/config.mirror: x}", &on("a1"));
    let other = pod("other", "", &on("a1")).replace("app: web,", "app: other,");
    let a = unit("a", 1, 9);
    let folder = folder(
        "units-ungoverned",
        &[policy("web", "", &[&a]), node("a1", "a"), of("DaemonSet"), mirror, other],
    );
    for (name, why) in [
        ("daemonset", "no ResourcePolicy governs the pod: a DaemonSet owns it"),
        ("mirror", "no ResourcePolicy governs the pod: it is a mirror pod"),
        ("other", "no ResourcePolicy selects the pod"),
    ] {
        let output = explained(&folder, &format!("pod/{name}"));
        assert_eq!(lines(&output), [format!("excluded -: {why}")]);
    }
}

#[test]
fn ended_and_terminating_pods_state_whether_they_are_counted() {
    let gone = ", deletionTimestamp: '2026-03-02T12:30:00Z', deletionGracePeriodSeconds: 30";
    let done = pod("done", "", &on("a1")) + "status: {phase: Succeeded}\n";
    let folder_of = |name: &str, more: &str| {
        let a = unit("a", 1, 9);
        folder(
            name,
            &[
                policy("web", more, &[&a]),
                node("a1", "a"),
                web(0),
                done.clone(),
                pod("ends", gone, &on("a1")),
            ],
        )
    };
    let counts = folder_of("units-ending", "");
    let first = |folder: &Path, pod: &str| lines(&explained(folder, pod)).remove(0);
    assert_eq!(first(&counts, "pod/done"), "excluded -: the pod has finished and is not counted");
    let ends = first(&counts, "pod/ends");
    let part = "being deleted, gone at 2026-03-02T12:30:00Z, and counts until then";
    assert!(ends.contains(part), "{ends}");
    let ignores = folder_of("units-ignoring", "matchPolicy: {ignoreTerminatingPod: true},");
    assert_eq!(
        first(&ignores, "pod/ends"),
        "excluded -: the pod is being deleted and is not counted"
    );
    let output =
        almanac(&counts, &["forecast", "-f", ".", "--from", AT, "-o", "json", "rp/web"]).json();
    let (before, after) = (json!({ "a": 1 }), json!({ "a": 0 }));
    let expected = [(AT, &before), ("2026-03-02T12:30:00Z", &after)];
    assert_eq!(segments(&output["series"][0]), expected);
}

#[test]
fn a_relabeled_node_and_an_edited_cap_count_again_and_evict_no_pod() {
    let pods = || (0..3).map(|number| pod(&format!("web-7d9-{number}"), "", &on("n1")));
    let folder_of = |name: &str, pool: &str, max| {
        let (a, b) = (unit("a", 2, max), unit("b", 1, 9));
        let objects = [policy("web", "strategy: required,", &[&a, &b]), node("n1", pool), web(3)];
        folder(name, &objects.into_iter().chain(pods()).collect::<Vec<_>>())
    };
    assert_eq!(filled(&folder_of("units-there", "a", 9)), (json!({ "a": 3, "b": 0 }), json!(0)));
    let expected = (json!({ "a": 0, "b": 3 }), json!(0));
    assert_eq!(filled(&folder_of("units-relabelled", "b", 9)), expected);
    let lowered = folder_of("units-lowered", "a", 1);
    assert_eq!(filled(&lowered), (json!({ "a": 3, "b": 0 }), json!(0)));
    assert_eq!(filled(&folder_of("units-raised", "a", 4)), (json!({ "a": 3, "b": 0 }), json!(0)));
    let output = lines(&explained(&lowered, "rp/web"));
    assert!(output[0].contains("3 of 1 pod (over its cap)"), "{output:?}");
    let output = lines(&explained(&lowered, "pod/web-7d9-2"));
    assert!(output[0].contains("(3 of 1 pod), and over its cap"), "{output:?}");
    assert!(output[0].contains("its deletion cost will be -200"), "{output:?}");
}

#[test]
fn a_policy_is_explained_unit_by_unit() {
    let units = policy("web", "", &[&unit("a", 2, 2), &unit("b", 1, 9)]);
    let folder = folder("units-policy", &[units, web(5)]);
    let output = explained(&folder, "rp/web");
    assert_eq!(output["value"], json!({ "unitPods": { "a": 2, "b": 3 }, "pendingPods": 0 }));
    let expected = [
        "excluded a: 2 of 2 pods; a pod of a ReplicaSet costs 300 to delete",
        "won b: 3 of 9 pods; a pod of a ReplicaSet costs 200 to delete; the next pod of Deployment/web goes here",
    ];
    assert_eq!(lines(&output), expected);
}

#[test]
fn a_policy_without_pods_is_explained_and_not_forecast() {
    let a = unit("a", 2, 2);
    let folder = folder("units-without-pods", &[policy("web", "", &[&a])]);
    let expected = ["inactive a: 0 of 2 pods; a pod of a ReplicaSet costs 300 to delete"];
    assert_eq!(lines(&explained(&folder, "rp/web")), expected);
    let output = almanac(&folder, &["forecast", "-f", ".", "--from", AT, "-o", "json"]).json();
    assert_eq!(output["series"], json!([]));
}

#[test]
fn a_pod_may_have_a_level_and_a_unit() {
    let a = unit("a", 1, 9);
    let levels = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: volcano-agent-configuration, namespace: \
                  volcano-system}\ndata:\n  volcano-agent-config: |\n    {}\n";
    let folder = folder(
        "units-and-levels",
        &[
            policy("web", "", &[&a]),
            node("a1", "a"),
            pod("web-7d9-x", "", &on("a1")),
            levels.to_owned(),
        ],
    );
    almanac(&folder, &["explain", "-f", ".", "pod/web-7d9-x", "--at", AT])
        .assert_stdout(&["in unit \"a\" of ResourcePolicy default/web"]);
}
