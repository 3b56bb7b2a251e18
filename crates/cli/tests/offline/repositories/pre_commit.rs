//! The hook for pre-commit in the documentation works as described.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::repositories::repository::{Ran, Repository, policy};

/// The command that the page lists for pre-commit.
fn entry() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gitops.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, rest) = page.split_once("```yaml\nrepos:\n").unwrap();
    let (hook, _) = rest.split_once("```").unwrap();
    assert!(hook.lines().count() < 3, "three lines with `repos:`");
    assert!(hook.contains("language: system, pass_filenames: false"), "{hook}");
    let (_, entry) = hook.split_once("entry: ").unwrap();
    entry.split(',').next().unwrap().to_owned()
}

/// Runs the command as pre-commit does: in the root of the repository, without file names.
fn run(repository: &Repository) -> Ran {
    let program = Path::new(env!("CARGO_BIN_EXE_almanac")).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", program.display());
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &entry()]).current_dir(repository.root()).env("PATH", path);
    Ran::from_output(&shell.output().unwrap())
}

#[test]
fn only_a_commit_with_an_invalid_policy_is_blocked() {
    let repository = Repository::new("pre-commit")
        .file("clusters/prod/hours.yaml", policy("hours", "shop", 40))
        .file("clusters/staging/hours.yaml", policy("hours", "shop", 4))
        .file("charts/web/values.yaml", "replicas: 3\n")
        .file("broken.yaml", "a: [\n");
    run(&repository).assert_output(0, &["no problems found"]);
    let wrong = policy("hours", "shop", 4).replace("0 8 * * *", "0 8 * *");
    let repository = repository.file("clusters/staging/hours.yaml", wrong);
    run(&repository).assert_output(1, &["--> clusters/staging/hours.yaml:8:28"]);
}
