//! A tenant with more policies than the extender considers: others are scheduled, and messages stay short.

use almanac_harness::{
    ControlPlaneOptions, Observation, PATIENCE, TestResult, await_condition, on_own_control_plane,
};
use anyhow::Context as _;
use serde_json::{Value, json};

use crate::extender::scene::Scene;
use crate::extender::stage::{Stage, pod, policy, unit_nodes};
use crate::reading::{await_value, get};

const POLICIES: usize = 1_500;

fn of_every_pod(number: usize) -> Value {
    let mut policy = policy("shop", "required", &[("best", 1, Some(1))]);
    policy["metadata"]["name"] = json!(format!("p{number:04}-{}", "x".repeat(244)));
    policy["spec"]["podSelector"] = json!({});
    policy
}

/// The memory limit of the leader, in bytes.
async fn resident(stage: &Stage) -> anyhow::Result<f64> {
    let (_, text) = stage.extender(stage.deciding().await?).program.get("/metrics").await?;
    let line = text.lines().find_map(|it| it.strip_prefix("process_resident_memory_bytes "));
    Ok(line.context("the metric is missing")?.parse()?)
}

#[test]
fn only_the_oldest_policies_of_a_namespace_apply_without_effect_on_others() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::whole(), async |test| {
        let _simulator = test.nodes(&[unit_nodes("best", 200)]).await?;
        let stage = Stage::set(test).await?;
        stage.start_extender().await?;
        let scene = Scene::whole(test).await?;
        scene.await_nodes().await?;
        let elsewhere = scene.in_namespace("elsewhere").await?;
        elsewhere.govern(&policy("shop", "required", &[("best", 1, Some(1))])).await?;
        let all: Vec<Value> = (0..POLICIES).map(of_every_pod).collect();
        let all = json!({"apiVersion": "v1", "kind": "List", "items": all}).to_string();
        scene.kubectl.run_with_input(&["create", "-f", "-"], &all).await?;
        let last = of_every_pod(POLICIES - 1)["metadata"]["name"].clone();
        let last = ["resourcepolicy", last.as_str().context("a policy without a name")?];
        let reason = "/status/conditions/0/reason";
        await_value(&scene.kubectl, &last, reason, &json!("TooManyPolicies")).await?;

        scene.apply(&pod("selected", "shop")).await?;
        await_condition("the pod to wait for one policy", PATIENCE, async || {
            let actual = get(&scene.kubectl, &["pod", "selected"]).await?;
            let why = actual["status"]["conditions"][0]["message"].as_str().unwrap_or_default();
            let is_so = why.contains("64 ResourcePolicies select the pod") && why.len() < 2_500;
            Ok(Observation::from_bool(is_so, format!("{} bytes: {why}", why.len())))
        })
        .await?;
        elsewhere.apply(&pod("free", "shop")).await?;
        let (free, phase) = (["pod", "free"], "/status/phase");
        await_value(&elsewhere.kubectl, &free, phase, &json!("Running")).await?;
        let resident = resident(&stage).await?;
        println!("{resident} bytes resident");
        assert!(resident < 200e6, "{resident} bytes");
        scene.kubectl.run(&["delete", "pod", "selected", "--now"]).await?;
        scene.kubectl.run(&["delete", "resourcepolicies", "--all"]).await?;
        scene.check_export().await
    })
}
