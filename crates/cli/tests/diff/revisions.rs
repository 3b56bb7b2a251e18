//! Two revisions of a real git repository, or one and the working tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::running::{MONDAY, almanac, diff, empty_folder, json, shop, text, write};

/// Git with a person and nothing of this machine.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn commit(folder: &Path, files: &[(&str, &str)]) {
    write(folder, files);
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-q", "--allow-empty", "-m", "change"]);
}

fn changed() -> String {
    shop().replace("0 20", "0 22")
}

/// A repository: a shop on `main`, which closes later on `later`; `main` has got another file since.
fn repository(name: &str) -> PathBuf {
    let folder = empty_folder(name);
    git(&folder, &["init", "-q", "-b", "main"]);
    commit(&folder, &[("policies/shop.yaml", &shop()), ("README.md", "shop")]);
    git(&folder, &["checkout", "-q", "-b", "later"]);
    commit(&folder, &[("policies/shop.yaml", &changed())]);
    git(&folder, &["checkout", "-q", "main"]);
    let cart = shop().replace("shop", "cart");
    commit(&folder, &[("policies/cart.yaml", &cart)]);
    git(&folder, &["checkout", "-q", "later"]);
    folder
}

/// What differs, each as its name and its presence.
fn told(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let told = json(&diff(folder, &[arguments, &["-o", "json"]].concat()));
    let one = |it: &serde_json::Value| format!("{} {}", it["target"]["name"], it["presence"]);
    let all = told["differences"].as_array().unwrap().iter().map(one);
    all.map(|it| it.replace('"', "")).collect()
}

#[test]
fn two_dots_compare_two_revisions_and_three_what_one_has_changed() {
    let folder = repository("git-dots");
    assert_eq!(told(&folder, &["--git", "main..later"]), ["cart removed", "shop both"]);
    assert_eq!(told(&folder, &["--git", "main...later"]), ["shop both"]);
    assert_eq!(told(&folder, &["--git", "main..."]), ["shop both"], "HEAD is meant");
    assert_eq!(told(&folder, &["--git", "later..later"]), Vec::<String>::new());
    let said = text(&diff(&folder, &["--git", "main...later"]).stdout);
    assert!(said.contains("main → later: 1 of 1 value changes"), "{said}");
}

#[test]
fn one_revision_is_compared_with_the_working_tree_which_stays_as_it_is() {
    let folder = repository("git-tree");
    assert_eq!(told(&folder, &["--git", "HEAD"]), Vec::<String>::new());
    write(&folder, &[("policies/shop.yaml", &shop()), ("policies/new.yaml", "a: 1")]);
    git(&folder, &["add", "policies/new.yaml"]);
    let status = git(&folder, &["status", "--porcelain"]);
    let index = fs::read(folder.join(".git/index")).unwrap();
    assert_eq!(told(&folder, &["--git", "HEAD"]), ["shop both"]);
    assert_eq!(fs::read(folder.join(".git/index")).unwrap(), index);
    assert_eq!(git(&folder, &["status", "--porcelain"]), status);
}

#[test]
fn paths_are_meant_from_the_current_directory_and_shown_as_the_repository_has_them() {
    let folder = repository("git-paths");
    let inside = folder.join("policies");
    assert_eq!(told(&inside, &["--git", "main..later", "shop.yaml"]), ["shop both"]);
    assert_eq!(told(&inside, &["--git", "main..later", "../policies/cart.yaml"]), ["cart removed"]);
    assert_eq!(told(&folder, &["--git", "main..later", "."]).len(), 2);
    let broken = shop().replace("0 8 * * *", "0 8");
    commit(&folder, &[("policies/shop.yaml", &broken)]);
    let output = diff(&inside, &["--git", "main..later"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    assert!(said.contains("--> policies/shop.yaml:7:"), "{said}");
    assert!(!said.contains("almanac-diff-"), "{said}");
    let nowhere = diff(&folder, &["--git", "main..later", "nowhere"]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(text(&nowhere.stderr).contains("neither side has such a file or directory"));
    let outside = diff(&folder, &["--git", "main..later", "/etc"]);
    assert!(text(&outside.stderr).contains("not inside the git repository"));
}

#[test]
fn strange_names_are_read_as_they_are() {
    let folder = repository("git-names");
    let names = ["a b/-c.yaml", "--all.yaml", "new\nline.yaml", "ü*[x].yaml", "tab\t.yaml"];
    for (number, name) in names.iter().enumerate() {
        let own = shop().replace("shop", &format!("shop-{number}"));
        commit(&folder, &[(*name, &own)]);
    }
    assert_eq!(told(&folder, &["--git", "HEAD~5..HEAD"]).len(), 5);
    assert_eq!(told(&folder, &["--git", "HEAD~5..HEAD", "ü*[x].yaml"]), ["shop-3 added"]);
    assert_eq!(told(&folder, &["--git", "HEAD~5..HEAD", "./--all.yaml"]), ["shop-1 added"]);
    git(&folder, &["branch", "a-b"]);
    assert_eq!(told(&folder, &["--git", "main..a-b", "policies"]), ["cart removed", "shop both"]);
}

#[test]
fn what_cannot_be_read_is_said_with_what_would_be_right() {
    let folder = repository("git-wrong");
    for (revisions, part) in [
        ("nobody..later", "`nobody` is not a commit of this repository"),
        ("", "name a revision, such as main, or two"),
        ("--output=x..later", "is not a commit of this repository"),
        ("main..-x", "is not a commit of this repository"),
        ("HEAD:policies..later", "is not a commit of this repository"),
    ] {
        let output = diff(&folder, &[&format!("--git={revisions}")]);
        assert_eq!(output.status.code(), Some(2), "{revisions}");
        let said = text(&output.stderr);
        assert!(said.contains(part), "{revisions}: {said}");
    }
    git(&folder, &["checkout", "-q", "--orphan", "alone"]);
    commit(&folder, &[]);
    let said = text(&diff(&folder, &["--git", "main...alone"]).stderr);
    assert!(said.contains("no commit in common; compare them directly, with two dots"), "{said}");

    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n";
    commit(&folder, &[("policies/big.yaml", pointer)]);
    let said = text(&diff(&folder, &["--git", "main..alone"]).stderr);
    assert!(said.contains("policies/big.yaml of alone is kept in Git LFS"), "{said}");

    let shallow = empty_folder("git-shallow");
    let source = format!("file://{}", folder.display());
    git(&shallow, &["clone", "-q", "--depth", "1", "-b", "later", &source, "."]);
    let said = text(&diff(&shallow, &["--git", "HEAD~1"]).stderr);
    assert!(said.contains("the clone is shallow"), "{said}");
}

#[test]
fn a_folder_that_is_no_repository_is_said_to_be_none() {
    let folder = tempfile::tempdir().unwrap();
    let said = text(&diff(folder.path(), &["--git", "main"]).stderr);
    assert!(said.contains("failed to find a git repository"), "{said}");
    assert!(said.contains("name two directories without --git"), "{said}");
}

#[test]
fn a_submodule_is_left_out_and_one_that_is_asked_about_is_an_error() {
    let folder = repository("git-submodule");
    let other = repository("git-submodule-other");
    let source = other.display().to_string();
    git(&folder, &["-c", "protocol.file.allow=always", "submodule", "add", "-q", &source, "sub"]);
    commit(&folder, &[]);
    let output = diff(&folder, &["--git", "main..later", "-o", "json"]);
    assert!(text(&output.stderr).contains("1 submodule is not read of later"));
    let said = text(&diff(&folder, &["--git", "main..later", "sub/policies"]).stderr);
    assert!(said.contains("is a submodule; run almanac diff in it"), "{said}");
}

#[test]
fn the_environment_of_a_hook_names_no_other_repository() {
    let (folder, other) = (repository("git-hook"), repository("git-hook-other"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_almanac"));
    command.current_dir(&folder).args(["diff", "--git", "main...later", "--from", MONDAY]);
    command.env("GIT_DIR", other.join(".git")).env("GIT_INDEX_FILE", "/nowhere");
    let output = command.env("GIT_WORK_TREE", &other).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    fs::remove_dir_all(&other).unwrap();
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_link_in_a_revision_leads_to_nothing_outside() {
    let folder = repository("git-link");
    let secret = empty_folder("git-link-secret");
    write(&secret, &[("secret.yaml", &shop().replace("shop", "secret"))]);
    #[cfg(unix)]
    std::os::unix::fs::symlink(secret.join("secret.yaml"), folder.join("link.yaml")).unwrap();
    commit(&folder, &[]);
    assert_eq!(told(&folder, &["--git", "HEAD~1..HEAD"]), Vec::<String>::new());
    let help = text(&almanac(&folder, &["diff", "--help"]).stdout);
    assert!(help.contains("--git <REVISIONS>"), "{help}");
}
