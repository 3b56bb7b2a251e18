//! The predictions of the demo come true, and a fast clock skips no boundary.

use std::collections::BTreeMap;
use std::time::Duration;

use almanac_fixtures::trials::size;
use almanac_harness::{PATIENCE, Program, TestResult, on_this_machine};
use anyhow::{Context as _, bail, ensure};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::Instant;

use crate::up::User;

/// The time limit. A week at six thousand times the normal speed takes less, and the demo never comes to rest.
const AT_MOST: Duration = Duration::from_mins(4);

/// The output on the terminal for an event of each family.
const LINE_OF_EACH_FAMILY: [&str; 6] = [
    "  CronFederatedHPA shop/storefront  ",
    "  MetricsProducer shop/rush  the number is 4 instead of 1",
    "  HorizontalAutoscaler shop/checkout  ",
    "PolicyActivated: policy first-night sets the QoS level to -1; ",
    "  Placement shop/shop  ",
    "  ResourcePolicy shop/storefront  pods in its units: reserved 4, spot 2 instead of ",
];

/// The forecast values of a target, in order.
type ExpectedValues = BTreeMap<String, Vec<Value>>;

#[test]
fn every_prediction_of_the_demo_comes_true() -> TestResult {
    on_this_machine(async {
        let user = User::new()?;
        // An hour of the demo passes in three seconds.
        let up = user.types(&["--demo", "--at", "2026-11-27T08:00", "--speed", "1200"])?;
        up.await_log("The next ten minutes:").await?;
        up.await_log("next, ").await?;
        let sentences = sentences(&up.log()?);
        ensure!(sentences.len() == 20, "{} sentences: {sentences:#?}", sentences.len());
        let items = items(&user, "2026-11-27T08:00:00Z", "200h").await?;
        // The list starts a moment after the start of the clock, and stops after twenty actions.
        let first = items.iter().position(|item| is_of(item, &sentences[0]));
        let items = &items[first.context("the first sentence is foretold")?..][..20];
        for (item, sentence) in items.iter().zip(&sentences) {
            ensure!(is_of(item, sentence), "{sentence} is not of {item}");
        }
        let families: std::collections::BTreeSet<_> =
            items.iter().map(|it| it["policy"]["kind"].to_string()).collect();
        ensure!(families.len() == 6, "{families:?}");
        come_true(&user, &up, predicted_values(items)).await?;
        for line in LINE_OF_EACH_FAMILY {
            up.await_log(line).await?;
        }
        up.stop().await?;
        user.has_nothing_left().await
    })
}

/// Eight hours at twelve hundred times the normal speed. `ALMANAC_DAYS` sets the number of days at six thousand times:
/// a week takes a hundred seconds, on an otherwise idle machine.
#[test]
fn a_fast_clock_skips_no_boundary() -> TestResult {
    on_this_machine(async {
        let (hours, speed) = match size("ALMANAC_DAYS", 0_u32, 7) {
            0 => ("8h".to_owned(), "1200"),
            days => (format!("{}h", 24 * days), "6000"),
        };
        let user = User::new()?;
        let up = user.types(&["--demo", "--at", "2026-11-27T08:00", "--speed", speed])?;
        up.await_log("next, ").await?;
        let first = sentences(&up.log()?).into_iter().next().context("a sentence")?;
        let items = items(&user, "2026-11-27T08:00:00Z", &hours).await?;
        let begin = items.iter().position(|item| is_of(item, &first));
        // The scheduler also affects the units of pods, not the clock alone.
        let by_the_clock = |item: &&Value| item["policy"]["kind"] != "ResourcePolicy";
        let items: Vec<_> = items[begin.context("the list has no such action")?..]
            .iter()
            .filter(by_the_clock)
            .cloned()
            .collect();
        println!("{} boundaries in {hours}", items.len());
        come_true(&user, &up, predicted_values(&items)).await?;
        up.stop().await?;
        user.has_nothing_left().await
    })
}

/// The sentences after the heading.
fn sentences(log: &str) -> Vec<String> {
    let lines = log.split("The next ten minutes:\n").nth(1).unwrap_or_default();
    lines.lines().take_while(|line| line.starts_with("  ")).map(str::to_owned).collect()
}

/// Whether a sentence is about this item.
fn is_of(item: &Value, sentence: &str) -> bool {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let at = &word(&item["at"])[11..19];
    let rule = word(&item["rule"]);
    [at, &word(&item["policy"]["name"]), &rule, &word(&item["what"])]
        .iter()
        .all(|word| sentence.contains(word))
}

/// The items of `almanac next` for the cluster.
async fn items(user: &User, from: &str, period: &str) -> anyhow::Result<Vec<Value>> {
    let output = Command::new(env!("CARGO_BIN_EXE_almanac"))
        .args(["next", "-A", "--from", from, "--for", period, "-o", "json", "--kubeconfig"])
        .arg(user.data().join("kubeconfig"))
        .output()
        .await?;
    let report: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    Ok(report["items"].as_array().context("items")?.clone())
}

fn predicted_values(items: &[Value]) -> ExpectedValues {
    let mut predicted = ExpectedValues::new();
    for item in items.iter().filter(|item| !item["to"].is_null() || !item["from"].is_null()) {
        let target = &item["target"];
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        // Two reports run at a time, and the levels of both change together.
        let name =
            if target["kind"] == "Pod" { "reports".to_owned() } else { word(&target["name"]) };
        let values = predicted.entry(format!("{} {name}", word(&target["kind"]))).or_default();
        if values.last() != Some(&item["to"]) {
            values.push(item["to"].clone());
        }
    }
    predicted
}

/// Polls the cluster until every target has had all its values, in order. A target that depends only on the clock must
/// have no other values. A target may already have its first value.
async fn come_true(user: &User, up: &Program, predicted: ExpectedValues) -> TestResult {
    ensure!(!predicted.is_empty());
    let client = user.client()?;
    let mut observed: BTreeMap<&String, Vec<Value>> = BTreeMap::new();
    let begun = Instant::now();
    let mut changed = begun;
    loop {
        up.check_running()?;
        let present = present(&client).await?;
        for (target, values) in &predicted {
            let value = present.get(target).cloned().unwrap_or(Value::Null);
            let observed = observed.entry(target).or_default();
            if observed.last() != Some(&value) {
                observed.push(value);
                changed = Instant::now();
            }
            let _ = values;
        }
        let is_done = |(target, values): (&String, &Vec<Value>)| {
            observed.get(target).is_some_and(|observed| are_in_order(values, observed))
        };
        if predicted.iter().all(is_done) {
            break;
        }
        if changed.elapsed() > PATIENCE || begun.elapsed() > AT_MOST {
            let remaining: Vec<_> = predicted.iter().filter(|it| !is_done(*it)).collect();
            bail!("not come true: {remaining:#?}\nobserved: {observed:#?}");
        }
    }
    for (target, values) in &predicted {
        let observed = &observed[target];
        // Pods are created and deleted one by one.
        if !target.starts_with("ResourcePolicy ") {
            let from = observed.iter().position(|value| *value == values[0]).unwrap_or_default();
            let after: Vec<_> = observed[from..].iter().take(values.len()).collect();
            ensure!(
                after.iter().copied().eq(values),
                "{target}: {values:?} was predicted, but {observed:?} observed"
            );
        }
    }
    Ok(())
}

/// Whether the others contain these values, in order.
fn are_in_order(values: &[Value], among: &[Value]) -> bool {
    let mut among = among.iter();
    values.iter().all(|value| among.any(|other| other == value))
}

/// The current value of each target of the demo.
async fn present(client: &Client) -> anyhow::Result<BTreeMap<String, Value>> {
    let mut present = BTreeMap::new();
    for deployment in objects(client, "apps", "v1", "Deployment").await? {
        present.insert(
            format!("Deployment {}", deployment.name_any()),
            deployment.data["spec"]["replicas"].clone(),
        );
    }
    for producer in
        objects(client, "autoscaling.karpenter.sh", "v1alpha1", "MetricsProducer").await?
    {
        let value = producer.data["status"]["scheduledCapacity"]["currentValue"].clone();
        present.insert(format!("MetricsProducer {}", producer.name_any()), value);
    }
    let decisions =
        objects(client, "cluster.open-cluster-management.io", "v1beta1", "PlacementDecision")
            .await?;
    let clusters =
        decisions.iter().filter_map(|it| it.data["status"]["decisions"].as_array().cloned());
    let mut clusters: Vec<_> = clusters.flatten().map(|it| it["clusterName"].clone()).collect();
    clusters.sort_by_key(ToString::to_string);
    present.insert("Placement shop".to_owned(), Value::Array(clusters));
    let nodes: Api<Node> = Api::all(client.clone());
    let nodes = nodes.list(&ListParams::default()).await?;
    let capacity: BTreeMap<_, _> =
        nodes.iter().map(|it| (it.name_any(), it.labels().get("capacity").cloned())).collect();
    let pods: Api<Pod> = Api::namespaced(client.clone(), "shop");
    let (mut units, mut level) = (BTreeMap::from([("reserved", 0), ("spot", 0)]), Value::Null);
    for pod in pods.list(&ListParams::default()).await? {
        match pod.labels().get("app").map(String::as_str) {
            Some("reports") => {
                level = pod
                    .annotations()
                    .get("volcano.sh/qos-level")
                    .map_or(Value::Null, |it| json!(it));
            }
            Some("storefront") if pod.metadata.deletion_timestamp.is_none() => {
                let node = pod.spec.and_then(|spec| spec.node_name).unwrap_or_default();
                match capacity.get(&node).cloned().flatten().as_deref() {
                    Some("reserved") => *units.entry("reserved").or_default() += 1,
                    Some("spot") => *units.entry("spot").or_default() += 1,
                    _ => {}
                }
            }
            _ => {}
        }
    }
    present.insert("ResourcePolicy storefront".to_owned(), json!(units));
    present.insert("Pod reports".to_owned(), level);
    Ok(present)
}

async fn objects(
    client: &Client,
    group: &str,
    version: &str,
    kind: &str,
) -> anyhow::Result<Vec<DynamicObject>> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let objects: Api<DynamicObject> = Api::namespaced_with(client.clone(), "shop", &resource);
    Ok(objects.list(&ListParams::default()).await?.items)
}
