//! The upstream controllers that count as running, by the leases in a stub of the API.

use almanac_engine::Family;
use almanac_stub::{Fault, Kind, Stub};
use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::*;
use crate::list_progress::{ListProgress, ListReceiver};

const FAMILIES: [Family; 2] = [Family::ScheduledCapacity, Family::CronScaling];

fn controlled(families: &[Family]) -> Vec<Controlled> {
    families.iter().copied().map(Controlled::from).collect()
}

/// The families that a process in front of a stub, under a clock that follows the runtime's.
struct UpstreamBench {
    stub: Stub,
    started: (Timestamp, Instant),
    upstreams: Upstreams,
    changed: Arc<Mutex<Vec<Controlled>>>,
}

impl UpstreamBench {
    fn new() -> Self {
        Self::taking_over(&[])
    }

    fn taking_over(taken_over: &[Family]) -> Self {
        let stub = Stub::new();
        let definitions = "CustomResourceDefinition";
        let kind = Kind::new("apiextensions.k8s.io/v1", definitions, "customresourcedefinitions");
        stub.serve(kind.cluster_scoped());
        Self {
            stub,
            started: (almanac_fixtures::at("2026-11-20T08:00:00Z"), Instant::now()),
            upstreams: Upstreams::for_families(&controlled(&FAMILIES), &controlled(taken_over)),
            changed: Arc::default(),
        }
    }

    fn now(&self) -> Timestamp {
        let (started, since) = self.started;
        started + SignedDuration::try_from(since.elapsed()).expect("the duration is short")
    }

    /// Starts the checks, and waits for the first one.
    async fn start(&self) -> ListReceiver {
        let (first, mut progress) = ListReport::new();
        let (started, changed) = (self.started, Arc::clone(&self.changed));
        let clock = Clock::from_fn(move || {
            started.0
                + SignedDuration::try_from(started.1.elapsed()).expect("the duration is short")
        });
        let changed = move |family| changed.lock().expect("lock is not poisoned").push(family);
        tokio::spawn(self.upstreams.clone().watch(self.stub.client(), clock, first, changed));
        let patience = Duration::from_secs(20);
        drop(timeout(patience, progress.wait_for(|it| *it == ListProgress::Whole)).await);
        progress
    }

    /// Renews the lease of a controller now.
    fn renew(&self, name: &str, holder: Option<&str>) {
        self.put_lease(name, holder, self.now());
    }

    fn put_lease(&self, name: &str, holder: Option<&str>, renewed: Timestamp) {
        self.stub.put(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"namespace": "somewhere", "name": name},
            "spec": {
                "holderIdentity": holder, "leaseDurationSeconds": 15,
                "renewTime": format!("{renewed:.6}"),
            },
        }));
    }

    fn define(&self, annotations: &Value) {
        self.stub.put(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {
                "name": "metricsproducers.autoscaling.karpenter.sh", "annotations": annotations,
            },
        }));
    }

    fn running(&self) -> Vec<Family> {
        FAMILIES.into_iter().filter(|it| self.upstreams.running(*it).is_some()).collect()
    }
}

const KARMADA: &str = "karmada-controller-manager";
const KARPENTER: &str = "karpenter-leader-election";

#[tokio::test(start_paused = true)]
async fn a_family_is_left_alone_from_the_first_check_while_the_lease_is_renewed() {
    let bench = UpstreamBench::new();
    bench.renew(KARMADA, Some("karmada"));
    bench.start().await;
    assert_eq!(bench.running(), [Family::CronScaling]);
    for _ in 0..20 {
        bench.renew(KARMADA, Some("karmada"));
        sleep(Duration::from_secs(10)).await;
        assert_eq!(bench.running(), [Family::CronScaling]);
    }
    // The controller ends without a release of the lease.
    sleep(STALE).await;
    assert_eq!(bench.running(), []);
    // The controller is back.
    bench.renew(KARMADA, Some("karmada"));
    sleep(ONE_CHECK).await;
    assert_eq!(bench.running(), [Family::CronScaling]);
    // The controller releases the lease.
    bench.renew(KARMADA, Some(""));
    sleep(ONE_CHECK).await;
    assert_eq!(bench.running(), []);
    assert_eq!(bench.changed.lock().expect("lock is not poisoned").len(), 4);
}

/// Longer than the interval of the checks.
const ONE_CHECK: Duration = Duration::from_secs(31);

/// Longer than the validity of a renewal, plus one check.
const STALE: Duration = Duration::from_secs(91);

#[tokio::test(start_paused = true)]
async fn a_controller_installed_later_is_noticed_and_other_leases_are_ignored() {
    let bench = UpstreamBench::new();
    bench.renew("another", Some("another-holder"));
    bench.start().await;
    assert_eq!(bench.running(), []);
    bench.renew(KARMADA, Some("karmada"));
    sleep(ONE_CHECK).await;
    assert_eq!(bench.running(), [Family::CronScaling]);
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_lease_is_ignored_until_it_is_renewed() {
    let bench = UpstreamBench::new();
    let long_ago = bench.now() - SignedDuration::from_hours(24 * 30);
    bench.put_lease(KARMADA, Some("karmada"), long_ago);
    bench.start().await;
    assert_eq!(bench.running(), []);
    // If only a clock was wrong, the next renewal shows that.
    bench.put_lease(KARMADA, Some("karmada"), long_ago + SignedDuration::from_secs(2));
    sleep(ONE_CHECK).await;
    assert_eq!(bench.running(), [Family::CronScaling]);
}

#[tokio::test(start_paused = true)]
async fn later_versions_of_karpenter_are_ignored() {
    let bench = UpstreamBench::new();
    bench.renew(KARPENTER, Some("karpenter"));
    let progress = bench.start().await;
    assert_eq!(bench.running(), []);
    // Our CRDs have no annotation, or one from a user.
    bench.define(&json!({"example.org/owner": "harbour"}));
    bench.renew(KARPENTER, Some("karpenter"));
    sleep(ONE_CHECK).await;
    assert_eq!(bench.running(), []);
    bench.define(&json!({GENERATED: "v0.4.1"}));
    bench.renew(KARPENTER, Some("karpenter"));
    sleep(ONE_CHECK).await;
    assert_eq!(bench.running(), [Family::ScheduledCapacity]);
    drop(progress);
}

#[tokio::test(start_paused = true)]
async fn families_that_are_taken_over_are_not_checked() {
    let bench = UpstreamBench::taking_over(&FAMILIES);
    bench.renew(KARMADA, Some("karmada"));
    assert!(*bench.start().await.borrow() == ListProgress::Whole);
    assert_eq!(bench.running(), []);
    assert_eq!(bench.stub.requests_where(|_| true).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn without_permission_to_check_everything_is_reconciled() {
    let bench = UpstreamBench::new();
    bench.renew(KARMADA, Some("karmada"));
    let forbidden = Fault::respond(StatusCode::FORBIDDEN, "leases is forbidden");
    bench.stub.inject(forbidden.path_contains("/leases").always());
    assert!(*bench.start().await.borrow() == ListProgress::Whole);
    assert_eq!(bench.running(), []);
    bench.stub.clear_faults();
    sleep(ONE_CHECK).await;
    assert_eq!(bench.running(), [Family::CronScaling], "the permission was granted");
}

#[tokio::test(start_paused = true)]
async fn the_first_check_is_retried_and_later_failures_keep_the_last_result() {
    let bench = UpstreamBench::new();
    bench.renew(KARMADA, Some("karmada"));
    let failed = || Fault::respond(StatusCode::INTERNAL_SERVER_ERROR, "etcd is gone");
    bench.stub.inject(failed().path_contains("/leases").always());
    let mut progress = bench.start().await;
    let is_reported = |progress: &ListProgress| match progress {
        ListProgress::Failing(failure) => failure.reason.contains("etcd is gone"),
        _ => false,
    };
    assert!(is_reported(&progress.borrow()));
    bench.stub.clear_faults();
    progress.wait_for(|it| *it == ListProgress::Whole).await.expect("the sender exists");
    assert_eq!(bench.running(), [Family::CronScaling]);
    bench.stub.inject(failed().path_contains("/leases").always());
    sleep(4 * STALE).await;
    assert_eq!(bench.running(), [Family::CronScaling]);
}
