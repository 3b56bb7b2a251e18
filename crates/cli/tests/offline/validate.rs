//! `almanac validate` as people and scripts see it, compared with golden files.
//!
//! Run with `ALMANAC_UPDATE=1` to regenerate the expected output.

#![allow(clippy::expect_used, reason = "what fails here fails the test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PRESENT: &str = "2026-01-05T00:00:00Z";

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/offline")
}

fn almanac(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_almanac"));
    command.current_dir(here()).env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    // So that each message is one line.
    command.env("COLUMNS", "1000").args(arguments).output().expect("the binary was built")
}

#[track_caller]
fn assert_written_down(name: &str, output: &Output) {
    let found = String::from_utf8(output.stdout.clone()).expect("text");
    let path = here().join(name);
    if std::env::var_os("ALMANAC_UPDATE").is_some() {
        std::fs::write(&path, &found).expect("it can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{name} differs; ALMANAC_UPDATE=1 writes it anew");
}

/// Each file is named explicitly, and so checked in full.
fn validate_mistakes(how: &[&str]) -> Output {
    let named = ["validate", "mistakes/*.yaml", "mistakes/*.json", "--from", PRESENT];
    almanac(&[&named[..], how].concat())
}

#[test]
fn one_of_each_mistake_is_reported_as_text() {
    let output = validate_mistakes(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert_written_down("mistakes.txt", &output);
}

#[test]
fn one_of_each_mistake_is_reported_as_json() {
    let output = validate_mistakes(&["-o", "json"]);
    assert_eq!(output.status.code(), Some(1));
    assert_written_down("mistakes.json", &output);
}

#[test]
fn the_examples_are_valid() {
    let output = almanac(&["validate", "-f", "../../../../examples"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("no problems found\n"), "{text}");
}

#[test]
fn a_missing_path_exits_with_2_and_says_so() {
    let output = almanac(&["validate", "-f", "no-such-folder"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: failed to read \"no-such-folder\": no such file or directory\n"
    );
}

#[test]
fn files_folders_patterns_and_standard_input_are_read_each_once() {
    let output = almanac(&[
        "validate",
        "-f",
        "mistakes/zone.yaml",
        "-f",
        "mistakes/z*.yaml",
        "-f",
        "mistakes/../mistakes/zone.yaml",
    ]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.ends_with("checked 1 object in 1 file: 1 error in 1 file\n"), "{text}");
    let output = almanac(&["validate", "-f", "-"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "checked 0 objects in 1 file: nothing to check\n"
    );
}

#[test]
fn input_that_panics_the_yaml_parser_is_a_finding_and_prints_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tagged.yaml");
    std::fs::write(&file, "a: 1\nb: [!,c]\n").expect("it is ours");
    let output = almanac(&["validate", "-f", &file.display().to_string()]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("a ',' can't directly follow a tag"), "{text}");
    assert!(text.contains(":2:5"), "{text}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_crds_are_printed_as_one_stream() {
    let output = almanac(&["crds"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(text.matches("kind: CustomResourceDefinition\n").count(), 5);
    assert_eq!(text.matches("---\n").count(), 5);
}

#[test]
fn the_crds_of_a_hub_and_of_units_are_printed_only_if_asked_for() {
    let printed = |controllers: &str| {
        let output = almanac(&["crds", "--controllers", controllers]);
        assert_eq!(output.status.code(), Some(0));
        let text = String::from_utf8(output.stdout).expect("text");
        let names = text.lines().filter_map(|line| line.strip_prefix("  name: "));
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        printed("placement"),
        [
            "placements.cluster.open-cluster-management.io",
            "placementdecisions.cluster.open-cluster-management.io",
            "addonplacementscores.cluster.open-cluster-management.io",
            "managedclusters.cluster.open-cluster-management.io",
            "managedclustersets.cluster.open-cluster-management.io",
            "managedclustersetbindings.cluster.open-cluster-management.io",
        ]
    );
    assert_eq!(printed("units"), ["resourcepolicies.scheduling.sigs.x-k8s.io"]);
    assert_eq!(
        printed("cron-federated-hpa,scalable-node-group"),
        [
            "scalablenodegroups.autoscaling.karpenter.sh",
            "cronfederatedhpas.autoscaling.karmada.io",
            "federatedhpas.autoscaling.karmada.io",
        ]
    );
}

#[test]
fn editor_schemas_are_written_one_per_kind_and_version() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = almanac(&["crds", "--json-schema", &folder.path().display().to_string()]);
    assert_eq!(output.status.code(), Some(0));
    let path = folder.path().join("autoscaling.karmada.io/cronfederatedhpa_v1alpha1.json");
    let text = std::fs::read_to_string(path).expect("the schema is there");
    let schema: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let rule = &schema["properties"]["spec"]["properties"]["rules"]["items"];
    assert_eq!(rule["additionalProperties"], false);
    assert_eq!(
        rule["properties"]["targetReplicas"]["type"],
        serde_json::json!(["integer", "null"])
    );
    assert_eq!(schema["properties"]["kind"]["const"], "CronFederatedHPA");
    // The design's own slip is one in an editor, too.
    assert!(rule["required"].as_array().expect("a list").contains(&"name".into()), "{rule}");
    assert_eq!(rule["properties"]["name"]["minLength"], 1);
    assert!(rule["properties"]["ruleName"].is_null());
    let hub = folder.path().join("cluster.open-cluster-management.io");
    for name in ["placement_v1beta1", "placement_v1alpha1", "addonplacementscore_v1alpha1"] {
        assert!(hub.join(format!("{name}.json")).exists(), "{name}");
    }
    assert!(!text.contains("x-kubernetes-") && !text.contains("nullable"));
}
