//! A hub with clusters, a process that reconciles its placements, and their selections. Also checks that the engine,
//! the checker, `almanac explain` and `almanac forecast` agree with the process.

#![allow(dead_code, reason = "every test program uses a part of it")]

use std::collections::BTreeSet;
use std::process::Stdio;

use almanac_api::checking::{CheckContext, check_json};
use almanac_api::kinds::Kind as ApiKind;
use almanac_checker::check_placement;
use almanac_engine::placement::{decide, gather};
use almanac_engine::{Family, World};
use almanac_fixtures::hub;
use almanac_harness::{Observation, OwnTest, PATIENCE, TestResult, await_condition};
use anyhow::{Context as _, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::controller::{ALMANAC, Cluster, Controller, Kind, condition, on_cluster};

pub(crate) const NAMESPACE: &str = "default";

const NAMESPACES: Kind = Kind { root: "/api/v1", plural: "namespaces" };

const V1: &str = "/apis/cluster.open-cluster-management.io/v1";
const V1ALPHA1: &str = "/apis/cluster.open-cluster-management.io/v1alpha1";
const V1BETA1: &str = "/apis/cluster.open-cluster-management.io/v1beta1";
const V1BETA2: &str = "/apis/cluster.open-cluster-management.io/v1beta2";

pub(crate) const PLACEMENT: Kind = Kind { root: V1BETA1, plural: "placements" };
pub(crate) const DECISION: Kind = Kind { root: V1BETA1, plural: "placementdecisions" };
pub(crate) const SCORE: Kind = Kind { root: V1ALPHA1, plural: "addonplacementscores" };
pub(crate) const CLUSTER: Kind = Kind { root: V1, plural: "managedclusters" };
pub(crate) const SET: Kind = Kind { root: V1BETA2, plural: "managedclustersets" };
pub(crate) const BINDING: Kind = Kind { root: V1BETA2, plural: "managedclustersetbindings" };

/// The kinds of a hub, as the engine reads them.
const ALL: [(ApiKind, Kind); 6] = [
    (ApiKind::ManagedClusterSet, SET),
    (ApiKind::ManagedClusterSetBinding, BINDING),
    (ApiKind::ManagedCluster, CLUSTER),
    (ApiKind::AddOnPlacementScore, SCORE),
    (ApiKind::PlacementDecision, DECISION),
    (ApiKind::Placement, PLACEMENT),
];

pub(crate) const GROUP: &str = "cluster.open-cluster-management.io";
/// The flag of a process without leader election.
pub(crate) const ALONE: &[&str] = &["--controllers=placement", "--leader-elect=false"];

/// The directory of the CRDs of a hub.
const DEFINITIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/hub-crds");

/// Runs a test on a control plane with the CRDs of a hub, and without controllers.
pub(crate) fn on_hub(test: impl AsyncFnOnce(&OwnTest, &Cluster) -> TestResult) -> TestResult {
    on_cluster(async |own, cluster| {
        define(cluster).await?;
        test(own, cluster).await
    })
}

/// Installs the CRDs of a hub.
pub(crate) async fn define(cluster: &Cluster) -> TestResult {
    cluster.kubectl(&["apply", "--server-side", "-f", DEFINITIONS]).await?;
    cluster.await_definitions().await
}

/// Creates a set that is bound to the namespace, with clusters of these names.
pub(crate) async fn prepare(cluster: &Cluster, clusters: &[&str]) -> TestResult {
    cluster.create(SET, "", &hub::managed_cluster_set()).await?;
    cluster.create(BINDING, NAMESPACE, &hub::managed_cluster_set_binding()).await?;
    for name in clusters {
        cluster.create(CLUSTER, "", &hub::managed_cluster(name)).await?;
    }
    Ok(())
}

/// Starts a process with the wall clock as its policy clock.
pub(crate) async fn start(cluster: &Cluster) -> Result<Controller> {
    cluster.start_at(&Timestamp::now().to_string(), ALONE).await
}

/// Gives a cluster scores, in its namespace.
pub(crate) async fn score(cluster: &Cluster, cluster_name: &str, status: &Value) -> TestResult {
    if cluster.get(SCORE, cluster_name, "default").await?.is_null() {
        if cluster.get(NAMESPACES, "", cluster_name).await?.is_null() {
            cluster.namespace(cluster_name).await?;
        }
        cluster.create(SCORE, cluster_name, &hub::add_on_placement_score("default")).await?;
    }
    cluster.patch_status(SCORE, cluster_name, "default", status).await
}

/// Sets the score that most tests use.
pub(crate) async fn ratio(cluster: &Cluster, cluster_name: &str, value: i64) -> TestResult {
    score(cluster, cluster_name, &hub::scored(&[("cpuratio", value)], None)).await
}

/// Sets a score that expires soon, but not before a slow machine has used the score; returns the expiry. The API has
/// whole seconds.
pub(crate) async fn score_for_now(
    cluster: &Cluster,
    cluster_name: &str,
    value: i64,
) -> Result<Timestamp> {
    let end = Timestamp::from_second(Timestamp::now().as_second() + 30)?;
    score(cluster, cluster_name, &hub::scored(&[("cpuratio", value)], Some(&end.to_string())))
        .await?;
    Ok(end)
}

/// Waits until a placement has selected the first of these clusters, and the second after the score expires. Returns
/// the delay.
pub(crate) async fn await_end(
    cluster: &Cluster,
    placement: &str,
    end: Timestamp,
    (before, after): (&[&str], &[&str]),
) -> Result<SignedDuration> {
    await_selected(cluster, placement, before).await?;
    ensure!(Timestamp::now() < end, "this machine was too slow to be there");
    await_selected(cluster, placement, after).await?;
    let writes = cluster.writes_of(DECISION.plural).await?;
    let last = writes.last().context("nothing was written")?;
    let late = last.at.parse::<Timestamp>()?.duration_since(end);
    eprintln!("decided {late:#} after the score ended");
    ensure!(!late.is_negative(), "decided {late:#} after the score ended");
    Ok(late)
}

/// Creates a placement of this number of clusters with exactly these scores.
pub(crate) async fn place(
    cluster: &Cluster,
    name: &str,
    clusters: u32,
    scores: &[(&str, i64)],
) -> TestResult {
    let spec = json!({ "numberOfClusters": clusters, "prioritizerPolicy": hub::exactly(scores) });
    cluster.create(PLACEMENT, NAMESPACE, &hub::placement(name, &spec)).await
}

/// The decisions of a placement: the name of each, and its clusters.
pub(crate) async fn decisions(
    cluster: &Cluster,
    placement: &str,
) -> Result<Vec<(String, Vec<String>)>> {
    let label = format!("{GROUP}/placement");
    let mut all = cluster.list(DECISION, NAMESPACE).await?;
    all.retain(|it| it["metadata"]["labels"][&label] == placement);
    let reported = all.iter().map(|it| {
        let name = it["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        (name, clusters_of(it))
    });
    Ok(reported.collect())
}

/// The clusters in one decision.
pub(crate) fn clusters_of(decision: &Value) -> Vec<String> {
    let clusters = decision["status"]["decisions"].as_array().cloned().unwrap_or_default();
    let name = |it: &Value| it["clusterName"].as_str().map(str::to_owned);
    clusters.iter().filter_map(name).collect()
}

/// Waits until a placement has selected these clusters, and its status has their number.
pub(crate) async fn await_selected(
    cluster: &Cluster,
    placement: &str,
    expected: &[&str],
) -> TestResult {
    let expected: BTreeSet<&str> = expected.iter().copied().collect();
    await_condition(&format!("{placement} selects {expected:?}"), PATIENCE, async || {
        let decisions = decisions(cluster, placement).await?;
        let selected: BTreeSet<&str> =
            decisions.iter().flat_map(|(_, it)| it).map(String::as_str).collect();
        let object = cluster.get(PLACEMENT, NAMESPACE, placement).await?;
        let reported = &object["status"]["numberOfSelectedClusters"];
        let is_so = !decisions.is_empty() && selected == expected && *reported == expected.len();
        Ok(Observation::from_bool(is_so, format!("{decisions:?}, status {}", object["status"])))
    })
    .await
}

/// Waits until a placement has decisions of these sizes.
pub(crate) async fn await_sizes(cluster: &Cluster, placement: &str, sizes: &[usize]) -> TestResult {
    await_condition(&format!("{placement} has decisions of {sizes:?}"), PATIENCE, async || {
        let decisions = decisions(cluster, placement).await?;
        let is_so = decisions.iter().map(|(_, it)| it.len()).eq(sizes.iter().copied());
        let object = cluster.get(PLACEMENT, NAMESPACE, placement).await?;
        let reported = &object["status"]["numberOfSelectedClusters"];
        let is_so = is_so && *reported == sizes.iter().sum::<usize>();
        Ok(Observation::from_bool(is_so, format!("{decisions:?}, {}", object["status"])))
    })
    .await
}

/// `True Reason: message` of a condition.
pub(crate) fn condition_text(object: &Value, about: &str) -> String {
    let [holds, reason, message] = condition(&object["status"], about);
    format!("{holds} {reason}: {message}")
}

/// Waits until a condition of a placement has this status and reason; returns its message.
pub(crate) async fn await_reason(
    cluster: &Cluster,
    placement: &str,
    about: &str,
    expected: &str,
) -> Result<String> {
    let begin = format!("{expected}: ");
    let is_so = |object: &Value| condition_text(object, about).starts_with(&begin);
    let what = format!("{about}={expected}");
    let object = cluster.await_object(PLACEMENT, (NAMESPACE, placement), &what, is_so).await?;
    Ok(condition_text(&object, about)[begin.len()..].to_owned())
}

/// All objects of the hub, as the engine reads them.
async fn world(cluster: &Cluster, now: Timestamp) -> Result<World> {
    let mut world = World::default();
    for (kind, at) in ALL {
        for object in cluster.list(at, "").await? {
            let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
            let checked = check_json(kind, object, CheckContext::new(&namespace, now));
            if let (Some(identity), Some(slim)) = (checked.identity, checked.slim) {
                world.upsert(identity, slim);
            }
        }
    }
    Ok(world)
}

/// Checks that no write is pending, that the decisions break no rule, and that `almanac explain` and
/// `almanac forecast` agree with the cluster.
pub(crate) async fn ensure_agreed(cluster: &Cluster) -> TestResult {
    let now = Timestamp::now();
    let world = world(cluster, now).await?;
    for policy in world.policies().filter(|it| it.family == Family::Placement) {
        let Some(input) = gather(world.view(), &policy.identity) else { continue };
        let decision = decide(&input, now);
        check_placement(&input, now, &decision).stop();
        ensure!(decision.actions.is_empty(), "{policy} has still to do {:#?}", decision.actions);
        let (namespace, name) = (policy.identity.namespace(), policy.identity.name());
        let selected: Vec<&str> = decision.clusters.iter().map(|it| &**it).collect();
        let subject = format!("placement/{name}");
        let explained =
            json_of(cluster, &["explain", &subject, "-n", namespace, "-o", "json"]).await?;
        ensure!(explained["value"] == json!(selected), "{selected:?} explained as {explained:#}");
        let forecast =
            json_of(cluster, &["forecast", "-n", namespace, "--for", "1m", "-o", "json"]).await?;
        let series = forecast["series"].as_array().context("no series")?;
        let of_it = series.iter().find(|it| it["target"]["name"] == name);
        let first = of_it.map(|it| it["segments"][0]["value"].clone()).unwrap_or_default();
        ensure!(first == json!(selected), "{selected:?} forecast as {forecast:#}");
    }
    Ok(())
}

/// Checks the placements with [`ensure_agreed`], and ends the process.
pub(crate) async fn end_agreed(cluster: &Cluster, controller: &Controller) -> TestResult {
    ensure_agreed(cluster).await?;
    controller.stop().await
}

/// The output of the program for the cluster.
pub(crate) async fn json_of(cluster: &Cluster, arguments: &[&str]) -> Result<Value> {
    let output = command(cluster, arguments).output().await?;
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).with_context(|| format!("{arguments:?}: {reported}"))
}

/// The exit code of the program for the cluster, and all its output.
pub(crate) async fn run(cluster: &Cluster, arguments: &[&str]) -> Result<(Option<i32>, String)> {
    let output = command(cluster, arguments).output().await?;
    let bytes = [output.stdout, output.stderr].concat();
    Ok((output.status.code(), String::from_utf8_lossy(&bytes).into_owned()))
}

fn command(cluster: &Cluster, arguments: &[&str]) -> Command {
    let mut command = Command::new(ALMANAC);
    command.args(arguments).env("KUBECONFIG", cluster.kubeconfig()).stdin(Stdio::null());
    command
}

/// The writes of decisions by the program so far: `create`, `patch/status`, `patch`, `delete`.
pub(crate) async fn decision_writes(cluster: &Cluster) -> Result<Vec<String>> {
    let writes = cluster.writes_of(DECISION.plural).await?;
    let lines = writes.iter().map(|it| {
        let slash = if it.subresource.is_empty() { "" } else { "/" };
        format!("{}{slash}{}", it.verb, it.subresource)
    });
    Ok(lines.collect())
}
