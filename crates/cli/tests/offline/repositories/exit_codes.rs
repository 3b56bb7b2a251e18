//! One meaning of exit codes for all commands that read policies.

use serde_json::{Value, json};

use crate::repositories::repository::{PRESENT, Repository, findings, policy};

/// The exit code of each command that reads policies.
fn codes(repository: &Repository, arguments: &[&str]) -> Vec<Option<i32>> {
    let commands: [&[&str]; 4] = [
        &["validate", "-f", ".", "--from", PRESENT],
        &["forecast", "-f", ".", "--from", PRESENT, "--for", "1h"],
        &["next", "-f", ".", "--from", PRESENT],
        &["explain", "-f", ".", "good", "--at", PRESENT],
    ];
    commands.iter().map(|command| repository.run(&[command, arguments].concat()).code).collect()
}

#[test]
fn findings_set_the_same_exit_code_in_every_command() {
    let good = policy("good", "good", 3);
    let warned = policy("meets", "meets", 3).replace("0 20 * * *", "0 8 * * *");
    let wrong = policy("wrong", "wrong", 3).replace("0 8 * * *", "0 8 * *");
    let keda = "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: a}\n\
                spec: {triggers: [{type: cron}]}\n";
    for (what, text, [never, error, warning, info]) in [
        ("good", &good, [0, 0, 0, 0]),
        ("keda", &keda.to_owned(), [0, 0, 0, 1]),
        ("warned", &warned, [0, 0, 1, 1]),
        ("wrong", &wrong, [0, 1, 1, 1]),
    ] {
        let repository = Repository::new(&format!("exit-{what}"))
            .file("good.yaml", &good)
            .file("other.yaml", if what == "good" { "" } else { text });
        for (threshold, expected) in
            [("never", never), ("error", error), ("warning", warning), ("info", info)]
        {
            let found = codes(&repository, &["--fail-on", threshold]);
            assert_eq!(found, [Some(expected); 4], "{what} with --fail-on {threshold}");
        }
        assert_eq!(codes(&repository, &[]), [Some(error); 4], "errors are what counts by itself");
    }
}

#[test]
fn objects_excluded_by_labels_fail_no_command() {
    let labeled = |text: String, team: &str| {
        text.replace("metadata:\n", &format!("metadata:\n  labels: {{team: {team}}}\n"))
    };
    let wrong = policy("wrong", "wrong", 3).replace("0 8 * * *", "0 8 * *");
    let repository = Repository::new("exit-labels")
        .file("good.yaml", labeled(policy("good", "good", 3), "blue"))
        .file("wrong.yaml", labeled(wrong, "red"));
    assert_eq!(codes(&repository, &["-l", "team=blue"]), [Some(0); 4]);
    assert_eq!(codes(&repository, &["-l", "team"]), [Some(1); 4]);
}

#[test]
fn a_clock_change_is_a_finding_of_validate_only() {
    let berlin = policy("good", "good", 3)
        .replace("schedule: \"0 8 * * *\"", "schedule: \"30 2 * * *\", timeZone: Europe/Berlin");
    let repository = Repository::new("exit-clock-change").file("good.yaml", berlin);
    let [yes, no] = [Some(1), Some(0)];
    assert_eq!(codes(&repository, &["--fail-on", "info"]), [yes, no, no, no]);
}

#[test]
fn failures_set_the_same_exit_code_in_every_command() {
    let repository =
        Repository::new("exit-impossible").file("good.yaml", policy("good", "good", 3));
    let more: [&[&str]; 4] =
        [&["-f", "nowhere"], &["--no-such-flag"], &["--place", "nowhere"], &["-o", "paper"]];
    for arguments in more {
        assert_eq!(codes(&repository, arguments), [Some(2); 4], "{arguments:?}");
    }
}

#[test]
fn every_command_documents_its_exit_codes() {
    let repository = Repository::new("exit-help");
    let help = repository.run(&["--help"]).stdout;
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    let commands = commands.lines().filter_map(|line| line.split_whitespace().next());
    let commands: Vec<&str> = commands.filter(|command| *command != "help").collect();
    assert!(commands.len() > 6, "{commands:?}");
    for command in commands {
        let ran = repository.run(&[command, "--help"]);
        ran.assert_output(0, &["Exit codes:\n  0    ", "\n  2    failure:"]);
    }
    repository.run(&["--help"]).assert_output(0, &["Exit codes:\n  0    "]);
}

#[test]
fn a_policy_that_is_defined_twice_is_explained_by_its_findings() {
    let repository = Repository::new("exit-duplicate")
        .file("a.yaml", policy("twice", "shop", 3))
        .file("b.yaml", policy("twice", "shop", 4));
    assert_eq!(codes_of(&repository, "twice"), [Some(1); 3]);
    let output = repository.run(&["explain", "-f", ".", "twice", "-o", "json"]).json();
    assert_eq!(output["value"], Value::Null);
    assert_eq!(output["reasons"][0]["verdict"], "error");
    assert_eq!(findings(&output), ["duplicate-object b.yaml:1:1"]);
    repository
        .run(&["explain", "-f", ".", "other"])
        .assert_output(2, &["the policies are CronFederatedHPA/default/twice", "duplicate-object"]);
}

#[test]
fn a_policy_in_a_text_that_cannot_be_read_is_explained_by_its_findings() {
    let text = policy("broken", "shop", 3).replace("  rules:", "  rules: [");
    let repository = Repository::new("exit-syntax").file("a.yaml", text);
    assert_eq!(codes_of(&repository, "broken"), [Some(1); 3]);
    let output = repository.run(&["explain", "-f", ".", "broken", "-o", "json"]).json();
    assert_eq!(output["answers"], json!([]));
    assert_eq!(output["findings"][0]["code"], "syntax");
    let message = "nothing to explain: the object of this name can't be used as written";
    repository.run(&["explain", "-f", ".", "broken"]).assert_output(1, &[message, "error[syntax]"]);
    for other in ["other", "broke"] {
        repository.run(&["explain", "-f", ".", other]).assert_output(2, &["error[syntax]"]);
    }
}

/// The exit code of each command for one name.
fn codes_of(repository: &Repository, name: &str) -> Vec<Option<i32>> {
    let commands = ["explain", "next", "forecast"];
    commands.iter().map(|command| repository.run(&[command, "-f", ".", name]).code).collect()
}

#[test]
fn explaining_files_without_a_policy_is_not_a_failure() {
    let job = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: backup}\nspec: {schedule: \"0 9 * * *\"}\n";
    let unusable = policy("good", "good", 3).replace("0 20 * * *", "0 25 * * *");
    let unusable = unusable.replace("0 8 * * *", "0 25 * * *");
    let repository = Repository::new("exit-explain-nothing")
        .file("job.yaml", job)
        .file("empty.yaml", "")
        .file("empty/README.md", "nothing")
        .file("syntax.yaml", policy("broken", "shop", 3).replace("  rules:", "  rules: ["))
        .file("unusable.yaml", unusable);
    for files in ["job.yaml", "empty.yaml", "empty"] {
        let at = ["explain", files, "--at", PRESENT];
        let ran = repository.run(&at);
        assert_eq!((ran.code, &*ran.stdout), (Some(0), "nothing to explain: no usable policy\n"));
        let output = repository.run(&[&at[..], &["-o", "json"]].concat()).json();
        assert_eq!(output["answers"], json!([]), "{files}");
        // A pattern on the command line must have a match.
        let typed = repository.run(&["explain", "-f", files, "*"]);
        typed.assert_output(2, &["no policy or target matches"]);
    }
    let syntax = repository.run(&["explain", "syntax.yaml"]);
    syntax.assert_output(1, &["nothing to explain: no usable policy\n", "error[syntax]"]);
    assert_eq!(repository.run(&["explain", "syntax.yaml", "--fail-on", "never"]).code, Some(0));
    assert_eq!(repository.run(&["explain", "unusable.yaml"]).code, Some(1));
}
