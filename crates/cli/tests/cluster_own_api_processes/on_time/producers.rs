//! The number of a schedule: at the scrape, in the status, and while the schedule is unusable.

use almanac_harness::{Observation, PATIENCE, TestResult, await_condition};
use anyhow::Result;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controller::{
    CRON, Cluster, Controller, DEPLOYMENT, PRODUCER, condition, cron, deployment, head_start,
    on_cluster, schedule_of_the_design, target,
};

/// Monday, nine o'clock in Los Angeles.
const BOUNDARY: &str = "2026-11-30T17:00:00Z";
const NAMES: [&str; 2] = ["karpenter_scheduled_capacity", "karpenter_scheduled_replicas_value"];

fn series(metric: &str, name: &str, value: u32) -> String {
    format!("{metric}{{name=\"{name}\",namespace=\"shop\"}} {value}")
}

async fn await_producer(
    cluster: &Cluster,
    name: &str,
    what: &str,
    is_so: impl Fn(&Value) -> bool,
) -> Result<Value> {
    let is_so = |object: &Value| is_so(&object["status"]);
    Ok(cluster.await_object(PRODUCER, ("shop", name), what, is_so).await?["status"].clone())
}

/// Waits until a scrape returns exactly these series.
async fn await_series(controller: &Controller, metric: &str, wanted: &[String]) -> TestResult {
    await_condition(&format!("the series {wanted:?}"), PATIENCE, async || {
        let actual = controller.scrape(metric).await?;
        Ok(Observation::from_bool(actual == wanted, format!("{actual:?}")))
    })
    .await
}

/// Scrapes repeatedly across the boundary: no scrape before the boundary has the new number, and no scrape after the
/// boundary has the old number.
async fn assert_scrapes_turn_at_the_boundary(controller: &Controller) -> TestResult {
    let boundary: Timestamp = BOUNDARY.parse()?;
    let mut seen_before = 0;
    await_condition("a scrape after the boundary", PATIENCE, async || {
        let began = controller.now();
        let actual = controller.scrape("karpenter_scheduled").await?;
        let ended = controller.now();
        let of_value = |value| NAMES.map(|metric| series(metric, "scheduling", value)).to_vec();
        if ended < boundary {
            assert_eq!(actual, of_value(1), "at {ended}");
            seen_before += 1;
            return Ok(Observation::NotYet(format!("the value is {ended}")));
        }
        if began < boundary {
            return Ok(Observation::NotYet("a scrape under way at the boundary".into()));
        }
        assert_eq!(actual, of_value(3), "at {began}");
        Ok(Observation::Holds(()))
    })
    .await?;
    assert!(seen_before > 0, "the test was too slow to scrape before the boundary");
    Ok(())
}

#[test]
fn a_schedule_has_its_new_number_at_the_first_scrape_after_the_boundary() -> TestResult {
    on_cluster(async |_, cluster| {
        cluster.namespace("shop").await?;
        cluster.create_text("shop", &schedule_of_the_design()).await?;
        cluster.create(DEPLOYMENT, "shop", &deployment("web", 2)).await?;
        let rules = json!([{"name": "up", "schedule": "0 17 * * *", "targetReplicas": 9}]);
        let scaling = cron("web", &target("apps/v1", "Deployment", "web"), &rules);
        cluster.create(CRON, "shop", &scaling).await?;
        let only = ["--controllers=metrics-producer"];
        let before = BOUNDARY.parse::<Timestamp>()? - head_start();
        let controller = cluster.start_at(&before.to_string(), &only).await?;

        let status = await_producer(cluster, "scheduling", "published", |it| !it.is_null()).await?;
        let monday = json!({
            "currentValue": 1, "nextValue": 3, "nextValueTime": BOUNDARY, "behaviorIndex": 0,
        });
        assert_eq!(status["scheduledCapacity"], monday);
        let well = ["True", "Scheduled", "the schedule is published"];
        assert_eq!([condition(&status, "Active"), condition(&status, "Ready")], [well, well]);
        assert_scrapes_turn_at_the_boundary(&controller).await?;

        let has_turned = |status: &Value| status["scheduledCapacity"]["currentValue"] != 1;
        let status = await_producer(cluster, "scheduling", "turned", has_turned).await?;
        let evening = "2026-12-01T01:00:00Z";
        let at_nine = json!({
            "currentValue": 3, "nextValue": 2, "nextValueTime": evening, "behaviorIndex": 1,
        });
        assert_eq!(status["scheduledCapacity"], at_nine);
        let table = cluster.kubectl(&["get", "mp", "-n", "shop"]).await?;
        let cells: Vec<Vec<&str>> =
            table.lines().map(|line| line.split_ascii_whitespace().collect()).collect();
        assert_eq!(cells[0], ["NAME", "VALUE", "NEXT", "AT", "READY", "AGE"]);
        assert_eq!(cells[1][..5], ["scheduling", "3", "2", evening, "True"]);

        a_schedule_that_cannot_be_used_has_no_series(cluster, &controller).await?;
        // All remaining writes are done by now.
        controller.stop().await?;
        let left_alone = cluster.get(CRON, "shop", "web").await?;
        assert_eq!(left_alone["status"], Value::Null, "no controller reconciles it");
        assert_eq!(cluster.target_writes().await?, []);
        Ok(())
    })
}

/// The controller owns only the fields of a status that it has set.
async fn a_condition_of_another_field_manager_stays(cluster: &Cluster) -> TestResult {
    let approved = json!([{"op": "add", "path": "/status/conditions/-", "value": {
        "type": "Approved", "status": "True", "reason": "Somebody", "message": "",
        "lastTransitionTime": BOUNDARY,
    }}]);
    let approved = approved.to_string();
    let patch = ["patch", "mp", "scheduling", "-n", "shop", "--subresource=status", "--type=json"];
    cluster.kubectl(&[&patch[..], &["-p", &approved]].concat()).await?;
    Ok(())
}

async fn a_schedule_that_cannot_be_used_has_no_series(
    cluster: &Cluster,
    controller: &Controller,
) -> TestResult {
    // Uses the field name of the first releases.
    let other = json!({
        "apiVersion": "autoscaling.karpenter.sh/v1alpha1", "kind": "MetricsProducer",
        "metadata": {"name": "other"},
        "spec": {"scheduleSpec": {"defaultReplicas": 5, "behaviors": [
            {"replicas": 7, "start": {"hours": "9"}, "end": {"hours": "10"}},
        ]}},
    });
    cluster.create(PRODUCER, "shop", &other).await?;
    let capacity = |name, value| series(NAMES[0], name, value);
    let both = [capacity("other", 5), capacity("scheduling", 3)];
    await_series(controller, NAMES[0], &both).await?;

    a_condition_of_another_field_manager_stays(cluster).await?;
    let nowhere = json!({"spec": {"schedule": {"timezone": "Mars/Olympus"}}});
    cluster.patch(PRODUCER, "shop", "scheduling", &nowhere).await?;
    let is_off = |status: &Value| condition(status, "Active")[0] == "False";
    let status = await_producer(cluster, "scheduling", "off", is_off).await?;
    let [_, reason, message] = condition(&status, "Active");
    assert_eq!(reason, "ScheduleInvalid");
    assert!(
        message.starts_with("spec.schedule.timezone: Invalid value: \"Mars/Olympus\""),
        "{message}"
    );
    assert_eq!(condition(&status, "Ready"), condition(&status, "Active"));
    assert_eq!(status["scheduledCapacity"], Value::Null, "what is ours goes");
    assert_eq!(condition(&status, "Approved")[..2], ["True", "Somebody"], "and nothing else");
    cluster
        .await_event("shop", "scheduling", &format!("Warning ScheduleInvalid: {message}"))
        .await?;
    await_series(controller, NAMES[0], &both[..1]).await?;

    let fixed = json!({"spec": {"schedule": {"timezone": "America/Los_Angeles"}}});
    cluster.patch(PRODUCER, "shop", "scheduling", &fixed).await?;
    await_series(controller, NAMES[0], &both).await?;
    cluster.delete(PRODUCER, "shop", "scheduling").await?;
    await_series(controller, NAMES[0], &both[..1]).await?;
    cluster.delete(PRODUCER, "shop", "other").await?;
    await_series(controller, "karpenter_", &[]).await?;

    let queue = json!({
        "apiVersion": "autoscaling.karpenter.sh/v1alpha1", "kind": "MetricsProducer",
        "metadata": {"name": "queue"},
        "spec": {"queue": {"type": "AWSSQSQueue", "id": "arn:aws:sqs:us-west-2:1:q"}},
    });
    cluster.create(PRODUCER, "shop", &queue).await?;
    let status = await_producer(cluster, "queue", "reported", |it| !it.is_null()).await?;
    let [holds, reason, message] = condition(&status, "Active");
    assert_eq!([holds, reason], ["False", "Unsupported"], "{message}");
    assert!(message.contains("spec.queue"), "{message}");
    assert_eq!(condition(&status, "Ready"), [holds, reason, message]);
    await_series(controller, "karpenter_", &[]).await
}
