//! The causes of pending and placed pods in forecasts and explanations.

use serde_json::json;

use crate::forecast::units::{
    an_hour, explained, filled, folder, lines, node, on, pod, policy, unit, web,
};
use crate::running::word;

/// A full unit, a unit with free capacity, and a closed unit.
fn three_units(more: &str) -> String {
    policy("web", more, &[&unit("a", 3, 1), &unit("b", 2, 9), &unit("c", 1, 0)])
}

fn with_status(node: String, status: &str) -> String {
    node + &format!("status: {{allocatable: {{{status}}}}}\n")
}

fn cordoned(name: &str, pool: &str) -> String {
    node(name, pool) + "spec: {unschedulable: true}\n"
}

/// The reasons for the pending pod `web-7d9-y`, and for the pending pods in the forecast.
fn pending_reasons(name: &str, objects: &[String]) -> (String, String) {
    let there = [web(2), node("a1", "a"), pod("web-7d9-x", "", &on("a1"))];
    let folder = folder(name, &[objects, &there].concat());
    let output = lines(&explained(&folder, "pod/web-7d9-y")).remove(0);
    let output = output.strip_prefix("inactive -: pending: ").unwrap_or(&output).to_owned();
    (output, word(&an_hour(&folder)["series"][1]["segments"][0]["reason"]).to_owned())
}

#[test]
fn each_cause_of_a_pending_pod_is_explained() {
    let waits = || pod("web-7d9-y", "", "");
    let gated =
        || waits().replace("spec: {", "spec: {schedulingGates: [{name: example.com/held}],");
    let required = || three_units("strategy: required,");
    let full_a = "unit \"a\" is full at 1 pod; unit \"c\" is closed";
    for (number, (objects, explained, forecast)) in [
        (
            vec![required(), waits()],
            "ResourcePolicy default/web allows nodes of unit \"b\", and there are none",
            format!("{full_a}; unit \"b\" has no nodes: 1 pod is pending"),
        ),
        (
            vec![required(), waits(), cordoned("b1", "b")],
            "ResourcePolicy default/web allows nodes of unit \"b\", and all of them are cordoned",
            format!("{full_a}; all nodes of unit \"b\" are cordoned: 1 pod is pending"),
        ),
        (
            vec![required(), waits(), with_status(node("b1", "b"), "pods: '0'")],
            "ResourcePolicy default/web allows nodes of unit \"b\", and none has room for it",
            format!("{full_a}; no node of unit \"b\" has room: 1 pod is pending"),
        ),
        (
            vec![three_units(""), waits(), cordoned("x1", "x")],
            "ResourcePolicy default/web allows nodes of unit \"b\" or outside all units, and all of them are cordoned",
            format!(
                "{full_a}; unit \"b\" has no nodes; all other nodes are cordoned: 1 pod is pending"
            ),
        ),
        (
            vec![required().replace("maxCount: 9", "maxCount: 0"), waits(), node("b1", "b")],
            "no unit of ResourcePolicy default/web has room, and its strategy is required",
            "unit \"a\" is full at 1 pod; units \"b\" and \"c\" are closed: 1 pod is pending".into(),
        ),
        (
            vec![required(), gated(), node("b1", "b")],
            "no scheduler looks for a node while it has scheduling gates (example.com/held)",
            "1 pod is pending because of its scheduling gates".into(),
        ),
        (
            vec![required(), waits(), node("b1", "b")],
            "ResourcePolicy default/web allows a node of unit \"b\", and one has room; taints, \
             affinities and its node selector are not considered",
            "every pod has a place".into(),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let (output, told_then) = pending_reasons(&format!("units-cause-{number}"), &objects);
        assert_eq!((output.as_str(), told_then), (explained, forecast), "{number}");
    }
}

#[test]
fn a_pod_that_is_too_large_for_every_node_is_pending_for_lack_of_capacity() {
    let large = pod("web-7d9-y", "", "")
        .replace("image: web}", "image: web, resources: {requests: {cpu: '8'}}}");
    let small = with_status(node("b1", "b"), "cpu: '4', pods: '110'");
    let (_, reason) =
        pending_reasons("units-large", &[three_units("strategy: required,"), large, small]);
    assert_eq!(
        reason,
        "unit \"a\" is full at 1 pod; unit \"c\" is closed; no node of unit \"b\" has room: 1 pod is pending"
    );
}

#[test]
fn a_unit_over_its_cap_is_listed_as_such() {
    let pods = (0..3).map(|number| pod(&format!("web-7d9-{number}"), "", &on("a1")));
    let there = [three_units("strategy: required,"), node("a1", "a"), web(3)];
    let folder = folder("units-over", &there.into_iter().chain(pods).collect::<Vec<_>>());
    let reason = &an_hour(&folder)["series"][0]["segments"][0]["reason"];
    assert_eq!(reason, "unit \"a\" is over its cap of 1 pod");
}

#[test]
fn a_pod_past_its_deletion_is_not_counted() {
    let gone = ", deletionTimestamp: '2026-02-01T00:00:00Z', deletionGracePeriodSeconds: 30";
    let folder = folder(
        "units-overdue",
        &[
            three_units("strategy: required,"),
            node("a1", "a"),
            web(1),
            pod("web-7d9-x", gone, &on("a1")),
            pod("web-7d9-y", "", ""),
        ],
    );
    let expected = [
        "excluded -: the pod was due to be gone at 2026-02-01T00:00:00Z, and is not counted any more; a node that does not \
      respond, or a finalizer, may keep it",
    ];
    assert_eq!(lines(&explained(&folder, "pod/web-7d9-x")), expected);
    let output = lines(&explained(&folder, "pod/web-7d9-y"));
    assert!(output[1].contains("has room: 0 of 1 pod"), "{output:?}");
}

#[test]
fn a_pod_of_two_policies_on_a_node_is_explained_with_its_unit() {
    let folder = folder(
        "units-two-on-a-node",
        &[
            policy("web", "", &[&unit("a", 1, 9)]),
            policy("other", "", &[&unit("b", 1, 9)]),
            node("a1", "a"),
            pod("web-7d9-x", "", &on("a1")),
        ],
    );
    assert_eq!(
        lines(&explained(&folder, "pod/web-7d9-x"))[0],
        "error -: 2 ResourcePolicies select the pod (default/other, default/web), and only one may; the pod is on node a1, \
         and counts in unit \"a\" of ResourcePolicy default/web and outside every unit of ResourcePolicy default/other"
    );
}

#[test]
fn workloads_are_within_the_bounds_of_their_autoscalers_also_when_a_cron_rule_sets_these() {
    let autoscaler = "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec:\n  \
                      scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n  minReplicas: 3\n  \
                      maxReplicas: 20\n";
    let rules = "---\napiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\nmetadata: {name: rush}\nspec:\n  \
                 scaleTargetRef: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, name: web}\n  rules:\n  - \
                 {name: rush, schedule: '30 12 * * *', targetMinReplicas: 8}\n  - {name: calm, schedule: '0 1 * * *', \
                 targetMinReplicas: 3}\n";
    let units = policy("web", "strategy: required,", &[&unit("a", 2, 5), &unit("b", 1, 9)]);
    let objects = [units, web(1), autoscaler.to_owned(), rules.to_owned()];
    let folder = folder("units-bounds", &objects);
    assert_eq!(filled(&folder), (json!({ "a": 3, "b": 0 }), json!(0)));
    let output = an_hour(&folder);
    let later = &output["series"][0]["segments"][1];
    assert_eq!(later["from"], "2026-03-02T12:30:00Z");
    assert_eq!(later["value"], json!({ "a": 5, "b": 3 }));
    let assumed = output["assumptions"].to_string();
    let output_text = "HorizontalPodAutoscaler.autoscaling default/web only keeps Deployment.apps default/web within \
                its bounds";
    assert!(assumed.contains(output_text), "{assumed}");
}

#[test]
fn many_workloads_are_not_all_named() {
    let made =
        (0..9).map(|number| web(1).replace("{name: web}", &format!("{{name: web-{number}}}")));
    let there = policy("web", "", &[&unit("a", 1, 2)]);
    let folder = folder("units-many", &[there].into_iter().chain(made).collect::<Vec<_>>());
    let output = lines(&explained(&folder, "rp/web"));
    let last = output.last().unwrap();
    let named =
        "the next pod of Deployment/web-0, Deployment/web-1, Deployment/web-2 and 6 more goes here";
    assert!(last.ends_with(named), "{output:?}");
}
