//! Caps, the order of units, and their effects.

use almanac_harness::{Observation, PATIENCE, TestResult, await_condition};
use serde_json::json;

use crate::extender::scene::Scene;
use crate::extender::stage::{deployment, on_stage, policy, unit_nodes};
use crate::reading::{await_value, get};

#[test]
fn pods_fill_the_best_unit_first_and_leave_the_worst_first() -> TestResult {
    on_stage(&[unit_nodes("best", 2), unit_nodes("worst", 2)], async |_, scene| {
        let units = |best| [("best", 2, Some(best)), ("worst", 1, Some(3))];
        scene.govern(&policy("shop", "required", &units(2))).await?;
        scene.apply(&deployment("shop", 7)).await?;
        let names = ["best", "worst"];
        scene.await_spread("shop", &names, &[2, 3, 2]).await?;
        scene.check_stays("shop", &names, &[2, 3, 2]).await?;

        let status = ["resourcepolicy", "shop"];
        await_value(&scene.kubectl, &status, "/status/units/1/used", &json!(3)).await?;
        await_value(&scene.kubectl, &status, "/status/units/0/used", &json!(2)).await?;

        // An edited policy with more free capacity requeues the pending pods.
        scene.govern(&policy("shop", "required", &units(4))).await?;
        scene.await_spread("shop", &names, &[4, 3, 0]).await?;

        let pods = get(&scene.kubectl, &["pods", "-l", "app=shop"]).await?;
        for pod in pods["items"].as_array().expect("a list") {
            let annotations = &pod["metadata"]["annotations"];
            let node = pod["spec"]["nodeName"].as_str().expect("a bound pod");
            let is_best = node.starts_with(&scene.node("best"));
            let (unit, cost) = if is_best { ("best", "300") } else { ("worst", "200") };
            assert_eq!(annotations[UNIT], unit, "{pod}");
            assert_eq!(annotations[POLICY], "shop", "{pod}");
            assert_eq!(annotations["controller.kubernetes.io/pod-deletion-cost"], cost, "{pod}");
        }
        let ready = ["wait", "pod", "-l", "app=shop", "--for=condition=Ready", "--timeout=90s"];
        scene.kubectl.run(&ready).await?;
        scene.kubectl.run(&["scale", "deployment", "shop", "--replicas=4"]).await?;
        scene.await_spread("shop", &names, &[4, 0, 0]).await?;

        refuse_unnaming(scene).await?;
        scene.kubectl.run(&["delete", "resourcepolicy", "shop"]).await?;
        // A refused removal of the names does not delay the removal of the cost.
        await_annotations(scene, |it| it.contains(UNIT) && !it.contains("deletion-cost")).await?;
        scene.kubectl.run(&["delete", REFUSAL_BINDING, "named"]).await?;
        await_annotations(scene, |it| !it.contains(UNIT) && !it.contains(POLICY)).await
    })
}

const UNIT: &str = "almanac.dev/unit";
const POLICY: &str = "almanac.dev/resource-policy";
const REFUSAL_BINDING: &str = "validatingadmissionpolicybinding";

/// Waits until each of the four pods has the expected annotations.
async fn await_annotations(scene: &Scene, is_expected: fn(&str) -> bool) -> TestResult {
    await_condition("the annotations of the pods to change", PATIENCE, async || {
        let pods = get(&scene.kubectl, &["pods", "-l", "app=shop"]).await?;
        let all = pods["items"].as_array().into_iter().flatten();
        let annotations: Vec<_> = all.map(|it| it["metadata"]["annotations"].to_string()).collect();
        let are_expected = annotations.iter().all(|it| is_expected(it));
        Ok(Observation::from_bool(annotations.len() == 4 && are_expected, annotations.join("\n")))
    })
    .await
}

/// Makes the API server refuse to remove the name of a unit from a pod, as an older admission policy does.
async fn refuse_unnaming(scene: &Scene) -> TestResult {
    let rule = json!({
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods"],
    });
    let named = |object: &str| format!("'{UNIT}' in {object}.metadata.?annotations.orValue({{}})");
    let expression = format!("!({}) || {}", named("oldObject"), named("object"));
    let spec = json!({
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression, "message": "a pod keeps its unit"}],
    });
    let binding = json!({"policyName": "named", "validationActions": ["Deny"]});
    for (kind, spec) in
        [("ValidatingAdmissionPolicy", spec), ("ValidatingAdmissionPolicyBinding", binding)]
    {
        let object = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
            "metadata": {"name": "named"}, "spec": spec,
        });
        scene.kubectl.run_with_input(&["create", "-f", "-"], &object.to_string()).await?;
    }
    let remove = format!("{UNIT}-");
    let attempt = ["annotate", "pod", "-l", "app=shop", "--dry-run=server", &remove];
    await_condition("the removal to be refused", PATIENCE, async || {
        let attempt = scene.kubectl.run(&attempt).await;
        let is_refused =
            attempt.as_ref().is_err_and(|it| format!("{it:#}").contains("keeps its unit"));
        Ok(Observation::from_bool(is_refused, format!("{attempt:?}")))
    })
    .await
}
