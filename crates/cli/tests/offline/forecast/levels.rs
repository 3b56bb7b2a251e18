//! QoS levels in a forecast: of pods, and of workloads whose templates represent pods.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::forecast::assert_written_down;
use crate::forecast::running::{almanac, folder_with, in_one_line};
use crate::running::{Ran, list};

/// The example of the design, with a node that has no policies.
pub(crate) const AGENT: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: volcano-agent-config, namespace: volcano-system}
data:
  config.yaml: |
    globalConfig:
      timeBasedQoSPolicies:
      - name: online-qos-at-night
        startTime: \"22:00\"
        endTime: \"08:00\"
        timeZone: Asia/Shanghai
        selector: {matchLabels: {workload-type: online}}
        targetQoSLevel: -1
      - name: offline-qos-during-day
        startTime: \"08:00\"
        endTime: \"22:00\"
        timeZone: Asia/Shanghai
        selector: {matchLabels: {workload-type: offline}}
        targetQoSLevel: -1
    nodesConfig:
    - selector: {matchLabels: {pool: quiet}}
      timeBasedQoSPolicies: []
";

const NODES: &str = "\
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {pool: quiet}}
";

const WORKLOADS: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    metadata: {labels: {app: web, workload-type: online}}
    spec: {containers: []}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: report}
spec:
  schedule: '0 3 1 * *'
  jobTemplate:
    spec:
      template:
        metadata: {labels: {app: report, workload-type: offline}}
        spec: {containers: []}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: batch}
spec:
  template:
    metadata: {labels: {app: batch}}
    spec: {containers: []}
";

fn pod(name: &str, node: &str, more: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}\n  labels: {{app: batch, workload-type: offline}}\n\
         {more}spec: {{nodeName: {node}}}\n---\n"
    )
}

fn folder(name: &str) -> PathBuf {
    let level = "  annotations: {volcano.sh/qos-level: '1'}\n";
    let pods: String =
        (0..37).map(|number| pod(&format!("batch-{number:02}"), "n1", level)).collect();
    let quiet = pod("quiet", "n2", level);
    let files = [
        ("agent.yaml", AGENT),
        ("nodes.yaml", NODES),
        ("pods.yaml", &(pods + &quiet)),
        ("workloads.yaml", WORKLOADS),
    ];
    folder_with(name, &files)
}

const PERIOD: [&str; 5] = ["-f", ".", "--from", "2026-11-23T00:00:00+08:00", "--for=1d"];

pub(crate) fn run_in_period(folder: &Path, command: &str, further: &[&str]) -> Ran {
    almanac(folder, &[&[command], &PERIOD[..], further].concat())
}

#[test]
fn equal_pods_are_drawn_as_one_and_templates_represent_pods() {
    let folder = folder("levels");
    assert_written_down("levels.txt", &run_in_period(&folder, "forecast", &[]));
    assert_written_down("levels-next.txt", &run_in_period(&folder, "next", &[]));
    run_in_period(&folder, "forecast", &["-o", "svg"])
        .assert_stdout(&["37 pods of app=batch in default"]);
}

#[test]
fn every_pod_has_a_series_of_its_own_for_programs() {
    let output = run_in_period(&folder("levels-json"), "forecast", &["-o", "json"]).json();
    let series = list(&output["series"]);
    assert_eq!(series.len(), 39, "the pods of the quiet node follow no policy");
    let batch = series.iter().find(|it| it["target"]["name"] == "batch-07").unwrap();
    assert_eq!(
        batch["target"],
        json!({ "apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "batch-07" })
    );
    assert_eq!(batch["field"], "qosLevel");
    let segments = list(&batch["segments"]).iter();
    let segments = segments.map(|it| json!([it["from"], it["value"], it["policy"]["rule"]]));
    let expected = [
        json!(["2026-11-22T16:00:00Z", "1", null]),
        json!(["2026-11-23T00:00:00Z", "-1", "offline-qos-during-day"]),
        json!(["2026-11-23T14:00:00Z", "1", null]),
    ];
    assert_eq!(segments.collect::<Vec<_>>(), expected);
    let web = series.iter().find(|it| it["target"]["name"] == "web").unwrap();
    assert_eq!(web["segments"][1]["value"], Value::Null, "without an annotation there is no level");
}

#[test]
fn a_pod_is_explained_by_its_list() {
    let folder = folder("levels-explained");
    let explain = |name: &str| {
        let command = ["explain", "-f", ".", name, "--at", "2026-11-23T12:00:00+08:00"];
        almanac(&folder, &[&command[..], &["-o", "json"]].concat())
    };
    let won = explain("Pod/default/batch-07").json();
    assert_eq!(
        (&won["value"], &won["policy"]["name"]),
        (&json!("-1"), &json!("volcano-agent-config"))
    );
    let reasons = list(&won["reasons"]).iter();
    let verdicts = reasons.map(|it| json!([it["rule"], it["verdict"], it["since"]]));
    let expected = [
        json!(["online-qos-at-night", "excluded", null]),
        json!(["offline-qos-during-day", "won", "2026-11-23T00:00:00Z"]),
    ];
    assert_eq!(verdicts.collect::<Vec<_>>(), expected);
    assert_eq!(won["next"], json!({ "at": "2026-11-23T14:00:00Z", "value": "1" }));
    let own = explain("deployment/web").json();
    assert_eq!((&own["value"], &own["reasons"][0]["verdict"]), (&Value::Null, &json!("won")));
    assert_eq!(explain("pod/*h-0?").stderr, "", "a pattern may match several objects");
}

#[test]
fn levels_are_written_as_names_if_requested() {
    let by_name = ["-o", "json", "--qos-level-format=name", "pod/batch-07"];
    let output = run_in_period(&folder("levels-named"), "forecast", &by_name).json();
    let [series] = list(&output["series"]) else { panic!("{output:#}") };
    assert_eq!(series["segments"][1]["value"], "BE");
}

#[test]
fn a_config_map_that_the_agent_does_not_read_is_reported() {
    let folder = folder("levels-elsewhere");
    let output = run_in_period(&folder, "forecast", &["--config-namespace", "agents"]).stdout;
    let why = "is not applied; the agent's ConfigMap is in the namespace agents";
    assert!(!output.contains("qosLevel") && in_one_line(&output).contains(why), "{output}");
}

#[test]
fn an_unusable_list_leaves_the_pods_unchanged_and_is_reported() {
    let broken = AGENT.replacen("22:00", "25:00", 1);
    let folder = folder_with(
        "levels-broken",
        &[("agent.yaml", &broken), ("pods.yaml", &pod("batch", "n1", "")), ("nodes.yaml", NODES)],
    );
    let output = run_in_period(&folder, "forecast", &[]).ended(1);
    output.assert_stdout(&["nothing to forecast", "agent.yaml:9:20"]);
}

#[test]
fn changes_of_pods_at_one_instant_are_one_line_despite_others_between() {
    let of = |app: &str, name: &str, level: &str| {
        let annotations = format!("  annotations: {{volcano.sh/qos-level: '{level}'}}\n");
        pod(name, "n1", &annotations).replace("workload-type: offline", app)
    };
    // Between two pods of one policy is always a pod of the other policy, or a pod with another level.
    let pods: String = (0..12)
        .map(|number| match number % 3 {
            0 => of("workload-type: offline", &format!("p-{number:02}"), "1"),
            1 => of("workload-type: online", &format!("p-{number:02}"), "2"),
            _ => of("workload-type: offline", &format!("p-{number:02}"), "0"),
        })
        .collect();
    let files = [("agent.yaml", AGENT), ("nodes.yaml", NODES), ("pods.yaml", &*pods)];
    let folder = folder_with("levels-between", &files);
    let output = run_in_period(&folder, "next", &["--count", "3"]).stdout;
    let lines: Vec<&str> = output.lines().filter(|line| line.starts_with("  ")).collect();
    let offline = "volcano-agent-config offline-qos-during-day opens; Pod default";
    let expected = [
        format!("  {offline}/p-00 and 3 more pods: qosLevel 1 → -1"),
        "  volcano-agent-config online-qos-at-night closes; Pod default/p-01 and 3 more pods: \
         qosLevel -1 → 2"
            .to_owned(),
        format!("  {offline}/p-02 and 3 more pods: qosLevel 0 → -1"),
    ];
    assert_eq!(lines, expected);
    let exact = run_in_period(&folder, "next", &["-o", "json"]).json();
    assert_eq!(list(&exact["items"]).len(), 24, "of each pod for programs");
}

#[test]
fn a_pod_is_explained_by_every_word_for_its_kind_and_also_if_no_policy_selects_it() {
    let folder = folder("levels-words");
    let explain = |words: &[&str]| {
        let at = ["--at", "2026-11-23T12:00:00+08:00", "-f", "."];
        almanac(&folder, &[&["explain"], words, &at].concat())
    };
    let output = explain(&["pod/batch-07"]).stdout;
    assert!(output.contains("qosLevel of Pod default/batch-07 is -1"), "{output}");
    for words in [&["pods/batch-07"][..], &["po/batch-07"], &["pods", "batch-07"]] {
        assert_eq!(explain(words).stdout, output, "{words:?}");
    }
    explain(&["cj/report"]).assert_stdout(&["CronJob.batch default/report is -1"]);
    explain(&["pod/quiet"])
        .assert_stdout(&["qosLevel of Pod default/quiet is 1\n", "Nothing changes within a year."]);
}

#[test]
fn an_unknown_pod_name_suggests_an_existing_pod() {
    let folder = folder("levels-unknown");
    let explain =
        |folder: &Path, name: &str| almanac(folder, &["explain", "-f", ".", name]).ended(2);
    explain(&folder, "po/btch-07").assert_stderr(&["did you mean Pod/default/batch-07?"]);
    let pods = "no pod matches; the pods are Pod/default/batch-00, Pod/default/batch-01, ";
    explain(&folder, "pods/shop").assert_stderr(&[pods, "Pod/default/batch-07, …"]);
    let without = folder_with("levels-no-policies", &[("pods.yaml", &pod("batch", "n1", ""))]);
    let why = "pods are read only where there is a ResourcePolicy, or there are policies for QoS levels in a \
               ConfigMap volcano-agent-config or volcano-agent-configuration";
    explain(&without, "pod/batch").assert_stderr(&[why]);
}

#[test]
fn a_config_map_without_a_namespace_is_in_that_of_the_agent() {
    let without = AGENT.replace(", namespace: volcano-system", "");
    let files = [("agent.yaml", &*without), ("pods.yaml", &pod("batch", "n1", ""))];
    let folder = folder_with("levels-no-namespace", &files);
    for (further, namespace) in [
        (&[][..], "volcano-system"),
        (&["--config-namespace", "agents"], "agents"),
        (&["-n", "default"], "volcano-system"),
    ] {
        let output =
            run_in_period(&folder, "forecast", &[&["-o", "json"], further].concat()).json();
        assert_eq!(list(&output["series"]).len(), 1, "{further:?} {output:#}");
        let assumed = format!(
            "ConfigMap {namespace}/volcano-agent-config names no namespace; that of the agent is assumed"
        );
        let assumptions = list(&output["assumptions"]);
        assert!(assumptions.contains(&json!(assumed)), "{further:?} {assumptions:#?}");
    }
    almanac(&folder, &["explain", "-f", ".", "po/batch", "--at", "2026-11-23"])
        .assert_stdout(&["names no namespace; that of the agent is assumed"]);
}
