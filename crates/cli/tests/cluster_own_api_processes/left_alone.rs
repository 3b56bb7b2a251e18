//! The policies that the controllers do not reconcile, on a real API server and with the permissions of the
//! manifests: those of an upstream controller until it releases its Lease, and exempt ones.

use crate::harbor::{
    HARBOR, autoscaler, create, cron, metrics_producer, node_group, prepare, workload,
};
use crate::manifests::{NAMESPACE, arguments_of_the_deployment};
use crate::reading::{await_value, get};
use crate::running::{ROOT, await_metric, start};
use almanac_fixtures::objects;
use almanac_harness::{ControlPlaneOptions, FaultProxy, Kubectl, TestResult, on_own_control_plane};
use anyhow::ensure;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// The lease of Karmada's controllers, as if they had just renewed it.
async fn karmada_holds_its_lease(kubectl: &Kubectl) -> TestResult {
    let lease = objects::karmada_lease("karmada-0", Timestamp::now());
    kubectl.run_with_input(&["create", "-f", "-"], &lease.to_string()).await?;
    Ok(())
}

#[test]
fn policies_belong_to_karmada_while_karmada_has_its_lease() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let kubectl = test.kubectl().await?;
        prepare(&kubectl).await?;
        kubectl.run(&["apply", "-f", &format!("{ROOT}/deploy")]).await?;
        let target = workload("web", "apps/v1", "Deployment");
        let policy = cron("web", "apps/v1", "Deployment", &json!({"targetReplicas": 4}));
        let tide = workload("tide", "apps/v1", "Deployment");
        let pool = node_group("pool", "AWSEKSNodeGroup");
        let others = [metrics_producer("hours"), tide, autoscaler("tide", "hours"), pool];
        create(&kubectl, &[target, policy]).await?;
        create(&kubectl, &others).await?;
        kubectl.run(&["create", "namespace", "karmada-system"]).await?;
        karmada_holds_its_lease(&kubectl).await?;
        let account = test.service_account(NAMESPACE, "almanac").await?;
        let proxy = FaultProxy::start(account.client()?)?;
        let arguments = arguments_of_the_deployment(&kubectl).await?;
        let controller = start(&arguments, &proxy.kubeconfig(), SignedDuration::from_secs(3))?;

        let policy = ["-n", HARBOR, "cronfederatedhpa", "web"];
        let [status, reason] = ["status", "reason"].map(|it| format!("/status/conditions/1/{it}"));
        await_value(&kubectl, &policy, &reason, &json!("UpstreamController")).await?;
        await_metric(&controller, "almanac_left_alone{kind=\"cronfederatedhpas\"} 1").await?;
        await_metric(&controller, "almanac_left_alone{kind=\"metricsproducers\"} 0").await?;
        // The other kinds are still reconciled, which also shows that the boundary is over.
        let tide = ["-n", HARBOR, "deployment", "tide"];
        await_value(&kubectl, &tide, "/spec/replicas", &json!(7)).await?;
        let published = "/status/scheduledCapacity/currentValue";
        let producer = ["-n", HARBOR, "metricsproducer", "hours"];
        await_value(&kubectl, &producer, published, &json!(7)).await?;
        let pool = ["-n", HARBOR, "scalablenodegroup", "pool"];
        await_value(&kubectl, &pool, &reason, &json!("Unsupported")).await?;
        let web = ["-n", HARBOR, "deployment", "web"];
        let replicas = get(&kubectl, &web).await?["spec"]["replicas"].clone();
        ensure!(replicas == json!(1), "the target has {replicas} replicas");

        let lease = ["-n", "karmada-system", "lease", "karmada-controller-manager"];
        kubectl.run(&[&["delete"][..], &lease].concat()).await?;
        await_value(&kubectl, &web, "/spec/replicas", &json!(4)).await?;
        await_value(&kubectl, &policy, &status, &json!("True")).await?;
        await_metric(&controller, "almanac_left_alone{kind=\"cronfederatedhpas\"} 0").await?;

        // The result is the same if Karmada starts after Almanac.
        karmada_holds_its_lease(&kubectl).await?;
        await_metric(&controller, "almanac_left_alone{kind=\"cronfederatedhpas\"} 1").await?;
        await_value(&kubectl, &policy, &reason, &json!("UpstreamController")).await?;
        ensure!(controller.stop().await?.success(), "it did not end well");
        Ok(())
    })
}

/// A Deployment, and a policy that sets four replicas of it at the boundary.
async fn create_in(
    kubectl: &Kubectl,
    namespace: &str,
    name: &str,
    annotations: &Value,
) -> TestResult {
    let mut target = workload(name, "apps/v1", "Deployment");
    target["metadata"]["annotations"] = annotations.clone();
    let policy = cron(name, "apps/v1", "Deployment", &json!({"targetReplicas": 4}));
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [target, policy]});
    kubectl.run_with_input(&["-n", namespace, "create", "-f", "-"], &list.to_string()).await?;
    Ok(())
}

async fn await_reason(kubectl: &Kubectl, namespace: &str, name: &str, reason: &str) -> TestResult {
    let policy = ["-n", namespace, "cronfederatedhpa", name];
    await_value(kubectl, &policy, "/status/conditions/0/reason", &json!(reason)).await
}

#[test]
fn exempt_objects_are_unchanged_and_only_an_annotation_sets_a_condition() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let kubectl = test.kubectl().await?;
        prepare(&kubectl).await?;
        kubectl.run(&["apply", "-f", &format!("{ROOT}/deploy")]).await?;
        kubectl.run(&["create", "namespace", "calm"]).await?;
        kubectl.run(&["annotate", "namespace", "calm", "almanac.dev/ignore=true"]).await?;
        let marked = json!({"almanac.dev/ignore": "true"});
        let exempt = [("kube-system", "dns"), ("calm", "web"), (HARBOR, "moored")];
        for (namespace, name) in exempt {
            let annotations = if name == "moored" { &marked } else { &Value::Null };
            create_in(&kubectl, namespace, name, annotations).await?;
        }
        create_in(&kubectl, HARBOR, "web", &Value::Null).await?;
        let account = test.service_account(NAMESPACE, "almanac").await?;
        let arguments = arguments_of_the_deployment(&kubectl).await?;
        let controller = start(&arguments, &account.kubeconfig(), SignedDuration::from_secs(3))?;

        // Without exempt namespaces, the boundary is over.
        let web = ["-n", HARBOR, "deployment", "web"];
        await_value(&kubectl, &web, "/spec/replicas", &json!(4)).await?;
        for (namespace, name) in exempt {
            // An exempt namespace may contain a separate installation.
            if namespace == "kube-system" {
                let policy = get(&kubectl, &["-n", namespace, "cronfederatedhpa", name]).await?;
                ensure!(policy["status"].is_null(), "{policy}");
            } else {
                await_reason(&kubectl, namespace, name, "Exempt").await?;
            }
            let target = get(&kubectl, &["-n", namespace, "deployment", name]).await?;
            ensure!(target["spec"]["replicas"] == json!(1), "{namespace}/{name}: {target}");
        }
        kubectl.run(&["annotate", "namespace", "calm", "almanac.dev/ignore-"]).await?;
        await_reason(&kubectl, "calm", "web", "Armed").await?;
        kubectl.run(&["label", "namespace", HARBOR, "almanac.dev/ignore=true"]).await?;
        await_reason(&kubectl, HARBOR, "web", "Exempt").await?;
        ensure!(controller.stop().await?.success(), "it did not end well");
        Ok(())
    })
}
