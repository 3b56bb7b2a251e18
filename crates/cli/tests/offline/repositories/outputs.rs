//! Several outputs of one run, each written to a separate file.

use std::fs;

use crate::repositories::repository::{PRESENT, Repository, policy};

/// A repository with a warning of `lint`.
fn meets(name: &str) -> Repository {
    Repository::new(name).file("a.yaml", policy("a", "a", 3).replace("0 20", "0 8"))
}

const FORMATS: [&str; 6] = ["text", "json", "sarif", "github", "junit", "markdown"];

#[test]
fn one_run_writes_the_same_outputs_as_a_run_for_each_format() {
    let repository = meets("outputs-all");
    for command in ["lint", "validate"] {
        let at = [command, "a.yaml", "--from", PRESENT];
        let files = FORMATS.map(|format| format!("{format}={command}.{format}"));
        let outputs: Vec<&str> =
            files.iter().flat_map(|it| ["-o", it]).chain(["-o", "github"]).collect();
        let all = repository.run(&[&at[..], &outputs].concat());
        assert_eq!(all.stdout, repository.run(&[&at[..], &["-o", "github"]].concat()).stdout);
        for format in FORMATS {
            let alone = repository.run(&[&at[..], &["-o", format]].concat());
            let written = repository.root().join(format!("{command}.{format}"));
            let written = fs::read_to_string(written).unwrap();
            if format == "text" {
                // A file has lines of 100 columns.
                assert!(
                    written.split_whitespace().eq(alone.stdout.split_whitespace()),
                    "{written}"
                );
            } else {
                assert_eq!(written, alone.stdout, "{format}");
            }
            assert_eq!(all.code, alone.code);
        }
    }
    // If all outputs are files, standard output is empty.
    let silent = repository.run(&["lint", "a.yaml", "-o", "sarif=lint.sarif"]);
    assert_eq!((silent.code, &*silent.stdout, &*silent.stderr), (Some(1), "", ""));
}

#[test]
fn outputs_that_would_overwrite_each_other_are_refused() {
    let repository = meets("outputs-refused").file("b/kept", "");
    let files = || fs::read_dir(repository.root()).unwrap().count();
    let before = files();
    for (outputs, says) in [
        (["text", "json"], "another output is written to standard output"),
        (["text", "json=-"], "another output is written to standard output"),
        (["text=out", "json=./out"], "another output is written to this file"),
        (["text=out", "json=b/../out"], "another output is written to this file"),
        (["text=", "json"], "no file is named"),
        (["json=/dev/stdout", "text"], "another output is written to standard output"),
        (["json=out,sarif=b/out", "text"], "write -o sarif=b/out after this one"),
        (["tex=out", "json"], "possible values"),
    ] {
        let [one, other] = outputs;
        let ran = repository.run(&["lint", "-o", one, "-o", other]);
        ran.assert_output(2, &[says, "--output"]);
        assert_eq!((ran.stdout.as_str(), files()), ("", before), "{outputs:?}");
    }
}

#[test]
fn a_file_that_cannot_be_written_fails_the_run_and_keeps_no_other_from_it() {
    let repository = meets("outputs-failing").file("old.json", "old");
    let run = |outputs: &[&str]| {
        let outputs: Vec<&str> = outputs.iter().flat_map(|it| ["-o", it]).collect();
        repository.run(&[&["lint", "a.yaml"][..], &outputs].concat())
    };
    let ran = run(&["sarif=nowhere/a.sarif", "json=old.json", "github"]);
    ran.assert_output(2, &["failed to write nowhere/a.sarif", "::warning file=a.yaml"]);
    let written = fs::read_to_string(repository.root().join("old.json")).unwrap();
    assert!(written.starts_with('{') && written.ends_with("}\n"), "{written}");
    let left: Vec<_> = fs::read_dir(repository.root()).unwrap().collect();
    assert_eq!(left.len(), 3, "{left:?}");
    // If nothing can be checked, the file stays unchanged.
    fs::write(repository.root().join("old.json"), "old").unwrap();
    let ran = repository.run(&["lint", "nowhere.yaml", "-o", "json=old.json"]);
    assert_eq!(ran.code, Some(2));
    assert_eq!(fs::read_to_string(repository.root().join("old.json")).unwrap(), "old");
}

#[test]
fn a_file_that_was_read_is_not_overwritten() {
    let repository = meets("outputs-input").file("b/b.yaml", policy("b", "b", 3));
    let read = |path: &str| fs::read_to_string(repository.root().join(path)).unwrap();
    let before = [read("a.yaml"), read("b/b.yaml")];
    for arguments in [
        &["lint", "a.yaml", "-o", "json=a.yaml"][..],
        &["lint", ".", "-o", "text", "-o", "sarif=b/../a.yaml"],
        &["lint", ".", "--fix", "-o", "yaml=b/b.yaml"],
        &["validate", "b", "-o", "json=b/b.yaml"],
        &["forecast", "a.yaml", "-o", "csv", "--out", "./a.yaml"],
        &["forecast", ".", "--out", "b/b.yaml"],
        &["diff", "a.yaml", "b", "--out", "b/b.yaml"],
        &["diff", "a.yaml", "b", "--out", "a.yaml"],
    ] {
        let ran = repository.run(arguments);
        ran.assert_output(
            2,
            &["the file is an input, and would be overwritten; name another file"],
        );
        assert_eq!([read("a.yaml"), read("b/b.yaml")], before, "{arguments:?}");
        assert_eq!(ran.stdout, "", "{arguments:?}");
    }
    // An output of an earlier run is not an input, although it names policies.
    for _ in 0..2 {
        let ran = repository.run(&["lint", ".", "-o", "json=findings.json", "-o", "yaml=b/f.yaml"]);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    }
}

#[test]
fn notes_are_printed_unless_the_output_has_them() {
    let template = policy("{{ .Values.name }}", "shop", 3);
    let repository = meets("outputs-notes")
        .file("chart/Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\n")
        .file("chart/templates/hours.yaml", template);
    for (outputs, is_noted) in [
        (&["text"][..], true),
        (&["json"], false),
        (&["text", "json=findings.json"], true),
        (&["json=findings.json"], true),
        (&["github", "yaml=findings.yaml"], true),
        (&["json", "sarif=findings.sarif"], false),
    ] {
        let outputs: Vec<&str> = outputs.iter().flat_map(|it| ["-o", it]).collect();
        let stderr = repository.run(&[&["validate", "."][..], &outputs].concat()).stderr;
        assert_eq!(
            stderr.contains("note: chart is a Helm chart"),
            is_noted,
            "{outputs:?}: {stderr}"
        );
    }
}

#[test]
#[cfg(unix)]
fn an_output_can_be_the_null_device_or_a_file_of_any_name() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let repository = meets("outputs-names");
    let ran = repository.run(&["lint", "a.yaml", "-o", "json=/dev/null", "-o", "sarif=/dev/null"]);
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (Some(1), "", ""));
    let commas = repository.run(&["lint", "a.yaml", "-o", "json=a,b=c.json"]);
    assert_eq!(commas.code, Some(1), "{}", commas.stderr);
    assert!(repository.root().join("a,b=c.json").is_file());
    if cfg!(target_os = "linux") {
        // Elsewhere, names of files are Unicode.
        let mut command = repository.command(&["lint", "a.yaml", "-o"]);
        let output = command.arg(OsStr::from_bytes(b"json=b\xff.json")).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(repository.root().join(OsStr::from_bytes(b"b\xff.json")).is_file());
    }
}
