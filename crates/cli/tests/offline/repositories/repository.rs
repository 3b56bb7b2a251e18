//! Repositories as people have them, made for a test, and the program run in their roots.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

pub(crate) const PRESENT: &str = "2026-11-20T12:00:00Z";

/// A folder of a test's own, with what it puts there.
pub(crate) struct Repository {
    root: PathBuf,
}

/// What the program did.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) said: String,
    pub(crate) noted: String,
}

impl Repository {
    pub(crate) fn new(name: &str) -> Repository {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("repositories").join(name);
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        // What lies around it is none of its business.
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
        let mut command = Command::new(env!("CARGO_BIN_EXE_almanac"));
        command.current_dir(&self.root).stdin(Stdio::null()).args(arguments);
        // So that each message is one line.
        command.env("NO_COLOR", "1").env("COLUMNS", "1000").env_remove("ALMANAC_ZONE");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(&self.command(arguments).output().unwrap())
    }

    /// The same at the present of these tests, for a program.
    pub(crate) fn ask(&self, command: &str, arguments: &[&str]) -> Value {
        let usual = [command, "--from", PRESENT, "-o", "json"];
        self.run(&[&usual[..], arguments].concat()).json()
    }
}

impl Ran {
    pub(crate) fn of(output: &Output) -> Ran {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Ran { code: output.status.code(), said: text(&output.stdout), noted: text(&output.stderr) }
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.said)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.said, self.noted))
    }

    #[track_caller]
    pub(crate) fn assert_says(&self, code: i32, parts: &[&str]) {
        let all = format!("{}{}", self.said, self.noted);
        assert_eq!(self.code, Some(code), "{all}");
        for part in parts {
            assert!(all.contains(part), "{part:?} is not in:\n{all}");
        }
    }
}

/// `code file:line:column` of every finding.
pub(crate) fn findings(told: &Value) -> Vec<String> {
    let one = |it: &Value| {
        let text = |key: &str| it[key].as_str().unwrap().to_owned();
        format!("{} {}:{}:{}", text("code"), text("file"), it["line"], it["column"])
    };
    told["findings"].as_array().unwrap().iter().map(one).collect()
}

/// A policy that opens a shop with so many replicas, written over nine lines.
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
