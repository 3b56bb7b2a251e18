//! Large objects, many of them, and many concurrent changes.

use std::time::{Duration, Instant};

use almanac_api::kinds::Kind;
use almanac_fixtures::{hub, objects, trials};
use almanac_harness::{Observation, PATIENCE, TestResult, await_condition};
use anyhow::Context as _;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::json;

use crate::controller::memory_in;
use crate::webhook::desk::{Desk, at_the_desk, await_refusal, cron, in_shop};

/// The number of existing policies in addition to the reviewed ones, and the number of applied policies.
const POLICIES: &str = "ALMANAC_WEBHOOK_POLICIES";

const MANIFEST: &str = include_str!("../../../../../deploy/webhook/webhook.yaml");

/// A size below the limit of an API server and etcd, which is 1.5 MiB.
const LARGE: usize = 1_400_000;

async fn a_large_object_gets_a_response(desk: &Desk<'_>) -> TestResult {
    let values: Vec<String> =
        (0..LARGE / 26).map(|number| format!("a-value-of-a-label-{number}")).collect();
    let selector = json!({
        "labelSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": values}]},
        "celSelector": {"celExpressions": ["managedCluster.nothing("]},
    });
    let large = json!({"predicates": [{"requiredClusterSelector": selector}]});
    let applied = desk.apply(&in_shop(hub::placement("large", &large))).await?;
    let stderr: String = applied.stderr.chars().take(2000).collect();
    assert!(!applied.is_done && stderr.contains("celExpressions[0]"), "{stderr}");
    Ok(())
}

/// Objects of a user that would exceed the memory of a process, if the process parsed and compiled all their content.
async fn hostile_objects_get_a_response_within_the_memory_of_the_manifest(
    desk: &Desk<'_>,
) -> TestResult {
    let anchors = (0..120).map(|level| format!("[&a{level} ")).collect::<Vec<_>>().concat();
    let nested = format!("x: {anchors}[{}]{}", "1,".repeat(180_000), "]".repeat(120));
    let mut levels = in_shop(objects::agent_config(&[]));
    levels["data"]["config.yaml"] = json!(nested);
    let patterns = |metric: usize| -> String {
        let one = |it: usize| format!("name=~\"(a?b?){{{}}}{metric}\",", 800 + it);
        (0..180).map(one).collect()
    };
    let target = objects::target("apps/v1", "Deployment", "web");
    let mut scaled = objects::horizontal_autoscaler("hostile", &target, "1");
    scaled["metadata"]["namespace"] = json!("shop");
    let metric = &scaled["spec"]["metrics"][0];
    let metrics = (0..32).map(|number| {
        let mut metric = metric.clone();
        let query = format!("max(karpenter_scheduled_capacity{{{}}})", patterns(number));
        metric["prometheus"]["query"] = json!(query);
        metric
    });
    scaled["spec"]["metrics"] = metrics.collect();
    // Unknown fields belong to another version.
    let applied = desk.apply(&levels).await?;
    assert!(applied.is_done, "{}", applied.stderr);
    let applied = desk.apply(&scaled).await?;
    let stderr: String = applied.stderr.chars().take(2000).collect();
    assert!(!applied.is_done && stderr.contains("is too large, or takes too long"), "{stderr}");
    let (peak, limit) = (desk.webhook.peak_resident_memory()?, memory_in(MANIFEST)?);
    println!("{} of {} MB at the most", peak >> 20, limit >> 20);
    assert!(peak < limit / 4, "{peak} of {limit} bytes");
    Ok(())
}

/// The counters of the webhook: its responses, and how many of them took at most ten milliseconds.
async fn counted(desk: &Desk<'_>) -> anyhow::Result<(u64, u64, String)> {
    let (_, text) = desk.webhook.get("/metrics").await?;
    let value = |start: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(start));
        line.context("no such metric")?.trim().parse::<f64>().context("no number")
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the values are counts"
    )]
    let count = |start: &str| Ok::<_, anyhow::Error>(value(start)? as u64);
    let within = count("almanac_webhook_review_seconds_bucket{le=\"0.01\"}")?;
    let lines = text.lines().filter(|it| it.starts_with("almanac_webhook_review_seconds_bucket"));
    Ok((
        count("almanac_webhook_review_seconds_count")?,
        within,
        lines.collect::<Vec<_>>().join("\n"),
    ))
}

struct Storm {
    applies: u64,
    took: Duration,
}

/// Changes all policies, with as many concurrent applies as an API server allows for a webhook.
async fn storm(desk: &Desk<'_>, policies: usize) -> anyhow::Result<Storm> {
    let kind = Kind::CronFederatedHPA;
    let api: Api<DynamicObject> = Api::namespaced_with(desk.client(), "shop", &kind.resource());
    let begun = Instant::now();
    let applies = (0..policies).map(|number| {
        let (api, name) = (&api, format!("web-{number}"));
        async move {
            let object = cron(&name, &format!("{} 9 * * *", number % 60));
            let parameters = PatchParams::apply("storm").force();
            api.patch(&name, &parameters, &Patch::Apply(&object)).await.map(drop)
        }
    });
    let done: Vec<()> = stream::iter(applies).buffer_unordered(64).try_collect().await?;
    Ok(Storm { applies: done.len() as u64, took: begun.elapsed() })
}

#[test]
fn many_large_objects_all_get_a_response() -> TestResult {
    let count = trials::size(POLICIES, 200_usize, 2_000);
    at_the_desk(&[], async |desk| {
        await_refusal(desk).await?;
        a_large_object_gets_a_response(desk).await?;
        hostile_objects_get_a_response_within_the_memory_of_the_manifest(desk).await?;
        let many = json!({"apiVersion": "v1", "kind": "List", "items":
            (0..count).map(|number| cron(&format!("web-{number}"), "0 8 * * *")).collect::<Vec<_>>()});
        let file = desk.write(&many)?;
        let (before, ..) = counted(desk).await?;
        let begun = Instant::now();
        let create = format!("kubectl create -f {file} > /dev/null");
        let created = desk.shell(&create).await?;
        assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
        let created_in = begun.elapsed();
        await_condition("a review of every object", PATIENCE, async || {
            let (now, ..) = counted(desk).await?;
            Ok(Observation::from_bool(now - before >= count as u64, format!("{}", now - before)))
        })
        .await?;
        let (requests_before, ..) = counted(desk).await?;
        let storm = storm(desk, count).await?;
        let (requests, ..) = counted(desk).await?;
        assert!(requests - requests_before >= storm.applies, "{requests} - {requests_before}");
        let (responses, within, buckets) = counted(desk).await?;
        println!(
            "{count} policies created in {created_in:?}; then {} changed in {:?}; {within} of {responses} responses \
             within 10 ms\n{buckets}",
            storm.applies, storm.took
        );
        Ok(())
    })
}
