//! The page that lists the findings matches the table of codes, with an example of each from the tests.
//!
//! Run with `ALMANAC_UPDATE=1` to regenerate it.

#![expect(clippy::expect_used, reason = "what fails here fails the test")]
#![expect(clippy::disallowed_methods, reason = "golden files are files")]

use std::path::{Path, PathBuf};

use almanac_api::finding::Code;

const OPENING: &str = "\
# Findings

The findings of `almanac validate`, `almanac lint` and the admission webhook, by code. The API server would reject an
error, or Almanac cannot apply it. A warning is accepted, but probably not intended. A note (`info`) is for your
information. Codes never change their meaning, so scripts can rely on them. To suppress findings, see
[Lint policies](lint.md).
";

/// The findings in the expected outputs of the tests of the program: the page has the first example of each finding.
fn expected_outputs() -> String {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/offline");
    let entries = std::fs::read_dir(tests.join("lint/found")).expect("the tests exist");
    let paths = entries.map(|entry| entry.expect("the tests can be listed").path());
    let is_text = |path: &PathBuf| path.extension().is_some_and(|it| it == "txt");
    let mut paths: Vec<PathBuf> = paths.filter(is_text).collect();
    paths.sort();
    paths.push(tests.join("mistakes.txt"));
    let outputs = paths.iter().map(|it| std::fs::read_to_string(it).expect("a readable file"));
    outputs.collect::<Vec<_>>().join("\n")
}

/// The rendered example of a finding, if a test has one.
fn example(expected_outputs: &str, code: Code) -> Option<&str> {
    let begins = expected_outputs.find(&format!("{}[{code}]: ", code.severity()))?;
    let block = &expected_outputs[begins..];
    Some(block.split("\n\n").next().unwrap_or(block).trim_end())
}

fn page() -> String {
    let expected_outputs = expected_outputs();
    let section = |code: &Code| {
        let example = example(&expected_outputs, *code);
        let example = example.map_or(String::new(), |it| format!("\n```text\n{it}\n```\n"));
        let explanation = code.explanation();
        format!("\n## {code}\n\nSeverity: {}. {explanation}\n{example}", code.severity())
    };
    OPENING.to_owned() + &Code::ALL.iter().map(section).collect::<String>()
}

#[test]
fn the_page_of_findings_lists_every_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/findings.md");
    if std::env::var_os("ALMANAC_UPDATE").is_some() {
        std::fs::write(&path, page()).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, page(), "docs/findings.md is stale: run this test with ALMANAC_UPDATE=1");
}

#[test]
fn codes_are_unique_and_in_lower_case_with_hyphens() {
    let mut names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Code::ALL.len());
    assert!(
        names
            .iter()
            .all(|name| name.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'-' | b'8')))
    );
}
