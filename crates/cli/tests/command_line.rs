//! The command line as people type it: what is understood, and what is said where it is not.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::process::{Command, Output, Stdio};

const SHOP: &str = "examples/cron-scaling/two-mornings.yaml";

/// Runs the program in the root of the repository, where the locale says UTF-8.
fn almanac(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_almanac"));
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    command.stdin(Stdio::null()).env("COLUMNS", "100").env("LC_ALL", "C.UTF-8").args(arguments);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What is said on standard error by a command that cannot run.
#[track_caller]
fn refused(arguments: &[&str]) -> String {
    let output = almanac(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    text(&output.stderr)
}

#[test]
fn a_value_may_begin_with_a_hyphen() {
    for arguments in [
        &["forecast", "-f", SHOP, "--from", "-1h"][..],
        &["forecast", "-f", SHOP, "--from", "-2d", "--to", "-1d"],
        &["next", "-f", SHOP, "--from", "-1h"],
        &["explain", "-f", SHOP, "checkout", "--at", "-1h"],
        &["validate", "-f", SHOP, "--from", "-1h"],
        &["when", "--daily", "22:00-06:00", "--from", "-1h"],
    ] {
        let output = almanac(arguments);
        assert!(output.stderr.is_empty(), "{arguments:?}: {}", text(&output.stderr));
    }
    let zone = refused(&["forecast", "-f", SHOP, "--zone", "-05:00"]);
    assert!(zone.contains("an offset is not a time zone"), "{zone}");
    let period = refused(&["next", "-f", SHOP, "--for", "-1d"]);
    assert!(period.contains("write --from -1d --for 1d"), "{period}");
    let cron = refused(&["when", "--cron", "-5 9 * * *"]);
    assert!(cron.contains("a range has two ends"), "{cron}");
}

#[test]
fn what_is_assumed_twice_is_said_to_be() {
    let both = ["--assume", "checkout.minReplicas=3", "--assume", "fhpa/checkout.minReplicas=4"];
    let refused = refused(&[&["forecast", "-f", SHOP][..], &both].concat());
    assert!(refused.contains("is assumed already, to be 3"), "{refused}");
}

#[test]
fn people_read_instants_to_the_second() {
    let at = "2026-11-23T00:00:00.123456789Z";
    for arguments in [
        &["forecast", "-f", SHOP, "--from", at][..],
        &["explain", "-f", SHOP, "checkout", "--at", at],
        &["next", "-f", SHOP, "--from", at],
        &["forecast", "-f", SHOP],
    ] {
        let printed = text(&almanac(arguments).stdout);
        assert!(!printed.is_empty() && !printed.contains(".1234"), "{printed}");
        let has_fraction = |word: &str| word.ends_with('Z') && word.contains('.');
        assert!(!printed.split_whitespace().any(has_fraction), "{printed}");
    }
}
