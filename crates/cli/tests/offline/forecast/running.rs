//! The program run over a folder of policies, some of which several tests share.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

pub(crate) const PRESENT: &str = "2026-11-20T12:00:00Z";

pub(crate) const SHOP: &str = r#"
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: shop-hours}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}
  rules:
  - {name: open, schedule: "0 8 * * *", timeZone: Europe/Berlin, targetReplicas: 10}
  - {name: close, schedule: "0 20 * * *", timeZone: Europe/Berlin, targetReplicas: 2}
"#;

pub(crate) const NIGHT: &str = r#"
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: night-watch}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}
  rules:
  - {name: "sle</script>ep", schedule: "0 22 * * *", targetReplicas: 0}
"#;

pub(crate) const NODES: &str = r"
apiVersion: autoscaling.karpenter.sh/v1alpha1
kind: MetricsProducer
metadata: {name: nodes}
spec:
  schedule:
    defaultReplicas: 1
    behaviors:
    - {replicas: 5, start: {hours: 9}, end: {hours: 17}}
";

pub(crate) const BROKEN: &str = r#"
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: broken}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: other}
  rules:
  - {name: never, schedule: "0 8 * *", targetReplicas: 10}
"#;

/// A folder of its own for a test.
pub(crate) fn empty_folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("forecast").join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

pub(crate) fn folder_with(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let path = empty_folder(name);
    for (file, text) in files {
        fs::write(path.join(file), text).unwrap();
    }
    path
}

pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_almanac"));
    command.current_dir(folder).stdin(Stdio::null()).args(arguments);
    // What is not drawn is one line for each sentence.
    let width = if arguments.first() == Some(&"forecast") { "100" } else { "1000" };
    command.env("NO_COLOR", "1").env("COLUMNS", width).env("LC_ALL", "C.UTF-8");
    command.env_remove("ALMANAC_ZONE");
    command
}

pub(crate) fn almanac(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

pub(crate) fn text(output: &[u8]) -> String {
    String::from_utf8(output.to_vec()).unwrap()
}

pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {} {}", text(&output.stdout), text(&output.stderr))
    })
}

/// What a forecast of the present week prints.
pub(crate) fn forecast(folder: &Path, arguments: &[&str]) -> Output {
    let usual = ["forecast", "-f", ".", "--from", PRESENT];
    almanac(folder, &[&usual[..], arguments].concat())
}
