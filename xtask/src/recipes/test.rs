//! `cargo xtask test`: builds every test of the workspace in one cargo call, and runs the test programs side by side.
//!
//! In any package, tests that need a real cluster are in files `tests/cluster_*.rs`, tests that need a browser in
//! `tests/browser_*.rs`, and tests that run only on demand in `tests/thorough_*.rs`. Such a test runs, or the summary
//! lists the test as not run; no test skips itself silently. How a cluster is created is up to the harness.

mod browser;
mod durations;
mod harness;
mod listing;
mod outcome;
mod programs;
mod queue;
mod running;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use self::harness::{ControlPlane, Harness};
use self::programs::Built;
use self::queue::Lane;
use self::running::{Event, Job, Running};
use super::{Recipe, processors};
use crate::run::{Run, Step};
use crate::workspace::Workspace;

pub(super) const RECIPE: Recipe = Recipe {
    name: "test",
    about: "All tests",
    options: &["quick", "thorough", "filter", "jobs", "kubernetes-version"],
    run,
};

/// The prefix of the file names of real-cluster tests.
const CLUSTER: &str = "cluster_";
/// The prefix of the file names of tests that start control planes of their own.
const OWN: &str = "cluster_own_";

/// The prefix of the file names of tests that run with `--thorough` only, or by their own names.
const ON_DEMAND: &str = "thorough_";

/// The names of the groups of tests that do not run everywhere.
const REAL_CLUSTER: &str = "real-cluster tests";
const PAGES: &str = "tests of pages in a browser";
const THOROUGH_ONLY: &str = "thorough tests";

/// The variable that names an existing cluster for the tests.
const FOREIGN_CLUSTER: &str = "KUBECONFIG_TEST";

/// The variable with the number of tests of one program that run at the same time.
const THREADS: &str = "RUST_TEST_THREADS";

/// The version of Kubernetes that the harness and the tests build and start.
const KUBERNETES_VERSION: &str = "ALMANAC_KUBERNETES_VERSION";

/// The variable that makes each test use its thorough number of trials.
const THOROUGH: &str = "ALMANAC_THOROUGH";

/// A program without output for this time counts as hanging: a single test of a real cluster has 15 minutes.
const PATIENCE: Duration = Duration::from_mins(20);
const PATIENCE_IF_THOROUGH: Duration = Duration::from_hours(6);

fn run(run: &mut Run) -> anyhow::Result<()> {
    if run.arguments.kubernetes_version.is_some() {
        for name in [FOREIGN_CLUSTER, "KUBEBUILDER_ASSETS"] {
            let is_set = env::var_os(name).is_some_and(|value| !value.is_empty());
            ensure!(!is_set, "{name} selects another version than --kubernetes-version; unset it");
        }
    }
    // Missing programs install while cargo builds.
    let without_browser = thread::spawn(browser::why_not);
    let (cluster_files, others) = integration_tests(&run.workspace);
    // The name of an integration test selects the whole program; any other text selects among all tests.
    let mut filter = run.arguments.filter.clone();
    let is_test = |name: &mut String| run.workspace.targets("test").any(|it| it.1.name == *name);
    let only = filter.take_if(is_test);
    let others = without_left_out(run, others, only.as_deref())?;
    let cluster = if run.arguments.quick {
        let left_out = listing::list(&run.workspace, REAL_CLUSTER, &cluster_files, "--quick")?;
        run.count_tests(0, left_out);
        None
    } else {
        Cluster::prepare(run, &cluster_files)?
    };
    let mut targets = Vec::new();
    if let Some(only) = &only {
        targets.extend(["--test".to_owned(), only.clone()]);
    } else if cluster.is_none() {
        targets.extend(["--lib", "--bins", "--examples"].map(str::to_owned));
        targets.extend(others.iter().flat_map(|test| ["--test".to_owned(), test.clone()]));
    }
    let built = programs::build(run, &targets)?;
    let Ok(without_browser) = without_browser.join() else {
        bail!("failed to check for a browser")
    };
    if let Some(because) = &without_browser {
        let mut pages = integration_tests(&run.workspace).1;
        pages.retain(|file| file.starts_with(browser::BROWSER));
        not_run(run, PAGES, &pages, because)?;
    }
    let can_run = |file: &str| match &cluster {
        _ if only.as_ref().is_some_and(|only| only != file) => false,
        _ if file.starts_with(browser::BROWSER) => without_browser.is_none(),
        _ if file.starts_with(ON_DEMAND) => others.iter().any(|it| it == file),
        Some(cluster) if file.starts_with(CLUSTER) => cluster.can_run.iter().any(|it| it == file),
        _ => !file.starts_with(CLUSTER),
    };
    let jobs = built.map(|built| jobs(built, can_run, filter.as_deref())).transpose()?;
    let mut jobs = jobs.unwrap_or_default();
    if only.is_some() {
        jobs.retain(|job| job.program.is_some());
    }
    let version =
        run.arguments.kubernetes_version.clone().map(|it| (KUBERNETES_VERSION.to_owned(), it));
    let thorough = run.arguments.thorough.then(|| (THOROUGH.to_owned(), "1".to_owned()));
    let variables: BTreeMap<_, _> = version.into_iter().chain(thorough).collect();
    for job in &mut jobs {
        job.step = job.step.clone().environment(&variables);
    }
    run_jobs(run, jobs, cluster)
}

/// Lists the tests that run only on demand as not run; returns the other files.
fn without_left_out(
    run: &mut Run,
    files: Vec<String>,
    only: Option<&str>,
) -> anyhow::Result<Vec<String>> {
    let is_thorough = run.arguments.thorough;
    let (left_out, others): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| is_left_out(file, is_thorough, only));
    if only.is_none() && !left_out.is_empty() {
        let count = listing::list(&run.workspace, THOROUGH_ONLY, &left_out, "without --thorough")?;
        run.count_tests(0, count);
    }
    Ok(others)
}

fn is_left_out(file: &str, is_thorough: bool, only: Option<&str>) -> bool {
    file.starts_with(ON_DEMAND) && !is_thorough && only != Some(file)
}

/// Runs the programs. Those of real-cluster tests start once the cluster is ready.
fn run_jobs(run: &mut Run, jobs: Vec<Job>, cluster: Option<Cluster>) -> anyhow::Result<()> {
    let channel = mpsc::channel();
    let is_wanted = jobs.iter().any(|job| job.lane == Lane::Cluster);
    let starting = cluster.map(|cluster| {
        let sender = channel.0.clone();
        thread::spawn(move || drop(sender.send(Event::Cluster(cluster.start(is_wanted)))))
    });
    let patience = if run.arguments.thorough { PATIENCE_IF_THOROUGH } else { PATIENCE };
    let given_up = if jobs.is_empty() {
        None
    } else {
        Running::new(run, jobs, channel, patience)?.finish()?
    };
    if let Some((files, because)) = given_up {
        not_run(run, REAL_CLUSTER, &files, &because)?;
    }
    // Also when no test needs the cluster: a partial build would be lost.
    if let Some(Err(_)) = starting.map(JoinHandle::join) {
        bail!("failed to start the control plane");
    }
    Ok(())
}

/// The programs that can run here and have a test that matches the filter, and the documentation examples.
fn jobs(
    built: Built,
    can_run: impl Fn(&str) -> bool,
    filter: Option<&str>,
) -> anyhow::Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for program in built.programs.into_iter().filter(|program| can_run(&program.target)) {
        let tests = program.tests(filter)?;
        if tests.is_empty() {
            continue;
        }
        let name = program.name();
        let is_cluster = program.target.starts_with(CLUSTER);
        let lane = if is_cluster { Lane::Cluster } else { Lane::Computing };
        let mut step = program.step(filter);
        // A real-cluster test mostly waits, for a boundary or for the end of a Lease. The harness limits the number of
        // control planes at the same time.
        if is_cluster && env::var_os(THREADS).is_none() {
            step = step.variable(THREADS, &(8 * processors()).to_string());
        }
        jobs.push(Job { name, lane, step, tests, program: Some(program) });
    }
    let examples = Step::cargo(&["test", "--workspace", "--doc"]);
    let step = match filter {
        Some(filter) => examples.with(["--", filter]),
        None => examples,
    };
    let name = "documentation examples".to_owned();
    jobs.push(Job { name, lane: Lane::Computing, step, tests: Vec::new(), program: None });
    if jobs.iter().any(|job| job.lane == Lane::Cluster) {
        // Programs that wait have deadlines; programs that compute have none.
        for job in jobs.iter_mut().filter(|job| job.lane == Lane::Computing) {
            job.step = job.step.clone().nice();
        }
    }
    Ok(jobs)
}

/// The real cluster of this run. The control plane may not be built yet.
struct Cluster {
    harness: Harness,
    can_run: Vec<String>,
    building: JoinHandle<anyhow::Result<()>>,
    is_foreign: bool,
}

impl Cluster {
    /// Lists the real-cluster tests that cannot run here, and starts to build the control plane for the others. `None`
    /// if no real-cluster test can run.
    fn prepare(run: &mut Run, tests: &[String]) -> anyhow::Result<Option<Self>> {
        let step = Harness::build(&run.workspace)?.with(programs::JSON_MESSAGES);
        let built = run.captured("build the harness", &step)?;
        let built = built.map(|output| Built::read(&run.workspace, &output)).transpose()?;
        let Some(harness) = built.and_then(|built| built.harness) else {
            not_run(run, REAL_CLUSTER, tests, "the harness could not be built")?;
            return Ok(None);
        };
        let harness = match &run.arguments.kubernetes_version {
            Some(version) => harness.for_version(version),
            None => harness,
        };
        let verdicts = harness.check()?;
        let mut can_run = Vec::new();
        for test in tests {
            match harness::why_not(&verdicts, test) {
                Some(because) => not_run(run, REAL_CLUSTER, std::slice::from_ref(test), &because)?,
                None => can_run.push(test.clone()),
            }
        }
        if can_run.is_empty() {
            return Ok(None);
        }
        let is_foreign = env::var_os(FOREIGN_CLUSTER).is_some_and(|file| !file.is_empty());
        let is_needed = !is_foreign || can_run.iter().any(|test| test.starts_with(OWN));
        let step = harness.build_control_plane();
        let building =
            thread::spawn(move || if is_needed { build_control_plane(&step) } else { Ok(()) });
        Ok(Some(Self { harness, can_run, building, is_foreign }))
    }

    /// Waits until the control plane is built, and starts a shared one, unless the environment names a cluster.
    fn start(self, is_wanted: bool) -> anyhow::Result<Option<ControlPlane>> {
        let Ok(built) = self.building.join() else { bail!("failed to build the control plane") };
        built?;
        if self.is_foreign || !is_wanted {
            return Ok(None);
        }
        self.harness.start_control_plane().map(Some)
    }
}

fn build_control_plane(step: &Step) -> anyhow::Result<()> {
    println!("\n== control plane, in parallel: {step}");
    let started = Instant::now();
    let status = step.command().status().with_context(|| format!("failed to start `{step}`"))?;
    let took = started.elapsed().as_secs_f64();
    if !status.success() {
        println!("== control plane: FAILED in {took:.1} s");
        bail!("the control plane could not be built");
    }
    println!("== control plane: ok in {took:.1} s");
    Ok(())
}

/// Lists tests that should have run, and records a failure because they did not run.
fn not_run(run: &mut Run, sort: &str, tests: &[String], because: &str) -> anyhow::Result<()> {
    let count = listing::list(&run.workspace, sort, tests, because)?;
    run.count_tests(0, count);
    let what = format!("{count} {sort} not run ({because})");
    let leave_out =
        if sort == REAL_CLUSTER { "; or skip them: cargo xtask test --quick" } else { "" };
    run.fail(&what, &format!("cargo xtask test{leave_out}"));
    Ok(())
}

/// The names of the integration tests: first those that need a real cluster, then the others.
fn integration_tests(workspace: &Workspace) -> (Vec<String>, Vec<String>) {
    let names = workspace.targets("test").map(|(_, target)| target.name.clone());
    // Sorted and deduplicated: two packages may have a file of the same name.
    let names: BTreeSet<String> = names.collect();
    names.into_iter().partition(|name| name.starts_with(CLUSTER))
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
    fn a_thorough_test_runs_on_demand_only() {
        assert!(is_left_out("thorough_helm", false, None));
        assert!(is_left_out("thorough_helm", false, Some("offline")));
        assert!(!is_left_out("thorough_helm", false, Some("thorough_helm")));
        assert!(!is_left_out("thorough_helm", true, None));
        assert!(!is_left_out("offline", false, None));
    }

    #[test]
    fn a_real_cluster_test_is_known_by_its_file_name() {
        let (cluster, plain) =
            integration_tests(&workspace(&["cluster_lease", "clusters", "readme"]));
        assert_eq!(cluster, ["cluster_lease"]);
        assert_eq!(plain, ["clusters", "readme"]);
    }
}
