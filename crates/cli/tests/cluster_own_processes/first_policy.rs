//! The page about the first policy, word for word: its commands lead from an empty cluster to a Deployment that a rule
//! has scaled. The other examples for plain Kubernetes also apply there.

use almanac_harness::{
    ControlPlaneOptions, NodeSpec, OwnTest, Program, TestResult, on_own_control_plane,
};
use anyhow::{Context as _, ensure};
use serde_json::json;

use crate::documented::{ROOT, run_section, shell_blocks};
use crate::reading::{await_value, get};

const PAGE: &str = "docs/first-policy.md";
const POLICY: [&str; 2] = ["cronfederatedhpa", "office-hours"];

#[test]
fn the_first_policy_scales_a_deployment_as_its_page_describes() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::whole(), async |test| {
        let _nodes = test.nodes(&[NodeSpec::named("node")]).await?;
        let kubectl = test.kubectl().await?;
        let section = async |heading| run_section(test, &kubectl, (PAGE, heading)).await;
        section("Apply it").await?;
        let controllers = start_controllers(test)?;
        let status = section("Read the status").await?;
        for expected in ["office-hours", "Deployment", "NEXT", "READY", "True", "morning fires"] {
            ensure!(status.contains(expected), "{expected:?} is missing: {status}");
        }
        let web = get(&kubectl, &["deployment", "web"]).await?;
        ensure!(web["spec"]["replicas"] == json!(1), "a rule fired for the past: {web}");

        section("See a rule fire").await?;
        let rules = get(&kubectl, &POLICY).await?["spec"]["rules"].clone();
        let names: Vec<_> = rules.as_array().into_iter().flatten().map(|it| &it["name"]).collect();
        ensure!(names == ["morning", "evening"], "{rules}");
        await_value(&kubectl, &["deployment", "web"], "/spec/replicas", &json!(3)).await?;

        let bounds = format!("{ROOT}/examples/office-hours/autoscaler.yaml");
        kubectl.run(&["apply", "-f", &bounds]).await?;
        let policy = ["cronfederatedhpa", "api-office-hours"];
        await_value(&kubectl, &policy, "/status/conditions/1/status", &json!("True")).await?;
        kubectl.run(&["delete", "-f", &bounds]).await?;
        ensure!(controllers.stop().await?.success(), "{}", controllers.log()?);
        section("Clean up").await?;
        Ok(())
    })
}

/// The controllers as the page starts them, with the kubeconfig of this cluster.
fn start_controllers(test: &OwnTest) -> anyhow::Result<Program> {
    let blocks = shell_blocks(PAGE, "Start the controllers")?;
    let command = blocks[0].trim().strip_prefix("almanac ").context("the binary under test")?;
    let words: Vec<&str> = command.split_whitespace().collect();
    let kubeconfig = test.plane.kubeconfig().display().to_string();
    let environment = [("KUBECONFIG", &*kubeconfig)];
    Program::start_listening(env!("CARGO_BIN_EXE_almanac").as_ref(), &words, &environment)
}
