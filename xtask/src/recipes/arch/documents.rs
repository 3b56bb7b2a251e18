//! The commands in the documents: each exists in the task runner, and CI runs the README's.

use std::fs;

use clap::Parser as _;

use super::{Finding, read, read_if_exists};
use crate::recipes::Arguments;
use crate::workspace::Workspace;

const README: &str = "README.md";
const CI: &str = ".ci/run";
const RUNNER: &str = "cargo xtask";

pub(super) fn check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let folders = [".", "docs", "docs/failures"].map(|folder| workspace.root.join(folder));
    for folder in folders {
        if !folder.is_dir() {
            continue;
        }
        let mut paths = fs::read_dir(&folder)?
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<Vec<_>>>()?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
        paths.sort();
        for path in paths {
            findings.extend(check_commands(&workspace.relative(&path), &read(&path)?));
        }
    }
    let read_from_root = |file: &str| read_if_exists(&workspace.root.join(file));
    let readme = read_from_root(README)?.unwrap_or_default();
    findings.extend(check_ci(&readme, &read_from_root(CI)?.unwrap_or_default()));
    Ok(findings)
}

/// Every `cargo xtask` command in a document is parsed by the task runner itself.
fn check_commands(place: &str, document: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, command) in commands(document) {
        let arguments = Arguments::try_parse_from(command.split_whitespace().skip(1));
        if let Err(error) = arguments.and_then(|arguments| arguments.check()) {
            let cause = error.to_string();
            let cause = cause.lines().next().unwrap_or_default().trim_start_matches("error: ");
            findings
                .push(Finding::error(&format!("{place}:{line}"), format!("`{command}`: {cause}")));
        }
    }
    findings
}

/// CI runs the README's test command word for word, on its own line.
fn check_ci(readme: &str, ci: &str) -> Vec<Finding> {
    let is_test = |command: &&str| {
        let words: Vec<_> = command.split_whitespace().collect();
        words.contains(&"test") && !words.contains(&"--quick")
    };
    let Some(command) = commands(readme).map(|(_, command)| command).find(is_test) else {
        let message = format!("has no block marked `sh` with the test command, `{RUNNER} … test`");
        return vec![Finding::error(README, message)];
    };
    if ci.lines().any(|line| line == command) {
        return Vec::new();
    }
    vec![Finding::error(
        CI,
        format!("must call the README's test command on a line of its own: {command}"),
    )]
}

/// The lines in a document's ```` ```sh ```` blocks that call the task runner, with their numbers.
/// A comment after the command is cut off.
fn commands(document: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_shell = false;
    (1..).zip(document.lines().map(str::trim)).filter_map(move |(number, line)| {
        if let Some(language) = line.strip_prefix("```") {
            is_shell = language == "sh";
            return None;
        }
        let command = line.split(" #").next().unwrap_or_default().trim_end();
        let is_ours = command == RUNNER || command.starts_with(&format!("{RUNNER} "));
        (is_shell && is_ours).then_some((number, command))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const README: &str = "# Almanac\n```sh\ncargo run --release -- when\n```\n\n```sh\ncargo xtask lint arch test\n```\n";

    #[test]
    fn a_command_of_the_task_runner_is_silent() {
        assert_eq!(check_commands("README.md", README), []);
        let commented = "```sh\ncargo xtask test --quick   # no cluster\n```\n";
        assert_eq!(check_commands("README.md", commented), []);
    }

    #[test]
    fn an_unknown_command_is_an_error_at_its_line() {
        for bad in [
            "cargo xtask tset",
            "cargo xtask test --fast",
            "cargo xtask",
            "cargo xtask lint --quick",
        ] {
            let findings = check_commands("README.md", &format!("```sh\n{bad}\n```\n"));
            assert_eq!(findings.len(), 1, "{bad}");
            assert_eq!(findings[0].place, "README.md:2");
        }
    }

    #[test]
    fn a_block_not_marked_as_shell_is_not_a_command() {
        assert_eq!(
            check_commands("README.md", "cargo xtask tset\n```text\ncargo xtask tset\n```\n"),
            []
        );
    }

    #[test]
    fn ci_runs_the_readmes_test_command() {
        assert_eq!(check_ci(README, "set -e\ncargo xtask lint arch test\n"), []);
    }

    #[test]
    fn ci_that_runs_anything_else_is_an_error() {
        for ci in [
            "",
            "cargo xtask lint test\n",
            "# cargo xtask lint arch test\n",
            "cargo xtask lint arch test || true\n",
        ] {
            assert_eq!(check_ci(README, ci).len(), 1, "{ci:?}");
        }
    }

    #[test]
    fn a_readme_without_a_test_command_is_an_error() {
        for readme in ["", "```sh\ncargo xtask test --quick\n```\n"] {
            assert_eq!(check_ci(readme, "cargo xtask test\n")[0].place, "README.md");
        }
    }
}
