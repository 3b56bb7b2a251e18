//! Many autoscalers: each queries Prometheus once a period, at spread instants.
//!
//! `ALMANAC_AUTOSCALERS` is their number, for the figures that it prints, and `ALMANAC_QUERY_SECONDS` the period.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use almanac_fixtures::objects;
use almanac_fixtures::trials::size;
use almanac_harness::{
    FaultProxy, Observation, PATIENCE, PrometheusPlace, RecordedRequest, TestResult,
    await_condition,
};
use anyhow::{Context as _, ensure};
use kube::Client;
use serde_json::{Value, json};

use crate::autoscaler::autoscalers::{schedule, scheduled};
use crate::controller::{Cluster, DEPLOYMENT, deployment, on_cluster, target};

const NOW: &str = "2026-11-30T09:10:00Z";
const REPLICAS: u32 = 7;
/// The default of `--query-period`, in seconds.
const PERIOD: u64 = 10;
/// The number of observed periods.
const PERIODS: usize = 3;
/// The tolerance for the delay between a request and its observation. Less than half a period.
const JITTER: Duration = Duration::from_secs(4);
/// The maximum number of concurrent creations of objects.
const AT_ONCE: usize = 200;

/// An autoscaler with a unique query, so that queries can be distinguished.
fn autoscaler(number: usize, query: &str) -> [Value; 2] {
    let name = format!("shop-{number}");
    let workload = target("apps/v1", "Deployment", &name);
    let query = format!("{query} + {number} - {number}");
    [deployment(&name, 1), objects::horizontal_autoscaler(&name, &workload, &query)]
}

async fn make_all(cluster: &Cluster, count: usize) -> TestResult {
    let query = scheduled(cluster, "hours");
    let all: Vec<Value> = (0..count).flat_map(|number| autoscaler(number, &query)).collect();
    for some in all.chunks(2 * AT_ONCE) {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": some });
        cluster.create_text(cluster.home(), &list.to_string()).await?;
    }
    Ok(())
}

async fn await_all_scaled(cluster: &Cluster) -> TestResult {
    await_condition("all targets to be scaled", PATIENCE, async || {
        let all = cluster.list(DEPLOYMENT, cluster.home()).await?;
        let scaled = all.iter().filter(|it| it["spec"]["replicas"] == REPLICAS).count();
        Ok(Observation::from_bool(scaled == all.len(), format!("{scaled} of {} are", all.len())))
    })
    .await
}

#[test]
fn each_of_many_autoscalers_queries_once_a_period_at_spread_instants() -> TestResult {
    on_cluster(async |_, cluster| {
        let count = size("ALMANAC_AUTOSCALERS", 40, 1_000);
        let period = Duration::from_secs(size("ALMANAC_QUERY_SECONDS", PERIOD, PERIOD));
        schedule(cluster, "hours", REPLICAS).await?;
        let place = PrometheusPlace::reserve()?;
        let way = FaultProxy::start(Client::try_from(kube::Config::new(place.url().parse()?))?)?;
        let address = format!("--prometheus-uri={}", way.url());
        let query_period = format!("--query-period={}s", period.as_secs());
        let controller = cluster.start_at(NOW, &[&address, &query_period]).await?;
        let targets = [controller.program.address()?];
        let prometheus = place.start_honoring_labels(&targets).await?;
        let query = format!("{} == {REPLICAS}", scheduled(cluster, "hours"));
        prometheus.await_sample(&query, PATIENCE).await?;
        let before = controller.program.resident_memory()?;
        make_all(cluster, count).await?;
        let created_at = Instant::now();
        await_all_scaled(cluster).await?;
        eprintln!(
            "{count} targets were scaled {:.1?} after the last was made",
            created_at.elapsed()
        );

        way.clear();
        let queries = count * PERIODS;
        await_condition(&format!("{queries} queries"), PATIENCE, async || {
            let requests = way.requests().len();
            Ok(Observation::from_bool(requests >= queries, requests))
        })
        .await?;
        let after = controller.program.resident_memory()?;
        let each = after.saturating_sub(before) / count as u64;
        eprintln!("{} MB before, {} MB with them: {each} bytes each", before >> 20, after >> 20);
        they_are_spread(&way.requests(), (count, period))?;
        controller.stop().await
    })
}

fn they_are_spread(requests: &[RecordedRequest], (count, period): (usize, Duration)) -> TestResult {
    let first = requests.first().context("no query was sent")?.at;
    let mut by_second: Vec<usize> = Vec::new();
    let mut by_query: BTreeMap<&str, Vec<Instant>> = BTreeMap::new();
    for request in requests {
        let second = usize::try_from(request.at.duration_since(first).as_secs())?;
        by_second.resize(by_second.len().max(second + 1), 0);
        by_second[second] += 1;
        by_query.entry(&request.query).or_default().push(request.at);
    }
    // The last second is incomplete.
    by_second.pop();
    eprintln!("queries in each second: {by_second:?}");
    ensure!(by_query.len() == count, "{} of {count} queries were sent", by_query.len());
    for (query, instants) in &by_query {
        for pair in instants.windows(2) {
            let apart = pair[1].duration_since(pair[0]);
            ensure!(apart + JITTER >= period, "{query} was sent again after {apart:?}");
        }
    }
    let most = by_second.iter().max().context("it took no second")?;
    let seconds = usize::try_from(period.as_secs())?;
    ensure!(most * seconds <= count * 5, "{most} of {count} queries in one second: {by_second:?}");
    Ok(())
}
