//! Each dependency of the workspace has its reason in the root Cargo.toml, in a comment right above it.
//!
//! The text is read line by line, because a parsed manifest has no comments. Whether a reason is good is up to the
//! reviewer. Crates of the workspace need no reason.

use super::Finding;

const MANIFEST: &str = "Cargo.toml";
const TABLE: &str = "[workspace.dependencies]";
const OURS: &str = "almanac-";

pub(super) fn check(manifest: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut is_in_table = false;
    let mut has_reason = false;
    for (number, line) in (1..).zip(manifest.lines().map(str::trim)) {
        if line.starts_with('[') {
            is_in_table = line == TABLE;
        }
        let is_comment = line.starts_with('#');
        let name = line.split_once('=').map(|(name, _)| name.trim());
        let name = name.filter(|name| is_in_table && !is_comment && !name.starts_with(OURS));
        if let Some(name) = name.filter(|_| !has_reason) {
            let message = format!(
                "`{name}` has no reason; state its purpose, and what it replaces, in a comment right above it"
            );
            findings.push(Finding::error(&format!("{MANIFEST}:{number}"), message));
        }
        has_reason = is_comment && line.len() > "# ".len();
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(dependencies: &str) -> Vec<String> {
        let manifest =
            format!("[workspace]\nresolver = \"3\"\n{TABLE}\n{dependencies}\n[profile]\nx = 1\n");
        check(&manifest).into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn a_dependency_below_its_reason_is_silent() {
        let good = "almanac-api = { path = \"crates/api\" }\n\n# Instants.\njiff = \"0.2\"\n";
        assert_eq!(places(good), [""; 0]);
    }

    #[test]
    fn a_dependency_without_a_comment_right_above_is_an_error() {
        assert_eq!(places("jiff = \"0.2\""), ["Cargo.toml:4"]);
        assert_eq!(places("# Instants.\n\njiff = \"0.2\""), ["Cargo.toml:6"]);
        assert_eq!(places("#\njiff = \"0.2\""), ["Cargo.toml:5"]);
    }

    #[test]
    fn a_reason_counts_for_one_dependency() {
        assert_eq!(
            places("# Instants.\njiff = \"0.2\"\nhttp = { version = \"1.3\" }"),
            ["Cargo.toml:6"]
        );
    }
}
