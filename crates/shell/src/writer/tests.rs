//! The outcomes of writes, against an API server with faults, under a paused clock.

use std::sync::atomic::{AtomicBool, Ordering};

use almanac_stub::{Fault, ReceivedRequest, Stub};
use http::StatusCode;
use tokio::time::Instant;

use super::*;
use crate::budget::WriteLimits;
use crate::monotonic::Monotonic;

const SHOP: ObjectPath<'static> =
    ObjectPath { collection: "/apis/apps/v1/namespaces/default/deployments", name: "shop" };

/// A writer before a stub with one Deployment, at version 101.
struct Writing {
    stub: Stub,
    writer: Writer,
    metrics: WriteMetrics,
    begun: Instant,
}

impl Writing {
    fn begin() -> Self {
        Self::behind(Fence::open())
    }

    /// A writer with a fence that is open for this long.
    fn for_seconds(seconds: u64) -> Self {
        let begun = Instant::now();
        let clock = Monotonic::from_fn(move || begun.elapsed());
        Self::behind(Fence::open_until(clock, Duration::from_secs(seconds)))
    }

    fn behind(fence: Fence) -> Self {
        let stub = Stub::new();
        stub.put(json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": "shop", "namespace": "default" },
            "spec": { "replicas": 1 }, "status": { "replicas": 1, "rest": "of a field" },
        }));
        let (budget, metrics) = (WriteBudget::new(WriteLimits::default()), WriteMetrics::default());
        let writer = Writer::new(stub.client(), fence, budget, metrics.clone());
        Self { stub, writer, metrics, begun: Instant::now() }
    }

    /// Sets three replicas, based on the first version; returns the outcome and the time it took.
    async fn scale(&self) -> (Result<WriteResponse, WriteError>, Duration) {
        let result = self.writer.patch_scale(SHOP, "101", 3, &always).await;
        (result, self.begun.elapsed())
    }

    fn replicas(&self) -> Value {
        self.stub.object("deployments", "default", "shop").expect("the Deployment exists")["spec"]["replicas"]
            .clone()
    }

    fn sent(&self) -> usize {
        self.stub.requests().len()
    }

    fn response_count(&self, code: &str) -> u64 {
        let labels = [("purpose", "capacity".to_owned()), ("code", code.to_owned())];
        self.metrics.requests.get_or_create(&labels).get()
    }
}

/// The outcome as one word.
fn outcome<T>(written: &Result<T, WriteError>) -> &'static str {
    match written {
        Ok(_) => "written",
        Err(WriteError::Fenced(_)) => "fenced",
        Err(WriteError::Refused(refusal)) if refusal.is_conflict() => "conflict",
        Err(WriteError::Refused(_)) => "refused",
        Err(WriteError::Unknown(_)) => "unknown",
        Err(WriteError::Withdrawn) => "withdrawn",
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_to_a_changed_object_is_neither_applied_nor_retried() {
    let writing = Writing::begin();
    writing.stub.change("deployments", "default", "shop", &json!({ "spec": { "replicas": 2 } }));
    let (result, _) = writing.scale().await;
    assert_eq!((outcome(&result), writing.replicas()), ("conflict", json!(2)));
    assert_eq!((writing.sent(), writing.response_count("409")), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_honored_up_to_five_seconds() {
    for (seconds, times, after) in [(2, 2, 4), (60, 1, 5)] {
        for code in [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE] {
            let writing = Writing::begin();
            writing.stub.inject(Fault::wait(code, seconds).times(times));
            let (result, elapsed) = writing.scale().await;
            assert_eq!((outcome(&result), elapsed.as_secs()), ("written", after), "{code}");
            assert_eq!((writing.sent(), writing.replicas()), (times + 1, json!(3)));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_api_server_is_tried_four_times_and_writes_nothing() {
    let writing = Writing::begin();
    writing.stub.inject(Fault::wait(StatusCode::TOO_MANY_REQUESTS, 1).always());
    let (result, _) = writing.scale().await;
    assert_eq!(
        (outcome(&result), writing.sent(), writing.response_count("429")),
        ("refused", 4, 4)
    );
}

#[tokio::test(start_paused = true)]
async fn a_write_that_may_have_been_applied_is_unknown_and_not_resent() {
    let failed = || Fault::respond(StatusCode::INTERNAL_SERVER_ERROR, "etcd is gone");
    let faults: [(&str, Fault, &str); 4] = [
        ("lost", Fault::lose_response(), "lost"),
        ("refused", Fault::refuse(), "lost"),
        ("failed within", failed(), "500"),
        ("too busy", Fault::respond(StatusCode::SERVICE_UNAVAILABLE, "busy"), "503"),
    ];
    for (what, fault, code) in faults {
        let writing = Writing::begin();
        writing.stub.inject(fault.always());
        let (result, _) = writing.scale().await;
        assert_eq!((outcome(&result), writing.sent()), ("unknown", 1), "{what}");
        assert_eq!(writing.response_count(code), 1, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_is_awaited_for_ten_seconds_and_only_while_the_fence_is_open() {
    for fault in [Fault::hang, Fault::silence] {
        for (open_for, waited) in [(3600, 10), (4, 4)] {
            let writing = Writing::for_seconds(open_for);
            writing.stub.inject(fault());
            let (result, elapsed) = writing.scale().await;
            assert_eq!((outcome(&result), elapsed.as_secs()), ("unknown", waited));
            assert_eq!(writing.response_count("timeout"), 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_once_the_fence_has_closed() {
    let writing = Writing::for_seconds(4);
    writing.stub.inject(Fault::wait(StatusCode::TOO_MANY_REQUESTS, 5));
    let (result, _) = writing.scale().await;
    assert_eq!((outcome(&result), writing.sent(), writing.replicas()), ("fenced", 1, json!(1)));
    let tried = writing.writer.dry_run_patch(SHOP, true).await;
    assert_eq!((outcome(&tried), writing.sent()), ("fenced", 1));
}

#[tokio::test(start_paused = true)]
async fn a_write_no_longer_wanted_after_a_delay_is_not_resent() {
    let writing = Writing::begin();
    writing.stub.inject(Fault::wait(StatusCode::TOO_MANY_REQUESTS, 1));
    let was_checked = AtomicBool::new(false);
    let only_once = || !was_checked.swap(true, Ordering::SeqCst);
    let result = writing.writer.patch_scale(SHOP, "101", 3, &only_once).await;
    assert_eq!((outcome(&result), writing.sent(), writing.replicas()), ("withdrawn", 1, json!(1)));
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_changes_nothing_counts_nothing_and_is_not_repeated() {
    let writing = Writing::begin();
    let before = writing.stub.object("deployments", "default", "shop");
    for of_scale in [true, false] {
        assert_eq!(outcome(&writing.writer.dry_run_patch(SHOP, of_scale).await), "written");
    }
    for (fault, expected) in [
        (Fault::respond(StatusCode::FORBIDDEN, "you may not"), "refused"),
        (Fault::wait(StatusCode::TOO_MANY_REQUESTS, 1), "unknown"),
        (Fault::hang(), "unknown"),
    ] {
        writing.stub.inject(fault);
        assert_eq!(outcome(&writing.writer.dry_run_patch(SHOP, true).await), expected);
    }
    assert!(writing.stub.requests().iter().all(|request| request.is_dry_run()));
    assert_eq!(writing.sent(), 5);
    assert_eq!(writing.stub.object("deployments", "default", "shop"), before);
    assert!(["200", "403", "429", "timeout"].iter().all(|code| writing.response_count(code) == 0));
}

#[tokio::test(start_paused = true)]
async fn a_status_write_touches_only_the_status_and_returns_only_metadata() {
    let writing = Writing::begin();
    let status = r#"{"replicas":2,"rest":null}"#;
    let response =
        writing.writer.patch_status(SHOP, "101", status).await.expect("a successful write");
    assert_eq!(response.metadata.resource_version.as_deref(), Some("102"));
    let object =
        writing.stub.object("deployments", "default", "shop").expect("the Deployment exists");
    assert_eq!(
        (&object["status"], &object["spec"]["replicas"]),
        (&json!({ "replicas": 2 }), &json!(1))
    );
    assert_eq!(writing.stub.requests_where(ReceivedRequest::is_write).len(), 1);
    let again = writing.writer.patch_status(SHOP, "101", status).await;
    assert_eq!(outcome(&again), "conflict");
}

#[test]
fn an_applied_body_has_only_characters_that_yaml_allows() {
    let text = "a\u{7f}\u{96}\u{9b}\u{fffe}\u{feff}\u{2028}ü\u{1f600}\"\\";
    let json = json!({ "status": text });
    let escaped = as_yaml(json.to_string().into_bytes());
    let escaped = String::from_utf8(escaped).unwrap();
    assert!(escaped.contains("a\\u007f\\u0096\\u009b\\ufffe\\ufeff\\u2028ü\u{1f600}"), "{escaped}");
    assert_eq!(serde_json::from_str::<Value>(&escaped).unwrap(), json);
    let plain = b"{\"a\":1}".to_vec();
    assert_eq!(as_yaml(plain.clone()), plain);
}
