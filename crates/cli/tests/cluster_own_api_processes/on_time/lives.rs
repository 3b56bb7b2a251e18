//! Objects that are deleted with pending work, recreated with the same name, or damaged in their status.

use almanac_harness::{AuditedRequest, Observation, PATIENCE, TestResult, await_condition};
use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::controller::{
    CRON, Cluster, Controller, DEPLOYMENT, cron, deployment, in_namespace, on_cluster, target,
};
use crate::on_time::histories::{fired_once, history, rules_of};
use crate::on_time::rights::{access, grant_scaling};

const BEFORE: &str = "2026-11-30T09:02:55Z";
/// A delay well within the limit that the rules allow.
const AFTER: &str = "2026-11-30T09:04:00Z";
const BOUNDARY: &str = "2026-11-30T09:03:00Z";
const TOMORROW: &str = "2026-12-01T09:03:00Z";
const OPEN: &str = "open";
const CLOSED: &str = "closed";

async fn make(cluster: &Cluster, namespace: &str, name: &str) -> TestResult {
    let rules = json!([{"name": "morning", "schedule": "3 9 * * *", "targetReplicas": 6}]);
    let object = cron(name, &target("apps/v1", "Deployment", name), &rules);
    cluster.create(CRON, namespace, &object).await
}

async fn make_with_target(cluster: &Cluster, namespace: &str, names: &[&str]) -> TestResult {
    for name in names {
        cluster.create(DEPLOYMENT, namespace, &deployment(name, 1)).await?;
        make(cluster, namespace, name).await?;
    }
    Ok(())
}

async fn await_fired(cluster: &Cluster, namespace: &str, name: &str) -> Result<Value> {
    let has_fired = |status: &Value| status["lastExecutionTime"].is_string();
    let status = cluster.await_status(namespace, name, "the rule to have fired", has_fired).await?;
    let once = fired_once(BOUNDARY, &json!({"appliedReplicas": 6}), TOMORROW);
    assert_eq!(history(&status, "morning")?, once, "{name}");
    Ok(status)
}

async fn replicas(cluster: &Cluster, namespace: &str, name: &str) -> Result<Value> {
    Ok(cluster.get(DEPLOYMENT, namespace, name).await?["spec"]["replicas"].take())
}

fn about<'a>(writes: &'a [AuditedRequest], name: &str) -> Vec<&'a AuditedRequest> {
    writes.iter().filter(|write| write.name == name).collect()
}

/// Waits for the next second. The API server dates objects to the second, so an object created in the second of the
/// boundary may be treated as older.
async fn await_next_second(controller: &Controller) -> TestResult {
    let boundary: Timestamp = BOUNDARY.parse()?;
    controller.await_clock(boundary + SignedDuration::from_millis(1100)).await
}

#[test]
fn a_policy_deleted_during_retries_is_not_applied_and_its_successor_starts_fresh() -> TestResult {
    on_cluster(async |test, cluster| {
        cluster.namespace(OPEN).await?;
        cluster.namespace(CLOSED).await?;
        make_with_target(cluster, CLOSED, &["kept", "deleted", "reborn"]).await?;
        make_with_target(cluster, OPEN, &["phoenix", "going"]).await?;
        // The object is being deleted, but a finalizer delays the removal.
        let held_back = json!({"metadata": {"finalizers": ["example.org/last-wish"]}});
        cluster.patch(CRON, OPEN, "going", &held_back).await?;
        cluster.delete(CRON, OPEN, "going").await?;
        let access = access(test, cluster).await?;
        grant_scaling(cluster, OPEN).await?;
        let controller = Controller::start(&access.kubeconfig(), BEFORE, &[])?;
        await_refusals(cluster, &["kept", "deleted", "reborn"]).await?;

        cluster.delete(CRON, CLOSED, "deleted").await?;
        cluster.delete(CRON, CLOSED, "reborn").await?;
        await_fired(cluster, OPEN, "phoenix").await?;
        cluster.delete(CRON, OPEN, "phoenix").await?;
        let reset = json!({"spec": {"replicas": 1}});
        cluster.patch(DEPLOYMENT, OPEN, "phoenix", &reset).await?;
        await_next_second(&controller).await?;
        make(cluster, CLOSED, "reborn").await?;
        make(cluster, OPEN, "phoenix").await?;
        for (namespace, name) in [(CLOSED, "reborn"), (OPEN, "phoenix")] {
            let status =
                cluster.await_status(namespace, name, "armed", |status| !status.is_null()).await?;
            let nothing_yet = json!({"nextExecutionTime": TOMORROW});
            assert_eq!(history(&status, "morning")?, nothing_yet, "{name}");
        }
        // All three rules waited for the same permission; only one still exists to use the permission.
        grant_scaling(cluster, CLOSED).await?;
        await_fired(cluster, CLOSED, "kept").await?;
        controller.stop().await?;
        assert_eq!(replicas(cluster, CLOSED, "kept").await?, 6);
        let gone = [(CLOSED, "deleted"), (CLOSED, "reborn"), (OPEN, "phoenix"), (OPEN, "going")];
        for (namespace, name) in gone {
            assert_eq!(replicas(cluster, namespace, name).await?, 1, "{name}");
        }
        let writes = cluster.target_writes().await?;
        let done = writes.iter().filter(|write| write.code == 200);
        let done: Vec<_> = done.map(|write| &*write.name).collect();
        assert_eq!(done, ["phoenix", "kept"]);
        Ok(())
    })
}

/// Waits until an attempt of each rule has failed.
async fn await_refusals(cluster: &Cluster, names: &[&str]) -> TestResult {
    await_condition("a refused write to each", PATIENCE, async || {
        let writes = cluster.target_writes().await?;
        let is_refused = |name: &&&str| about(&writes, name).iter().any(|it| it.code == 403);
        let refused: Vec<_> = names.iter().filter(is_refused).collect();
        Ok(Observation::from_bool(refused.len() == names.len(), format!("{refused:?}")))
    })
    .await
}

/// Damaged statuses that a user might leave, as far as the API server admits them.
fn mangled(status: &Value) -> [(&'static str, Value); 4] {
    let entry = |field: &str, value: Value| {
        let mut entry = status["executionHistories"][0].clone();
        entry[field] = value;
        json!({ "executionHistories": [entry] })
    };
    [
        ("no-fingerprint", entry("fingerprint", json!("no hexadecimal"))),
        ("no-handled", entry("lastHandledTime", Value::Null)),
        ("no-entry", json!({ "executionHistories": [] })),
        (
            "another-rule",
            json!({"executionHistories": [{"ruleName": "stranger", "fingerprint": "0"}]}),
        ),
    ]
}

#[test]
fn a_mangled_status_is_replaced_and_nothing_fires_for_the_past() -> TestResult {
    in_namespace(async |cluster| {
        let home = cluster.home();
        let names = mangled(&Value::Null).map(|(name, _)| name);
        make_with_target(cluster, home, &names).await?;
        make_with_target(cluster, home, &["caught-up", "while-running"]).await?;
        let controller = cluster.start_at(BEFORE, &[]).await?;
        let healthy = await_fired(cluster, home, "while-running").await?;
        let history_kept = ["no-fingerprint", "no-handled"];
        let once = fired_once(BOUNDARY, &json!({"appliedReplicas": 6}), TOMORROW);

        // The running controller writes its own state again.
        let none = json!({"executionHistories": null, "nextExecutionTime": null});
        cluster.patch_status(CRON, home, "while-running", &none).await?;
        let is_healed = |status: &Value| status["executionHistories"].is_array();
        let healed = cluster.await_status(home, "while-running", "healed", is_healed).await?;
        assert_eq!(healed, healthy);
        for name in names.iter().chain(["caught-up"].iter()) {
            await_fired(cluster, home, name).await?;
        }
        controller.stop().await?;

        let reset = json!({"spec": {"replicas": 1}});
        let mut fingerprints = Vec::new();
        for (index, name) in names.into_iter().enumerate() {
            let before = cluster.get(CRON, home, name).await?["status"].take();
            let (_, status) = &mangled(&before)[index];
            fingerprints.push(before["executionHistories"][0]["fingerprint"].clone());
            cluster.patch_status(CRON, home, name, status).await?;
            cluster.patch(DEPLOYMENT, home, name, &reset).await?;
        }
        // A rule with a pending firing shows that the controller would catch up at this time.
        let before = cluster.get(CRON, home, "caught-up").await?;
        let mut entry = before["status"]["executionHistories"][0].clone();
        entry["lastHandledTime"] = json!("2026-11-30T09:02:00Z");
        entry["successfulExecutions"] = Value::Null;
        let unhandled = json!({ "executionHistories": [entry] });
        cluster.patch_status(CRON, home, "caught-up", &unhandled).await?;
        cluster.patch(DEPLOYMENT, home, "caught-up", &reset).await?;
        let controller = cluster.start_at(AFTER, &[]).await?;
        for (name, fingerprint) in names.into_iter().zip(fingerprints) {
            let is_healed = |status: &Value| {
                let entry = &status["executionHistories"][0];
                let handled = &entry["lastHandledTime"];
                rules_of(status) == ["morning"]
                    && entry["fingerprint"] == fingerprint
                    && handled.is_string()
                    && *handled != BOUNDARY
            };
            let status = cluster.await_status(home, name, "healed", is_healed).await?;
            let nothing_yet = json!({"nextExecutionTime": TOMORROW});
            let expected = if history_kept.contains(&name) { &once } else { &nothing_yet };
            assert_eq!(history(&status, "morning")?, *expected, "{name}");
        }
        await_fired(cluster, home, "caught-up").await?;
        controller.stop().await?;
        for name in names {
            assert_eq!(replicas(cluster, home, name).await?, 1, "{name}");
        }
        assert_eq!(replicas(cluster, home, "caught-up").await?, 6);
        Ok(())
    })
}
