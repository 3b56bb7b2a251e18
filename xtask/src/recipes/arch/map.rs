//! ARCHITECTURE.md, DESIGN.md and the page of each crate name files that exist, and the map stays short.
//!
//! The page of a crate is the `//!` of its root file. A name in backticks counts as a path if it contains a `/` or ends
//! in `.rs`. A path starts at the root of the repository, at the directory in the heading above or, in the page of a
//! crate, at the crate or its `src`. Links and commands in documents are checked elsewhere.

use std::path::Path;

use super::{Finding, read, read_if_exists};
use crate::workspace::Workspace;

pub(super) const MAP: &str = "ARCHITECTURE.md";
const DECISIONS: &str = "DESIGN.md";

/// The maximum size of the map. Longer maps remain unread.
const MAX_BYTES: usize = 15_000;

pub(super) fn check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let exists = |path: &str| workspace.root.join(path).exists();
    let mut findings = Vec::new();
    for document in [MAP, DECISIONS] {
        let text = read(&workspace.root.join(document))?;
        findings.extend(check_paths(document, &text, &[], exists));
        if document == MAP {
            findings.extend(check_size(&text));
        }
    }
    for member in &workspace.members {
        let crate_folder = workspace.relative(member.folder());
        if !crate_folder.starts_with("crates/") {
            continue;
        }
        let sources = format!("{crate_folder}/src");
        for file in ["lib.rs", "main.rs"] {
            let place = format!("{sources}/{file}");
            if let Some(text) = read_if_exists(&workspace.root.join(&place))? {
                let bases = [sources.as_str(), crate_folder.as_str()];
                findings.extend(check_paths(&place, &page(&text), &bases, exists));
            }
        }
    }
    Ok(findings)
}

fn check_size(map: &str) -> Option<Finding> {
    let message = || {
        format!(
            "has {} bytes; the maximum is {MAX_BYTES}, so move details of a crate to the page of the crate",
            map.len()
        )
    };
    (map.len() > MAX_BYTES).then(|| Finding::error(MAP, message()))
}

/// The paths in a document that do not exist below the root, the heading above or any of the bases.
fn check_paths(
    place: &str,
    text: &str,
    bases: &[&str],
    exists: impl Fn(&str) -> bool,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut heading = None;
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with('#') {
            heading = paths(line).next();
        }
        for path in paths(line) {
            let mut nearer = bases.iter().copied().chain(heading);
            if !exists(path) && !nearer.any(|base| exists(&format!("{base}/{path}"))) {
                let message = format!("`{path}` does not exist; name what took its place");
                findings.push(Finding::error(&format!("{place}:{number}"), message));
            }
        }
    }
    findings
}

/// The paths among the names in backticks of a line.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|name| {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "_-./".contains(it);
        let is_file = Path::new(name).extension().is_some_and(|extension| extension == "rs");
        name.chars().all(is_plain) && !name.starts_with('/') && (name.contains('/') || is_file)
    })
}

/// The page of a crate, with the line numbers of the file.
fn page(root_file: &str) -> String {
    let lines = root_file.lines().map(|line| line.strip_prefix("//!").unwrap_or_default().trim());
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const THERE: &[&str] =
        &["crates/x", "crates/x/src", "crates/x/src/a.rs", "crates/x/tests/b.rs"];

    fn places(text: &str, bases: &[&str]) -> Vec<String> {
        let findings = check_paths("M.md", text, bases, |path| THERE.contains(&path));
        findings.into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn a_path_from_the_root_or_the_heading_above_is_silent() {
        assert_eq!(places("`crates/x/src/a.rs`", &[]), [""; 0]);
        assert_eq!(places("## `crates/x/src`\n\ntext `a.rs`", &[]), [""; 0]);
    }

    #[test]
    fn a_nonexistent_path_is_an_error_at_its_line() {
        assert_eq!(places("text\n`a.rs` and `b/c`", &[]), ["M.md:2", "M.md:2"]);
        assert_eq!(places("## `crates/x/src`\n## Other\n`a.rs`", &[]), ["M.md:3"]);
    }

    #[test]
    fn a_name_that_is_not_a_path_is_silent() {
        assert_eq!(
            places("`decide`, `/metrics`, `docs/*.md`, `cargo xtask a/b`, a/b", &[]),
            [""; 0]
        );
    }

    #[test]
    fn the_page_of_a_crate_names_files_from_the_crate_or_its_sources() {
        let text =
            page("//! `a.rs` and `tests/b.rs`\nuse a;\n//! `c.rs`\nconst A: &str = \"`d.rs`\";\n");
        assert_eq!(places(&text, &["crates/x/src", "crates/x"]), ["M.md:3"]);
    }

    #[test]
    fn a_long_map_is_an_error() {
        assert_eq!(check_size(&"a".repeat(15_000)), None);
        assert_eq!(
            check_size(&"a".repeat(15_001)).map(|finding| finding.place),
            Some(MAP.to_owned())
        );
    }
}
