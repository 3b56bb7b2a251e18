//! Output on a terminal: names from files in printable form, and nothing that moves the cursor.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::path::Path;

use crate::running::{self, Ran, empty_directory};

const PRESENT: &str = "2026-11-26T00:00:00Z";

/// A policy, an autoscaler and a `CronJob`. Their names contain a color that no output uses, a terminal title, and
/// line breaks.
const HOSTILE: &str = r#"apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: office}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  rules:
  - {name: "a\e[35mr\e]0;title\a", schedule: "30 1 * * *", timeZone: Europe/Berlin, targetReplicas: 10}
  - {name: "b\n\nerror: forged", schedule: "0 20 * * *", targetReplicas: 2}
---
apiVersion: autoscaling.karpenter.sh/v1alpha1
kind: HorizontalAutoscaler
metadata: {name: queue}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: worker}
  minReplicas: 1
  maxReplicas: 9
  metrics:
  - prometheus: {query: "sum(jobs) # \e[35m\n+ 1", target: {type: Value, value: 4}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: "backup\e[35m\nerror: forged"}
spec: {schedule: "0 9 * * *"}
"#;

fn almanac(folder: &Path, columns: &str, arguments: &[&str]) -> Ran {
    let mut command = running::almanac(folder, arguments);
    command.env("COLUMNS", columns).env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR");
    Ran::from_output(&command.output().unwrap())
}

#[test]
fn a_query_is_not_broken_between_words() {
    let folder = empty_directory("terminal", "queries");
    let query = "sum(rate(requests{handler=\"checkout of the shop\"}[5m])) / on (namespace) sum(pods) by (namespace)";
    let policy = format!(
        "apiVersion: autoscaling.karpenter.sh/v1alpha1\nkind: HorizontalAutoscaler\nmetadata: {{name: web}}\nspec:\n  \
         scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}\n  minReplicas: 1\n  maxReplicas: 9\n  \
         metrics:\n  - prometheus: {{query: '{query}', target: {{type: Value, value: 4}}}}\n"
    );
    fs::write(folder.join("web.yaml"), policy).unwrap();
    for arguments in [
        &["forecast", "web.yaml", "--from", PRESENT][..],
        &["explain", "web.yaml", "--at", PRESENT],
    ] {
        for columns in ["40", "60", "80"] {
            let shown = almanac(&folder, columns, arguments).stdout;
            assert!(shown.contains(query), "{arguments:?} in {columns} columns: {shown}");
            assert!(!shown.contains('\u{fdd0}'), "{shown}");
        }
    }
}

#[test]
fn names_from_files_reach_a_terminal_without_control_characters() {
    let folder = empty_directory("terminal", "names");
    fs::write(folder.join("hostile.yaml"), HOSTILE).unwrap();
    for arguments in [
        &["forecast", "hostile.yaml", "--from", PRESENT, "--for", "1y"][..],
        &["next", "hostile.yaml", "--from", PRESENT, "--for", "2d"],
        &["explain", "hostile.yaml", "--at", PRESENT],
        &["when", "-f", "hostile.yaml", "--from", PRESENT],
    ] {
        let ran = almanac(&folder, "1000", &[&["--color", "always"], arguments].concat());
        let shown = ran.all();
        assert!(shown.contains("\u{1b}[1m"), "{arguments:?} shows no colors: {shown:?}");
        assert!(shown.contains("a\u{fffd}[35mr"), "{arguments:?}: {shown:?}");
        for raw in ["\u{1b}[35m", "\u{1b}]", "\u{7}", "\nerror: forged"] {
            assert!(!shown.contains(raw), "{arguments:?}: {raw:?} in {shown:?}");
        }
    }
}
