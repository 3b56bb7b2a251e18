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
    let filter: Vec<_> = run
        .arguments
        .filter
        .iter()
        .flat_map(|filter| ["--", filter])
        .map(str::to_owned)
        .collect();
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
    } else if let Some(missing) = missing_for_a_cluster() {
        left_out.print(missing);
        let rerun = "cargo xtask test (with Go, or with KUBECONFIG_TEST or KUBEBUILDER_ASSETS \
                     set), or cargo xtask test --quick to leave them out";
        run.fail(
            &format!("{} real-cluster tests were not run", left_out.count()),
            rerun,
        );
    } else if prepare_cluster(run) {
        run.step(
            "real-cluster tests",
            &base.with(named(&cluster)).with(&filter),
        );
    } else {
        left_out.print("the control plane was not built");
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

/// Why there can be no real cluster, if so.
fn missing_for_a_cluster() -> Option<&'static str> {
    let is_given = OWN_CLUSTER
        .iter()
        .any(|name| env::var_os(name).is_some_and(|it| !it.is_empty()));
    let has_go = || {
        Command::new("go")
            .arg("version")
            .output()
            .is_ok_and(|output| output.status.success())
    };
    let is_possible = is_given || has_go();
    (!is_possible).then_some("no Go, and neither KUBECONFIG_TEST nor KUBEBUILDER_ASSETS is set")
}

/// Builds the control plane ahead of the tests, so that its first build shows its progress and
/// runs into no test's time limit.
fn prepare_cluster(run: &mut Run) -> bool {
    if !run
        .workspace
        .members
        .iter()
        .any(|member| member.name == HARNESS)
    {
        return true;
    }
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

    fn count(&self) -> usize {
        self.tests.len()
    }

    fn print(&self, why: &str) {
        println!("\n== real-cluster tests: {} NOT RUN ({why})", self.count());
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
