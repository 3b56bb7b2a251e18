//! The findings of `lint` beyond those of `validate`: for each finding a file with the finding and its expected text,
//! stories in which the finding is harder to see, and similar files without the finding.
//!
//! Run with `ALMANAC_UPDATE=1` to write the expected texts again.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use almanac_api::finding::Code;
use serde_json::Value;

use crate::running::{Ran, almanac, assert_written_down, list};

/// The instant of the check for files that do not name a day.
const PRESENT: &str = "2026-11-23";

/// The codes of findings that `validate` lacks or reports less often.
pub(crate) const OF_LINT: &[Code] = &[
    Code::NeverFires,
    Code::NeverOpens,
    Code::NeverWins,
    Code::ListOrder,
    Code::Gap,
    Code::CutShort,
    Code::TwoWriters,
    Code::MovesOtherBound,
    Code::OutOfBounds,
    Code::AboveQuota,
    Code::AboveCapacity,
    Code::ScoreEnds,
    Code::SelectsNothing,
    Code::MetricsAlternate,
    Code::Suspended,
    Code::AssumedZone,
    Code::UnitsTooSmall,
    Code::ClockChange,
    Code::ExemptNamespace,
];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/offline/lint").join(name)
}

/// The files of a directory, in order.
fn files(name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path());
    let is_yaml = |path: &PathBuf| path.extension().is_some_and(|it| it == "yaml");
    let mut files: Vec<PathBuf> = entries.filter(is_yaml).collect();
    files.sort();
    files
}

/// The findings for a file, as text with paths relative to its directory. A first line `# from DAY` sets the day of
/// the check.
fn lint(file: &Path, format: &str) -> String {
    let text = fs::read_to_string(file).unwrap();
    let from = text.lines().next().and_then(|line| line.strip_prefix("# from "));
    let name = file.file_name().unwrap().to_str().unwrap();
    let arguments = ["lint", name, "--from", from.unwrap_or(PRESENT), "-o", format];
    let ran = Ran::from_output(&almanac(file.parent().unwrap(), &arguments).output().unwrap());
    assert_eq!(ran.stderr, "");
    ran.stdout
}

/// The findings for a file.
fn findings(file: &Path) -> Vec<Value> {
    let report: Value = serde_json::from_str(&lint(file, "json")).unwrap();
    list(&report["findings"]).to_vec()
}

#[test]
fn the_output_for_each_finding_matches_the_golden_files() {
    let of_each = files("found").into_iter().flat_map(|file| [(file.clone(), true), (file, false)]);
    let stories = files("stories").into_iter().map(|file| (file, false));
    for (file, is_sarif) in of_each.chain(stories) {
        let (format, extension) = if is_sarif { ("sarif", "sarif") } else { ("text", "txt") };
        assert_written_down(file.with_extension(extension), &lint(&file, format));
    }
}

#[test]
fn each_file_has_the_finding_of_its_name_and_each_finding_has_a_file() {
    let mut names = BTreeSet::new();
    for file in files("found") {
        let findings = findings(&file);
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let found = findings.iter().find(|it| it["code"] == *name);
        let found = found.unwrap_or_else(|| panic!("{name}: {findings:?}"));
        for part in ["field", "message", "fix"] {
            assert!(found[part].as_str().is_some_and(|it| !it.is_empty()), "{name}: {found}");
        }
        names.insert(name);
    }
    let codes = OF_LINT.iter().map(|code| code.name().to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(names, codes);
}

/// The repository's own files have no findings, except for those with a comment that states the reason.
#[test]
fn our_own_checkout_has_no_findings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (command, paths) in [
        ("validate", &["."][..]),
        ("lint", &["."][..]),
        ("lint", &["examples"][..]),
        // This file is checked separately, because it contains the same objects.
        ("validate", &["deploy/namespaced"][..]),
    ] {
        let strict = ["--from", PRESENT, "--fail-on", "info", "-o", "json"];
        let arguments = [&[command], paths, &strict].concat();
        let report =
            Ran::from_output(&almanac(&root, &arguments).output().unwrap()).ended(0).json();
        assert_eq!(report["findings"], Value::from(Vec::<Value>::new()), "{command} {paths:?}");
        if command == "lint" {
            assert_eq!(report["ignored"], 3, "{command} {paths:?}");
        }
    }
}

#[test]
fn each_story_has_one_finding_at_least() {
    for file in files("stories") {
        assert!(!findings(&file).is_empty(), "{}", file.display());
    }
}

#[test]
fn harmless_lookalikes_have_no_findings() {
    let fine = files("fine");
    assert!(fine.len() > 9, "{fine:?}");
    for file in fine {
        let findings = findings(&file);
        assert!(findings.is_empty(), "{}: {findings:?}", file.display());
    }
}
