//! Words without a flag: how paths, names and schedules are distinguished.

use crate::repositories::repository::{PRESENT, Repository, policy};

/// Two shops, and a directory with the name of one shop.
fn shops(name: &str) -> Repository {
    Repository::new(name)
        .file("policies/hours.yaml", policy("shop-hours", "shop", 3))
        .file("policies/night.yaml", policy("cart-hours", "cart", 5))
        .file("shop/notes.yaml", policy("other", "other", 7))
        .file("deployment/shop/hours.yaml", policy("elsewhere", "elsewhere", 9))
}

/// The output of a command that succeeds.
#[track_caller]
fn printed(repository: &Repository, arguments: &[&str]) -> String {
    let ran = repository.run(arguments);
    assert_eq!(ran.code, Some(0), "{arguments:?}: {}{}", ran.stdout, ran.stderr);
    ran.stdout
}

const COMMANDS: [&[&str]; 4] = [
    &["forecast", "--from", PRESENT, "--for", "1d"],
    &["next", "--from", PRESENT, "--for", "1d"],
    &["explain", "--at", PRESENT],
    &["when", "--from", PRESENT],
];

#[test]
fn files_need_no_flag() {
    let repository = shops("words-files");
    for command in COMMANDS {
        let with_flag = [command, &["-f", "policies", "shop-hours"]].concat();
        let expected = printed(&repository, &with_flag);
        for words in [
            &["policies", "shop-hours"][..],
            &["shop-hours", "policies/"],
            &["./policies", "shop-hours"],
        ] {
            assert_eq!(printed(&repository, &[command, words].concat()), expected, "{words:?}");
        }
        let both = printed(
            &repository,
            &[command, &["policies/hours.yaml", "policies/night.yaml"]].concat(),
        );
        assert!(both.contains("shop") && both.contains("cart"), "{command:?}: {both}");
    }
    let missing = repository.run(&["forecast", "absent.yaml"]);
    missing.assert_output(2, &["failed to read \"absent.yaml\""]);
}

#[test]
fn a_word_with_or_after_a_kind_or_with_files_of_a_flag_is_a_name() {
    let repository = shops("words-names");
    for command in COMMANDS {
        let by_flag = printed(&repository, &[command, &["-f", "policies", "shop"]].concat());
        assert!(by_flag.contains("shop-hours") && !by_flag.contains("default/other"), "{by_flag}");
        for words in [&["policies", "deployment", "shop"][..], &["policies", "deployment/shop"]] {
            assert_eq!(printed(&repository, &[command, words].concat()), by_flag, "{words:?}");
        }
    }
}

#[test]
fn explain_without_a_name_explains_everything_in_the_files() {
    let repository = shops("words-everything");
    let output = repository.run(&["explain", "policies", "--at", PRESENT, "-o", "json"]).json();
    let answers = output["answers"].as_array().unwrap();
    let names: Vec<&str> =
        answers.iter().map(|it| it["policy"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["cart-hours", "shop-hours"]);
    repository.run(&["explain", "--at", PRESENT]).assert_output(2, &["name an object by NAME"]);
    let three = repository.run(&["explain", "policies", "deployment", "shop", "cart"]);
    three.assert_output(2, &["one object is explained at a time"]);
}

#[test]
fn a_cron_expression_needs_no_flag() {
    let repository = shops("words-cron");
    for expression in ["0 8 * * *", "@daily", "*/15 9-17 * * mon-fri"] {
        for further in
            [&["--count", "3"][..], &["--zone", "Asia/Tokyo", "--for", "2d", "-o", "json"]]
        {
            let usual = ["when", "--from", PRESENT];
            let with_flag = [&usual[..], &["--cron", expression], further].concat();
            let without = [&usual[..], &[expression], further].concat();
            assert_eq!(printed(&repository, &without), printed(&repository, &with_flag));
        }
    }
    let wrong = repository.run(&["when", "0 22-2 * * *"]);
    wrong.assert_output(2, &["SCHEDULE: the range 22-2 runs backwards", "|   ^^^^"]);
}

#[test]
fn a_schedule_together_with_objects_is_an_error_with_the_words_to_remove() {
    let repository = shops("words-both");
    for (arguments, message) in [
        (&["0 8 * * *", "shop"][..], "one schedule is explained at a time"),
        (&["0 8 * * *", "@daily"], "one schedule is explained at a time"),
        (&["0 8 * * *", "--daily", "09:00-17:00"], "another schedule is typed with a flag"),
        (&["0 8 * * *", "-f", "policies"], "a typed schedule needs no files and no cluster"),
        (&["policies", "--cron", "@daily"], "use only one of them"),
        (&["policies", "--zone", "Asia/Tokyo"], "set ALMANAC_ZONE"),
        (&["0", "8", "*", "*", "*"], "write '0 8 * * *', in quotes"),
        (&["0", "8", "policies", "shop"], "put it into quotes"),
    ] {
        repository.run(&[&["when"], arguments].concat()).assert_output(2, &[message]);
    }
}

#[test]
fn a_directory_whose_name_begins_like_a_schedule_is_read() {
    let repository =
        Repository::new("words-at").file("@night/hours.yaml", policy("hours", "shop", 3));
    let ran = repository.run(&["when", "@night", "--from", PRESENT]);
    ran.assert_output(0, &["default/hours open\nFires at 08:00 every day"]);
    repository.run(&["when", "@noon"]).assert_output(2, &["SCHEDULE: "]);
    // Standard input may be named twice.
    repository.run(&["when", "-", "-"]).assert_output(0, &["no schedules found"]);
}

#[test]
fn a_flag_that_does_not_apply_to_a_typed_schedule_is_rejected() {
    let repository = shops("words-typed");
    for flag in [
        &["-f", "policies"][..],
        &["-k", "policies"],
        &["-n", "shop"],
        &["-l", "team=blue"],
        &["-A"],
        &["--exclude", "tests"],
        &["--place", "east"],
        &["--context", "east"],
        &["--kubeconfig", "config"],
        &["--what-if", "policies"],
        &["--cron-job-zone", "Asia/Tokyo"],
        &["--fail-on", "never"],
    ] {
        let word = repository.run(&[&["when", "0 8 * * *"], flag].concat());
        word.assert_output(2, &["a typed schedule needs no files and no cluster; remove", flag[0]]);
        for typed in [["--cron", "@daily"], ["--daily", "09:00-17:00"]] {
            let ran = repository.run(&[&["when"], &typed[..], flag].concat());
            ran.assert_output(2, &["cannot be used with"]);
        }
    }
}

#[test]
fn a_period_ends_at_the_stated_instant() {
    let repository = shops("words-to");
    let (until, length) = (["--to", "2026-11-22T12:00:00Z"], ["--for", "48h"]);
    for command in [
        &["next", "-f", "policies", "--from", PRESENT][..],
        &["when", "-f", "policies", "--from", PRESENT],
        &["when", "@hourly", "--from", PRESENT],
    ] {
        let output = |end: [&str; 2]| printed(&repository, &[command, &end].concat());
        assert_eq!(output(until), output(length), "{command:?}");
        assert_ne!(output(until), printed(&repository, command));
        let both = repository.run(&[command, &until, &length].concat());
        both.assert_output(2, &["cannot be used with"]);
        let before = repository.run(&[command, &["--to", "2026-11-19"]].concat());
        before.assert_output(2, &["--to: the period ends before it starts"]);
    }
}

#[test]
fn watching_requires_a_cluster_and_a_format_with_successive_outputs() {
    let repository = shops("words-watch");
    for command in ["next", "forecast"] {
        let flag = repository.run(&[command, "-f", "policies", "--watch"]);
        let word = repository.run(&[command, "policies", "--watch"]);
        let format = repository.run(&[command, "--watch", "-o", "ics"]);
        for (ran, message) in [
            (flag, "cannot be used with"),
            (word, "--watch: watches a cluster, but files are named"),
            (format, "--watch: prints text, json or yaml"),
        ] {
            ran.assert_output(2, &[message]);
        }
    }
}
