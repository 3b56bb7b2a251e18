//! The whole process in front of a stub of the API, under one clock: properties of no single part.

#![expect(clippy::expect_used, reason = "what fails here fails the test")]

mod limited;
mod webhook;

use std::time::Duration;

use almanac_api::exempt::MARK;
use almanac_controllers::namespaces::Namespaces;
use almanac_controllers::process::{Options, Process, Queries};
use almanac_controllers::runtime::ProcessOptions;
use almanac_engine::Family;
use almanac_fixtures::objects;
use almanac_shell::budget::WriteLimits;
use almanac_shell::clock::Clock;
use almanac_shell::endpoints::Health;
use almanac_shell::lease::{LeaseOptions, STOP};
use almanac_stub::{Fault, Kind, ReceivedRequest, Stub};
use http::{Method, StatusCode};
use jiff::{SignedDuration, Timestamp};
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Half a minute before the only rule fires, which sets three replicas.
const BEGIN: &str = "2026-11-20T08:59:30Z";

/// A process that leads, with one policy and its target.
struct RunningProcess {
    stub: Stub,
    end: CancellationToken,
    process: JoinHandle<()>,
}

impl RunningProcess {
    fn start() -> Self {
        Self::start_on(Stub::new(), &[])
    }

    /// Starts a process on an API server that already has objects, with these families taken over.
    fn start_on(stub: Stub, take_over: &[Family]) -> Self {
        let take_over = take_over.iter().copied().map(Into::into).collect();
        Self::start_with(stub, |options| Options { take_over, ..options }, Health::default())
    }

    /// Starts a process with other options.
    fn start_with(stub: Stub, change: impl FnOnce(Options) -> Options, health: Health) -> Self {
        stub.serve(Kind::new(objects::KARMADA, "CronFederatedHPA", "cronfederatedhpas"));
        put_in(&stub, "default");
        let (start, since): (Timestamp, _) = (almanac_fixtures::at(BEGIN), Instant::now());
        let now = move || {
            start + SignedDuration::try_from(since.elapsed()).expect("the duration is short")
        };
        let [namespace, name, identity] = ["default", "almanac", "us"].map(str::to_owned);
        let options = Options {
            families: vec![Family::CronScaling],
            node_groups: None,
            take_over: Vec::new(),
            namespaces: Namespaces::All,
            process: ProcessOptions {
                exempt_namespaces: vec!["kube-system".to_owned()],
                lease: Some(LeaseOptions::new(namespace, name, identity)),
                identity: "us".to_owned(),
                limits: WriteLimits::default(),
                clock: Clock::from_fn(now),
                seed: 1,
            },
            allow_cluster_scoped_targets: false,
            queries: Queries::default(),
        };
        let (client, registry) = (stub.client(), &mut Registry::default());
        let process = Process::new(client, change(options), health, registry);
        let end = CancellationToken::new();
        let process = tokio::spawn(process.run(end.clone()));
        Self { stub, end, process }
    }

    /// Fails every request to a path.
    fn fail(&self, place: &str) {
        let failed = Fault::respond(StatusCode::INTERNAL_SERVER_ERROR, "etcd is gone");
        self.stub.inject(failed.matching(ReceivedRequest::is_write).path_contains(place).always());
    }

    /// The executions of the rule in the status: successes and failures.
    fn recorded(&self) -> [usize; 2] {
        recorded(&self.stub)
    }

    async fn end(self) {
        self.end.cancel();
        let ended = timeout(Duration::from_secs(15), self.process).await;
        ended.expect("the process ends in time").expect("the process does not panic");
    }
}

/// A policy and its target in a namespace.
fn put_in(stub: &Stub, namespace: &str) {
    let mut deployment = objects::deployment("shop", 1);
    deployment["metadata"]["namespace"] = json!(namespace);
    stub.put(deployment);
    let target = objects::target("apps/v1", "Deployment", "shop");
    let rules = json!([objects::rule("nine", "0 9 * * *", 3)]);
    let policy = objects::cron_federated_hpa("shop", &target, &rules);
    let mut policy = objects::stored(policy, namespace, 1, 1);
    policy["metadata"]["namespace"] = json!(namespace);
    stub.put(policy);
}

/// Lets Karmada's controllers renew their lease now, or release it.
fn renew_karmada(stub: &Stub, holder: &str, now: Timestamp) {
    stub.put(objects::karmada_lease(holder, now));
}

fn replicas(stub: &Stub) -> Value {
    stub.object("deployments", "default", "shop").expect("the object exists")["spec"]["replicas"]
        .clone()
}

/// Whether the policy is ready, and the reason and the message for that.
fn ready(stub: &Stub) -> [Value; 3] {
    let policy = stub.object("cronfederatedhpas", "default", "shop").expect("the object exists");
    let conditions = policy["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let ready = conditions.into_iter().find(|it| it["type"] == "Ready").unwrap_or_default();
    ["status", "reason", "message"].map(|field| ready[field].clone())
}

fn recorded(stub: &Stub) -> [usize; 2] {
    let policy = stub.object("cronfederatedhpas", "default", "shop").expect("the object exists");
    let history = &policy["status"]["executionHistories"][0];
    ["successfulExecutions", "failedExecutions"]
        .map(|list| history[list].as_array().map_or(0, Vec::len))
}

async fn seconds(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_status_waiting_for_a_retry_is_written_at_shutdown() {
    let running = RunningProcess::start();
    running.fail("/shop/status");
    seconds(300).await;
    assert_eq!(running.recorded(), [0, 0]);
    let stub = running.stub.clone();
    stub.clear_faults();
    running.end().await;
    assert_eq!(recorded(&stub), [1, 0]);
    let lease = stub.object("leases", "default", "almanac").expect("the object exists");
    assert!(lease["spec"].get("holderIdentity").is_none_or(Value::is_null), "{lease:#}");
}

#[tokio::test(start_paused = true)]
async fn a_failed_term_releases_the_lease_only_after_its_requests_in_flight() {
    let running = RunningProcess::start();
    let stub = running.stub.clone();
    let hangs = Fault::hang().matching(ReceivedRequest::is_write);
    stub.inject(hangs.path_contains("/shop/scale").always());
    // The rule fires after 30 seconds. Then the watch of the policies panics.
    seconds(31).await;
    let panics = Fault::concurrent_change(|_| panic!("the watch panics on this request"));
    let panics = panics.matching(ReceivedRequest::is_watch);
    stub.inject(panics.path_contains("/cronfederatedhpas"));
    stub.end_watches();
    let released = || {
        let is_release = |request: &ReceivedRequest| {
            let is_lease = request.is_write() && request.path.ends_with("/leases/almanac");
            is_lease && request.body["spec"]["holderIdentity"].is_null()
        };
        stub.requests_where(is_release).len()
    };
    seconds(5).await;
    assert_eq!(released(), 0, "the request waits for its response");
    seconds(15).await;
    assert_eq!(released(), 1);
    stub.clear_faults();
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn retries_are_given_up_as_soon_as_everything_is_stopped() {
    let running = RunningProcess::start();
    running.fail("/shop/scale");
    // The next attempt would come half a minute later.
    seconds(30 + 35).await;
    assert_eq!(running.recorded(), [0, 0]);
    let stop = json!({ "metadata": { "annotations": { STOP: "wrong values" } } });
    running.stub.change("leases", "default", "almanac", &stop);
    seconds(5).await;
    assert_eq!(running.recorded(), [0, 1]);
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_undone_value_is_reported_once() {
    let running = RunningProcess::start();
    seconds(40).await;
    assert_eq!(running.recorded(), [1, 0]);
    let undo = json!({
        "metadata": { "managedFields": [{
            "manager": "kubectl", "operation": "Update",
            "fieldsV1": { "f:spec": { "f:replicas": {} } },
        }] },
        "spec": { "replicas": 2 },
    });
    running.stub.change("deployments", "default", "shop", &undo);
    seconds(60).await;
    let warnings = running.stub.requests_where(|request| {
        request.method == Method::POST && request.body["reason"] == "UndoneByAnotherWriter"
    });
    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn policies_are_left_to_their_upstream_controller_for_as_long_as_it_runs() {
    let (stub, start): (_, Timestamp) = (Stub::new(), almanac_fixtures::at(BEGIN));
    renew_karmada(&stub, "karmada", start);
    let running = RunningProcess::start_on(stub.clone(), &[]);
    for elapsed in (10..=90).step_by(10) {
        seconds(10).await;
        renew_karmada(&stub, "karmada", start + SignedDuration::from_secs(elapsed));
    }
    assert_eq!((replicas(&stub), running.recorded()), (json!(1), [0, 0]));
    let [status, reason, message] = ready(&stub);
    assert_eq!([status, reason], ["False", "UpstreamController"]);
    let message = message.as_str().expect("the value is a string").to_owned();
    assert!(message.contains("Karmada") && message.contains("--take-over=cron-federated-hpa"));
    // The controller that reconciles them may overwrite the status without contention.
    stub.change("cronfederatedhpas", "default", "shop", &json!({ "status": { "conditions": [] } }));
    seconds(1).await;
    let reported =
        stub.requests_where(|request| request.is_write() && request.path.ends_with("/shop/status"));
    assert_eq!(reported.len(), 1, "{reported:#?}");
    // It releases its lease, and the firing is still within its deadline.
    renew_karmada(&stub, "", start + SignedDuration::from_secs(100));
    seconds(35).await;
    assert_eq!((replicas(&stub), running.recorded()), (json!(3), [1, 0]));
    assert_eq!(ready(&stub)[0], "True");
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn policies_are_left_to_an_upstream_controller_that_starts_later() {
    let running = RunningProcess::start();
    // The rule has fired.
    seconds(40).await;
    assert_eq!(ready(&running.stub)[0], "True");
    let now = almanac_fixtures::at(BEGIN) + SignedDuration::from_secs(40);
    renew_karmada(&running.stub, "karmada", now);
    seconds(31).await;
    assert_eq!(ready(&running.stub)[1], "UpstreamController");
    assert_eq!(running.recorded(), [1, 0], "its history stays");
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn policies_that_are_taken_over_apply_despite_their_upstream_controller() {
    let stub = Stub::new();
    renew_karmada(&stub, "karmada", almanac_fixtures::at(BEGIN));
    let running = RunningProcess::start_on(stub.clone(), &[Family::CronScaling]);
    seconds(40).await;
    assert_eq!((replicas(&stub), running.recorded()), (json!(3), [1, 0]));
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn marked_objects_are_left_alone_and_their_firings_are_not_made_up_for() {
    let marked = [
        ("namespaces", "", "default"),
        ("cronfederatedhpas", "default", "shop"),
        ("deployments", "default", "shop"),
    ];
    for (plural, namespace, name) in marked {
        let stub = Stub::new();
        stub.serve(Kind::new("v1", "Namespace", "namespaces").cluster_scoped());
        stub.put(json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "default" },
        }));
        let running = RunningProcess::start_on(stub.clone(), &[]);
        seconds(10).await;
        assert_eq!(ready(&stub)[1], "Armed");
        let annotated = |value: Value| json!({ "metadata": { "annotations": { MARK: value } } });
        stub.change(plural, namespace, name, &annotated(json!("by hand")));
        seconds(30).await;
        assert_eq!((replicas(&stub), running.recorded()), (json!(1), [0, 0]), "{plural}");
        let [status, reason, _] = ready(&stub);
        assert_eq!([status, reason], ["True", "Exempt"], "{plural}");
        stub.change(plural, namespace, name, &annotated(Value::Null));
        seconds(30).await;
        assert_eq!((replicas(&stub), running.recorded()), (json!(1), [0, 0]), "{plural}");
        assert_eq!(ready(&stub)[1], "Armed", "{plural}");
        running.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn in_a_forbidden_namespace_nothing_is_applied_or_skipped() {
    let stub = Stub::new();
    stub.serve(Kind::new("v1", "Namespace", "namespaces").cluster_scoped());
    stub.put(json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "default" },
    }));
    let forbidden = Fault::respond(StatusCode::FORBIDDEN, "namespaces \"default\" is forbidden");
    stub.inject(
        forbidden.path_contains("/api/v1/namespaces/default").matching(is_namespace).always(),
    );
    let only_this = Namespaces::Only(["default".into()].into());
    let running = RunningProcess::start_with(
        stub.clone(),
        |options| Options { namespaces: only_this, ..options },
        Health::default(),
    );
    seconds(120).await;
    assert_eq!((replicas(&stub), running.recorded()), (json!(1), [0, 0]));
    let [status, reason, message] = ready(&stub);
    assert_eq!([status, reason], ["False", "NamespaceUnreadable"]);
    assert_eq!(
        message,
        "not applied: the namespace of the object cannot be read, and may be marked with \
         almanac.dev/ignore; permit almanac to get this namespace"
    );
    stub.clear_faults();
    seconds(30).await;
    assert_eq!((replicas(&stub), running.recorded()), (json!(3), [1, 0]));
    assert_eq!(ready(&stub)[1], "Armed");
    running.end().await;
}

fn is_namespace(request: &ReceivedRequest) -> bool {
    request.path.ends_with("/namespaces/default")
}

#[tokio::test(start_paused = true)]
async fn without_permission_to_watch_namespaces_everything_is_reconciled() {
    let stub = Stub::new();
    let forbidden = Fault::respond(StatusCode::FORBIDDEN, "namespaces is forbidden");
    stub.inject(forbidden.path_contains("/api/v1/namespaces").matching(is_of_namespaces).always());
    let running = RunningProcess::start_on(stub.clone(), &[]);
    seconds(40).await;
    assert_eq!((replicas(&stub), running.recorded()), (json!(3), [1, 0]));
    running.end().await;
}

fn is_of_namespaces(request: &ReceivedRequest) -> bool {
    request.path.ends_with("/namespaces")
}
