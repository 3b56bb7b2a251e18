//! The four stories of placements and the story of their expressions, page by page and word for word. They run on a
//! real API server, with the permissions of the manifests. A user writes the scores instead of agents.

use crate::controller::{Cluster, on_cluster};
use crate::documented::run_section;
use almanac_harness::{Kubectl, Observation, OwnTest, PATIENCE, TestResult, await_condition};
use anyhow::ensure;
use jiff::Timestamp;

const SETTING_UP: &str = "docs/placements.md";

/// A hub as set up by the page, and a process that reconciles placements.
fn on_hub(story: impl AsyncFnOnce(&OwnTest, &Cluster, &Kubectl) -> TestResult) -> TestResult {
    on_cluster(async |test, cluster| {
        let kubectl = test.kubectl().await?;
        run_section(test, &kubectl, (SETTING_UP, "Set up")).await?;
        let now = Timestamp::now().to_string();
        let only = ["--controllers=placement", "--leader-elect=false"];
        let controller = cluster.start_at(&now, &only).await?;
        story(test, cluster, &kubectl).await?;
        controller.stop().await
    })
}

#[test]
fn scores_of_agents_select_until_they_expire() -> TestResult {
    const PAGE: &str = "docs/placements-by-pushed-scores.md";
    on_hub(async |test, _, kubectl| {
        run_section(test, kubectl, (PAGE, "Try it")).await?;
        let output = run_section(test, kubectl, (PAGE, "When an agent falls silent")).await?;
        // The Event comes a moment after the decision, so the page may show it or not.
        await_condition("the Event of the decision", PATIENCE, async || {
            let output = kubectl.run(&["events", "-n", "shop", "--for", "placement/idle"]).await?;
            Ok(Observation::from_bool(output.contains("added north; removed east"), output))
        })
        .await?;
        ensure!(output.contains("usage/cpuratio counts 0: it was valid until"), "{output}");
        ensure!(output.contains("clusters is north, west"), "{output}");
        Ok(())
    })
}

#[test]
fn scores_computed_on_the_hub_select_and_can_be_tried_before_they_are_written() -> TestResult {
    const PAGE: &str = "docs/placements-by-hub-metrics.md";
    on_hub(async |test, _, kubectl| {
        run_section(test, kubectl, (PAGE, "Try it")).await?;
        let output = run_section(test, kubectl, (PAGE, "What if the numbers change")).await?;
        ensure!(output.contains("clusters is north"), "{output}");
        ensure!(output.contains("capacity/memory -34 x 10"), "{output}");
        Ok(())
    })
}

#[test]
fn a_workload_leaves_a_failed_primary_and_returns_after_its_recovery() -> TestResult {
    const PAGE: &str = "docs/placements-for-disaster-recovery.md";
    on_hub(async |test, _, kubectl| {
        run_section(test, kubectl, (PAGE, "Try it")).await?;
        let output = run_section(test, kubectl, (PAGE, "The primary is down")).await?;
        ensure!(output.contains("clusters east → west"), "{output}");
        run_section(test, kubectl, (PAGE, "The primary is back")).await?;
        Ok(())
    })
}

#[test]
fn expressions_select_by_objects_of_clusters_and_follow_their_changes() -> TestResult {
    on_hub(async |test, _, kubectl| {
        let output = run_section(test, kubectl, (SETTING_UP, "By an expression")).await?;
        ensure!(output.contains(">= 0 is false"), "{output}");
        ensure!(
            output.contains("has no result: \"unknown\" is not a valid semantic version"),
            "{output}"
        );
        let output =
            run_section(test, kubectl, (SETTING_UP, "Before you apply a placement")).await?;
        ensure!(output.contains("clusters is east, north"), "{output}");
        Ok(())
    })
}

#[test]
fn each_placement_weights_the_ratings_of_a_third_party_itself() -> TestResult {
    const PAGE: &str = "docs/placements-by-third-party-scores.md";
    on_hub(async |test, _, kubectl| {
        let output = run_section(test, kubectl, (PAGE, "Try it")).await?;
        ensure!(output.contains("total 190") && output.contains("total 180"), "{output}");
        run_section(test, kubectl, (PAGE, "When a cluster is taken out")).await?;
        Ok(())
    })
}
