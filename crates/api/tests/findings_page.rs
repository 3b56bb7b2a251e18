//! The page that lists the findings says exactly what the table of codes says.
//!
//! Run with `ALMANAC_UPDATE=1` to regenerate it.

#![expect(clippy::disallowed_methods, reason = "golden files are files")]

use std::path::Path;

use almanac_api::finding::Code;

const OPENING: &str = "\
# Findings

What `almanac validate` and the admission webhook may report about an object, by code. An error would
be rejected, or can't be carried out; a warning is accepted, but probably not what was meant. Codes
never change their meaning, so scripts can rely on them.

| code | severity | what it means, and what to do |
|---|---|---|
";

fn page() -> String {
    let row =
        |code: &Code| format!("| `{code}` | {} | {} |\n", code.severity(), code.explanation());
    Code::ALL.iter().fold(OPENING.to_owned(), |page, code| page + &row(code))
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
