//! Two revisions of a real git repository, or one and the working tree.

use std::fs;
use std::path::{Path, PathBuf};

use crate::diff::running::{MONDAY, diff, empty_folder, shop};
use crate::running::{Ran, almanac, commit, git, list, write};

/// A separate repository for a test.
pub(crate) fn empty_repository(name: &str) -> PathBuf {
    let folder = empty_folder(name);
    git(&folder, &["init", "-q", "-b", "main"]);
    folder
}

fn changed() -> String {
    shop().replace("0 20", "0 22")
}

/// A repository with a shop on `main`. The branch `later` closes the shop later. Since the branch point, `main`
/// contains another file.
fn repository(name: &str) -> PathBuf {
    let folder = empty_repository(name);
    commit(&folder, &[("policies/shop.yaml", &shop()), ("README.md", "shop")]);
    git(&folder, &["checkout", "-q", "-b", "later"]);
    commit(&folder, &[("policies/shop.yaml", &changed())]);
    git(&folder, &["checkout", "-q", "main"]);
    let cart = shop().replace("shop", "cart");
    commit(&folder, &[("policies/cart.yaml", &cart)]);
    git(&folder, &["checkout", "-q", "later"]);
    folder
}

/// The differences, each as its name and its presence.
fn changes(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let report = diff(folder, &[arguments, &["-o", "json"]].concat()).json();
    let one = |it: &serde_json::Value| format!("{} {}", it["target"]["name"], it["presence"]);
    list(&report["differences"]).iter().map(|it| one(it).replace('"', "")).collect()
}

#[test]
fn two_dots_compare_two_revisions_and_three_compare_with_the_merge_base() {
    let folder = repository("git-dots");
    assert_eq!(changes(&folder, &["--git", "main..later"]), ["cart removed", "shop both"]);
    assert_eq!(changes(&folder, &["--git", "main...later"]), ["shop both"]);
    assert_eq!(changes(&folder, &["--git", "main..."]), ["shop both"], "the end defaults to HEAD");
    assert_eq!(changes(&folder, &["--git", "later..later"]), Vec::<String>::new());
    diff(&folder, &["--git", "main...later"])
        .assert_stdout(&["main → later: 1 of 1 value changes"]);
}

#[test]
fn one_revision_is_compared_with_the_working_tree_which_is_unchanged() {
    let folder = repository("git-tree");
    assert_eq!(changes(&folder, &["--git", "HEAD"]), Vec::<String>::new());
    write(&folder, &[("policies/shop.yaml", &shop()), ("policies/new.yaml", "a: 1")]);
    git(&folder, &["add", "policies/new.yaml"]);
    let status = git(&folder, &["status", "--porcelain"]);
    let index = fs::read(folder.join(".git/index")).unwrap();
    assert_eq!(changes(&folder, &["--git", "HEAD"]), ["shop both"]);
    assert_eq!(fs::read(folder.join(".git/index")).unwrap(), index);
    assert_eq!(git(&folder, &["status", "--porcelain"]), status);
}

#[test]
fn paths_are_relative_to_the_current_directory_and_printed_from_the_root() {
    let folder = repository("git-paths");
    let inside = folder.join("policies");
    assert_eq!(changes(&inside, &["--git", "main..later", "shop.yaml"]), ["shop both"]);
    assert_eq!(
        changes(&inside, &["--git", "main..later", "../policies/cart.yaml"]),
        ["cart removed"]
    );
    assert_eq!(changes(&folder, &["--git", "main..later", "."]).len(), 2);
    commit(&folder, &[("policies/shop.yaml", &shop().replace("0 8 * * *", "0 8"))]);
    let output = diff(&inside, &["--git", "main..later"]).ended(1);
    output.assert_stdout(&["--> policies/shop.yaml:7:"]);
    assert!(!output.stdout.contains("almanac-diff-"), "{}", output.stdout);
    for paths in [&["nowhere"][..], &["policies", "nowhere"]] {
        let nowhere = diff(&folder, &[&["--git", "main..later"], paths].concat()).ended(2);
        nowhere.assert_stderr(&["neither side has such a file or directory"]);
        assert!(!nowhere.stderr.contains("policies nowhere"), "{}", nowhere.stderr);
    }
    diff(&folder, &["--git", "main..later", "/etc"])
        .assert_stderr(&["not inside the git repository"]);
}

#[test]
fn names_with_special_characters_are_read_unchanged() {
    let folder = repository("git-names");
    let names = ["a b/-c.yaml", "--all.yaml", "new\nline.yaml", "ü*[x].yaml", "tab\t.yaml"];
    for (number, name) in names.iter().enumerate() {
        let own = shop().replace("shop", &format!("shop-{number}"));
        commit(&folder, &[(*name, &own)]);
    }
    assert_eq!(changes(&folder, &["--git", "HEAD~5..HEAD"]).len(), 5);
    assert_eq!(changes(&folder, &["--git", "HEAD~5..HEAD", "ü*[x].yaml"]), ["shop-3 added"]);
    assert_eq!(changes(&folder, &["--git", "HEAD~5..HEAD", "./--all.yaml"]), ["shop-1 added"]);
    git(&folder, &["branch", "a-b"]);
    assert_eq!(
        changes(&folder, &["--git", "main..a-b", "policies"]),
        ["cart removed", "shop both"]
    );
}

#[test]
fn an_invalid_revision_is_reported_with_a_fix() {
    let folder = repository("git-wrong");
    for (revisions, part) in [
        ("nobody..later", "`nobody` is not a commit of this repository"),
        ("", "name a revision, such as main, or two"),
        ("...later", "no revision before the dots; name a revision there"),
        ("..later", "no revision before the dots"),
        ("..", "no revision before the dots"),
        ("--output=x..later", "is not a commit of this repository"),
        ("main..-x", "is not a commit of this repository"),
        ("HEAD:policies..later", "is not a commit of this repository"),
    ] {
        diff(&folder, &[&format!("--git={revisions}")]).ended(2).assert_stderr(&[part]);
    }
    git(&folder, &["checkout", "-q", "--orphan", "alone"]);
    commit(&folder, &[]);
    diff(&folder, &["--git", "main...alone"])
        .assert_stderr(&["no commit in common; compare them directly, with two dots"]);

    let shallow = empty_folder("git-shallow");
    let source = format!("file://{}", folder.display());
    git(&shallow, &["clone", "-q", "--depth", "1", "-b", "later", &source, "."]);
    diff(&shallow, &["--git", "HEAD~1"]).assert_stderr(&["the clone is shallow"]);
}

#[test]
fn a_directory_that_is_not_a_repository_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    diff(folder.path(), &["--git", "main"])
        .assert_stderr(&["failed to find a git repository", "name two directories without --git"]);
}

#[test]
fn a_submodule_is_skipped_and_a_named_submodule_is_an_error() {
    let folder = repository("git-submodule");
    let other = repository("git-submodule-other");
    let source = other.display().to_string();
    git(&folder, &["-c", "protocol.file.allow=always", "submodule", "add", "-q", &source, "sub"]);
    commit(&folder, &[]);
    diff(&folder, &["--git", "main..later", "-o", "json"])
        .assert_stderr(&["1 submodule of later is not read"]);
    diff(&folder, &["--git", "main..later", "sub/policies"])
        .assert_stderr(&["is a submodule; run almanac diff in it"]);

    let gate = |arguments: &[&str]| {
        let usual = ["--git", "HEAD~1..HEAD", "--fail-on-change"];
        let output = diff(&folder, &[&usual[..], arguments].concat());
        (output.code, output.stdout)
    };
    git(&folder.join("sub"), &["checkout", "-q", "main"]);
    commit(&folder, &[]);
    let (code, output_text) = gate(&[]);
    assert_eq!(code, Some(1), "{output_text}");
    assert!(output_text.contains("Not compared, although it differs: the submodule sub."));
    assert_eq!(gate(&["policies"]).0, Some(0), "the submodule is outside the named path");
    assert_eq!(gate(&["--exclude", "sub"]).0, Some(0), "the submodule is excluded");
    diff(&folder, &["--git", "HEAD~1", "--fail-on-change"]).ended(1);
    commit(&folder, &[("README.md", "A shop.")]);
    assert_eq!(gate(&[]).0, Some(0), "the submodule is equal on both sides");
}

#[test]
fn the_environment_of_a_hook_names_no_other_repository() {
    let (folder, other) = (repository("git-hook"), repository("git-hook-other"));
    let mut command = almanac(&folder, &["diff", "--git", "main...later", "--from", MONDAY]);
    command.env("GIT_DIR", other.join(".git")).env("GIT_INDEX_FILE", "/nowhere");
    Ran::from_output(&command.env("GIT_WORK_TREE", &other).output().unwrap()).ended(0);
    fs::remove_dir_all(&other).unwrap();
    Ran::from_output(&command.output().unwrap()).ended(0);
}

#[cfg(unix)]
fn link(folder: &Path, target: impl AsRef<Path>, at: &str) {
    let at = folder.join(at);
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(target, at).unwrap();
}

#[cfg(unix)]
#[test]
fn links_are_followed_in_a_revision_as_in_the_working_tree() {
    let folder = repository("git-links");
    let absolute = folder.canonicalize().unwrap().join("base/absolute.yaml");
    write(
        &folder,
        &[
            ("base/linked.yaml", &shop().replace("shop", "linked")),
            ("base/absolute.yaml", &shop().replace("shop", "absolute")),
            ("v2/policies/folder.yaml", &shop().replace("shop", "folder")),
        ],
    );
    link(&folder, "../base/linked.yaml", "chosen/linked.yaml");
    link(&folder, absolute, "chosen/absolute.yaml");
    link(&folder, "nowhere.yaml", "chosen/broken.yaml");
    link(&folder, "round.yaml", "chosen/round.yaml");
    link(&folder, "v2", "now");
    commit(&folder, &[]);
    assert_eq!(changes(&folder, &["--git", "HEAD"]), Vec::<String>::new(), "a clean tree");
    let others = ["linked", "absolute", "folder"];
    let text_of = |name| shop().replace("shop", name).replace(": 10}", ": 100}");
    let [linked, absolute, in_folder] = others.map(text_of);
    write(
        &folder,
        &[
            ("base/linked.yaml", &linked),
            ("base/absolute.yaml", &absolute),
            ("v2/policies/folder.yaml", &in_folder),
        ],
    );
    let chosen = ["absolute both", "linked both"];
    assert_eq!(changes(&folder, &["--git", "HEAD", "chosen"]), chosen);
    assert_eq!(changes(&folder, &["--git", "HEAD", "now"]), ["folder both"]);
    assert_eq!(changes(&folder, &["--git", "HEAD", "chosen/linked.yaml"]), ["linked both"]);
    commit(&folder, &[]);
    assert_eq!(changes(&folder, &["--git", "HEAD~1..HEAD", "chosen"]), chosen);
    assert_eq!(changes(&folder, &["--git", "HEAD~1..HEAD", "now/policies"]), ["folder both"]);
    assert_eq!(changes(&folder, &["--git", "HEAD~1..HEAD"]).len(), 3, "each file is read once");
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_repository_is_an_error_on_either_side_unless_excluded() {
    let folder = repository("git-link-out");
    let secret = empty_folder("git-link-secret");
    write(&secret, &[("secret.yaml", &shop().replace("shop", "secret"))]);
    link(&folder, secret.join("secret.yaml"), "policies/out.yaml");
    link(&folder, &secret, "outside");
    link(&folder, &secret, "docs/a-folder.yaml");
    for (arguments, link) in [
        (&["--git", "HEAD"][..], "docs/a-folder.yaml"),
        (&["--git", "HEAD", "policies/out.yaml"], "policies/out.yaml"),
    ] {
        let part = format!("{link} of the working tree is a symbolic link to ");
        diff(&folder, arguments).ended(2).assert_stderr(&[&part, "outside the repository"]);
    }
    commit(&folder, &[]);
    diff(&folder, &["--git", "HEAD~1..HEAD", "policies"])
        .ended(2)
        .assert_stderr(&["policies/out.yaml of HEAD is a symbolic link to /"]);
    diff(&folder, &["--git", "HEAD", "outside"])
        .assert_stderr(&["outside of HEAD is a symbolic link"]);
    let without = ["--exclude", "out.yaml", "--exclude", "a-folder.yaml"];
    let left = changes(&folder, &[&["--git", "HEAD~1..HEAD"][..], &without].concat());
    assert_eq!(left, Vec::<String>::new(), "a directory behind a link is not searched");
}

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n";

#[test]
fn a_pointer_of_lfs_matters_only_where_it_would_be_read() {
    let folder = repository("git-lfs");
    commit(&folder, &[("data/big.json", POINTER), (".hidden/big.json", POINTER)]);
    for revisions in ["HEAD~1..HEAD", "HEAD"] {
        diff(&folder, &["--git", revisions]).ended(2).assert_stderr(&[
            "data/big.json of HEAD is only a pointer to a file in Git LFS",
            "exclude it with --exclude",
        ]);
        let nothing = Vec::<String>::new();
        assert_eq!(changes(&folder, &["--git", revisions, "--exclude", "data"]), nothing);
        assert_eq!(changes(&folder, &["--git", revisions, "policies"]), nothing);
        commit(&folder, &[(".almanacignore", "data/\n")]);
        commit(&folder, &[]);
        assert_eq!(changes(&folder, &["--git", revisions]), nothing);
        git(&folder, &["reset", "-q", "--hard", "HEAD~2"]);
    }
    write(&folder, &[("policies/new.yaml", POINTER)]);
    diff(&folder, &["--git", "HEAD", "policies"]).assert_stderr(&[
        "policies/new.yaml of the working tree is only a pointer to a file in Git LFS",
        "git lfs pull",
    ]);
}

#[cfg(unix)]
#[test]
fn no_name_of_a_file_begins_a_line_of_a_message() {
    let folder = repository("git-lines");
    commit(&folder, &[("a\n::notice::passed.json", POINTER)]);
    let pointer = diff(&folder, &["--git", "HEAD~1..HEAD"]).ended(2).stderr;
    link(&folder, "/a\n::notice::passed", "b\n::notice::passed.yaml");
    git(&folder, &["rm", "-q", "--cached", "-r", "."]);
    git(&folder, &["add", "policies", "b\n::notice::passed.yaml"]);
    git(&folder, &["commit", "-q", "-m", "link"]);
    let linked = diff(&folder, &["--git", "HEAD~2..HEAD"]).ended(2).stderr;
    for output_text in [pointer, linked] {
        assert!(output_text.contains("::notice::passed"), "{output_text}");
        assert!(
            !output_text.lines().any(|line| line.trim_start().starts_with("::")),
            "{output_text}"
        );
    }
}

#[test]
fn a_temporary_directory_in_the_repository_is_not_part_of_it() {
    let folder = repository("git-temporary");
    let temporary = folder.join("tmp");
    fs::create_dir(&temporary).unwrap();
    let run = |revisions: &str| {
        let mut command = almanac(&folder, &["diff", "--from", MONDAY, "--git", revisions]);
        Ran::from_output(&command.env("TMPDIR", &temporary).output().unwrap())
    };
    for ignored in ["", "tmp/\n*.yaml\n"] {
        write(&folder, &[(".gitignore", ignored)]);
        run("HEAD").assert_stdout(&["Nothing changes: 1 value compared"]);
        run("main...later").assert_stdout(&["1 of 1 value changes"]);
    }
    write(&folder, &[(".almanacignore", "tmp/\n")]);
    run("HEAD").ended(2).assert_stderr(&["set TMPDIR to a directory outside of"]);
}

#[test]
fn tracked_files_are_read_even_if_gitignore_matches_them() {
    let folder = repository("git-ignored");
    commit(&folder, &[(".gitignore", "policies/\n")]);
    write(&folder, &[("policies/shop.yaml", &shop()), ("policies/own.yaml", &shop())]);
    assert_eq!(changes(&folder, &["--git", "HEAD"]), ["shop both"]);
    git(&folder, &["commit", "-q", "-a", "-m", "tracked"]);
    assert_eq!(changes(&folder, &["--git", "HEAD~1..HEAD"]), ["shop both"]);
    assert_eq!(changes(&folder, &["--git", "HEAD"]), Vec::<String>::new());
}

#[test]
fn a_file_outside_a_sparse_checkout_is_not_a_change() {
    let folder = repository("git-sparse");
    commit(&folder, &[("other/cart.yaml", &shop().replace("shop", "cart"))]);
    git(&folder, &["sparse-checkout", "set", "policies"]);
    assert!(!folder.join("other").exists());
    assert_eq!(changes(&folder, &["--git", "HEAD"]), Vec::<String>::new());
    assert_eq!(changes(&folder, &["--git", "HEAD~1"]), ["cart added"]);
}

#[test]
fn all_named_places_exist_even_if_only_one_is_selected() {
    let folder = repository("git-places");
    let settings = "[[place]]\nname = \"prod\"\ndirectories = [\"clusters/prod\"]\n\n\
                    [[place]]\nname = \"test\"\ndirectories = [\"clusters/test\"]\n";
    let files = |text: &str| {
        commit(
            &folder,
            &[
                ("almanac.toml", settings),
                ("clusters/prod/a.yaml", text),
                ("clusters/test/a.yaml", text),
            ],
        );
    };
    files(&shop());
    files(&changed());
    assert_eq!(changes(&folder, &["--git", "HEAD~1..HEAD", "clusters/prod"]), ["shop both"]);
}
