//! The instants at which placements are decided, and the Events and conditions about them.

use std::time::Duration;

use almanac_engine::Family;
use almanac_fixtures::hub;
use almanac_shell::lease::STOP;
use http::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::hub::{DECISIONS, GROUP, Hub, by_ratio, steady_by_ratio};

#[tokio::test(start_paused = true)]
async fn a_placement_gets_a_decision_with_labels_an_owner_and_the_clusters_with_the_best_scores() {
    let mut hub = Hub::with(&["c1", "c2", "c3", "c4"]);
    for (cluster, score) in [("c1", 10), ("c2", 88), ("c3", -3), ("c4", 42)] {
        hub.score(cluster, score, None);
    }
    hub.put("default", steady_by_ratio(3));
    hub.run(&[]).await;
    assert_eq!(hub.selected("web"), ["c1", "c2", "c4"]);
    let decision =
        hub.stub.object(DECISIONS, "default", "web-decision-1").expect("the object exists");
    let label = |name: &str| decision["metadata"]["labels"][format!("{GROUP}/{name}")].clone();
    let expected = ["web", "", "0"];
    assert_eq!(["placement", "decision-group-name", "decision-group-index"].map(label), expected);
    let owner = &decision["metadata"]["ownerReferences"][0];
    let placement = hub.placement("web");
    assert_eq!((&owner["kind"], &owner["controller"]), (&json!("Placement"), &json!(true)));
    assert_eq!(owner["uid"], placement["metadata"]["uid"]);
    assert_eq!(owner["blockOwnerDeletion"], Value::Null);
    assert_eq!(placement["status"]["numberOfSelectedClusters"], 3);
    assert_eq!(
        placement["status"]["decisionGroups"],
        json!([{
            "decisionGroupIndex": 0, "decisionGroupName": "", "decisions": ["web-decision-1"],
            "clusterCount": 3,
        }])
    );
    let expected = "True AllDecisionsScheduled: 3 clusters are selected";
    assert_eq!(hub.condition("web", "PlacementSatisfied"), expected);
    assert_eq!(hub.reason("web", "PlacementMisconfigured"), "False Succeedconfigured");
    assert_eq!(hub.reason("web", "Active"), "True Selecting");
    assert_eq!(hub.reason("web", "Ready"), "True AllDecisionsScheduled");
    assert_eq!(
        hub.writes(),
        ["POST placementdecisions", "PATCH placementdecisions/status", "PATCH placements/status"]
    );
    assert_eq!(
        hub.metric("almanac_placement_selected_clusters").as_deref(),
        Some("3.0"),
        "the metric is exported"
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_or_requeued_without_a_relevant_change() {
    let mut hub = Hub::with(&["c1", "c2"]);
    hub.score("c1", 1, None);
    hub.put("default", by_ratio(1));
    hub.run(&[]).await;
    hub.stub.clear_requests();
    for beat in 0..5 {
        let heartbeat = json!({ "status": { "conditions": [{ "type": "x", "beat": beat }] } });
        hub.stub.change("managedclusters", "", "c1", &heartbeat);
        let annotated = json!({ "metadata": { "annotations": { "seen": beat.to_string() } } });
        hub.stub.change(DECISIONS, "default", "web-decision-1", &annotated);
        sleep(Duration::from_secs(150)).await;
    }
    assert_eq!(hub.writes(), Vec::<String>::new());
    let read =
        hub.stub.requests_where(|request| request.method == Method::GET && !request.is_watch());
    // The process checks all the time for other controllers, for changed CRDs and for an upgrade.
    let is_known = |path: &str, plural: &str| {
        plural == "leases" || path == "/version" || path.starts_with("/openapi/")
    };
    let reads: Vec<_> = read.iter().filter(|it| !is_known(&it.path, &it.plural)).collect();
    assert_eq!(reads.len(), 0, "{reads:?}");
}

#[tokio::test(start_paused = true)]
async fn an_expired_score_counts_zero_from_its_last_instant_on() {
    let mut hub = Hub::with(&["c1", "c2"]);
    hub.score("c1", 50, Some("2026-11-20T09:10:00Z"));
    hub.score("c2", 20, None);
    hub.put("default", by_ratio(1));
    hub.run(&[]).await;
    assert_eq!(hub.selected("web"), ["c1"]);
    hub.stub.clear_requests();
    let (start, since) = hub.started;
    let until_end = |at: &str| {
        let at = start.duration_until(almanac_fixtures::at(at));
        since + Duration::try_from(at).expect("the instant is in the future")
    };
    tokio::time::sleep_until(until_end("2026-11-20T09:09:59.999Z")).await;
    assert_eq!(hub.decision_writes(), Vec::<String>::new());
    tokio::time::sleep_until(until_end("2026-11-20T09:10:00.050Z")).await;
    assert_eq!(hub.selected("web"), ["c2"]);
    assert_eq!(hub.decision_writes(), ["PATCH placementdecisions/status"]);
    assert_eq!(hub.metric("almanac_placement_lag_seconds_count").as_deref(), Some("2"));
}

#[tokio::test(start_paused = true)]
async fn a_changed_score_or_a_new_cluster_applies_immediately() {
    let mut hub = Hub::with(&["c1", "c2"]);
    hub.score("c1", 50, None);
    hub.score("c2", 20, None);
    hub.put("default", by_ratio(1));
    hub.run(&[]).await;
    assert_eq!(hub.selected("web"), ["c1"]);
    hub.score("c2", 60, None);
    hub.settle().await;
    assert_eq!(hub.selected("web"), ["c2"]);
    hub.put("", hub::managed_cluster("c0"));
    hub.score("c0", 99, None);
    hub.settle().await;
    assert_eq!(hub.selected("web"), ["c0"]);
    hub.stub.delete("managedclusters", "", "c0");
    hub.settle().await;
    assert_eq!(hub.selected("web"), ["c2"]);
}

#[tokio::test(start_paused = true)]
async fn renewed_scores_requeue_no_placement_and_count_until_they_expire() {
    let mut hub = Hub::with(&["c1", "c2"]);
    hub.score("c1", 50, Some("2026-11-20T09:02:00Z"));
    hub.score("c2", 20, None);
    hub.put("default", by_ratio(1));
    hub.run(&[]).await;
    assert_eq!(hub.selected("web"), ["c1"]);
    let turns = |hub: &Hub| hub.metric("almanac_placement_turns_total");
    let before = turns(&hub);
    for end in ["2026-11-20T09:03:00Z", "2026-11-20T09:04:00Z"] {
        sleep(Duration::from_secs(10)).await;
        hub.score("c1", 50, Some(end));
    }
    hub.settle().await;
    assert_eq!(turns(&hub), before);
    sleep(Duration::from_secs(200)).await;
    assert_eq!(hub.selected("web"), ["c1"], "the first end has passed");
    sleep(Duration::from_secs(20)).await;
    assert_eq!(hub.selected("web"), ["c2"]);
    hub.score("c1", 50, Some("2026-11-20T09:10:00Z"));
    hub.settle().await;
    assert_eq!(hub.selected("web"), ["c1"]);
    hub.score("c1", 50, Some("2026-11-20T09:05:00Z"));
    sleep(Duration::from_secs(90)).await;
    assert_eq!(hub.selected("web"), ["c2"], "the scores end early");
}

#[tokio::test(start_paused = true)]
async fn a_bad_spec_keeps_the_selection_and_reports_the_mistake() {
    let hub = Hub::placing(&["c1", "c2"], hub::placement("web", &json!({}))).await;
    assert_eq!(hub.selected("web"), ["c1", "c2"]);
    let negative = json!({ "spec": { "numberOfClusters": -1 } });
    hub.stub.change("placements", "default", "web", &negative);
    hub.stub.delete("managedclusters", "", "c2");
    hub.settle().await;
    assert_eq!(hub.selected("web"), ["c1", "c2"]);
    let condition = hub.condition("web", "PlacementMisconfigured");
    assert_eq!(
        condition,
        "True Misconfigured: spec.numberOfClusters: Invalid value: -1: must be greater than or \
         equal to 0"
    );
    assert_eq!(hub.reason("web", "Ready"), "False PlacementInvalid");
    assert_eq!(hub.placement("web")["status"]["numberOfSelectedClusters"], 2);
    let fixed = json!({ "spec": { "numberOfClusters": 5 } });
    hub.stub.change("placements", "default", "web", &fixed);
    hub.settle().await;
    assert_eq!(hub.selected("web"), ["c1"]);
    let expected = "False NotAllDecisionsScheduled: 1 cluster is selected, and 4 more are wanted";
    assert_eq!(hub.condition("web", "Ready"), expected);
}

#[tokio::test(start_paused = true)]
async fn an_annotation_keeps_a_placement_unchanged_until_it_is_removed() {
    let mut hub = Hub::placing(&["c1"], hub::placement("web", &json!({}))).await;
    let annotation = format!("{GROUP}/experimental-scheduling-disable");
    let disabled = |value: Value| json!({ "metadata": { "annotations": { &annotation: value } } });
    hub.stub.change("placements", "default", "web", &disabled(json!("true")));
    hub.settle().await;
    assert_eq!(hub.reason("web", "Active"), "False Disabled");
    assert_eq!(hub.reason("web", "Ready"), "True Disabled");
    assert_eq!(hub.reason("web", "PlacementSatisfied"), "True AllDecisionsScheduled");
    hub.put("", hub::managed_cluster("c2"));
    hub.settle().await;
    assert_eq!(hub.selected("web"), ["c1"]);
    hub.stub.change("placements", "default", "web", &disabled(Value::Null));
    hub.settle().await;
    assert_eq!(hub.selected("web"), ["c1", "c2"]);
    assert_eq!(hub.reason("web", "Active"), "True Selecting");
}

#[tokio::test(start_paused = true)]
async fn no_placement_is_decided_before_every_kind_is_served() {
    let mut hub = Hub::with(&["c1"]);
    let late = "addonplacementscores";
    hub.stub.serve_in_version(late, &format!("{GROUP}/v1alpha0"));
    hub.put("default", hub::placement("web", &json!({})));
    hub.run(&[]).await;
    assert_eq!(hub.decision("web-decision-1"), None);
    let condition = hub.condition("web", "Ready");
    assert_eq!(
        condition,
        "False KindNotServed: the cluster does not serve the kind AddOnPlacementScore; install its CRD"
    );
    hub.stub.serve_in_version(late, &format!("{GROUP}/v1alpha1"));
    sleep(Duration::from_mins(1)).await;
    assert_eq!(hub.selected("web"), ["c1"]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_while_everything_is_stopped_or_the_placement_is_exempt() {
    let mut hub = Hub::with(&["c1"]);
    hub.put("default", hub::placement("web", &json!({})));
    let mut marked = hub::placement("calm", &json!({}));
    marked["metadata"]["annotations"] = json!({ "almanac.dev/ignore": "true" });
    hub.put("default", marked);
    hub.run(&[]).await;
    assert_eq!(hub.decision("calm-decision-1"), None);
    assert_eq!(hub.reason("calm", "Active"), "False Exempt");
    assert_eq!(hub.reason("calm", "Ready"), "True Exempt");
    let stop = |why: Value| json!({ "metadata": { "annotations": { STOP: why } } });
    hub.stub.change("leases", "default", "almanac", &stop(json!("audit")));
    sleep(Duration::from_secs(10)).await;
    hub.put("", hub::managed_cluster("c2"));
    sleep(Duration::from_secs(400)).await;
    assert_eq!(hub.selected("web"), ["c1"]);
    hub.stub.change("leases", "default", "almanac", &stop(Value::Null));
    sleep(Duration::from_secs(10)).await;
    assert_eq!(hub.selected("web"), ["c1", "c2"]);
}

#[tokio::test(start_paused = true)]
async fn while_everything_is_stopped_a_placement_with_an_error_gets_no_first_decision() {
    let mut hub = Hub::with(&["c1"]);
    hub.run(&[]).await;
    let stop = |why: Value| json!({ "metadata": { "annotations": { STOP: why } } });
    hub.stub.change("leases", "default", "almanac", &stop(json!("audit")));
    sleep(Duration::from_secs(10)).await;
    let wrong = json!({ "predicates": [{ "requiredClusterSelector": {
        "celSelector": { "celExpressions": ["managedCluster.metadata.name = 'c1'"] },
    } }] });
    hub.put("default", hub::placement("web", &wrong));
    let turns = || hub.metric("almanac_placement_turns_total");
    let before = turns();
    sleep(Duration::from_secs(400)).await;
    assert_eq!(hub.decision("web-decision-1"), None);
    assert_eq!(turns(), before, "nothing is decided again and again");
    hub.stub.change("leases", "default", "almanac", &stop(Value::Null));
    sleep(Duration::from_secs(10)).await;
    assert_eq!(hub.selected("web"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_field_without_effect_is_reported_by_a_condition() {
    let hub = Hub::placing(&["c1"], hub::placement("web", &json!({ "sortBy": "Score" }))).await;
    let condition = hub.condition("web", "PlacementMisconfigured");
    assert!(
        condition.starts_with("False Succeedconfigured: spec.sortBy: not supported yet"),
        "{condition}"
    );
}

#[tokio::test(start_paused = true)]
async fn decisions_of_open_cluster_management_stay_unless_taken_over() {
    for (take_over, expected) in [(&[][..], None), (&[Family::Placement][..], Some(1))] {
        let mut hub = Hub::with(&["c1"]);
        hub.stub.put(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": { "namespace": "open-cluster-management-hub", "name": "placement-lock" },
            "spec": { "holderIdentity": "ocm", "renewTime": format!("{:.6}", hub.started.0) },
        }));
        hub.put("default", hub::placement("web", &json!({})));
        hub.run(take_over).await;
        assert_eq!(hub.decision("web-decision-1").map(|it| it.len()), expected);
        if take_over.is_empty() {
            assert_eq!(
                hub.writes(),
                Vec::<String>::new(),
                "the status belongs to the upstream controller, too"
            );
            assert_eq!(hub.metric("almanac_left_alone").as_deref(), Some("1"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn clusters_are_selected_again_minutes_after_other_placements_change() {
    let policy = hub::exactly(&[("Balance", 1)]);
    let spec = json!({ "numberOfClusters": 1, "prioritizerPolicy": policy });
    let mut hub = Hub::placing(&["c1", "c2"], hub::placement("web", &spec)).await;
    assert_eq!(hub.selected("web"), ["c1"]);
    let all = json!({ "clusterSets": [], "predicates": [{ "requiredClusterSelector": {
        "labelSelector": { "matchLabels": { "only": "c1" } },
    } }] });
    hub.stub.change(
        "managedclusters",
        "",
        "c1",
        &json!({ "metadata": { "labels": { "only": "c1" } } }),
    );
    hub.put("default", hub::placement("other", &all));
    hub.settle().await;
    assert_eq!(hub.selected("other"), ["c1"]);
    sleep(Duration::from_secs(330)).await;
    assert_eq!(hub.selected("web"), ["c2"]);
}

#[tokio::test(start_paused = true)]
async fn an_event_names_the_added_and_removed_clusters_and_their_ranking() {
    let mut hub = Hub::with(&["c1", "c2"]);
    hub.score("c1", 50, Some("2026-11-20T09:01:00Z"));
    hub.score("c2", 20, None);
    hub.put("default", by_ratio(1));
    hub.run(&[]).await;
    sleep(Duration::from_secs(90)).await;
    let events = hub
        .stub
        .requests_where(|request| request.plural == "events" && request.method == Method::POST);
    let condition = events.iter().map(|request| {
        let text = |field: &str| request.body[field].as_str().unwrap_or_default().to_owned();
        format!("{} {}", text("reason"), text("note"))
    });
    let expected = [
        "DecisionCreate 1 cluster is selected; added c1",
        "ScoreUpdate c1: rank 1 of 2, 1 wanted: total 50 (AddOn/default/cpuratio 50 x 1)",
        "DecisionUpdate 1 cluster is selected; added c2; removed c1; c1: rank 2 of 2, 1 wanted: total 0 \
         (AddOn/default/cpuratio 0 x 1); c2 has 20; AddOn/default/cpuratio counts 0: it was valid until \
         2026-11-20T09:01:00Z",
        "ScoreUpdate c2: rank 1 of 2, 1 wanted: total 20 (AddOn/default/cpuratio 20 x 1)",
    ];
    assert_eq!(condition.collect::<Vec<_>>(), expected);
}

#[tokio::test(start_paused = true)]
async fn an_undated_taint_is_reported_if_its_toleration_would_end() {
    let mut hub = Hub::with(&["c1"]);
    let tainted = json!({ "spec": { "taints": [{ "key": "gpu", "effect": "NoSelect" }] } });
    hub.stub.change("managedclusters", "", "c1", &tainted);
    let toleration = json!({ "key": "gpu", "operator": "Exists", "tolerationSeconds": 60 });
    hub.put("default", hub::placement("web", &json!({ "tolerations": [toleration] })));
    hub.run(&[]).await;
    assert_eq!(
        hub.condition("web", "Ready"),
        "False TaintWithoutTimeAdded: a taint has no timeAdded, so its toleration never ends, on: \
         c1; set timeAdded in the taint of c1"
    );
    let dated = json!({ "spec": { "taints": [
        { "key": "gpu", "effect": "NoSelect", "timeAdded": "2026-11-20T09:05:00Z" },
    ] } });
    hub.stub.change("managedclusters", "", "c1", &dated);
    hub.settle().await;
    assert_eq!(hub.reason("web", "Ready"), "True AllDecisionsScheduled");
    sleep(Duration::from_secs(400)).await;
    assert_eq!(hub.selected("web"), Vec::<String>::new());
    let condition = hub.condition("web", "PlacementSatisfied");
    assert!(condition.starts_with("False NoManagedClusterMatched: "), "{condition}");
}
