//! Runs the program over two directories, or two revisions of a repository.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::running::{self, Ran, empty_directory, list, write};

/// A Monday, at midnight in Berlin.
pub(crate) const MONDAY: &str = "2026-11-22T23:00:00Z";

/// A cron policy of rules, each as its name, its schedule and its replicas.
pub(crate) fn cron(name: &str, target: &str, rules: &[(&str, &str, u32)]) -> String {
    let rules: Vec<String> = rules
        .iter()
        .map(|(name, schedule, replicas)| {
            format!(
                "  - {{name: {name}, schedule: \"{schedule}\", timeZone: Europe/Berlin, targetReplicas: {replicas}}}"
            )
        })
        .collect();
    format!(
        "apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {{name: {name}}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {target}}}
  rules:
{}
---
",
        rules.join("\n")
    )
}

/// The shop that is busy by day.
pub(crate) fn shop() -> String {
    cron("shop-hours", "shop", &[("open", "0 8 * * *", 10), ("close", "0 20 * * *", 2)])
}

/// The policy of the shop that is also busy at weekends.
pub(crate) fn weekend_shop() -> String {
    let rules = [
        ("open", "0 8 * * 2-5", 10),
        ("close", "0 20 * * 1-4", 2),
        ("weekend", "0 17 * * 5", 40),
        ("monday", "0 9 * * 1", 10),
    ];
    cron("shop-hours", "shop", &rules)
}

/// A separate directory for a test.
pub(crate) fn empty_folder(name: &str) -> PathBuf {
    empty_directory("diff", name)
}

/// A directory with the subdirectories `old` and `new`.
pub(crate) fn sides(name: &str, old: &[(&str, &str)], new: &[(&str, &str)]) -> PathBuf {
    let folder = empty_folder(name);
    for (side, files) in [("old", old), ("new", new)] {
        fs::create_dir_all(folder.join(side)).unwrap();
        write(&folder.join(side), files);
    }
    folder
}

pub(crate) fn almanac(folder: &Path, arguments: &[&str]) -> Ran {
    let mut command = running::almanac(folder, arguments);
    // So that each sentence is one line.
    Ran::from_output(&command.env("LC_ALL", "C.UTF-8").env("COLUMNS", "10000").output().unwrap())
}

/// The differences from Monday on.
pub(crate) fn diff(folder: &Path, arguments: &[&str]) -> Ran {
    let usual = ["diff", "--from", MONDAY];
    almanac(folder, &[&usual[..], arguments].concat())
}

/// The differences of two directories, as JSON.
#[track_caller]
pub(crate) fn differences(folder: &Path) -> Vec<Value> {
    let output = diff(folder, &["old", "new", "-o", "json"]).json();
    list(&output["differences"]).to_vec()
}
