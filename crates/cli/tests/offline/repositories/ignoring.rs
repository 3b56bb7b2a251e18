//! Findings that a user suppresses, by a comment, an argument or the settings of a directory.

use crate::repositories::repository::{PRESENT, Repository, findings, policy};

/// A policy with a finding in its second rule.
fn meets() -> String {
    policy("meets", "meets", 3).replace("0 20 * * *", "0 8 * * *")
}

fn lint(repository: &Repository, arguments: &[&str]) -> Vec<String> {
    let output = repository.run_json("lint", arguments);
    findings(&output)
}

#[test]
fn a_comment_suppresses_one_code_at_one_location() {
    let without = Repository::new("ignoring-nothing").file("a.yaml", meets());
    assert_eq!(lint(&without, &[]), ["same-minute a.yaml:9:29"]);
    let rule = "  - {name: close";
    let (before, after) =
        meets().split_once(rule).map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    for (name, text) in [
        (
            "line",
            meets().trim_end().to_owned() + " # almanac:ignore same-minute, window on purpose\n",
        ),
        ("above", format!("{before}  # almanac:ignore same-minute\n{rule}{after}")),
        ("block", meets().replace("spec:\n", "# almanac:ignore same-minute: on purpose\nspec:\n")),
        ("document", format!("# almanac:ignore same-minute\n{}", meets())),
    ] {
        let repository = Repository::new(&format!("ignoring-{name}")).file("a.yaml", text);
        let output = repository.run_json("lint", &[]);
        assert_eq!(
            (findings(&output).len(), &output["ignored"]),
            (0, &1.into()),
            "{name}: {output}"
        );
        repository
            .run(&["lint", "--from", PRESENT])
            .assert_output(0, &["no problems found, 1 ignored"]);
        let output = repository.run_json("validate", &[]);
        assert_eq!(
            (findings(&output).len(), &output["ignored"]),
            (0, &1.into()),
            "{name}: {output}"
        );
        let all = repository.run_json("validate", &["--ignore", "window"]);
        assert_eq!(all["ignored"], 1, "{all}");
    }
    for text in [
        meets().replace("spec:\n", "# almanac:ignore window\nspec:\n"),
        meets().replace("metadata:\n", "# almanac:ignore same-minute\nmetadata:\n"),
        format!("# almanac:ignore same-minute\n{}---\n{}", policy("x", "x", 1), meets()),
    ] {
        let repository = Repository::new("ignoring-elsewhere").file("a.yaml", &text);
        assert_eq!(lint(&repository, &[]).len(), 1, "{text}");
    }
}

#[test]
fn a_comment_with_an_unknown_code_is_reported() {
    let text = meets().replace("spec:\n", "# almanac:ignore same-minut\nspec:\n");
    let repository = Repository::new("ignoring-unknown").file("a.yaml", text);
    assert_eq!(lint(&repository, &[]), ["nothing-ignored a.yaml:5:18", "same-minute a.yaml:10:29"]);
    repository.run(&["lint"]).assert_output(1, &["there is no code", "fix: write same-minute"]);
}

#[test]
fn an_argument_suppresses_codes_everywhere() {
    let repository = Repository::new("ignoring-argument").file("a.yaml", meets());
    assert!(lint(&repository, &["--ignore", "window,same-minute"]).is_empty());
    assert_eq!(lint(&repository, &["--ignore", "window"]).len(), 1);
    repository.run(&["lint", "--ignore", "same-minut"]).assert_output(2, &["'same-minute'"]);
}

#[test]
fn the_nearest_settings_above_a_file_apply_from_any_directory() {
    let repository = Repository::new("ignoring-settings")
        .file("almanac.toml", "[lint]\nignore = [\"same-minute\"]\n")
        .file("a.yaml", meets())
        .file("strict/almanac.toml", "[lint]\n")
        .file("strict/b.yaml", meets().replace("meets", "b"))
        .file("lenient/deep/c.yaml", meets().replace("meets", "c"));
    assert_eq!(lint(&repository, &[]), ["same-minute strict/b.yaml:9:29"]);
    assert_eq!(lint(&repository, &["strict"]), ["same-minute strict/b.yaml:9:29"]);
    assert!(lint(&repository, &["lenient"]).is_empty());
    let wrong = repository.file("almanac.toml", "[lint]\nignore = [\"same-minut\"]\n");
    wrong.run(&["lint"]).assert_output(2, &["almanac.toml", "same-minut", "line 2"]);
}

#[test]
fn an_unreadable_file_is_reported_even_if_its_code_is_ignored() {
    let repository = Repository::new("ignoring-unread").file("a.yaml", meets());
    let command = ["lint", "--ignore", "unreadable-file", "a.yaml", "nowhere.yaml"];
    assert_eq!(repository.run(&command).code, Some(2));
}

#[test]
fn a_nearer_file_without_lint_settings_does_not_hide_another() {
    let repository = Repository::new("ignoring-nested")
        .file("almanac.toml", "[lint]\nignore = [\"same-minute\"]\n")
        .file("team/almanac.toml", "[[place]]\nname = \"prod\"\ndirectories = [\"prod\"]\n")
        .file("team/prod/a.yaml", meets())
        .file("other/almanac.toml", "[lint]\n")
        .file("other/a.yaml", meets().replace("meets", "others"));
    assert_eq!(lint(&repository, &[]), ["same-minute other/a.yaml:9:29"]);
}
