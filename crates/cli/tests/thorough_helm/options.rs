//! The options and variables that `diff` sets for Helm must exist in Helm.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::running::{Ran, commit, empty_directory, write};
use crate::{HELM, diff_with, repository};

/// The options that `diff` passes on for `--helm` and for `[diff]`.
const OPTIONS: [&str; 1] = ["--values"];

fn helm(arguments: &[&str]) -> Ran {
    Ran::from_output(&Command::new(HELM.join("helm")).args(arguments).output().unwrap()).ended(0)
}

#[test]
fn helm_has_each_option_and_each_variable_that_diff_sets() {
    let bin = empty_directory("helm", "options-bin");
    // Records the arguments and variables, then executes Helm.
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" >>\"$0.arguments\"\nenv >\"$0.variables\"\nexec '{}' \"$@\"\n",
        HELM.join("helm").display()
    );
    write(&bin, &[("helm", &script)]);
    fs::set_permissions(bin.join("helm"), fs::Permissions::from_mode(0o755)).unwrap();
    let settings = "[diff]\nhelm = [\"charts/shop=values-prod.yaml\"]\n";
    let folder = repository("options", &[("almanac.toml", settings)]);
    commit(&folder, &[]);
    let by_flag = ["--helm", "charts/shop=values.yaml,values-prod.yaml"];
    for further in [&by_flag[..], &[]] {
        let arguments = [&["--git", "HEAD~1..HEAD"][..], further].concat();
        let text = diff_with(&bin, &folder, &arguments).ended(0).stdout;
        assert!(text.contains("Rendered on both sides: helm template "), "{text}");
    }
    let recorded = |what: &str| fs::read_to_string(bin.join(format!("helm.{what}"))).unwrap();
    let arguments = recorded("arguments");
    assert_eq!(arguments.lines().next(), Some("template"));
    let options: BTreeSet<&str> = arguments.lines().filter(|it| it.starts_with('-')).collect();
    assert_eq!(options, BTreeSet::from(OPTIONS), "add what is new to the list");
    let help = helm(&["template", "--help"]).stdout;
    for option in OPTIONS {
        assert!(help.split_whitespace().any(|word| word == option), "{option}: {help}");
    }
    let known = helm(&["env"]).stdout;
    let variables = recorded("variables");
    let variables = variables.lines().filter_map(|it| it.split_once('='));
    let ours: Vec<&str> =
        variables.map(|(name, _)| name).filter(|name| name.starts_with("HELM_")).collect();
    assert!(!ours.is_empty());
    for name in ours {
        assert!(known.contains(&format!("{name}=")), "{name}: {known}");
    }
}
