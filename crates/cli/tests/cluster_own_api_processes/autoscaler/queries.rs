//! Autoscalers with the numbers of a real Prometheus scale soon after a boundary, and never by an invalid number.
//! Prometheus fails in every way, and the autoscalers recover.

use almanac_harness::{
    Fault, FaultProxy, Injected, InjectedResponse, PATIENCE, Prometheus, PrometheusPlace,
    TestResult,
};
use anyhow::{Context as _, Result, ensure};
use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use serde_json::Value;

use crate::autoscaler::autoscalers::{
    NAMESPACE, autoscale, await_condition_of, await_replicas, scalings, schedule, scheduled,
};
use crate::autoscaler::readings::Readings;
use crate::controller::{
    AUTOSCALER, Cluster, Controller, DEPLOYMENT, condition, head_start, on_cluster,
};
use crate::documented::run_section;

const BOUNDARY: &str = "2026-11-30T09:00:00Z";
/// The scrape interval of Prometheus.
const SCRAPE_INTERVAL: SignedDuration = SignedDuration::from_secs(1);
const QUERY_PERIOD: SignedDuration = SignedDuration::from_secs(2);
/// An allowance for a busy machine.
const SLACK: SignedDuration = SignedDuration::from_secs(17);

/// The controllers, whose connection to Prometheus can fail on request.
struct Stage<'a> {
    cluster: &'a Cluster,
    controller: Controller,
    prometheus: Prometheus,
    way: FaultProxy,
    readings: Readings,
    /// The replicas to which the target has been scaled, in order.
    scaled_to: Vec<u32>,
}

impl<'a> Stage<'a> {
    async fn set(cluster: &'a Cluster) -> Result<Self> {
        let place = PrometheusPlace::reserve()?;
        let way = FaultProxy::start(Client::try_from(kube::Config::new(place.url().parse()?))?)?;
        let (address, period) =
            (format!("--prometheus-uri={}", way.url()), format!("--query-period={QUERY_PERIOD}"));
        // Prometheus must have scraped the old number before the boundary.
        let before = BOUNDARY.parse::<Timestamp>()? - head_start() * 3;
        let controller = cluster.start_at(&before.to_string(), &[&address, &period]).await?;
        let readings = Readings::serve().await?;
        let targets = [controller.program.address()?, readings.address()];
        let prometheus = place.start_honoring_labels(&targets).await?;
        Ok(Self { cluster, controller, prometheus, way, readings, scaled_to: Vec::new() })
    }

    /// Waits until the target has the value of the gauge, and checks that no other value was ever set.
    async fn await_scaled(&mut self, replicas: u32) -> TestResult {
        await_replicas(self.cluster, (DEPLOYMENT, NAMESPACE, "tide"), replicas).await?;
        self.scaled_to.push(replicas);
        let fine = ["Active", "True", "MetricsAvailable"];
        await_condition_of(self.cluster, "tide", fine).await?;
        let writes = scalings(self.cluster, "tide").await?;
        ensure!(writes.len() == self.scaled_to.len(), "{:?}: {writes:#?}", self.scaled_to);
        Ok(())
    }

    /// Waits until the condition reports the problem.
    async fn await_message(&self, message: &str) -> TestResult {
        let is_reported = |object: &Value| {
            let [holds, reason, text] = condition(&object["status"], "Active");
            [holds, reason] == ["False", "MetricUnavailable"] && text.contains(message)
        };
        let what = format!("to report {message:?}");
        self.cluster.await_object(AUTOSCALER, (NAMESPACE, "tide"), &what, is_reported).await?;
        Ok(())
    }

    /// Breaks the connection to Prometheus while a scaling is due, then repairs the connection.
    async fn fail(&mut self, fault: Fault, message: &str, replicas: u32) -> TestResult {
        let fault: Injected = self.way.inject(fault.always());
        self.readings.publish(&self.prometheus, &[&replicas.to_string()]).await?;
        self.await_message(message).await?;
        fault.release();
        self.await_scaled(replicas).await
    }
}

#[test]
fn a_boundary_scales_within_a_scrape_and_a_period_and_only_by_a_number() -> TestResult {
    on_cluster(async |test, cluster| {
        schedule(cluster, "hours", 7).await?;
        autoscale(cluster, "shop", (2, &scheduled(cluster, "hours")), &Value::Null).await?;
        let mut stage = Stage::set(cluster).await?;
        the_boundary_is_followed(&stage).await?;

        autoscale(cluster, "tide", (1, "tide"), &Value::Null).await?;
        stage.await_message("tide selects nothing").await?;
        stage.readings.show(&["3"]);
        stage.await_scaled(3).await?;
        let wrong: [(&[&str], &str); 4] = [
            (&["40", "40"], "tide yields 2 samples instead of one"),
            (&[], "tide selects nothing"),
            (&["NaN"], "tide does not yield a finite number"),
            (&["+Inf"], "tide does not yield a finite number"),
        ];
        for ((values, message), healed) in wrong.into_iter().zip(4..) {
            stage.readings.publish(&stage.prometheus, values).await?;
            stage.await_message(message).await?;
            stage.readings.show(&[&healed.to_string()]);
            stage.await_scaled(healed).await?;
        }
        let kubectl = test.kubectl().await?;
        prometheus_itself_fails(&mut stage, async || {
            let page = "docs/failures/a-query-has-no-number.md";
            run_section(test, &kubectl, (page, "# A query has no number")).await
        })
        .await?;
        stage.controller.stop().await
    })
}

/// Uses the instant of the response in the audit log.
async fn the_boundary_is_followed(stage: &Stage<'_>) -> TestResult {
    let query = format!("{} == 2", scheduled(stage.cluster, "hours"));
    stage.prometheus.await_sample(&query, PATIENCE).await?;
    let boundary: Timestamp = BOUNDARY.parse()?;
    stage.controller.ensure_still_before(BOUNDARY)?;
    await_replicas(stage.cluster, (DEPLOYMENT, NAMESPACE, "shop"), 7).await?;
    let writes = scalings(stage.cluster, "shop").await?;
    let [write] = &writes[..] else { anyhow::bail!("scaled more than once: {writes:?}") };
    let late = stage.controller.time_of(write)?.duration_since(boundary);
    eprintln!(
        "scaled {late:#} after the boundary, by a Prometheus that is queried every {QUERY_PERIOD:#}"
    );
    ensure!(!late.is_negative(), "scaled {late:#} too early");
    ensure!(late < SCRAPE_INTERVAL + QUERY_PERIOD + SLACK, "scaled {late:#} after the boundary");
    Ok(())
}

async fn prometheus_itself_fails(
    stage: &mut Stage<'_>,
    command: impl AsyncFnOnce() -> Result<String>,
) -> TestResult {
    stage.prometheus.kill()?;
    stage.await_message("tide was not answered: ").await?;
    let printed = command().await?;
    ensure!(printed.contains("metrics[0]: tide was not answered: "), "{printed}");
    stage.prometheus.start_again().await?;
    stage.readings.show(&["8"]);
    stage.await_scaled(8).await?;

    let broken = InjectedResponse::with(StatusCode::INTERNAL_SERVER_ERROR);
    stage.fail(Fault::respond(broken), "Prometheus answered 500", 9).await?;
    let page = InjectedResponse::page(StatusCode::OK, "<html>Please log in</html>");
    let not_prometheus = "the response is not from the Prometheus API";
    stage.fail(Fault::respond(page), not_prometheus, 10).await?;
    stage.fail(Fault::hang(), "Prometheus did not respond within", 11).await?;
    stage.fail(Fault::refuse(), "failed to reach Prometheus", 12).await?;
    let events = stage.cluster.events(NAMESPACE, "tide").await?;
    let warning = |event: &&String| event.starts_with("Warning MetricUnavailable: ");
    let warning = events.iter().find(warning).context("no Event")?;
    ensure!(warning.ends_with("; nothing is scaled"), "{warning}");
    Ok(())
}
