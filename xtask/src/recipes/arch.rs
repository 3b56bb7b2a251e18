//! `cargo xtask arch`: the rules of ARCHITECTURE.md that a program can check.
//!
//! This file reads the workspace and prints the findings. Each rule is a pure function of the
//! workspace, in its own file, and its tests show that violations are caught.

mod arrows;
mod cycles;
mod documents;
mod ignored;
mod manifests;
mod map;
mod purity;
mod reasons;
mod style;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context as _;

use super::Recipe;
use crate::run::Run;
use crate::source;
use crate::workspace::Workspace;

pub(super) const RECIPE: Recipe = Recipe {
    name: "arch",
    about: "Dependencies between crates and between modules, purity, manifests, house style, documents",
    options: &[],
    run,
};

/// A violation of a rule at a location.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    severity: Severity,
    /// A file, or a file and a line.
    place: String,
    message: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Severity {
    Error,
    Warning,
}

impl Finding {
    fn error(place: &str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, place: place.to_owned(), message: message.into() }
    }

    fn warning(place: &str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, place: place.to_owned(), message: message.into() }
    }
}

fn run(run: &mut Run) -> anyhow::Result<()> {
    run.check("architecture", "cargo xtask arch", |workspace| {
        let findings = gather(workspace)?;
        for Finding { severity, place, message } in &findings {
            let severity = if *severity == Severity::Error { "error" } else { "warning" };
            println!("{severity}: {place}: {message}");
        }
        Ok(findings.iter().all(|finding| finding.severity == Severity::Warning))
    })?;
    Ok(())
}

fn gather(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let mut findings = arrows::check(workspace)?;
    for member in &workspace.members {
        let text = read(&member.manifest_path)?;
        findings.extend(manifests::check(&workspace.relative(&member.manifest_path), &text)?);
    }
    findings.extend(cycles::check(workspace)?);
    findings.extend(purity::check(workspace)?);
    for file in source::read_all(&workspace.root)? {
        let place = workspace.relative(&file.path);
        findings.extend(style::check(&place, &file.text));
        let ignored = ignored::check(&place, &file.text);
        findings.extend(ignored.with_context(|| format!("failed to check {place}"))?);
    }
    findings.extend(reasons::check(&read(&workspace.root.join("Cargo.toml"))?));
    findings.extend(documents::check(workspace)?);
    findings.extend(map::check(workspace)?);
    Ok(findings)
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))
}

fn read_if_exists(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        read => read.map(Some).with_context(|| format!("failed to read {}", path.display())),
    }
}
