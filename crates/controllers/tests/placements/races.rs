//! Events while requests are in flight: other clients write, watch events come before responses, and placements that each
//! read each other's decisions are decided.

use std::collections::BTreeSet;
use std::time::Duration;

use almanac_fixtures::hub;
use almanac_stub::{Fault, Stub};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::hub::{DECISIONS, GROUP, Hub, by_ratio};

fn delete(stub: &Stub) {
    stub.delete(DECISIONS, "default", "web-decision-1");
}

fn replace(stub: &Stub) {
    let theirs = json!({ "status": { "decisions": [{ "clusterName": "c9", "reason": "" }] } });
    stub.change(DECISIONS, "default", "web-decision-1", &theirs);
}

/// The reasons of the warnings so far.
fn warnings(hub: &Hub) -> Vec<String> {
    let events = hub.stub.requests_where(|request| {
        request.plural == "events" && request.body["type"].as_str() == Some("Warning")
    });
    events.iter().map(|it| it.body["reason"].to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_decision_that_is_deleted_while_it_is_written_is_created_again() {
    let paths = [(Method::POST, DECISIONS), (Method::PATCH, "web-decision-1/status")];
    for (method, path) in paths {
        for fault in [Fault::overtake(delete), Fault::overtake(replace)] {
            let mut hub = Hub::with(&["c1"]);
            hub.put("default", hub::placement("web", &json!({})));
            hub.stub.inject(fault.method(method.clone()).path_contains(path));
            hub.run(&[]).await;
            sleep(Duration::from_secs(5)).await;
            assert_eq!(hub.decision("web-decision-1"), Some(vec!["c1".to_owned()]), "{method}");
            assert_eq!(hub.reason("web", "Ready"), "True AllDecisionsScheduled", "{method}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_decision_deleted_just_before_a_write_is_recreated_without_a_warning() {
    let mut hub = Hub::with(&["c1"]);
    hub.put("default", hub::placement("web", &json!({})));
    let path = "web-decision-1/status";
    hub.stub.inject(Fault::concurrent_change(delete).method(Method::PATCH).path_contains(path));
    hub.run(&[]).await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(hub.selected("web"), ["c1"]);
    assert_eq!(hub.reason("web", "Ready"), "True AllDecisionsScheduled");
    assert_eq!(warnings(&hub), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_decision_recreated_during_its_removal_is_removed_again() {
    let hub = Hub::placing(&["c1"], hub::placement("web", &json!({}))).await;
    let surplus = |hub: &Hub| {
        let mut object =
            hub.stub.object(DECISIONS, "default", "web-decision-1").expect("the object exists");
        object["metadata"]["name"] = json!("web-decision-7");
        object["metadata"]["uid"] = json!("theirs");
        object
    };
    let again = surplus(&hub);
    let create = move |stub: &Stub| {
        let mut object = again.clone();
        object["metadata"]["uid"] = json!("theirs-again");
        stub.put(object);
    };
    let overtaken = Fault::overtake(create).method(Method::DELETE);
    hub.stub.inject(overtaken.path_contains("web-decision-7"));
    hub.stub.put(surplus(&hub));
    sleep(Duration::from_secs(90)).await;
    assert_eq!(hub.decision("web-decision-7"), None);
    let removals = hub.stub.requests_where(|request| request.method == Method::DELETE);
    assert_eq!(removals.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_watch_event_overrides_an_earlier_read() {
    for act in [delete, replace] {
        let mut hub = Hub::with(&["c1"]);
        hub.put("default", hub::placement("web", &json!({})));
        let path = "web-decision-1/status";
        hub.stub.inject(Fault::lose_response().method(Method::PATCH).path_contains(path));
        let read = Fault::overtake(act).method(Method::GET);
        hub.stub.inject(read.path_contains("web-decision-1"));
        hub.run(&[]).await;
        sleep(Duration::from_secs(5)).await;
        assert_eq!(hub.decision("web-decision-1"), Some(vec!["c1".to_owned()]));
    }
}

#[tokio::test(start_paused = true)]
async fn placements_that_balance_are_decided_one_after_the_other() {
    let mut hub = Hub::with(&["c1"]);
    let policy = hub::exactly(&[("Balance", 1)]);
    let spec = json!({ "numberOfClusters": 1, "prioritizerPolicy": policy });
    for name in ["one", "two", "three"] {
        hub.put("default", hub::placement(name, &spec));
    }
    hub.run(&[]).await;
    // All placements are woken together, and each placement is woken by one new cluster.
    hub.put("", hub::managed_cluster("c2"));
    hub.settle().await;
    let selected = |hub: &Hub| {
        let all = ["one", "two", "three"].map(|name| hub.selected(name)).concat();
        all.into_iter().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(selected(&hub), ["c1", "c2"]);
    hub.put("", hub::managed_cluster("c3"));
    hub.settle().await;
    assert_eq!(selected(&hub), ["c1", "c2", "c3"]);
    hub.stub.clear_requests();
    sleep(Duration::from_mins(20)).await;
    assert_eq!(hub.decision_writes(), Vec::<String>::new(), "no placement moves any more");
}

#[tokio::test(start_paused = true)]
async fn changes_between_attempts_do_not_shorten_the_backoff() {
    let mut hub = Hub::with(&["c1", "c2"]);
    hub.score("c1", 0, None);
    hub.put("default", by_ratio(1));
    let fault = Fault::respond(StatusCode::FORBIDDEN, "denied").path_contains("decision-1/status");
    hub.stub.inject(fault.method(Method::PATCH).always());
    hub.run(&[]).await;
    hub.stub.clear_requests();
    for second in 0..300 {
        hub.score("c1", second % 100, None);
        sleep(Duration::from_secs(1)).await;
    }
    let attempts = hub.decision_writes().len();
    assert!((4..25).contains(&attempts), "{attempts} attempts in five minutes");
    hub.stub.clear_faults();
    // Another spec is another attempt.
    hub.stub.change("placements", "default", "web", &json!({ "spec": { "numberOfClusters": 2 } }));
    hub.settle().await;
    assert_eq!(hub.selected("web"), ["c1", "c2"]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_claimed_of_a_spec_before_its_decision_is_written() {
    let hub =
        Hub::placing(&["c1", "c2", "c3"], hub::placement("web", &json!({ "numberOfClusters": 3 })))
            .await;
    let missing = "almanac_placement_missing_clusters{";
    assert_eq!(hub.metric(missing).as_deref(), Some("0.0"));
    let fault = Fault::respond(StatusCode::FORBIDDEN, "denied").path_contains("decision-1/status");
    hub.stub.inject(fault.method(Method::PATCH).always());
    for wanted in [2, 1] {
        let edited = json!({ "spec": { "numberOfClusters": wanted } });
        hub.stub.change("placements", "default", "web", &edited);
        hub.settle().await;
        assert_eq!(
            hub.condition("web", "PlacementSatisfied"),
            "False NotAllDecisionsScheduled: 3 clusters are selected, and the new decision is not written"
        );
        assert_eq!(hub.reason("web", "Ready"), "False DecisionNotWritten");
        assert_eq!(hub.metric(missing), None);
    }
    hub.stub.clear_faults();
    sleep(Duration::from_secs(61)).await;
    let expected = "True AllDecisionsScheduled: 1 cluster is selected";
    assert_eq!(hub.condition("web", "PlacementSatisfied"), expected);
    assert_eq!(hub.metric(missing).as_deref(), Some("0.0"));
}

#[tokio::test(start_paused = true)]
async fn changes_while_scheduling_is_disabled_are_not_a_delay() {
    let mut hub = Hub::placing(&["c1"], hub::placement("web", &json!({}))).await;
    let annotation = format!("{GROUP}/experimental-scheduling-disable");
    let disabled = |value: Value| json!({ "metadata": { "annotations": { &annotation: value } } });
    hub.stub.change("placements", "default", "web", &disabled(json!("true")));
    hub.settle().await;
    hub.put("", hub::managed_cluster("c2"));
    sleep(Duration::from_mins(10)).await;
    hub.stub.change("placements", "default", "web", &disabled(Value::Null));
    hub.settle().await;
    assert_eq!(hub.selected("web"), ["c1", "c2"]);
    let lags = hub.metric("almanac_placement_lag_seconds_sum").expect("the metric is exported");
    assert!(lags.parse::<f64>().expect("the value is a number") < 5.0, "{lags}");
}

#[tokio::test(start_paused = true)]
async fn a_decision_of_another_owner_does_not_belong_to_the_placement() {
    let mut hub = Hub::with(&["c1"]);
    let mut theirs = hub::hub_object("v1beta1", "PlacementDecision", "theirs", &json!({}));
    theirs["metadata"]["labels"] = json!({ format!("{GROUP}/placement"): "web" });
    theirs["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1", "controller": true,
    }]);
    theirs["status"] = json!({ "decisions": [{ "clusterName": "c7", "reason": "" }] });
    hub.put("default", theirs);
    hub.put("default", hub::placement("web", &json!({})));
    hub.run(&[]).await;
    assert_eq!(hub.reason("web", "Ready"), "True AllDecisionsScheduled");
    assert_eq!(hub.decision("theirs"), Some(vec!["c7".to_owned()]));
    let expected = ["POST placementdecisions", "PATCH placementdecisions/status"];
    assert_eq!(hub.decision_writes(), expected);
}
