//! What `lint` has in common with `validate`, and what it does otherwise.

use crate::repositories::repository::{PRESENT, Repository, findings, policy};

#[test]
fn lint_finds_all_that_validate_finds() {
    let wrong = policy("wrong", "wrong", 3).replace("0 8 * * *", "0 8 * *");
    let meets = policy("meets", "meets", 3).replace("0 20 * * *", "0 8 * * *");
    let repository = Repository::new("lint-validates")
        .file("wrong.yaml", wrong)
        .file("meets.yaml", meets)
        .file("good.yaml", policy("good", "good", 3));
    let (validated, linted) = (repository.ask("validate", &[]), repository.ask("lint", &[]));
    assert_eq!(linted["schema"], "almanac/lint/v1");
    let (validated, linted) = (findings(&validated), findings(&linted));
    assert_eq!(validated.len(), 2, "{validated:?}");
    assert!(validated.iter().all(|it| linted.contains(it)), "{validated:?} {linted:?}");
}

#[test]
fn a_warning_makes_lint_fail_unless_it_is_told_otherwise() {
    let meets = policy("meets", "meets", 3).replace("0 20 * * *", "0 8 * * *");
    let repository = Repository::new("lint-fails").file("meets.yaml", meets);
    let lint = |arguments: &[&str]| {
        repository.run(&[&["lint", "meets.yaml", "--from", PRESENT], arguments].concat())
    };
    lint(&[]).assert_says(1, &["warning[same-minute]"]);
    lint(&["--fail-on", "error"]).assert_says(0, &["warning[same-minute]"]);
    lint(&["--fail-on", "never"]).assert_says(0, &["warning[same-minute]"]);
    lint(&["-l", "team=blue"]).assert_says(0, &["nothing to check"]);
    lint(&["nowhere.yaml"]).assert_says(2, &["nowhere.yaml"]);
}
