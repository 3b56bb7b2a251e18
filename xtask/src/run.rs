//! A run of the task runner: the steps, their durations, and the failures.
//!
//! Steps continue after a failure, so that one run shows all failures. The recipes choose the steps.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::recipes::Arguments;
use crate::workspace::Workspace;

/// A run of the task runner, from its command line to its summary.
pub(crate) struct Run {
    pub(crate) workspace: Workspace,
    pub(crate) arguments: Arguments,
    started: Instant,
    passed: usize,
    tests: Option<Tests>,
    failures: Vec<Failure>,
}

/// The number of tests that passed, and the number of tests that did not run.
#[derive(Default)]
struct Tests {
    passed: usize,
    skipped: usize,
}

struct Failure {
    what: String,
    rerun: String,
}

impl Run {
    pub(crate) fn new(workspace: Workspace, arguments: Arguments) -> Self {
        Self {
            workspace,
            arguments,
            started: Instant::now(),
            passed: 0,
            tests: None,
            failures: Vec::new(),
        }
    }

    /// Runs a command from the workspace's root with its output passed through.
    pub(crate) fn step(&mut self, title: &str, step: &Step) -> bool {
        println!("\n== {title}: {step}");
        let started = Instant::now();
        let outcome = step.command().current_dir(&self.workspace.root).status();
        let passed = match outcome {
            Ok(status) => status.success(),
            Err(error) => {
                eprintln!("error: failed to start `{}`: {error}", step.program);
                false
            }
        };
        self.record(title, &step.to_string(), passed, started.elapsed())
    }

    /// Runs a command and returns what it printed to standard output; `None` if it failed.
    pub(crate) fn captured(&mut self, title: &str, step: &Step) -> anyhow::Result<Option<String>> {
        println!("\n== {title}: {step}");
        let started = Instant::now();
        let mut command = step.command();
        command.current_dir(&self.workspace.root).stderr(Stdio::inherit());
        let output = command.output().with_context(|| format!("failed to start `{step}`"))?;
        let passed = output.status.success();
        self.record(title, &step.to_string(), passed, started.elapsed());
        Ok(passed.then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
    }

    /// Runs a check inside this process; `rerun` is the command that repeats only this check.
    pub(crate) fn check(
        &mut self,
        title: &str,
        rerun: &str,
        check: impl FnOnce(&Workspace) -> anyhow::Result<bool>,
    ) -> anyhow::Result<bool> {
        println!("\n== {title}");
        let started = Instant::now();
        let passed = check(&self.workspace)?;
        Ok(self.record(title, rerun, passed, started.elapsed()))
    }

    /// Records a failure without a step.
    pub(crate) fn fail(&mut self, what: &str, rerun: &str) {
        self.failures.push(Failure { what: what.to_owned(), rerun: rerun.to_owned() });
    }

    /// Records tests that passed, and tests that did not run.
    pub(crate) fn count_tests(&mut self, passed: usize, skipped: usize) {
        let tests = self.tests.get_or_insert_default();
        tests.passed += passed;
        tests.skipped += skipped;
    }

    /// Records the outcome of a step that ran elsewhere.
    pub(crate) fn record(
        &mut self,
        title: &str,
        rerun: &str,
        passed: bool,
        took: Duration,
    ) -> bool {
        let verdict = if passed { "ok" } else { "FAILED" };
        println!("== {title}: {verdict} in {:.1} s", took.as_secs_f64());
        if passed {
            self.passed += 1;
        } else {
            self.fail(title, rerun);
        }
        passed
    }

    /// Prints a line for every failure and a summary line; returns whether all succeeded.
    pub(crate) fn summary(&self) -> bool {
        println!();
        for Failure { what, rerun } in &self.failures {
            println!("failed: {what}; rerun just that: {rerun}");
        }
        let took = self.started.elapsed().as_secs_f64();
        let (passed, failed) = (self.passed, self.failures.len());
        println!("{passed} steps ok, {failed} failed in {took:.1} s");
        if let Some(Tests { passed, skipped }) = &self.tests {
            print!("{passed} passed, {failed} failed");
            if *skipped > 0 {
                print!(", {skipped} skipped");
            }
            println!();
        }
        self.failures.is_empty()
    }
}

/// A command as a value. The rendered command can be pasted into a shell.
#[derive(Clone)]
pub(crate) struct Step {
    program: String,
    arguments: Vec<String>,
    variable: Option<(&'static str, String)>,
    unshown: BTreeMap<String, String>,
    folder: Option<PathBuf>,
}

impl Step {
    pub(crate) fn new(program: &str, arguments: &[&str]) -> Self {
        Self {
            program: program.to_owned(),
            arguments: Vec::new(),
            variable: None,
            unshown: BTreeMap::new(),
            folder: None,
        }
        .with(arguments)
    }

    pub(crate) fn cargo(arguments: &[&str]) -> Self {
        Self::new("cargo", arguments)
    }

    pub(crate) fn with<S: AsRef<str>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    pub(crate) fn variable(mut self, name: &'static str, value: &str) -> Self {
        self.variable = Some((name, value.to_owned()));
        self
    }

    /// Variables of this run only. A user who repeats the step needs others, so the rendered command omits these.
    pub(crate) fn environment(mut self, variables: &BTreeMap<String, String>) -> Self {
        self.unshown.extend(variables.clone());
        self
    }

    /// Sets the working directory; the default is the workspace's root.
    pub(crate) fn in_folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// Runs the command at a lower priority.
    pub(crate) fn nice(mut self) -> Self {
        let program = std::mem::replace(&mut self.program, "nice".to_owned());
        self.arguments.splice(0..0, ["-n".to_owned(), "10".to_owned(), program]);
        self
    }

    /// The command, ready to start.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        // `cargo run` sets variables about this package for this process. Build scripts that watch those variables
        // would see another value than in a user's own call, and rebuild each time.
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(is_about_this_package) {
                command.env_remove(name);
            }
        }
        if let Some((name, value)) = &self.variable {
            command.env(name, value);
        }
        command.envs(&self.unshown);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }
}

fn is_about_this_package(variable: &str) -> bool {
    variable.starts_with("CARGO_PKG_") || variable.starts_with("CARGO_MANIFEST_")
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, value)) = &self.variable {
            write!(formatter, "{name}={} ", quoted(value))?;
        }
        formatter.write_str(&quoted(&self.program))?;
        self.arguments.iter().try_for_each(|argument| write!(formatter, " {}", quoted(argument)))
    }
}

/// A word, quoted for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:@,+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_prints_as_a_person_would_type_it() {
        let step = Step::cargo(&["doc", "--no-deps"]).variable("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(step.to_string(), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
        assert_eq!(Step::cargo(&["test", "it's"]).to_string(), r"cargo test 'it'\''s'");
    }

    #[test]
    fn a_step_does_not_pass_on_which_package_this_is() {
        assert!(is_about_this_package("CARGO_PKG_NAME"));
        assert!(is_about_this_package("CARGO_MANIFEST_DIR"));
        assert!(!is_about_this_package("CARGO_TARGET_DIR"));
    }
}
