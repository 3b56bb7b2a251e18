//! `-k` names a kustomization, which a real kubectl builds.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use almanac_harness::{Kubectl, TestResult, on_shared_cluster};
use anyhow::Context as _;
use serde_json::{Value, json};

const POLICY: &str = "apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: hours}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}
  rules:
  - {name: open, schedule: \"0 8 * * *\", targetReplicas: 3}
";

const PATCH: &str = "apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: hours}
spec:
  rules:
  - {name: open, schedule: \"0 8 * * *\", targetReplicas: 40}
";

fn write(folder: &Path, path: &str, text: &str) -> anyhow::Result<()> {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().context("it lies in a folder")?)?;
    Ok(fs::write(path, text)?)
}

/// Runs the binary in a directory, with only this kubectl on its path.
fn almanac(folder: &Path, kubectl: &Kubectl, arguments: &[&str]) -> anyhow::Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_almanac"));
    let path = kubectl.program().parent().context("it lies in a folder")?;
    command.current_dir(folder).args(arguments).env("PATH", path).stdin(Stdio::null());
    Ok(command.output()?)
}

#[test]
fn a_kustomization_is_forecast_as_it_would_be_applied() -> TestResult {
    on_shared_cluster(async |test| {
        let kubectl = test.kubectl().await?;
        let folder = tempfile::tempdir()?;
        let folder = folder.path();
        write(folder, "base/kustomization.yaml", "resources: [hours.yaml]\n")?;
        write(folder, "base/hours.yaml", POLICY)?;
        let overlay = "resources: [../../base]\npatches: [{path: more.yaml}]\nnamespace: shops\n";
        write(folder, "overlays/prod/kustomization.yaml", overlay)?;
        write(folder, "overlays/prod/more.yaml", PATCH)?;
        let same = "resources: [../../base]\nnamespace: shops\n";
        write(folder, "overlays/test/kustomization.yaml", same)?;

        let usual = ["forecast", "--from", "2026-11-20T12:00:00Z", "--for", "1h", "-o", "json"];
        let both = ["-k", "overlays/prod", "-k", "overlays/test"];
        let output = almanac(folder, &kubectl, &[&usual[..], &both].concat())?;
        let report: Value = serde_json::from_slice(&output.stdout)?;
        let series = report["series"].as_array().context("no series")?;
        let actual: Vec<(&Value, &Value, &Value)> = series
            .iter()
            .map(|it| (&it["place"], &it["target"]["namespace"], &it["segments"][0]["value"]))
            .collect();
        assert_eq!(
            actual,
            [
                (&"overlays/prod".into(), &"shops".into(), &40.into()),
                (&"overlays/test".into(), &"shops".into(), &3.into()),
            ]
        );

        // Objects of different names are also in different places, with one target in each.
        for (name, prefix) in [("east", "e-"), ("west", "w-")] {
            let overlay = format!("resources: [../../base]\nnamePrefix: {prefix}\n");
            write(folder, &format!("overlays/{name}/kustomization.yaml"), &overlay)?;
        }
        let both = ["-k", "overlays/east/", "-k", "overlays/west"];
        let output = almanac(folder, &kubectl, &[&usual[..], &both].concat())?;
        let report: Value = serde_json::from_slice(&output.stdout)?;
        let series = report["series"].as_array().context("no series")?;
        let actual: Vec<&Value> = series.iter().map(|it| &it["place"]).collect();
        assert_eq!(
            (actual, &report["findings"]),
            (vec![&"overlays/east".into(), &"overlays/west".into()], &json!([]))
        );

        // The effect of a component appears in the overlay that includes it, with the command that the advice names.
        let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n\
                         namePrefix: night-\n";
        write(folder, "components/night/kustomization.yaml", component)?;
        let overlay = "resources: [../../base]\ncomponents: [../../components/night]\n";
        write(folder, "overlays/at night/kustomization.yaml", overlay)?;
        let advised = "almanac next -k 'overlays/at night'";
        let output = almanac(folder, &kubectl, &["next", "-f", "."])?;
        let text = String::from_utf8(output.stderr)?;
        assert!(text.contains(&format!("to check the result: {advised}\n")), "{text}");
        assert!(!text.contains("components/night"), "{text}");
        let output = almanac(folder, &kubectl, &["next", "-k", "overlays/at night"])?;
        let text = String::from_utf8(output.stdout)?;
        assert!(text.contains("night-hours open fires"), "{text}");

        write(folder, "overlays/prod/kustomization.yaml", "resources: [nowhere]\n")?;
        let output = almanac(folder, &kubectl, &["validate", "-k", "overlays/prod"])?;
        let text = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.starts_with("error: failed to build the kustomization \"overlays/prod\": "));
        assert!(text.contains("nowhere") && !text.contains("run.go"), "{text}");
        Ok(())
    })
}

#[test]
fn a_change_of_an_overlay_is_compared_as_it_would_be_applied() -> TestResult {
    on_shared_cluster(async |test| {
        let kubectl = test.kubectl().await?;
        let folder = tempfile::tempdir()?;
        let folder = folder.path();
        let overlay = "resources: [../../base]\npatches: [{path: more.yaml}]\nnamespace: shops\n";
        for (side, replicas) in [("old", "40"), ("new", "50")] {
            let at = |path: &str| format!("{side}/{path}");
            write(folder, &at("base/kustomization.yaml"), "resources: [hours.yaml]\n")?;
            write(folder, &at("base/hours.yaml"), POLICY)?;
            write(folder, &at("overlays/prod/kustomization.yaml"), overlay)?;
            write(folder, &at("overlays/prod/more.yaml"), &PATCH.replace("40", replicas))?;
        }
        let usual = ["diff", "old", "new", "--from", "2026-11-20T12:00:00Z", "-o", "json"];
        let by_flag = almanac(folder, &kubectl, &[&usual[..], &["-k", "overlays/prod"]].concat())?;
        write(folder, "old/almanac.toml", "[diff]\nkustomize = [\"overlays/prod\"]\n")?;
        let by_settings = almanac(folder, &kubectl, &usual)?;
        for output in [by_flag, by_settings] {
            let report: Value = serde_json::from_slice(&output.stdout)?;
            let differences = report["differences"].as_array().context("no differences")?;
            let actual: Vec<(&Value, &Value, &Value)> = differences
                .iter()
                .map(|it| {
                    let values = [&it["before"]["peak"], &it["after"]["peak"]];
                    (&it["target"]["namespace"], values[0], values[1])
                })
                .collect();
            assert_eq!(actual, [(&"shops".into(), &40.into(), &50.into())], "{report:#}");
            assert_eq!(report["notes"], Value::Null, "{report:#}");
        }
        Ok(())
    })
}
