//! The test programs: one cargo call builds all, and each has the command that runs the program as cargo does.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use super::harness::Harness;
use crate::run::{Run, Step};
use crate::workspace::Workspace;

/// A test program built by cargo.
#[derive(Debug)]
pub(super) struct Program {
    package: String,
    /// The name of the target; for an integration test, the name of the file.
    pub(super) target: String,
    kind: String,
    executable: PathBuf,
    folder: PathBuf,
    environment: BTreeMap<String, String>,
}

/// The message of cargo about one built file.
#[derive(Deserialize)]
struct Artifact {
    manifest_path: PathBuf,
    target: ArtifactTarget,
    profile: Profile,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct ArtifactTarget {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// The output of one cargo call: test programs, and the harness.
pub(super) struct Built {
    pub(super) programs: Vec<Program>,
    pub(super) harness: Option<Harness>,
}

/// Builds all test programs; `None` if the build of any program fails.
pub(super) fn build(run: &mut Run, targets: &[String]) -> anyhow::Result<Option<Built>> {
    let step = Step::cargo(&["test", "--workspace", "--no-run"]).with(targets);
    let output = run.captured("build the tests", &step.clone().with(JSON_MESSAGES))?;
    output.map(|output| Built::read(&run.workspace, &output)).transpose()
}

/// Lets cargo list the built files, and print errors in the usual form.
pub(super) const JSON_MESSAGES: [&str; 2] = ["--message-format", "json-render-diagnostics"];

impl Built {
    /// The programs among the messages of a cargo call.
    pub(super) fn read(workspace: &Workspace, output: &str) -> anyhow::Result<Self> {
        let mut built = Self { programs: Vec::new(), harness: None };
        // Messages of other kinds lack these fields.
        let artifacts = output.lines().filter_map(|it| serde_json::from_str::<Artifact>(it).ok());
        for artifact in artifacts {
            let Artifact { manifest_path, target, profile, executable: Some(executable) } =
                artifact
            else {
                continue;
            };
            let mut members = workspace.members.iter();
            let member = members.find(|member| member.manifest_path == manifest_path);
            let member = member.with_context(|| format!("{} is of no member", target.name))?;
            if profile.test {
                built.programs.push(Program {
                    package: member.name.clone(),
                    target: target.name,
                    kind: target.kind.into_iter().next().unwrap_or_default(),
                    executable,
                    folder: member.folder().to_owned(),
                    environment: member.environment(),
                });
            } else if Harness::is_named(&member.name, &target.name) {
                built.harness = Some(Harness::at(&executable));
            }
        }
        Ok(built)
    }
}

impl Program {
    /// The name of the program in the output.
    pub(super) fn name(&self) -> String {
        let Self { package, target, kind, .. } = self;
        if kind == "test" { format!("{package} {target}") } else { format!("{package} ({kind})") }
    }

    /// The command that runs the program, without a directory and without variables.
    pub(super) fn step(&self, filter: Option<&str>) -> Step {
        Step::new(&self.executable.to_string_lossy(), &[])
            .with(filter)
            .environment(&self.environment)
            .in_folder(&self.folder)
    }

    /// The command by which a user runs a single test of the program, without building anything else.
    pub(super) fn rerun(&self, test: &str) -> Step {
        self.cargo().with(["--", "--exact", test])
    }

    /// The command by which a user runs the program. The features are those of the whole workspace, because the
    /// dependencies are built with those.
    pub(super) fn cargo(&self) -> Step {
        let step = Step::cargo(&["test", "--workspace"]);
        match self.kind.as_str() {
            kind @ ("test" | "bin" | "example") => step.with([&format!("--{kind}"), &self.target]),
            _ => step.with(["--lib"]),
        }
    }

    /// The names of the tests of the program that match a filter.
    pub(super) fn tests(&self, filter: Option<&str>) -> anyhow::Result<Vec<String>> {
        let step = self.step(filter).with(["--list", "--format", "terse"]);
        let output = step.command().stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "failed to list the tests: `{step}` failed");
        let output = String::from_utf8_lossy(&output.stdout);
        let tests = output.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(tests.map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_programs_are_those_that_cargo_built_as_tests() {
        let package = json!({
            "name": "almanac-x",
            "version": "1.2.3",
            "manifest_path": "/w/x/Cargo.toml",
            "dependencies": [],
            "targets": [],
        });
        let workspace = json!({ "workspace_root": "/w", "packages": [package] });
        let workspace: Workspace = serde_json::from_value(workspace).unwrap();
        let message = |kind: &str, name: &str, test: bool, executable: Option<&str>| {
            json!({
                "reason": "compiler-artifact",
                "manifest_path": "/w/x/Cargo.toml",
                "target": { "name": name, "kind": [kind] },
                "profile": { "test": test },
                "executable": executable,
            })
        };
        let output = [
            message("lib", "almanac_x", true, Some("/t/almanac_x-1")),
            message("lib", "almanac_x", false, None),
            message("bin", "x", false, Some("/t/x")),
            message("test", "cluster_x", true, Some("/t/cluster_x-1")),
            json!({ "reason": "build-finished", "success": true }),
        ];
        let output = output.map(|message| message.to_string()).join("\n");
        let built = Built::read(&workspace, &output).unwrap();
        let names: Vec<_> = built.programs.iter().map(Program::name).collect();
        assert_eq!(names, ["almanac-x (lib)", "almanac-x cluster_x"]);
        let rerun = built.programs[1].rerun("a::b").to_string();
        assert_eq!(rerun, "cargo test --workspace --test cluster_x -- --exact a::b");
        let environment = &built.programs[0].environment;
        assert_eq!(environment["CARGO_MANIFEST_DIR"], "/w/x");
        assert_eq!(environment["CARGO_PKG_VERSION_MINOR"], "2");
    }
}
