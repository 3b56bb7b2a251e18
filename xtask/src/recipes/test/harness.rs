//! The task runner's interface to the harness (`tests/harness`): checks which tests can run here, builds the control
//! plane, and keeps a control plane running for the tests.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use super::running::RARE_COLLECTIONS;
use crate::run::Step;
use crate::workspace::Workspace;

const PACKAGE: &str = "almanac-harness";
const PROGRAM: &str = "control-plane";

/// The built program `control-plane`.
pub(super) struct Harness {
    program: String,
    /// The version of Kubernetes, unless the environment or the harness chooses it.
    version: Option<String>,
}

/// The result of the harness for the test files whose names start with a prefix.
#[derive(Debug, Deserialize, PartialEq, Eq)]
pub(super) struct Verdict {
    prefix: String,
    /// The reason that these tests cannot run here; absent if they can.
    because: Option<String>,
}

/// A control plane that runs as long as this value exists.
pub(super) struct ControlPlane {
    child: Child,
    /// The variable that passes the control plane to the tests.
    pub(super) environment: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Ready {
    environment: BTreeMap<String, String>,
}

impl Harness {
    /// The program in this file.
    pub(super) fn at(program: &Path) -> Self {
        Self { program: program.to_string_lossy().into_owned(), version: None }
    }

    /// Selects a version of Kubernetes.
    pub(super) fn for_version(self, version: &str) -> Self {
        Self { version: Some(version.to_owned()), ..self }
    }

    /// Whether a program of a package is the control plane program.
    pub(super) fn is_named(package: &str, program: &str) -> bool {
        package == PACKAGE && program == PROGRAM
    }

    /// The step that builds only this program, and the tests of its package. With those tests, the dependencies have
    /// the same features as for all tests, and are not built twice.
    pub(super) fn build(workspace: &Workspace) -> anyhow::Result<Step> {
        let tests: Vec<_> = workspace
            .targets("test")
            .filter(|(member, _)| member.name == PACKAGE)
            .flat_map(|(_, target)| ["--test", &target.name])
            .collect();
        ensure!(!tests.is_empty(), "failed to find {PACKAGE}, which starts a real cluster");
        Ok(Step::cargo(&["build", "--workspace", "--bin", PROGRAM]).with(tests))
    }

    /// Checks which tests can run here.
    pub(super) fn check(&self) -> anyhow::Result<Vec<Verdict>> {
        let step = self.step("check");
        let output = step.command().stderr(Stdio::inherit()).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let verdicts = text.lines().map(serde_json::from_str).collect::<Result<Vec<_>, _>>();
        let verdicts = verdicts.with_context(|| format!("failed to understand `{step}`"))?;
        ensure!(!verdicts.is_empty(), "failed to learn what can run: `{step}` said nothing");
        Ok(verdicts)
    }

    /// The step that builds everything the tests start, in advance: so the first build shows its
    /// progress and does not count against any test's time limit.
    pub(super) fn build_control_plane(&self) -> Step {
        self.step("build")
    }

    /// Starts a control plane for all tests to share.
    pub(super) fn start_control_plane(&self) -> anyhow::Result<ControlPlane> {
        let step = self.step("up");
        let mut command = step.command();
        command.envs(RARE_COLLECTIONS).stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.spawn()?;
        // From here on, every return ends the program.
        let mut plane = ControlPlane { child, environment: BTreeMap::new() };
        let stdout = plane.child.stdout.as_mut().context("the control plane has no output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let ready: Ready = serde_json::from_str(&line)
            .with_context(|| format!("failed to start a control plane with `{step}`"))?;
        plane.environment = ready.environment;
        Ok(plane)
    }

    fn step(&self, verb: &str) -> Step {
        let step = Step::new(&self.program, &[verb]);
        match &self.version {
            Some(version) => step.variable(super::KUBERNETES_VERSION, version),
            None => step,
        }
    }
}

impl Drop for ControlPlane {
    /// Closing standard input ends the program.
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        if let Err(error) = self.child.wait() {
            eprintln!("warning: failed to wait for the control plane to end: {error}");
        }
    }
}

/// The reason that the tests of a file cannot run here; `None` if they can. The longest prefix of the file's name
/// applies.
pub(super) fn why_not(verdicts: &[Verdict], file: &str) -> Option<String> {
    let fitting = verdicts.iter().filter(|verdict| file.starts_with(&verdict.prefix));
    match fitting.max_by_key(|verdict| verdict.prefix.len()) {
        Some(verdict) => verdict.because.clone(),
        None => Some("the harness does not know this kind of test".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(prefix: &str, because: Option<&str>) -> Verdict {
        Verdict { prefix: prefix.to_owned(), because: because.map(str::to_owned) }
    }

    #[test]
    fn the_longest_prefix_decides_for_a_file() {
        let verdicts = [verdict("cluster_", None), verdict("cluster_own_", Some("no Go"))];
        assert_eq!(why_not(&verdicts, "cluster_lease"), None);
        assert_eq!(why_not(&verdicts, "cluster_own_restart"), Some("no Go".to_owned()));
    }

    #[test]
    fn a_file_without_a_prefix_cannot_run() {
        assert!(why_not(&[verdict("cluster_own_", None)], "cluster_lease").is_some());
    }
}
