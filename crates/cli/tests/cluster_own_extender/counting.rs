//! Caps, order, and what follows from them.

use almanac_harness::{ControlPlaneOptions, TestResult, on_own_control_plane};
use serde_json::json;

use crate::reading::{await_value, get};
use crate::stage::{Stage, deployment, policy, unit_nodes};

#[test]
fn pods_fill_the_best_unit_first_and_leave_the_worst_first() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::whole(), async |test| {
        let stage = Stage::set(test, &[unit_nodes("best", 2), unit_nodes("worst", 2)]).await?;
        let units = |best| [("best", 2, Some(best)), ("worst", 1, Some(3))];
        stage.govern(&policy("shop", "required", &units(2))).await?;
        stage.apply(&deployment("shop", 7)).await?;
        let of = ["best", "worst"];
        stage.await_spread("shop", &of, &[2, 3, 2]).await?;
        stage.check_stays("shop", &of, &[2, 3, 2]).await?;

        let status = ["resourcepolicy", "shop"];
        await_value(&stage.kubectl, &status, "/status/units/1/used", &json!(3)).await?;
        await_value(&stage.kubectl, &status, "/status/units/0/used", &json!(2)).await?;

        // A policy that is edited to give room wakes those that wait.
        stage.govern(&policy("shop", "required", &units(4))).await?;
        stage.await_spread("shop", &of, &[4, 3, 0]).await?;

        let pods = get(&stage.kubectl, &["pods", "-l", "app=shop"]).await?;
        for pod in pods["items"].as_array().expect("a list") {
            let annotations = &pod["metadata"]["annotations"];
            let is_best =
                pod["spec"]["nodeName"].as_str().expect("it is bound").starts_with("best");
            let (unit, cost) = if is_best { ("best", "300") } else { ("worst", "200") };
            assert_eq!(annotations["almanac.dev/unit"], unit, "{pod}");
            assert_eq!(annotations["almanac.dev/resource-policy"], "shop", "{pod}");
            assert_eq!(annotations["controller.kubernetes.io/pod-deletion-cost"], cost, "{pod}");
        }
        stage.kubectl.run(&["wait", "pod", "-l", "app=shop", "--for=condition=Ready"]).await?;
        stage.kubectl.run(&["scale", "deployment", "shop", "--replicas=4"]).await?;
        stage.await_spread("shop", &of, &[4, 0, 0]).await
    })
}
