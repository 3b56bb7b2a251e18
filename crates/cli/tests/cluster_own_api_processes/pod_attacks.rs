//! Attacks on a pod with a stolen token that may patch pods. The attacks change all fields that a patch can change and
//! that no Almanac process writes. The tests provide the tokens.

use almanac_harness::{Kubectl, Observation, PATIENCE, TestResult, await_condition};
use anyhow::ensure;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

/// A namespace, and the name of a pod in it.
pub(crate) type PodName<'a> = (&'a str, &'a str);

/// A string that is longer than any string of an Almanac process.
const LONG: usize = 300;

/// Creates a privileged pod whose fields belong to other field managers, including Almanac's annotation.
pub(crate) async fn create_victim(
    kubectl: &Kubectl,
    (namespace, name): PodName<'_>,
    (node, ours): (&str, &str),
) -> TestResult {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "labels": {"app": "batch"}, "annotations": {"owner": "us", ours: "1"},
        },
        "spec": {
            "nodeName": node,
            "containers": [{"name": "a", "image": "a", "securityContext": {"privileged": true}}],
        },
    });
    let apply = ["-n", namespace, "apply", "--server-side", "-f", "-"];
    kubectl.run_with_input(&apply, &pod.to_string()).await?;
    // Another field manager, with its fields and Almanac's annotation.
    let edited = format!("{ours}=2");
    let edit = ["-n", namespace, "annotate", "pod", name, "--overwrite", "team=sea", &edited];
    kubectl.run(&edit).await?;
    Ok(())
}

/// Patches that change something that no Almanac process may change.
fn patches(ours: &str) -> Vec<Value> {
    let annotations = |annotations: Value| json!({"metadata": {"annotations": annotations}});
    let metadata = |field: &str, value: Value| json!({"metadata": {field: value}});
    let owner = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u"}]);
    let claimed = json!([{
        "manager": "kubelet", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:activeDeadlineSeconds": {}}},
    }]);
    vec![
        json!({"spec": {"containers": [{"name": "a", "image": "evil"}]}}),
        json!({"spec": {"activeDeadlineSeconds": 1}}),
        annotations(json!({"other": "1"})),
        annotations(json!({"owner": "them"})),
        annotations(json!({"owner": null})),
        annotations(json!({ours: "9".repeat(LONG)})),
        metadata("labels", json!({"app": "shop"})),
        metadata("labels", Value::Null),
        metadata("finalizers", json!(["example.com/stays"])),
        metadata("ownerReferences", owner),
        metadata("generateName", json!("theirs-")),
        metadata("managedFields", json!([{}])),
        metadata("managedFields", claimed),
    ]
}

/// Waits until the API server enforces a policy, which takes a moment.
async fn await_policy(client: &Client, victim: PodName<'_>, refusal: &str) -> TestResult {
    let other = json!({"metadata": {"annotations": {"other": "1"}}});
    await_condition("the admission policy to be enforced", PATIENCE, async || {
        let sent = dry_run(client, victim, &Patch::Merge(&other), "almanac").await;
        let description = format!("{sent:?}");
        Ok(Observation::from_bool(sent.is_err_and(|why| why.contains(refusal)), description))
    })
    .await
}

/// Sends all attacks as dry runs; fails with the list of successful attacks.
pub(crate) async fn ensure_powerless(
    client: &Client,
    victim: PodName<'_>,
    ours: &str,
    refusal: &str,
) -> TestResult {
    await_policy(client, victim, refusal).await?;
    let mut possible = Vec::new();
    for patch in patches(ours) {
        // Containers are merged by their names, so that only the image changes.
        let sent = dry_run(client, victim, &Patch::Strategic(&patch), "almanac").await;
        possible.extend(denied(sent, refusal).err().map(|why| format!("{patch}: {why}")));
    }
    // The value is unchanged, but has another owner.
    let claim = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"app": "batch"}},
    });
    for manager in ["almanac", "thief"] {
        let sent = dry_run(client, victim, &Patch::Apply(&claim), manager).await;
        possible.extend(denied(sent, refusal).err().map(|why| format!("{manager} claims: {why}")));
    }
    // Adds field managers until the API server merges others.
    for count in [1, 4, 9] {
        let padded = padded(client, victim, (ours, count)).await?;
        let padded = json!({"metadata": {"managedFields": padded}});
        let sent = dry_run(client, victim, &Patch::Merge(&padded), "almanac").await;
        let failure = denied(sent, refusal).err();
        possible.extend(failure.map(|why| format!("{count} more managers: {why}")));
    }
    let filled = json!({"metadata": {"annotations": {ours: "3"}}});
    let sent = dry_run(client, victim, &Patch::Merge(&filled), "thief").await;
    possible.extend(denied(sent, refusal).err().map(|why| format!("another manager: {why}")));
    ensure!(possible.is_empty(), "{} possible: {possible:#?}", possible.len());
    Ok(())
}

/// The field managers of a pod, and additional managers that own only Almanac's annotation.
async fn padded(
    client: &Client,
    (namespace, name): PodName<'_>,
    (ours, count): (&str, usize),
) -> anyhow::Result<Vec<Value>> {
    // An account with permission to patch may lack permission to get.
    let (pods, nothing) = (Api::<Pod>::namespaced(client.clone(), namespace), json!({}));
    let pod = pods.patch(name, &PatchParams::default(), &Patch::Merge(&nothing)).await?;
    let known = pod.metadata.managed_fields.unwrap_or_default();
    let known = known.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?;
    let more = (0..count).map(|number| {
        json!({
            "manager": "almanac", "operation": "Update", "apiVersion": "v1",
            "subresource": format!("s{number}"), "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:annotations": {format!("f:{ours}"): {}}}},
        })
    });
    Ok(known.into_iter().chain(more).collect())
}

fn denied(sent: Result<(), String>, refusal: &str) -> Result<(), String> {
    match sent {
        Ok(()) => Err("the request was allowed".to_owned()),
        Err(why) if why.contains(refusal) => Ok(()),
        Err(why) => Err(why),
    }
}

async fn dry_run(
    client: &Client,
    pod: PodName<'_>,
    patch: &Patch<&Value>,
    manager: &str,
) -> Result<(), String> {
    let force = matches!(patch, Patch::Apply(_));
    let field_manager = Some(manager.to_owned());
    let parameters = PatchParams { dry_run: true, force, field_manager, ..PatchParams::default() };
    send(client, pod, patch, &parameters).await
}

/// Writes annotations of a pod as our processes do.
pub(crate) async fn annotate(
    client: &Client,
    pod: PodName<'_>,
    annotations: &Value,
) -> Result<(), String> {
    let patch = json!({"metadata": {"annotations": annotations}});
    let field_manager = Some("almanac".to_owned());
    let parameters = PatchParams { field_manager, ..PatchParams::default() };
    send(client, pod, &Patch::Merge(&patch), &parameters).await
}

/// Other users are not limited.
pub(crate) async fn ensure_others_may(client: &Client, pod: PodName<'_>) -> TestResult {
    let label = json!({"metadata": {"labels": {"app": "shop"}}});
    let sent = send(client, pod, &Patch::Merge(&label), &PatchParams::default()).await;
    sent.map_err(anyhow::Error::msg)
}

async fn send(
    client: &Client,
    (namespace, name): PodName<'_>,
    patch: &Patch<&Value>,
    parameters: &PatchParams,
) -> Result<(), String> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Pod"));
    let pods: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind);
    let sent = pods.patch(name, parameters, patch).await;
    sent.map(|_| ()).map_err(|error| error.to_string())
}
