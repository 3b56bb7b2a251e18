//! Typical repositories, created for a test, and runs of the program in their roots.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

pub(crate) use crate::running::Ran;
use crate::running::{almanac, empty_directory, list, word};

pub(crate) const PRESENT: &str = "2026-11-20T12:00:00Z";

/// A directory of one test, with the files of the test.
pub(crate) struct Repository {
    root: PathBuf,
}

impl Repository {
    pub(crate) fn new(name: &str) -> Repository {
        let root = empty_directory("repositories", name);
        // Files around the directory must have no effect.
        fs::create_dir(root.join(".git")).unwrap();
        Repository { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn file(self, path: &str, text: impl AsRef<[u8]>) -> Repository {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        almanac(&self.root, arguments)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from_output(&self.command(arguments).output().unwrap())
    }

    /// Runs a command at the present instant of these tests, and returns its JSON.
    pub(crate) fn run_json(&self, command: &str, arguments: &[&str]) -> Value {
        let usual = [command, "--from", PRESENT, "-o", "json"];
        self.run(&[&usual[..], arguments].concat()).json()
    }
}

/// `code file:line:column` of every finding.
pub(crate) fn findings(output: &Value) -> Vec<String> {
    let one = |it: &Value| {
        let (code, file) = (word(&it["code"]), word(&it["file"]));
        format!("{code} {file}:{}:{}", it["line"], it["column"])
    };
    list(&output["findings"]).iter().map(one).collect()
}

/// A policy that opens a shop with this number of replicas, written over nine lines.
pub(crate) fn policy(name: &str, target: &str, replicas: u32) -> String {
    format!(
        "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\nmetadata:\n  name: {name}\n\
         spec:\n  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {target}}}\n  rules:\n  \
         - {{name: open, schedule: \"0 8 * * *\", targetReplicas: {replicas}}}\n  \
         - {{name: close, schedule: \"0 20 * * *\", targetReplicas: 1}}\n"
    )
}

pub(crate) fn deployment(name: &str, replicas: u32) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\nspec: {{replicas: {replicas}}}\n"
    )
}

pub(crate) fn autoscaler(name: &str, target: &str) -> String {
    format!(
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata:\n  name: {name}\n\
         spec:\n  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {target}}}\n  \
         minReplicas: 1\n  maxReplicas: 9\n"
    )
}
