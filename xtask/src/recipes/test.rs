//! `cargo xtask test`: every test of the workspace, from the quickest kind to the slowest.
//!
//! A test that needs a real cluster is in a file `tests/cluster_*.rs`, in any package, and one that needs a browser in
//! `tests/browser_*.rs`. Such a test is run, or it is listed as not run; it never skips itself silently. How a cluster is
//! created is up to the harness.

mod browser;
mod harness;

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use self::harness::Harness;
use super::Recipe;
use crate::run::{Run, Step};
use crate::source;
use crate::workspace::Workspace;

pub(super) const RECIPE: Recipe =
    Recipe { name: "test", about: "All tests", options: &["quick", "filter"], run };

/// What the file name of a real-cluster test begins with.
const CLUSTER: &str = "cluster_";

/// What tests are called that cannot run everywhere.
const REAL_CLUSTER: &str = "real-cluster tests";
const PAGES: &str = "tests of pages in a browser";

/// The variable that names an existing cluster for the tests.
const FOREIGN_CLUSTER: &str = "KUBECONFIG_TEST";

/// How many tests of one file run at a time.
const THREADS: &str = "RUST_TEST_THREADS";

/// Four for each processor.
fn threads() -> usize {
    4 * std::thread::available_parallelism().map_or(2, usize::from)
}

fn run(run: &mut Run) -> anyhow::Result<()> {
    let (cluster, mut plain) = integration_tests(&run.workspace);
    let without_browser = browser::why_not();
    if let Some(because) = &without_browser {
        let (pages, others) = plain.into_iter().partition(|it| it.starts_with(browser::BROWSER));
        plain = others;
        not_run(run, PAGES, &pages, because)?;
    }
    if run.arguments.quick {
        run_without_cluster(run, &plain);
        let left_out = list(&run.workspace, REAL_CLUSTER, &cluster, "--quick")?;
        run.leave_out(left_out);
        return Ok(());
    }
    let Some((harness, can_run)) = what_can_run(run, &cluster)? else {
        run_without_cluster(run, &plain);
        return Ok(());
    };
    let all = can_run == cluster && without_browser.is_none();
    if !all {
        run_without_cluster(run, &plain);
    }
    if can_run.is_empty() {
        return Ok(());
    }
    // When nothing is left out, a single cargo call runs everything: another call with other kinds
    // of targets would recompile the dependencies with other features.
    let step = cargo_test(run, &[], if all { &[] } else { &can_run });
    let title = if all { "all tests" } else { "real-cluster tests" };
    run_on_cluster(run, &harness, title, &step, &can_run)
}

/// Runs everything that needs no cluster.
fn run_without_cluster(run: &mut Run, plain: &[String]) {
    let kinds = cargo_test(run, &["--lib", "--bins", "--examples"], plain);
    run.step("unit and integration tests", &kinds);
    let examples = cargo_test(run, &["--doc"], &[]);
    run.step("documentation examples", &examples);
}

/// The harness, and the real-cluster tests that can run here; the others are listed. `None` if the
/// harness cannot be built.
fn what_can_run(run: &mut Run, tests: &[String]) -> anyhow::Result<Option<(Harness, Vec<String>)>> {
    println!("\n== real-cluster tests: what can run here?");
    let harness = Harness::build(&run.workspace, tests);
    let verdicts = harness.and_then(|harness| Ok((harness.check()?, harness)));
    let (verdicts, harness) = match verdicts {
        Ok(both) => both,
        Err(error) => {
            not_run(run, REAL_CLUSTER, tests, &format!("{error:#}"))?;
            return Ok(None);
        }
    };
    let mut can_run = Vec::new();
    for test in tests {
        match harness::why_not(&verdicts, test) {
            Some(because) => not_run(run, REAL_CLUSTER, std::slice::from_ref(test), &because)?,
            None => can_run.push(test.clone()),
        }
    }
    Ok(Some((harness, can_run)))
}

/// Runs a step with a control plane that all its tests share.
fn run_on_cluster(
    run: &mut Run,
    harness: &Harness,
    title: &str,
    step: &Step,
    tests: &[String],
) -> anyhow::Result<()> {
    if env::var_os(FOREIGN_CLUSTER).is_some_and(|file| !file.is_empty()) {
        run.step(title, step);
        return Ok(());
    }
    if !run.step("control plane", &harness.build_control_plane()) {
        return not_run(run, REAL_CLUSTER, tests, "the control plane could not be built");
    }
    match harness.start_control_plane() {
        Ok(plane) => {
            let mut environment = plane.environment.clone();
            // Most of a real-cluster test is waiting, for a boundary or for a lease to run out.
            if env::var_os(THREADS).is_none() {
                environment.insert(THREADS.to_owned(), threads().to_string());
            }
            run.step(title, &step.clone().environment(&environment));
            Ok(())
        }
        Err(error) => not_run(run, REAL_CLUSTER, tests, &format!("{error:#}")),
    }
}

/// Lists tests that should have run, and records that they did not: a failure.
fn not_run(run: &mut Run, sort: &str, tests: &[String], because: &str) -> anyhow::Result<()> {
    let count = list(&run.workspace, sort, tests, because)?;
    let what = format!("{count} {sort} not run ({because})");
    let leave_out =
        if sort == REAL_CLUSTER { "; or leave them out: cargo xtask test --quick" } else { "" };
    run.fail(&what, &format!("cargo xtask test{leave_out}"));
    Ok(())
}

/// `cargo test` for some kinds of targets and some integration tests, by name.
fn cargo_test(run: &Run, kinds: &[&str], tests: &[String]) -> Step {
    let step = Step::cargo(&["test", "--workspace", "--no-fail-fast"]).with(kinds);
    let step = step.with(tests.iter().flat_map(|test| ["--test", test]));
    match &run.arguments.filter {
        Some(filter) => step.with(["--", filter]),
        None => step,
    }
}

/// The names of the integration tests: those that need a real cluster, and the others.
fn integration_tests(workspace: &Workspace) -> (Vec<String>, Vec<String>) {
    let names = workspace.targets("test").map(|(_, target)| target.name.clone());
    // Sorted and deduplicated: two packages may have a file of the same name.
    let names: BTreeSet<String> = names.collect();
    names.into_iter().partition(|name| name.starts_with(CLUSTER))
}

/// Prints every test of some files by its name, as not run, and returns how many there are.
fn list(workspace: &Workspace, sort: &str, files: &[String], why: &str) -> anyhow::Result<usize> {
    let mut tests = Vec::new();
    for (member, target) in workspace.targets("test") {
        if !files.contains(&target.name) {
            continue;
        }
        for file in files_of(&target.source)? {
            let failed = || format!("failed to read {}", file.display());
            let text = fs::read_to_string(&file).with_context(failed)?;
            let found = source::test_names(&text).with_context(failed)?;
            tests.extend(found.iter().map(|it| format!("{} {}: {it}", member.name, target.name)));
        }
    }
    println!("\n== {sort}: {} NOT RUN ({why})", tests.len());
    for test in &tests {
        println!("   not run: {test}");
    }
    Ok(tests.len())
}

/// The file of an integration test and those of its modules: beside a `main.rs`, or in a directory of
/// the file's own name.
fn files_of(source: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let is_main = source.file_name().is_some_and(|name| name == "main.rs");
    let folder = if is_main { source.with_file_name("") } else { source.with_extension("") };
    let mut files = vec![source.to_owned()];
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop().filter(|folder| folder.is_dir()) {
        let failed = || format!("failed to read {}", folder.display());
        for entry in fs::read_dir(&folder).with_context(failed)? {
            let path = entry.with_context(failed)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path != source && path.extension().is_some_and(|it| it == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
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
    fn the_tests_in_the_modules_of_a_test_are_its_tests() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path();
        fs::create_dir_all(folder.join("cluster_x/inner")).unwrap();
        for file in ["cluster_x/main.rs", "cluster_x/one.rs", "cluster_x/inner/two.rs", "y.rs"] {
            fs::write(folder.join(file), "").unwrap();
        }
        let found = files_of(&folder.join("cluster_x/main.rs")).unwrap();
        let alone = files_of(&folder.join("y.rs")).unwrap();
        let names: Vec<_> = found.iter().map(|it| it.file_name().unwrap()).collect();
        assert_eq!(names, ["two.rs", "main.rs", "one.rs"]);
        assert_eq!(alone.len(), 1);
    }

    #[test]
    fn a_real_cluster_test_is_known_by_its_file_name() {
        let (cluster, plain) =
            integration_tests(&workspace(&["cluster_lease", "clusters", "readme"]));
        assert_eq!(cluster, ["cluster_lease"]);
        assert_eq!(plain, ["clusters", "readme"]);
    }
}
