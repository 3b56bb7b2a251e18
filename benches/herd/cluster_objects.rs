//! Creates, resets and checks the herd in a real API server.

use almanac_api::definitions::custom_resources;
use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::objects::{self, AFTER, BEFORE, POLICIES, TARGETS};

/// The number of our requests in flight at the same time.
const MAX_IN_FLIGHT: usize = 64;

/// Creates the CRDs, and waits until the API server serves their kinds.
pub(crate) async fn define(client: &Client) -> Result<()> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for resource in custom_resources() {
        let definition = serde_json::from_value(resource.manifest())?;
        definitions.create(&PostParams::default(), &definition).await?;
    }
    for path in [format!("{POLICIES}/cronfederatedhpas"), format!("{TARGETS}/scalablenodegroups")] {
        almanac_harness::await_condition(&path, almanac_harness::PATIENCE, async || {
            get(client, &path).await?;
            Ok(almanac_harness::Observation::Holds(()))
        })
        .await?;
    }
    let all: Api<Namespace> = Api::all(client.clone());
    for name in objects::namespaces() {
        let namespace = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
        all.create(&PostParams::default(), &namespace).await?;
    }
    Ok(())
}

/// Creates this many targets, and a policy for each.
pub(crate) async fn create(client: &Client, rules: usize) -> Result<()> {
    let kinds = [
        (
            TARGETS,
            "scalablenodegroups",
            "ScalableNodeGroup",
            objects::target_spec as fn(usize) -> _,
        ),
        (POLICIES, "cronfederatedhpas", "CronFederatedHPA", objects::policy_spec),
    ];
    for (root, plural, kind, spec) in kinds {
        for_each(rules, |number| {
            let object = json!({
                "apiVersion": root.trim_start_matches("/apis/"),
                "kind": kind,
                "metadata": { "name": objects::name(number) },
                "spec": spec(number),
            });
            let namespace = objects::namespace(number);
            let request = http::Request::post(format!("{root}/namespaces/{namespace}/{plural}"))
                .header("Content-Type", "application/json")
                .body(object.to_string().into_bytes());
            async { Ok(client.request_text(request?).await.map(drop)?) }
        })
        .await
        .with_context(|| format!("failed to create every {kind}"))?;
    }
    Ok(())
}

/// Resets the replicas of every target to the number before its rule fires.
pub(crate) async fn set_back(client: &Client, rules: usize) -> Result<()> {
    for_each(rules, |number| {
        let (namespace, name) = (objects::namespace(number), objects::name(number));
        let path = format!("{TARGETS}/namespaces/{namespace}/scalablenodegroups/{name}");
        let body = json!({ "spec": { "replicas": BEFORE } }).to_string();
        let request = http::Request::patch(path)
            .header("Content-Type", "application/merge-patch+json")
            .body(body.into_bytes());
        async { Ok(client.request_text(request?).await.map(drop)?) }
    })
    .await
    .context("failed to set the targets back")
}

async fn for_each<Sent>(rules: usize, send: impl Fn(usize) -> Sent) -> Result<()>
where
    Sent: Future<Output = Result<()>>,
{
    stream::iter(0..rules).map(send).buffer_unordered(MAX_IN_FLIGHT).try_collect().await
}

/// Checks that every target has the new replicas, and that every status contains the firing.
pub(crate) async fn check_applied(client: &Client, rules: usize, firing: Timestamp) -> Result<()> {
    let targets = list(client, TARGETS, "ScalableNodeGroup", "scalablenodegroups").await?;
    let reached = targets.iter().filter(|it| it.data["spec"]["replicas"] == AFTER).count();
    ensure!(reached == rules, "only {reached} of {rules} targets have {AFTER} replicas");
    let policies = list(client, POLICIES, "CronFederatedHPA", "cronfederatedhpas").await?;
    let firing = Value::from(firing.to_string());
    let is_recorded = |it: &&DynamicObject| {
        let latest = &it.data["status"]["executionHistories"][0]["successfulExecutions"][0];
        latest["scheduleTime"] == firing
    };
    let recorded = policies.iter().filter(is_recorded).count();
    ensure!(recorded == rules, "only {recorded} of {rules} statuses record the firing at {firing}");
    Ok(())
}

async fn list(client: &Client, root: &str, kind: &str, plural: &str) -> Result<Vec<DynamicObject>> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource(root, kind, plural));
    let mut objects = Vec::new();
    let mut page = ListParams::default().limit(1000);
    loop {
        let list = api.list(&page).await?;
        objects.extend(list.items);
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(objects),
        }
    }
}

pub(crate) fn resource(root: &str, kind: &str, plural: &str) -> ApiResource {
    let mut parts = root.trim_start_matches("/apis/").splitn(2, '/');
    let (group, version) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

pub(crate) async fn get(client: &Client, path: &str) -> Result<String> {
    Ok(client.request_text(http::Request::get(path).body(Vec::new())?).await?)
}
