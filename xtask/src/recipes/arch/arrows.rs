//! The dependencies between crates: the table lists exactly the real dependencies, and the diagram in ARCHITECTURE.md
//! has the rows of the table.
//!
//! Normal and build dependencies are checked; dev-dependencies, and packages outside `crates/` (tests,
//! benches, xtask), are not.

use std::collections::{BTreeMap, BTreeSet};

use super::map::MAP;
use super::{Finding, read};
use crate::workspace::Workspace;

/// A crate and its dependencies.
type Row = (&'static str, &'static [&'static str]);

/// The crates in a diagram, each with its dependencies.
type Diagram<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Every crate and its complete list of dependencies, as in ARCHITECTURE.md.
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

pub(super) fn check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let mut findings = compare(workspace, ARROWS);
    findings.extend(missing(workspace, ARROWS));
    findings.extend(compare_diagram(&read(&workspace.root.join(MAP))?, ARROWS));
    Ok(findings)
}

/// The dependencies that are missing in the table.
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

/// The rows and the dependencies of the table that do not exist.
fn missing(workspace: &Workspace, arrows: &[Row]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, allowed) in arrows {
        let Some(member) = workspace.members.iter().find(|member| member.name == *name) else {
            let message = format!("the table has `{name}`, which is not a crate; remove it");
            findings.push(Finding::error(file!(), message));
            continue;
        };
        let exists = |target: &&&str| {
            let mut dependencies = member.dependencies.iter();
            dependencies.any(|it| !it.is_for_development() && it.name == **target)
        };
        for target in allowed.iter().filter(|target| !exists(target)) {
            let message =
                format!("the table has `{name}` → `{target}`, which does not exist; remove it");
            findings.push(Finding::error(file!(), message));
        }
    }
    findings
}

/// The rows that differ between the table and the diagram of the map.
fn compare_diagram(map: &str, arrows: &[Row]) -> Vec<Finding> {
    let drawn = diagram(map);
    let rows = arrows.iter().map(|(name, targets)| {
        let targets: BTreeSet<&str> = targets.iter().map(|it| drawn_name(it)).collect();
        (drawn_name(name), targets)
    });
    let table: Diagram<'_> = rows.collect();
    let names: BTreeSet<&str> = drawn.keys().chain(table.keys()).copied().collect();
    let different = names.into_iter().filter(|name| drawn.get(name) != table.get(name));
    let message = |name: &str| match table.get(name) {
        None => format!("the diagram has `{name}`, which is not a crate; remove it"),
        Some(targets) if targets.is_empty() => format!("the diagram must have the row `{name}`"),
        Some(targets) => {
            let targets: Vec<&str> = targets.iter().copied().collect();
            format!("the diagram must have the row `{name} ──▶ {}`", targets.join(", "))
        }
    };
    different.map(|name| Finding::error(MAP, message(name))).collect()
}

/// The name of a package in the diagram.
fn drawn_name(package: &str) -> &str {
    if package == "almanac" { "cli" } else { package.trim_start_matches("almanac-") }
}

/// The diagram of the map: the first block below the heading of the crates. A line that starts with a dash divides the
/// diagram.
fn diagram(map: &str) -> Diagram<'_> {
    let section = map.split("\n## Crates\n").nth(1).unwrap_or_default();
    let lines = section.split("```").nth(1).unwrap_or_default().lines().map(str::trim);
    let rows = lines.filter(|line| !line.is_empty() && !line.starts_with('─'));
    rows.map(|row| {
        let (name, targets) = row.split_once('▶').unwrap_or((row, ""));
        let targets = targets.split(',').map(str::trim).filter(|it| !it.is_empty());
        let targets: BTreeSet<&str> = targets.collect();
        (name.trim_end_matches([' ', '─']), targets)
    })
    .collect()
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
    fn a_nonexistent_dependency_in_the_table_is_an_error() {
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
            "the table has `almanac-engine` → `almanac-expressions`, which does not exist; remove it",
            "the table has `almanac-surprise`, which is not a crate; remove it",
        ];
        assert_eq!(messages, expected);
    }

    #[test]
    fn a_row_of_the_diagram_that_differs_from_the_table_is_an_error() {
        let table: &[Row] = &[
            ("almanac-calendar", &[]),
            ("almanac-engine", &["almanac-calendar"]),
            ("almanac", &["almanac-engine", "almanac-calendar"]),
        ];
        let messages = |diagram: &str| -> Vec<String> {
            let map = format!("# Map\n\n## Crates\n\n```\n{diagram}\n```\n\n```\na ──▶ b\n```\n");
            let findings = compare_diagram(&map, table).into_iter();
            findings.map(|finding| finding.message).collect()
        };
        let same =
            "   cli ─────▶ engine, calendar\n   ─── pure\n   engine ──▶ calendar\n   calendar";
        assert_eq!(messages(same), [""; 0]);
        let different = "   cli ─────▶ engine\n   engine ──▶ calendar\n   shell ───▶ engine";
        let expected = [
            "the diagram must have the row `calendar`",
            "the diagram must have the row `cli ──▶ calendar, engine`",
            "the diagram has `shell`, which is not a crate; remove it",
        ];
        assert_eq!(messages(different), expected);
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
