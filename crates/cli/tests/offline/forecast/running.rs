//! Runs the program over a directory of policies, and builds policies that several tests share.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::running::{self, Ran, empty_directory, list, word, write};

/// The text of a `CronFederatedHPA`: its name, the name of its Deployment, and its rules, which begin in line 8.
macro_rules! cron {
    ($name:literal, $target:literal, $($rule:literal),+) => {
        concat!(
            "\napiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\nmetadata: {name: ",
            $name,
            "}\nspec:\n  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: ",
            $target,
            "}\n  rules:\n",
            $("  - {", $rule, "}\n"),+
        )
    };
}
pub(crate) use cron;

pub(crate) const PRESENT: &str = "2026-11-20T12:00:00Z";

pub(crate) const SHOP: &str = cron!(
    "shop-hours",
    "shop",
    r#"name: open, schedule: "0 8 * * *", timeZone: Europe/Berlin, targetReplicas: 10"#,
    r#"name: close, schedule: "0 20 * * *", timeZone: Europe/Berlin, targetReplicas: 2"#
);

pub(crate) const NIGHT: &str = cron!(
    "night-watch",
    "shop",
    r#"name: "sle</script>ep", schedule: "0 22 * * *", targetReplicas: 0"#
);

pub(crate) const NODES: &str = r"
apiVersion: autoscaling.karpenter.sh/v1alpha1
kind: MetricsProducer
metadata: {name: nodes}
spec:
  schedule:
    defaultReplicas: 1
    behaviors:
    - {replicas: 5, start: {hours: 9}, end: {hours: 17}}
";

pub(crate) const BROKEN: &str =
    cron!("broken", "other", r#"name: never, schedule: "0 8 * *", targetReplicas: 10"#);

/// A separate directory for a test.
pub(crate) fn empty_folder(name: &str) -> PathBuf {
    empty_directory("forecast", name)
}

pub(crate) fn folder_with(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let path = empty_folder(name);
    write(&path, files);
    path
}

pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = running::almanac(folder, arguments);
    // Each sentence outside the drawing is one line.
    let width = if arguments.first() == Some(&"forecast") { "100" } else { "1000" };
    command.env("COLUMNS", width).env("LC_ALL", "C.UTF-8");
    command
}

pub(crate) fn almanac(folder: &Path, arguments: &[&str]) -> Ran {
    Ran::from_output(&command(folder, arguments).output().unwrap())
}

/// The output of a forecast from the present instant of these tests.
pub(crate) fn forecast(folder: &Path, arguments: &[&str]) -> Ran {
    let usual = ["forecast", "-f", ".", "--from", PRESENT];
    almanac(folder, &[&usual[..], arguments].concat())
}

/// A text without its line breaks.
pub(crate) fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The segments of a series, each as its start and its value.
pub(crate) fn segments(series: &Value) -> Vec<(&str, &Value)> {
    list(&series["segments"]).iter().map(|it| (word(&it["from"]), &it["value"])).collect()
}
