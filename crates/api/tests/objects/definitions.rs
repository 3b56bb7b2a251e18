//! The CRDs in `deploy/crds`, `deploy/hub-crds` and `deploy/units-crds` match the types, and meet the rules for all our CRDs.
//!
//! Run with `ALMANAC_UPDATE=1` to regenerate them; `cargo xtask crds` does the same.

#![expect(clippy::disallowed_methods, reason = "golden files are files")]
#![allow(clippy::panic, reason = "what fails here fails the test")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use almanac_api::definitions::{
    CustomResource, all_custom_resources, custom_resources, custom_resources_of,
};
use almanac_api::families::{Controlled, Descriptor};
use almanac_api::kinds::{Kind, Role};
use almanac_api::reading::{Reading, Source, read_objects};
use almanac_api::writing::to_yaml;
use almanac_engine::Family;
use serde_json::{Value, json};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name)
}

fn resources_for(family: Family) -> Vec<CustomResource> {
    custom_resources_of(family.into())
}

#[test]
fn the_generated_crds_are_up_to_date() {
    for (name, resources) in [
        ("crds", custom_resources()),
        ("hub-crds", resources_for(Family::Placement)),
        ("units-crds", resources_for(Family::Units)),
    ] {
        let folder = folder(name);
        let files = resources.iter().map(|it| {
            (format!("{}.yaml", it.file_stem()), to_yaml(&[it.manifest()]).expect("YAML"))
        });
        let expected: BTreeMap<String, String> = files.collect();
        if std::env::var_os("ALMANAC_UPDATE").is_some() {
            std::fs::create_dir_all(&folder).expect("create the directory");
            for (name, text) in &expected {
                std::fs::write(folder.join(name), text).expect("a file");
            }
        }
        let mut found = BTreeMap::new();
        for entry in std::fs::read_dir(&folder).expect("the directory exists") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            found.insert(name, std::fs::read_to_string(&path).expect("text"));
        }
        let stale = format!("deploy/{name} is stale: run cargo xtask crds");
        let names = found.keys().collect::<Vec<_>>();
        assert_eq!(names, expected.keys().collect::<Vec<_>>(), "{stale}");
        for (name, text) in &expected {
            assert!(found[name] == *text, "{name}: {stale}");
        }
    }
}

/// Walks a schema and calls `visit` with every part of it and its path.
fn walk(schema: &Value, path: &str, visit: &mut impl FnMut(&str, &Value)) {
    visit(path, schema);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        walk(field, &format!("{path}.{name}"), visit);
    }
    if schema["items"].is_object() {
        walk(&schema["items"], &format!("{path}[]"), visit);
    }
}

/// Parts that are Kubernetes' own types, used unchanged.
fn is_borrowed(path: &str) -> bool {
    ["FederatedHPA.spec.metrics[]", "FederatedHPA.spec.behavior", "FederatedHPA.status"]
        .iter()
        .any(|part| path.starts_with(part) && !path.starts_with("Cron"))
}

#[test]
fn every_list_and_every_string_has_a_limit() {
    let mut unbounded = Vec::new();
    for resource in custom_resources().into_iter().chain(resources_for(Family::Units)) {
        walk(&resource.schema(), resource.kind(), &mut |path, schema| {
            let list = schema["type"] == "array" && schema["maxItems"].is_null();
            let text = schema["type"] == "string"
                && schema["maxLength"].is_null()
                && schema["enum"].is_null()
                && schema["format"].is_null();
            if (list || text) && !is_borrowed(path) {
                unbounded.push(path.to_owned());
            }
        });
    }
    assert_eq!(unbounded, Vec::<String>::new());
}

#[test]
fn every_field_has_a_description() {
    let mut unexplained = Vec::new();
    for resource in all_custom_resources() {
        walk(&resource.schema(), resource.kind(), &mut |path, schema| {
            let item = path.ends_with("[]") || path.contains("conditions[]");
            if schema["description"].is_null() && !item && !is_borrowed(path) {
                unexplained.push(path.to_owned());
            }
        });
    }
    assert_eq!(unexplained, Vec::<String>::new());
}

#[test]
fn names_columns_and_subresources_match_the_designs() {
    let table: Vec<_> = all_custom_resources()
        .into_iter()
        .map(|resource| {
            let spec = &resource.manifest()["spec"];
            let version = &spec["versions"][0];
            let columns: Vec<_> = version["additionalPrinterColumns"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|column| column["name"].as_str())
                .collect();
            format!(
                "{} {} {} {} | {} | {}",
                resource.kind(),
                spec["names"]["shortNames"],
                spec["names"]["categories"],
                spec["scope"],
                columns.join(" "),
                version["subresources"],
            )
        })
        .collect();
    assert_eq!(
        table,
        [
            r#"MetricsProducer ["mp"] null "Namespaced" | VALUE NEXT AT READY AGE | {"status":{}}"#,
            r#"HorizontalAutoscaler ["ha"] null "Namespaced" | REFERENCE-KIND REFERENCE-NAME MIN MAX DESIRED READY AGE | {"status":{}}"#,
            r#"ScalableNodeGroup ["sng"] null "Namespaced" | TYPE REPLICAS DESIRED READY AGE | {"scale":{"labelSelectorPath":".status.selector","specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"},"status":{}}"#,
            r#"CronFederatedHPA ["cronfhpa"] ["karmada-io"] "Namespaced" | REFERENCE-KIND REFERENCE-NAME NEXT LAST READY AGE | {"status":{}}"#,
            r#"FederatedHPA ["fhpa"] ["karmada-io"] "Namespaced" | REFERENCE-KIND REFERENCE-NAME MINPODS MAXPODS REPLICAS AGE | {"status":{}}"#,
            r#"Placement null null "Namespaced" | Succeeded Reason SelectedClusters | {"status":{}}"#,
            r#"PlacementDecision null null "Namespaced" |  | {"status":{}}"#,
            r#"AddOnPlacementScore null null "Namespaced" |  | {"status":{}}"#,
            r#"ManagedCluster ["mcl","mcls"] null "Cluster" | Hub Accepted Managed Cluster URLs Joined Available Age | {"status":{}}"#,
            r#"ManagedClusterSet ["mclset","mclsets"] null "Cluster" | Empty Age | {"status":{}}"#,
            r#"ManagedClusterSetBinding ["mclsetbinding","mclsetbindings"] null "Namespaced" |  | {"status":{}}"#,
            r#"ResourcePolicy ["rp"] null "Namespaced" | STRATEGY USED SPILLED READY OVERCAP AGE | {"status":{}}"#,
        ]
    );
}

#[test]
fn the_table_of_kinds_matches_the_crds() {
    for resource in all_custom_resources() {
        let kind = resource.known_kind().unwrap_or_else(|| panic!("{}", resource.kind()));
        let spec = &resource.manifest()["spec"];
        assert_eq!(kind.plural(), spec["names"]["plural"]);
        let short_names = spec["names"]["shortNames"].as_array().cloned().unwrap_or_default();
        assert_eq!(json!(kind.short_names()), json!(short_names));
        assert_eq!(kind.is_namespaced(), spec["scope"] == "Namespaced");
        let versions = spec["versions"].as_array().expect("a list").iter();
        let versions: Vec<_> = versions.map(|version| version["name"].clone()).collect();
        assert_eq!(json!(kind.versions()), json!(versions));
    }
}

#[test]
fn every_defined_kind_belongs_to_reconciled_objects() {
    for resource in all_custom_resources() {
        let controlled = resource.known_kind().and_then(Controlled::for_kind);
        assert!(controlled.is_some(), "{}", resource.kind());
    }
}

#[test]
fn the_clusters_of_a_hub_come_before_what_refers_to_them() {
    let kinds = Descriptor::for_family(Family::Placement).reads.iter();
    let names: Vec<_> = kinds.map(|kind| kind.name()).collect();
    let expected = [
        "ManagedCluster",
        "ManagedClusterSet",
        "ManagedClusterSetBinding",
        "AddOnPlacementScore",
        "PlacementDecision",
    ];
    assert_eq!(names, expected);
}

#[test]
fn every_family_has_one_kind_for_its_policies() {
    for family in Family::ALL {
        let says = |kind: &&Kind| kind.role() == Role::Policy(family);
        let kinds: Vec<&Kind> = Kind::ALL.iter().filter(says).collect();
        assert_eq!(kinds, [&Kind::for_family(family)], "{family:?}");
    }
    for kind in Kind::ALL {
        assert_eq!(Kind::for_object(&kind.identity("shop", "web")), Some(*kind));
    }
    assert_eq!(Kind::find("extensions", "Deployment"), None);
}

#[test]
fn written_yaml_reads_back_unchanged() {
    let odd = json!({
        "apiVersion": "v1", "kind": "Deployment",
        "texts": ["yes", "010", "1e3", "", "null", "~", "a: b", "- a", "#", "'", "\"", "a\nb\n", "ü\u{1f600}", " x ", "<<", "12:30", "*a", "@"],
        "numbers": [0, -1, 1.5, 9_007_199_254_740_993_i64], "truths": [true, false, null],
        "empty": [{}, []]
    });
    let text = to_yaml(std::slice::from_ref(&odd)).expect("YAML");
    let mut reading = Reading::default();
    read_objects(&mut reading, Source::new("f", text.replace("v1", "apps/v1")));
    let mut read = reading.objects[0].node.to_json();
    read["apiVersion"] = "v1".into();
    assert_eq!(read, odd, "{text}");
}
