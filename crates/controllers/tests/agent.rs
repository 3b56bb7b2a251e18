//! An agent in front of a stub of the API, under a clock that the test sets: cases that a real control plane cannot
//! produce on request.

#![expect(clippy::expect_used, reason = "what fails here fails the test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use almanac_controllers::agent::{Agent, AgentOptions, Nodes};
use almanac_controllers::namespaces::Namespaces;
use almanac_controllers::runtime::ProcessOptions;
use almanac_engine::qos_levels::LevelFormat;
use almanac_shell::budget::WriteLimits;
use almanac_shell::clock::Clock;
use almanac_shell::endpoints::Health;
use almanac_shell::lease::LeaseOptions;
use almanac_stub::{Fault, Kind, Stub};
use http::{Method, StatusCode};
use jiff::{SignedDuration, Timestamp};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// A minute before the window of the policy opens. The window is eight hours long.
const BEFORE: &str = "2026-11-20T21:59:00Z";
const INSIDE: &str = "2026-11-20T23:00:00Z";
const MINUTE: Duration = Duration::from_mins(1);

/// An agent for all pods, and a pod with the QoS level 1 from the user.
struct RunningAgent {
    stub: Stub,
    /// The number of seconds that the clock was set forward.
    set: Arc<AtomicI64>,
    registry: Registry,
    end: CancellationToken,
    agent: JoinHandle<()>,
}

impl RunningAgent {
    fn start(now: &str) -> Self {
        Self::start_on(prepared(), now, None)
    }

    /// An agent on this API server; it is a candidate for the Lease if it has a name.
    fn start_on(stub: Stub, now: &str, candidate: Option<&str>) -> Self {
        let (start, since): (Timestamp, _) = (almanac_fixtures::at(now), Instant::now());
        let set = Arc::new(AtomicI64::new(0));
        let shift = Arc::clone(&set);
        let now = move || {
            let passed = SignedDuration::try_from(since.elapsed()).expect("the duration is short");
            start + passed + SignedDuration::from_secs(shift.load(Ordering::SeqCst))
        };
        let lease = |identity: &str| {
            let [namespace, name] = ["volcano-system", "almanac-agent"].map(str::to_owned);
            LeaseOptions::new(namespace, name, identity.to_owned())
        };
        let options = AgentOptions {
            nodes: Nodes::All,
            config_namespace: "volcano-system".to_owned(),
            level_format: LevelFormat::Number,
            namespaces: Namespaces::All,
            process: ProcessOptions {
                exempt_namespaces: vec!["kube-system".to_owned()],
                lease: candidate.map(lease),
                identity: candidate.unwrap_or("us").to_owned(),
                limits: WriteLimits::default(),
                clock: Clock::from_fn(now),
                seed: 1,
            },
            spread: Duration::ZERO,
        };
        let mut registry = Registry::default();
        let agent = Agent::new(stub.client(), options, Health::default(), &mut registry);
        let end = CancellationToken::new();
        let agent = tokio::spawn(agent.run(end.clone()));
        Self { stub, set, registry, end, agent }
    }

    /// The level of the pod, the original level, the policy, and the level that the policy has set.
    fn shows(&self) -> String {
        let pod = self.stub.object("pods", "shop", "web").expect("the object exists");
        let keys = [
            "volcano.sh/qos-level",
            "volcano.sh/original-qos-level",
            "almanac.dev/qos-policy",
            "almanac.dev/qos-applied",
        ];
        let annotations = &pod["metadata"]["annotations"];
        keys.map(|key| annotations[key].as_str().unwrap_or("-").to_owned()).join(" ")
    }

    /// Waits until the pod shows this.
    async fn await_annotations(&self, expected: &str) {
        let shown = async {
            while self.shows() != expected {
                sleep(Duration::from_millis(50)).await;
            }
        };
        let is_shown = timeout(2 * MINUTE, shown).await;
        assert!(is_shown.is_ok(), "the pod shows {}, and not {expected}", self.shows());
    }

    /// Deletes the policies, and waits until the original level is restored.
    async fn lose_policies(&self) {
        self.stub.delete("configmaps", "volcano-system", "volcano-agent-config");
        self.await_annotations(OWN).await;
    }

    fn metric(&self, name: &str) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("encode the metrics");
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_default().to_owned()
    }

    /// The reasons and notes of all Events.
    fn events(&self) -> Vec<String> {
        let is_event =
            |method: &Method, path: &str| *method == Method::POST && path.ends_with("/events");
        let sent = self.stub.requests_where(|it| is_event(&it.method, &it.path));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        sent.iter()
            .map(|it| format!("{}: {}", text(&it.body["reason"]), text(&it.body["note"])))
            .collect()
    }

    /// The number of writes to the pod.
    fn writes(&self) -> usize {
        self.stub
            .requests_where(|it| it.method == Method::PATCH && it.path.contains("/pods/"))
            .len()
    }

    async fn end(self) {
        self.end.cancel();
        let ended = timeout(Duration::from_secs(15), self.agent).await;
        ended.expect("the process ends in time").expect("the process does not panic");
    }
}

/// An API server with the pod and the policy.
fn prepared() -> Stub {
    let stub = Stub::new();
    stub.serve(Kind::new("v1", "Pod", "pods"));
    stub.serve(Kind::new("v1", "Node", "nodes").cluster_scoped());
    stub.serve(Kind::new("v1", "Namespace", "namespaces").cluster_scoped());
    stub.put(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "namespace": "shop", "name": "web", "uid": "web-1", "labels": { "app": "batch" },
            "annotations": { "volcano.sh/qos-level": "LS" },
        },
        "spec": {},
    }));
    configure(&stub, &policy("22:00"));
    stub
}

fn policy(start: &str) -> String {
    json!({ "globalConfig": { "timeBasedQoSPolicies": [{
        "name": "night", "startTime": start, "endTime": "06:00", "targetQoSLevel": -1,
        "selector": { "matchLabels": { "app": "batch" } },
    }] } })
    .to_string()
}

fn configure(stub: &Stub, text: &str) {
    stub.put(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "namespace": "volcano-system", "name": "volcano-agent-config", "uid": "config",
        },
        "data": { "config.yaml": text },
    }));
}

fn for_pod(fault: Fault) -> Fault {
    fault.method(Method::PATCH).path_contains("/pods/")
}

/// A webhook that replaces the level of the policy.
fn rewriting() -> Fault {
    Fault::admit(|body| {
        let level = body.pointer_mut("/metadata/annotations/volcano.sh~1qos-level");
        if let Some(level) = level.filter(|level| **level == "-1") {
            *level = json!("BE");
        }
    })
}

const OWN: &str = "LS - - -";
const AT_NIGHT: &str = "-1 LS night -1";

#[tokio::test(start_paused = true)]
async fn a_window_sets_the_level_and_then_restores_it() {
    let running = RunningAgent::start(BEFORE);
    sleep(MINUTE / 2).await;
    assert_eq!(running.shows(), OWN);
    running.await_annotations(AT_NIGHT).await;
    running.set.store(8 * 3600, Ordering::SeqCst);
    running.await_annotations(OWN).await;
    assert_eq!(running.writes(), 2);
    sleep(MINUTE).await;
    let expected = [
        "PolicyActivated: policy night sets the QoS level to -1; the level was LS",
        "PolicyExpired: policy night is over; the QoS level is LS again, and was -1",
    ];
    assert_eq!(running.events(), expected);
    assert_eq!(running.metric("almanac_qos_lag_seconds_count"), "2");
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn every_way_of_failing_once_is_made_up_for() {
    let faults: [fn() -> Fault; 7] = [
        || Fault::respond(StatusCode::CONFLICT, "the object has been modified"),
        || Fault::respond(StatusCode::INTERNAL_SERVER_ERROR, "etcd is gone"),
        || Fault::respond(StatusCode::FORBIDDEN, "pods is forbidden: User \"us\" cannot patch"),
        || Fault::wait(StatusCode::TOO_MANY_REQUESTS, 1),
        Fault::lose_response,
        Fault::refuse,
        Fault::hang,
    ];
    for fault in faults {
        let running = RunningAgent::start(INSIDE);
        running.stub.inject(for_pod(fault()));
        running.await_annotations(AT_NIGHT).await;
        sleep(MINUTE).await;
        running.stub.inject(for_pod(fault()));
        running.lose_policies().await;
        sleep(MINUTE).await;
        let event_texts = running.events();
        let of = |reason: &str| event_texts.iter().filter(|it| it.starts_with(reason)).count();
        assert_eq!((of("PolicyActivated"), of("PolicyExpired")), (1, 1), "{event_texts:?}");
        assert_eq!(running.metric("almanac_qos_restored_total"), "1");
        assert_eq!(running.metric("almanac_qos_restores_pending"), "0");
        running.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn after_an_orderly_handover_the_successor_applies_a_changed_config() {
    let stub = prepared();
    let first = RunningAgent::start_on(stub.clone(), INSIDE, Some("first"));
    first.await_annotations(AT_NIGHT).await;
    let second = RunningAgent::start_on(stub.clone(), INSIDE, Some("second"));
    sleep(MINUTE).await;
    first.end().await;
    // The window is not open yet.
    configure(&stub, &policy("01:00"));
    second.await_annotations(OWN).await;
    second.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_is_followed() {
    let running = RunningAgent::start(INSIDE);
    running.await_annotations(AT_NIGHT).await;
    running.set.store(-8 * 3600, Ordering::SeqCst);
    running.await_annotations(OWN).await;
    // The agent follows its boundaries as well.
    running.set.store(-8 * 3600 + 7 * 3600 - 30, Ordering::SeqCst);
    running.await_annotations(AT_NIGHT).await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_retry_from_before_the_clock_was_set_back_is_not_waited_for() {
    let running = RunningAgent::start(INSIDE);
    running.await_annotations(AT_NIGHT).await;
    let denied = Fault::respond(StatusCode::INTERNAL_SERVER_ERROR, "etcd is gone");
    running.stub.inject(for_pod(denied).always());
    running.set.store(8 * 3600, Ordering::SeqCst);
    sleep(2 * MINUTE).await;
    assert_eq!(running.metric("almanac_qos_restores_pending"), "1");
    running.set.store(7 * 3600, Ordering::SeqCst);
    running.stub.clear_faults();
    running.lose_policies().await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_rewrites_the_level_keeps_the_level_of_the_user() {
    let running = RunningAgent::start(INSIDE);
    running.stub.inject(for_pod(rewriting()).always());
    running.await_annotations("BE LS night BE").await;
    sleep(10 * MINUTE).await;
    assert_eq!(running.shows(), "BE LS night BE");
    assert!(running.writes() < 40, "{} writes", running.writes());
    running.lose_policies().await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_level_rewritten_by_a_webhook_is_not_an_edit_of_the_user() {
    let running = RunningAgent::start(INSIDE);
    let has_level = |body: &Value| {
        body.pointer("/metadata/annotations/volcano.sh~1qos-level").is_some_and(Value::is_string)
    };
    // The write that only records the owner of the level never succeeds.
    let denied = Fault::respond(StatusCode::CONFLICT, "the object has been modified");
    let denied = for_pod(denied).matching(move |it| !has_level(&it.body)).always();
    running.stub.inject(for_pod(rewriting()).matching(move |it| has_level(&it.body)).always());
    running.stub.inject(denied);
    running.await_annotations("BE LS night -1").await;
    sleep(10 * MINUTE).await;
    assert_eq!(running.shows(), "BE LS night -1");
    running.stub.clear_faults();
    running.lose_policies().await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_denial_with_the_code_of_a_missing_pod_is_retried() {
    let running = RunningAgent::start(INSIDE);
    running.await_annotations(AT_NIGHT).await;
    let message = "admission webhook \"x\" denied the request: no";
    running.stub.inject(for_pod(Fault::respond(StatusCode::NOT_FOUND, message)).times(3));
    running.lose_policies().await;
    assert_eq!(running.metric("almanac_qos_failed_total"), "3");
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_field_manager_that_undoes_every_write_is_reported_and_not_fought() {
    let running = RunningAgent::start(INSIDE);
    let stub = running.stub.clone();
    let undoing = tokio::spawn(async move {
        let theirs = json!({ "metadata": { "annotations": {
            "volcano.sh/qos-level": "BE", "almanac.dev/qos-applied": "BE",
        } } });
        loop {
            let pod = stub.object("pods", "shop", "web").expect("the object exists");
            if pod["metadata"]["annotations"]["almanac.dev/qos-applied"] == "-1" {
                stub.change("pods", "shop", "web", &theirs);
            }
            sleep(Duration::from_millis(50)).await;
        }
    });
    sleep(6 * 60 * MINUTE).await;
    let writes = running.writes();
    assert!((10..25).contains(&writes), "{writes} writes in six hours");
    assert_eq!(running.metric("almanac_qos_contested_total"), "1");
    let event_texts = running.events();
    assert!(event_texts.iter().any(|it| it.starts_with("LevelContested: ")), "{event_texts:?}");
    undoing.abort();
    running.set.store(2 * 3600, Ordering::SeqCst);
    // The contention is over, and the window is closed.
    running.await_annotations(OWN).await;
    running.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_bad_list_leaves_the_old_list_in_force_and_the_event_names_the_line() {
    let running = RunningAgent::start(INSIDE);
    running.await_annotations(AT_NIGHT).await;
    let (stub, set) = (running.stub.clone(), Arc::clone(&running.set));
    configure(&stub, &policy("25:00"));
    set.store(8 * 3600, Ordering::SeqCst);
    // The last valid list is still in effect.
    running.await_annotations(OWN).await;
    sleep(MINUTE).await;
    let event_texts = running.events();
    let rejected: Vec<_> =
        event_texts.iter().filter(|it| it.starts_with("ConfigRejected")).collect();
    assert_eq!(rejected.len(), 1, "{event_texts:?}");
    let line = "config.yaml, line 1: globalConfig.timeBasedQoSPolicies[0].startTime: ";
    assert!(rejected[0].contains(line), "{rejected:?}");
    assert_eq!(running.metric("almanac_qos_configs_rejected"), "1");
    running.end().await;
}
