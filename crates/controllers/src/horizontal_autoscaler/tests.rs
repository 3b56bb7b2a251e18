//! Autoscalers in front of a stub of the API, by the values of schedules and of a Prometheus.

use std::sync::Arc;

use almanac_engine::PolicyName;
use almanac_engine::metric_scaling::{Answerer, FiniteNumber, Sample, SampleProblem};
use almanac_fixtures::names::{cron_federated_hpa, horizontal_autoscaler as autoscaler};
use almanac_fixtures::objects;
use almanac_stub::{Fault, Kind as StubKind, Stub};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::bench::{TestBench, target};

const DEPLOYMENT: [&str; 2] = ["apps/v1", "Deployment"];
const POOL: [&str; 2] = ["pools.example.com/v1", "Pool"];
const QUERY: &str = r#"karpenter_scheduled_capacity{name="nodes",namespace="default"}"#;

/// A schedule of one replica, and of this many from nine to ten.
fn schedule(replicas: u32, generation: u64) -> Value {
    let rush = json!({ "replicas": replicas, "start": { "hours": 9 }, "end": { "hours": 10 } });
    let spec = json!({ "defaultReplicas": 1, "behaviors": [rush] });
    objects::stored(objects::metrics_producer("nodes", &spec), "nodes", generation, generation)
}

/// An autoscaler of the target with its name.
fn autoscaled(name: &str, api_version: &str, kind: &str, query: &str) -> Value {
    let reference = objects::target(api_version, kind, name);
    let object = objects::horizontal_autoscaler(name, &reference, query);
    objects::stored(object, name, 1, 1)
}

/// A target, the schedule from this time on, and an autoscaler that follows it.
fn following(stub: &Stub, now: &str, replicas: u32, [api_version, kind]: [&str; 2]) -> TestBench {
    stub.put(target(api_version, kind, "shop"));
    let mut bench = TestBench::at(now, stub);
    bench.upsert(schedule(replicas, 1));
    bench.upsert(autoscaled("shop", api_version, kind, QUERY));
    bench
}

/// A stub that serves a kind that is not watched.
fn with_pools() -> Stub {
    let stub = Stub::new();
    stub.serve(StubKind::new(POOL[0], POOL[1], "pools").with_scale());
    stub
}

fn replicas(stub: &Stub, plural: &str) -> Value {
    let object = stub.object(plural, "default", "shop").expect("the object exists");
    object["spec"]["replicas"].clone()
}

/// The status of a condition, with its reason.
fn condition(status: &Value, name: &str) -> (String, String) {
    let conditions = status["conditions"].as_array().expect("the status has conditions");
    let condition = conditions.iter().find(|it| it["type"] == name);
    let condition = condition.unwrap_or_else(|| panic!("no {name} in {status}"));
    let text = |field: &str| condition[field].as_str().expect("the value is a string").to_owned();
    (text("status"), text("reason"))
}

/// The message of `Ready`.
fn ready_message(status: &Value) -> &Value {
    let mut conditions = status["conditions"].as_array().expect("the status has conditions").iter();
    &conditions.find(|it| it["type"] == "Ready").expect("the condition exists")["message"]
}

fn states(status: &Value) -> [String; 4] {
    ["Active", "AbleToScale", "ScalingUnbounded", "Ready"].map(|name| {
        let (holds, reason) = condition(status, name);
        format!("{holds} {reason}")
    })
}

#[tokio::test(start_paused = true)]
async fn a_schedule_scales_a_deployment_at_its_boundary_and_nothing_is_requested_in_between() {
    let stub = Stub::new();
    let bench = following(&stub, "2026-11-30T08:00:00Z", 7, DEPLOYMENT);
    bench.run(60).await;
    stub.clear_requests();
    bench.run(58 * 60).await;
    let requests: Vec<_> = stub.requests_where(|request| !request.is_watch());
    assert_eq!(requests.len(), 0, "nothing changes");
    bench.run(2 * 60).await;
    assert_eq!(replicas(&stub, "deployments"), 7);
    let patched = bench.patched();
    assert_eq!(patched.len(), 1, "{patched:?}");
    assert_eq!(patched[0].0.to_string(), "2026-11-30T09:00:00Z");
    // Down again, one stabilization window after the boundary that lowered it.
    bench.run(63 * 60).await;
    assert_eq!(replicas(&stub, "deployments"), 7);
    bench.run(2 * 60).await;
    assert_eq!(replicas(&stub, "deployments"), 1);
    assert_eq!(bench.patched()[1].0.to_string(), "2026-11-30T10:05:00Z");
}

#[tokio::test(start_paused = true)]
async fn an_edited_schedule_applies_immediately_and_a_deleted_one_changes_nothing() {
    let stub = Stub::new();
    let mut bench = following(&stub, "2026-11-30T09:30:00Z", 3, DEPLOYMENT);
    bench.run(5).await;
    assert_eq!(replicas(&stub, "deployments"), 3);
    bench.upsert(schedule(5, 2));
    bench.run(1).await;
    assert_eq!(replicas(&stub, "deployments"), 5);
    bench.delete(schedule(5, 2));
    bench.run(600).await;
    assert_eq!(replicas(&stub, "deployments"), 5);
    let status = bench.status(&autoscaler("shop")).expect("a status exists");
    assert_eq!(condition(&status, "Active"), ("False".into(), "MetricUnavailable".into()));
    assert_eq!(condition(&status, "Ready"), ("False".into(), "MetricUnavailable".into()));
}

#[tokio::test(start_paused = true)]
async fn unready_replicas_do_not_scale_the_target_further() {
    let stub = Stub::new();
    let mut shop = target("apps/v1", "Deployment", "shop");
    (shop["spec"]["replicas"], shop["status"]) = (json!(2), json!({ "replicas": 2 }));
    stub.put(shop);
    let mut bench = TestBench::at("2026-11-30T09:30:00Z", &stub);
    let mut object = autoscaled("shop", "apps/v1", "Deployment", "usage");
    object["spec"]["metrics"][0]["prometheus"]["target"] =
        json!({ "type": "Utilization", "value": 60 });
    bench.upsert(object);
    store_sample(&bench, Ok(0.85));
    bench.run(60).await;
    assert_eq!(replicas(&stub, "deployments"), 3, "two replicas at 85 % of 60 %");
    // The third replica exists before its effect on the other replicas is known.
    stub.change("deployments", "default", "shop", &json!({ "status": { "replicas": 3 } }));
    bench.run(60).await;
    assert_eq!(replicas(&stub, "deployments"), 3);
    store_sample(&bench, Ok(0.57));
    stub.change(
        "deployments",
        "default",
        "shop",
        &json!({ "status": { "unavailableReplicas": 0 } }),
    );
    bench.run(60).await;
    assert_eq!(replicas(&stub, "deployments"), 3);
    let status = bench.status(&autoscaler("shop")).expect("a status exists");
    assert_eq!([&status["currentReplicas"], &status["desiredReplicas"]], [3, 3]);
    assert_eq!(status["currentMetrics"], json!([{ "query": "usage", "value": "0.57" }]));
}

/// The current response of Prometheus.
fn store_sample(bench: &TestBench, value: Result<f64, SampleProblem>) {
    let at = bench.now();
    let mut state = bench.cluster.lock();
    state.world.metric_scaling.extra.settings.answerer = Answerer::Prometheus;
    let value = value.map(|number| FiniteNumber::new(number).expect("the number is finite"));
    let sample = Sample::requested(Arc::from("usage"), at, value);
    state.world.metric_scaling.extra.hold(&autoscaler("shop").identity, sample);
}

#[tokio::test(start_paused = true)]
async fn a_target_that_is_not_watched_is_read_every_query_period() {
    let stub = with_pools();
    let bench = following(&stub, "2026-11-30T09:30:00Z", 4, POOL);
    bench.run(5).await;
    assert_eq!(replicas(&stub, "pools"), 4);
    stub.change("pools", "default", "shop", &json!({ "spec": { "replicas": 2 } }));
    bench.run(30).await;
    assert_eq!(replicas(&stub, "pools"), 4, "another field manager had set the replicas");
    let before = bench.requests_for("/pools/shop/scale");
    bench.run(600).await;
    assert_eq!(bench.requests_for("/pools/shop/scale") - before, 60);
}

#[tokio::test(start_paused = true)]
async fn a_policy_reports_able_to_scale_only_once_its_target_can_be_read() {
    let stub = with_pools();
    let broken =
        Fault::respond(StatusCode::INTERNAL_SERVER_ERROR, "the conversion webhook is gone");
    stub.inject(broken.method(Method::GET).path_contains("/pools/shop/scale").always());
    let bench = following(&stub, "2026-11-30T09:30:00Z", 4, POOL);
    bench.run(200).await;
    let status = bench.status(&autoscaler("shop")).expect("a status exists");
    for about in ["AbleToScale", "Ready"] {
        assert_eq!(condition(&status, about), ("False".into(), "TargetUnreadable".into()));
    }
    stub.clear_faults();
    bench.run(200).await;
    let status = bench.status(&autoscaler("shop")).expect("a status exists");
    assert_eq!(condition(&status, "Ready"), ("True".into(), "Scaling".into()));
    assert_eq!(replicas(&stub, "pools"), 4);
}

#[tokio::test(start_paused = true)]
async fn a_target_that_could_not_be_read_for_a_moment_is_scaled_within_seconds() {
    let stub = with_pools();
    let away = Fault::respond(StatusCode::SERVICE_UNAVAILABLE, "the API server restarts");
    stub.inject(away.method(Method::GET).path_contains("/pools/shop/scale").always());
    let bench = following(&stub, "2026-11-30T09:30:00Z", 4, POOL);
    bench.run(8).await;
    let attempts = bench.requests_for("/pools/shop/scale");
    assert!((3..10).contains(&attempts), "{attempts} attempts");
    stub.clear_faults();
    bench.run(15).await;
    assert_eq!(replicas(&stub, "pools"), 4);
}

#[tokio::test(start_paused = true)]
async fn the_conditions_name_what_holds_an_autoscaler_back() {
    let stub = Stub::new();
    let mut bench = following(&stub, "2026-11-30T09:30:00Z", 4, DEPLOYMENT);
    let shop = autoscaler("shop");
    bench.run(5).await;
    let well =
        ["True MetricsAvailable", "True ReadyForNewScale", "True WithinBounds", "True Scaling"];
    assert_eq!(states(&bench.status(&shop).expect("a status exists")), well);

    let mut object = autoscaled("shop", "apps/v1", "Deployment", QUERY);
    (object["spec"]["maxReplicas"], object["metadata"]["generation"]) = (json!(3), json!(2));
    object["metadata"]["resourceVersion"] = json!("2");
    bench.upsert(object);
    bench.run(5).await;
    let status = bench.status(&shop).expect("a status exists");
    assert_eq!(condition(&status, "ScalingUnbounded"), ("False".into(), "TooManyReplicas".into()));
    assert_eq!(condition(&status, "Ready"), ("True".into(), "Scaling".into()));
    assert_eq!([&status["currentReplicas"], &status["desiredReplicas"]], [3, 3]);

    bench.run(31 * 60).await;
    let status = bench.status(&shop).expect("a status exists");
    let stabilized = ("True".into(), "ScaleDownStabilized".into());
    assert_eq!(condition(&status, "AbleToScale"), stabilized);

    let denied = Fault::respond(StatusCode::INTERNAL_SERVER_ERROR, "the quota is exhausted");
    stub.inject(denied.method(Method::PATCH).path_contains("/shop/scale").always());
    bench.run(20 * 60).await;
    let status = bench.status(&shop).expect("a status exists");
    for about in ["AbleToScale", "Ready"] {
        assert_eq!(condition(&status, about), ("False".into(), "ScaleFailed".into()));
    }
    stub.clear_faults();
    bench.run(60).await;
    assert_eq!(states(&bench.status(&shop).expect("a status exists")), well);
    assert_eq!(replicas(&stub, "deployments"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_rule_whose_value_an_autoscaler_replaces_reports_it_and_both_name_each_other() {
    let stub = Stub::new();
    let mut bench = following(&stub, "2026-11-30T09:29:30Z", 7, DEPLOYMENT);
    let reference = objects::target("apps/v1", "Deployment", "shop");
    let rules = json!([objects::rule("half", "30 9 * * *", 3)]);
    let object = objects::cron_federated_hpa("rules", &reference, &rules);
    bench.upsert(objects::stored(object, "rules", 1, 1));
    bench.run(20).await;
    assert_eq!(replicas(&stub, "deployments"), 7);
    let named = |policy: &PolicyName, rival: &PolicyName| {
        let status = bench.status(policy).expect("a status exists").to_string();
        assert!(status.contains(&format!("the target is also set by {rival}")), "{status}");
        status
    };
    let (rule, scaler) = (cron_federated_hpa("rules"), autoscaler("shop"));
    named(&scaler, &rule);
    assert!(named(&rule, &scaler).contains("nothing needs attention; "));
    bench.run(30).await;
    assert_eq!(replicas(&stub, "deployments"), 7, "the autoscaler has set its value again");
    assert_eq!(bench.patched().len(), 3, "{:?}", bench.patched());
    let status = bench.status(&rule).expect("a status exists");
    assert_eq!(condition(&status, "Ready"), ("False".into(), "UndoneByAnotherWriter".into()));
    let message =
        format!("another writer has set replicas to 7 since; {scaler} scales the same target");
    assert!(status.to_string().contains(&message), "{status}");
    bench.run(600).await;
    let later = bench.status(&rule).expect("a status exists");
    assert_eq!(ready_message(&later), ready_message(&status), "one write of the status");
}
