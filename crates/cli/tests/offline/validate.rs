//! The output of `almanac validate` for users and scripts, compared with golden files.
//!
//! Run with `ALMANAC_UPDATE=1` to regenerate the expected output.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::path::Path;

use crate::running::{self, Ran, assert_written_down, list};

const PRESENT: &str = "2026-01-05T00:00:00Z";

fn almanac(arguments: &[&str]) -> Ran {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/offline");
    let mut command = running::almanac(&here, arguments);
    Ran::from_output(&command.env("LC_ALL", "C.UTF-8").output().unwrap())
}

/// Each file is named explicitly, so it is checked in full.
fn validate_mistakes(how: &[&str]) -> Ran {
    let named = ["validate", "mistakes/*.yaml", "mistakes/*.json", "--from", PRESENT];
    almanac(&[&named[..], how].concat())
}

#[test]
fn one_of_each_mistake_is_reported_as_text() {
    assert_written_down("mistakes.txt", &validate_mistakes(&[]).ended(1).stdout);
}

#[test]
fn one_of_each_mistake_is_reported_as_json() {
    assert_written_down("mistakes.json", &validate_mistakes(&["-o", "json"]).ended(1).stdout);
}

#[test]
fn the_examples_are_valid() {
    let ran = almanac(&["validate", "-f", "../../../../examples"]).ended(0);
    ran.assert_stdout(&["no problems found\n"]);
}

#[test]
fn a_missing_path_is_reported_with_exit_code_2() {
    let ran = almanac(&["validate", "-f", "no-such-folder"]).ended(2);
    assert_eq!(ran.stderr, "error: failed to read \"no-such-folder\": no such file or directory\n");
}

#[test]
fn files_folders_patterns_and_standard_input_are_read_each_once() {
    let one = ["mistakes/zone.yaml", "mistakes/z*.yaml", "mistakes/../mistakes/zone.yaml"];
    let one: Vec<&str> = one.into_iter().flat_map(|path| ["-f", path]).collect();
    let text = almanac(&[&["validate"], &one[..]].concat()).stdout;
    assert!(text.ends_with("checked 1 object in 1 file: 1 error in 1 file\n"), "{text}");
    let ran = almanac(&["validate", "-f", "-"]).ended(0);
    assert_eq!(ran.stdout, "checked 0 objects in 1 file: nothing to check\n");
}

#[test]
fn input_that_panics_the_yaml_parser_is_a_finding_and_prints_nothing_else() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("tagged.yaml");
    std::fs::write(&file, "a: 1\nb: [!,c]\n").expect("write the file");
    let ran = almanac(&["validate", "-f", &file.display().to_string()]).ended(1);
    assert_eq!(ran.stderr, "");
    ran.assert_stdout(&["a ',' can't directly follow a tag", ":2:5"]);
}

#[test]
fn the_crds_are_printed_as_one_stream() {
    let text = almanac(&["crds"]).ended(0).stdout;
    assert_eq!(text.matches("kind: CustomResourceDefinition\n").count(), 5);
    assert_eq!(text.matches("---\n").count(), 5);
}

#[test]
fn the_crds_of_a_hub_and_of_units_are_printed_only_if_requested() {
    let printed = |controllers: &str| {
        let text = almanac(&["crds", "--controllers", controllers]).ended(0).stdout;
        let names = text.lines().filter_map(|line| line.strip_prefix("  name: "));
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let expected = [
        "placements.cluster.open-cluster-management.io",
        "placementdecisions.cluster.open-cluster-management.io",
        "addonplacementscores.cluster.open-cluster-management.io",
        "managedclusters.cluster.open-cluster-management.io",
        "managedclustersets.cluster.open-cluster-management.io",
        "managedclustersetbindings.cluster.open-cluster-management.io",
    ];
    assert_eq!(printed("placement"), expected);
    assert_eq!(printed("units"), ["resourcepolicies.scheduling.sigs.x-k8s.io"]);
    let expected = [
        "scalablenodegroups.autoscaling.karpenter.sh",
        "cronfederatedhpas.autoscaling.karmada.io",
        "federatedhpas.autoscaling.karmada.io",
    ];
    assert_eq!(printed("cron-federated-hpa,scalable-node-group"), expected);
}

#[test]
fn editor_schemas_are_written_one_per_kind_and_version() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    almanac(&["crds", "--json-schema", &folder.path().display().to_string()]).ended(0);
    let path = folder.path().join("autoscaling.karmada.io/cronfederatedhpa_v1alpha1.json");
    let text = std::fs::read_to_string(path).expect("read the schema");
    let schema: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let rule = &schema["properties"]["spec"]["properties"]["rules"]["items"];
    assert_eq!(rule["additionalProperties"], false);
    assert_eq!(
        rule["properties"]["targetReplicas"]["type"],
        serde_json::json!(["integer", "null"])
    );
    assert_eq!(schema["properties"]["kind"]["const"], "CronFederatedHPA");
    // An editor also reports the mistake in the example of the design.
    assert!(list(&rule["required"]).contains(&"name".into()), "{rule}");
    assert_eq!(rule["properties"]["name"]["minLength"], 1);
    assert!(rule["properties"]["ruleName"].is_null());
    let hub = folder.path().join("cluster.open-cluster-management.io");
    for name in ["placement_v1beta1", "placement_v1alpha1", "addonplacementscore_v1alpha1"] {
        assert!(hub.join(format!("{name}.json")).exists(), "{name}");
    }
    assert!(!text.contains("x-kubernetes-") && !text.contains("nullable"));
}
