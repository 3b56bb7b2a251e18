//! QoS levels of workloads without pods: their templates, with the labels that the pods will have.

use serde_json::Value;

use crate::forecast::levels::{AGENT, run_in_period};
use crate::forecast::running::folder_with;
use crate::running::{list, word};

/// A workload of each kind that creates pods, without pods.
const MAKERS: &str = "\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  queue: research
  tasks:
  - name: driver
    template:
      metadata: {labels: {app: train}, annotations: {volcano.sh/qos-level: '1'}}
      spec: {containers: []}
  - replicas: 8
    template:
      metadata: {labels: {workload-type: offline}}
      spec: {containers: []}
  - {name: nothing}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: CronJob
metadata: {name: nightly}
spec:
  jobTemplate:
    spec:
      tasks:
      - {name: count, template: {metadata: {labels: {workload-type: offline}}, spec: {containers: []}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec: {template: {spec: {containers: []}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: logs}
spec: {template: {metadata: {labels: {workload-type: offline}}, spec: {containers: []}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store}
spec: {template: {metadata: {labels: {workload-type: offline}}, spec: {containers: []}}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: old}
spec: {template: {metadata: {labels: {workload-type: offline}}, spec: {containers: []}}}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: front}
spec: {template: {metadata: {labels: {workload-type: offline}}, spec: {containers: []}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: of-cron, ownerReferences: [{kind: CronJob, name: nightly}]}
spec: {template: {metadata: {labels: {workload-type: offline}}, spec: {containers: []}}}
";

#[test]
fn the_template_of_each_workload_represents_its_pods_with_their_labels() {
    // The selector matches the added labels, which the templates lack.
    let jobs = "{key: job-name, operator: In, values: [migrate]}";
    let driver = "{key: volcano.sh/task-spec, operator: In, values: [driver]}";
    let agent = AGENT.replace(
        "      - name: offline-qos-during-day",
        &format!(
            "      - {{name: migrations, startTime: '08:00', endTime: '22:00', targetQoSLevel: -1, \
             selector: {{matchExpressions: [{jobs}]}}}}\n      - {{name: drivers, startTime: '08:00', \
             endTime: '22:00', targetQoSLevel: -1, selector: {{matchLabels: {{volcano.sh/job-name: \
             train, volcano.sh/queue-name: research}}, matchExpressions: [{driver}]}}}}\n      - \
             name: offline-qos-during-day"
        ),
    );
    let folder = folder_with("levels-makers", &[("agent.yaml", &agent), ("makers.yaml", MAKERS)]);
    let output = run_in_period(&folder, "forecast", &["-o", "json"]).json();
    let of = |series: &Value| {
        let (target, segments) = (&series["target"], list(&series["segments"]));
        let rule = segments.iter().find_map(|it| it["policy"]["rule"].as_str()).unwrap();
        let name = |key: &str| word(&target[key]);
        format!("{} {} {} {rule}", name("apiVersion"), name("kind"), name("name"))
    };
    let mut series: Vec<String> = list(&output["series"]).iter().map(of).collect();
    series.sort();
    let expected = [
        "apps/v1 DaemonSet logs offline-qos-during-day",
        "apps/v1 ReplicaSet old offline-qos-during-day",
        "apps/v1 StatefulSet store offline-qos-during-day",
        "argoproj.io/v1alpha1 Rollout front offline-qos-during-day",
        "batch.volcano.sh/v1alpha1 CronJob nightly-count offline-qos-during-day",
        "batch.volcano.sh/v1alpha1 Job train-default1 offline-qos-during-day",
        "batch.volcano.sh/v1alpha1 Job train-driver drivers",
        "batch/v1 Job migrate migrations",
    ];
    assert_eq!(series, expected);
}

#[test]
fn pods_of_a_task_replace_its_template() {
    let labels = "{volcano.sh/job-name: train, volcano.sh/task-spec: default1, \
                  volcano.sh/queue-name: research, workload-type: offline}";
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: train-default1-0, labels: {labels}}}\n\
         spec: {{nodeName: n1}}\n"
    );
    let files = [("agent.yaml", AGENT), ("makers.yaml", MAKERS), ("pods.yaml", &*pod)];
    let folder = folder_with("levels-task", &files);
    let names = |name: &str| {
        let output = run_in_period(&folder, "forecast", &["-o", "json", name]).json();
        let name = |it: &Value| word(&it["target"]["name"]).to_owned();
        list(&output["series"]).iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(names("train-*"), ["train-default1-0"]);
}
