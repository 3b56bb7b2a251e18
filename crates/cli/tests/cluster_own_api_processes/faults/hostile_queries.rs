//! Autoscalers of one tenant with queries as deep as the API server admits, and with the largest and most patterns. The
//! process stays within the memory limit of the manifests, and reconciles the policies of others.

use almanac_fixtures::objects;
use almanac_harness::TestResult;
use serde_json::{Value, json};

use crate::controller::{
    AUTOSCALER, CRON, Cluster, DEPLOYMENT, condition, cron, deployment, head_start, in_namespace,
    on_cluster, target,
};
use crate::faults::replica::{
    ALONE, Replica, await_armed, await_record, ensure_carried_out_once, prepare,
};

/// The maximum length of a query in the schema.
const LENGTH: usize = 4_096;
/// The maximum number of metrics in the schema.
const METRICS: usize = 32;
/// The number of objects of each kind.
const OBJECTS: usize = 4;

/// A string between `before` and `after`, repeated up to the maximum length.
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

/// A kind of queries that a process must refuse, and a part of the message.
struct Sort {
    name: &'static str,
    refusal: &'static str,
    query: fn(metric: usize, unique: usize) -> String,
}

const SELECTED: &str = "max(karpenter_scheduled_capacity{name=~\"a\"";

const SORTS: [Sort; 6] = [
    Sort {
        name: "repetitions",
        refusal: "regular expressions",
        query: |_, unique| {
            repeated(SELECTED, |it| format!(",name=~\"[a-z]{{900}}{it}x{unique}\""), "})")
        },
    },
    Sort {
        name: "choices",
        refusal: "regular expressions",
        query: |_, unique| {
            repeated(SELECTED, |it| format!(",name=~\"(a?b?){{{}}}{unique}\"", 400 + it), "})")
        },
    },
    Sort {
        name: "trivial",
        refusal: "regular expressions",
        query: |_, unique| repeated(SELECTED, |it| format!(",name=~\"{it}.{unique}\""), "})"),
    },
    Sort {
        name: "classes",
        refusal: "regular expressions",
        query: |_, unique| {
            repeated(SELECTED, |it| format!(",name!~\"\\\\pL+{it}\\\\PL+{unique}\""), "})")
        },
    },
    // The first query matches everything; the others repeat a large query.
    Sort {
        name: "reused",
        refusal: "regular expressions",
        query: |metric, unique| {
            if metric == 0 {
                let one = |it: usize| format!(",name=~\"{it}.{unique}\"");
                return (0..99).map(one).fold(SELECTED.to_owned(), |all, one| all + &one) + "})";
            }
            let one = "karpenter_scheduled_capacity{name=~\"(a?b?){450}|c|e|g|i|k|m\"}";
            repeated(one, |_| format!("+{one}"), "")
        },
    },
    Sort { name: "deep", refusal: "levels", query: |_, _| "max(".repeat(800) + "1" },
];

async fn create_hostile(cluster: &Cluster) -> TestResult {
    for Sort { name, query, .. } in &SORTS {
        for object in 0..OBJECTS {
            let metrics = (0..METRICS).map(|metric| {
                let query = query(metric, object * METRICS + metric);
                json!({"prometheus": {"query": query, "target": {"type": "Value", "value": "1"}}})
            });
            create_autoscaler(cluster, "hostile", &format!("{name}-{object}"), metrics.collect())
                .await?;
        }
    }
    Ok(())
}

async fn create_autoscaler(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
    metrics: Value,
) -> TestResult {
    let target = target("apps/v1", "Deployment", name);
    let mut autoscaler = objects::horizontal_autoscaler(name, &target, "1");
    autoscaler["spec"]["metrics"] = metrics;
    cluster.create(DEPLOYMENT, namespace, &deployment(name, 1)).await?;
    cluster.create(AUTOSCALER, namespace, &autoscaler).await
}

/// Checks that each autoscaler is unusable, and reports that in a short message.
async fn await_refused(cluster: &Cluster) -> TestResult {
    for Sort { name, refusal, .. } in &SORTS {
        for object in 0..OBJECTS {
            let is_refused = |object: &Value| {
                let [holds, _, message] = condition(&object["status"], "Ready");
                holds == "False" && message.contains(refusal) && message.len() < 5_000
            };
            let name = format!("{name}-{object}");
            let what = format!("to be refused for its {refusal}");
            cluster.await_object(AUTOSCALER, ("hostile", &name), &what, is_refused).await?;
        }
    }
    Ok(())
}

#[test]
fn hostile_queries_of_one_tenant_use_no_memory_and_delay_no_other() -> TestResult {
    on_cluster(async |_, cluster| {
        cluster.namespace("hostile").await?;
        create_hostile(cluster).await?;
        prepare(cluster, "shop", None).await?;
        let metrics =
            json!([{"prometheus": {"query": "3", "target": {"type": "Value", "value": "1"}}}]);
        create_autoscaler(cluster, cluster.home(), "healthy", metrics).await?;
        let replica = Replica::start(cluster, head_start() * 2, ALONE)?;
        await_armed(cluster, "shop").await?;
        let is_ready = |object: &Value| condition(&object["status"], "Ready")[0] == "True";
        cluster
            .await_object(AUTOSCALER, (cluster.home(), "healthy"), "to be ready", is_ready)
            .await?;
        await_refused(cluster).await?;
        await_record(cluster, "shop").await?;
        ensure_carried_out_once(cluster, "shop", 1).await?;
        let peak = replica.controller.limit.check(&replica.controller.program)?;
        eprintln!("{} MB at the most", peak / 1_000_000);
        replica.controller.stop().await
    })
}

/// A character that YAML does not allow, since the API server parses the applied objects as YAML.
const NOT_IN_YAML: [char; 4] = ['\u{7f}', '\u{96}', '\u{9b}', '\u{fffe}'];

#[test]
fn a_status_can_quote_every_character_that_the_api_server_accepts() -> TestResult {
    in_namespace(async |cluster| {
        for (index, character) in NOT_IN_YAML.into_iter().enumerate() {
            let name = format!("no-{index}");
            let query = format!("max(up{{job=\"{character}\"}})");
            let metrics = json!([{"prometheus": {"query": query, "target": {"type": "Value", "value": "1"}}}]);
            create_autoscaler(cluster, cluster.home(), &name, metrics).await?;
            let target = target("apps/v1", "Deployment", &name);
            let rule_name = format!("up{character}");
            let rule = json!({"name": rule_name, "schedule": "0 9 * * *", "targetReplicas": 3});
            cluster.create(CRON, cluster.home(), &cron(&name, &target, &json!([rule]))).await?;
        }
        let replica = Replica::start(cluster, head_start(), ALONE)?;
        for (index, character) in NOT_IN_YAML.into_iter().enumerate() {
            let name = format!("no-{index}");
            let what = format!("to be reported with {character:?}");
            let is_reported = |object: &Value| {
                let [holds, _, message] = condition(&object["status"], "Ready");
                holds == "False" && message.contains(character)
            };
            cluster.await_object(AUTOSCALER, (cluster.home(), &name), &what, is_reported).await?;
            let names = |object: &Value| {
                let rule = &object["status"]["executionHistories"][0];
                rule["ruleName"].as_str().is_some_and(|it| it.contains(character))
            };
            cluster.await_object(CRON, (cluster.home(), &name), &what, names).await?;
        }
        replica.controller.stop().await
    })
}
