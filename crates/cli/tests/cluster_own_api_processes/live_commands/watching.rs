//! `--watch` over a cluster: an answer is printed again when it changes, and only then.

use std::os::unix::process::ExitStatusExt as _;

use crate::live::{apply, prepare};
use almanac_harness::{
    ControlPlaneOptions, Kubectl, Observation, OwnTest, PATIENCE, Program, TestResult,
    await_condition, on_own_control_plane,
};
use anyhow::ensure;
use serde_json::{Value, json};

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

fn watch(test: &OwnTest, arguments: &[&str]) -> anyhow::Result<Program> {
    let kubeconfig = test.plane.kubeconfig().display().to_string();
    let usual = ["-n", "watched", "--watch", "--kubeconfig", &kubeconfig];
    let environment = [("NO_COLOR", "1"), ("COLUMNS", "100")];
    let arguments = [arguments, &usual].concat();
    Program::start(env!("CARGO_BIN_EXE_almanac").as_ref(), &arguments, &environment)
}

async fn set_replicas(kubectl: &Kubectl, count: u32) -> TestResult {
    let patch = json!({"spec": {"rules": [{
        "name": "new-year", "schedule": "0 0 1 1 *", "targetReplicas": count,
    }]}});
    let patch = patch.to_string();
    let command =
        ["-n", "watched", "patch", "cronfederatedhpa/watched", "--type=merge", "-p", &patch];
    kubectl.run(&command).await?;
    Ok(())
}

/// The values that the first rule of the answers sets, one for each answer.
fn answers(program: &Program) -> anyhow::Result<Vec<Value>> {
    let log = program.log()?;
    let lines = log.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    Ok(lines.iter().map(|it| it["items"][0]["to"].clone()).collect())
}

#[test]
fn an_answer_is_printed_again_when_objects_change_and_only_then() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let kubectl = test.kubectl().await?;
        prepare(&kubectl).await?;
        kubectl.run(&["create", "namespace", "watched"]).await?;
        apply(&kubectl, "watched", POLICY).await?;
        let next = watch(test, &["next", "-o", "json"])?;
        let text = watch(test, &["next"])?;
        let forecast = watch(test, &["forecast", "--for", "2y"])?;
        next.await_log("\"to\":1111").await?;
        text.await_log("1111").await?;
        forecast.await_log("1111").await?;
        // What changes no answer prints none.
        kubectl.run(&["-n", "watched", "annotate", "cronfederatedhpa/watched", "a=b"]).await?;
        for count in [2222, 3333] {
            set_replicas(&kubectl, count).await?;
            next.await_log(&format!("\"to\":{count}")).await?;
            text.await_log(&count.to_string()).await?;
            forecast.await_log(&count.to_string()).await?;
        }
        assert_eq!(answers(&next)?, [json!(1111), json!(2222), json!(3333)]);
        assert_eq!(text.log()?.matches("\n--- ").count(), 2, "{}", text.log()?);
        let ended = next.interrupt().await?;
        assert_eq!(ended.signal(), Some(2), "as a shell expects of Ctrl-C: {ended:?}");
        Ok(())
    })
}

#[test]
fn an_answer_is_printed_again_once_the_first_event_has_passed() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let kubectl = test.kubectl().await?;
        prepare(&kubectl).await?;
        kubectl.run(&["create", "namespace", "watched"]).await?;
        apply(&kubectl, "watched", MORE).await?;
        let next = watch(test, &["next", "-o", "json", "--count", "1"])?;
        await_condition("two events in a row", PATIENCE, async || {
            let log = next.log()?;
            let at = log.lines().filter_map(|line| {
                let answer: Value = serde_json::from_str(line).ok()?;
                Some(answer["items"][0]["at"].as_str()?.to_owned())
            });
            let at: Vec<String> = at.collect();
            ensure!(at.is_sorted(), "{at:?}");
            Ok(Observation::of(at.len() > 1 && at.first() != at.last(), log))
        })
        .await
    })
}
