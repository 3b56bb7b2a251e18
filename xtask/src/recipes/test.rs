//! `cargo xtask test`: every test of the workspace, from the quickest kind to the slowest.
//!
//! A test that needs a real cluster stands in a file `tests/cluster_*.rs`, in any package. Such a
//! test is run, or it is named as not run; it never skips itself in silence. How a cluster comes to
//! be is the harness's affair (`tests/harness`).

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::process::Command;

use anyhow::Context as _;

use super::Recipe;
use crate::run::{Run, Step};
use crate::source;
use crate::workspace::Workspace;

pub(super) const RECIPE: Recipe = Recipe {
    name: "test",
    about: "All tests",
    options: &["quick", "filter"],
    run,
};

/// What the file name of a real-cluster test begins with.
const CLUSTER: &str = "cluster_";

/// The package that starts the real control plane.
const HARNESS: &str = "almanac-harness";

/// Variables that name a cluster, or the programs of one.
const OWN_CLUSTER: &[&str] = &["KUBECONFIG_TEST", "KUBEBUILDER_ASSETS"];

fn run(run: &mut Run) -> anyhow::Result<()> {
    let (cluster, plain) = integration_tests(&run.workspace);
    let base = Step::cargo(&["test", "--workspace", "--no-fail-fast"]);
    let filter: Vec<_> = match &run.arguments.filter {
        Some(filter) => vec!["--".to_owned(), filter.clone()],
        None => Vec::new(),
    };
    let units = base
        .clone()
        .with(["--lib", "--bins", "--examples"])
        .with(named(&plain));
    run.step("unit and integration tests", &units.with(&filter));
    run.step(
        "documentation examples",
        &base.clone().with(["--doc"]).with(&filter),
    );
    if cluster.is_empty() {
        return Ok(());
    }
    let left_out = NotRun::gather(&run.workspace)?;
    if run.arguments.quick {
        left_out.print("--quick");
        run.leave_out(left_out.tests.len());
        return Ok(());
    }
    match Cluster::look() {
        Cluster::Missing => {
            left_out.print("no Go, and neither KUBECONFIG_TEST nor KUBEBUILDER_ASSETS is set");
            let what = format!("real-cluster tests ({} not run)", left_out.tests.len());
            run.fail(
                &what,
                "cargo xtask test with one of these, or leave them out with --quick",
            );
        }
        Cluster::Built if !build_control_plane(run) => left_out.print("no control plane"),
        Cluster::Built | Cluster::Given => {
            run.step(
                "real-cluster tests",
                &base.with(named(&cluster)).with(&filter),
            );
        }
    }
    Ok(())
}

/// The names of the integration tests: those that need a real cluster, and the others.
fn integration_tests(workspace: &Workspace) -> (BTreeSet<String>, BTreeSet<String>) {
    let names = workspace
        .targets("test")
        .map(|(_, target)| target.name.clone());
    names.partition(|name| name.starts_with(CLUSTER))
}

fn named(tests: &BTreeSet<String>) -> impl Iterator<Item = &str> {
    tests.iter().flat_map(|test| ["--test", test])
}

/// Where a real cluster comes from.
enum Cluster {
    /// The caller names one, or the programs of one.
    Given,
    /// Our own control plane, built with Go.
    Built,
    Missing,
}

impl Cluster {
    fn look() -> Self {
        let is_set = |name: &&str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let go = || Command::new("go").arg("version").output();
        if OWN_CLUSTER.iter().any(is_set) {
            Self::Given
        } else if go().is_ok_and(|output| output.status.success()) {
            Self::Built
        } else {
            Self::Missing
        }
    }
}

/// Builds the control plane ahead of the tests, so that its first build shows its progress and
/// runs into no test's time limit.
fn build_control_plane(run: &mut Run) -> bool {
    let build = [
        "run",
        "--package",
        HARNESS,
        "--bin",
        "control-plane",
        "--",
        "build",
    ];
    run.step("control plane", &Step::cargo(&build))
}

/// The real-cluster tests, by name, when they are left out.
struct NotRun {
    /// Each with its package and file.
    tests: Vec<String>,
}

impl NotRun {
    fn gather(workspace: &Workspace) -> anyhow::Result<Self> {
        let mut tests = Vec::new();
        for (member, target) in workspace.targets("test") {
            if !target.name.starts_with(CLUSTER) {
                continue;
            }
            let path = &target.source;
            let text = fs::read_to_string(path)
                .with_context(|| format!("failed to read {}", path.display()))?;
            let names = source::test_names(&text)
                .with_context(|| format!("failed to read {}", path.display()))?;
            let file = format!("{} {}", member.name, target.name);
            tests.extend(names.iter().map(|name| format!("{file}: {name}")));
        }
        Ok(Self { tests })
    }

    fn print(&self, why: &str) {
        println!(
            "\n== real-cluster tests: {} NOT RUN ({why})",
            self.tests.len()
        );
        for test in &self.tests {
            println!("   not run: {test}");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn workspace(tests: &[&str]) -> Workspace {
        let target = |name: &&str| json!({ "name": name, "kind": ["test"], "src_path": "/w/t.rs" });
        let package = json!({
            "name": "almanac-x",
            "manifest_path": "/w/crates/x/Cargo.toml",
            "dependencies": [],
            "targets": tests.iter().map(target).collect::<Vec<_>>(),
        });
        serde_json::from_value(json!({ "workspace_root": "/w", "packages": [package] })).unwrap()
    }

    #[test]
    fn a_real_cluster_test_is_known_by_its_file_name() {
        let (cluster, plain) =
            integration_tests(&workspace(&["cluster_lease", "clusters", "readme"]));
        assert_eq!(cluster, BTreeSet::from(["cluster_lease".to_owned()]));
        assert_eq!(
            plain,
            BTreeSet::from(["clusters".to_owned(), "readme".to_owned()])
        );
    }

    #[test]
    fn tests_are_asked_for_by_name() {
        let (_, plain) = integration_tests(&workspace(&["readme", "golden"]));
        assert_eq!(
            named(&plain).collect::<Vec<_>>(),
            ["--test", "golden", "--test", "readme"]
        );
    }
}
