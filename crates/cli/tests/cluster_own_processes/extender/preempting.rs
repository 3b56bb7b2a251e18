//! Preemption: pods are preempted if a node lacks resources, never because of a cap.

use almanac_harness::{Observation, PATIENCE, TestResult, await_condition};
use serde_json::{Value, json};

use crate::extender::stage::{URGENT, on_stage, pod, policy, unit_nodes};
use crate::reading::{await_value, get};

fn sized(name: &str, app: &str, cpu: &str, class: Option<&str>) -> Value {
    let mut sized = pod(name, app);
    sized["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": cpu}});
    sized["spec"]["terminationGracePeriodSeconds"] = json!(0);
    if let Some(class) = class {
        sized["spec"]["priorityClassName"] = json!(class);
    }
    sized
}

#[test]
fn a_cap_alone_never_preempts_and_preemption_does_not_exceed_it() -> TestResult {
    let nodes = [unit_nodes("best", 1).size("2", "8Gi"), unit_nodes("wide", 1).size("8", "8Gi")];
    on_stage(&nodes, async |_, scene| {
        scene.govern(&policy("wide", "required", &[("wide", 1, Some(1))])).await?;
        scene.govern(&policy("shop", "required", &[("best", 1, Some(2))])).await?;
        let phase = "/status/phase";
        for name in ["low-1", "low-2"] {
            scene.apply(&sized(name, "shop", "900m", None)).await?;
            await_value(&scene.kubectl, &["pod", name], phase, &json!("Running")).await?;
        }
        scene.apply(&sized("held", "wide", "100m", None)).await?;
        await_value(&scene.kubectl, &["pod", "held"], phase, &json!("Running")).await?;

        // The node has capacity for the pod, and only the cap prevents the binding.
        scene.apply(&sized("capped", "wide", "100m", Some(URGENT))).await?;
        let reason = "/status/conditions/0/reason";
        await_value(&scene.kubectl, &["pod", "capped"], reason, &json!("Unschedulable")).await?;
        scene.check_stays("wide", &["wide"], &[1, 1]).await?;

        // The node lacks resources without a victim, and the victim is in the same unit: the count does not change.
        scene.apply(&sized("urgent", "shop", "900m", Some(URGENT))).await?;
        await_value(&scene.kubectl, &["pod", "urgent"], phase, &json!("Running")).await?;
        scene.await_spread("shop", &["best"], &[2, 0]).await?;
        let held = get(&scene.kubectl, &["pod", "held"]).await?;
        assert!(held["metadata"]["deletionTimestamp"].is_null(), "{held}");
        Ok(())
    })
}

#[test]
fn a_preemption_evicts_no_more_pods_than_a_unit_allows() -> TestResult {
    on_stage(&[unit_nodes("only", 5).size("1", "8Gi")], async |_, scene| {
        for number in 0..5 {
            scene.apply(&sized(&format!("free-{number}"), "free", "900m", None)).await?;
        }
        scene.await_spread("free", &["only"], &[5, 0]).await?;
        scene.govern(&policy("shop", "required", &[("only", 1, Some(1))])).await?;
        for number in 0..5 {
            scene.apply(&sized(&format!("shop-{number}"), "shop", "900m", Some(URGENT))).await?;
        }
        scene.await_spread("shop", &["only"], &[1, 4]).await?;
        scene.check_stays("shop", &["only"], &[1, 4]).await?;
        scene.check_stays("free", &["only"], &[4, 0]).await?;
        // An idle node is not reserved for the pods beyond the cap.
        let free = get(&scene.kubectl, &["pods", "-l", "app=free"]).await?;
        let ended = free["items"][0]["metadata"]["name"].as_str().expect("a bound pod");
        scene.kubectl.run(&["delete", "pod", ended, "--now"]).await?;
        scene.apply(&sized("late", "free", "900m", None)).await?;
        scene.await_spread("free", &["only"], &[4, 0]).await?;
        scene.check_stays("shop", &["only"], &[1, 4]).await?;
        let pods = get(&scene.kubectl, &["pods", "-l", "app=shop"]).await?;
        let pods = pods["items"].as_array().expect("a list");
        let mut waiting = pods.iter().filter(|pod| pod["spec"]["nodeName"].is_null());
        assert!(waiting.clone().all(|pod| pod["status"]["nominatedNodeName"].is_null()));

        // A nomination for a full unit would reserve the capacity of the node.
        let waiting = waiting.next().expect("a pending pod")["metadata"]["name"].as_str();
        let waiting = waiting.expect("a name");
        let node = scene.node("only-0");
        let nominated = json!({"status": {"nominatedNodeName": node}}).to_string();
        let patch = ["patch", "pod", waiting, "--subresource=status", "--type=merge", "-p"];
        scene.kubectl.run(&[&patch[..], &[&nominated]].concat()).await?;
        await_condition("the nomination to be taken back", PATIENCE, async || {
            let pod = get(&scene.kubectl, &["pod", waiting]).await?;
            let nominated = &pod["status"]["nominatedNodeName"];
            Ok(Observation::from_bool(nominated.is_null(), pod["status"].to_string()))
        })
        .await
    })
}
