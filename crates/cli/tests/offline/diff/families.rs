//! Policies that do not set replicas: the levels of pods, the selected clusters, the pods in units of nodes, and the
//! published numbers of schedules.

use std::path::Path;

use serde_json::{Value, json};

use crate::diff::running::{diff, differences, sides};
use crate::running::list;

/// Nodes by schedule: an autoscaler in these files reads the number.
pub(crate) const READ_SCHEDULE: &str = "
apiVersion: autoscaling.karpenter.sh/v1alpha1
kind: MetricsProducer
metadata: {name: nodes}
spec:
  schedule:
    timezone: Europe/Berlin
    defaultReplicas: 1
    behaviors:
    - {replicas: 5, start: {hours: 9}, end: {hours: 17}}
---
apiVersion: autoscaling.karpenter.sh/v1alpha1
kind: HorizontalAutoscaler
metadata: {name: workers}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: workers}
  minReplicas: 1
  maxReplicas: 9
  behavior: {scaleDown: {stabilizationWindowSeconds: 0}}
  metrics:
  - prometheus:
      query: karpenter_scheduled_capacity{name=\"nodes\"}
      target: {type: AverageValue, value: 1}
---
";

fn without_reader() -> String {
    READ_SCHEDULE.split("---").next().unwrap().to_owned()
}

fn renamed(text: &str) -> String {
    text.replace("name: nodes}", "name: machines}").replace("\"nodes\"", "\"machines\"")
}

#[test]
fn a_renamed_schedule_is_not_a_change_if_the_files_contain_all_readers() {
    let new = renamed(READ_SCHEDULE);
    let folder = sides("renamed-read", &[("a.yaml", READ_SCHEDULE)], &[("a.yaml", &new)]);
    diff(&folder, &["old", "new", "--fail-on-change"])
        .ended(0)
        .assert_stdout(&["Nothing changes: 2 values compared"]);
    // The reader is unchanged, and its query has no result any more.
    let left_behind = new.replace("name=\"machines\"", "name=\"nodes\"");
    let folder =
        sides("renamed-forgotten", &[("a.yaml", READ_SCHEDULE)], &[("a.yaml", &left_behind)]);
    assert_eq!(differences(&folder).len(), 3);
    // The content also differs under the new name.
    let changed = new.replace("hours: 17", "hours: 18");
    let folder = sides("renamed-changed", &[("a.yaml", READ_SCHEDULE)], &[("a.yaml", &changed)]);
    assert_eq!(differences(&folder).len(), 3);
}

#[test]
fn the_name_of_a_schedule_without_readers_is_an_interface() {
    let (old, new) = (without_reader(), renamed(&without_reader()));
    let folder = sides("renamed-unread", &[("a.yaml", &old)], &[("a.yaml", &new)]);
    let presence = |it: &Value| format!("{} {}", it["target"]["name"], it["presence"]);
    let output: Vec<String> = differences(&folder).iter().map(presence).collect();
    assert_eq!(output, ["\"machines\" \"added\"", "\"nodes\" \"removed\""]);
}

const UNITS: &str = "
apiVersion: scheduling.sigs.x-k8s.io/v1alpha1
kind: ResourcePolicy
metadata: {name: shop}
spec:
  podSelector: {matchLabels: {app: shop}}
  units:
  - {name: reserved, priority: 2, maxCount: 4, nodeSelector: {matchLabels: {pool: reserved}}}
  - {name: spot, priority: 1, nodeSelector: {matchLabels: {pool: spot}}}
---
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: shop-hours}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}
  rules:
  - {name: open, schedule: '0 8 * * *', timeZone: Europe/Berlin, targetReplicas: 10}
  - {name: close, schedule: '0 20 * * *', timeZone: Europe/Berlin, targetReplicas: 2}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: shop, image: shop, resources: {requests: {cpu: 1}}}]}
---
apiVersion: v1
kind: Node
metadata: {name: reserved-1, labels: {pool: reserved}}
status: {allocatable: {cpu: 64, pods: 100}}
---
apiVersion: v1
kind: Node
metadata: {name: spot-1, labels: {pool: spot}}
status: {allocatable: {cpu: 64, pods: 100}}
---
";

#[test]
fn pods_that_move_to_another_unit_are_listed_by_unit() {
    let new = UNITS.replace("maxCount: 4", "maxCount: 6");
    let folder = sides("units", &[("a.yaml", UNITS)], &[("a.yaml", &new)]);
    let [difference] = &*differences(&folder) else { panic!() };
    assert_eq!(difference["field"], "unitPods");
    assert_eq!(difference["target"]["kind"], "ResourcePolicy");
    let stretch = &difference["stretches"][0];
    assert_eq!(stretch["before"]["value"], json!({"reserved": 4, "spot": 6}));
    assert_eq!(stretch["after"]["value"], json!({"reserved": 6, "spot": 4}));
    assert_eq!(stretch["from"], "2026-11-23T07:00:00Z");
    assert_eq!(difference["before"]["peak"], json!({"reserved": 4, "spot": 6}));
    let line = "unitPods reserved 4, spot 6 → reserved 6, spot 4 every day, 08:00 to 20:00";
    diff(&folder, &["old", "new"]).assert_stdout(&[line, "peak reserved 4 → 6, spot 6 → 4"]);
}

#[test]
fn renaming_a_policy_or_its_units_changes_no_pod() {
    let units = UNITS.replace("name: spot,", "name: cheap,");
    let both = units
        .replace("metadata: {name: shop}\nspec:\n  pod", "metadata: {name: all}\nspec:\n  pod");
    assert!(both != units && units != UNITS);
    for (name, new) in [("units-renamed", &units), ("units-all-renamed", &both)] {
        let folder = sides(name, &[("a.yaml", UNITS)], &[("a.yaml", new)]);
        diff(&folder, &["old", "new", "--fail-on-change"]).ended(0);
        let changed = new.replace("maxCount: 4", "maxCount: 6");
        let folder = sides(name, &[("a.yaml", UNITS)], &[("a.yaml", &changed)]);
        assert!(!differences(&folder).is_empty(), "{name}");
        let moved = new.replace("pool: spot", "pool: other");
        let folder = sides(name, &[("a.yaml", UNITS)], &[("a.yaml", &moved)]);
        assert!(!differences(&folder).is_empty(), "{name}: other nodes are another unit");
        // A change of the schedule is reported under the new names.
        let busier = new.replace("targetReplicas: 10", "targetReplicas: 12");
        let folder = sides(name, &[("a.yaml", UNITS)], &[("a.yaml", &busier)]);
        let output = differences(&folder);
        let of_units = output.iter().find(|it| it["field"] == "unitPods").unwrap();
        assert_eq!(of_units["presence"], "both");
        assert_eq!(of_units["stretches"][0]["before"]["value"], json!({"reserved": 4, "cheap": 6}));
        assert_eq!(of_units["stretches"][0]["after"]["value"], json!({"reserved": 4, "cheap": 8}));
    }
}

fn levels(end: &str, pods: usize) -> String {
    let head = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: volcano-agent-config, namespace: volcano-system}}\n\
         data:\n  config.yaml: |\n    globalConfig:\n      timeBasedQoSPolicies:\n      \
         - {{name: night, startTime: '22:00', endTime: '{end}', timeZone: Europe/Berlin, \
         selector: {{matchLabels: {{app: batch}}}}, targetQoSLevel: -1}}\n"
    );
    let pod = |number| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: batch-{number:04}, labels: {{app: batch}}, \
             annotations: {{volcano.sh/qos-level: '1'}}}}\n"
        )
    };
    head + &(0..pods).map(pod).collect::<String>()
}

/// Asserts that one pod differs, with these levels before and after in each stretch.
#[track_caller]
fn assert_one_level(folder: &Path, presence: &str, levels: [&str; 2]) {
    let [difference] = &*differences(folder) else { panic!("{presence}") };
    assert_eq!(difference["presence"], presence);
    let stretches = list(&difference["stretches"]);
    assert!(!stretches.is_empty());
    for stretch in stretches {
        assert_eq!(["before", "after"].map(|side| &stretch[side]["value"]), levels);
    }
}

#[test]
fn a_pod_that_is_no_longer_selected_returns_to_the_level_of_its_user() {
    let old = levels("06:00", 1);
    let new = old.replace("{app: batch}}, target", "{app: other}}, target");
    let folder = sides("level-left", &[("a.yaml", &old)], &[("a.yaml", &new)]);
    assert_one_level(&folder, "removed", ["-1", "1"]);
}

#[test]
fn a_pod_without_a_level_policy_has_the_level_of_its_user() {
    let old = levels("06:00", 1);
    let (policies, pods) = old.split_once("---\n").unwrap();
    let deleted = sides("levels-deleted", &[("a.yaml", &old)], &[("a.yaml", pods)]);
    let apart = [("a.yaml", policies), ("pods.yaml", pods)];
    let deleted_apart = sides("levels-deleted-apart", &apart, &apart[1..]);
    let created = sides("levels-created", &[("a.yaml", pods)], &[("a.yaml", &old)]);
    for (folder, presence, expected) in [
        (deleted, "removed", ["-1", "1"]),
        (deleted_apart, "removed", ["-1", "1"]),
        (created, "added", ["1", "-1"]),
    ] {
        assert_one_level(&folder, presence, expected);
    }
}

#[test]
fn the_level_of_a_thousand_pods_is_one_sentence() {
    let (old, new) = (levels("06:00", 1000), levels("08:00", 1000));
    let folder = sides("levels", &[("a.yaml", &old)], &[("a.yaml", &new)]);
    let ran = diff(&folder, &["old", "new", "--for", "7d"]);
    let line = "Pod default/batch-0000 and 999 others: qosLevel 1 → -1 every day, 06:00 to 08:00\n";
    ran.assert_stdout(&[line, "1000 of 1000 values change\n"]);
    assert!(ran.stdout.len() < 5000, "{}", ran.stdout.len());
}

const HUB: &str = "
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: all}
spec: {clusterSelector: {selectorType: ExclusiveClusterSetLabel}}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: all, namespace: shop}
spec: {clusterSet: all}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: all, namespace: shop}
spec: {predicates: [{requiredClusterSelector: {labelSelector: {matchLabels: {in: 'yes'}}}}]}
---
";

fn hub(count: usize, selected: impl Fn(usize) -> bool) -> String {
    let cluster = |number| {
        let word = if selected(number) { "yes" } else { "no" };
        format!(
            "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {{name: \
             a-cluster-with-a-name-of-some-length-{number:04}, labels: {{in: '{word}', \
             cluster.open-cluster-management.io/clusterset: all}}}}\nspec: {{hubAcceptsClient: true}}\n---\n"
        )
    };
    HUB.to_owned() + &(0..count).map(cluster).collect::<String>()
}

#[test]
fn added_and_removed_clusters_are_listed_up_to_a_maximum_in_text_formats() {
    let folder = sides(
        "clusters",
        &[("a.yaml", &hub(1500, |number| number < 5))],
        &[("a.yaml", &hub(1500, |number| number != 0))],
    );
    let [difference] = &*differences(&folder) else { panic!() };
    assert_eq!(difference["field"], "clusters");
    let count = |side: &str| difference["stretches"][0][side]["value"].as_array().unwrap().len();
    assert_eq!((count("before"), count("after")), (5, 1499));
    for format in ["text", "markdown", "html"] {
        let stdout = diff(&folder, &["old", "new", "-o", format]).stdout;
        assert!(
            stdout.contains("a-cluster-with-a-name-of-some-length-0016 and 1483 more"),
            "{stdout}"
        );
        assert!(stdout.len() < 10_000, "{format}: {}", stdout.len());
    }
}

#[test]
fn a_selection_is_unknown_without_clusters_in_the_files() {
    let (there, none) = (hub(3, |number| number == 0), HUB.to_owned());
    let folder = sides("clusters-gone", &[("a.yaml", &there)], &[("a.yaml", &none)]);
    // On one side only, it is unknown whether it changes.
    for order in [["old", "new"], ["new", "old"]] {
        for format in ["text", "markdown", "html"] {
            diff(&folder, &[&order[..], &["-o", format]].concat())
                .assert_stdout(&["0 values compared, 1 is not", "has an unknown selection"]);
        }
        diff(&folder, &[&order[..], &["--fail-on-change"]].concat()).ended(1);
    }
    // The change by an edit is unknown; without an edit nothing changes.
    let edited = none.replace("in: 'yes'", "in: 'no'");
    for (name, new, expected) in [
        ("clusters-unknown", &edited, "No change is known: 0 values compared, 1 is not"),
        ("clusters-same", &none, "Nothing changes: 1 value compared"),
    ] {
        let folder = sides(name, &[("a.yaml", &none)], &[("a.yaml", new)]);
        let stdout = diff(&folder, &["old", "new"]).stdout;
        assert!(stdout.contains(expected), "{stdout}");
        // The output names the placement, and a gate fails.
        let is_unknown = name == "clusters-unknown";
        assert_eq!(stdout.contains("has an unknown selection"), is_unknown, "{stdout}");
        diff(&folder, &["old", "new", "--fail-on-change"]).ended(i32::from(is_unknown));
    }
}
