//! The command line as users type it: the accepted arguments, and the errors for others.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::running::{self, Ran, empty_directory};

const SHOP: &str = "examples/cron-scaling/two-mornings.yaml";

/// Runs the program in the root of the repository, in a UTF-8 locale.
fn almanac(arguments: &[&str]) -> Ran {
    ran(&mut command(arguments))
}

fn command(arguments: &[&str]) -> Command {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut command = running::almanac(root, arguments);
    command.env("COLUMNS", "100").env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR");
    command
}

fn ran(command: &mut Command) -> Ran {
    Ran::from_output(&command.output().unwrap())
}

/// The standard error of a command that cannot run.
#[track_caller]
fn refused(arguments: &[&str]) -> String {
    almanac(arguments).ended(2).stderr
}

#[test]
fn a_value_may_start_with_a_hyphen() {
    for arguments in [
        &["forecast", "-f", SHOP, "--from", "-1h"][..],
        &["forecast", "-f", SHOP, "--from", "-2d", "--to", "-1d"],
        &["next", "-f", SHOP, "--from", "-1h"],
        &["explain", "-f", SHOP, "checkout", "--at", "-1h"],
        &["validate", "-f", SHOP, "--from", "-1h"],
        &["when", "--daily", "22:00-06:00", "--from", "-1h"],
    ] {
        let stderr = almanac(arguments).stderr;
        assert!(stderr.is_empty(), "{arguments:?}: {stderr}");
    }
    let zone = refused(&["forecast", "-f", SHOP, "--zone", "-05:00"]);
    assert!(zone.contains("an offset is not a time zone"), "{zone}");
    let period = refused(&["next", "-f", SHOP, "--for", "-1d"]);
    assert!(period.contains("write --from -1d --for 1d"), "{period}");
    let cron = refused(&["when", "--cron", "-5 9 * * *"]);
    assert!(cron.contains("a range has two ends"), "{cron}");
}

#[test]
fn simulated_nodes_without_groups_of_nodes_are_an_error() {
    let groups_left_out = ["--controllers=metrics-producer", "--kubeconfig=/dev/null"];
    let refused = refused(&[&["controller", "--simulated-nodes"][..], &groups_left_out].concat());
    assert!(refused.contains("needs scalable-node-group among --controllers"), "{refused}");
}

#[test]
fn invalid_namespaces_and_incomplete_namespace_lists_are_rejected() {
    for (given, why) in [
        (&["--namespaces="][..], "a namespace has at most 63 lower-case letters"),
        (&["--namespaces=shop,,pier"], "a namespace has at most 63 lower-case letters"),
        (&["--namespaces=shop, pier"], "a namespace has at most 63 lower-case letters"),
        (&["--namespaces=Shop_1"], "a namespace has at most 63 lower-case letters"),
        (
            &["--namespaces=shop", "--namespaces=kube-system"],
            "nothing is reconciled in kube-system",
        ),
        (&["--namespaces=shop", "--controllers=placement"], "remove placement from --controllers"),
        (
            &["--namespaces=shop", "--allow-cluster-scoped-targets"],
            "cluster-scoped targets have no namespace",
        ),
        (&["--namespaces=shop", "--simulated-nodes"], "nodes have no namespace"),
    ] {
        let refused = refused(&[&["controller", "--kubeconfig=/dev/null"][..], given].concat());
        assert!(refused.contains(why), "{given:?}: {refused}");
    }
    let refused = refused(&["webhook", "--kubeconfig=/dev/null", "--namespaces="]);
    assert!(refused.contains("a namespace has at most 63"), "{refused}");
}

#[test]
fn a_duplicate_assumption_is_reported() {
    let both = ["--assume", "checkout.minReplicas=3", "--assume", "fhpa/checkout.minReplicas=4"];
    let refused = refused(&[&["forecast", "-f", SHOP][..], &both].concat());
    assert!(refused.contains("is already assumed to be 3"), "{refused}");
}

#[test]
fn text_output_shows_instants_to_the_second() {
    let at = "2026-11-23T00:00:00.123456789Z";
    for arguments in [
        &["forecast", "-f", SHOP, "--from", at][..],
        &["explain", "-f", SHOP, "checkout", "--at", at],
        &["next", "-f", SHOP, "--from", at],
        &["forecast", "-f", SHOP],
    ] {
        let printed = almanac(arguments).stdout;
        assert!(!printed.is_empty() && !printed.contains(".1234"), "{printed}");
        let has_fraction = |word: &str| word.ends_with('Z') && word.contains('.');
        assert!(!printed.split_whitespace().any(has_fraction), "{printed}");
    }
}

#[test]
fn a_kind_and_a_name_are_two_words_or_one() {
    let at = ["--at", "2026-11-23"];
    let from = ["--from", "2026-11-23", "--for", "2d"];
    for (command, rest) in [("explain", &at[..]), ("forecast", &from), ("next", &from)] {
        let printed = |words: &[&str]| {
            almanac(&[&[command, "-f", SHOP], words, rest].concat()).ended(0).stdout
        };
        assert_eq!(printed(&["fhpa", "checkout"]), printed(&["FederatedHPA/checkout"]));
    }
    let two = refused(&["explain", "-f", SHOP, "fhpa/checkout", "fhpa/checkout"]);
    assert!(two.contains("one object is explained at a time"), "{two}");
}

#[test]
fn a_name_without_a_match_suggests_the_likely_one() {
    let meant = "did you mean FederatedHPA/default/checkout?";
    for mistyped in ["chekout", "fhpa/chekout", "FedratedHPA/checkout", "fhpa/prod/checkout"] {
        for command in ["explain", "forecast", "next"] {
            let refused = refused(&[command, "-f", SHOP, mistyped]);
            assert!(refused.contains(meant), "{refused}");
        }
    }
    let refused = refused(&["next", "-f", SHOP, "something-else"]);
    assert!(!refused.contains("did you mean"), "{refused}");
}

/// The arguments of each command that draws.
const DRAWN: [&[&str]; 4] = [
    &["forecast", "-f", SHOP, "--from", "2026-11-23", "--for", "2d"],
    &["explain", "-f", SHOP, "checkout", "--at", "2026-11-23"],
    &["next", "-f", SHOP, "--from", "2026-11-23"],
    &["forecast", "-f", SHOP, "a-name-that-is-longer-than-forty-letters-are-wide"],
];

#[test]
fn drawings_are_ascii_in_an_ascii_locale() {
    for arguments in DRAWN {
        let usual = almanac(arguments).all();
        for locale in ["C", "POSIX", "de_DE.ISO-8859-1"] {
            let plain = ran(command(arguments).env("LC_ALL", locale)).all();
            assert!(plain.is_ascii(), "{locale}: {plain}");
            assert_eq!(plain.lines().count(), usual.lines().count(), "{plain}");
        }
    }
    almanac(DRAWN[0]).assert_stdout(&["━"]);
}

#[test]
fn machine_readable_output_is_the_same_in_every_locale() {
    for output in ["json", "svg", "html"] {
        let arguments = [DRAWN[0], &["-o", output]].concat();
        let plain = ran(command(&arguments).env("LC_ALL", "C")).stdout;
        // A page contains its creation time.
        let report = |output_text: &str| {
            let lines = output_text.lines().filter(|line| !line.contains("id=\"about\""));
            lines.collect::<Vec<_>>().join("\n")
        };
        assert_eq!(report(&plain), report(&almanac(&arguments).stdout), "{output}");
    }
}

#[test]
fn colors_follow_the_color_option() {
    let has_colors = |arguments: &[&str], no_color: Option<&str>| {
        let mut command = command(arguments);
        if let Some(value) = no_color {
            command.env("NO_COLOR", value);
        }
        ran(&mut command).all().contains('\u{1b}')
    };
    for arguments in [DRAWN[0], DRAWN[3], &["next", "--help"], &["next", "--no-such-flag"]] {
        let command_line = |when| [arguments, &["--color", when]].concat();
        assert!(has_colors(&command_line("always"), None), "{arguments:?}");
        assert!(has_colors(&command_line("always"), Some("1")), "{arguments:?}");
        assert!(!has_colors(&command_line("never"), None), "{arguments:?}");
        // A pipe is not a terminal.
        assert!(!has_colors(&command_line("auto"), None), "{arguments:?}");
        assert!(!has_colors(arguments, None), "{arguments:?}");
    }
}

#[test]
fn the_version_names_its_time_zone_data() {
    let version = almanac(&["--version"]).stdout;
    let (program, tzdata) = version.trim().split_once(" (tzdata 2").unwrap();
    assert_eq!(program, format!("almanac {}", env!("CARGO_PKG_VERSION")));
    assert!(tzdata.ends_with(')'), "{version}");
}

#[test]
fn the_version_is_a_command_as_well() {
    let report = almanac(&["version"]).stdout;
    assert!(report.starts_with(&almanac(&["--version"]).stdout), "{report}");
    let versions =
        "Kubernetes 1.35, 1.36, 1.37; untested: 1.33 and newer, the agent 1.30 and newer\n";
    assert!(report.ends_with(versions), "{report}");
    let report = almanac(&["version", "-o", "json"]).json();
    let kubernetes = json!({
        "tested": ["1.35", "1.36", "1.37"], "oldest": "1.33", "oldestOfAgent": "1.30",
    });
    assert_eq!(report["kubernetes"], kubernetes);
    assert_eq!(report["schema"], "almanac/version/v1");
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    assert!(report["tzdata"].as_str().unwrap().starts_with('2'), "{report}");
}

#[test]
fn a_flag_of_another_tool_suggests_the_matching_flag() {
    let until = refused(&["next", "-f", SHOP, "--until", "2026-12-01"]);
    assert!(until.contains("tip: write --to 2026-12-01\n"), "{until}");
    let format = refused(&["next", "-f", SHOP, "-o", "sarif"]);
    assert!(format.contains("-o sarif is a format of lint, validate"), "{format}");
}

/// A directory to prepend to the path, with the program under this name.
fn folder_with_program(called: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("command-line").join(called);
    fs::create_dir_all(&folder).unwrap();
    let link = folder.join(called);
    let _ = fs::remove_file(&link);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_almanac"), link).unwrap();
    folder
}

#[test]
fn the_kubectl_plugin_has_the_name_of_the_plugin_in_its_help() {
    let plugin = folder_with_program("kubectl-almanac").join("kubectl-almanac");
    ran(Command::new(plugin).args(["when", "--help"]))
        .assert_stdout(&["Usage: kubectl almanac when ", "\n  kubectl almanac when --daily"]);
}

#[test]
fn every_command_has_examples_and_exit_codes_in_its_help_and_its_page() {
    let folder = empty_directory("command-line", "man");
    almanac(&["man", "--out", folder.to_str().unwrap()]);
    let help = almanac(&["--help"]).stdout;
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let commands = commands.lines().take_while(|line| !line.is_empty());
    let names =
        commands.filter_map(|line| line.split_whitespace().next()).filter(|it| *it != "help");
    let mut pages = 1;
    assert!(folder.join("almanac.1").exists());
    for name in names {
        let page = fs::read_to_string(folder.join(format!("almanac-{name}.1"))).unwrap();
        assert_eq!(page, almanac(&["man", name]).stdout);
        assert!(page.contains(&format!("\nalmanac\\-{name} \\- ")), "{page}");
        assert!(page.contains(".SH EXAMPLES\n.nf\n"), "{page}");
        assert!(page.contains(".SH \"EXIT STATUS\"\n.nf\n"), "{page}");
        almanac(&[name, "--help"]).assert_stdout(&["\nExamples:\n", "\nExit codes:\n"]);
        pages += 1;
    }
    assert!(pages > 8, "{help}");
    assert_eq!(fs::read_dir(folder).unwrap().count(), pages);
    let refused = refused(&["man", "forecats"]);
    assert!(refused.contains("the commands are forecast, explain,"), "{refused}");
}

#[test]
fn the_pre_commit_hook_finds_exactly_the_errors_of_a_repository() {
    let hook = include_str!("../../../../.pre-commit-hooks.yaml");
    let value = |key: &str| {
        let line = hook.lines().find_map(|line| line.trim_start().strip_prefix(key));
        line.unwrap().trim().trim_matches(['[', ']']).replace(',', "")
    };
    let line = format!("{} {}", value("entry:"), value("args:"));
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[0], "almanac");
    assert_eq!(value("pass_filenames:"), "false");

    let folder = empty_directory("command-line", "repository");
    fs::create_dir(folder.join("prod")).unwrap();
    let policy = fs::read_to_string(Path::new("../..").join(SHOP)).unwrap();
    fs::write(folder.join("prod/policy.yaml"), &policy).unwrap();
    // Neither the values of a chart nor the settings of pre-commit are policies.
    fs::write(folder.join("values.yaml"), "replicas: 3\n").unwrap();
    fs::write(folder.join(".pre-commit-config.yaml"), "repos: []\n").unwrap();
    let run = || ran(command(&words[1..]).current_dir(&folder));
    run().ended(0);
    let wrong = policy.replacen("Asia/Shanghai", "Asia/Shanghia", 1);
    fs::write(folder.join("prod/policy.yaml"), wrong).unwrap();
    run().ended(1).assert_stdout(&["prod/policy.yaml:"]);
}
