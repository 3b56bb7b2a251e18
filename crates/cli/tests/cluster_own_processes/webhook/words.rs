//! The rejections and warnings, with the texts of `validate`.

use almanac_fixtures::{hub, objects};
use almanac_harness::{Observation, PATIENCE, TestResult, await_condition};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::reading::{await_value, get};
use crate::webhook::desk::{CONFIGURATION, Desk, at_the_desk, await_refusal, cron, in_shop};

/// An object of each kind with an error that its schema does not detect.
fn wrong_objects() -> Vec<Value> {
    let weekend = json!({
        "replicas": 6,
        "start": {"weekdays": "fri", "hours": "17"}, "end": {"weekdays": "mon", "hours": "8"},
    });
    let schedule =
        json!({"timezone": "Europe/Atlantis", "defaultReplicas": 2, "behaviors": [weekend]});
    let target = objects::target("apps/v1", "Deployment", "web");
    let selector = json!({"celSelector": {"celExpressions": ["managedCluster.nothing("]}});
    let predicates = json!({"predicates": [{"requiredClusterSelector": selector}]});
    let others = [
        objects::metrics_producer("hours", &schedule),
        objects::horizontal_autoscaler("web", &target, "max(a, b)"),
        hub::placement("web", &predicates),
        objects::agent_config(&[json!({"name": "night", "startTime": "25:00"})]),
    ];
    [cron("web", "0 0 * *")].into_iter().chain(others.map(in_shop)).collect()
}

async fn each_response_is_that_of_validate(desk: &Desk<'_>) -> TestResult {
    for object in wrong_objects() {
        let findings = desk.validate(&object).await?;
        let errors: Vec<&Value> = findings.iter().filter(|it| it["severity"] == "error").collect();
        assert!(!errors.is_empty(), "validate finds nothing in {object}: {findings:?}");
        let applied = desk.apply(&object).await?;
        assert!(!applied.is_done, "{object} was applied: {}", applied.stderr);
        for error in errors {
            let message = error["message"].as_str().unwrap_or_default();
            let field = error["field"].as_str().unwrap_or_default();
            assert!(
                !message.is_empty() && applied.stderr.contains(message),
                "{error}: {}",
                applied.stderr
            );
            assert!(applied.stderr.contains(field), "{error}: {}", applied.stderr);
            let fix = error["fix"].as_str().unwrap_or_default();
            assert!(!fix.is_empty() && applied.stderr.contains(fix), "{error}: {}", applied.stderr);
        }
    }
    Ok(())
}

async fn others_are_seen(desk: &Desk<'_>) -> TestResult {
    let mut evening = cron("web", "0 20 * * *");
    evening["metadata"]["name"] = json!("evening");
    let applied = desk.apply(&evening).await?;
    assert!(applied.is_done && applied.stderr.is_empty(), "{}", applied.stderr);
    await_condition("the other writer to be reported", PATIENCE, async || {
        let applied = desk.apply(&cron("web", "0 8 * * *")).await?;
        let expected = "Warning: spec.scaleTargetRef: Deployment.apps shop/web is already scaled by CronFederatedHPA";
        let holds = applied.is_done && applied.stderr.contains(expected);
        Ok(Observation::from_bool(holds, applied.stderr))
    })
    .await?;
    // Different values in the same minute are a warning about the object alone.
    let mut twice = cron("twice", "0 8 * * *");
    twice["spec"]["rules"] = json!([
        {"name": "up", "schedule": "0 8 * * *", "targetReplicas": 5},
        {"name": "down", "schedule": "0 8 * * 1", "targetReplicas": 2},
    ]);
    let findings = desk.validate(&twice).await?;
    let message = findings[0]["message"].as_str().unwrap_or_default().to_owned();
    let applied = desk.apply(&twice).await?;
    assert!(applied.is_done && applied.stderr.contains(&message), "{message}: {}", applied.stderr);
    Ok(())
}

/// Objects that were applied without the webhook have the messages of `validate` in their conditions.
async fn each_condition_is_that_of_validate(desk: &Desk<'_>) -> TestResult {
    let controller = desk.start_controller()?;
    let objects = wrong_objects();
    // A ConfigMap has no conditions.
    for object in objects.iter().filter(|it| it["kind"] != "ConfigMap") {
        let applied = desk.apply(object).await?;
        assert!(applied.is_done, "{object}: {}", applied.stderr);
        let findings = desk.validate(object).await?;
        let (kind, name) = (object["kind"].as_str(), object["metadata"]["name"].as_str());
        let what = ["-n", "shop", kind.unwrap_or_default(), name.unwrap_or_default()];
        await_condition("the words of validate in a condition", PATIENCE, async || {
            let conditions = get(&desk.kubectl, &what).await?["status"]["conditions"].clone();
            let all = conditions.as_array().into_iter().flatten();
            let messages: Vec<&str> = all.filter_map(|it| it["message"].as_str()).collect();
            let mut errors = findings.iter().filter(|it| it["severity"] == "error");
            let is_reported = errors.all(|error| {
                let message = error["message"].as_str().unwrap_or_default();
                messages.iter().any(|it| it.contains(message))
            });
            Ok(Observation::from_bool(is_reported, format!("{findings:?}: {messages:?}")))
        })
        .await?;
        desk.kubectl.run(&[&["delete"][..], &what].concat()).await?;
    }
    assert!(controller.stop().await?.success(), "it did not end well");
    Ok(())
}

/// In a namespace with the ignore annotation, nothing is checked until the annotation is removed.
async fn a_namespace_with_the_ignore_annotation_is_exempt(desk: &Desk<'_>) -> TestResult {
    for (mark, is_exempt) in [("almanac.dev/ignore=true", true), ("almanac.dev/ignore-", false)] {
        desk.kubectl.run(&["annotate", "namespace", "shop", mark]).await?;
        await_condition("the mark to be known", PATIENCE, async || {
            let name = if is_exempt { "of-exempt" } else { "of-checked" };
            let applied = desk.apply(&cron(name, "0 0 * *")).await?;
            Ok(Observation::from_bool(applied.is_done == is_exempt, applied.stderr))
        })
        .await?;
    }
    Ok(())
}

/// While Karmada has its Lease, the kinds that Karmada reconciles are not checked; all others are.
async fn kinds_of_a_running_upstream_controller_are_not_checked(desk: &Desk<'_>) -> TestResult {
    desk.kubectl.run(&["create", "namespace", "karmada-system"]).await?;
    let lease = objects::karmada_lease("karmada-0", Timestamp::now());
    desk.kubectl.run_with_input(&["create", "-f", "-"], &lease.to_string()).await?;
    await_condition("a wrong policy of Karmada's to pass", PATIENCE, async || {
        let applied = desk.apply(&cron("of-karmada", "0 0 * *")).await?;
        Ok(Observation::from_bool(applied.is_done && applied.stderr.is_empty(), applied.stderr))
    })
    .await?;
    for object in wrong_objects().into_iter().filter(|it| it["kind"] != "CronFederatedHPA") {
        let applied = desk.apply(&object).await?;
        assert!(!applied.is_done, "{object} was applied: {}", applied.stderr);
    }
    Ok(())
}

/// Objects that were invalid before the webhook was installed can be labeled and deleted.
async fn existing_invalid_objects_can_be_deleted(desk: &Desk<'_>) -> TestResult {
    let [kind, name] = CONFIGURATION;
    let configuration = get(&desk.kubectl, &[kind, name]).await?;
    desk.kubectl.run(&["delete", kind, name]).await?;
    let wrong = cron("old", "0 0 * *");
    await_condition("no webhook to be called", PATIENCE, async || {
        let applied = desk.apply(&wrong).await?;
        Ok(Observation::from_bool(applied.is_done, applied.stderr))
    })
    .await?;
    each_condition_is_that_of_validate(desk).await?;
    let mut again = configuration;
    again["metadata"] = json!({"name": name});
    desk.kubectl.run(&["apply", "--server-side", "-f", &desk.write(&again)?]).await?;
    await_refusal(desk).await?;
    let mut labeled = wrong;
    labeled["metadata"]["labels"] = json!({"team": "shop"});
    let applied = desk.apply(&labeled).await?;
    let label = ["-n", "shop", "cronfederatedhpa", "old"];
    await_value(&desk.kubectl, &label, "/metadata/labels/team", &json!("shop")).await?;
    assert!(
        applied.is_done && applied.stderr.contains("Warning: spec.rules[0].schedule"),
        "{}",
        applied.stderr
    );
    desk.kubectl.run(&["-n", "shop", "delete", "cronfederatedhpa", "old"]).await?;
    Ok(())
}

#[test]
fn an_invalid_policy_is_rejected_with_the_message_of_validate() -> TestResult {
    at_the_desk(&[], async |desk| {
        await_refusal(desk).await?;
        each_response_is_that_of_validate(desk).await?;
        let nonsense = json!({"config.yaml": "timeBasedQoSPolicies: nonsense"});
        let other = in_shop(objects::config_map("other", &nonsense));
        let applied = desk.apply(&other).await?;
        assert!(applied.is_done && applied.stderr.is_empty(), "{}", applied.stderr);
        others_are_seen(desk).await?;
        a_namespace_with_the_ignore_annotation_is_exempt(desk).await?;
        existing_invalid_objects_can_be_deleted(desk).await?;
        kinds_of_a_running_upstream_controller_are_not_checked(desk).await
    })
}
