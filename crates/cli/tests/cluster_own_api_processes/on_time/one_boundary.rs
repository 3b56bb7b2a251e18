//! Three minutes past nine: the results of rules at this boundary, and the effect of later edits.
//!
//! Every test has separate objects, created before the boundary, and all objects cross the boundary together: see
//! `stage`.

use almanac_harness::TestResult;
use serde_json::{Value, json};

use crate::controller::{CRON, Cluster, DEPLOYMENT, Kind, condition, cron, deployment, target};
use crate::on_time::histories::{fired_once, history, is_settled, rules_of};
use crate::on_time::stage::{BOUNDARY, NAMESPACE, TOMORROW, on_stage};

/// Creates an object whose target is a Deployment of the same name.
async fn with_deployment(
    cluster: &Cluster,
    name: &str,
    replicas: u32,
    rules: &Value,
) -> TestResult {
    cluster.create(DEPLOYMENT, NAMESPACE, &deployment(name, replicas)).await?;
    let object = cron(name, &target("apps/v1", "Deployment", name), rules);
    cluster.create(CRON, NAMESPACE, &object).await
}

fn daily(name: &str, replicas: u32) -> Value {
    json!({"name": name, "schedule": "3 9 * * *", "targetReplicas": replicas})
}

pub(crate) async fn numbers(
    cluster: &Cluster,
    kind: Kind,
    name: &str,
) -> Result<[Value; 3], anyhow::Error> {
    let object = cluster.get(kind, NAMESPACE, name).await?;
    Ok(["replicas", "minReplicas", "maxReplicas"].map(|field| object["spec"][field].clone()))
}

/// Waits until an object's firing is in its status.
pub(crate) async fn after_firing(cluster: &Cluster, name: &str) -> Result<Value, anyhow::Error> {
    let has_fired = |status: &Value| status["lastExecutionTime"].is_string();
    cluster.await_status(NAMESPACE, name, "a rule has fired", has_fired).await
}

/// The number of writes to a target of that name.
pub(crate) async fn writes_to(cluster: &Cluster, name: &str) -> Result<usize, anyhow::Error> {
    let writes = cluster.target_writes().await?;
    Ok(writes.iter().filter(|write| write.name == name).count())
}

/// Changes an object, and waits until the status describes the new version.
async fn edit(cluster: &Cluster, name: &str, spec: &Value) -> Result<Value, anyhow::Error> {
    let before = cluster.get(CRON, NAMESPACE, name).await?;
    let after = cluster.patch(CRON, NAMESPACE, name, &json!({ "spec": spec })).await?;
    assert_ne!(before["metadata"]["generation"], after["metadata"]["generation"], "an edit");
    let settled = cluster.await_object(CRON, (NAMESPACE, name), "settled", is_settled).await?;
    Ok(settled["status"].clone())
}

/// Creates the objects of the tests in this file.
pub(crate) async fn prepare(cluster: &Cluster) -> TestResult {
    let zoned = |name: &str, schedule: &str, zone: &str, replicas: u32| json!({"name": name, "schedule": schedule, "timeZone": zone, "targetReplicas": replicas});
    let rules = [
        zoned("shanghai", "3 17 * * *", "Asia/Shanghai", 7),
        zoned("los-angeles", "3 1 * * *", "America/Los_Angeles", 9),
    ];
    with_deployment(cluster, "zones", 2, &json!(rules)).await?;
    let turned: Vec<&Value> = rules.iter().rev().collect();
    with_deployment(cluster, "turned", 2, &json!(turned)).await?;
    with_deployment(cluster, "from-zero", 0, &json!([daily("up", 3)])).await?;
    with_deployment(cluster, "to-zero", 3, &json!([daily("down", 0)])).await?;
    with_deployment(cluster, "equal", 5, &json!([daily("same", 5)])).await?;
    let bad = json!({"name": "bad", "schedule": "61 9 * * *", "targetReplicas": 8});
    let good = [daily("first", 4), bad, daily("last", 6)];
    with_deployment(cluster, "good-and-bad", 1, &json!(good)).await?;
    let mut suspended = daily("paused", 9);
    suspended["suspend"] = json!(true);
    let rules = json!([daily("morning", 4), suspended]);
    for name in ["paused", "renamed", "edited", "reordered", "moved"] {
        with_deployment(cluster, name, 1, &rules).await?;
    }
    let rules = json!([daily("loser", 3), daily("morning", 4)]);
    with_deployment(cluster, "limited", 1, &rules).await?;
    cluster.create(DEPLOYMENT, NAMESPACE, &deployment("elsewhere", 1)).await
}

/// The Deployments that are written at the boundary, exactly once each.
pub(crate) const WRITTEN: [&str; 11] = [
    "edited",
    "from-zero",
    "good-and-bad",
    "limited",
    "moved",
    "paused",
    "renamed",
    "reordered",
    "to-zero",
    "turned",
    "zones",
];

#[test]
fn two_rules_in_two_zones_due_in_one_minute_make_one_write_of_the_last_in_the_spec() -> TestResult {
    on_stage(async |cluster| {
        for (name, winner, loser, replicas) in
            [("zones", "los-angeles", "shanghai", 9), ("turned", "shanghai", "los-angeles", 7)]
        {
            let status = after_firing(cluster, name).await?;
            assert_eq!(numbers(cluster, DEPLOYMENT, name).await?[0], replicas, "{name}");
            assert_eq!(writes_to(cluster, name).await?, 1, "{name}");
            let applied = json!({"appliedReplicas": replicas});
            assert_eq!(
                history(&status, winner)?,
                fired_once(BOUNDARY, &applied, TOMORROW),
                "{name}"
            );
            let message = format!("superseded by rule {winner:?}");
            let failed = json!([{"scheduleTime": BOUNDARY, "message": message}]);
            let superseded = json!({"nextExecutionTime": TOMORROW, "failedExecutions": failed});
            assert_eq!(history(&status, loser)?, superseded, "{name}");
            let event = format!("Normal RuleSuperseded: rule {loser} was superseded by {winner}");
            cluster.await_event(NAMESPACE, name, &event).await?;
        }
        Ok(())
    })
}

#[test]
fn zero_is_a_valid_value_and_an_unchanged_value_is_not_written() -> TestResult {
    on_stage(async |cluster| {
        for (name, rule, replicas, writes) in
            [("from-zero", "up", 3, 1), ("to-zero", "down", 0, 1), ("equal", "same", 5, 0)]
        {
            let status = after_firing(cluster, name).await?;
            assert_eq!(numbers(cluster, DEPLOYMENT, name).await?[0], replicas, "{name}");
            let applied = json!({"appliedReplicas": replicas});
            assert_eq!(history(&status, rule)?, fired_once(BOUNDARY, &applied, TOMORROW), "{name}");
            assert_eq!(writes_to(cluster, name).await?, writes, "{name}");
        }
        Ok(())
    })
}

#[test]
fn an_invalid_rule_blocks_no_other_and_fires_normally_once_fixed() -> TestResult {
    on_stage(async |cluster| {
        let name = "good-and-bad";
        let status = after_firing(cluster, name).await?;
        assert_eq!(numbers(cluster, DEPLOYMENT, name).await?[0], 6);
        assert_eq!(rules_of(&status), ["first", "last"]);
        let active = ["True", "Armed", "2 rules are armed, 1 cannot be used"];
        assert_eq!(condition(&status, "Active"), active);
        let [holds, reason, message] = condition(&status, "Ready");
        assert_eq!([holds, reason], ["False", "RulesInvalid"]);
        assert!(
            message.starts_with("spec.rules[1].schedule: Invalid value: \"61 9 * * *\""),
            "{message}"
        );
        cluster.await_event(NAMESPACE, name, &format!("Warning RulesInvalid: {message}")).await?;
        // After the fix, the rule is like the others. At its minute, the rule did not exist yet.
        let fixed = [daily("first", 4), daily("bad", 8), daily("last", 6)];
        let status = edit(cluster, name, &json!({ "rules": fixed })).await?;
        assert_eq!(rules_of(&status), ["first", "bad", "last"]);
        assert_eq!(history(&status, "bad")?, json!({"nextExecutionTime": TOMORROW}));
        assert_eq!(condition(&status, "Ready"), ["True", "Armed", "nothing needs attention"]);
        assert_eq!(writes_to(cluster, name).await?, 1);
        Ok(())
    })
}

fn morning() -> Value {
    fired_once(BOUNDARY, &json!({"appliedReplicas": 4}), TOMORROW)
}

#[test]
fn suspending_clears_the_next_firing_and_resuming_computes_it_from_now() -> TestResult {
    on_stage(async |cluster| {
        let status = after_firing(cluster, "paused").await?;
        assert_eq!(history(&status, "morning")?, morning());
        assert_eq!(history(&status, "paused")?, json!({}));
        assert_eq!(condition(&status, "Active")[2], "1 rule is armed, 1 is suspended");
        let mut rules = [daily("morning", 4), daily("paused", 9)];
        rules[0]["suspend"] = json!(true);
        let status = edit(cluster, "paused", &json!({ "rules": rules })).await?;
        let kept = json!({"successfulExecutions": morning()["successfulExecutions"]});
        assert_eq!(history(&status, "morning")?, kept);
        assert_eq!(history(&status, "paused")?, json!({"nextExecutionTime": TOMORROW}));
        for rule in &mut rules {
            rule["suspend"] = json!(true);
        }
        let status = edit(cluster, "paused", &json!({ "rules": rules })).await?;
        assert_eq!(status["nextExecutionTime"], Value::Null);
        let none = ["False", "Suspended", "no rule is armed, 2 are suspended"];
        assert_eq!(condition(&status, "Active"), none);
        assert_eq!(condition(&status, "Ready")[0], "True");
        let rules = [daily("morning", 4), daily("paused", 9)];
        let status = edit(cluster, "paused", &json!({ "rules": rules })).await?;
        assert_eq!(history(&status, "morning")?, morning());
        assert_eq!(history(&status, "paused")?, json!({"nextExecutionTime": TOMORROW}));
        assert_eq!(numbers(cluster, DEPLOYMENT, "paused").await?[0], 4);
        Ok(())
    })
}

#[test]
fn a_renamed_rule_is_a_different_rule() -> TestResult {
    on_stage(async |cluster| {
        after_firing(cluster, "renamed").await?;
        let status = edit(cluster, "renamed", &json!({"rules": [daily("dawn", 9)]})).await?;
        assert_eq!(rules_of(&status), ["dawn"], "the removed and the renamed are gone");
        assert_eq!(history(&status, "dawn")?, json!({"nextExecutionTime": TOMORROW}));
        assert_eq!(status["lastExecutionTime"], Value::Null);
        let status = edit(cluster, "renamed", &json!({"rules": [daily("morning", 4)]})).await?;
        assert_eq!(history(&status, "morning")?, json!({"nextExecutionTime": TOMORROW}));
        Ok(())
    })
}

#[test]
fn an_edited_rule_keeps_its_history_and_does_not_fire_for_the_past() -> TestResult {
    on_stage(async |cluster| {
        after_firing(cluster, "edited").await?;
        let by_hand = json!({"spec": {"replicas": 2}});
        cluster.patch(DEPLOYMENT, NAMESPACE, "edited", &by_hand).await?;
        let mut rule = daily("morning", 9);
        rule["schedule"] = json!("2 9 * * *");
        let added = json!({"name": "added", "schedule": "0 9 * * *", "targetReplicas": 8});
        let status = edit(cluster, "edited", &json!({"rules": [rule, added]})).await?;
        assert_eq!(rules_of(&status), ["morning", "added"]);
        let mut expected = morning();
        expected["nextExecutionTime"] = json!("2026-12-01T09:02:00Z");
        assert_eq!(history(&status, "morning")?, expected);
        assert_eq!(
            history(&status, "added")?,
            json!({"nextExecutionTime": "2026-12-01T09:00:00Z"})
        );
        // Back to the original schedule; the rule has already fired for this minute.
        let status = edit(cluster, "edited", &json!({"rules": [daily("morning", 4)]})).await?;
        assert_eq!(history(&status, "morning")?, morning());
        assert_eq!(
            numbers(cluster, DEPLOYMENT, "edited").await?[0],
            2,
            "the manual value was overwritten"
        );
        Ok(())
    })
}

#[test]
fn rules_are_listed_as_the_spec_has_them() -> TestResult {
    on_stage(async |cluster| {
        after_firing(cluster, "reordered").await?;
        let mut rules = vec![daily("paused", 9), daily("new", 2), daily("morning", 4)];
        rules[0]["suspend"] = json!(true);
        let status = edit(cluster, "reordered", &json!({ "rules": rules })).await?;
        assert_eq!(rules_of(&status), ["paused", "new", "morning"]);
        assert_eq!(history(&status, "morning")?, morning());
        assert_eq!(history(&status, "paused")?, json!({}));
        assert_eq!(history(&status, "new")?, json!({"nextExecutionTime": TOMORROW}));
        Ok(())
    })
}

#[test]
fn a_lowered_failure_limit_applies_immediately() -> TestResult {
    on_stage(async |cluster| {
        let status = after_firing(cluster, "limited").await?;
        let message = "superseded by rule \"morning\"";
        let failed = json!([{"scheduleTime": BOUNDARY, "message": message}]);
        let expected = json!({"nextExecutionTime": TOMORROW, "failedExecutions": failed});
        assert_eq!(history(&status, "loser")?, expected);
        let mut loser = daily("loser", 3);
        loser["failedHistoryLimit"] = json!(0);
        let spec = json!({"rules": [loser, daily("morning", 4)]});
        let status = edit(cluster, "limited", &spec).await?;
        assert_eq!(history(&status, "loser")?, json!({"nextExecutionTime": TOMORROW}));
        assert_eq!(history(&status, "morning")?, morning());
        Ok(())
    })
}

#[test]
fn a_new_target_is_unchanged_until_the_next_firing() -> TestResult {
    on_stage(async |cluster| {
        after_firing(cluster, "moved").await?;
        for name in ["elsewhere", "moved"] {
            let spec = json!({"scaleTargetRef": target("apps/v1", "Deployment", name)});
            let status = edit(cluster, "moved", &spec).await?;
            assert_eq!(history(&status, "morning")?, morning(), "{name}");
        }
        assert_eq!(numbers(cluster, DEPLOYMENT, "elsewhere").await?[0], 1);
        Ok(())
    })
}
