//! Writing statuses to an API server with faults, under a paused clock.

use almanac_shell::budget::{WriteBudget, WriteLimits};
use almanac_shell::lease::Fence;
use almanac_shell::writer::WriteMetrics;
use almanac_stub::{Fault, Kind as StubKind, ReceivedRequest, Stub};
use http::StatusCode;
use serde_json::json;

use super::*;
use crate::cluster::PolicyEntry;

/// A status writer in front of a stub with one policy, at version 101.
struct Recording {
    stub: Stub,
    fence: Fence,
    cluster: Cluster,
    writer: StatusWriter,
    policy: PolicyName,
}

impl Recording {
    fn start() -> Self {
        let (stub, fence) = (Stub::new(), Fence::open());
        let kind = ("autoscaling.karmada.io/v1alpha1", "CronFederatedHPA");
        stub.serve(StubKind::new(kind.0, kind.1, "cronfederatedhpas"));
        stub.put(crate::bench::at_nine("shop", "apps/v1", "Deployment"));
        let budget = WriteBudget::new(WriteLimits::default());
        let writer = Writer::new(stub.client(), fence.clone(), budget, WriteMetrics::default());
        let clock = Clock::from_fn(|| Timestamp::UNIX_EPOCH);
        let (writer, cluster) = (StatusWriter::new(writer, clock, 1), Cluster::default());
        let policy = crate::bench::policy("shop");
        let bench = Self { stub, fence, cluster, writer, policy };
        bench.deliver();
        bench
    }

    fn object(&self) -> Value {
        self.stub.object("cronfederatedhpas", "default", "shop").expect("the object exists")
    }

    /// Delivers the object in its current state.
    fn deliver(&self) {
        let object = serde_json::from_value(self.object()).expect("the object is valid");
        let entry = PolicyEntry::from_object(&object, 1);
        self.cluster.lock().policies.insert(self.policy.clone(), entry);
    }

    fn version(&self) -> Option<Box<str>> {
        self.cluster.lock().policies.get(&self.policy).map(|entry| entry.version.clone())
    }

    /// Writes a status for the last delivered version; returns when to retry, if at all.
    async fn write(&self, rules: &str) -> Result<(), Option<SignedDuration>> {
        let patch = json!({ "lastRules": rules }).to_string();
        let method = WriteMethod::MergePatch(patch.into());
        let version = self.version().unwrap_or_else(|| "101".into());
        let record =
            StatusUpdate { version, recorded: StatusSnapshot::from_status(&json!({})), method };
        match self.writer.write(&self.cluster, &self.policy, record).await {
            WriteResult::Saved => Ok(()),
            WriteResult::Failed { again } => {
                Err(again.map(|again| again.duration_since(Timestamp::UNIX_EPOCH)))
            }
        }
    }

    /// The delay before the retry, in whole seconds.
    async fn retry_delay(&self) -> i64 {
        let again = self.write("again").await.expect_err("the write was refused");
        again.expect("the write is retried").as_secs()
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_is_written_version_after_version_without_watch_events() {
    let recording = Recording::start();
    assert_eq!(recording.write("one").await, Ok(()));
    assert_eq!(recording.write("two").await, Ok(()));
    assert_eq!(recording.object()["status"], json!({ "lastRules": "two" }));
    assert_eq!(recording.version().as_deref(), Some("103"));
}

#[tokio::test(start_paused = true)]
async fn repeated_conflicts_back_off() {
    let recording = Recording::start();
    recording.stub.change("cronfederatedhpas", "default", "shop", &json!({ "spec": { "a": 1 } }));
    let mut delays = Vec::new();
    for _ in 0..8 {
        delays.push(recording.retry_delay().await);
    }
    assert!(delays[0] <= 2 && (15..=60).contains(&delays[7]), "{delays:?}");
    assert!(recording.object().get("status").is_none());
    recording.deliver();
    assert_eq!(recording.write("now").await, Ok(()));
    recording.stub.change("cronfederatedhpas", "default", "shop", &json!({ "spec": { "a": 2 } }));
    assert!(recording.retry_delay().await <= 2, "a success resets the delay");
}

#[tokio::test(start_paused = true)]
async fn a_status_whose_response_was_lost_is_retried_until_the_watch_shows_it() {
    let recording = Recording::start();
    recording.stub.inject(Fault::lose_response().matching(ReceivedRequest::is_write));
    assert!(recording.write("once").await.is_err_and(|again| again.is_some()));
    assert!(recording.write("once").await.is_err_and(|again| again.is_some()));
    recording.deliver();
    assert_eq!(recording.write("once").await, Ok(()));
    assert_eq!(recording.version().as_deref(), Some("102"), "the status was written before");
}

#[tokio::test(start_paused = true)]
async fn a_status_write_is_retried_after_any_error() {
    let failed = Fault::respond(StatusCode::INTERNAL_SERVER_ERROR, "etcd is gone");
    let forbidden = Fault::respond(StatusCode::FORBIDDEN, "you may not");
    for fault in [Fault::hang(), Fault::silence(), Fault::refuse(), failed, forbidden] {
        let recording = Recording::start();
        recording.stub.inject(fault);
        assert!(recording.retry_delay().await <= 2);
        assert_eq!(recording.write("then").await, Ok(()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_of_a_deleted_or_replaced_object_is_not_retried() {
    let recording = Recording::start();
    recording.stub.delete("cronfederatedhpas", "default", "shop");
    assert!(
        recording.write("early").await.is_err_and(|again| again.is_some()),
        "the deletion is not observed yet"
    );
    recording.cluster.lock().policies.remove(&recording.policy);
    assert_eq!(recording.write("late").await, Err(None));
    let recording = Recording::start();
    recording.fence.shut();
    assert_eq!(recording.write("fenced").await, Err(None));
    assert!(recording.stub.requests().is_empty());
}
