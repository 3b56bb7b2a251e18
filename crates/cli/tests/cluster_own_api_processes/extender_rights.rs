//! Both ways to install the extender grant it permission to patch pods. The admission policies limit the extender to
//! its own annotations.

use crate::pod_attacks::{PodName, annotate, create_victim, ensure_others_may, ensure_powerless};
use almanac_harness::{
    ControlPlaneOptions, Kubectl, OwnTest, TestResult, client_for, on_own_control_plane,
};
use anyhow::{Context as _, ensure};
use http::Request;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const SCHEDULABLE_AT: &str = "almanac.dev/schedulable-at";
const REFUSAL: &str = "the extender may only";
const VICTIM: PodName<'static> = ("kube-system", "proxy");

fn binding(pod: &str, metadata: &Value) -> Value {
    let mut binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": metadata,
        "target": {"apiVersion": "v1", "kind": "Node", "name": "worker"},
    });
    binding["metadata"]["name"] = json!(pod);
    binding
}

async fn bind(client: &Client, pod: &str, metadata: &Value) -> Result<(), String> {
    post_binding(client, &format!("pods/{pod}/binding"), pod, metadata).await
}

async fn post_binding(
    client: &Client,
    resource: &str,
    pod: &str,
    metadata: &Value,
) -> Result<(), String> {
    let uri = format!("/api/v1/namespaces/default/{resource}?fieldManager=almanac");
    let body = binding(pod, metadata).to_string().into_bytes();
    let request = Request::post(uri).header("content-type", "application/json").body(body);
    let request = request.map_err(|error| error.to_string())?;
    client.request::<Value>(request).await.map(|_| ()).map_err(|error| error.to_string())
}

/// With a binding, a pod can only get the values that the extender writes.
async fn a_binding_changes_no_other_field(kubectl: &Kubectl, client: &Client) -> TestResult {
    for name in ["pending", "next"] {
        let spec = json!({"containers": [{"name": "a", "image": "a"}]});
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec,
        });
        kubectl.run_with_input(&["create", "-f", "-"], &pod.to_string()).await?;
    }
    for metadata in [
        json!({"annotations": {"other": "1"}}),
        json!({"annotations": {"almanac.dev/unit": "9".repeat(300)}}),
        json!({"labels": {"app": "shop"}}),
    ] {
        // Kube-scheduler may also use the older resource.
        for resource in ["pods/pending/binding", "bindings"] {
            let refusal = post_binding(client, resource, "pending", &metadata).await.err();
            let refusal = refusal.with_context(|| format!("possible by {resource}: {metadata}"))?;
            ensure!(refusal.contains(REFUSAL), "{metadata}: {refusal}");
        }
    }
    let ours = json!({"annotations": {
        "almanac.dev/resource-policy": "shop", "almanac.dev/unit": "best",
        COST: "100", "almanac.dev/deletion-cost-owner": "almanac/100",
    }});
    bind(client, "pending", &ours).await.map_err(anyhow::Error::msg)?;
    // Kube-scheduler binds pods of no policy, and the API server adds the zone of the node.
    let of_the_node = json!({"labels": {"topology.kubernetes.io/zone": "a"}});
    bind(client, "next", &of_the_node).await.map_err(anyhow::Error::msg)
}

/// A patch of the status can change nothing else of a pod.
async fn a_status_changes_no_other_field(client: &Client) -> TestResult {
    let pods: Api<Pod> = Api::namespaced(client.clone(), VICTIM.0);
    let patch = async |patch: Value| {
        pods.patch_status(VICTIM.1, &PatchParams::default(), &Patch::Merge(patch)).await
    };
    for metadata in [
        json!({"labels": {"app": "shop"}}),
        json!({"labels": null}),
        json!({"annotations": {"almanac.dev/unit": "best"}}),
        json!({"finalizers": ["example.com/stays"]}),
    ] {
        let sent = patch(json!({"metadata": metadata, "status": {"message": "x"}})).await;
        let refusal = sent.err().with_context(|| format!("possible: {metadata}"))?.to_string();
        ensure!(refusal.contains(REFUSAL), "{metadata}: {refusal}");
    }
    patch(json!({"status": {"message": "x", "nominatedNodeName": null}})).await?;
    Ok(())
}

async fn can_change_only_its_annotations(
    test: &OwnTest,
    manifest: &str,
    client: Client,
) -> TestResult {
    let kubectl = test.kubectl().await?;
    create_victim(&kubectl, VICTIM, ("worker", SCHEDULABLE_AT)).await?;
    ensure_powerless(&client, VICTIM, SCHEDULABLE_AT, REFUSAL)
        .await
        .context(manifest.to_owned())?;
    let own = [
        json!({COST: "100", "almanac.dev/deletion-cost-owner": "almanac/100"}),
        json!({SCHEDULABLE_AT: "2027-03-02T21:59:55.123456789Z"}),
        json!({COST: null, "almanac.dev/deletion-cost-owner": null}),
    ];
    for annotations in own {
        annotate(&client, VICTIM, &annotations).await.map_err(anyhow::Error::msg)?;
    }
    // The names of its policy and unit come with the binding, and can only be removed later.
    let names = json!({"almanac.dev/resource-policy": "shop", "almanac.dev/unit": "best"});
    let given = annotate(&client, VICTIM, &names).await;
    ensure!(given.is_err_and(|why| why.contains(REFUSAL)), "{manifest}: it named a policy");
    annotate(&test.client(), VICTIM, &names).await.map_err(anyhow::Error::msg)?;
    let renamed = annotate(&client, VICTIM, &json!({"almanac.dev/unit": "worst"})).await;
    ensure!(renamed.is_err_and(|why| why.contains(REFUSAL)), "{manifest}: it renamed the unit");
    let none = json!({"almanac.dev/resource-policy": null, "almanac.dev/unit": null});
    annotate(&client, VICTIM, &none).await.map_err(anyhow::Error::msg)?;
    a_binding_changes_no_other_field(&kubectl, &client).await.context(manifest.to_owned())?;
    a_status_changes_no_other_field(&client).await.context(manifest.to_owned())?;
    ensure_others_may(&test.client(), VICTIM).await
}

async fn install(test: &OwnTest, manifest: &str) -> TestResult {
    let kubectl = test.kubectl().await?;
    let file = format!("{ROOT}/deploy/extender/{manifest}.yaml");
    kubectl.run(&["apply", "-f", &file]).await?;
    Ok(())
}

#[test]
fn the_account_of_the_second_scheduler_can_write_its_annotations_and_nothing_else() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        install(test, "second-scheduler").await?;
        let account = test.service_account("almanac-scheduler", "almanac-scheduler").await?;
        can_change_only_its_annotations(test, "second-scheduler", account.client()?).await
    })
}

#[test]
fn the_clusters_own_scheduler_can_write_the_annotations_of_the_extender_and_nothing_else()
-> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        install(test, "beside-kube-scheduler").await?;
        let scheduler = client_for(&test.plane.folder().join("scheduler.kubeconfig"))?;
        can_change_only_its_annotations(test, "beside-kube-scheduler", scheduler).await
    })
}

#[test]
fn both_installations_of_the_extender_have_the_same_permissions() -> TestResult {
    let [second, with_kube_scheduler] =
        ["second-scheduler", "beside-kube-scheduler"].map(|manifest| {
            let text = std::fs::read_to_string(format!("{ROOT}/deploy/extender/{manifest}.yaml"));
            let text = text.ok()?;
            let (_, policies) = text.split_once("ValidatingAdmissionPolicy")?;
            Some(policies.to_owned())
        });
    ensure!(
        second.is_some() && second == with_kube_scheduler,
        "{second:#?} and {with_kube_scheduler:#?}"
    );
    Ok(())
}
