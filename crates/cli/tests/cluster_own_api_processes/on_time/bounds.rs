//! The bounds of autoscalers at one boundary: bounds that rules set, and bounds that Almanac moves so that a rule can
//! set the other bound.

use almanac_api::kubernetes::KubernetesMinor;
use almanac_harness::TestResult;
use serde_json::{Value, json};

use crate::controller::{
    CRON, CRON_VERSION, Cluster, FEDERATED, HORIZONTAL, condition, cron, federated, horizontal,
    target,
};
use crate::on_time::histories::{fired_once, history};
use crate::on_time::one_boundary::{after_firing, numbers, writes_to};
use crate::on_time::stage::{BOUNDARY, NAMESPACE, TOMORROW, on_stage};

/// An autoscaler with its bounds, the desired bounds of a rule, the resulting bounds, and the history entry.
type Move = (&'static str, (Option<u32>, u32), Value, [Value; 2], Value);

fn moves() -> Vec<Move> {
    let moved = |bound: &str, to: u32, other: &str| {
        json!({
            "appliedMinReplicas": to, "appliedMaxReplicas": to,
            "message": format!("{bound} was moved to {to} to fit {other}"),
        })
    };
    let (up, down) = (json!({"targetMinReplicas": 8}), json!({"targetMaxReplicas": 3}));
    vec![
        ("up", (Some(2), 5), up, [json!(8), json!(8)], moved("maxReplicas", 8, "minReplicas")),
        ("down", (Some(4), 9), down, [json!(3), json!(3)], moved("minReplicas", 3, "maxReplicas")),
        (
            "both",
            (Some(2), 5),
            json!({"targetMinReplicas": 6, "targetMaxReplicas": 12}),
            [json!(6), json!(12)],
            json!({"appliedMinReplicas": 6, "appliedMaxReplicas": 12}),
        ),
        (
            "one",
            (Some(2), 5),
            json!({"targetMaxReplicas": 12}),
            [json!(2), json!(12)],
            json!({"appliedMaxReplicas": 12}),
        ),
        (
            "without-min",
            (None, 5),
            json!({"targetMinReplicas": 4}),
            [json!(4), json!(5)],
            json!({"appliedMinReplicas": 4}),
        ),
    ]
}

/// Rules for both bounds of the same autoscaler: in one object, and in two.
async fn make_shared_autoscalers(cluster: &Cluster) -> TestResult {
    let min = json!({"name": "min", "schedule": "3 9 * * *", "targetMinReplicas": 8});
    let max = json!({"name": "max", "schedule": "3 9 * * *", "targetMaxReplicas": 12});
    cluster.create(FEDERATED, NAMESPACE, &federated("two-rules", Some(2), 5)).await?;
    let aim = target(CRON_VERSION, "FederatedHPA", "two-rules");
    let object = cron("two-rules", &aim, &json!([&min, &max]));
    cluster.create(CRON, NAMESPACE, &object).await?;
    cluster.create(HORIZONTAL, NAMESPACE, &horizontal("two-objects", Some(2), 5)).await?;
    // The older version refers to the same autoscaler.
    for (name, version, rule) in
        [("of-min", "autoscaling/v1", min), ("of-max", "autoscaling/v2", max)]
    {
        let aim = target(version, "HorizontalPodAutoscaler", "two-objects");
        cluster.create(CRON, NAMESPACE, &cron(name, &aim, &json!([rule]))).await?;
    }
    Ok(())
}

/// Rules that set the lower bound to 0, for an autoscaler with an external metric and one without.
async fn make_rules_to_zero(cluster: &Cluster) -> TestResult {
    let queue = json!({
        "type": "External",
        "external": {
            "metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "30"},
        },
    });
    let mut external = horizontal("zero-accepted", Some(2), 5);
    external["spec"]["metrics"] = json!([queue]);
    let usual = horizontal("zero-refused", Some(2), 5);
    for (name, object, delay) in [("zero-accepted", external, 300), ("zero-refused", usual, 5)] {
        cluster.create(HORIZONTAL, NAMESPACE, &object).await?;
        let rule = json!({
            "name": "bounds", "schedule": "3 9 * * *", "targetMinReplicas": 0,
            "maxDelaySeconds": delay,
        });
        let aim = target("autoscaling/v2", "HorizontalPodAutoscaler", name);
        cluster.create(CRON, NAMESPACE, &cron(name, &aim, &json!([rule]))).await?;
    }
    Ok(())
}

/// Creates the objects of the tests in this file.
pub(crate) async fn prepare(cluster: &Cluster) -> TestResult {
    for (name, bounds, mut rule, ..) in moves() {
        rule["name"] = json!("bounds");
        rule["schedule"] = json!("3 9 * * *");
        let rules = json!([rule]);
        let [fhpa, hpa] = ["fhpa", "hpa"].map(|kind| format!("{kind}-{name}"));
        cluster.create(FEDERATED, NAMESPACE, &federated(&fhpa, bounds.0, bounds.1)).await?;
        cluster.create(HORIZONTAL, NAMESPACE, &horizontal(&hpa, bounds.0, bounds.1)).await?;
        let aim = target(CRON_VERSION, "FederatedHPA", &fhpa);
        cluster.create(CRON, NAMESPACE, &cron(&fhpa, &aim, &rules)).await?;
        let aim = target("autoscaling/v2", "HorizontalPodAutoscaler", &hpa);
        cluster.create(CRON, NAMESPACE, &cron(&hpa, &aim, &rules)).await?;
    }
    make_shared_autoscalers(cluster).await?;
    make_rules_to_zero(cluster).await?;
    cluster.create(FEDERATED, NAMESPACE, &federated("unset", None, 5)).await?;
    let rules = json!([{"name": "bounds", "schedule": "3 9 * * *", "targetMinReplicas": 1}]);
    let object = cron("unset", &target(CRON_VERSION, "FederatedHPA", "unset"), &rules);
    cluster.create(CRON, NAMESPACE, &object).await
}

#[test]
fn bounds_set_by_two_rules_at_the_same_time_are_one_write() -> TestResult {
    on_stage(async |cluster| {
        let fired = |applied| fired_once(BOUNDARY, &applied, TOMORROW);
        let status = after_firing(cluster, "two-rules").await?;
        assert_eq!(history(&status, "min")?, fired(json!({"appliedMinReplicas": 8})));
        assert_eq!(history(&status, "max")?, fired(json!({"appliedMaxReplicas": 12})));
        assert_eq!(writes_to(cluster, "two-rules").await?, 1);
        for name in ["of-min", "of-max"] {
            let status = after_firing(cluster, name).await?;
            assert_eq!(status["executionHistories"][0]["failedExecutions"], Value::Null, "{name}");
        }
        for (kind, name) in [(FEDERATED, "two-rules"), (HORIZONTAL, "two-objects")] {
            let bounds = numbers(cluster, kind, name).await?;
            assert_eq!(bounds, [Value::Null, json!(8), json!(12)], "{name}");
        }
        Ok(())
    })
}

#[test]
fn a_lower_bound_of_zero_is_set_where_the_api_server_accepts_it() -> TestResult {
    on_stage(async |cluster| {
        let info = cluster.client().apiserver_version().await?;
        let version = KubernetesMinor::from_server(&info.major, &info.minor);
        if version < Some(KubernetesMinor::SCALES_TO_ZERO) {
            let words = "0 needs Kubernetes 1.37 or newer";
            let is_reported = |status: &Value| condition(status, "Ready")[2].contains(words);
            cluster.await_status(NAMESPACE, "zero-accepted", words, is_reported).await?;
            return Ok(());
        }
        let status = after_firing(cluster, "zero-accepted").await?;
        let applied = json!({"appliedMinReplicas": 0});
        assert_eq!(history(&status, "bounds")?, fired_once(BOUNDARY, &applied, TOMORROW));
        let bounds = numbers(cluster, HORIZONTAL, "zero-accepted").await?;
        assert_eq!(bounds, [Value::Null, json!(0), json!(5)]);

        let failures = |status: &Value| status["executionHistories"][0]["failedExecutions"].clone();
        let has_failed = |status: &Value| failures(status).is_array();
        let status =
            cluster.await_status(NAMESPACE, "zero-refused", "given up", has_failed).await?;
        let message = failures(&status)[0]["message"].to_string();
        let refusal = "must specify at least one Object or External metric";
        assert!(message.contains(refusal), "{message}");
        assert_eq!(numbers(cluster, HORIZONTAL, "zero-refused").await?[1], json!(2));
        Ok(())
    })
}

#[test]
fn an_absent_lower_bound_is_one_and_setting_it_to_one_writes_nothing() -> TestResult {
    on_stage(async |cluster| {
        let status = after_firing(cluster, "unset").await?;
        let applied = json!({"appliedMinReplicas": 1});
        assert_eq!(history(&status, "bounds")?, fired_once(BOUNDARY, &applied, TOMORROW));
        assert_eq!(numbers(cluster, FEDERATED, "unset").await?[1], Value::Null);
        assert_eq!(writes_to(cluster, "unset").await?, 0);
        Ok(())
    })
}

#[test]
fn a_bound_moves_for_the_bound_of_a_rule_and_the_history_has_the_move() -> TestResult {
    on_stage(async |cluster| {
        for (name, _, _, [min, max], applied) in moves() {
            for (prefix, kind) in [("fhpa", FEDERATED), ("hpa", HORIZONTAL)] {
                let name = format!("{prefix}-{name}");
                let status = after_firing(cluster, &name).await?;
                let bounds = numbers(cluster, kind, &name).await?;
                assert_eq!(bounds, [Value::Null, min.clone(), max.clone()], "{name}");
                let expected = fired_once(BOUNDARY, &applied, TOMORROW);
                assert_eq!(history(&status, "bounds")?, expected, "{name}");
                assert_eq!(writes_to(cluster, &name).await?, 1, "{name}");
            }
        }
        let event = format!(
            "Normal ScaledByRule: rule bounds set the minReplicas to 8 and maxReplicas to 8 of \
             HorizontalPodAutoscaler.autoscaling {NAMESPACE}/hpa-up"
        );
        cluster.await_event(NAMESPACE, "hpa-up", &event).await
    })
}
