//! Autoscalers of three namespaces whose queries hang: an autoscaler in a fourth namespace follows within two periods.

use std::time::{Duration, Instant};

use almanac_fixtures::objects;
use almanac_harness::{
    Fault, FaultProxy, Observation, PATIENCE, PrometheusPlace, RecordedRequest, TestResult,
    await_condition,
};
use anyhow::ensure;
use kube::Client;
use serde_json::{Value, json};

use crate::autoscaler::autoscalers::{NAMESPACE, autoscale, await_replicas};
use crate::autoscaler::readings::Readings;
use crate::controller::{Cluster, DEPLOYMENT, on_cluster, target};

const NOW: &str = "2026-11-30T09:10:00Z";
const NOISY: [&str; 3] = ["noisy-a", "noisy-b", "noisy-c"];
/// The number of autoscalers in each of these namespaces: enough to use all permits.
const HANGING: usize = 20;
/// A query keeps its permit for at most 8 s, so a query starts within two periods of the previous query.
const PERIOD: Duration = Duration::from_secs(10);
/// The measured queries of the healthy autoscaler.
const QUERIES: usize = 4;

async fn create_hanging(cluster: &Cluster, namespace: &str) -> TestResult {
    cluster.namespace(namespace).await?;
    let one = |number: usize| {
        let name = format!("shop-{number}");
        let workload = target("apps/v1", "Deployment", &name);
        let query = format!("noise + {number}");
        let mut object = objects::horizontal_autoscaler(&name, &workload, &query);
        object["metadata"]["namespace"] = namespace.into();
        object
    };
    let all: Vec<Value> = (0..HANGING).map(one).collect();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": all });
    cluster.create_text(namespace, &list.to_string()).await
}

#[test]
fn hanging_queries_do_not_delay_an_autoscaler_of_another_namespace() -> TestResult {
    on_cluster(async |_, cluster| {
        let place = PrometheusPlace::reserve()?;
        let way = FaultProxy::start(Client::try_from(kube::Config::new(place.url().parse()?))?)?;
        let address = format!("--prometheus-uri={}", way.url());
        let period = format!("--query-period={}s", PERIOD.as_secs());
        let controller = cluster.start_at(NOW, &[&address, &period]).await?;
        let readings = Readings::serve().await?;
        let prometheus = place.start_honoring_labels(&[readings.address()]).await?;
        let is_noise = |request: &RecordedRequest| request.query.contains("noise");
        let hanging = way.inject(Fault::hang().matching(is_noise).always());
        for namespace in NOISY {
            create_hanging(cluster, namespace).await?;
        }
        await_condition("queries to hang", PATIENCE, async || {
            Ok(Observation::from_bool(hanging.taken() >= 16, hanging.taken()))
        })
        .await?;

        autoscale(cluster, "tide", (1, "tide"), &Value::Null).await?;
        readings.publish(&prometheus, &["3"]).await?;
        await_replicas(cluster, (DEPLOYMENT, NAMESPACE, "tide"), 3).await?;
        way.clear();
        let sent = || -> Vec<Instant> {
            let requests = way.requests();
            requests.iter().filter(|it| !is_noise(it)).map(|it| it.at).collect()
        };
        await_condition("queries of the healthy autoscaler", PATIENCE, async || {
            Ok(Observation::from_bool(sent().len() >= QUERIES, sent().len()))
        })
        .await?;
        let pauses: Vec<Duration> =
            sent().windows(2).map(|pair| pair[1].duration_since(pair[0])).collect();
        eprintln!("{} queries hung; the healthy ones are {pauses:.1?} apart", hanging.taken());
        ensure!(pauses.iter().all(|pause| *pause < 2 * PERIOD), "{pauses:?}");
        readings.publish(&prometheus, &["4"]).await?;
        await_replicas(cluster, (DEPLOYMENT, NAMESPACE, "tide"), 4).await?;
        controller.stop().await
    })
}
