//! The permissions needed to forecast the placements of a cluster, and the messages for missing permissions.

use std::path::Path;
use std::process::Stdio;

use almanac_fixtures::hub;
use almanac_harness::{Observation, PATIENCE, TestResult, await_condition};
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::controller::{ALMANAC, Cluster};
use crate::live::permit;
use crate::placement::stage::{
    GROUP, NAMESPACE, PLACEMENT, await_selected, on_hub, prepare, start,
};

/// Permission to list resources of the hub.
fn list(resources: &[&str]) -> Value {
    json!({ "apiGroups": [GROUP], "resources": resources, "verbs": ["list"] })
}

/// Waits until a forecast by the reader selects these clusters, and lists these assumptions about the hub.
async fn await_forecast(reader: &Path, clusters: &Value, assumed: &[&str]) -> TestResult {
    await_condition(&format!("a forecast of {clusters} with {assumed:?}"), PATIENCE, async || {
        let mut command = Command::new(ALMANAC);
        command.args(["forecast", "-n", NAMESPACE, "--for", "1m", "-o", "json"]);
        let output = command.env("KUBECONFIG", reader).stdin(Stdio::null()).output().await?;
        let actual: Result<Value> = serde_json::from_slice(&output.stdout).context("no JSON");
        let Ok(actual) = actual else {
            return Ok(Observation::NotYet(String::from_utf8_lossy(&output.stderr).into_owned()));
        };
        let assumptions = actual["assumptions"].as_array().cloned().unwrap_or_default();
        let of_hub: Vec<_> = assumptions.iter().filter_map(Value::as_str).collect();
        let of_hub: Vec<_> = of_hub.into_iter().filter(|it| it.contains(GROUP)).collect();
        let is_so = actual["series"][0]["segments"][0]["value"] == *clusters && of_hub == assumed;
        Ok(Observation::from_bool(is_so, format!("{actual:#}")))
    })
    .await
}

async fn select(cluster: &Cluster) -> TestResult {
    prepare(cluster, &["c1"]).await?;
    cluster.create(PLACEMENT, NAMESPACE, &hub::placement("web", &json!({}))).await?;
    let controller = start(cluster).await?;
    await_selected(cluster, "web", &["c1"]).await?;
    controller.stop().await
}

#[test]
fn the_documented_permissions_suffice_for_placements_and_gaps_are_reported() -> TestResult {
    on_hub(async |test, cluster| {
        select(cluster).await?;
        cluster.kubectl(&["create", "serviceaccount", "reader"]).await?;
        let account = test.service_account(NAMESPACE, "reader").await?;
        let reader = account.kubeconfig();
        let policies = json!([
            { "apiGroups": ["autoscaling.karmada.io"], "resources": ["cronfederatedhpas"], "verbs": ["list"] },
            { "apiGroups": ["autoscaling.karpenter.sh"], "resources": ["metricsproducers"], "verbs": ["list"] },
        ]);
        let with = |further: &[&str]| {
            let mut rules = policies.as_array().cloned().unwrap_or_default();
            rules.push(list(further));
            Value::Array(rules)
        };
        let kubectl = test.kubectl().await?;
        let allow =
            async |kind: &str, rules: &Value| permit(&kubectl, (kind, NAMESPACE), rules).await;
        allow("Role", &policies).await?;
        let unread = format!("no Placement.{GROUP} in namespace default was read: ");
        let missing = |what: &str| format!("{unread}missing permission to list {what}.{GROUP}");
        await_forecast(&reader, &Value::Null, &[&missing("placements")]).await?;
        let in_namespace = ["placements", "managedclustersetbindings", "placementdecisions"];
        allow("Role", &with(&in_namespace)).await?;
        let rest = ["addonplacementscores", "managedclusters", "managedclustersets"];
        let elsewhere = format!(
            "no PlacementDecision.{GROUP} outside namespace default was read, so how often a cluster is \
             selected is unknown: missing permission to list placementdecisions.{GROUP} in all namespaces"
        );
        let mut assumed: Vec<String> = rest.map(missing).into();
        assumed.push(elsewhere.clone());
        let assumed: Vec<&str> = assumed.iter().map(String::as_str).collect();
        await_forecast(&reader, &Value::Null, &assumed).await?;
        allow("ClusterRole", &json!([list(&rest)])).await?;
        await_forecast(&reader, &json!(["c1"]), &[&elsewhere]).await?;
        let all = [&rest[..], &["placementdecisions"]].concat();
        allow("ClusterRole", &json!([list(&all)])).await?;
        await_forecast(&reader, &json!(["c1"]), &[]).await
    })
}
