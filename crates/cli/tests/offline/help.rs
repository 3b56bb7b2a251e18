//! The help of each command: a line in plain words, and examples that run in a checkout.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The commands that end by themselves and need only files.
const WITH_FILES: [&str; 10] =
    ["forecast", "explain", "next", "diff", "when", "lint", "validate", "crds", "man", "version"];

/// Marks of an example that needs a cluster, a revision or another program.
const NEEDS_MORE: [&str; 7] = [" -n ", " -A", " -k ", "--git ", "kubectl", "| man", "origin/"];

fn help(command: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_almanac")).args([command, "--help"]).output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

fn examples(help: &str) -> impl Iterator<Item = &str> {
    let (_, examples) = help.split_once("\nExamples:\n").unwrap();
    examples.lines().take_while(|line| !line.is_empty()).map(str::trim)
}

/// A directory with only the files that the examples name.
fn checkout() -> PathBuf {
    let checkout = Path::new(env!("CARGO_TARGET_TMPDIR")).join("help");
    let _ = fs::remove_dir_all(&checkout);
    for directory in ["docs", "examples", "examples/office-hours", "examples/cron-scaling"] {
        fs::create_dir_all(checkout.join(directory)).unwrap();
        for entry in fs::read_dir(Path::new(ROOT).join(directory)).unwrap() {
            let file = entry.unwrap().path();
            if file.extension().is_some_and(|it| it == "yaml") {
                let copy = checkout.join(directory).join(file.file_name().unwrap());
                fs::copy(file, copy).unwrap();
            }
        }
    }
    checkout
}

#[test]
fn the_examples_of_the_help_run_in_a_checkout() {
    let checkout = checkout();
    let directory = Path::new(env!("CARGO_BIN_EXE_almanac")).parent().unwrap().to_path_buf();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path =
        std::env::join_paths([directory].into_iter().chain(std::env::split_paths(&path))).unwrap();
    for command in WITH_FILES {
        let help = help(command);
        let mut count = 0;
        for example in examples(&help).filter(|it| !NEEDS_MORE.iter().any(|mark| it.contains(mark)))
        {
            let output = Command::new("sh")
                .args(["-c", example])
                .current_dir(&checkout)
                .env("PATH", &path)
                .env("HOME", &checkout)
                .stdin(Stdio::null())
                .output()
                .unwrap();
            assert!(output.status.success(), "{example}: {output:?}");
            count += 1;
        }
        assert_ne!(count, 0, "no example of {command} was run");
    }
}

#[test]
fn each_command_has_a_line_of_help_without_a_period() {
    let output = Command::new(env!("CARGO_BIN_EXE_almanac"))
        .env("COLUMNS", "100")
        .arg("--help")
        .output()
        .unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let (_, commands) = help.split_once("\nCommands:\n").unwrap();
    let commands: Vec<&str> = commands.lines().take_while(|line| !line.is_empty()).collect();
    assert!(commands.len() > WITH_FILES.len(), "{commands:?}");
    for line in commands {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert!(words.len() > 2 && line.starts_with("  "), "more than a line: {line:?}");
        assert!(!line.starts_with("   ") && !line.ends_with('.'), "{line:?}");
    }
}
