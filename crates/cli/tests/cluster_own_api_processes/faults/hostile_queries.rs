//! Autoscalers of one tenant with queries that are as deep and have patterns as large and as many as the API server takes:
//! the process stays within the memory of the manifests, and carries out the policies of others.

use almanac_harness::TestResult;
use anyhow::ensure;
use serde_json::{Value, json};

use crate::controller::{AUTOSCALER, Cluster, DEPLOYMENT, deployment, head_start, on_cluster};
use crate::faults::replica::{
    ALONE, NAMESPACE, Replica, await_armed, await_record, ensure_carried_out_once, prepare,
};

/// As long as the schema allows.
const LENGTH: usize = 4_096;
/// As many metrics as it allows.
const METRICS: usize = 32;
/// So many objects of each sort.
const OBJECTS: usize = 4;

/// What is in front of a text, as often as fits, and behind it.
fn repeated(before: &str, one: impl Fn(usize) -> String, after: &str) -> String {
    let mut text = before.to_owned();
    for number in 0.. {
        let one = one(number);
        if text.len() + one.len() + after.len() > LENGTH {
            break;
        }
        text.push_str(&one);
    }
    text + after
}

/// Queries, each of which one process could not take.
fn hostile(object: usize, metric: usize) -> [(&'static str, String); 5] {
    let selected = "max(karpenter_scheduled_capacity{name=~\"a\"";
    let letter = |number: usize| char::from(b'b' + u8::try_from(number % 25).unwrap_or_default());
    let unique = object * METRICS + metric;
    [
        (
            "repetitions",
            repeated(selected, |it| format!(",name=~\"[a-{}]{{1000}}{unique}\"", letter(it)), "})"),
        ),
        (
            "choices",
            repeated(selected, |it| format!(",name=~\"(a?b?){{{}}}{unique}\"", 900 + it), "})"),
        ),
        ("trivial", repeated(selected, |it| format!(",name=~\"{it}.{unique}\""), "})")),
        (
            "classes",
            repeated(selected, |it| format!(",name!~\"\\\\pL+{it}\\\\PL+{unique}\""), "})"),
        ),
        ("deep", "max(".repeat(800) + "1"),
    ]
}

async fn create_hostile(cluster: &Cluster) -> TestResult {
    let sorts: Vec<&str> = hostile(0, 0).iter().map(|(sort, _)| *sort).collect();
    for (position, sort) in sorts.into_iter().enumerate() {
        for object in 0..OBJECTS {
            let metrics = (0..METRICS).map(|metric| {
                let query = &hostile(object, metric)[position].1;
                json!({"prometheus": {"query": query, "target": {"type": "Value", "value": "1"}}})
            });
            let name = format!("{sort}-{object}");
            let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
            let autoscaler = json!({
                "apiVersion": "autoscaling.karpenter.sh/v1alpha1", "kind": "HorizontalAutoscaler",
                "metadata": {"name": name},
                "spec": {
                    "scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 9,
                    "metrics": metrics.collect::<Vec<Value>>(),
                },
            });
            cluster.create(DEPLOYMENT, "hostile", &deployment(&name, 1)).await?;
            cluster.create(AUTOSCALER, "hostile", &autoscaler).await?;
        }
    }
    Ok(())
}

/// Each of them is unusable, and says so.
async fn await_refused(cluster: &Cluster) -> TestResult {
    for (sort, _) in hostile(0, 0) {
        for object in 0..OBJECTS {
            let name = format!("{sort}-{object}");
            let is_refused = |object: &Value| {
                let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
                let mut ready = conditions.filter(|it| it["type"] == "Ready");
                let is_short = |it: &Value| it.as_str().is_some_and(|it| it.len() < 5_000);
                ready.any(|it| it["status"] == "False" && is_short(&it["message"]))
            };
            cluster
                .await_object(AUTOSCALER, ("hostile", &name), "to be refused", is_refused)
                .await?;
        }
    }
    Ok(())
}

#[test]
fn hostile_queries_of_one_tenant_take_no_memory_and_delay_no_firing() -> TestResult {
    on_cluster(async |test, cluster| {
        cluster.namespace("hostile").await?;
        create_hostile(cluster).await?;
        prepare(cluster, "shop", None).await?;
        let replica = Replica::start(test, head_start() * 2, ALONE)?;
        await_armed(cluster, "shop").await?;
        await_refused(cluster).await?;
        await_record(cluster, "shop").await?;
        ensure_carried_out_once(cluster, "shop", 1).await?;
        let peak = replica.controller.limit.check(&replica.controller.program)?;
        eprintln!("{} MB at the most", peak / 1_000_000);
        ensure!(cluster.list(AUTOSCALER, NAMESPACE).await?.is_empty());
        replica.controller.stop().await
    })
}
