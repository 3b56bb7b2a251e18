//! The page about units in a cluster: the test runs its commands, and checks the documented results.

use almanac_harness::{
    ControlPlaneOptions, NodeSpec, Observation, PATIENCE, TestResult, await_condition,
    on_own_control_plane,
};
use anyhow::Context as _;
use serde_json::json;

use crate::documented::{run_section, shell, shell_blocks};
use crate::extender::rights::{compare_rights, use_rights};
use crate::extender::scene::Scene;
use crate::extender::stage::{ACCOUNT, SCHEDULER_NAME, Stage, pod, unit_nodes};
use crate::reading::{await_value, get};

const PAGE: &str = "docs/units-in-a-cluster.md";

#[test]
fn the_installation_of_the_page_works_with_its_permissions() -> TestResult {
    let options = ControlPlaneOptions::whole().audited_with_reads_of(ACCOUNT);
    on_own_control_plane(&options, async |test| {
        let nodes =
            [NodeSpec::named("worker").count(4), unit_nodes("best", 1), unit_nodes("worst", 1)];
        let _simulator = test.nodes(&nodes).await?;
        let kubectl = test.kubectl().await?;
        run_section(test, &kubectl, (PAGE, "Install")).await?;
        let stage = Stage::installed(test, kubectl).await?;
        stage.begin().await?;
        stage.start_extender().await?;
        run_section(test, &stage.kubectl, (PAGE, "Try it")).await?;
        // Terminating pods are in the table as well.
        let last = shell_blocks(PAGE, "Try it")?.pop().context("a block")?;
        await_condition("the table to have three reserved pods", PATIENCE, async || {
            let printed = shell(test, &stage.kubectl, &last).await?.stdout;
            let printed = String::from_utf8_lossy(&printed);
            let (_, table) = printed.rsplit_once("UNIT\n").context("a table")?;
            let units: Vec<&str> =
                table.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
            Ok(Observation::from_bool(units == ["reserved"; 3], &printed))
        })
        .await?;
        let output = run_section(test, &stage.kubectl, (PAGE, "Ask why")).await?;
        let here = "in unit \"reserved\" of ResourcePolicy default/shop (3 of 3 pods)";
        assert_eq!(output.matches(here).count(), 3, "{output}");
        assert!(output.contains("unitPods is rented 0, reserved 3"), "{output}");

        let scene = Scene::whole(test).await?;
        use_rights(&stage, &scene).await?;
        only_its_own_pods_wait_for_the_extender(&stage, &scene).await?;
        scene.check_export().await?;
        stage.stop().await?;
        compare_rights(test, &scene).await?;

        run_section(test, &stage.kubectl, (PAGE, "Uninstall")).await?;
        let namespaces = get(&stage.kubectl, &["namespaces"]).await?;
        let names = namespaces["items"].as_array().context("a list")?.iter();
        let mut names = names.map(|it| &it["metadata"]["name"]);
        assert!(!names.any(|name| *name == "almanac-scheduler"), "{namespaces}");
        Ok(())
    })
}

async fn only_its_own_pods_wait_for_the_extender(stage: &Stage, scene: &Scene) -> TestResult {
    let kubectl = &scene.kubectl;
    stage.kill(0)?;
    stage.kill(1)?;
    let mut usual = pod("usual", "other");
    usual["spec"]["schedulerName"] = json!("default-scheduler");
    scene.apply(&usual).await?;
    let phase = "/status/phase";
    await_value(kubectl, &["pod", "usual"], phase, &json!("Running")).await?;
    // Pods without a policy are pending as well.
    for (name, app) in [("ours", "used"), ("free", "other")] {
        scene.apply(&pod(name, app)).await?;
        await_condition("the event of a pod that waits for the extender", PATIENCE, async || {
            let pod_events = ["events", "--field-selector", &format!("involvedObject.name={name}")];
            let events = get(kubectl, &pod_events).await?.to_string();
            Ok(Observation::from_bool(events.contains("connection refused"), events))
        })
        .await?;
    }
    stage.start_again(0)?;
    stage.start_again(1)?;
    for name in ["ours", "free"] {
        await_value(kubectl, &["pod", name], phase, &json!("Running")).await?;
        let pod = get(kubectl, &["pod", name]).await?;
        assert_eq!(pod["spec"]["schedulerName"], SCHEDULER_NAME);
    }
    let ours = get(kubectl, &["pod", "ours"]).await?;
    assert_eq!(ours["metadata"]["annotations"]["almanac.dev/unit"], "worst", "{ours}");
    Ok(())
}
