//! The action for GitHub: its steps are run as a runner would, in the checkout of a pull request.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::repositories::repository::{Ran, Repository, policy};
use crate::running::git;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A step of the action, as it is written.
struct Step {
    id: String,
    condition: Option<String>,
    environment: Vec<(String, String)>,
    run: String,
}

/// The defaults of the inputs, and the steps. The repository owns the file, so its form is fixed.
fn action() -> (BTreeMap<String, String>, Vec<Step>) {
    let text = fs::read_to_string(Path::new(ROOT).join("action.yml")).unwrap();
    let (before, steps) = text.split_once("\n  steps:\n").unwrap();
    assert!(before.ends_with("  using: composite"), "{before}");
    let (_, inputs) = before.split_once("\ninputs:\n").unwrap();
    let (inputs, _) = inputs.split_once("\noutputs:\n").unwrap();
    let mut defaults = BTreeMap::new();
    let mut name = "";
    for line in inputs.lines() {
        match line.strip_prefix("    default: ") {
            Some(value) => {
                defaults.insert(name.to_owned(), value.trim_matches('"').to_owned());
            }
            None if !line.starts_with("    ") => name = line.trim().trim_end_matches(':'),
            None => {}
        }
    }
    let step = |text: &str| {
        let field = |name: &str| {
            let line = text.lines().find_map(|it| it.strip_prefix(&format!("    {name}: ")));
            line.map(|it| it.trim_matches('\'').to_owned())
        };
        assert_eq!(field("shell").as_deref(), Some("bash"), "{text}");
        let pairs = text.lines().filter_map(|it| it.strip_prefix("      ")?.split_once(": "));
        Step {
            id: field("id").unwrap(),
            condition: field("if").map(|it| match &*it {
                ">-" => {
                    text.split_once("if: >-\n").unwrap().1.lines().next().unwrap().trim().to_owned()
                }
                _ => it,
            }),
            environment: pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
            run: field("run").unwrap(),
        }
    };
    (defaults, steps.split("  - name: ").skip(1).map(step).collect())
}

/// A run of the action in a checkout.
pub(super) struct Runner {
    checkout: PathBuf,
    files: PathBuf,
    known: BTreeMap<String, String>,
}

impl Runner {
    /// A runner in a checkout of a repository, with the variables of the workflow.
    pub(super) fn new(checkout: &Path, known: &[(&str, &str)]) -> Runner {
        let files = checkout.with_extension("runner");
        let _ = fs::remove_dir_all(&files);
        fs::create_dir_all(&files).unwrap();
        let mut all: BTreeMap<String, String> =
            action().0.into_iter().map(|(name, value)| (format!("inputs.{name}"), value)).collect();
        all.extend(known.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        all.entry("github.action_repository".to_owned())
            .or_insert_with(|| "almanac/almanac".into());
        Runner { checkout: checkout.to_owned(), files, known: all }
    }

    /// The value of an expression: the first of its parts that is not empty.
    fn value(&self, expression: &str) -> String {
        let inner = expression.trim_start_matches("${{").trim_end_matches("}}");
        let of_part = |part: &str| self.known.get(part.trim()).cloned().unwrap_or_default();
        inner.split("||").map(of_part).find(|value| !value.is_empty()).unwrap_or_default()
    }

    /// Runs the steps; after a failed step, only the steps with a condition for failures. Returns the output of each
    /// step.
    pub(super) fn run(mut self) -> (BTreeMap<String, Ran>, String) {
        let mut ran = BTreeMap::new();
        let mut failed = false;
        for step in action().1 {
            match step.condition.as_deref() {
                None if failed => continue,
                None => {}
                Some(condition) => {
                    let is_on = |input: &str| self.known[input] != "false";
                    let (wanted, is_wanted) = match &*step.id {
                        "comment" => ("inputs.comment != 'false'", is_on("inputs.comment")),
                        _ => (
                            "(inputs.diff != 'false' || inputs.fail-on-change != 'false')",
                            is_on("inputs.diff") || is_on("inputs.fail-on-change"),
                        ),
                    };
                    let provided = "steps.provide.outcome == 'success'";
                    assert_eq!(condition, format!("${{{{ always() && {provided} && {wanted} }}}}"));
                    if !self.known.contains_key("steps.provide.outputs.almanac") || !is_wanted {
                        continue;
                    }
                }
            }
            let outputs = self.files.join(format!("{}.outputs", step.id));
            fs::write(&outputs, "").unwrap();
            let mut command = Command::new("bash");
            command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &step.run]);
            command.current_dir(&self.checkout).env_clear();
            command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", &self.files);
            command.env("GITHUB_ACTION_PATH", Path::new(ROOT).canonicalize().unwrap());
            command.env("GITHUB_OUTPUT", &outputs).env("RUNNER_TEMP", &self.files);
            command.env("GITHUB_STEP_SUMMARY", self.files.join("summary.md"));
            command.env("GITHUB_SERVER_URL", "http://127.0.0.1:1");
            if let Some(releases) = self.known.get("releases") {
                command.env("ALMANAC_RELEASES", releases);
            }
            for (name, expression) in &step.environment {
                command.env(name, self.value(expression));
            }
            let done = Ran::from_output(&command.output().unwrap());
            failed |= done.code != Some(0);
            for line in fs::read_to_string(&outputs).unwrap().lines() {
                let (name, value) = line.split_once('=').unwrap();
                let name = format!("steps.{}.outputs.{name}", step.id);
                self.known.insert(name, value.to_owned());
            }
            ran.insert(step.id, done);
        }
        let summary = fs::read_to_string(self.files.join("summary.md")).unwrap_or_default();
        (ran, summary)
    }
}

/// A repository with this file. Every commit can be fetched from it.
fn origin(name: &str, file: &str, text: &str) -> Repository {
    let origin = Repository::new(name).file(file, text);
    let folder = origin.root();
    fs::remove_dir(folder.join(".git")).unwrap();
    git(folder, &["init", "--quiet", "--initial-branch=main"]);
    git(folder, &["config", "uploadpack.allowAnySHA1InWant", "true"]);
    origin
}

/// A checkout of only the newest commit, as in a workflow, and the previous commit.
pub(super) fn checkout(name: &str, before: &str, after: &str) -> (PathBuf, String) {
    let origin = origin(name, "shop policies/hours.yaml", before);
    let folder = origin.root();
    git(folder, &["add", "."]);
    git(folder, &["commit", "--quiet", "-m", "before"]);
    let base = git(folder, &["rev-parse", "HEAD"]);
    fs::write(folder.join("shop policies/hours.yaml"), after).unwrap();
    git(folder, &["commit", "--quiet", "-a", "-m", "after"]);
    let checkout = folder.with_extension("checkout");
    let _ = fs::remove_dir_all(&checkout);
    let url = format!("file://{}", folder.display());
    git(folder, &["clone", "--quiet", "--depth=1", &url, checkout.to_str().unwrap()]);
    (checkout, base)
}

/// A repository with an outdated branch: since the branch point, the base contains another policy, and the branch has
/// changed the first policy. GitHub has merged the two.
fn left_behind(name: &str) -> Repository {
    let origin = origin(name, "hours.yaml", &policy("hours", "shop", 3));
    let folder = origin.root();
    let commit = |message| {
        git(folder, &["add", "."]);
        git(folder, &["commit", "--quiet", "-m", message]);
    };
    commit("first");
    git(folder, &["branch", "event"]);
    git(folder, &["checkout", "--quiet", "-b", "change"]);
    fs::write(folder.join("hours.yaml"), policy("hours", "shop", 4)).unwrap();
    commit("change");
    git(folder, &["checkout", "--quiet", "main"]);
    fs::write(folder.join("cart.yaml"), policy("cart", "cart", 5)).unwrap();
    commit("base");
    git(folder, &["checkout", "--quiet", "-b", "merged"]);
    git(folder, &["merge", "--quiet", "--no-ff", "-m", "merge", "change"]);
    origin
}

#[test]
fn later_commits_of_the_base_are_not_changes_of_a_pull_request() {
    let origin = left_behind("action-behind");
    let commit = |name: &str| git(origin.root(), &["rev-parse", name]);
    let url = format!("file://{}", origin.root().display());
    let (merged, event, main) = (commit("merged"), commit("event"), commit("main"));
    let clone = |branch: &str, depth: &[&str]| {
        let checkout = origin.root().with_extension(format!("{branch}{}", depth.len()));
        let _ = fs::remove_dir_all(&checkout);
        let to = checkout.to_str().unwrap();
        git(origin.root(), &[&["clone", "--quiet", "-b", branch][..], depth, &[&url, to]].concat());
        checkout
    };
    let merge_ref = ("github.ref", "refs/pull/7/merge");
    let pull_request = [
        BINARY,
        merge_ref,
        ("github.sha", &merged),
        ("github.event.pull_request.base.sha", &event),
    ];
    let with_base = [BINARY, merge_ref, ("github.sha", &merged), ("inputs.base", "main")];
    // The workflow has checked out the head, but the event names the merge commit.
    let newer =
        [BINARY, merge_ref, ("github.sha", &merged), ("github.event.pull_request.base.sha", &main)];
    for depth in [&["--depth=1"][..], &[]] {
        for (branch, known) in [
            ("merged", &pull_request),
            ("merged", &with_base),
            ("change", &newer),
            ("change", &with_base),
        ] {
            let (ran, _) = Runner::new(&clone(branch, depth), known).run();
            ran["diff"].assert_output(0, &["**1 of ", " changes** from ", "default/shop: 3 → 4 "]);
        }
    }
    // A push is compared with the previous commit, even if that was rewritten.
    let pushed =
        [BINARY, ("github.ref", "refs/heads/change"), ("github.event.before", main.as_str())];
    let (ran, _) = Runner::new(&clone("change", &["--depth=1"]), &pushed).run();
    ran["diff"].assert_output(0, &["1 of 1 value changes and 1 is no longer set by any"]);
}

const GATE: &[(&str, &str)] = &[("inputs.fail-on-change", "true")];
pub(super) const BINARY: (&str, &str) = ("inputs.binary", env!("CARGO_BIN_EXE_almanac"));

#[test]
fn a_pull_request_has_annotations_and_a_summary_of_its_changes() {
    let before = policy("hours", "shop", 3);
    // Both rules now fire in the same minute, and the later rule wins.
    let after = before.replace("0 20", "0 8");
    let (checkout, base) = checkout("action-changes", &before, &after);
    let known = [
        BINARY,
        ("github.event.pull_request.base.sha", base.as_str()),
        ("inputs.paths", "  shop policies\r\n"),
        ("inputs.for", "7d"),
        ("inputs.sarif", "almanac.sarif"),
    ];
    let (ran, summary) = Runner::new(&checkout, &known).run();
    let annotation = "::warning file=shop policies/hours.yaml,line=9,";
    ran["lint"].assert_output(1, &[annotation, "same-minute"]);
    ran["diff"].assert_output(0, &["3 → 1 "]);
    assert!(
        summary.contains("## Almanac: findings") && summary.contains("same-minute"),
        "{summary}"
    );
    assert!(summary.contains("what this change does") && summary.contains("3 → 1 "), "{summary}");
    let sarif = fs::read_to_string(checkout.join("almanac.sarif")).unwrap();
    // A finding links to the page in the repository of the action.
    let page = "http://127.0.0.1:1/almanac/almanac/blob/HEAD/docs/findings.md#same-minute";
    assert!(sarif.contains(page), "{sarif}");
    assert!(!ran.contains_key("comment"));
    let lenient = [&known[..], &[("inputs.fail-on", "never"), ("inputs.fail-on-change", "true")]];
    let (ran, _) = Runner::new(&checkout, &lenient.concat()).run();
    assert_eq!((ran["lint"].code, ran["diff"].code), (Some(0), Some(1)));
    let base = base.get(..12).unwrap();
    assert!(summary.contains(&format!(" from <code>{base}</code> to HEAD, ")), "{summary}");
    let line = summary.lines().find(|line| line.contains(" to HEAD, ")).unwrap();
    let seconds = regex::Regex::new(r"\d:\d\d:\d\d").unwrap();
    assert!(!seconds.is_match(line), "{line}");
    let invisible = ["&#8288;", "\u{200b}", "\u{2060}", "\u{a0}", "\u{ad}"];
    assert!(!invisible.iter().any(|it| summary.contains(it)), "{summary}");
    let (ran, _) =
        Runner::new(&checkout, &[&known[..], &[("inputs.diff", "false")]].concat()).run();
    assert!(!ran.contains_key("diff"));
}

#[test]
fn the_first_push_and_a_missing_base_are_not_compared() {
    let text = policy("hours", "shop", 3);
    let (checkout, _) = checkout("action-first", &text, &format!("# The same.\n{text}"));
    let nothing = "0".repeat(40);
    for base in [nothing.as_str(), "", "1234567890123456789012345678901234567890"] {
        let known = [BINARY, ("github.event.before", base)];
        let (ran, _) = Runner::new(&checkout, &known).run();
        ran["lint"].assert_output(0, &[]);
        ran["diff"].assert_output(0, &["::notice title=Almanac::", "not compared"]);
        // A gate that cannot compare fails.
        let (ran, _) = Runner::new(&checkout, &[&known[..], GATE].concat()).run();
        ran["diff"].assert_output(2, &["::error title=Almanac::", "cannot be compared"]);
    }
    for base in ["--output=x", "main:refs/heads/evil", "+main"] {
        let (ran, _) = Runner::new(&checkout, &[BINARY, ("inputs.base", base)]).run();
        ran["diff"].assert_output(2, &["is not a revision"]);
    }
    let (ran, _) = Runner::new(&checkout, &[BINARY, ("inputs.paths", "nowhere")]).run();
    ran["lint"].assert_output(2, &["nowhere"]);
}

#[test]
fn the_checked_out_revision_is_not_compared_with_itself() {
    let text = policy("hours", "shop", 3);
    let (checkout, before) = checkout("action-itself", &text, &text.replace("0 20", "0 21"));
    let head = git(&checkout, &["rev-parse", "HEAD"]);
    for base in
        [("inputs.base", "main"), ("inputs.base", "HEAD"), ("github.event.before", head.as_str())]
    {
        let (ran, _) = Runner::new(&checkout, &[BINARY, base]).run();
        ran["diff"].assert_output(0, &["::notice title=Almanac::", "is what is checked out"]);
        let (ran, _) = Runner::new(&checkout, &[&[BINARY, base], GATE].concat()).run();
        ran["diff"].assert_output(2, &["::error title=Almanac::", "is what is checked out"]);
    }
    // The workflow has checked out the base, not the change.
    git(&checkout, &["fetch", "--quiet", "--depth=1", "origin", &before]);
    git(&checkout, &["checkout", "--quiet", &before]);
    let known = [BINARY, ("github.event.pull_request.base.sha", &before)];
    let (ran, _) = Runner::new(&checkout, &[&known[..], GATE].concat()).run();
    ran["diff"].assert_output(2, &["::error title=Almanac::", "check the change out"]);
}

#[test]
fn an_input_that_is_neither_true_nor_false_closes_the_gate() {
    let text = policy("hours", "shop", 3);
    let (checkout, base) = checkout("action-inputs", &text, &text.replace("0 20", "0 21"));
    let known = [BINARY, ("github.event.before", base.as_str())];
    for input in ["fail-on-change", "diff"] {
        let name = format!("inputs.{input}");
        for value in ["yes", "True", "", "true\nfalse"] {
            let (ran, _) = Runner::new(&checkout, &[&known[..], &[(&*name, value)]].concat()).run();
            ran["diff"].assert_output(2, &[&format!("the input {input} is true or false")]);
        }
    }
    // With any other input, a gate compares.
    let (ran, _) =
        Runner::new(&checkout, &[&known[..], GATE, &[("inputs.diff", "false")]].concat()).run();
    assert_eq!(ran["diff"].code, Some(1));
}

#[test]
fn a_release_is_run_only_if_its_checksum_is_right() {
    let text = policy("hours", "shop", 3);
    let (checkout, _) = checkout("action-release", &text, &format!("# The same.\n{text}"));
    let releases = checkout.with_extension("releases");
    let _ = fs::remove_dir_all(&releases);
    let folder = releases.join("v1");
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("almanac");
    fs::write(&program, format!("#!/bin/sh\nexec {} \"$@\"\n", BINARY.1)).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let pack = format!(
        "tar -czf almanac-{target}.tar.gz almanac && sha256sum almanac-{target}.tar.gz > almanac-{target}.tar.gz.sha256"
    );
    let packed = Command::new("sh").args(["-c", &pack]).current_dir(&folder).status().unwrap();
    assert!(packed.success());
    let url = format!("file://{}", releases.display());
    let known = [("inputs.release", "v1"), ("releases", url.as_str())];
    let (ran, _) = Runner::new(&checkout, &known).run();
    ran["provide"].assert_output(0, &["almanac 0."]);
    ran["lint"].assert_output(0, &[]);
    fs::write(folder.join(format!("almanac-{target}.tar.gz")), "something else").unwrap();
    let (ran, _) = Runner::new(&checkout, &known).run();
    ran["provide"].assert_output(2, &["the checksum of", "nothing of it is run"]);
    assert!(!ran.contains_key("lint") && !ran.contains_key("diff"));
    let known = [("inputs.release", "v2"), ("releases", url.as_str())];
    Runner::new(&checkout, &known).run().0["provide"].assert_output(2, &["is v2 a release?"]);
}
