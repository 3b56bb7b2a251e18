//! Kinds that do not respond, and permissions that are granted late. A real API server cannot be made to hang, and
//! waiting for it would take too long.

mod bounds;
mod kinds;

use std::time::Duration;

use almanac_engine::cron_scaling::FiringOutcome;
use almanac_stub::{Fault, Kind as StubKind, ReceivedRequest, Stub};
use futures::FutureExt as _;
use http::{Method, StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio::time::Instant;

use crate::bench::{TestBench, at_nine, policy, target};

const HEALTHY: usize = 20;
/// Every bench starts at this time of day.
const BEGIN: &str = "2026-11-20T08:59:30Z";

fn at(time: &str) -> Timestamp {
    format!("2026-11-20T{time}Z").parse().expect("the instant is valid")
}

/// Matches requests from this time of day on, by the clock of a bench that starts now.
fn from(time: &str) -> impl Fn(&ReceivedRequest) -> bool + Send + Sync + 'static {
    let start: Timestamp = BEGIN.parse().expect("the instant is valid");
    let later =
        Duration::try_from(at(time).duration_since(start)).expect("the duration is positive");
    let since = Instant::now() + later;
    move |request| request.at >= since
}

fn name(number: usize) -> String {
    format!("healthy-{number}")
}

/// The number of healthy Deployments that were scaled between nine o'clock and some seconds later.
fn in_time(bench: &TestBench) -> usize {
    let in_time = at("09:00:00")..at("09:00:02");
    let patched = bench.patched();
    let deployments = patched.iter().filter(|(_, path)| path.contains("/deployments/healthy-"));
    deployments.filter(|(when, _)| in_time.contains(when)).count()
}

/// An API server with healthy Deployments, and targets of a kind that will hang.
fn stub(hung: usize) -> Stub {
    let stub = Stub::new();
    stub.serve(StubKind::new("hangs.example.com/v1", "Hung", "hung").with_scale());
    for number in 0..HEALTHY {
        stub.put(target("apps/v1", "Deployment", &name(number)));
    }
    for number in 0..hung {
        stub.put(target("hangs.example.com/v1", "Hung", &format!("a-{number}")));
    }
    stub
}

#[tokio::test(start_paused = true)]
async fn a_hanging_api_group_holds_up_no_other_kind() {
    let stub = stub(0);
    stub.inject(Fault::hang().path_contains("/apis/hangs.example.com").always());
    let mut bench = TestBench::at(BEGIN, &stub);
    for number in 0..30 {
        for other in 0..10 {
            let (name, kind) = (format!("a-{number}-{other}"), format!("Kind{number}"));
            bench.upsert(at_nine(&name, "hangs.example.com/v1", &kind));
        }
    }
    for number in 0..HEALTHY {
        bench.upsert(at_nine(&name(number), "apps/v1", "Deployment"));
    }
    bench.run(60).await;
    assert_eq!(in_time(&bench), HEALTHY, "{:?}", bench.patched());
}

#[tokio::test(start_paused = true)]
async fn hanging_scales_hold_up_no_other_kind() {
    let stub = stub(1_200);
    let hangs = Fault::hang().path_contains("/apis/hangs.example.com/v1/");
    stub.inject(hangs.matching(from("09:00:00")).always());
    let mut bench = TestBench::at(BEGIN, &stub);
    for number in 0..1_200 {
        bench.upsert(at_nine(&format!("a-{number}"), "hangs.example.com/v1", "Hung"));
    }
    for number in 0..HEALTHY {
        bench.upsert(at_nine(&name(number), "apps/v1", "Deployment"));
    }
    bench.run(60).await;
    assert_eq!(in_time(&bench), HEALTHY, "{:?}", bench.patched());
}

#[tokio::test(start_paused = true)]
async fn a_firing_is_applied_if_its_kind_responds_again_in_time() {
    let stub = stub(300);
    let (hangs, again) = (from("09:00:00"), from("09:00:45"));
    let hangs = Fault::hang().matching(move |request| hangs(request) && !again(request));
    stub.inject(hangs.path_contains("/apis/hangs.example.com/v1/").always());
    let mut bench = TestBench::at(BEGIN, &stub);
    for number in 0..300 {
        bench.upsert(at_nine(&format!("a-{number}"), "hangs.example.com/v1", "Hung"));
    }
    bench.run(200).await;
    assert_eq!(bench.patched().len(), 300);
}

#[tokio::test(start_paused = true)]
async fn a_target_created_just_before_its_watch_event_is_found() {
    let stub = Stub::new();
    // The watch of the kind lags.
    stub.inject(Fault::silence().matching(ReceivedRequest::is_watch).always());
    let made =
        Fault::concurrent_change(|stub| stub.put(target("apps/v1", "Deployment", "healthy-1")));
    stub.inject(made.path_contains("/healthy-1/scale"));
    let mut bench = TestBench::at(BEGIN, &stub);
    for name in ["healthy-1", "missing"] {
        bench.upsert(at_nine(name, "apps/v1", "Deployment"));
    }
    bench.run(10).await;
    assert_eq!(bench.not_ready_reason(&policy("healthy-1")), None);
    assert_eq!(bench.not_ready_reason(&policy("missing")), Some("TargetNotFound"));
    bench.run(60).await;
    assert!(bench.patched()[0].1.contains("/healthy-1/scale"), "{:?}", bench.patched());
    assert_eq!(bench.patched().len(), 1);
    assert_eq!(bench.requests_for("/missing/"), 1, "the target is not requested again");
}

#[tokio::test(start_paused = true)]
async fn a_granted_permission_clears_the_condition_within_90_seconds_without_a_write() {
    let granted = at("09:30:00");
    let stub = stub(0);
    let may_not = Fault::respond(
        StatusCode::FORBIDDEN,
        "deployments.apps \"healthy-1\" is forbidden: User \"almanac\" cannot patch resource \
         \"deployments/scale\"",
    );
    let is_granted = from("09:30:00");
    stub.inject(may_not.method(Method::PATCH).matching(move |it| !is_granted(it)).always());
    let mut bench = TestBench::at(BEGIN, &stub);
    bench.upsert(at_nine("healthy-1", "apps/v1", "Deployment"));
    bench.run(30 * 60 + 29).await;
    assert_eq!(bench.not_ready_reason(&policy("healthy-1")), Some("TargetForbidden"));
    bench.run(90).await;
    assert_eq!(bench.not_ready_reason(&policy("healthy-1")), None);
    let written = bench.patched();
    let after: Vec<_> = written.iter().filter(|(when, _)| *when >= granted).collect();
    assert!(!after.is_empty(), "the write was tried: {written:?}");
    assert!(after.iter().all(|(_, path)| path.contains("dryRun=All")), "{written:?}");
    bench.run(10 * 60).await;
    assert_eq!(bench.patched().len(), written.len(), "a fixed target is not probed again");
}

#[tokio::test(start_paused = true)]
async fn a_value_that_another_writer_reverts_is_reported_and_not_rewritten() {
    let stub = stub(0);
    let mut bench = TestBench::at(BEGIN, &stub);
    bench.upsert(at_nine("healthy-1", "apps/v1", "Deployment"));
    bench.run(31).await;
    let back = json!({
        "metadata": { "managedFields": [{
            "manager": "kube-controller-manager", "operation": "Update",
            "fieldsV1": { "f:spec": { "f:replicas": {} } },
        }] },
        "spec": { "replicas": 2 },
    });
    stub.change("deployments", "default", "healthy-1", &back);
    bench.run(30).await;
    assert_eq!(bench.patched().len(), 1, "no contention: {:?}", bench.patched());
    let state = bench.cluster.lock();
    let object = policy("healthy-1");
    let memory = state.world.cron_scaling.policies[&object.identity]
        .memory
        .as_ref()
        .expect("a turn has run");
    let undone = memory.rules[0].undone.as_ref().expect("the change is recorded");
    assert_eq!(&*undone.message, "another writer has set replicas to 2 since");
    let target = state.world.target_of(&object).expect("a target exists");
    let by = state.targets.foreign(target.target.identity()).first().map(|it| &*it.by);
    assert_eq!(by, Some("kube-controller-manager"));
    drop(state);
    let status = bench.status(&object).expect("a status exists").to_string();
    let advised = "to 2 since; a HorizontalPodAutoscaler probably scales";
    assert!(status.contains(advised), "{status}");
}

#[tokio::test(start_paused = true)]
async fn a_panicking_target_watch_is_detected() {
    let mut bench = TestBench::at(BEGIN, &stub(0));
    bench.upsert(at_nine("healthy-1", "apps/v1", "Deployment"));
    bench.run(1).await;
    let targets = bench.targets();
    assert!(targets.follower_stopped().now_or_never().is_none());
    targets.followers.lock().expect("lock is not poisoned").abort_all();
    let noticed = tokio::time::timeout(Duration::from_secs(1), targets.follower_stopped());
    assert!(noticed.await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_denial_by_admission_is_not_a_missing_permission() {
    let stub = stub(0);
    let denied = "admission webhook \"few\" denied the request: too many";
    let denied = Fault::respond(StatusCode::FORBIDDEN, denied);
    stub.inject(denied.matching(ReceivedRequest::is_write).always());
    let mut bench = TestBench::at(BEGIN, &stub);
    bench.upsert(at_nine("healthy-1", "apps/v1", "Deployment"));
    bench.run(10 * 60).await;
    assert_eq!(bench.not_ready_reason(&policy("healthy-1")), None);
    let written = bench.patched();
    assert!(!written.is_empty() && written.iter().all(|(_, path)| !path.contains("dryRun=All")));
    let state = bench.cluster.lock();
    let memory = state.world.cron_scaling.policies[&policy("healthy-1").identity].memory.as_ref();
    let failed = format!("{:?}", memory.expect("a turn has run").rules[0].executions);
    assert!(failed.contains("refused by admission: admission webhook"), "{failed}");
}

#[tokio::test(start_paused = true)]
async fn forbidden_targets_are_tried_a_few_at_a_time_and_briefly() {
    const FORBIDDEN: usize = 60;
    let stub = Stub::new();
    for number in 0..FORBIDDEN {
        stub.put(target("apps/v1", "Deployment", &format!("a-{number}")));
    }
    stub.inject(Fault::hang().matching(ReceivedRequest::is_dry_run).always());
    let words = "deployments.apps \"a\" is forbidden: User \"almanac\" cannot patch";
    let may_not = Fault::respond(StatusCode::FORBIDDEN, words);
    stub.inject(may_not.method(Method::PATCH).path_contains("/a-").always());
    let mut bench = TestBench::at(BEGIN, &stub);
    for number in 0..FORBIDDEN {
        bench.upsert(at_nine(&format!("a-{number}"), "apps/v1", "Deployment"));
    }
    bench.run(20 * 60).await;
    let probes: Vec<Timestamp> = {
        let probes = bench.patched().into_iter().filter(|(_, path)| path.contains("dryRun=All"));
        probes.map(|(at, _)| at).collect()
    };
    assert!(probes.len() > 100, "{}", probes.len());
    // Each probe waits for two seconds, and at most four run at the same time.
    let within = |at: Timestamp| {
        let before = |other: &&Timestamp| {
            **other <= at && at.duration_since(**other) < SignedDuration::from_secs(2)
        };
        probes.iter().filter(before).count()
    };
    let max = probes.iter().map(|at| within(*at)).max();
    assert_eq!(max, Some(4));
}

/// The results of a policy's firings, newest first.
fn endings(bench: &TestBench, name: &str) -> Vec<FiringOutcome> {
    let state = bench.cluster.lock();
    let memory = state.world.cron_scaling.policies[&policy(name).identity].memory.as_ref();
    let rule = &memory.expect("a turn has run").rules[0];
    rule.executions.iter().map(|it| it.ending.clone()).collect()
}

fn is_scaling(request: &ReceivedRequest) -> bool {
    request.is_write() && request.path.ends_with("/healthy-1/scale")
}

#[tokio::test(start_paused = true)]
async fn a_firing_is_applied_once_regardless_of_its_first_attempts() {
    let respond = |code| Fault::respond(code, "injected by a test");
    let busy = || Fault::wait(StatusCode::TOO_MANY_REQUESTS, 3);
    for (fault, times) in [
        (respond(StatusCode::CONFLICT), 1),
        (respond(StatusCode::CONFLICT), 6),
        (respond(StatusCode::INTERNAL_SERVER_ERROR), 2),
        (respond(StatusCode::SERVICE_UNAVAILABLE), 2),
        (busy(), 1),
        (busy(), 6),
        (Fault::lose_response(), 1),
        (Fault::refuse(), 2),
        (Fault::hang(), 2),
        (Fault::silence(), 2),
    ] {
        let fault = fault.matching(is_scaling).times(times);
        let (stub, what) = (stub(0), format!("{fault:?}"));
        stub.inject(fault);
        let mut bench = TestBench::at(BEGIN, &stub);
        bench.upsert(at_nine("healthy-1", "apps/v1", "Deployment"));
        bench.run(300).await;
        let target = stub.object("deployments", "default", "healthy-1").expect("the object exists");
        assert_eq!(target["spec"]["replicas"], 3, "{what}");
        assert_eq!(target["metadata"]["generation"], 2, "one change: {what}");
        let endings = endings(&bench, "healthy-1");
        assert!(matches!(endings[..], [FiringOutcome::Done(_)]), "{what}: {endings:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_conflicting_change_of_a_target_leads_to_a_fresh_decision() {
    let changes = [
        (json!({ "metadata": { "labels": { "tide": "high" } } }), 2, 2),
        (json!({ "spec": { "replicas": 2 } }), 2, 3),
        // Another field manager was faster, with the very same value.
        (json!({ "spec": { "replicas": 3 } }), 1, 2),
    ];
    for (change, patches, generation) in changes {
        let stub = stub(0);
        let by = change.clone();
        let during_write = Fault::concurrent_change(move |stub| {
            stub.change("deployments", "default", "healthy-1", &by);
        });
        stub.inject(during_write.matching(is_scaling));
        let mut bench = TestBench::at(BEGIN, &stub);
        bench.upsert(at_nine("healthy-1", "apps/v1", "Deployment"));
        bench.run(60).await;
        let target = stub.object("deployments", "default", "healthy-1").expect("the object exists");
        assert_eq!(target["spec"]["replicas"], 3, "{change}");
        assert_eq!(target["metadata"]["generation"], generation, "{change}");
        assert_eq!(bench.patched().len(), patches, "{change}: {:?}", bench.patched());
        let endings = endings(&bench, "healthy-1");
        assert!(matches!(endings[..], [FiringOutcome::Done(_)]), "{change}: {endings:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_expired_is_complete_again_before_the_next_firing() {
    let stub = stub(0);
    let mut bench = TestBench::at(BEGIN, &stub);
    bench.upsert(at_nine("healthy-1", "apps/v1", "Deployment"));
    bench.run(5).await;
    stub.end_watches();
    stub.change("deployments", "default", "healthy-1", &json!({ "spec": { "replicas": 9 } }));
    stub.compact();
    bench.run(55).await;
    let target = stub.object("deployments", "default", "healthy-1").expect("the object exists");
    assert_eq!(target["spec"]["replicas"], 3);
    assert_eq!(bench.patched().len(), 1, "the version was known: {:?}", bench.patched());
}
