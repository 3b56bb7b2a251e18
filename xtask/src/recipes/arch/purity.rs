//! The pure crates: no clock, no await, no hash order, no I/O, no time zones except for jiff's own.
//!
//! Clippy enforces most of these rules, through a `clippy.toml` in each pure crate. This check covers what clippy
//! cannot see: that those files exist and agree, that no source disables the rules or is asynchronous, and the
//! dependencies of the crates.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use toml::Table;

use super::{Finding, read_if_exists};
use crate::run::Step;
use crate::source;
use crate::workspace::{Member, Workspace};

/// A crate that must be pure.
struct Pure {
    package: &'static str,
    /// The crates of [`IMPURE`] that this crate may depend on.
    may_use: &'static [&'static str],
}

/// The objects as Kubernetes describes them: types and a derive, nothing that runs.
const OBJECT_TYPES: &[&str] = &["k8s-openapi", "kube", "kube-core", "kube-derive", "schemars"];

const PURE: &[Pure] = &[
    Pure { package: "almanac-calendar", may_use: &[] },
    Pure { package: "almanac-expressions", may_use: &[] },
    Pure { package: "almanac-engine", may_use: &[] },
    Pure { package: "almanac-api", may_use: OBJECT_TYPES },
    Pure { package: "almanac-forecast", may_use: OBJECT_TYPES },
];

/// The crates that no pure crate depends on, directly or indirectly.
const IMPURE: &[&str] = &[
    "async-std",
    "hyper",
    "k8s-openapi",
    "kube",
    "kube-client",
    "kube-core",
    "kube-derive",
    "kube-runtime",
    "reqwest",
    "schemars",
    "tokio",
];

/// The features by which jiff would read the host's zone or its database.
const HOST_ZONE_FEATURES: &[&str] = &["tz-system", "tzdb-zoneinfo"];

/// The crate whose `clippy.toml` the others must repeat.
const MODEL: &str = "almanac-calendar";

/// A dependency of a crate, with the enabled features.
#[derive(Debug, PartialEq, Eq)]
struct Built {
    name: String,
    features: Vec<String>,
}

pub(super) fn check(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let clippy_of = |folder: &Path| read_if_exists(&folder.join("clippy.toml"));
    let of_workspace = clippy_of(&workspace.root)?.unwrap_or_default();
    let model = workspace.members.iter().find(|member| member.name == MODEL);
    let model = model.with_context(|| format!("failed to find the package {MODEL}"))?;
    let model = clippy_of(model.folder())?.unwrap_or_default();
    let mut findings = Vec::new();
    for member in &workspace.members {
        let Some(pure) = PURE.iter().find(|pure| pure.package == member.name) else {
            continue;
        };
        let place = workspace.relative(&member.folder().join("clippy.toml"));
        let own = clippy_of(member.folder())?;
        findings.extend(check_bans(&place, own.as_deref(), &model, &of_workspace)?);
        for file in source::read_all(&member.folder().join("src"))? {
            let words = source::words(&file.text)
                .with_context(|| format!("failed to read {}", file.path.display()))?;
            findings.extend(check_words(&workspace.relative(&file.path), &words));
        }
        let place = workspace.relative(&member.manifest_path);
        findings.extend(check_build(&place, pure, &built_with(workspace, member)?));
    }
    Ok(findings)
}

/// Every pure crate bans the same, and repeats the workspace settings: clippy reads only the
/// nearest `clippy.toml`.
fn check_bans(
    place: &str,
    own: Option<&str>,
    model: &str,
    of_workspace: &str,
) -> anyhow::Result<Vec<Finding>> {
    let Some(own) = own else {
        let message = format!("is missing; copy it from {MODEL}");
        return Ok(vec![Finding::error(place, message)]);
    };
    let mut findings = Vec::new();
    if own != model {
        findings.push(Finding::error(place, format!("differs from that of {MODEL}")));
    }
    let own: Table = own.parse().with_context(|| format!("failed to read {place}"))?;
    for ban in ["disallowed-types", "disallowed-methods"] {
        if own.get(ban).and_then(toml::Value::as_array).is_none_or(Vec::is_empty) {
            findings.push(Finding::error(place, format!("has no `{ban}`")));
        }
    }
    let of_workspace: Table = of_workspace.parse().context("failed to read clippy.toml")?;
    for (setting, value) in &of_workspace {
        if own.get(setting) != Some(value) {
            let message = format!("must repeat `{setting}` of the root clippy.toml");
            findings.push(Finding::error(place, message));
        }
    }
    Ok(findings)
}

fn check_words(place: &str, words: &[String]) -> Vec<Finding> {
    let has = |word: &str| words.iter().any(|other| other == word);
    let mut findings = Vec::new();
    for word in ["async", "await"].into_iter().filter(|word| has(word)) {
        findings.push(Finding::error(place, format!("`{word}`: a pure crate never waits")));
    }
    let lints = ["disallowed_methods", "disallowed_types"];
    for lint in lints.into_iter().filter(|lint| has(lint)) {
        let message = format!("switches `{lint}` off: a pure crate has no exceptions");
        findings.push(Finding::error(place, message));
    }
    findings
}

fn check_build(place: &str, pure: &Pure, built: &[Built]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for Built { name, features } in built {
        let name = name.as_str();
        if IMPURE.contains(&name) && !pure.may_use.contains(&name) {
            let rerun = format!("cargo tree -e normal -p {} -i {name}", pure.package);
            let message = format!("is built with `{name}`, which is not pure; see `{rerun}`");
            findings.push(Finding::error(place, message));
        }
        for feature in HOST_ZONE_FEATURES {
            if name == "jiff" && features.iter().any(|other| other == feature) {
                let message =
                    format!("is built with jiff's `{feature}`: the host's zones are never read");
                findings.push(Finding::error(place, message));
            }
        }
    }
    findings
}

/// All dependencies of a member that is built alone. (In a build with other members, features add up; this check
/// ignores that.)
fn built_with(workspace: &Workspace, member: &Member) -> anyhow::Result<Vec<Built>> {
    let step = Step::cargo(&["tree", "--edges", "normal", "--prefix", "none"]).with([
        "--format",
        "{p}|{f}",
        "--package",
        &member.name,
    ]);
    let output = step
        .command()
        .current_dir(&workspace.root)
        .stderr(Stdio::inherit())
        .output()
        .context("failed to start cargo")?;
    ensure!(output.status.success(), "failed to list dependencies: `{step}` failed");
    Ok(parse_tree(&String::from_utf8_lossy(&output.stdout)))
}

/// Reads lines such as `jiff v0.2.43|alloc,std (*)`.
fn parse_tree(tree: &str) -> Vec<Built> {
    let parse_line = |line: &str| {
        let (package, features) = line.split_once('|')?;
        let name = package.split(' ').next()?.to_owned();
        let features = features.trim_end_matches(" (*)").split(',').map(str::to_owned).collect();
        Some(Built { name, features })
    };
    tree.lines().filter_map(parse_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BANS: &str = "x = true\ndisallowed-types = [\"A\"]\ndisallowed-methods = [\"b\"]\n";

    fn messages(findings: Vec<Finding>) -> Vec<String> {
        findings.into_iter().map(|finding| finding.message).collect()
    }

    fn bans(own: Option<&str>) -> Vec<String> {
        messages(check_bans("crates/x/clippy.toml", own, BANS, "x = true").unwrap())
    }

    fn for_source(text: &str) -> Vec<String> {
        messages(check_words("a.rs", &source::words(text).unwrap()))
    }

    fn for_tree(package: &str, tree: &str) -> Vec<String> {
        let pure = PURE.iter().find(|pure| pure.package == package).unwrap();
        messages(check_build("crates/x/Cargo.toml", pure, &parse_tree(tree)))
    }

    #[test]
    fn the_same_bans_are_silent() {
        assert_eq!(bans(Some(BANS)), [""; 0]);
    }

    #[test]
    fn missing_bans_are_an_error() {
        assert_eq!(bans(None), ["is missing; copy it from almanac-calendar"]);
    }

    #[test]
    fn other_bans_are_an_error() {
        let other = BANS.replace("\"A\"", "\"A\", \"C\"");
        assert_eq!(bans(Some(&other)), ["differs from that of almanac-calendar"]);
    }

    #[test]
    fn a_model_that_bans_nothing_is_an_error() {
        let findings = messages(check_bans("p", Some("x = true"), "x = true", "").unwrap());
        assert_eq!(findings, ["has no `disallowed-types`", "has no `disallowed-methods`"]);
    }

    #[test]
    fn a_missing_workspace_setting_is_an_error() {
        let model = BANS.replace("x = true\n", "");
        let findings = messages(check_bans("p", Some(&model), &model, "x = true").unwrap());
        assert_eq!(findings.len(), 1);
        assert!(findings[0].starts_with("must repeat `x` of"), "{findings:?}");
    }

    #[test]
    fn waiting_is_an_error() {
        assert_eq!(for_source("//! async\nfn f() {}"), [""; 0]);
        assert_eq!(for_source("async fn f() { g().await }").len(), 2);
    }

    #[test]
    fn switching_a_ban_off_is_an_error() {
        let text = "#[expect(clippy::disallowed_methods, reason = \"reads\")] fn f() {}";
        assert_eq!(for_source(text).len(), 1);
    }

    #[test]
    fn an_impure_crate_is_an_error_however_deep() {
        let tree = "almanac-engine v0.1.0 (/w)|\nfoo v1.0.0|\ntokio v1.0.0|rt (*)";
        let findings = for_tree("almanac-engine", tree);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].starts_with("is built with `tokio`"), "{findings:?}");
    }

    #[test]
    fn the_custom_resource_derive_is_only_for_the_api_and_its_dependents() {
        let tree = "kube v5.0.0|derive\nkube-derive v5.0.0 (proc-macro)|";
        assert_eq!(for_tree("almanac-api", tree), [""; 0]);
        assert_eq!(for_tree("almanac-forecast", tree), [""; 0]);
        assert_eq!(for_tree("almanac-engine", tree).len(), 2);
        assert_eq!(for_tree("almanac-api", "kube-client v5.0.0|client").len(), 1);
    }

    #[test]
    fn the_hosts_time_zones_are_an_error() {
        assert_eq!(for_tree("almanac-calendar", "jiff v0.2.43|alloc,std (*)"), [""; 0]);
        let findings = for_tree("almanac-calendar", "jiff v0.2.43|std,tz-system,tzdb-zoneinfo (*)");
        assert_eq!(findings.len(), 2, "{findings:?}");
    }
}
