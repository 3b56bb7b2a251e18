//! `almanac diff` with the real Helm, on typical charts. Helm is built with Go, once, which takes minutes: `cargo xtask
//! test` runs these tests with `--thorough`, or by the name of this file.
//!
//! The limits of programs that render are tested with scripts, in `offline`.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

#[allow(dead_code, reason = "the tests of `offline` use the rest")]
#[path = "../offline/running.rs"]
mod running;

mod charts;
mod options;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use running::{Ran, commit, empty_directory, git};

/// The directory of the program.
static HELM: LazyLock<PathBuf> =
    LazyLock::new(|| almanac_harness::provide_helm().unwrap().parent().unwrap().to_owned());

/// A Monday, at midnight in Berlin.
const MONDAY: &str = "2026-11-22T23:00:00Z";

const CHART: &str = "charts/shop/Chart.yaml";
const VALUES: &str = "charts/shop/values.yaml";
const PROD: &str = "charts/shop/values-prod.yaml";
const SHOP: &str = "charts/shop/templates/shop.yaml";
const CART: &str = "charts/shop/charts/cart/templates/cart.yaml";

/// A chart with a workload, a policy for it, values for an environment, and a chart inside with a policy of its own.
static FILES: [(&str, &str); 7] = [
    (
        CHART,
        "apiVersion: v2
name: shop
version: 1.0.0
dependencies:
- {name: cart, version: 1.0.0}
",
    ),
    (VALUES, "day: 10\nnight: 2\ncart: {minimum: 1}\n"),
    (PROD, "night: 3\n"),
    (
        SHOP,
        "apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Chart.Name }}, namespace: {{ .Release.Namespace }}}
spec:
  replicas: {{ .Values.night }}
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: shop, image: shop}]}
---
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: {{ .Chart.Name }}-hours, namespace: {{ .Release.Namespace }}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ .Chart.Name }}}
  rules:
  - {name: open, schedule: \"0 8 * * *\", timeZone: Europe/Berlin, targetReplicas: {{ .Values.day }}}
  - {name: close, schedule: \"0 20 * * *\", timeZone: Europe/Berlin, targetReplicas: {{ .Values.night }}}
",
    ),
    ("charts/shop/charts/cart/Chart.yaml", "apiVersion: v2\nname: cart\nversion: 1.0.0\n"),
    ("charts/shop/charts/cart/values.yaml", "minimum: 7\n"),
    (
        CART,
        "apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: cart-hours, namespace: {{ .Release.Namespace }}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: cart}
  rules:
  - {name: open, schedule: \"0 8 * * *\", timeZone: Europe/Berlin, targetReplicas: {{ .Values.minimum }}}
",
    ),
];

/// A file of the chart with a replaced string.
fn edited<'a>(path: &'a str, from: &str, to: &str) -> (&'a str, String) {
    let (_, text) = FILES.iter().find(|(known, _)| *known == path).unwrap();
    assert!(text.contains(from), "{path} has no {from}");
    (path, text.replace(from, to))
}

/// A repository whose first commit contains the chart, and the second commit a change.
fn repository(name: &str, change: &[(&str, &str)]) -> PathBuf {
    let folder = empty_directory("helm", name);
    git(&folder, &["init", "-q", "-b", "main"]);
    commit(&folder, &FILES);
    commit(&folder, change);
    folder
}

/// Runs `diff` with Helm and the programs of the system on its path.
fn diff(folder: &Path, arguments: &[&str]) -> Ran {
    diff_with(&HELM, folder, arguments)
}

/// Runs the diff with the programs in this directory instead of Helm.
fn diff_with(programs: &Path, folder: &Path, arguments: &[&str]) -> Ran {
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let mut command = Command::new(env!("CARGO_BIN_EXE_almanac"));
    command.current_dir(folder).stdin(Stdio::null()).env("PATH", path);
    command.env("NO_COLOR", "1").env("COLUMNS", "10000");
    Ran::from_output(&command.args(["diff", "--from", MONDAY]).args(arguments).output().unwrap())
}
