//! Order, groups, pods that the extender does not govern, and pods while no replica decides.

use almanac_harness::{NodeSpec, Observation, PATIENCE, TestResult, await_condition};
use serde_json::{Value, json};

use crate::extender::scene::Scene;
use crate::extender::stage::{deployment, on_stage, pod, policy, unit_nodes};
use crate::reading::{await_value, get};

/// Waits until the message of a pod's `PodScheduled` condition contains these words.
async fn await_why(scene: &Scene, pod: &str, words: &[&str]) -> TestResult {
    await_condition(&format!("{pod} to wait because of {words:?}"), PATIENCE, async || {
        let object = get(&scene.kubectl, &["pod", pod]).await?;
        let why = object["status"]["conditions"][0]["message"].to_string();
        Ok(Observation::from_bool(
            words.iter().all(|word| why.contains(word)),
            object["status"].to_string(),
        ))
    })
    .await
}

#[test]
fn the_best_unit_is_filled_first_for_any_number_of_nodes() -> TestResult {
    // Kube-scheduler would consider only a part of this many nodes, and the best unit contains two hundredths of them.
    on_stage(&[unit_nodes("worst", 294), unit_nodes("best", 6)], async |_, scene| {
        scene
            .govern(&policy("shop", "prefer", &[("best", 2, Some(40)), ("worst", 1, None)]))
            .await?;
        scene.apply(&deployment("shop", 60)).await?;
        scene.await_spread("shop", &["best", "worst"], &[40, 20, 0]).await
    })
}

#[test]
fn each_revision_of_a_rollout_is_counted_separately() -> TestResult {
    on_stage(&[unit_nodes("best", 2), unit_nodes("worst", 2)], async |_, scene| {
        let mut grouped =
            policy("shop", "required", &[("best", 2, Some(3)), ("worst", 1, Some(10))]);
        grouped["spec"]["matchLabelKeys"] = json!(["pod-template-hash"]);
        scene.govern(&grouped).await?;
        let mut shop = deployment("shop", 4);
        shop["spec"]["strategy"] =
            json!({"rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}});
        // The pods never become ready, so that both revisions remain.
        scene.apply(&shop).await?;
        scene.await_spread("shop", &["best", "worst"], &[3, 1, 0]).await?;
        let gate = json!([{"conditionType": "example.com/never"}]);
        shop["spec"]["template"]["spec"]["readinessGates"] = gate;
        scene.apply(&shop).await?;
        scene.await_spread("shop", &["best", "worst"], &[6, 2, 0]).await?;
        await_condition("the status to count both revisions", PATIENCE, async || {
            let policy = get(&scene.kubectl, &["resourcepolicy", "shop"]).await?;
            let of_best = &policy["status"]["units"][0];
            let groups = of_best["groups"].as_array().into_iter().flatten();
            let used: Vec<&Value> = groups.map(|group| &group["used"]).collect();
            let is_so = (&of_best["used"], &of_best["max"]) == (&json!(6), &json!(3));
            Ok(Observation::from_bool(is_so && used == [3, 3], policy.to_string()))
        })
        .await?;
        scene.kubectl.run(&["rollout", "undo", "deployment", "shop"]).await?;
        scene.await_spread("shop", &["best", "worst"], &[3, 1, 0]).await
    })
}

#[test]
fn pods_without_capacity_are_pending_with_a_reason() -> TestResult {
    on_stage(&[unit_nodes("best", 1), NodeSpec::named("spare").count(2)], async |_, scene| {
        let namespace = &scene.namespace;
        let units = [("best", 2, Some(1)), ("closed", 1, Some(0))];
        scene.govern(&policy("shop", "required", &units)).await?;
        for name in ["first", "second"] {
            scene.apply(&pod(name, "shop")).await?;
        }
        scene.await_spread("shop", &["best", "spare"], &[1, 0, 1]).await?;
        let pods = get(&scene.kubectl, &["pods", "-l", "app=shop"]).await?;
        let pods = pods["items"].as_array().expect("a list");
        let waiting =
            pods.iter().find(|pod| pod["spec"]["nodeName"].is_null()).expect("a pending pod");
        let waiting = waiting["metadata"]["name"].as_str().expect("a name");
        let full = format!("unit \"best\" of ResourcePolicy {namespace}/shop is full: 1 of 1 pod");
        await_why(scene, waiting, &["is full", "whose strategy is required"]).await?;
        let of_pod = format!("involvedObject.name={waiting}");
        await_condition("the Event to report it", PATIENCE, async || {
            let events = get(&scene.kubectl, &["events", "--field-selector", &of_pod]).await?;
            let is_so = events.to_string().contains(&full.replace('"', "\\\""));
            Ok(Observation::from_bool(is_so, events.to_string()))
        })
        .await?;

        // A policy for the same labels in another namespace does not affect the pod.
        let elsewhere = scene.in_namespace(&format!("{namespace}-elsewhere")).await?;
        elsewhere.govern(&policy("other", "required", &[("best", 1, Some(0))])).await?;
        scene.apply(&pod("free", "other")).await?;
        let bound = ["pod", "free"];
        await_value(&scene.kubectl, &bound, "/status/phase", &json!("Running")).await?;
        let free = get(&scene.kubectl, &bound).await?;
        assert!(!free.to_string().contains("almanac.dev/"), "{free}");

        // The message names the two policies that select the pod.
        let mut other = policy("other", "prefer", &[("best", 1, None)]);
        other["spec"]["podSelector"] = json!({"matchLabels": {"tier": "web"}});
        scene.govern(&other).await?;
        let mut both = pod("both", "shop");
        both["metadata"]["labels"]["tier"] = json!("web");
        scene.apply(&both).await?;
        let conflict = ["resourcepolicy", "other"];
        let path = "/status/conditions/2/status";
        await_value(&scene.kubectl, &conflict, path, &json!("True")).await?;
        let actual = get(&scene.kubectl, &conflict).await?;
        assert_eq!(actual["status"]["conditions"][2]["type"], "Conflict", "{actual}");
        let named =
            format!("2 ResourcePolicies select the pod ({namespace}/other, {namespace}/shop)");
        await_why(scene, "both", &[&named]).await
    })
}
