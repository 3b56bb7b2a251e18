//! `--watch` over a cluster: a result is printed again only after it changes.

use std::os::unix::process::ExitStatusExt as _;

use almanac_harness::{Observation, PATIENCE, Program, TestResult, await_condition};
use anyhow::ensure;
use serde_json::{Value, json};
use tokio::runtime;

use crate::controller::{Cluster, on_cluster};
use crate::stage::Stage;

static STAGE: Stage =
    Stage::new(|holder| on_cluster(async |_, cluster| holder.let_tests_in(cluster).await));

const POLICY: &str = r#"
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: watched}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: watched}
  rules:
  - {name: new-year, schedule: "0 0 1 1 *", targetReplicas: 1111}
"#;

const MORE: &str = r#"
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: often}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: often}
  rules:
  - {name: minutely, schedule: "* * * * *", targetReplicas: 5}
"#;

/// Runs a test with a policy in a separate namespace, next to other tests on this stage.
fn in_namespace(
    namespace: &str,
    policy: &str,
    test: impl AsyncFnOnce(&Cluster) -> TestResult,
) -> TestResult {
    let runtime = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    STAGE.run(&runtime, async |cluster| {
        cluster.namespace(namespace).await?;
        cluster.create_text(namespace, policy).await?;
        test(&cluster).await
    })
}

fn watch(cluster: &Cluster, namespace: &str, arguments: &[&str]) -> anyhow::Result<Program> {
    let kubeconfig = cluster.kubeconfig().display().to_string();
    let usual = ["-n", namespace, "--watch", "--kubeconfig", &kubeconfig];
    let environment = [("NO_COLOR", "1"), ("COLUMNS", "100")];
    let arguments = [arguments, &usual].concat();
    Program::start(env!("CARGO_BIN_EXE_almanac").as_ref(), &arguments, &environment)
}

async fn set_replicas(cluster: &Cluster, count: u32) -> TestResult {
    let patch = json!({"spec": {"rules": [{
        "name": "new-year", "schedule": "0 0 1 1 *", "targetReplicas": count,
    }]}});
    let patch = patch.to_string();
    let command =
        ["-n", "watched", "patch", "cronfederatedhpa/watched", "--type=merge", "-p", &patch];
    cluster.kubectl(&command).await?;
    Ok(())
}

/// The values that the first rule sets, one for each printed result.
fn printed_values(program: &Program) -> anyhow::Result<Vec<Value>> {
    let log = program.log()?;
    let lines = log.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    Ok(lines.iter().map(|it| it["items"][0]["to"].clone()).collect())
}

#[test]
fn output_is_printed_again_only_when_objects_change() -> TestResult {
    in_namespace("watched", POLICY, async |cluster| {
        let next = watch(cluster, "watched", &["next", "-o", "json"])?;
        let text = watch(cluster, "watched", &["next"])?;
        let forecast = watch(cluster, "watched", &["forecast", "--for", "2y"])?;
        next.await_log("\"to\":1111").await?;
        text.await_log("1111").await?;
        forecast.await_log("1111").await?;
        // A change without an effect on the result prints nothing.
        cluster.kubectl(&["-n", "watched", "annotate", "cronfederatedhpa/watched", "a=b"]).await?;
        for count in [2222, 3333] {
            set_replicas(cluster, count).await?;
            next.await_log(&format!("\"to\":{count}")).await?;
            text.await_log(&count.to_string()).await?;
            forecast.await_log(&count.to_string()).await?;
        }
        assert_eq!(printed_values(&next)?, [json!(1111), json!(2222), json!(3333)]);
        assert_eq!(text.log()?.matches("\n--- ").count(), 2, "{}", text.log()?);
        let ended = next.interrupt().await?;
        assert_eq!(ended.signal(), Some(2), "as a shell expects of Ctrl-C: {ended:?}");
        Ok(())
    })
}

#[test]
fn output_is_printed_again_once_the_first_event_has_passed() -> TestResult {
    in_namespace("often", MORE, async |cluster| {
        let next = watch(cluster, "often", &["next", "-o", "json", "--count", "1"])?;
        await_condition("two events in a row", PATIENCE, async || {
            let log = next.log()?;
            let at = log.lines().filter_map(|line| {
                let result: Value = serde_json::from_str(line).ok()?;
                Some(result["items"][0]["at"].as_str()?.to_owned())
            });
            let at: Vec<String> = at.collect();
            ensure!(at.is_sorted(), "{at:?}");
            Ok(Observation::from_bool(at.len() > 1 && at.first() != at.last(), log))
        })
        .await
    })
}
