//! Checks each member's Cargo.toml: all shared values come from the Cargo.toml of the workspace.

use anyhow::Context as _;
use toml::{Table, Value};

use super::Finding;

const SHARED_FIELDS: &[&str] = &["version", "edition", "rust-version", "license", "publish"];
const DEPENDENCY_TABLES: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

pub(super) fn check(place: &str, text: &str) -> anyhow::Result<Vec<Finding>> {
    let manifest: Table = text.parse().with_context(|| format!("failed to read {place}"))?;
    let mut findings = Vec::new();
    if !comes_from_the_workspace(manifest.get("lints")) {
        findings.push(Finding::error(place, "`[lints]` must say `workspace = true`"));
    }
    let package = manifest.get("package").and_then(Value::as_table);
    for field in SHARED_FIELDS {
        if !comes_from_the_workspace(package.and_then(|package| package.get(*field))) {
            findings.push(Finding::error(place, format!("must say `{field}.workspace = true`")));
        }
    }
    for (name, dependency) in dependencies(&manifest) {
        if !comes_from_the_workspace(Some(dependency)) {
            let message = format!(
                "`{name}` must say `workspace = true`; its version or path belongs in the root \
                 Cargo.toml"
            );
            findings.push(Finding::error(place, message));
        }
    }
    Ok(findings)
}

/// Whether a value is a table with `workspace = true`.
fn comes_from_the_workspace(value: Option<&Value>) -> bool {
    value.and_then(|value| value.get("workspace")).and_then(Value::as_bool) == Some(true)
}

/// All dependencies of a manifest, including those for a single platform.
fn dependencies(manifest: &Table) -> impl Iterator<Item = (&String, &Value)> {
    let platforms = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let platforms = platforms.filter_map(|(_, platform)| platform.as_table());
    std::iter::once(manifest)
        .chain(platforms)
        .flat_map(|holder| DEPENDENCY_TABLES.iter().filter_map(|table| holder.get(*table)))
        .filter_map(Value::as_table)
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        [package]
        name = "almanac-x"
        version.workspace = true
        edition.workspace = true
        rust-version.workspace = true
        license.workspace = true
        publish.workspace = true
        [dependencies]
        jiff = { workspace = true, features = ["serde"] }
        [lints]
        workspace = true
    "#;

    fn messages(manifest: &str) -> Vec<String> {
        let findings = check("crates/x/Cargo.toml", manifest).unwrap();
        findings.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_manifest_that_inherits_everything_from_the_workspace_is_silent() {
        assert_eq!(messages(GOOD), [""; 0]);
    }

    #[test]
    fn a_manifest_with_its_own_shared_field_is_an_error() {
        let manifest = GOOD.replace("edition.workspace = true", "edition = \"2021\"");
        assert_eq!(messages(&manifest), ["must say `edition.workspace = true`"]);
    }

    #[test]
    fn a_manifest_with_its_own_lints_is_an_error() {
        let manifest = GOOD.replace("[lints]\n        workspace = true", "");
        assert_eq!(messages(&manifest), ["`[lints]` must say `workspace = true`"]);
    }

    #[test]
    fn a_version_number_is_an_error_in_every_kind_of_dependency_table() {
        for table in ["dev-dependencies", "build-dependencies", "target.'cfg(unix)'.dependencies"] {
            for dependency in ["\"1.0\"", "{ version = \"1.0\" }", "{ path = \"../serde\" }"] {
                let manifest = format!("{GOOD}\n[{table}]\nserde = {dependency}");
                let messages = messages(&manifest);
                assert_eq!(messages.len(), 1, "{manifest}");
                assert!(messages[0].starts_with("`serde` must say"), "{messages:?}");
            }
        }
    }
}
