//! Unusable specs: the selection is unchanged, and a condition reports the problem.

use almanac_fixtures::hub;
use almanac_harness::TestResult;
use anyhow::ensure;
use serde_json::{Value, json};

use crate::controller::{Cluster, DEFINITION};
use crate::placement::stage::{
    CLUSTER, GROUP, NAMESPACE, PLACEMENT, await_reason, await_selected, end_agreed, on_hub,
    prepare, start,
};

/// Extends the CRD of placements to accept the same values as that of Open Cluster Management.
async fn loosen(cluster: &Cluster) -> TestResult {
    let name = format!("placements.{GROUP}");
    let mut definition = cluster.get(DEFINITION, "", &name).await?;
    let versions = definition["spec"]["versions"].take();
    let mut versions: Vec<Value> = serde_json::from_value(versions)?;
    for version in &mut versions {
        let spec = &mut version["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let count = &mut spec["properties"]["numberOfClusters"];
        count.as_object_mut().map(|fields| fields.remove("minimum"));
    }
    cluster.patch(DEFINITION, "", &name, &json!({ "spec": { "versions": versions } })).await?;
    Ok(())
}

#[test]
fn an_unusable_spec_keeps_the_selection_and_reports_the_problem() -> TestResult {
    on_hub(async |_, cluster| {
        loosen(cluster).await?;
        prepare(cluster, &["c1", "c2"]).await?;
        let controller = start(cluster).await?;
        let selecting =
            |selector: Value| json!({ "predicates": [{ "requiredClusterSelector": selector }] });
        let label = json!([{ "key": "a", "operator": "Near", "values": ["b"] }]);
        let bad = [
            (
                "negative",
                json!({ "numberOfClusters": -1 }),
                "spec.numberOfClusters: Invalid value: -1",
            ),
            (
                "operator",
                selecting(json!({ "labelSelector": { "matchExpressions": label } })),
                "spec.predicates[0].requiredClusterSelector.labelSelector.matchExpressions[0].operator: \
                 Unsupported value: \"Near\"",
            ),
            (
                "cel",
                selecting(json!({ "celSelector": { "celExpressions": ["managedCluster.("] } })),
                "spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]: ",
            ),
        ];
        for name in bad.iter().map(|(name, ..)| *name).chain(["sound"]) {
            cluster.create(PLACEMENT, NAMESPACE, &hub::placement(name, &json!({}))).await?;
            await_selected(cluster, name, &["c1", "c2"]).await?;
        }
        for (name, spec, why) in &bad {
            cluster.patch(PLACEMENT, NAMESPACE, name, &json!({ "spec": spec })).await?;
            let message =
                await_reason(cluster, name, "PlacementMisconfigured", "True Misconfigured").await?;
            ensure!(message.starts_with(why), "{message}");
            await_reason(cluster, name, "Ready", "False PlacementInvalid").await?;
        }
        cluster.delete(CLUSTER, "", "c2").await?;
        // This placement shows that the process has reconciled the others.
        await_selected(cluster, "sound", &["c1"]).await?;
        for (name, ..) in &bad {
            await_selected(cluster, name, &["c1", "c2"]).await?;
        }
        cluster
            .patch(PLACEMENT, NAMESPACE, "negative", &json!({ "spec": { "numberOfClusters": 1 } }))
            .await?;
        await_selected(cluster, "negative", &["c1"]).await?;
        await_reason(cluster, "negative", "PlacementMisconfigured", "False Succeedconfigured")
            .await?;
        end_agreed(cluster, &controller).await
    })
}

#[test]
fn a_placement_that_starts_with_an_error_gets_an_empty_decision() -> TestResult {
    on_hub(async |_, cluster| {
        prepare(cluster, &["c1"]).await?;
        let bad = json!([{ "key": "a", "operator": "Near", "values": ["b"] }]);
        let bad = json!({ "labelSelector": { "matchExpressions": bad } });
        let predicates = json!([{ "requiredClusterSelector": bad }]);
        let web = hub::placement("web", &json!({ "predicates": predicates }));
        cluster.create(PLACEMENT, NAMESPACE, &web).await?;
        let spec = json!({ "predicates": predicates, "clusterSets": ["other"] });
        cluster.create(PLACEMENT, NAMESPACE, &hub::placement("unbound", &spec)).await?;
        let controller = start(cluster).await?;
        for (name, why) in [("web", "NoManagedClusterMatched"), ("unbound", "NoIntersection")] {
            await_selected(cluster, name, &[]).await?;
            await_reason(cluster, name, "PlacementSatisfied", &format!("False {why}")).await?;
            await_reason(cluster, name, "PlacementMisconfigured", "True Misconfigured").await?;
        }
        cluster
            .patch(PLACEMENT, NAMESPACE, "web", &json!({ "spec": { "predicates": [] } }))
            .await?;
        await_selected(cluster, "web", &["c1"]).await?;
        end_agreed(cluster, &controller).await
    })
}

#[test]
fn a_taint_without_a_time_is_reported_if_its_toleration_would_end() -> TestResult {
    on_hub(async |_, cluster| {
        prepare(cluster, &["c1"]).await?;
        let taint = json!({ "taints": [{ "key": "gpu", "effect": "NoSelect" }] });
        cluster.patch(CLUSTER, "", "c1", &json!({ "spec": taint })).await?;
        let toleration = json!({ "key": "gpu", "operator": "Exists", "tolerationSeconds": 1 });
        let spec = json!({ "tolerations": [toleration] });
        cluster.create(PLACEMENT, NAMESPACE, &hub::placement("web", &spec)).await?;
        let controller = start(cluster).await?;
        let message = await_reason(cluster, "web", "Ready", "False TaintWithoutTimeAdded").await?;
        ensure!(message.ends_with("set timeAdded in the taint of c1"), "{message}");
        await_selected(cluster, "web", &["c1"]).await?;
        end_agreed(cluster, &controller).await
    })
}
