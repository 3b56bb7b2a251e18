//! Decisions that a user changes or deletes, and other objects with their names.

use almanac_fixtures::hub;
use almanac_harness::TestResult;
use anyhow::ensure;
use serde_json::{Value, json};

use crate::controller::Cluster;
use crate::placement::stage::{
    DECISION, GROUP, NAMESPACE, PLACEMENT, await_reason, await_selected, await_sizes, clusters_of,
    decision_writes, end_agreed, on_hub, prepare, start,
};

async fn await_as_before(cluster: &Cluster, before: &Value, what: &str) -> TestResult {
    let is_as_before = |it: &Value| {
        it["metadata"]["labels"] == before["metadata"]["labels"]
            && it["metadata"]["ownerReferences"] == before["metadata"]["ownerReferences"]
            && it["status"] == before["status"]
    };
    cluster.await_object(DECISION, (NAMESPACE, "web-decision-1"), what, is_as_before).await?;
    Ok(())
}

#[test]
fn a_manually_edited_or_deleted_decision_is_restored() -> TestResult {
    on_hub(async |_, cluster| {
        prepare(cluster, &["c1", "c2"]).await?;
        cluster.create(PLACEMENT, NAMESPACE, &hub::placement("web", &json!({}))).await?;
        let controller = start(cluster).await?;
        await_sizes(cluster, "web", &[2]).await?;
        let before = cluster.get(DECISION, NAMESPACE, "web-decision-1").await?;
        cluster.delete(DECISION, NAMESPACE, "web-decision-1").await?;
        await_as_before(cluster, &before, "to be there again").await?;
        let status = json!({ "decisions": [{ "clusterName": "c9", "reason": "mine" }] });
        cluster.patch_status(DECISION, NAMESPACE, "web-decision-1", &status).await?;
        await_as_before(cluster, &before, "to have its clusters again").await?;
        let label = json!({ "metadata": { "labels": { format!("{GROUP}/placement"): "mine" } } });
        cluster.patch(DECISION, NAMESPACE, "web-decision-1", &label).await?;
        await_as_before(cluster, &before, "to have its label again").await?;
        end_agreed(cluster, &controller).await
    })
}

#[test]
fn a_foreign_object_is_left_unchanged_and_reported() -> TestResult {
    on_hub(async |_, cluster| {
        prepare(cluster, &["c1"]).await?;
        let mut theirs =
            hub::hub_object("v1beta1", "PlacementDecision", "web-decision-1", &json!({}));
        theirs.as_object_mut().map(|fields| fields.remove("spec"));
        cluster.create(DECISION, NAMESPACE, &theirs).await?;
        let status = json!({ "decisions": [{ "clusterName": "c7", "reason": "" }] });
        cluster.patch_status(DECISION, NAMESPACE, "web-decision-1", &status).await?;
        cluster.create(PLACEMENT, NAMESPACE, &hub::placement("web", &json!({}))).await?;
        let controller = start(cluster).await?;
        let message = await_reason(cluster, "web", "Ready", "False DecisionNameTaken").await?;
        ensure!(message.contains("belongs to no placement, by its labels and owners"), "{message}");
        let actual = cluster.get(DECISION, NAMESPACE, "web-decision-1").await?;
        ensure!(clusters_of(&actual) == ["c7"], "{actual}");
        ensure!(decision_writes(cluster).await?.is_empty(), "a decision was written");
        // With the label, the decision belongs to the placement, which adopts the decision.
        let label = json!({ "metadata": { "labels": { format!("{GROUP}/placement"): "web" } } });
        cluster.patch(DECISION, NAMESPACE, "web-decision-1", &label).await?;
        await_selected(cluster, "web", &["c1"]).await?;
        let placement = cluster.get(PLACEMENT, NAMESPACE, "web").await?;
        // The first write is of the clusters; the owner is another write.
        let is_owned = |it: &Value| {
            it["metadata"]["ownerReferences"][0]["uid"] == placement["metadata"]["uid"]
        };
        let taken = (NAMESPACE, "web-decision-1");
        cluster.await_object(DECISION, taken, "to have its owner", is_owned).await?;
        await_reason(cluster, "web", "Ready", "True AllDecisionsScheduled").await?;
        end_agreed(cluster, &controller).await
    })
}
