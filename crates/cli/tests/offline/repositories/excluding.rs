//! The files and directories that `almanac.toml` excludes, for commands in any directory.

use std::fs;

use crate::repositories::repository::{Repository, deployment, findings, policy};

/// An unusable policy.
fn wrong(name: &str) -> String {
    policy(name, name, 3).replace("0 8 * * *", "0 8 * *")
}

fn names(repository: &Repository, arguments: &[&str]) -> Vec<String> {
    let report = repository.run_json("validate", arguments);
    let name = |it: &String| it.split([' ', ':']).nth(1).unwrap().to_owned();
    findings(&report).iter().map(name).collect()
}

#[test]
fn patterns_are_those_of_gitignore_seen_from_their_file() {
    let repository = Repository::new("excluding-patterns")
        .file("a.yaml", wrong("a"))
        .file("tests/b.yaml", wrong("b"))
        .file("team/tests/c.yaml", wrong("c"))
        .file("team/d.example.yaml", wrong("d"))
        .file("team/kept.example.yaml", wrong("e"));
    let all = ["a.yaml", "team/d.example.yaml", "team/kept.example.yaml", "team/tests/c.yaml"];
    assert_eq!(names(&repository, &[]), [&all[..], &["tests/b.yaml"]].concat());
    for (exclude, expected) in [
        (r#"["/tests"]"#, &all[..]),
        (r#"["tests"]"#, &all[..3]),
        (r#"["*.yaml", "!/a.yaml"]"#, &all[..1]),
        (r#"["tests/", "*.example.yaml", "!kept.*"]"#, &[all[0], all[2]][..]),
        (r#"["/a.yaml/", "**/tests/**", "team/*.example.*"]"#, &all[..1]),
    ] {
        let settings = format!("# Ours.\nexclude = {exclude}\n");
        fs::write(repository.root().join("almanac.toml"), settings).unwrap();
        assert_eq!(names(&repository, &[]), expected, "{exclude}");
    }
}

#[test]
fn named_files_are_read_and_the_nearest_settings_decide() {
    let repository = Repository::new("excluding-nearest")
        .file("almanac.toml", "exclude = [\"tests\", \"*.example.yaml\"]\n")
        .file("tests/a.yaml", wrong("a"))
        .file("team/almanac.toml", "exclude = [\"/b.yaml\", \"!good.example.yaml\"]\n")
        .file("team/b.yaml", wrong("b"))
        .file("team/good.example.yaml", wrong("c"))
        .file("team/bad.example.yaml", wrong("d"))
        .file("sub/.git", "gitdir: elsewhere\n")
        .file("sub/tests/e.yaml", wrong("e"));
    assert_eq!(names(&repository, &[]), ["sub/tests/e.yaml", "team/good.example.yaml"]);
    assert_eq!(names(&repository, &["team"]), ["team/good.example.yaml"]);
    assert_eq!(names(&repository, &["tests"]), ["tests/a.yaml"]);
    assert_eq!(names(&repository, &["team/b.yaml"]), ["team/b.yaml"]);
    assert_eq!(names(&repository, &["team/*.yaml"]).len(), 3);
    repository.run(&["validate"]).assert_output(1, &["\nexcluded 3 paths by almanac.toml\n"]);
    let mut inside = repository.command(&["validate", ".", "-o", "github"]);
    let output = inside.current_dir(repository.root().join("team")).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    assert!(stdout.contains("good.example.yaml"), "{stdout}");
}

#[test]
fn every_command_skips_an_excluded_directory() {
    let repository = Repository::new("excluding-everywhere")
        .file("almanac.toml", "exclude = [\"/drafts\"]\n")
        .file("hours.yaml", policy("hours", "shop", 3))
        .file("shop.yaml", deployment("shop", 1))
        .file("drafts/hours.yaml", policy("draft", "draft", 7));
    for command in
        [&["forecast", "-f", "."][..], &["next", "-f", "."], &["lint"], &["diff", "/dev/null", "."]]
    {
        let ran = repository.run(command);
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!all.contains("draft"), "{command:?}: {all}");
    }
    repository.run(&["next", "-f", "drafts"]).assert_output(0, &["draft open fires"]);
}

#[test]
fn braces_are_parts_of_names_as_in_a_gitignore() {
    let repository = Repository::new("excluding-braces")
        .file("a.yaml", wrong("a"))
        .file("{a,b}.yaml", wrong("b"));
    let left = ["a.yaml"];
    assert_eq!(names(&repository, &["--exclude", "{a,b}.yaml"]), left);
    let repository = repository.file("almanac.toml", "exclude = [\"{a,b}.yaml\"]\n");
    assert_eq!(names(&repository, &[]), left);
    let refused = repository.run(&["validate", "--exclude", "./a.yaml"]);
    refused.assert_output(2, &["--exclude: the pattern matches nothing; write /a.yaml"]);
}

#[test]
fn a_pattern_that_cannot_match_is_an_error() {
    let repository = Repository::new("excluding-wrong").file("team/a.yaml", policy("a", "a", 1));
    for (pattern, says) in [
        ("[", "is not a valid pattern"),
        ("", "is empty"),
        (" ", "is empty"),
        ("../other", "leads out of the directory of almanac.toml"),
        ("!a/../../b", "leads out of the directory of almanac.toml"),
        ("# tests", "begins with #"),
        ("./tests", "matches nothing; write /tests"),
        ("/", "matches nothing; write a path such as /tests"),
        (".", "matches nothing; write a path such as /tests"),
    ] {
        let settings = format!("exclude = [{pattern:?}]\n");
        fs::write(repository.root().join("team/almanac.toml"), settings).unwrap();
        repository.run(&["validate"]).assert_output(2, &["team/almanac.toml", pattern, says]);
    }
    fs::write(repository.root().join("team/almanac.toml"), "exclude = \"tests\"\n").unwrap();
    repository.run(&["validate"]).assert_output(2, &["team/almanac.toml", "exclude"]);
}
