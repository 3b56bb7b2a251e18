//! Clusters that are selected by CEL expressions over their objects and their scores.

use almanac_fixtures::hub;
use almanac_harness::TestResult;
use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controller::{Cluster, Controller};
use crate::placement::stage::{
    CLUSTER, NAMESPACE, PLACEMENT, await_end, await_reason, await_selected, end_agreed, on_hub,
    prepare, ratio, score_for_now, start,
};

/// The rest of the spec of a placement that selects by these expressions.
fn by(expressions: &[&str]) -> Value {
    let selector = json!({ "celSelector": { "celExpressions": expressions } });
    json!({ "predicates": [{ "requiredClusterSelector": selector }] })
}

async fn place(cluster: &Cluster, name: &str, expressions: &[&str]) -> TestResult {
    cluster.create(PLACEMENT, NAMESPACE, &hub::placement(name, &by(expressions))).await
}

/// Sets the Kubernetes version in a cluster's status.
async fn runs(cluster: &Cluster, name: &str, version: &str) -> TestResult {
    let status = json!({ "version": { "kubernetes": version } });
    cluster.patch_status(CLUSTER, "", name, &status).await
}

/// Writes the second of a cluster's last heartbeat.
async fn beat(cluster: &Cluster, name: &str, second: i64) -> TestResult {
    let at = Timestamp::from_second(1_800_000_000 + second)?.to_string();
    let condition = json!({
        "type": "ManagedClusterConditionAvailable", "status": "True", "reason": "ManagedClusterAvailable",
        "message": "", "lastTransitionTime": at,
    });
    cluster.patch_status(CLUSTER, "", name, &json!({ "conditions": [condition] })).await
}

async fn turns(controller: &Controller) -> anyhow::Result<f64> {
    let lines = controller.scrape("almanac_placement_turns_total ").await?;
    let number = lines.first().and_then(|it| it.rsplit(' ').next());
    Ok(number.context("the metric is not exported")?.parse()?)
}

const NEW: &str =
    "semver(managedCluster.status.version.kubernetes, true).isGreaterThan(semver('1.30.5'))";

#[test]
fn a_placement_follows_its_expressions_over_objects_of_clusters() -> TestResult {
    on_hub(async |_, cluster| {
        prepare(cluster, &["c1", "c2", "c3"]).await?;
        place(cluster, "new", &[NEW]).await?;
        let team = "managedCluster.metadata.annotations['team'] == 'shop'";
        place(cluster, "team", &[team]).await?;
        let controller = start(cluster).await?;
        await_selected(cluster, "new", &[]).await?;
        runs(cluster, "c1", "v1.30.0").await?;
        runs(cluster, "c2", "v1.31.2").await?;
        await_selected(cluster, "new", &["c2"]).await?;
        runs(cluster, "c1", "v1.32.0+k3s1").await?;
        await_selected(cluster, "new", &["c1", "c2"]).await?;
        runs(cluster, "c2", "none").await?;
        await_selected(cluster, "new", &["c1"]).await?;
        let annotated = json!({ "metadata": { "annotations": { "team": "shop" } } });
        cluster.patch(CLUSTER, "", "c3", &annotated).await?;
        await_selected(cluster, "team", &["c3"]).await?;
        end_agreed(cluster, &controller).await
    })
}

#[test]
fn an_unusable_expression_keeps_the_selection_and_is_reported_with_its_fix() -> TestResult {
    on_hub(async |_, cluster| {
        prepare(cluster, &["c1", "c2"]).await?;
        let costly = ["xs", "ys", "zs"].map(|_| format!("[{}]", vec!["1"; 60].join(",")));
        let [xs, ys, zs] = costly;
        let costly = format!("{xs}.all(x, {ys}.all(y, {zs}.all(z, x + y + z > 0)))");
        let bad = [
            (
                "unknown",
                "'%s'.format([managedCluster.metadata.name]) == 'c1'",
                "there is no function format",
            ),
            ("costly", costly.as_str(), "more than 100000 steps"),
            ("broken", "managedCluster.(", ", at column "),
        ];
        let controller = start(cluster).await?;
        for name in bad.iter().map(|(name, ..)| *name).chain(["sound"]) {
            place(cluster, name, &["true"]).await?;
            await_selected(cluster, name, &["c1", "c2"]).await?;
        }
        let field = "spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[1]: ";
        for (name, expression, why) in bad {
            let spec = json!({ "spec": by(&["true", expression]) });
            cluster.patch(PLACEMENT, NAMESPACE, name, &spec).await?;
            let message =
                await_reason(cluster, name, "PlacementMisconfigured", "True Misconfigured").await?;
            ensure!(message.starts_with(field) && message.contains(why), "{name}: {message}");
            ensure!(message.len() < 1_000, "{name}: {message}");
        }
        cluster.delete(CLUSTER, "", "c2").await?;
        // This placement shows that the process has reconciled the others.
        await_selected(cluster, "sound", &["c1"]).await?;
        for (name, ..) in bad {
            await_selected(cluster, name, &["c1", "c2"]).await?;
        }
        cluster.patch(PLACEMENT, NAMESPACE, "costly", &json!({ "spec": by(&["true"]) })).await?;
        await_selected(cluster, "costly", &["c1"]).await?;
        end_agreed(cluster, &controller).await
    })
}

#[test]
fn scores_that_an_expression_reads_end_at_their_expiry() -> TestResult {
    on_hub(async |_, cluster| {
        prepare(cluster, &["c1", "c2"]).await?;
        let busy =
            "managedCluster.scores('default').exists(s, s.name == 'cpuratio' && s.value > 10)";
        place(cluster, "busy", &[busy]).await?;
        let controller = start(cluster).await?;
        let end = score_for_now(cluster, "c1", 50).await?;
        ratio(cluster, "c2", 20).await?;
        await_end(cluster, "busy", end, (&["c1", "c2"], &["c2"])).await?;
        ratio(cluster, "c2", 5).await?;
        await_selected(cluster, "busy", &[]).await?;
        end_agreed(cluster, &controller).await
    })
}

#[test]
fn heartbeats_of_a_cluster_reconcile_no_placement() -> TestResult {
    // The number of heartbeats that apply immediately within a minute.
    const BEATS: i64 = 20;
    on_hub(async |_, cluster| {
        prepare(cluster, &["c1", "c2"]).await?;
        let available = "managedCluster.status.conditions.exists(c, c.status == 'True')";
        place(cluster, "available", &[available]).await?;
        cluster.create(PLACEMENT, NAMESPACE, &hub::placement("all", &json!({}))).await?;
        let controller = start(cluster).await?;
        await_selected(cluster, "all", &["c1", "c2"]).await?;
        beat(cluster, "c1", 0).await?;
        await_selected(cluster, "available", &["c1"]).await?;
        let before = turns(&controller).await?;
        for second in 1..BEATS {
            beat(cluster, "c1", second).await?;
        }
        // A later event of the same watch.
        beat(cluster, "c2", 0).await?;
        await_selected(cluster, "available", &["c1", "c2"]).await?;
        let taken = turns(&controller).await? - before;
        eprintln!("{taken} turns in {BEATS} heartbeats");
        // The request of the placement that selects the other cluster.
        ensure!(format!("{taken}") == "1", "{taken} turns");
        controller.stop().await
    })
}
