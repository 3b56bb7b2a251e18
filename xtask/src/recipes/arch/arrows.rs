//! Which crate depends on which: the table has all dependencies, and no others.
//!
//! Normal and build dependencies count; dev-dependencies, and packages outside `crates/` (tests,
//! benches, xtask), are free.

use super::Finding;
use crate::workspace::Workspace;

/// A crate, and the crates it depends on.
type Row = (&'static str, &'static [&'static str]);

/// Every crate and the crates it depends on, as in ARCHITECTURE.md: all of these, and only these.
const ARROWS: &[Row] = &[
    ("almanac-calendar", &[]),
    ("almanac-expressions", &["almanac-calendar"]),
    ("almanac-engine", &["almanac-calendar", "almanac-expressions"]),
    ("almanac-api", &["almanac-engine", "almanac-calendar", "almanac-expressions"]),
    ("almanac-forecast", &["almanac-engine"]),
    ("almanac-shell", &["almanac-api"]),
    ("almanac-local", &["almanac-shell"]),
    ("almanac-controllers", &["almanac-shell", "almanac-engine", "almanac-api"]),
    (
        "almanac",
        &[
            "almanac-calendar",
            "almanac-engine",
            "almanac-api",
            "almanac-forecast",
            "almanac-local",
            "almanac-shell",
            "almanac-controllers",
        ],
    ),
];

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = compare(workspace, ARROWS);
    findings.extend(missing(workspace, ARROWS));
    findings
}

/// The dependencies that the table does not have.
fn compare(workspace: &Workspace, arrows: &[Row]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in &workspace.members {
        let place = workspace.relative(&member.manifest_path);
        if !place.starts_with("crates/") {
            continue;
        }
        let Some((_, allowed)) = arrows.iter().find(|(name, _)| *name == member.name) else {
            let message = format!(
                "`{}` has no row in the table of allowed dependencies ({})",
                member.name,
                file!()
            );
            findings.push(Finding::error(&place, message));
            continue;
        };
        for dependency in &member.dependencies {
            let is_ours = workspace.members.iter().any(|other| other.name == dependency.name);
            let is_allowed =
                dependency.is_for_development() || allowed.contains(&dependency.name.as_str());
            if is_ours && !is_allowed {
                let message = format!(
                    "`{}` may not depend on `{}`; it may depend on {}",
                    member.name,
                    dependency.name,
                    if allowed.is_empty() {
                        "no other crate".to_owned()
                    } else {
                        allowed.join(", ")
                    }
                );
                findings.push(Finding::error(&place, message));
            }
        }
    }
    findings
}

/// The rows and the dependencies of the table that are not there.
fn missing(workspace: &Workspace, arrows: &[Row]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, allowed) in arrows {
        let Some(member) = workspace.members.iter().find(|member| member.name == *name) else {
            let message = format!("the table has `{name}`, which is not a crate; take it out");
            findings.push(Finding::error(file!(), message));
            continue;
        };
        let is_there = |target: &&&str| {
            let mut dependencies = member.dependencies.iter();
            dependencies.any(|it| !it.is_for_development() && it.name == **target)
        };
        for target in allowed.iter().filter(|target| !is_there(target)) {
            let message =
                format!("the table has `{name}` → `{target}`, which is not there; take it out");
            findings.push(Finding::error(file!(), message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A dependency's name and kind.
    type Arrow = (&'static str, Option<&'static str>);

    /// A workspace of packages: directory, name, dependencies.
    fn workspace(members: &[(&str, &str, &[Arrow])]) -> Workspace {
        let packages: Vec<_> = members
            .iter()
            .map(|(folder, name, dependencies)| {
                let dependencies: Vec<_> = dependencies
                    .iter()
                    .map(|(name, kind)| json!({ "name": name, "kind": kind }))
                    .collect();
                json!({
                    "name": name,
                    "manifest_path": format!("/w/{folder}/Cargo.toml"),
                    "dependencies": dependencies,
                    "targets": [],
                })
            })
            .collect();
        let metadata = json!({ "workspace_root": "/w", "packages": packages });
        serde_json::from_value(metadata).unwrap()
    }

    #[test]
    fn an_allowed_arrow_is_silent() {
        let workspace = workspace(&[
            ("crates/calendar", "almanac-calendar", &[("jiff", None)]),
            ("crates/engine", "almanac-engine", &[("almanac-calendar", None)]),
        ]);
        assert_eq!(compare(&workspace, ARROWS), []);
    }

    #[test]
    fn an_arrow_against_the_table_is_an_error() {
        let workspace = workspace(&[
            ("crates/calendar", "almanac-calendar", &[("almanac-engine", None)]),
            ("crates/engine", "almanac-engine", &[("almanac-harness", Some("build"))]),
            ("tests/harness", "almanac-harness", &[]),
        ]);
        let findings = compare(&workspace, ARROWS);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert_eq!(
            findings[0],
            Finding::error(
                "crates/calendar/Cargo.toml",
                "`almanac-calendar` may not depend on `almanac-engine`; \
                 it may depend on no other crate",
            )
        );
    }

    #[test]
    fn dev_dependencies_and_packages_outside_crates_are_free() {
        let workspace = workspace(&[
            ("crates/calendar", "almanac-calendar", &[("almanac-checker", Some("dev"))]),
            ("tests/checker", "almanac-checker", &[("almanac-calendar", None)]),
        ]);
        assert_eq!(compare(&workspace, ARROWS), []);
    }

    #[test]
    fn a_crate_without_a_row_is_an_error() {
        let workspace = workspace(&[("crates/surprise", "almanac-surprise", &[])]);
        assert!(compare(&workspace, ARROWS)[0].message.contains("no row in the table"));
    }

    #[test]
    fn an_arrow_of_the_table_that_is_not_there_is_an_error() {
        let table: &[Row] = &[
            ("almanac-calendar", &[]),
            ("almanac-engine", &["almanac-calendar", "almanac-expressions"]),
            ("almanac-surprise", &[]),
        ];
        let workspace = workspace(&[
            ("crates/calendar", "almanac-calendar", &[]),
            (
                "crates/engine",
                "almanac-engine",
                &[("almanac-calendar", None), ("almanac-expressions", Some("dev"))],
            ),
        ]);
        let findings = missing(&workspace, table);
        let messages: Vec<&str> = findings.iter().map(|finding| &*finding.message).collect();
        let expected = [
            "the table has `almanac-engine` → `almanac-expressions`, which is not there; take it out",
            "the table has `almanac-surprise`, which is not a crate; take it out",
        ];
        assert_eq!(messages, expected);
    }

    #[test]
    fn every_allowed_dependency_has_a_row_above() {
        for (row, (name, allowed)) in ARROWS.iter().enumerate() {
            for target in *allowed {
                let is_above = ARROWS[..row].iter().any(|(above, _)| above == target);
                assert!(is_above, "{name} -> {target} would allow a circle");
            }
        }
    }
}
