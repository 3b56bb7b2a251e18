//! Realistic directories: hidden, ignored, excluded and irrelevant files are skipped, and only plain files are
//! opened.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::repositories::repository::{Ran, Repository, autoscaler, deployment, findings, policy};

#[test]
fn other_objects_are_skipped_and_counted_in_one_line() {
    let mut repository = Repository::new("noise")
        .file("policies/hours.yaml", policy("hours", "shop", 3))
        .file("values.yaml", "replicaCount: 1\nimage: {tag: latest}\n")
        .file("package.json", "{\"name\": \"shop\", \"version\": \"1.0.0\"}")
        .file("tsconfig.json", "{\n  // comments are usual here\n  \"strict\": true,\n}\n")
        .file(".github/workflows/test.yml", "on: [push]\njobs: {a: [}\n")
        .file("kind.yaml", "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\n")
        .file("openapi.json", "[1, 2, 3]")
        .file("broken.yaml", "a: [\n")
        .file(
            "crd.yaml",
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
                           metadata: {name: cronfederatedhpas.autoscaling.karmada.io}\n",
        )
        .file("odd.yaml", autoscaler("web", "web").replace("minReplicas: 1", "minReplicas: many"));
    for number in 0..2000 {
        let broken = deployment(&format!("web-{number}"), 1).replace("replicas: 1", "replicas: -1");
        repository = repository.file(&format!("apps/{}/web-{number}.yaml", number % 70), broken);
    }
    let ran = repository.run(&["validate"]);
    ran.assert_output(0, &["checked 1 object in 1 file: no problems found"]);
    let passed: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("skipped")).collect();
    assert_eq!(passed.len(), 1, "{}", ran.stdout);
    assert!(passed[0].len() < 80, "{}", passed[0]);
    assert_eq!(findings(&repository.run_json("validate", &[])), [""; 0]);
}

#[test]
fn a_target_is_found_in_any_file_and_its_errors_are_reported() {
    let repository = Repository::new("targets")
        .file("policies/hours.yaml", policy("hours", "shop", 3))
        .file("apps/shop.yaml", deployment("shop", 5))
        .file("apps/other.yaml", deployment("other", 5).replace("replicas: 5", "replicas: -5"));
    let output = repository.run_json("forecast", &["-f", ".", "--for", "1h"]);
    assert!(!output["assumptions"].to_string().contains("exists"), "{output:#}");
    for (broken, expected) in [
        (
            deployment("shop", 5).replace("replicas: 5", "replicas: -5"),
            "out-of-range apps/shop.yaml:5:18",
        ),
        (
            deployment("shop", 5).replace("apps/v1", "app/v1"),
            "mistyped-version apps/shop.yaml:1:13",
        ),
        (deployment("shop", 5).replace("  name", "\tname"), "tab apps/shop.yaml:4:1"),
    ] {
        let repository = Repository::new("targets-broken")
            .file("policies/hours.yaml", policy("hours", "shop", 3))
            .file("apps/shop.yaml", &broken);
        assert_eq!(findings(&repository.run_json("validate", &[])), [expected], "{broken}");
        let without = Repository::new("targets-of-nobody").file("apps/shop.yaml", &broken);
        assert_eq!(findings(&without.run_json("validate", &[])), [""; 0], "{broken}");
    }
}

#[test]
fn unknown_kinds_of_our_groups_are_reported_in_directories_and_in_files() {
    let nodes = "apiVersion: karpenter.sh/v1alpha1\nkind: ScalableNodeGroup\n\
                 metadata: {name: nodes}\nspec: {type: AWSEC2AutoScalingGroup, id: nodes, replicas: 1}\n";
    let repository = Repository::new("nodes").file("nodes.yaml", nodes);
    for arguments in [&["nodes.yaml"][..], &["."]] {
        let output = repository.run_json("validate", arguments);
        assert_eq!(findings(&output), ["unknown-kind nodes.yaml:1:13"], "{arguments:?}");
        let fix = "write apiVersion: autoscaling.karpenter.sh/v1alpha1";
        assert_eq!(output["findings"][0]["fix"], fix);
    }
}

#[test]
fn an_unreadable_policy_is_reported_but_not_the_rest_of_the_file() {
    let text = format!(
        "a: [\n---\nb: c: d\n---\n{}---\napiVersion: autoscaling.karmada.io/v1alpha1\nspec: {{}}\n",
        policy("hours", "shop", 3).replace("  name: hours", "\tname: hours")
    );
    let repository = Repository::new("half-read").file("all.yaml", text);
    let output = repository.run_json("validate", &[]);
    assert_eq!(findings(&output), ["tab all.yaml:8:1", "not-an-object all.yaml:15:1"]);
}

#[test]
fn the_same_assumption_about_many_objects_is_one_line() {
    let mut repository = Repository::new("many-assumptions");
    for number in 0..60 {
        let text = policy(&format!("hours-{number}"), &format!("shop-{number}"), 3);
        repository = repository.file(&format!("{number}.yaml"), text);
    }
    let from = ["--from", crate::repositories::repository::PRESENT, "--for", "1h"];
    let shown = repository.run(&[&["forecast", "-f", "."], &from[..]].concat());
    let words: Vec<&str> = shown.stdout.split_whitespace().collect();
    let text = words.join(" ");
    let each = "default/shop-12 and 55 more: each exists, although it is not in the input";
    assert!(text.contains(each), "{}", shown.stdout);
    assert_eq!(text.matches("although it is not in the input").count(), 1, "{}", shown.stdout);
    let output = repository.run_json("forecast", &["-f", ".", "--for", "1h"]);
    assert_eq!(output["assumptions"].as_array().map(Vec::len), Some(61));
}

#[test]
fn an_explicitly_named_file_is_checked_in_full() {
    let repository = Repository::new("named")
        .file("values.yaml", "replicaCount: 1\n")
        .file("web.yaml", deployment("web", 1).replace("replicas: 1", "replicas: -1"));
    assert_eq!(findings(&repository.run_json("validate", &[])), [""; 0]);
    for argument in [&["values.yaml", "web.yaml"][..], &["-f", "*.yaml"]] {
        let output = repository.run_json("validate", argument);
        let expected = ["not-an-object values.yaml:1:1", "out-of-range web.yaml:5:18"];
        assert_eq!(findings(&output), expected, "{argument:?}");
    }
}

#[test]
fn hidden_ignored_and_excluded_files_are_skipped() {
    let wrong = policy("wrong", "shop", 3).replace("0 8 * * *", "0 8 * *");
    let repository = Repository::new("ignored")
        .file(".gitignore", "build/\n*.gen.yaml\n")
        .file(".almanacignore", "drafts\n")
        .file("build/a.yaml", &wrong)
        .file("a.gen.yaml", &wrong)
        .file("drafts/a.yaml", &wrong)
        .file(".hidden/a.yaml", &wrong)
        .file(
            ".a.yaml",
            wrong.replace("name: wrong", "name: hidden").replace("name: shop", "name: cart"),
        )
        .file("apps/testdata/a.yaml", &wrong);
    let output = repository.run_json("validate", &[]);
    assert_eq!(findings(&output), ["schedule apps/testdata/a.yaml:8:28"]);
    assert_eq!(findings(&repository.run_json("validate", &["--exclude", "testdata"])), [""; 0]);
    assert_eq!(findings(&repository.run_json("validate", &["--exclude", "apps/**"])), [""; 0]);
    // A path in the arguments is read, even if it is ignored.
    let output = repository.run_json("validate", &["build", ".a.yaml"]);
    assert_eq!(findings(&output), ["schedule .a.yaml:8:28", "schedule build/a.yaml:8:28"]);
    repository
        .run(&["validate", "--exclude", "[a"])
        .assert_output(2, &["--exclude: not a valid pattern: unclosed"]);
}

#[test]
fn a_folder_without_policies_is_fine() {
    let empty = Repository::new("empty");
    empty.run(&["validate"]).assert_output(0, &["checked 0 objects in 0 files: nothing to check"]);
    let file = empty.file("a.yaml", "").file("b.yaml", "# nothing\n---\n# here\n");
    let summary = "checked 0 objects in 2 files: nothing to check";
    file.run(&["validate", "a.yaml", "b.yaml"]).assert_output(0, &[summary]);
}

#[test]
#[cfg(unix)]
fn only_regular_files_are_opened_in_a_folder() {
    use std::os::unix::fs::symlink;
    let repository = Repository::new("special").file("hours.yaml", policy("hours", "shop", 3));
    let path = |name: &str| repository.root().join(name);
    let pipe = Command::new("mkfifo").arg(path("pipe.yaml")).status().unwrap();
    assert!(pipe.success());
    symlink("pipe.yaml", path("link-to-pipe.yaml")).unwrap();
    symlink("/dev/zero", path("zero.yaml")).unwrap();
    symlink("nowhere", path("dangling.yaml")).unwrap();
    symlink("loop-b.yaml", path("loop-a.yaml")).unwrap();
    symlink("loop-a.yaml", path("loop-b.yaml")).unwrap();
    symlink(".", path("myself")).unwrap();
    symlink("hours.yaml", path("again.yaml")).unwrap();
    let large = fs::File::create(path("large.yaml")).unwrap();
    large.set_len(70 << 20).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(path("socket.yaml")).unwrap();
    let ran = repository.run(&["validate"]);
    drop(socket);
    // A link and its target are read once.
    ran.assert_output(
        0,
        &[
            "checked 1 object in 1 file: no problems found",
            "note: large.yaml is larger than 64 MiB and was skipped",
        ],
    );
}

#[test]
#[cfg(unix)]
fn a_pipe_from_a_shell_is_read_but_a_device_is_not() {
    let repository = Repository::new("handed-over").file("hours.yaml", policy("hours", "shop", 3));
    let script = format!("\"{}\" validate <(cat hours.yaml)", env!("CARGO_BIN_EXE_almanac"));
    let mut shell = Command::new("bash");
    let ran = shell.args(["-c", &script]).current_dir(repository.root()).output().unwrap();
    crate::repositories::repository::Ran::from_output(&ran)
        .assert_output(0, &["checked 1 object in 1 file: no problems found"]);
    repository
        .run(&["validate", "/dev/zero"])
        .assert_output(2, &["the path is a device, not a file"]);
}

#[test]
#[cfg(unix)]
fn a_glob_matches_files_and_directories_only() {
    use std::os::unix::fs::symlink;
    let repository = Repository::new("pattern").file("hours.yaml", policy("hours", "shop", 3));
    let path = |name: &str| repository.root().join(name);
    assert!(Command::new("mkfifo").arg(path("pipe.yaml")).status().unwrap().success());
    symlink("/dev/zero", path("zero.yaml")).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(path("socket.yaml")).unwrap();
    let ran = repository.run(&["validate", "-f", "*.yaml"]);
    ran.assert_output(0, &["checked 1 object in 1 file: no problems found"]);
    repository
        .run(&["validate", "-f", "p*.yaml"])
        .assert_output(2, &["no file matches this pattern"]);
    let named = repository.run(&["validate", "-f", "socket.yaml"]);
    named.assert_output(2, &["the path is a socket, not a file"]);
    drop(socket);
}

#[test]
#[cfg(unix)]
fn a_named_pipe_is_read_and_a_long_wait_is_reported() {
    let repository = Repository::new("named-pipe");
    let pipe = repository.root().join("pipe.yaml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = repository.command(&["validate", "-f", "pipe.yaml"]);
    let mut waiting = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut note = String::new();
    BufReader::new(waiting.stderr.as_mut().unwrap()).read_line(&mut note).unwrap();
    assert_eq!(note, "note: waiting until the pipe pipe.yaml is written and closed\n");
    fs::write(pipe, policy("hours", "shop", 3)).unwrap();
    Ran::from_output(&waiting.wait_with_output().unwrap())
        .assert_output(0, &["checked 1 object in 1 file: no problems found"]);
}

#[test]
#[cfg(unix)]
fn a_path_that_cannot_be_resolved_is_an_error_with_its_cause() {
    use std::os::unix::fs::symlink;
    let repository = Repository::new("no-way").file("hours.yaml", policy("hours", "shop", 3));
    symlink("loop.yaml", repository.root().join("loop.yaml")).unwrap();
    let long = "a".repeat(300);
    for (path, why) in [
        ("loop.yaml", "too many levels of symbolic links"),
        ("hours.yaml/a.yaml", "not a directory"),
        ("nowhere.yaml", "no such file or directory"),
        (&*long, "file name too long"),
    ] {
        let error = format!("error: failed to read \"{path}\": {why}\n");
        for command in ["validate", "next", "forecast"] {
            repository.run(&[command, "-f", path]).assert_output(2, &[&error]);
        }
    }
}

/// The user that runs this test may have permission to read everything, so reads fail for other reasons: the memory
/// of a process has no content at its start, and a path is too long.
#[test]
#[cfg(target_os = "linux")]
fn unreadable_paths_in_a_directory_are_errors_and_the_rest_is_checked() {
    let repository = Repository::new("unreadable").file("hours.yaml", policy("hours", "shop", 3));
    let memory = repository.root().join("memory.yaml");
    std::os::unix::fs::symlink("/proc/self/mem", memory).unwrap();
    let ran = repository.run(&["validate"]);
    ran.assert_output(
        2,
        &[
            "error[unreadable-file]: failed to read the file: input/output error\n",
            "= fix: correct the path, or exclude it with --exclude\n",
            "checked 1 object in 2 files: 1 error in 1 file\n",
        ],
    );
    assert_eq!(
        findings(&repository.run_json("validate", &[])),
        ["unreadable-file memory.yaml:1:1"]
    );
    assert_eq!(repository.run(&["forecast", "-f", ".", "--fail-on", "never"]).code, Some(2));
    assert_eq!(repository.run(&["validate", "--exclude", "memory.yaml"]).code, Some(0));
    // A path of this length cannot be created, but a directory can be moved below another directory.
    let half: std::path::PathBuf = std::iter::repeat_n("a".repeat(250), 9).collect();
    let path = |below: &str| repository.root().join(below);
    fs::create_dir_all(path("other").join(&half)).unwrap();
    fs::create_dir_all(repository.root().join(&half)).unwrap();
    fs::rename(path("other"), repository.root().join(&half).join("other")).unwrap();
    let ran = repository.run(&["validate", "--exclude", "memory.yaml"]);
    ran.assert_output(
        2,
        &["error[unreadable-file]: failed to list the directory: file name too long\n"],
    );
    fs::remove_dir_all(repository.root()).unwrap();
}
