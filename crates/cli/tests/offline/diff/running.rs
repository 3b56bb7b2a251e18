//! The program run over two folders, or two revisions of a repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

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

/// The same, which is busy at weekends, too.
pub(crate) fn weekend_shop() -> String {
    let rules = [
        ("open", "0 8 * * 2-5", 10),
        ("close", "0 20 * * 1-4", 2),
        ("weekend", "0 17 * * 5", 40),
        ("monday", "0 9 * * 1", 10),
    ];
    cron("shop-hours", "shop", &rules)
}

/// A folder of its own for a test.
pub(crate) fn empty_folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("diff").join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

pub(crate) fn write(folder: &Path, files: &[(&str, &str)]) {
    for (file, text) in files {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// A folder with an old and a new folder in it.
pub(crate) fn sides(name: &str, old: &[(&str, &str)], new: &[(&str, &str)]) -> PathBuf {
    let folder = empty_folder(name);
    for (side, files) in [("old", old), ("new", new)] {
        fs::create_dir_all(folder.join(side)).unwrap();
        write(&folder.join(side), files);
    }
    folder
}

/// Git with a person and nothing of this machine.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

pub(crate) fn commit(folder: &Path, files: &[(&str, &str)]) {
    write(folder, files);
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-q", "--allow-empty", "-m", "change"]);
}

pub(crate) fn almanac(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_almanac"));
    command.current_dir(folder).stdin(Stdio::null()).args(arguments);
    command.env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8");
    // So that each sentence is one line.
    command.env("COLUMNS", "10000").output().unwrap()
}

/// What differs from Monday on.
pub(crate) fn diff(folder: &Path, arguments: &[&str]) -> Output {
    let usual = ["diff", "--from", MONDAY];
    almanac(folder, &[&usual[..], arguments].concat())
}

pub(crate) fn text(output: &[u8]) -> String {
    String::from_utf8(output.to_vec()).unwrap()
}

#[track_caller]
pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {} {}", text(&output.stdout), text(&output.stderr))
    })
}

/// The differences of two folders, as JSON.
#[track_caller]
pub(crate) fn differences(folder: &Path) -> Vec<Value> {
    let told = json(&diff(folder, &["old", "new", "-o", "json"]));
    told["differences"].as_array().unwrap().clone()
}
