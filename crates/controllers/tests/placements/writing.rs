//! Writes of decisions despite failures and other field managers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use almanac_fixtures::hub;
use almanac_stub::Fault;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::hub::{DECISIONS, GROUP, Hub, steady_by_ratio};

#[tokio::test(start_paused = true)]
async fn a_decision_that_others_change_or_delete_is_restored() {
    let hub = Hub::placing(&["c1", "c2"], hub::placement("web", &json!({}))).await;
    let changes = [
        json!({ "status": { "decisions": [{ "clusterName": "c9", "reason": "" }] } }),
        json!({ "metadata": { "labels": { format!("{GROUP}/placement"): null } } }),
        json!({ "metadata": { "labels": { format!("{GROUP}/decision-group-index"): "7" } } }),
    ];
    let before =
        hub.stub.object(DECISIONS, "default", "web-decision-1").expect("the object exists");
    for change in &changes {
        hub.stub.change(DECISIONS, "default", "web-decision-1", change);
        sleep(Duration::from_secs(90)).await;
        let now =
            hub.stub.object(DECISIONS, "default", "web-decision-1").expect("the object exists");
        assert_eq!(now["metadata"]["labels"], before["metadata"]["labels"], "{change}");
        assert_eq!(now["status"], before["status"], "{change}");
    }
    hub.stub.delete(DECISIONS, "default", "web-decision-1");
    sleep(Duration::from_secs(90)).await;
    assert_eq!(hub.selected("web"), ["c1", "c2"]);
    assert_eq!(hub.metric("almanac_placement_undone_total").as_deref(), Some("4"));
}

#[tokio::test(start_paused = true)]
async fn the_reactions_to_repeated_changes_of_a_decision_have_growing_delays() {
    let hub = Hub::placing(&["c1"], hub::placement("web", &json!({}))).await;
    hub.stub.clear_requests();
    for _ in 0..600 {
        let wrong = json!({ "status": { "decisions": [] } });
        hub.stub.change(DECISIONS, "default", "web-decision-1", &wrong);
        sleep(Duration::from_secs(1)).await;
    }
    let reactions = hub.decision_writes().len();
    assert!((8..60).contains(&reactions), "{reactions} reactions in ten minutes");
}

#[tokio::test(start_paused = true)]
async fn a_lost_response_is_read_before_anything_else_is_written() {
    for (method, path) in [(Method::POST, "decisions"), (Method::PATCH, "decision-1/status")] {
        let mut hub = Hub::with(&["c1"]);
        hub.put("default", hub::placement("web", &json!({})));
        hub.stub.inject(Fault::lose_response().method(method.clone()).path_contains(path));
        hub.run(&[]).await;
        sleep(Duration::from_secs(5)).await;
        assert_eq!(hub.selected("web"), ["c1"], "{method}");
        let expected = ["POST placementdecisions", "PATCH placementdecisions/status"];
        assert_eq!(hub.decision_writes(), expected, "{method}: nothing is sent twice");
        assert_eq!(hub.reason("web", "Ready"), "True AllDecisionsScheduled");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_write_stops_the_rest_and_is_reported_until_it_succeeds() {
    let mut hub = Hub::with(&["c1"]);
    hub.put("default", hub::placement("web", &json!({})));
    let denied = "admission webhook \"x\" denied the request: no decisions today";
    let fault = Fault::respond(StatusCode::FORBIDDEN, denied).path_contains("decision-1/status");
    hub.stub.inject(fault.method(Method::PATCH).always());
    hub.run(&[]).await;
    assert_eq!(hub.selected("web"), Vec::<String>::new(), "the decision was created, and no more");
    let condition = hub.condition("web", "Ready");
    assert!(
        condition.starts_with("False DecisionNotWritten: failed to write PlacementDecision"),
        "{condition}"
    );
    assert!(condition.contains("no decisions today"), "{condition}");
    hub.stub.clear_requests();
    sleep(Duration::from_mins(10)).await;
    let attempts = hub.decision_writes().len();
    assert!((9..40).contains(&attempts), "{attempts} attempts in ten minutes");
    hub.stub.clear_faults();
    sleep(Duration::from_secs(61)).await;
    assert_eq!(hub.selected("web"), ["c1"]);
    assert_eq!(hub.reason("web", "Ready"), "True AllDecisionsScheduled");
}

#[tokio::test(start_paused = true)]
async fn a_foreign_object_with_the_name_of_a_decision_is_unchanged() {
    let mut hub = Hub::with(&["c1"]);
    let theirs = |metadata: Value| {
        let mut object =
            hub::hub_object("v1beta1", "PlacementDecision", "web-decision-1", &json!({}));
        object["status"] = json!({ "decisions": [{ "clusterName": "c7", "reason": "" }] });
        for (field, value) in metadata.as_object().expect("the metadata are an object") {
            object["metadata"][field] = value.clone();
        }
        object
    };
    let other_label = json!({ "labels": { format!("{GROUP}/placement"): "other" } });
    let other_owner = json!({
        "labels": { format!("{GROUP}/placement"): "web" },
        "ownerReferences": [{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1", "controller": true,
        }],
    });
    for metadata in [json!({}), other_label, other_owner] {
        hub.put("default", theirs(metadata.clone()));
        hub.put("default", hub::placement("web", &json!({})));
        hub.run(&[]).await;
        assert_eq!(hub.selected("web"), ["c7"], "{metadata}");
        let condition = hub.condition("web", "Ready");
        assert!(condition.starts_with("False DecisionNameTaken: PlacementDecision"), "{condition}");
        assert_eq!(hub.decision_writes(), Vec::<String>::new(), "{metadata}");
        hub.stub.delete(DECISIONS, "default", "web-decision-1");
        sleep(Duration::from_secs(90)).await;
        assert_eq!(hub.selected("web"), ["c1"], "{metadata}");
        hub.end().await;
        hub.stub.clear_requests();
        hub.stub.delete("placements", "default", "web");
    }
}

#[tokio::test(start_paused = true)]
async fn a_decision_with_only_the_label_is_adopted_and_deleted_with_its_placement() {
    let mut hub = Hub::with(&["c1"]);
    let mut restored =
        hub::hub_object("v1beta1", "PlacementDecision", "web-decision-1", &json!({}));
    restored["metadata"]["labels"] = json!({
        format!("{GROUP}/placement"): "web", format!("{GROUP}/decision-group-name"): "",
        format!("{GROUP}/decision-group-index"): "0",
    });
    restored["status"] = json!({ "decisions": [{ "clusterName": "c1", "reason": "" }] });
    hub.put("default", restored);
    hub.put("default", hub::placement("web", &json!({})));
    hub.run(&[]).await;
    let decision =
        hub.stub.object(DECISIONS, "default", "web-decision-1").expect("the object exists");
    let owner = &decision["metadata"]["ownerReferences"][0]["uid"];
    assert_eq!(*owner, hub.placement("web")["metadata"]["uid"]);
    assert_eq!(hub.decision_writes(), ["PATCH placementdecisions"]);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_clusters_are_in_a_decision_and_none_that_stays_selected_is_ever_missing() {
    let names: Vec<String> = (0..128).map(|number| format!("c{number:03}")).collect();
    let hub = Hub::placing(
        &names.iter().map(String::as_str).collect::<Vec<_>>(),
        hub::placement("web", &json!({})),
    )
    .await;
    let sizes = |hub: &Hub| {
        let of = |number: u32| hub.decision(&format!("web-decision-{number}")).map(|it| it.len());
        [1, 2, 3].map(of)
    };
    assert_eq!(sizes(&hub), [Some(100), Some(28), None]);
    // Each change is recorded before it is made.
    let seen: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
    let noted = Arc::clone(&seen);
    let look = Fault::concurrent_change(move |stub| {
        let all = ["1", "2", "3"].map(|number| {
            let object = stub.object(DECISIONS, "default", &format!("web-decision-{number}"));
            let decisions = object.map(|it| it["status"]["decisions"].clone());
            decisions.and_then(|it| it.as_array().cloned()).unwrap_or_default()
        });
        let names = all.iter().flatten().filter_map(|it| it["clusterName"].as_str());
        noted.lock().expect("lock is not poisoned").push(names.map(str::to_owned).collect());
    });
    hub.stub.inject(look.matching(|it| it.is_write() && it.plural == DECISIONS).times(usize::MAX));
    for wanted in [10, 0] {
        let edited = json!({ "spec": { "numberOfClusters": wanted } });
        hub.stub.change("placements", "default", "web", &edited);
        hub.settle().await;
        let wanted = usize::try_from(wanted).expect("the number is small");
        assert_eq!(sizes(&hub), [Some(wanted), None, None]);
        let states = std::mem::take(&mut *seen.lock().expect("lock is not poisoned"));
        assert!(!states.is_empty());
        for state in states {
            let kept = names[..wanted].iter().filter(|name| state.contains(name)).count();
            assert_eq!(kept, wanted, "{state:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_successor_continues_from_the_writes_of_a_killed_process() {
    let mut hub = Hub::with(&["c1", "c2"]);
    hub.score("c1", 1, None);
    hub.put("default", steady_by_ratio(1));
    hub.stub.inject(Fault::hang().method(Method::PATCH).path_contains("decision-1/status"));
    hub.run(&[]).await;
    hub.kill();
    assert_eq!(hub.selected("web"), Vec::<String>::new());
    hub.run(&[]).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(hub.selected("web"), ["c1"]);
    // The cluster stays: only the decisions store the selection.
    hub.kill();
    hub.score("c2", 100, None);
    hub.run(&[]).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(hub.selected("web"), ["c1"]);
}
