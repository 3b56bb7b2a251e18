//! The examples of the design of cron scaling, as published except for typos.

use almanac_fixtures::designs::{
    self, AUTOSCALER_OF_CRON, DEPLOYMENT_OF_CRON, TWO_ZONES, cured, up_and_down,
};
use almanac_harness::{AuditLog, AuditedRequest, TestResult};
use anyhow::Result;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controller::{
    CRON, Cluster, Controller, DEPLOYMENT, FEDERATED, HORIZONTAL, Kind, condition, deployment,
    federated, head_start, horizontal, in_namespace, on_cluster,
};
use crate::on_time::histories::{fired_once, history, rules_of};

const NAME: &str = "cron-federated-hpa";
const BOUNDARY: &str = "2026-11-30T08:30:00Z";
const ELEVEN: &str = "2026-11-30T11:00:00Z";

/// "Scale up workloads to 1000 every day at 08:30 AM."
fn story() -> String {
    cured(&designs::cron(DEPLOYMENT_OF_CRON, &up_and_down("targetReplicas")))
}

/// The better approach of the design: the lower bound of an autoscaler.
fn better_approach() -> String {
    cured(&designs::cron(AUTOSCALER_OF_CRON, &up_and_down("targetMinReplicas")))
}

/// "every day at 07:30 AM everyday in the Asia/Shanghai time zone", and in Los Angeles.
fn two_zones() -> String {
    cured(&designs::cron(AUTOSCALER_OF_CRON, TWO_ZONES))
}

/// Just before a boundary.
fn early(boundary: &str) -> Result<String> {
    Ok((boundary.parse::<Timestamp>()? - head_start()).to_string())
}

/// Waits for the write at the boundary, and checks that no write came before.
///
/// All reads of the target before the boundary return the old number. By the API server's own log, the write was at the
/// boundary or after it.
async fn assert_written_at(
    boundary: &str,
    (cluster, controller): (&Cluster, &Controller),
    (kind, namespace, name): (Kind, &str, &str),
    (field, before, after): (&str, u32, u32),
) -> TestResult {
    let actual = cluster.get(kind, namespace, name).await?;
    controller.ensure_before(boundary)?;
    let boundary: Timestamp = boundary.parse()?;
    assert_eq!(actual["spec"][field], before, "{namespace}/{name} before {boundary}");
    let earlier = cluster.target_writes().await?.len();
    let has_changed = |object: &Value| object["spec"][field] != before;
    let what = format!("{field} to change");
    let changed = cluster.await_object(kind, (namespace, name), &what, has_changed).await?;
    assert_eq!(changed["spec"][field], after);
    let writes = cluster.target_writes().await?;
    let is_here = |write: &&AuditedRequest| write.namespace == namespace && write.name == name;
    let here: Vec<_> = writes.iter().skip(earlier).filter(is_here).collect();
    assert_eq!(here.len(), 1, "{here:?}");
    assert_eq!((&*here[0].verb, here[0].code), ("patch", 200));
    let at = controller.time_of(here[0])?;
    assert!(at >= boundary, "written at {at}, before {boundary}");
    Ok(())
}

/// The output of `kubectl get`, word by word, without ages, which differ between runs.
async fn table(cluster: &Cluster, namespace: &str) -> Result<Vec<Vec<String>>> {
    let output = cluster.kubectl(&["get", "cronfhpa", "-n", namespace]).await?;
    let words = |line: &str| line.split_ascii_whitespace().map(str::to_owned).collect();
    let mut rows: Vec<Vec<String>> = output.lines().map(words).collect();
    for row in &mut rows {
        row.pop();
    }
    Ok(rows)
}

async fn make_stories(cluster: &Cluster) -> TestResult {
    for namespace in ["story", "better", "autoscaler"] {
        cluster.namespace(namespace).await?;
    }
    cluster.create(DEPLOYMENT, "story", &deployment("shop", 3)).await?;
    cluster.create(FEDERATED, "better", &federated("shop-fhpa", Some(2), 2000)).await?;
    cluster.create(HORIZONTAL, "autoscaler", &horizontal("shop-fhpa", Some(2), 2000)).await?;
    cluster.create_text("story", &story()).await?;
    cluster.create_text("better", &better_approach()).await?;
    // The version of the target, not of the policy.
    let of_kubernetes = better_approach()
        .replace(
            "    apiVersion: autoscaling.karmada.io/v1alpha1",
            "    apiVersion: autoscaling/v2",
        )
        .replace("kind: FederatedHPA", "kind: HorizontalPodAutoscaler");
    cluster.create_text("autoscaler", &of_kubernetes).await
}

/// Checks the status and an Event of each object.
async fn firings_are_recorded_in_statuses_and_events(cluster: &Cluster) -> TestResult {
    for (namespace, applied, what) in [
        ("story", "appliedReplicas", "replicas to 1000 of Deployment.apps story/shop"),
        (
            "better",
            "appliedMinReplicas",
            "minReplicas to 1000 of FederatedHPA.autoscaling.karmada.io better/shop-fhpa",
        ),
        (
            "autoscaler",
            "appliedMinReplicas",
            "minReplicas to 1000 of HorizontalPodAutoscaler.autoscaling autoscaler/shop-fhpa",
        ),
    ] {
        let has_fired = |status: &Value| status["lastExecutionTime"].is_string();
        let status =
            cluster.await_status(namespace, NAME, "the rule to have fired", has_fired).await?;
        let fired = fired_once(BOUNDARY, &json!({applied: 1000}), "2026-12-01T08:30:00Z");
        assert_eq!(history(&status, "Scale-Up")?, fired, "{namespace}");
        assert_eq!(history(&status, "Scale-Down")?, json!({"nextExecutionTime": ELEVEN}));
        assert_eq!(status["nextExecutionTime"], ELEVEN);
        let event = format!("Normal ScaledByRule: rule Scale-Up set the {what}");
        cluster.await_event(namespace, NAME, &event).await?;
    }
    Ok(())
}

/// Checks the metrics of all objects together.
async fn metrics_show_it(controller: &Controller) -> TestResult {
    let eleven: Timestamp = ELEVEN.parse()?;
    let next = format!("almanac_cron_next_firing_timestamp_seconds {}", eleven.as_second());
    let mut actual = controller.scrape("almanac_cron_").await?;
    actual.retain(|line| !line.contains("_bucket") && !line.contains("_sum"));
    actual.sort();
    let expected = [
        "almanac_cron_clock_was_ahead_total 0",
        "almanac_cron_failed_total 0",
        "almanac_cron_fired_total 3",
        "almanac_cron_firings_retrying 0",
        "almanac_cron_lag_seconds_count 3",
        "almanac_cron_missed_total 0",
        &next,
        "almanac_cron_rules_armed 6",
        "almanac_cron_stopped_total 0",
        "almanac_cron_superseded_total 0",
        "almanac_cron_undone_total 0",
    ];
    assert_eq!(actual, expected);
    Ok(())
}

/// Each status is written once when the controller first observes the object, and once when its rules have fired. A
/// restart adds no write.
async fn each_status_is_written_once_for_all_firings(cluster: &Cluster) -> TestResult {
    let controller = cluster.start_at("2026-11-30T08:30:30Z", &[]).await?;
    cluster.namespace("zones").await?;
    cluster.create_text("zones", &two_zones()).await?;
    // The controller has reconciled every older object before this object.
    cluster.await_status("zones", NAME, "armed", |status| !status.is_null()).await?;
    controller.stop().await?;
    let writes = cluster.writes().await?;
    let statuses = writes.iter().filter(|write| write.subresource == "status");
    let mut of_namespaces: Vec<_> = statuses.map(|write| &*write.namespace).collect();
    of_namespaces.sort_unstable();
    let twice = ["autoscaler", "autoscaler", "better", "better", "story", "story", "zones"];
    assert_eq!(of_namespaces, twice, "{}", AuditLog::tally(&writes));
    Ok(())
}

#[test]
fn the_examples_of_the_design_fire_at_half_past_eight_and_not_before() -> TestResult {
    on_cluster(async |_, cluster| {
        make_stories(cluster).await?;
        let controller = cluster.start_at(&early(BOUNDARY)?, &[]).await?;
        let armed = |status: &Value| !status.is_null();
        let status = cluster.await_status("story", NAME, "armed", armed).await?;
        assert_eq!(rules_of(&status), ["Scale-Up", "Scale-Down"]);
        let next = json!({"nextExecutionTime": BOUNDARY});
        assert_eq!(history(&status, "Scale-Up")?, next);
        assert_eq!(history(&status, "Scale-Down")?, json!({"nextExecutionTime": ELEVEN}));
        assert_eq!(status["nextExecutionTime"], BOUNDARY);
        assert_eq!(status["lastExecutionTime"], Value::Null);
        assert_eq!(condition(&status, "Active"), ["True", "Armed", "2 rules are armed"]);
        assert_eq!(condition(&status, "Ready"), ["True", "Armed", "nothing needs attention"]);

        let places = (cluster, &controller);
        let (replicas, bounds) = (("replicas", 3, 1000), ("minReplicas", 2, 1000));
        let better = (FEDERATED, "better", "shop-fhpa");
        let autoscaler = (HORIZONTAL, "autoscaler", "shop-fhpa");
        tokio::try_join!(
            assert_written_at(BOUNDARY, places, (DEPLOYMENT, "story", "shop"), replicas),
            assert_written_at(BOUNDARY, places, better, bounds),
            assert_written_at(BOUNDARY, places, autoscaler, bounds),
        )?;
        firings_are_recorded_in_statuses_and_events(cluster).await?;
        metrics_show_it(&controller).await?;
        let executed =
            cluster.get(CRON, "story", NAME).await?["status"]["lastExecutionTime"].take();
        let executed = executed.as_str().unwrap_or_default();
        let head = ["NAME", "REFERENCE-KIND", "REFERENCE-NAME", "NEXT", "LAST", "READY"];
        assert_eq!(
            table(cluster, "story").await?,
            [head, [NAME, "Deployment", "shop", ELEVEN, executed, "True"]]
        );
        controller.stop().await?;
        each_status_is_written_once_for_all_firings(cluster).await
    })
}

#[test]
fn half_past_seven_fires_once_in_shanghai_and_once_in_los_angeles() -> TestResult {
    in_namespace(async |cluster| {
        let home = cluster.home();
        cluster.create(FEDERATED, home, &federated("shop-fhpa", Some(2), 2000)).await?;
        cluster.create_text(home, &two_zones()).await?;
        let autoscaler = (FEDERATED, home, "shop-fhpa");
        let bounds = ("minReplicas", 2, 1000);
        let [shanghai, los_angeles] = ["2026-11-29T23:30:00Z", "2026-11-30T15:30:00Z"];

        let controller = cluster.start_at(&early(shanghai)?, &[]).await?;
        assert_written_at(shanghai, (cluster, &controller), autoscaler, bounds).await?;
        controller.stop().await?;
        let back = json!({"spec": {"minReplicas": 2}});
        cluster.patch(FEDERATED, home, "shop-fhpa", &back).await?;
        let controller = cluster.start_at(&early(los_angeles)?, &[]).await?;
        assert_written_at(los_angeles, (cluster, &controller), autoscaler, bounds).await?;
        let is_both =
            |status: &Value| status["executionHistories"][1]["successfulExecutions"].is_array();
        let status = cluster.await_status(home, NAME, "both have fired", is_both).await?;
        let applied = json!({"appliedMinReplicas": 1000});
        let fired = fired_once(shanghai, &applied, "2026-11-30T23:30:00Z");
        assert_eq!(history(&status, "scale-up-asia-shanghai")?, fired);
        let fired = fired_once(los_angeles, &applied, "2026-12-01T15:30:00Z");
        assert_eq!(history(&status, "scale-up-america-los-angeles")?, fired);
        controller.stop().await
    })
}
