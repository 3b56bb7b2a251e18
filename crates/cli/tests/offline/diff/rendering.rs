//! Overlays and charts that are rendered on request. Scripts replace the programs: the scripts record their input,
//! and misbehave.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::diff::revisions::empty_repository;
use crate::diff::running::{MONDAY, empty_folder, shop, sides};
use crate::running::{Ran, almanac, commit, git, write};

/// Prints a file of the last directory in its arguments, except for values, and records that it ran.
const PRINTS: &str =
    "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\nfor last; do :; done\ncat \"$last/out.yaml\"\n";

const SUBMODULE: &str = "160000,0123456789012345678901234567890123456789,prod/sub";

const PLAIN: &str = "resources: [out.yaml]\n";

/// The directory of programs of a test.
fn programs(folder: &Path, scripts: &[(&str, &str)]) -> PathBuf {
    let bin = folder.join("bin");
    for (name, script) in scripts {
        write(&bin, &[(*name, *script)]);
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::create_dir_all(&bin).unwrap();
    bin
}

/// The program that prints the differences, with these programs and those of the system.
fn command(folder: &Path, bin: &Path, arguments: &[&str]) -> Command {
    let mut command = almanac(folder, &[&["diff", "--from", MONDAY], arguments].concat());
    command.env("COLUMNS", "10000").env("SECRET", "s3cret");
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    command
}

fn run(folder: &Path, bin: &Path, arguments: &[&str]) -> Ran {
    Ran::from_output(&command(folder, bin, arguments).output().unwrap())
}

/// An overlay of one file, which `PRINTS` prints.
fn overlay(rendered: &str) -> [(&str, &str); 2] {
    [("prod/kustomization.yaml", PLAIN), ("prod/out.yaml", rendered)]
}

/// Whether the child process with the ID that a script has written has ended.
fn is_over(child: &str) -> bool {
    let stat = format!("/proc/{}/stat", child.trim());
    fs::read_to_string(stat).map_or(true, |it| it.contains(") Z "))
}

fn later() -> String {
    shop().replace("0 20", "0 22")
}

#[test]
fn an_overlay_is_rendered_on_both_sides_and_compared() {
    let (old, new) = (shop(), later());
    let old = [&overlay(&old)[..], &[("other.yaml", "a: 1")]].concat();
    let new = [&overlay(&new)[..], &[("other.yaml", "a: 2")]].concat();
    let folder = sides("rendered", &old, &new);
    let bin = programs(&folder, &[("kustomize", PRINTS)]);
    let output = run(&folder, &bin, &["old", "new", "-k", "prod"]);
    output
        .assert_stdout(&["1 of 1 value changes", "Rendered on both sides: kustomize build prod."]);
    let repository = empty_repository("rendered-git");
    commit(&repository, &old);
    commit(&repository, &new);
    for revisions in ["HEAD~1..HEAD", "HEAD~1"] {
        let report =
            run(&repository, &bin, &["--git", revisions, "-k", "prod", "-o", "json"]).json();
        assert_eq!(report["summary"]["changed"], 1, "{report:#}");
        assert_eq!(report["rendered"][0], "kustomize build prod");
    }
    // A submodule is part of what is rendered, without its content.
    git(&repository, &["update-index", "--add", "--cacheinfo", SUBMODULE]);
    git(&repository, &["commit", "-q", "-m", "submodule"]);
    let report =
        run(&repository, &bin, &["--git", "HEAD~1..HEAD", "-k", "prod", "-o", "json"]).json();
    assert_eq!(report["notes"][0], "prod is rendered without the submodule prod/sub", "{report:#}");
    git(&repository, &["reset", "-q", "--hard", "HEAD~1"]);
    // Paths are relative to the current directory.
    let inside = repository.join("prod");
    let report = run(&inside, &bin, &["--git", "HEAD~1..HEAD", "-k", ".", "-o", "json"]).json();
    assert_eq!(report["summary"]["changed"], 1, "{report:#}");
    run(&repository, &bin, &["--git", "HEAD", "-k", ".."])
        .assert_stderr(&["--kustomize", "is not inside the git"]);
    run(&repository, &bin, &["--git", "HEAD", "-k", "nowhere"])
        .ended(2)
        .assert_stderr(&["neither side has such a directory"]);
}

#[test]
fn a_chart_is_rendered_with_its_values_files() {
    let script = "#!/bin/sh\n[ \"$1\" = template ] && [ \"$3\" = --values ] && cat \"$4\"\n";
    let (old, new) = (shop(), later());
    let chart = ("shop/Chart.yaml", "name: shop\n");
    let folder = sides(
        "rendered-chart",
        &[chart, ("shop/prod.yaml", &old)],
        &[chart, ("shop/prod.yaml", &new)],
    );
    let bin = programs(&folder, &[("helm", script)]);
    let output = run(&folder, &bin, &["old", "new", "--helm", "shop=prod.yaml"]);
    output.assert_stdout(&["1 of 1 value changes", "helm template shop --values shop/prod.yaml"]);
    run(&folder, &bin, &["old", "new", "--helm", "shop=../../secret.yaml"]).ended(2);
    for (option, value, part) in [
        ("--helm", "shop=none.yaml", "neither side has shop/none.yaml; values files"),
        ("--helm", "a,b=values.yaml", "has a comma, a quotation mark"),
        ("-k", "shop/Chart.yaml", "is a file; name the directory that it is in"),
    ] {
        run(&folder, &bin, &["old", "new", option, value]).ended(2).assert_stderr(&[part]);
    }
}

#[test]
fn the_settings_of_the_old_revision_decide_the_programs_to_run() {
    let repository = empty_repository("rendered-settings");
    let bin = programs(&empty_folder("rendered-settings-bin"), &[("kustomize", PRINTS)]);
    commit(&repository, &overlay(&shop()));
    let setting = "[diff]\nkustomize = [\"prod\"]\n";
    commit(&repository, &[("almanac.toml", setting), ("prod/out.yaml", &later())]);
    run(&repository, &bin, &["--git", "HEAD~1..HEAD"]).assert_stdout(&["1 of 1 value changes"]);
    assert!(!bin.join("ran").exists(), "the new revision determines the programs");
    commit(
        &repository,
        &[("almanac.toml", "[diff]\nhelm = [\"evil\"]\n"), ("prod/out.yaml", &shop())],
    );
    let report = run(&repository, &bin, &["--git", "HEAD~1..HEAD", "-o", "json"]).json();
    assert!(bin.join("ran").exists());
    assert_eq!(report["rendered"], serde_json::json!(["kustomize build prod"]));
    // The files that it includes are not compared a second time.
    assert_eq!(
        (&report["summary"]["compared"], &report["summary"]["changed"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn overlays_that_need_a_network_a_program_or_outside_paths_never_run() {
    for (name, text_of, part) in [
        (
            "url",
            "resources: ['https://example.com/a.yaml']\n",
            "resources: \"https://example.com/a.yaml\" may be read",
        ),
        (
            "git",
            "components: ['github.com/a/b?ref=main']\n",
            "components: \"github.com/a/b?ref=main\" may be read",
        ),
        (
            "patch",
            "patches: [{path: 'https://example.com/a.yaml'}]\n",
            "patches: \"https://example.com/a.yaml\"",
        ),
        (
            "charts",
            "helmCharts: [{name: a, repo: 'https://example.com'}]\n",
            "helmCharts may start a program",
        ),
        ("generator", "generators: [a.yaml]\n", "generators may start a program"),
        (
            "case",
            "Resources: ['https://example.com/a.yaml']\n",
            "Resources is not a known field, but",
        ),
        ("out", "resources: [../../../secret.yaml]\n", "leads out of the compared directory"),
        ("gone", "resources: [gone.yaml]\n", "is neither a file nor a directory of this side"),
    ] {
        let old = shop();
        let hostile = [("prod/kustomization.yaml", text_of), ("prod/out.yaml", &*old)];
        let folder = sides(&format!("rendered-hostile-{name}"), &overlay(&old), &hostile);
        let bin = programs(&folder, &[("kustomize", "#!/bin/sh\necho \"$@\" >>\"$0.ran\"\n")]);
        let output = run(&folder, &bin, &["/dev/null", "new", "-k", "prod"]).ended(2);
        output.assert_stdout(&[part, "prod/kustomization.yaml: "]);
        assert!(!bin.join("kustomize.ran").exists(), "{name}");
    }
}

#[test]
fn a_link_out_of_a_side_is_never_followed() {
    let old = shop();
    let files = overlay(&old);
    let folder = sides("rendered-link", &files, &files);
    let bin = programs(&folder, &[("kustomize", PRINTS)]);
    symlink("/etc/passwd", folder.join("new/prod/secret.yaml")).unwrap();
    let output = run(&folder, &bin, &["old", "new", "-k", "prod", "--fail-on-change"]).ended(2);
    output.assert_stdout(&["prod/secret.yaml is a symbolic link that does not lead to a file"]);
    assert!(!output.stdout.contains("no longer set"), "{}", output.stdout);
    // A directory that the old side cannot render is not new on the other one, and is not a failure by itself.
    let fixed = run(&folder, &bin, &["new", "old", "-k", "prod"]).ended(0);
    fixed.assert_stdout(&[
        "Not rendered: 1 directory",
        "Not rendered, so not compared: prod; see the",
        "note: prod of new: prod/secret.yaml is a symbolic link",
    ]);
    assert!(!fixed.stdout.contains("differs"), "{}", fixed.stdout);
}

#[test]
fn a_pointer_of_git_lfs_is_never_rendered() {
    let old = shop();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n";
    let files = [&overlay(&old)[..], &[("prod/replicas.txt", pointer)]].concat();
    let folder = sides("rendered-pointer", &files, &files);
    let bin = programs(&folder, &[("kustomize", PRINTS)]);
    let part = "prod/replicas.txt is only a pointer to a file in Git LFS";
    run(&folder, &bin, &["old", "new", "-k", "prod"]).assert_stdout(&[part]);
    let repository = empty_repository("rendered-pointer-git");
    commit(&repository, &files);
    run(&repository, &bin, &["--git", "HEAD..HEAD", "-k", "prod"])
        .assert_stdout(&["replicas.txt is only a pointer to a file in Git LFS"]);
    assert!(!bin.join("ran").exists());
}

#[test]
fn a_program_that_hangs_or_prints_endlessly_is_killed_with_its_children() {
    let old = shop();
    let files = overlay(&old);
    let hangs = "#!/bin/sh\nsleep 600 &\necho $! >\"$0.child\"\nsleep 600\n";
    let endless = "#!/bin/sh\nyes 'a: 1'\n";
    for (name, script, part) in [
        ("hangs", hangs, "the rendering took more than 1 s"),
        ("endless", endless, "the output is larger than 64 MiB"),
    ] {
        let folder = sides(&format!("rendered-{name}"), &[], &files);
        let bin = programs(&folder, &[("kustomize", script)]);
        let seconds = if name == "hangs" { "1" } else { "60" };
        let since = Instant::now();
        run(&folder, &bin, &["old", "new", "-k", "prod", "--render-seconds", seconds])
            .ended(2)
            .assert_stdout(&[part]);
        if let Ok(child) = fs::read_to_string(bin.join("kustomize.child")) {
            while !is_over(&child) {
                assert!(since.elapsed() < Duration::from_mins(5), "a child outlives the run");
                thread::yield_now();
            }
        }
    }
}

#[test]
fn a_signal_ends_the_program_and_leaves_nothing_behind() {
    let old = shop();
    let files = overlay(&old);
    let script = "#!/bin/sh\nsleep 600 &\necho $! >\"$0.new\"\nmv \"$0.new\" \"$0.child\"\nwait\n";
    for (name, signal) in [("int", Signal::INT), ("term", Signal::TERM), ("hup", Signal::HUP)] {
        let repository = empty_repository(&format!("rendered-signal-{name}"));
        commit(&repository, &files);
        let bin = empty_folder(&format!("rendered-signal-{name}-bin"));
        let bin = programs(&bin, &[("kustomize", script)]);
        let temporary = empty_folder(&format!("rendered-signal-{name}-tmp"));
        let mut command = command(&repository, &bin, &["--git", "HEAD..HEAD", "-k", "prod"]);
        command.env("TMPDIR", &temporary).stdout(Stdio::null());
        let mut almanac = command.spawn().unwrap();
        let since = Instant::now();
        let wait_for = |is_done: &dyn Fn() -> bool, what: &str| {
            while !is_done() {
                assert!(since.elapsed() < Duration::from_mins(5), "{name}: {what}");
                thread::sleep(Duration::from_millis(10));
            }
        };
        wait_for(&|| bin.join("kustomize.child").exists(), "the program does not start");
        kill_process(Pid::from_child(&almanac), signal).unwrap();
        assert_eq!(almanac.wait().unwrap().code(), Some(130), "{name}");
        let child = fs::read_to_string(bin.join("kustomize.child")).unwrap();
        wait_for(&|| is_over(&child), "a child outlives the run");
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "{name}");
    }
}

#[test]
fn a_program_gets_an_environment_of_its_own() {
    let old = shop();
    let folder = sides("rendered-environment", &[], &overlay(&old));
    let script = PRINTS.replace("touch", "env >\"$0.env\"; touch");
    let bin = programs(&folder, &[("kustomize", &script)]);
    run(&folder, &bin, &["old", "new", "-k", "prod"]).assert_stdout(&["newly set by a policy"]);
    let environment = fs::read_to_string(bin.join("kustomize.env")).unwrap();
    assert!(!environment.contains("s3cret"), "{environment}");
    assert!(environment.contains("GIT_ALLOW_PROTOCOL=none"), "{environment}");
    let home = environment.lines().find_map(|it| it.strip_prefix("HOME=")).unwrap();
    assert!(home.contains("almanac-render-") && !Path::new(home).exists(), "{home}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_gets_a_limited_amount_of_memory() {
    let old = shop();
    let files = overlay(&old);
    let folder = sides("rendered-memory", &[], &files);
    // The limit is set once it runs.
    let script = PRINTS.replace("touch", "sleep 0.5; ulimit -d >\"$0.kilobytes\"; touch");
    let bin = programs(&folder, &[("kustomize", &script)]);
    run(&folder, &bin, &["old", "new", "-k", "prod"]).assert_stdout(&["newly set by a policy"]);
    assert_eq!(fs::read_to_string(bin.join("kustomize.kilobytes")).unwrap().trim(), "2097152");
}

#[test]
fn a_failure_is_reported_with_the_paths_of_the_side() {
    let old = shop();
    let folder = sides("rendered-failure", &[], &overlay(&old));
    let script = "#!/bin/sh\necho \"Error: $PWD/prod/out.yaml: it is broken\" >&2\nexit 1\n";
    let bin = programs(&folder, &[("kustomize", script)]);
    let stdout = run(&folder, &bin, &["old", "new", "-k", "prod"]).stdout;
    assert!(stdout.contains("failed to render it: prod/out.yaml: it is broken"), "{stdout}");
    assert!(!stdout.contains("almanac-render-"), "{stdout}");
}

#[test]
fn a_missing_program_is_reported_with_the_way_to_install_it() {
    let files = [&overlay("a: 1")[..], &[("prod/Chart.yaml", "name: shop\n")]].concat();
    let folder = sides("rendered-missing", &files, &files);
    let bin = programs(&folder, &[]);
    for (option, part) in [
        ("-k", "failed to find kustomize or kubectl in PATH; install one of them"),
        ("--helm", "failed to find helm in PATH; install it"),
    ] {
        let mut command = command(&folder, &bin, &["old", "new", option, "prod"]);
        Ran::from_output(&command.env("PATH", &bin).output().unwrap())
            .ended(2)
            .assert_stderr(&[part]);
    }
}
