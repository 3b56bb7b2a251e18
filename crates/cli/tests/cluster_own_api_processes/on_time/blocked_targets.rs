//! Targets that cannot be scaled: the conditions of the object, the effect of a fix in time, and the record without a
//! fix.

use almanac_fixtures::objects;
use almanac_harness::{Observation, PATIENCE, TestResult, await_condition};
use anyhow::{Context as _, Result};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controller::{
    CRON, Cluster, Controller, DEPLOYMENT, Kind, condition, cron, deployment, head_start,
    on_cluster, target,
};
use crate::on_time::histories::{fired_once, history};
use crate::on_time::rights::{ACCOUNT, access, grant_scaling};

const AFTER: &str = "2026-11-30T09:03:50Z";
const BOUNDARY: &str = "2026-11-30T09:03:00Z";
const TOMORROW: &str = "2026-12-01T09:03:00Z";
const SHOP: &str = "shop";

const FLEET: Kind = Kind { root: "/apis/example.org/v1", plural: "fleets" };
const ROLLOUT: Kind = Kind { root: "/apis/example.org/v1", plural: "rollouts" };
const WIDGET: Kind = Kind { root: "/apis/example.org/v1", plural: "widgets" };

fn custom(kind: &str, name: &str) -> Value {
    objects::scalable("example.org/v1", kind, name, 2)
}

async fn rule_for(cluster: &Cluster, name: &str, aim: Value, further: Value) -> TestResult {
    let mut rule = json!({"name": "morning", "schedule": "3 9 * * *", "targetReplicas": 6});
    for (field, value) in further.as_object().into_iter().flatten() {
        rule[field] = value.clone();
    }
    cluster.create(CRON, SHOP, &cron(name, &aim, &json!([rule]))).await
}

fn workload(name: &str) -> Value {
    target("apps/v1", "Deployment", name)
}

/// Waits until both conditions and an Event report the problem with the target.
async fn assert_condition(
    cluster: &Cluster,
    name: &str,
    reason: &str,
    message: &str,
) -> TestResult {
    let expected_condition = ["False", reason, message];
    let is_reported = |status: &Value| condition(status, "Active") == expected_condition;
    let status =
        cluster.await_status(SHOP, name, &format!("{expected_condition:?}"), is_reported).await?;
    assert_eq!(condition(&status, "Ready"), expected_condition, "{name}");
    cluster.await_event(SHOP, name, &format!("Warning {reason}: {message}")).await
}

/// Waits until a firing is recorded as successful, and checks the target and the conditions.
async fn assert_done(cluster: &Cluster, name: &str, place: (Kind, &str, &str)) -> TestResult {
    let is_done = |status: &Value| status["lastExecutionTime"].is_string();
    let status = cluster.await_status(SHOP, name, "scaled", is_done).await?;
    let expected = fired_once(BOUNDARY, &json!({"appliedReplicas": 6}), TOMORROW);
    assert_eq!(history(&status, "morning")?, expected, "{name}");
    let object = cluster.get(place.0, place.1, place.2).await?;
    assert_eq!(object["spec"]["replicas"], 6, "{name}");
    await_well(cluster, name).await?;
    Ok(())
}

/// Waits until no condition of a policy needs attention; returns its status.
async fn await_well(cluster: &Cluster, name: &str) -> Result<Value> {
    let well = |status: &Value| condition(status, "Ready")[0] == "True";
    cluster.await_status(SHOP, name, "nothing needs attention", well).await
}

/// Checks that the only firing of a rule has failed; returns the reason.
fn failed_once(status: &Value) -> Result<String> {
    let mut history = history(status, "morning")?;
    let message = history["failedExecutions"][0]["message"].take();
    let failed = json!([{"scheduleTime": BOUNDARY, "message": null}]);
    assert_eq!(history, json!({"nextExecutionTime": TOMORROW, "failedExecutions": failed}));
    Ok(message.as_str().unwrap_or_default().to_owned())
}

async fn prepare(cluster: &Cluster) -> TestResult {
    cluster.namespace(SHOP).await?;
    let kinds = [
        (["example.org", "v1", "Fleet"], "Cluster"),
        (["example.org", "v1", "Rollout"], "Namespaced"),
    ];
    cluster.define(&kinds).await?;
    cluster.create(FLEET, "", &custom("Fleet", "north")).await?;
    cluster.create(ROLLOUT, SHOP, &custom("Rollout", "front")).await?;
    cluster.create(DEPLOYMENT, SHOP, &deployment("locked", 2)).await?;

    let nothing = json!({});
    let long = json!({"maxDelaySeconds": 600});
    rule_for(cluster, "locked", workload("locked"), nothing.clone()).await?;
    rule_for(cluster, "later", workload("later"), nothing.clone()).await?;
    // Attempts follow immediately, and after one and three seconds.
    rule_for(cluster, "never", workload("never"), json!({"maxDelaySeconds": 5})).await?;
    let unkept = json!({"maxDelaySeconds": 5, "failedHistoryLimit": 0});
    rule_for(cluster, "unkept", workload("nowhere"), unkept).await?;
    rule_for(cluster, "misspelt", workload("loked"), nothing.clone()).await?;
    rule_for(cluster, "daemon", target("apps/v1", "DaemonSet", "agent"), nothing.clone()).await?;
    rule_for(cluster, "map", target("v1", "ConfigMap", "settings"), nothing.clone()).await?;
    rule_for(cluster, "rollout", target("example.org/v1", "Rollout", "front"), nothing).await?;
    rule_for(cluster, "widget", target("example.org/v1", "Widget", "new"), long.clone()).await?;
    rule_for(cluster, "fleet", target("example.org/v1", "Fleet", "north"), long).await
}

#[test]
fn a_blocked_target_is_reported_and_scaled_as_soon_as_possible() -> TestResult {
    on_cluster(async |test, cluster| {
        prepare(cluster).await?;
        let access = access(test, cluster).await?;
        let before = BOUNDARY.parse::<Timestamp>()? - head_start();
        let controller = Controller::start(&access.kubeconfig(), &before.to_string(), &[])?;
        mistakes_are_reported_before_the_boundary(cluster).await?;
        assert_done(cluster, "rollout", (ROLLOUT, SHOP, "front")).await?;
        given_up_in_time(cluster).await?;

        let verbs = "grant system:serviceaccount:default:almanac the verb \"patch\" on the resource \
                     \"deployments/scale\" of the API group \"apps\" in the namespace \"shop\"";
        let message = format!("Deployment.apps shop/locked cannot be accessed: {verbs}");
        assert_condition(cluster, "locked", "TargetForbidden", &message).await?;
        let writes = cluster.target_writes().await?;
        let refused = writes.iter().filter(|write| write.name == "locked");
        let refused: Vec<_> = refused.map(|write| (&*write.user, write.code)).collect();
        assert!(refused.iter().all(|it| *it == (ACCOUNT, 403)), "{refused:?}");
        assert!(!refused.is_empty());

        grant_scaling(cluster, SHOP).await?;
        cluster.create(DEPLOYMENT, SHOP, &deployment("later", 2)).await?;
        let right = json!({"spec": {"scaleTargetRef": workload("locked")}});
        assert_done(cluster, "later", (DEPLOYMENT, SHOP, "later")).await?;
        assert_done(cluster, "locked", (DEPLOYMENT, SHOP, "locked")).await?;
        cluster.patch(CRON, SHOP, "misspelt", &right).await?;
        another_target_waits_for_the_next_time(cluster).await?;

        cluster.define(&[(["example.org", "v1", "Widget"], "Namespaced")]).await?;
        cluster.create(WIDGET, SHOP, &custom("Widget", "new")).await?;
        assert_done(cluster, "widget", (WIDGET, SHOP, "new")).await?;
        controller.stop().await?;
        let fleet = cluster.get(FLEET, "", "north").await?;
        assert_eq!(fleet["spec"]["replicas"], 2, "cluster-scoped targets are not allowed");

        let allow = ["--allow-cluster-scoped-targets"];
        let controller = Controller::start(&access.kubeconfig(), AFTER, &allow)?;
        assert_done(cluster, "fleet", (FLEET, "", "north")).await?;
        controller.stop().await
    })
}

async fn mistakes_are_reported_before_the_boundary(cluster: &Cluster) -> TestResult {
    for name in ["later", "never", "loked"] {
        let object = if name == "loked" { "misspelt" } else { name };
        let message = format!(
            "Deployment.apps shop/{name} was not found: create it, or correct spec.scaleTargetRef"
        );
        assert_condition(cluster, object, "TargetNotFound", &message).await?;
    }
    let message = "spec.scaleTargetRef.kind: Invalid value: \"DaemonSet\": a DaemonSet runs once \
                   per node and has no replica count; name a Deployment or a StatefulSet, or delete \
                   the policy";
    assert_condition(cluster, "daemon", "NoUsableRule", message).await?;
    let message = "ConfigMap shop/settings has no scale subresource; a rule can only scale what \
                   has one";
    assert_condition(cluster, "map", "TargetNotScalable", message).await?;
    let message =
        "the cluster does not serve the kind Widget in group example.org: is its CRD installed?";
    assert_condition(cluster, "widget", "TargetUnknownKind", message).await?;
    let message = "Fleet.example.org north is cluster-scoped; start the controller with \
                   --allow-cluster-scoped-targets to allow it";
    assert_condition(cluster, "fleet", "ClusterScopedTarget", message).await
}

/// A firing whose target was not created in time is recorded as failed.
async fn given_up_in_time(cluster: &Cluster) -> TestResult {
    let has_failed =
        |status: &Value| status["executionHistories"][0]["failedExecutions"].is_array();
    let status = cluster.await_status(SHOP, "never", "given up", has_failed).await?;
    let message = failed_once(&status)?;
    assert!(message.starts_with("gave up after ") && message.contains(" attempts: "), "{message}");
    assert!(message.contains("Deployment.apps shop/never"), "{message}");
    let tried = message.trim_start_matches("gave up after ");
    let event = format!(
        "Warning RuleFailed: rule morning failed to change Deployment.apps shop/never after {tried}"
    );
    cluster.await_event(SHOP, "never", &event).await?;
    // Firings that a status does not keep are still reported. Their attempts may be fewer.
    let event = event.replace("shop/never", "shop/nowhere");
    let (begin, tried) =
        event.split_once(" after ").context("the Event has no number of attempts")?;
    let (_, end) = tried.split_once(' ').context("the attempts are not counted")?;
    await_condition(&format!("an event like {event:?}"), PATIENCE, async || {
        let events = cluster.events(SHOP, "unkept").await?;
        let is_like = |it: &String| it.starts_with(begin) && it.ends_with(end);
        Ok(Observation::from_bool(events.iter().any(is_like), format!("{events:?}")))
    })
    .await?;
    cluster.create(DEPLOYMENT, SHOP, &deployment("never", 2)).await?;
    let failed = |status: &Value| condition(status, "Ready")[..2] == ["False", "LastFiringFailed"];
    let status = cluster.await_status(SHOP, "never", "only its last firing failed", failed).await?;
    assert_eq!(condition(&status, "Active")[0], "True");
    let late = cluster.get(DEPLOYMENT, SHOP, "never").await?;
    assert_eq!(late["spec"]["replicas"], 2, "it came too late");
    Ok(())
}

/// A rule for another target is another rule: it does not fire for the past.
async fn another_target_waits_for_the_next_time(cluster: &Cluster) -> TestResult {
    let message = failed_once(&await_well(cluster, "misspelt").await?)?;
    assert!(message.ends_with(": gave up because the rule was changed"), "{message}");
    Ok(())
}
