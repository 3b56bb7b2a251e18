//! The agent, limited to some namespaces.

use super::*;
use crate::pod_attacks::{create_victim, ensure_powerless};

pub(super) const ACCOUNT: &str = "system:serviceaccount:almanac-system:almanac-agent";

const NAME: &str = "almanac-agent";
const REFUSAL: &str = "an agent may only";

const LEVEL: &str = "/metadata/annotations/volcano.sh~1qos-level";

fn pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "batch", "labels": {"app": "batch"}},
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    })
}

/// Applies a `ConfigMap` with a policy whose window opens at the boundary.
pub(super) async fn configure(kubectl: &Kubectl, namespace: &str, start: &str) -> TestResult {
    let policy = objects::level_policy("day", (start, "17:00"), "batch", -1);
    let config = objects::agent_config(&[policy]);
    let apply = ["-n", namespace, "apply", "--server-side", "-f", "-"];
    kubectl.run_with_input(&apply, &config.to_string()).await?;
    Ok(())
}

async fn await_event(
    kubectl: &Kubectl,
    namespace: &str,
    reason: &str,
    (pointer, expected): (&str, Value),
) -> TestResult {
    let selector = format!("reason={reason}");
    let events = ["-n", namespace, "events.events.k8s.io", "--field-selector", &selector];
    await_value(kubectl, &events, pointer, &expected).await
}

pub(super) async fn sets_the_levels_of_listed_pods(
    test: &OwnTest,
    kubectl: &Kubectl,
) -> TestResult {
    run_section(test, kubectl, (PAGE, "The agent")).await?;
    let policy = format!("{ROOT}/deploy/agent/only-annotations.yaml");
    kubectl.run(&["apply", "-f", &policy]).await?;
    for namespace in [SHOP, SEA] {
        let create = ["-n", namespace, "create", "-f", "-"];
        kubectl.run_with_input(&create, &pod().to_string()).await?;
    }
    configure(kubectl, NAMESPACE, "09:00").await?;
    let account = test.service_account_on_node((NAMESPACE, NAME), "worker").await?;
    let arguments = arguments_of(kubectl, [NAMESPACE, "deployment", NAME], 0).await?;
    let agent = start(&arguments, &account.kubeconfig(), SignedDuration::from_secs(3))?;
    let batch = ["-n", SHOP, "pod", "batch"];
    await_value(kubectl, &batch, LEVEL, &json!("-1")).await?;
    // The repetition within a short time results in one Event with a count.
    for _ in 0..2 {
        let [exempt, edited, back] =
            ["almanac.dev/ignore=true", "volcano.sh/qos-level=2", "almanac.dev/ignore-"];
        for what in [exempt, edited, back] {
            kubectl.run(&["-n", SHOP, "annotate", "pod", "batch", "--overwrite", what]).await?;
        }
        await_value(kubectl, &batch, LEVEL, &json!("-1")).await?;
    }
    await_event(kubectl, SHOP, "PolicyActivated", ("/items/1/series/count", json!(2))).await?;
    configure(kubectl, NAMESPACE, "25:00").await?;
    await_event(kubectl, NAMESPACE, "ConfigRejected", ("/items/0/type", json!("Warning"))).await?;
    stop(agent).await?;
    let elsewhere = get(kubectl, &["-n", SEA, "pod", "batch"]).await?;
    ensure!(elsewhere["metadata"]["annotations"].is_null(), "{elsewhere}");
    let roles =
        [(SHOP, NAME), (NAMESPACE, "almanac-agent-config"), (NAMESPACE, "almanac-agent-lease")];
    let listed = [SHOP, WAREHOUSE, NAMESPACE];
    uses_only_its_permissions((test, kubectl), ACCOUNT, &listed, &roles).await?;
    create_victim(kubectl, (SHOP, "victim"), ("worker", "volcano.sh/qos-level")).await?;
    ensure_powerless(&account.client()?, (SHOP, "victim"), "volcano.sh/qos-level", REFUSAL).await
}
