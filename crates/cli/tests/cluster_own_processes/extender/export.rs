//! An export of a cluster, evaluated without the cluster: for every pod and every unit, `forecast` and `explain` with
//! the files agree with the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;

use almanac_harness::{Observation, PATIENCE, TestResult, await_condition};
use anyhow::Context as _;
use jiff::{Timestamp, Unit};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::controller::condition;
use crate::extender::scene::Scene;
use crate::reading::get;

/// The kinds that a user exports to find the units of pods.
const EXPORTED: &str = "resourcepolicies,deployments,replicasets,pods";

/// The maximum number of pods to explain individually.
const EXPLAINED_PODS: usize = 8;

/// The annotations of a pod that was bound under a policy.
const POLICY: &str = "almanac.dev/resource-policy";
const UNIT: &str = "almanac.dev/unit";

/// The text between the name of a unit and the labels of a group.
const WITH: &str = " with ";

/// The reasons for a pending pod: the message of the extender, which kube-scheduler reports, and that of `explain`.
const KINDS: [(&str, &str); 4] = [
    ("is full", "is full"),
    ("is closed", "is closed"),
    ("whose strategy is required", "strategy: required"),
    ("ResourcePolicies select the pod", "ResourcePolicies select the pod"),
];

impl Scene {
    /// Exports the namespace and its nodes, and compares the results from the files with the cluster, after all changes
    /// are done.
    pub(crate) async fn check_export(&self) -> TestResult {
        let folder = tempfile::tempdir()?;
        await_condition("the export to give the results of the cluster", PATIENCE, async || {
            Ok(match self.compare_export(folder.path()).await? {
                None => Observation::Holds(()),
                Some(difference) => Observation::NotYet(difference),
            })
        })
        .await
    }

    /// The difference between the export and the cluster.
    async fn compare_export(&self, folder: &Path) -> anyhow::Result<Option<String>> {
        let exported = self.kubectl.run(&["get", EXPORTED, "-o", "yaml"]).await?;
        std::fs::write(folder.join("exported.yaml"), exported)?;
        let nodes = self.kubectl.run(&["get", "nodes", "-l", &self.label, "-o", "yaml"]).await?;
        std::fs::write(folder.join("nodes.yaml"), nodes)?;
        let pods = get(&self.kubectl, &["pods"]).await?;
        let policies = get(&self.kubectl, &["resourcepolicies"]).await?;
        let now = Timestamp::now().round(Unit::Second)?.to_string();
        let words = ["forecast", "-f", ".", "--from", &now, "--for", "1h", "-o", "json"];
        let forecast = almanac(folder, &words).await?;
        let (pods, policies) = (items(&pods), items(&policies));
        for policy in policies {
            if let Some(difference) = compare_policy(policy, pods, &forecast) {
                return Ok(Some(format!("{difference}: {policy} and {forecast}")));
            }
        }
        if policies.is_empty() {
            // Pods alone have no explanation.
            return Ok(None);
        }
        let names: BTreeSet<&str> = policies.iter().map(name).collect();
        for pod in pods.iter().step_by(pods.len().div_ceil(EXPLAINED_PODS).max(1)) {
            let subject = format!("pod/{}/{}", self.namespace, name(pod));
            let words = ["explain", "-f", ".", &subject, "--at", &now, "-o", "json"];
            let explanation = almanac(folder, &words).await?;
            if let Some(difference) = compare_pod(pod, &names, &explanation) {
                return Ok(Some(format!("{difference}: {pod} and {explanation}")));
            }
        }
        Ok(None)
    }
}

/// The counts of a policy in its status, and the counts in the forecast.
fn compare_policy(policy: &Value, pods: &[Value], forecast: &Value) -> Option<String> {
    let now = |field: &str| {
        let series = forecast["series"].as_array().into_iter().flatten();
        let of_policy = series.filter(|it| it["target"]["name"] == policy["metadata"]["name"]);
        let mut field =
            of_policy.filter(|it| it["field"] == field).map(|it| &it["segments"][0]["value"]);
        field.next().cloned().unwrap_or_default()
    };
    let status = &policy["status"];
    let mut used: BTreeMap<String, i64> = BTreeMap::new();
    for unit in status["units"].as_array().into_iter().flatten() {
        let unit_name = unit["name"].as_str().unwrap_or_default();
        let groups = unit["groups"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut count = |name: String, usage: &Value| {
            let number = usage["used"].as_i64().unwrap_or_default();
            used.insert(name, number);
            unit["max"].as_i64().filter(|max| number > *max)
        };
        let over = if groups.is_empty() {
            count(unit_name.to_owned(), unit)
        } else {
            let each = groups.iter().filter_map(|group| {
                count(format!("{unit_name}{WITH}{}", labels(&group["labels"])), group)
            });
            each.max()
        };
        if over.is_some() && condition(status, "OverCap")[0] != "True" {
            return Some(format!("{unit_name} has more pods than it may have"));
        }
    }
    used.insert("outside all units".to_owned(), status["spilled"].as_i64().unwrap_or_default());
    used.retain(|_, number| *number > 0);
    let mut predicted: BTreeMap<String, i64> = BTreeMap::new();
    for (name, number) in now("unitPods").as_object().into_iter().flatten() {
        let name = if name.starts_with("outside all units") { "outside all units" } else { name };
        *predicted.entry(name.to_owned()).or_default() += number.as_i64().unwrap_or_default();
    }
    predicted.retain(|_, number| *number > 0);
    if !predicted.keys().any(|name| name.contains(WITH)) {
        // A single group has no name in the output.
        let mut by_unit = BTreeMap::new();
        for (name, number) in used {
            let unit = name.split(WITH).next().unwrap_or_default().to_owned();
            *by_unit.entry(unit).or_default() += number;
        }
        used = by_unit;
    }
    if used != predicted {
        return Some(format!("in use {used:?}, and in the files {predicted:?}"));
    }
    let selected = policy["spec"]["podSelector"]["matchLabels"].as_object();
    let is_selected = |pod: &&Value| {
        let has = |(key, value): (&String, &Value)| pod["metadata"]["labels"][key] == *value;
        selected.is_some_and(|labels| labels.iter().all(has))
    };
    let waits = |pod: &&Value| pod["spec"]["nodeName"].is_null();
    let waiting = pods.iter().filter(is_selected).filter(waits).count();
    let predicted = now("pendingPods");
    (json!(waiting) != predicted).then(|| format!("{waiting} wait, and in the files {predicted}"))
}

/// The unit in which a pod is counted, or the reason that it is pending.
fn compare_pod(pod: &Value, policies: &BTreeSet<&str>, explanation: &Value) -> Option<String> {
    let annotation = |name: &str| pod["metadata"]["annotations"][name].as_str();
    let reasons = || explanation["reasons"].as_array().into_iter().flatten();
    if pod["spec"]["nodeName"].is_null() {
        // The message of kube-scheduler.
        let [_, _, why] = condition(&pod["status"], "PodScheduled");
        let kinds = KINDS.iter().filter(|(kind, _)| why.contains(kind));
        let text = explanation["reasons"].to_string();
        let missing: Vec<_> =
            kinds.filter(|(_, explanation)| !text.contains(explanation)).collect();
        let is_placed = reasons().any(|reason| reason["verdict"] == "won");
        return (is_placed || !missing.is_empty())
            .then(|| format!("it waits, and the files do not say {missing:?}"));
    }
    let governed = annotation(POLICY).filter(|policy| policies.contains(policy));
    let Some(policy) = governed else {
        let is_free = reasons().all(|it| it["because"] == "no ResourcePolicy selects the pod");
        return (!is_free).then(|| "no policy bound it".to_owned());
    };
    let unit = annotation(UNIT).unwrap_or("outside all units");
    let counts_there = reasons().any(|reason| reason["verdict"] == "won" && reason["rule"] == unit);
    (explanation["policy"]["name"] != policy || !counts_there)
        .then(|| format!("it was bound under {policy} in {unit}"))
}

fn labels(labels: &Value) -> String {
    let labels = labels.as_object().into_iter().flatten();
    let each = labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    each.collect::<Vec<_>>().join(", ")
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn items(list: &Value) -> &[Value] {
    list["items"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The output of the binary in a directory, as JSON.
async fn almanac(folder: &Path, arguments: &[&str]) -> anyhow::Result<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_almanac"));
    let output = command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let explanation = text(&output.stdout);
    // Two policies that select the same pods are an error in the files, but the output still has a result.
    serde_json::from_str(&explanation)
        .with_context(|| format!("{arguments:?}: {explanation}{}", text(&output.stderr)))
}
