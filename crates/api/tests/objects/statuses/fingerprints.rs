//! The fingerprints of rules that releases have stored, in `fingerprints.txt`.
//!
//! `ALMANAC_UPDATE=1` fills in the fingerprints of new lines, and changes no others.

#![expect(clippy::disallowed_methods, reason = "golden files are files")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use almanac_api::status::cron_federated_hpa::read;
use almanac_engine::Fingerprint;
use almanac_engine::cron_scaling::CronScaling;
use serde_json::json;

use crate::statuses::support::{policy, with_entries};
use crate::written::cron_for;

/// The placeholder for an unknown fingerprint.
const UNKNOWN: &str = "?";

/// The stored fingerprint of a line, and the target and the rule as written.
fn parts(line: &str) -> (&str, &str) {
    line.split_once(' ').expect("a fingerprint and its rule")
}

/// The policy with the one rule of a line.
fn policy_of(written: &str) -> CronScaling {
    let (target, rule) = written.split_once(" | ").expect("a target and a rule");
    policy(&cron_for(target, &format!("  - {rule}\n")))
}

fn fingerprint(written: &str) -> Fingerprint {
    policy_of(written).rules[0].fingerprint
}

fn filled_in(line: &str) -> String {
    match line.split_once(' ') {
        Some((UNKNOWN, written)) => format!("{} {written}", fingerprint(written)),
        _ => line.to_owned(),
    }
}

/// The lines of the file, without comments.
static LINES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects/statuses/fingerprints.txt");
    let mut text = std::fs::read_to_string(&path).expect("the file exists");
    if std::env::var_os("ALMANAC_UPDATE").is_some() {
        text = text.lines().map(|line| filled_in(line) + "\n").collect();
        std::fs::write(&path, &text).expect("the file can be written");
    }
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
});

#[test]
fn a_rule_whose_fingerprint_an_earlier_release_stored_is_not_new() {
    assert!(!LINES.is_empty());
    for line in LINES.iter() {
        let (stored, written) = parts(line);
        let policy = policy_of(written);
        let entry = json!({
            "ruleName": "up", "fingerprint": stored, "lastHandledTime": "2026-01-05T08:00:00Z",
        });
        let memory = read(&policy, &with_entries(&[entry])).expect("a status exists");
        assert_eq!(memory.rules[0].fingerprint, policy.rules[0].fingerprint, "{line}");
    }
}

#[test]
fn rules_that_do_something_else_or_at_other_times_have_different_fingerprints() {
    let different: BTreeSet<_> = LINES.iter().map(|line| fingerprint(parts(line).1)).collect();
    assert_eq!(different.len(), LINES.len());
}
