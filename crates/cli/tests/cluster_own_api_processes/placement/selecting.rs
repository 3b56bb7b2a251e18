//! The selected clusters, and their division into decisions and groups.

use almanac_fixtures::{designs, hub};
use almanac_harness::TestResult;
use anyhow::ensure;
use serde_json::{Value, json};

use crate::placement::observer::Observer;
use crate::placement::stage::{
    CLUSTER, DECISION, GROUP, NAMESPACE, PLACEMENT, await_reason, await_selected, await_sizes,
    condition_text, decisions, end_agreed, ensure_agreed, on_hub, place, prepare, ratio, start,
};

#[test]
fn a_balancing_placement_moves_when_another_placement_selects_its_cluster() -> TestResult {
    on_hub(async |_, cluster| {
        prepare(cluster, &["c1", "c2"]).await?;
        ratio(cluster, "c1", 90).await?;
        place(cluster, "even", 1, &[("Balance", 1)]).await?;
        let controller = start(cluster).await?;
        await_selected(cluster, "even", &["c1"]).await?;
        place(cluster, "most", 1, &[("default/cpuratio", 1)]).await?;
        await_selected(cluster, "most", &["c1"]).await?;
        await_selected(cluster, "even", &["c2"]).await?;
        // The decisions of a deleted placement no longer apply.
        cluster.delete(PLACEMENT, NAMESPACE, "most").await?;
        cluster.delete(DECISION, NAMESPACE, "most-decision-1").await?;
        await_selected(cluster, "even", &["c1"]).await?;
        end_agreed(cluster, &controller).await
    })
}

#[test]
fn the_placement_of_the_design_selects_by_score_and_keeps_its_selection() -> TestResult {
    on_hub(async |_, cluster| {
        prepare(cluster, &["c1", "c2", "c3", "c4"]).await?;
        for (name, score) in [("c1", 10), ("c2", 88), ("c3", -3), ("c4", 42)] {
            ratio(cluster, name, score).await?;
        }
        let of_the_design = designs::PLACEMENT.replace("  namespace: ns1\n", "");
        cluster.create_text(NAMESPACE, &of_the_design).await?;
        let controller = start(cluster).await?;
        await_selected(cluster, "placement", &["c1", "c2", "c4"]).await?;
        // The selection is steady: no score outweighs three times a hundred.
        ratio(cluster, "c3", 100).await?;
        ratio(cluster, "c1", -100).await?;
        place(cluster, "least", 1, &[("default/cpuratio", -1)]).await?;
        await_selected(cluster, "least", &["c1"]).await?;
        place(cluster, "most", 1, &[("default/cpuratio", 1)]).await?;
        await_selected(cluster, "most", &["c3"]).await?;
        await_selected(cluster, "placement", &["c1", "c2", "c4"]).await?;
        let object = cluster.get(PLACEMENT, NAMESPACE, "placement").await?;
        for (about, expected) in [
            ("PlacementSatisfied", "True AllDecisionsScheduled: 3 clusters are selected"),
            (
                "PlacementMisconfigured",
                "False Succeedconfigured: the placement can be used as written",
            ),
            ("Ready", "True AllDecisionsScheduled: nothing needs attention"),
        ] {
            ensure!(condition_text(&object, about) == expected, "{}", object["status"]);
        }
        let observed = &object["status"]["conditions"][0]["observedGeneration"];
        ensure!(*observed == object["metadata"]["generation"], "{}", object["status"]);
        cluster
            .await_event(
                NAMESPACE,
                "placement",
                "Normal DecisionCreate: 3 clusters are selected; added c1, c2, c4",
            )
            .await?;
        end_agreed(cluster, &controller).await
    })
}

#[test]
fn a_hundred_and_one_clusters_are_two_decisions_that_lose_no_selected_cluster() -> TestResult {
    on_hub(async |test, cluster| {
        let names: Vec<String> = (0..128).map(|number| format!("c{number:03}")).collect();
        let refs: Vec<&str> = names.iter().map(String::as_str).collect();
        prepare(cluster, &refs[..101]).await?;
        cluster.create(PLACEMENT, NAMESPACE, &hub::placement("web", &json!({}))).await?;
        let controller = start(cluster).await?;
        await_sizes(cluster, "web", &[100, 1]).await?;
        for name in &refs[101..] {
            cluster.create(CLUSTER, "", &hub::managed_cluster(name)).await?;
        }
        await_sizes(cluster, "web", &[100, 28]).await?;
        ensure_agreed(cluster).await?;
        let observer = Observer::start(test).await?;
        observer.await_first("web-decision-1").await?;
        let wanted = |count: u32| json!({ "spec": { "numberOfClusters": count } });
        cluster.patch(PLACEMENT, NAMESPACE, "web", &wanted(10)).await?;
        await_sizes(cluster, "web", &[10]).await?;
        observer.ensure_never_missing("web", &names[..10])?;
        cluster.patch(PLACEMENT, NAMESPACE, "web", &wanted(0)).await?;
        await_sizes(cluster, "web", &[0]).await?;
        ensure_agreed(cluster).await?;
        // Watch events of our own writes, before or after their responses, are not treated as those of another field
        // manager.
        let undone = controller.scrape("almanac_placement_undone_total").await?;
        ensure!(undone == ["almanac_placement_undone_total 0"], "{undone:?}");
        controller.stop().await
    })
}

#[test]
fn selected_clusters_are_divided_into_groups_and_change_them_without_a_gap() -> TestResult {
    on_hub(async |test, cluster| {
        prepare(cluster, &["c1", "c2", "c3"]).await?;
        let canary = json!({ "metadata": { "labels": { "stage": "canary" } } });
        cluster.patch(CLUSTER, "", "c3", &canary).await?;
        let in_groups =
            |strategy: Value| json!({ "decisionStrategy": { "groupStrategy": strategy } });
        let spec = in_groups(json!({ "clustersPerDecisionGroup": "25%" }));
        cluster.create(PLACEMENT, NAMESPACE, &hub::placement("web", &spec)).await?;
        let controller = start(cluster).await?;
        await_sizes(cluster, "web", &[1, 1, 1]).await?;
        let observer = Observer::start(test).await?;
        observer.await_first("web-decision-3").await?;
        let canary = json!({ "labelSelector": { "matchLabels": { "stage": "canary" } } });
        let first = json!([{ "groupName": "canary", "groupClusterSelector": canary }]);
        let spec =
            in_groups(json!({ "clustersPerDecisionGroup": "100%", "decisionGroups": first }));
        cluster.patch(PLACEMENT, NAMESPACE, "web", &json!({ "spec": spec })).await?;
        await_sizes(cluster, "web", &[1, 2]).await?;
        let groups = json!([
            {"decisionGroupIndex": 0, "decisionGroupName": "canary", "decisions": ["web-decision-1"], "clusterCount": 1},
            {"decisionGroupIndex": 1, "decisionGroupName": "", "decisions": ["web-decision-2"], "clusterCount": 2},
        ]);
        // The status is written after the decisions.
        let has_groups = |object: &Value| object["status"]["decisionGroups"] == groups;
        let web = (NAMESPACE, "web");
        cluster.await_object(PLACEMENT, web, "to have the groups", has_groups).await?;
        let names = ["c1", "c2", "c3"].map(str::to_owned);
        observer.ensure_never_missing("web", &names)?;
        for (name, group, index) in [("web-decision-1", "canary", "0"), ("web-decision-2", "", "1")]
        {
            let labels =
                cluster.get(DECISION, NAMESPACE, name).await?["metadata"]["labels"].clone();
            let expected = json!({
                format!("{GROUP}/placement"): "web", format!("{GROUP}/decision-group-name"): group,
                format!("{GROUP}/decision-group-index"): index,
            });
            ensure!(labels == expected, "{labels}");
        }
        ensure!(decisions(cluster, "web").await?[0].1 == ["c3"], "the canary comes first");
        end_agreed(cluster, &controller).await
    })
}

#[test]
fn an_incomplete_selection_has_the_reason_of_open_cluster_management() -> TestResult {
    on_hub(async |_, cluster| {
        let controller = start(cluster).await?;
        cluster
            .create(PLACEMENT, NAMESPACE, &hub::placement("web", &json!({ "numberOfClusters": 2 })))
            .await?;
        let satisfied =
            async |reason: &str| await_reason(cluster, "web", "PlacementSatisfied", reason).await;
        satisfied("False NoManagedClusterSetBindings").await?;
        prepare(cluster, &[]).await?;
        satisfied("False AllManagedClusterSetsEmpty").await?;
        let tainted = json!({ "taints": [{ "key": "down", "effect": "NoSelect", "timeAdded": "2026-01-01T00:00:00Z" }] });
        let mut down = hub::managed_cluster("c1");
        down["spec"]["taints"] = tainted["taints"].clone();
        cluster.create(CLUSTER, "", &down).await?;
        satisfied("False NoManagedClusterMatched").await?;
        cluster.create(CLUSTER, "", &hub::managed_cluster("c2")).await?;
        let why = satisfied("False NotAllDecisionsScheduled").await?;
        ensure!(why == "1 cluster is selected, and 1 more are wanted", "{why}");
        cluster.patch(CLUSTER, "", "c1", &json!({ "spec": { "taints": null } })).await?;
        satisfied("True AllDecisionsScheduled").await?;
        await_selected(cluster, "web", &["c1", "c2"]).await?;
        cluster
            .patch(PLACEMENT, NAMESPACE, "web", &json!({ "spec": { "clusterSets": ["other"] } }))
            .await?;
        satisfied("False NoIntersection").await?;
        end_agreed(cluster, &controller).await
    })
}
