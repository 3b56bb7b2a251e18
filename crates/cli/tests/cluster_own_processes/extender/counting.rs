//! Caps, order, and what follows from them.

use almanac_harness::{Observation, PATIENCE, TestResult, await_condition};
use serde_json::json;

use crate::extender::stage::{deployment, on_stage, policy, unit_nodes};
use crate::reading::{await_value, get};

#[test]
fn pods_fill_the_best_unit_first_and_leave_the_worst_first() -> TestResult {
    on_stage(&[unit_nodes("best", 2), unit_nodes("worst", 2)], async |_, scene| {
        let units = |best| [("best", 2, Some(best)), ("worst", 1, Some(3))];
        scene.govern(&policy("shop", "required", &units(2))).await?;
        scene.apply(&deployment("shop", 7)).await?;
        let of = ["best", "worst"];
        scene.await_spread("shop", &of, &[2, 3, 2]).await?;
        scene.check_stays("shop", &of, &[2, 3, 2]).await?;

        let status = ["resourcepolicy", "shop"];
        await_value(&scene.kubectl, &status, "/status/units/1/used", &json!(3)).await?;
        await_value(&scene.kubectl, &status, "/status/units/0/used", &json!(2)).await?;

        // A policy that is edited to give room wakes those that wait.
        scene.govern(&policy("shop", "required", &units(4))).await?;
        scene.await_spread("shop", &of, &[4, 3, 0]).await?;

        let pods = get(&scene.kubectl, &["pods", "-l", "app=shop"]).await?;
        for pod in pods["items"].as_array().expect("a list") {
            let annotations = &pod["metadata"]["annotations"];
            let node = pod["spec"]["nodeName"].as_str().expect("it is bound");
            let is_best = node.starts_with(&scene.node("best"));
            let (unit, cost) = if is_best { ("best", "300") } else { ("worst", "200") };
            assert_eq!(annotations["almanac.dev/unit"], unit, "{pod}");
            assert_eq!(annotations["almanac.dev/resource-policy"], "shop", "{pod}");
            assert_eq!(annotations["controller.kubernetes.io/pod-deletion-cost"], cost, "{pod}");
        }
        scene.kubectl.run(&["wait", "pod", "-l", "app=shop", "--for=condition=Ready"]).await?;
        scene.kubectl.run(&["scale", "deployment", "shop", "--replicas=4"]).await?;
        scene.await_spread("shop", &of, &[4, 0, 0]).await?;

        scene.kubectl.run(&["delete", "resourcepolicy", "shop"]).await?;
        await_condition("what the policy has written to pods to go", PATIENCE, async || {
            let pods = get(&scene.kubectl, &["pods", "-l", "app=shop"]).await?;
            let all = pods["items"].as_array().into_iter().flatten();
            let annotations: Vec<_> =
                all.map(|it| it["metadata"]["annotations"].to_string()).collect();
            let ours = ["almanac.dev/resource-policy", "almanac.dev/unit", "deletion-cost"];
            let is_gone = annotations.iter().all(|it| !ours.iter().any(|ours| it.contains(ours)));
            Ok(Observation::of(annotations.len() == 4 && is_gone, annotations.join("\n")))
        })
        .await
    })
}
