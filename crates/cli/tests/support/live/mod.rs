//! The binary with a cluster, and the objects of that cluster in these tests.

use std::path::Path;
use std::process::{Output, Stdio};

use almanac_fixtures::objects::scalable_definition;
use almanac_harness::{Kubectl, Observation, PATIENCE, TestResult, await_condition};
use anyhow::ensure;
use serde_json::{Value, json};
use tokio::process::Command;

pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
pub(crate) const PRESENT: &str = "2026-11-26T12:00:00Z";

/// The examples of the published designs with corrected mistakes, and additional kinds of targets.
const DESIGNS: &str = r#"
apiVersion: autoscaling.karpenter.sh/v1alpha1
kind: MetricsProducer
metadata: {name: scheduling}
spec:
  schedule:
    timezone: America/Los_Angeles
    defaultReplicas: 2
    behaviors:
    - {replicas: 1, start: {weekdays: Fri, hours: 17}, end: {weekdays: Mon, hours: 9}}
    - replicas: 3
      start: {weekdays: "Mon,Tue,Wed,Thu,Fri", hours: 9}
      end: {weekdays: "Mon,Tue,Wed,Thu,Fri", hours: 17}
---
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: cron-federated-hpa}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}
  rules:
  - {name: Scale-Up, schedule: "30 08 * * *", targetReplicas: 1000}
  - {name: Scale-Down, schedule: "0 11 * * *", targetReplicas: 1}
---
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: bounds}
spec:
  scaleTargetRef: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, name: web}
  rules:
  - {name: up, schedule: "30 07 * * *", targetMinReplicas: 10, timeZone: Asia/Shanghai}
  - {name: down, schedule: "30 20 * * *", targetMinReplicas: 1, timeZone: Asia/Shanghai}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 30
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}
---
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata:
  name: paused
  annotations:
    # What would not survive a careless writer.
    marks: "---\nx: [\n...\n"
    ends: "\ttab\r\n \n\n"
    begins: "  # no comment: \n  either\n"
    odd: "\u0007\u0085\u2028\uFEFF ü \U0001F552"
    boolean: "yes"
    number: "0x1F"
    exponent: "1e3"
    nothing: "~"
    empty: ""
    quotes: "'\"`{}[]&*!|>%@"
    long: "a very long text with many words that a writer may want to break into several lines, \
      which is fine as long as a reader puts them together again: as one line, with one space"
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: store}
  rules:
  - {name: never, schedule: "0 0 1 * *", targetReplicas: 9, suspend: true}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store}
spec:
  replicas: 5
  serviceName: store
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec: {containers: [{name: store, image: "registry.k8s.io/pause:3.10"}]}
---
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: groups}
spec:
  scaleTargetRef: {apiVersion: autoscaling.karpenter.sh/v1alpha1, kind: ScalableNodeGroup, name: spot}
  rules:
  - {name: night, schedule: "0 1 * * *", targetReplicas: 0, suspend: true}
---
apiVersion: autoscaling.karpenter.sh/v1alpha1
kind: ScalableNodeGroup
metadata: {name: spot}
spec: {type: AWSEKSNodeGroup, id: arn, replicas: 4}
"#;

/// A target of a kind that only this cluster serves.
pub(crate) const ROLLOUT: &str = r#"
apiVersion: example.org/v1
kind: Rollout
metadata: {name: front}
spec: {replicas: 7}
---
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: front-hours}
spec:
  scaleTargetRef: {apiVersion: example.org/v1, kind: Rollout, name: front}
  rules:
  - {name: up, schedule: "0 8 * * *", targetReplicas: 20, suspend: true}
"#;

/// Runs the binary with a kubeconfig.
pub(crate) async fn almanac(kubeconfig: &Path, arguments: &[&str]) -> anyhow::Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_almanac"));
    command.args(arguments).env("KUBECONFIG", kubeconfig).stdin(Stdio::null());
    // Each sentence outside the drawing is one line.
    let width = if arguments.first() == Some(&"forecast") { "100" } else { "1000" };
    Ok(command.env("NO_COLOR", "1").env("COLUMNS", width).output().await?)
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The output of a command for a cluster; fails if the command reports problems or unavailable objects.
pub(crate) async fn output_of(kubeconfig: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = almanac(kubeconfig, arguments).await?;
    ensure!(output.status.success(), "{arguments:?}: {}{}", stdout(&output), stderr(&output));
    ensure!(output.stderr.is_empty(), "{arguments:?}: {}", stderr(&output));
    Ok(stdout(&output))
}

/// Runs the same command for a cluster and for files, and checks that the outputs are equal; returns the output for the
/// cluster.
pub(crate) async fn ask_both(
    kubeconfig: &Path,
    question: &[&str],
    scope: &[&str],
    files: &[String],
) -> anyhow::Result<Output> {
    let live = almanac(kubeconfig, &[question, scope].concat()).await?;
    let files = files.iter().flat_map(|file| ["-f", file]);
    let of_files: Vec<&str> = question.iter().copied().chain(files).collect();
    let of_files = almanac(Path::new("/dev/null"), &of_files).await?;
    assert_eq!(stdout(&live), stdout(&of_files), "{question:?} {scope:?}");
    assert_eq!((stderr(&live), live.status), (stderr(&of_files), of_files.status));
    Ok(live)
}

async fn install_definitions(kubectl: &Kubectl) -> TestResult {
    let folder = format!("{ROOT}/deploy/crds");
    kubectl.run(&["apply", "--server-side", "-f", &folder]).await?;
    let rollouts = scalable_definition(["example.org", "v1", "Rollout"], "Namespaced");
    let apply = ["apply", "--server-side", "-f", "-"];
    kubectl.run_with_input(&apply, &rollouts.to_string()).await?;
    await_definitions(kubectl, 6).await
}

/// Waits until this number of CRDs is served.
pub(crate) async fn await_definitions(kubectl: &Kubectl, count: usize) -> TestResult {
    await_condition("the definitions are established", PATIENCE, async || {
        let path =
            "jsonpath={range .items[*]}{.status.conditions[?(@.type=='Established')].status} {end}";
        let actual = kubectl.run(&["get", "crd", "-o", path]).await?;
        Ok(Observation::from_bool(actual.matches("True").count() == count, actual))
    })
    .await
}

pub(crate) async fn apply(kubectl: &Kubectl, namespace: &str, text: &str) -> TestResult {
    kubectl.run_with_input(&["-n", namespace, "create", "-f", "-"], text).await?;
    Ok(())
}

/// Grants the service account `reader` of the namespace `default` these permissions in a namespace, in place of its
/// previous permissions; with a `ClusterRole` everywhere.
pub(crate) async fn permit(
    kubectl: &Kubectl,
    (kind, namespace): (&str, &str),
    rules: &Value,
) -> TestResult {
    let group = "rbac.authorization.k8s.io";
    let role = json!({
        "apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": "reader"}, "rules": rules,
    });
    let binding = json!({
        "apiVersion": format!("{group}/v1"), "kind": format!("{kind}Binding"), "metadata": {"name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}],
        "roleRef": {"apiGroup": group, "kind": kind, "name": "reader"},
    });
    let both = json!({"apiVersion": "v1", "kind": "List", "items": [role, binding]});
    kubectl.run_with_input(&["-n", namespace, "apply", "-f", "-"], &both.to_string()).await?;
    Ok(())
}

pub(crate) async fn prepare(kubectl: &Kubectl) -> TestResult {
    install_definitions(kubectl).await?;
    kubectl.run(&["create", "namespace", "designs"]).await?;
    kubectl.run(&["create", "namespace", "volcano-system"]).await?;
    // Placements need the CRDs of a hub, which have separate tests.
    for folder in ["cron-scaling", "qos-levels", "scheduled-capacity"] {
        let folder = format!("{ROOT}/examples/{folder}");
        kubectl.run(&["apply", "--server-side", "-f", &folder]).await?;
    }
    apply(kubectl, "designs", DESIGNS).await
}
