//! Order, groups, what is left alone, and what becomes of pods while nobody decides.

use almanac_harness::{
    ControlPlaneOptions, NodeSpec, Observation, PATIENCE, TestResult, await_condition,
    on_own_control_plane,
};
use serde_json::{Value, json};

use crate::reading::{await_value, get};
use crate::stage::{SCHEDULER_NAME, Stage, deployment, pod, policy, unit_nodes};

/// Waits until `PodScheduled` of a pod says why it is not, in these words.
async fn await_why(stage: &Stage, pod: &str, words: &[&str]) -> TestResult {
    await_condition(&format!("{pod} to wait because of {words:?}"), PATIENCE, async || {
        let object = get(&stage.kubectl, &["pod", pod]).await?;
        let why = object["status"]["conditions"][0]["message"].to_string();
        Ok(Observation::of(
            words.iter().all(|word| why.contains(word)),
            object["status"].to_string(),
        ))
    })
    .await
}

#[test]
fn the_best_unit_is_filled_first_however_many_nodes_there_are() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::whole(), async |test| {
        // Kube-scheduler would look at a part of so many nodes, and the best unit is two hundredths of them.
        let nodes = [unit_nodes("worst", 294), unit_nodes("best", 6)];
        let stage = Stage::set(test, &nodes).await?;
        stage
            .govern(&policy("shop", "prefer", &[("best", 2, Some(40)), ("worst", 1, None)]))
            .await?;
        stage.apply(&deployment("shop", 60)).await?;
        stage.await_spread("shop", &["best", "worst"], &[40, 20, 0]).await
    })
}

#[test]
fn each_revision_of_a_rollout_counts_for_itself() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::whole(), async |test| {
        let stage = Stage::set(test, &[unit_nodes("best", 2), unit_nodes("worst", 2)]).await?;
        let mut grouped =
            policy("shop", "required", &[("best", 2, Some(3)), ("worst", 1, Some(10))]);
        grouped["spec"]["matchLabelKeys"] = json!(["pod-template-hash"]);
        stage.govern(&grouped).await?;
        let mut shop = deployment("shop", 4);
        shop["spec"]["strategy"] =
            json!({"rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}});
        // Its pods never become ready, so that both revisions stay.
        stage.apply(&shop).await?;
        stage.await_spread("shop", &["best", "worst"], &[3, 1, 0]).await?;
        let gate = json!([{"conditionType": "example.com/never"}]);
        shop["spec"]["template"]["spec"]["readinessGates"] = gate;
        stage.apply(&shop).await?;
        stage.await_spread("shop", &["best", "worst"], &[6, 2, 0]).await?;
        let policy = get(&stage.kubectl, &["resourcepolicy", "shop"]).await?;
        let of_best = &policy["status"]["units"][0];
        assert_eq!((&of_best["used"], &of_best["max"]), (&json!(6), &json!(3)), "{policy}");
        let groups = of_best["groups"].as_array().expect("groups");
        let used: Vec<&Value> = groups.iter().map(|group| &group["used"]).collect();
        assert_eq!(used, [3, 3], "{policy}");
        Ok(())
    })
}

#[test]
fn pods_wait_with_a_reason_and_those_of_no_policy_never_do() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::whole(), async |test| {
        let nodes = [unit_nodes("best", 1), NodeSpec::named("spare").count(2)];
        let stage = Stage::set(test, &nodes).await?;
        let units = [("best", 2, Some(1)), ("closed", 1, Some(0))];
        stage.govern(&policy("shop", "required", &units)).await?;
        for name in ["first", "second"] {
            stage.apply(&pod(name, "shop")).await?;
        }
        stage.await_spread("shop", &["best", "spare"], &[1, 0, 1]).await?;
        let pods = get(&stage.kubectl, &["pods", "-l", "app=shop"]).await?;
        let pods = pods["items"].as_array().expect("a list");
        let waiting = pods.iter().find(|pod| pod["spec"]["nodeName"].is_null()).expect("one waits");
        let waiting = waiting["metadata"]["name"].as_str().expect("a name");
        let full = "unit \"best\" of ResourcePolicy default/shop is full: 1 of 1 pod";
        await_why(&stage, waiting, &["is full", "whose strategy is required"]).await?;
        let event = get(
            &stage.kubectl,
            &["events", "--field-selector", &format!("involvedObject.name={waiting}")],
        )
        .await?;
        assert!(event.to_string().contains(&full.replace('"', "\\\"")), "{event}");

        stage.apply(&pod("free", "other")).await?;
        let bound = ["pod", "free"];
        await_value(&stage.kubectl, &bound, "/status/phase", &json!("Running")).await?;
        let free = get(&stage.kubectl, &bound).await?;
        assert!(!free.to_string().contains("almanac.dev/"), "{free}");

        // Two policies that select the pod are named.
        let mut other = policy("other", "prefer", &[("best", 1, None)]);
        other["spec"]["podSelector"] = json!({"matchLabels": {"tier": "web"}});
        stage.govern(&other).await?;
        let mut both = pod("both", "shop");
        both["metadata"]["labels"]["tier"] = json!("web");
        stage.apply(&both).await?;
        let conflict = ["resourcepolicy", "other"];
        let path = "/status/conditions/2/status";
        await_value(&stage.kubectl, &conflict, path, &json!("True")).await?;
        let found = get(&stage.kubectl, &conflict).await?;
        assert_eq!(found["status"]["conditions"][2]["type"], "Conflict", "{found}");
        await_why(
            &stage,
            "both",
            &["2 ResourcePolicies select the pod (default/other, default/shop)"],
        )
        .await?;
        Ok(())
    })
}

#[test]
fn pods_of_other_schedulers_never_depend_on_the_extender() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::whole(), async |test| {
        let stage = Stage::set(test, &[unit_nodes("best", 2)]).await?;
        stage.govern(&policy("shop", "required", &[("best", 2, Some(5))])).await?;
        stage.kill(0)?;
        let mut usual = pod("usual", "other");
        usual["spec"]["schedulerName"] = json!("default-scheduler");
        stage.apply(&usual).await?;
        let phase = "/status/phase";
        await_value(&stage.kubectl, &["pod", "usual"], phase, &json!("Running")).await?;
        stage.apply(&pod("ours", "shop")).await?;
        await_condition("the event of a pod that waits for the extender", PATIENCE, async || {
            let of = ["events", "--field-selector", "involvedObject.name=ours"];
            let events = get(&stage.kubectl, &of).await?.to_string();
            Ok(Observation::of(events.contains("connection refused"), events))
        })
        .await?;
        stage.start_again(0)?;
        await_value(&stage.kubectl, &["pod", "ours"], phase, &json!("Running")).await?;
        let ours = get(&stage.kubectl, &["pod", "ours"]).await?;
        assert_eq!(ours["spec"]["schedulerName"], SCHEDULER_NAME);
        assert_eq!(ours["metadata"]["annotations"]["almanac.dev/unit"], "best", "{ours}");
        Ok(())
    })
}
