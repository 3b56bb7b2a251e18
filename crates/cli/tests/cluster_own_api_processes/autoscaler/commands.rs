//! The page about autoscalers, word for word.

use almanac_harness::{PATIENCE, PrometheusPlace, TestResult};
use anyhow::ensure;
use jiff::Timestamp;

use crate::controller::on_cluster;
use crate::documented::run_section;

const PAGE: &str = "docs/autoscaler.md";

#[test]
fn the_commands_of_the_page_scale_a_deployment_with_and_without_a_prometheus() -> TestResult {
    on_cluster(async |test, cluster| {
        let kubectl = test.kubectl().await?;
        let now = Timestamp::now().to_string();
        let controller = cluster.start_at(&now, &[]).await?;
        let section = (PAGE, "Without a Prometheus");
        let printed = run_section(test, &kubectl, section).await?;
        ensure!(printed.contains("ScaleDownStabilized"), "{printed}");
        controller.stop().await?;

        let place = PrometheusPlace::reserve()?;
        let address = format!("--prometheus-uri={}", place.url());
        let controller = cluster.start_at(&now, &[&address]).await?;
        let prometheus = place.start_honoring_labels(&[controller.program.address()?]).await?;
        prometheus.await_sample("karpenter_scheduled_capacity", PATIENCE).await?;
        run_section(test, &kubectl, (PAGE, "With a Prometheus")).await?;
        controller.stop().await
    })
}
