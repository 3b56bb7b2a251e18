//! Policies for units of nodes over files: the simulation schedules replicas to units.

use std::path::{Path, PathBuf};

use almanac_fixtures::designs::UNITS;
use serde_json::{Value, json};

use crate::forecast::assert_written_down;
use crate::forecast::running::{almanac, folder_with};
use crate::running::{list, word};

pub(crate) const AT: &str = "2026-03-02T12:00:00Z";

/// A policy for the pods `app: web`, with these units and more fields of the spec.
pub(crate) fn policy(name: &str, more: &str, units: &[&str]) -> String {
    format!(
        "---\napiVersion: scheduling.sigs.x-k8s.io/v1alpha1\nkind: ResourcePolicy\nmetadata: {{name: {name}}}\n\
         spec: {{podSelector: {{matchLabels: {{app: web}}}}, {more} units: [{}]}}\n",
        units.join(", ")
    )
}

/// A unit of nodes, named like their pool.
pub(crate) fn unit(name: &str, priority: i32, max: i32) -> String {
    format!(
        "{{name: {name}, priority: {priority}, maxCount: {max}, nodeSelector: {{matchLabels: {{pool: {name}}}}}}}"
    )
}

pub(crate) fn node(name: &str, pool: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{pool: {pool}}}}}\n"
    )
}

/// A Deployment `web` with this number of replicas.
pub(crate) fn web(replicas: u32) -> String {
    format!(
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {{replicas: {replicas}, selector: \
         {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, spec: {{containers: [{{name: \
         web, image: web}}]}}}}}}\n"
    )
}

/// A pod of the Deployment `web`, with more fields of its metadata, on a node or without a node.
pub(crate) fn pod(name: &str, more: &str, node: &str) -> String {
    let owner = "{apiVersion: apps/v1, kind: ReplicaSet, name: web-7d9, controller: true, uid: a}";
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{app: web, pod-template-hash: 7d9}}, \
         ownerReferences: [{owner}]{more}}}\nspec: {{{node} containers: [{{name: web, image: web}}]}}\n"
    )
}

pub(crate) fn on(node: &str) -> String {
    format!("nodeName: {node},")
}

pub(crate) fn folder(name: &str, objects: &[String]) -> PathBuf {
    folder_with(name, &[("all.yaml", &objects.concat())])
}

/// The explanation of an object.
pub(crate) fn explained(folder: &Path, object: &str) -> Value {
    almanac(folder, &["explain", "-f", ".", object, "--at", AT, "-o", "json"]).json()
}

/// Each reason in a line: `won a: because`.
pub(crate) fn lines(report: &Value) -> Vec<String> {
    let line = |it: &Value| {
        let rule = it["rule"].as_str().unwrap_or("-");
        format!("{} {rule}: {}", word(&it["verdict"]), word(&it["because"]))
    };
    list(&report["reasons"]).iter().map(line).collect()
}

/// The forecast of the policy `web` for an hour: the pods in its units, and the pending pods.
pub(crate) fn an_hour(folder: &Path) -> Value {
    let arguments = ["forecast", "-f", ".", "--from", AT, "--for", "1h", "-o", "json", "rp/web"];
    almanac(folder, &arguments).json()
}

/// The pods in the units and the pending pods at the start.
pub(crate) fn filled(folder: &Path) -> (Value, Value) {
    let report = an_hour(folder);
    let first = |series: usize| report["series"][series]["segments"][0]["value"].clone();
    assert_eq!(report["series"][0]["field"], "unitPods", "{report}");
    assert_eq!(report["series"][1]["field"], "pendingPods");
    (first(0), first(1))
}

#[test]
fn three_schedules_fill_two_units_and_the_picture_is_in_the_documents() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let example = ["-f", "examples/units/reserved-then-spot.yaml", "--from", "2026-03-02"];
    let arguments =
        |command: &str, more: &[&str]| almanac(&root, &[&[command], &example[..], more].concat());
    assert_written_down(
        "units.txt",
        &arguments("forecast", &["--for", "2d", "ResourcePolicy/tickets"]),
    );
    assert_written_down("units.json", &arguments("forecast", &["--for", "1d", "-o", "json"]));
    assert_written_down("units-next.txt", &arguments("next", &["--for", "1d"]));
    let picture = arguments("forecast", &["--for", "3d", "-o", "svg"]);
    assert_written_down("../../../../../../docs/units.svg", &picture);
}

#[test]
fn the_pods_of_each_unit_are_counted_and_the_reason_names_full_units() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let example = ["-f", "examples/units/reserved-then-spot.yaml", "--from", "2026-03-02"];
    let question =
        [&["forecast"], &example[..], &["--for", "1d", "-o", "json", "rp/tickets"]].concat();
    let report = almanac(&root, &question).json();
    let [units, pending] = [&report["series"][0], &report["series"][1]];
    let at = |series: &Value, from: &str| {
        let found = list(&series["segments"]).iter().find(|it| it["from"] == from);
        found.unwrap_or_else(|| panic!("{from}: {series}")).clone()
    };
    let evening = at(units, "2026-03-02T17:00:00Z");
    assert_eq!(evening["value"], json!({ "reserved": 20, "spot": 30 }));
    let why = "units \"reserved\" and \"spot\" are full at 20 and 30 pods: 4 pods are pending";
    assert_eq!(evening["reason"], why);
    let waiting = at(pending, "2026-03-02T17:00:00Z");
    assert_eq!((&waiting["value"], &waiting["reason"]), (&json!(4), &json!(why)));
    // 6 pods in 9.5 hours, 20 in 12.5, 10 in 2; and 6 pods in 8 hours, 10 in 1, 30 in 2, 20 in 2.
    assert_eq!(units["podHours"], json!({ "reserved": 327, "spot": 158 }));
    assert_eq!(units["peak"], json!({ "reserved": 20, "spot": 30 }));
    assert_eq!((&pending["podHours"], &pending["peak"]), (&json!(8), &json!(4)));
}

#[test]
fn the_order_of_files_and_objects_makes_no_difference() {
    let objects = [
        policy("web", "", &[&unit("a", 2, 2), &unit("b", 1, 9)]),
        node("a1", "a"),
        node("b1", "b"),
        web(5),
        pod("web-7d9-x", "", &on("b1")),
        pod("web-7d9-y", "", ""),
    ];
    let names = ["0.yaml", "1.yaml", "2.yaml", "3.yaml", "4.yaml", "5.yaml"];
    let texts = objects.each_ref().map(String::as_str);
    let forwards: Vec<_> = names.into_iter().zip(texts).collect();
    let backwards: Vec<_> = names.into_iter().zip(texts.into_iter().rev()).collect();
    let (one, other) =
        (folder_with("units-order", &forwards), folder_with("units-other-order", &backwards));
    for question in
        [&["forecast", "--for", "2d", "--from", AT][..], &["explain", "--at", AT, "rp/web"]]
    {
        for output in ["text", "json"] {
            let run_in_period = |folder: &Path| {
                almanac(folder, &[question, &["-f", ".", "-o", output]].concat()).stdout
            };
            assert!(run_in_period(&one).len() > 200, "{}", run_in_period(&one));
            assert_eq!(run_in_period(&one), run_in_period(&other));
        }
    }
}

#[test]
fn the_yaml_of_the_design_is_forecast_unchanged() {
    let pods = web(45).replace("{name: web}\nspec", "{name: web, namespace: xxx}\nspec");
    let pods = pods.replace("{app: web}", "{key1: value1}");
    let folder = folder("units-design", &[UNITS.to_owned(), pods]);
    let report = almanac(&folder, &["forecast", "-f", ".", "--from", AT, "-o", "json"]).json();
    assert_eq!(report["findings"], json!([]), "{report}");
    let counted = json!({ "unit1": 10, "unit2": 10, "unit3": 20, "outside all units": 5 });
    assert_eq!(report["series"][0]["segments"][0]["value"], counted);
    assert_eq!(report["series"][1]["segments"][0]["value"], json!(0));
    let assumed = report["assumptions"].to_string();
    for assumption in ["of one revision", "the first fills first", "no nodes in the input"] {
        assert!(assumed.contains(assumption), "{assumption}: {assumed}");
    }
}
