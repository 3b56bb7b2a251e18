//! Existing pods when policies, nodes and costs change: the pods stay, and are counted again.

use almanac_harness::{Observation, PATIENCE, TestResult, await_condition};
use serde_json::{Value, json};

use crate::controller::condition;
use crate::extender::scene::Scene;
use crate::extender::stage::{deployment, on_stage, policy, unit_nodes};
use crate::reading::{await_value, get};

const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const OF: [&str; 2] = ["best", "worst"];

/// Waits until the deletion costs of the pods of `shop` are these, in order.
async fn await_costs(scene: &Scene, expected: &[&str]) -> TestResult {
    await_condition(&format!("the deletion costs {expected:?}"), PATIENCE, async || {
        let pods = get(&scene.kubectl, &["pods", "-l", "app=shop"]).await?;
        let pods = pods["items"].as_array().cloned().unwrap_or_default();
        let cost = |pod: &Value| {
            let cost = pod["metadata"]["annotations"][COST].as_str();
            cost.unwrap_or("none").to_owned()
        };
        let mut costs: Vec<String> = pods.iter().map(cost).collect();
        costs.sort();
        Ok(Observation::from_bool(costs == expected, format!("{costs:?}")))
    })
    .await
}

async fn await_condition_of(scene: &Scene, about: &str, status: &str, words: &str) -> TestResult {
    await_condition(&format!("{about} to be {status}: {words}"), PATIENCE, async || {
        let policy = get(&scene.kubectl, &["resourcepolicy", "shop"]).await?;
        let [holds, _, message] = condition(&policy["status"], about);
        let is_so = holds == status && message.contains(words);
        Ok(Observation::from_bool(is_so, policy["status"].to_string()))
    })
    .await
}

#[test]
fn a_changed_cap_evicts_no_pod_and_the_pods_over_it_go_first() -> TestResult {
    on_stage(&[unit_nodes("best", 2), unit_nodes("worst", 2)], async |_, scene| {
        let units = |best| [("best", 2, Some(best)), ("worst", 1, Some(2))];
        scene.govern(&policy("shop", "required", &units(3))).await?;
        scene.apply(&deployment("shop", 4)).await?;
        scene.await_spread("shop", &OF, &[3, 1, 0]).await?;
        for best in [1, 3, 2, 4, 1] {
            scene.govern(&policy("shop", "required", &units(best))).await?;
        }
        await_condition_of(scene, "OverCap", "True", "unit \"best\" has 3 of 1 pod").await?;
        await_condition_of(scene, "Ready", "False", "none is evicted").await?;
        scene.check_stays("shop", &OF, &[3, 1, 0]).await?;
        await_costs(scene, &["-100", "-200", "200", "300"]).await?;
        let events = ["events", "--field-selector", "involvedObject.name=shop,reason=TooManyPods"];
        await_condition("the Event of too many pods", PATIENCE, async || {
            let reported = get(&scene.kubectl, &events).await?;
            let message = reported["items"][0]["message"].to_string();
            let has_words = |words: &str| message.contains(words);
            let is_reported = has_words("takes no more pods") || has_words("take no more pods");
            Ok(Observation::from_bool(is_reported, reported))
        })
        .await?;

        let ready = ["wait", "pod", "-l", "app=shop", "--for=condition=Ready", "--timeout=90s"];
        scene.kubectl.run(&ready).await?;
        scene.kubectl.run(&["scale", "deployment", "shop", "--replicas=2"]).await?;
        scene.await_spread("shop", &OF, &[1, 1, 0]).await?;
        await_condition_of(scene, "OverCap", "False", "no unit has more pods").await?;
        // Several edits do not prevent the scheduling of pods.
        scene.govern(&policy("shop", "required", &units(3))).await?;
        scene.kubectl.run(&["scale", "deployment", "shop", "--replicas=5"]).await?;
        scene.await_spread("shop", &OF, &[3, 2, 0]).await
    })
}

#[test]
fn relabeled_nodes_bad_edits_own_costs_and_deleted_policies() -> TestResult {
    on_stage(&[unit_nodes("best", 1), unit_nodes("worst", 1)], async |_, scene| {
        let units = [("best", 2, Some(2)), ("worst", 1, None)];
        scene.govern(&policy("shop", "required", &units)).await?;
        scene.apply(&deployment("shop", 3)).await?;
        scene.await_spread("shop", &OF, &[2, 1, 0]).await?;
        await_costs(scene, &["200", "300", "300"]).await?;

        // A cost that a user has set is unchanged, and reported.
        let pods = get(&scene.kubectl, &["pods", "-l", "app=shop"]).await?;
        let on_worst = pods["items"].as_array().expect("a list").iter();
        let worst = scene.node("worst-0");
        let mut on_worst = on_worst.filter(|it| it["spec"]["nodeName"] == *worst);
        let name = on_worst.next().and_then(|it| it["metadata"]["name"].as_str()).expect("a pod");
        let own = format!("{COST}=7");
        scene.kubectl.run(&["annotate", "--overwrite", "pod", name, &own]).await?;
        await_condition_of(
            scene,
            "Ready",
            "True",
            "with a deletion cost of their own, which is kept: 1",
        )
        .await?;
        await_costs(scene, &["300", "300", "7"]).await?;

        // A node moves to another unit: its pods are counted there, and none is evicted.
        scene.kubectl.run(&["label", "--overwrite", "node", &worst, "unit=best"]).await?;
        let used = "/status/units/0/used";
        await_value(&scene.kubectl, &["resourcepolicy", "shop"], used, &json!(3)).await?;
        await_condition_of(scene, "OverCap", "True", "unit \"best\" has 3 of 2 pods").await?;
        scene.check_stays("shop", &OF, &[2, 1, 0]).await?;
        scene.kubectl.run(&["label", "--overwrite", "node", &worst, "unit=worst"]).await?;
        await_condition_of(scene, "OverCap", "False", "").await?;

        // A policy that becomes unusable keeps its last valid version.
        let mut bad = policy("shop", "required", &units);
        bad["spec"]["podSelector"] = json!({"matchLabels": {"app": "not a value"}});
        scene.govern(&bad).await?;
        await_condition_of(scene, "Active", "True", "the last valid version stays in effect")
            .await?;
        scene.kubectl.run(&["scale", "deployment", "shop", "--replicas=4"]).await?;
        scene.await_spread("shop", &OF, &[2, 2, 0]).await?;

        // Without the policy, Almanac removes its costs, and the cost of the user stays.
        scene.kubectl.run(&["delete", "resourcepolicy", "shop"]).await?;
        await_costs(scene, &["7", "none", "none", "none"]).await
    })
}
