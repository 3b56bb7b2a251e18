//! The page about the controllers, word for word: the objects of its commands run in a cluster, and with the same
//! arguments and permissions, the binary does its work.

use crate::documented::run_section;
use crate::manifests::{NAMESPACE, arguments_of_the_deployment};
use crate::reading::{await_value, get};
use crate::running::{BOUNDARY, ROOT, await_metric, start};
use almanac_harness::{
    ControlPlaneOptions, Kubectl, NodeSpec, Observation, OwnTest, PATIENCE, Program, TestResult,
    await_condition, on_own_control_plane,
};
use anyhow::{Context as _, ensure};
use jiff::SignedDuration;
use serde_json::{Value, json};

#[test]
fn the_commands_of_the_page_install_the_controllers() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::whole(), async |test| {
        let _nodes = test.nodes(&[NodeSpec::named("node").count(2)]).await?;
        let kubectl = test.kubectl().await?;
        await_nodes_for_pods(&kubectl).await?;
        run_section(test, &kubectl, ("docs/controller.md", "Install")).await?;
        two_pods_run_on_two_nodes(&kubectl).await?;
        the_standard_is_enforced(&kubectl).await?;
        the_service_finds_both(&kubectl).await?;
        await_budget(&kubectl).await?;
        only_the_metrics_are_let_in(&kubectl).await?;
        the_kustomization_changes_the_image_alone(&kubectl).await?;
        the_programs_of_the_pods_work(test, &kubectl).await
    })
}

/// Waits until the node controller has observed both nodes as ready. Before, the scheduler may use only one node.
async fn await_nodes_for_pods(kubectl: &Kubectl) -> TestResult {
    await_condition("two nodes without a taint", PATIENCE, async || {
        let nodes = get(kubectl, &["nodes"]).await?;
        let items = nodes["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        let taken = items.iter().filter(|node| node["spec"]["taints"].is_null()).count();
        Ok(Observation::from_bool(taken == 2, format!("{taken} of {}", items.len())))
    })
    .await
}

async fn two_pods_run_on_two_nodes(kubectl: &Kubectl) -> TestResult {
    let deployment = ["-n", NAMESPACE, "deployment", "almanac"];
    await_value(kubectl, &deployment, "/status/availableReplicas", &json!(2)).await?;
    let pods = get(kubectl, &["-n", NAMESPACE, "pods"]).await?;
    let pods = pods["items"].as_array().context("no list of pods")?;
    let nodes: Vec<_> = pods.iter().map(|pod| pod["spec"]["nodeName"].clone()).collect();
    assert_eq!(pods.len(), 2, "{nodes:?}");
    assert_ne!(nodes[0], nodes[1]);
    for pod in pods {
        let container = &pod["spec"]["containers"][0];
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
        assert_eq!(pod["spec"]["serviceAccountName"], "almanac");
        let preempts = (&pod["spec"]["priority"], &pod["spec"]["preemptionPolicy"]);
        assert_eq!(preempts, (&json!(1_000_000), &json!("Never")));
    }
    Ok(())
}

/// Checks that the standard is enforced, so that the running pods have passed it.
async fn the_standard_is_enforced(kubectl: &Kubectl) -> TestResult {
    let create = ["-n", NAMESPACE, "run", "intruder", "--image=none"];
    let refusal = kubectl.run(&create).await.err();
    let refusal = refusal.context("a pod without any precaution got in")?.to_string();
    assert!(refusal.contains(r#"violates PodSecurity "restricted"#), "{refusal}");
    Ok(())
}

async fn the_service_finds_both(kubectl: &Kubectl) -> TestResult {
    let slices = ["-n", NAMESPACE, "endpointslices", "-l", "kubernetes.io/service-name=almanac"];
    await_condition("the service to have two endpoints", PATIENCE, async || {
        let slices = get(kubectl, &slices).await?;
        let slice = &slices["items"][0];
        let count = slice["endpoints"].as_array().map_or(0, Vec::len);
        let port = &slice["ports"][0];
        let holds = count == 2 && port["name"] == "metrics" && port["port"] == 8080;
        Ok(Observation::from_bool(holds, slices.to_string()))
    })
    .await
}

async fn await_budget(kubectl: &Kubectl) -> TestResult {
    let budget = ["-n", NAMESPACE, "poddisruptionbudget", "almanac"];
    await_value(kubectl, &budget, "/status/disruptionsAllowed", &json!(1)).await?;
    await_value(kubectl, &budget, "/status/expectedPods", &json!(2)).await
}

/// The port has the name that the container defines; every source is allowed.
async fn only_the_metrics_are_let_in(kubectl: &Kubectl) -> TestResult {
    let policy = get(kubectl, &["-n", NAMESPACE, "networkpolicy", "almanac"]).await?;
    let spec = &policy["spec"];
    let ports = json!([{ "ports": [{ "protocol": "TCP", "port": "metrics" }] }]);
    assert_eq!((&spec["ingress"], &spec["policyTypes"]), (&ports, &json!(["Ingress"])));
    let deployment = get(kubectl, &["-n", NAMESPACE, "deployment", "almanac"]).await?;
    let pod = &deployment["spec"]["template"];
    assert_eq!(spec["podSelector"]["matchLabels"], pod["metadata"]["labels"]);
    let port = &pod["spec"]["containers"][0]["ports"][0];
    assert_eq!(port["name"], "metrics", "{port}");
    Ok(())
}

/// The API server accepts the rendered objects, and they differ from the running ones only in the image.
async fn the_kustomization_changes_the_image_alone(kubectl: &Kubectl) -> TestResult {
    let rendered = kubectl.run(&["kustomize", &format!("{ROOT}/deploy")]).await?;
    let image = rendered.lines().filter_map(|line| line.trim().strip_prefix("image: "));
    let image: Vec<&str> = image.collect();
    let digest = format!("sha256:{}", "0".repeat(64));
    assert_eq!(image, [format!("registry.example.com/almanac@{digest}")]);
    let as_applied = rendered.replace(image[0], "almanac:0.1.0");
    // The command fails if a difference exists.
    kubectl.run_with_input(&["diff", "-f", "-"], &as_applied).await?;
    let dry = ["apply", "--dry-run=server", "-k", &format!("{ROOT}/deploy")];
    kubectl.run(&dry).await?;
    Ok(())
}

async fn the_programs_of_the_pods_work(test: &OwnTest, kubectl: &Kubectl) -> TestResult {
    let account = test.service_account(NAMESPACE, "almanac").await?;
    let arguments = arguments_of_the_deployment(kubectl).await?;
    let before = SignedDuration::from_mins(30);
    let leader = start(&arguments, &account.kubeconfig(), before)?;
    await_metric(&leader, "almanac_leader 1").await?;
    let standby = start(&arguments, &account.kubeconfig(), before)?;
    standby.await_ready().await?;
    await_metric(&standby, "almanac_leader 0").await?;

    // The policy that the page applies is reconciled.
    let policy = ["cronfederatedhpa", "office-hours"];
    let reason = |number: usize| format!("/status/conditions/{number}/reason");
    for number in [0, 1] {
        await_value(kubectl, &policy, &reason(number), &json!("Armed")).await?;
    }
    let next = get(kubectl, &policy).await?["status"]["nextExecutionTime"].clone();
    // 20:00 in Berlin.
    assert_eq!(next, json!("2027-03-02T19:00:00Z"), "at half an hour before {BOUNDARY}");
    let first = holder(kubectl).await?;
    assert!(first.is_string(), "{first}");
    the_other_takes_over(kubectl, &leader, &standby, &first).await
}

async fn holder(kubectl: &Kubectl) -> anyhow::Result<Value> {
    let lease = get(kubectl, &["-n", NAMESPACE, "lease", "almanac"]).await?;
    Ok(lease["spec"]["holderIdentity"].clone())
}

async fn the_other_takes_over(
    kubectl: &Kubectl,
    leader: &Program,
    standby: &Program,
    first: &Value,
) -> TestResult {
    ensure!(leader.stop().await?.success(), "it did not end well");
    await_metric(standby, "almanac_leader 1").await?;
    await_metric(standby, "almanac_cron_rules_armed 2").await?;
    let second = holder(kubectl).await?;
    assert_ne!(&second, first);
    Ok(())
}
