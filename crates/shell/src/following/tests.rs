//! Watching an API server that hangs, loses its history, or whose versions go backwards.

use std::sync::{Arc, Mutex};

use almanac_fixtures::objects;
use almanac_stub::{Fault, ReceivedRequest, Stub};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::*;
use crate::log::warnings::Warnings;
use crate::process_metrics::tests::exported;

/// Records the deliveries.
#[derive(Clone, Default)]
struct RecordingFollower(Arc<Mutex<Vec<String>>>);

impl RecordingFollower {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().expect("the lock is not poisoned").push(what.into());
    }

    fn noted(&self) -> Vec<String> {
        self.0.lock().expect("the lock is not poisoned").clone()
    }
}

impl Follower for RecordingFollower {
    fn begin_list(&mut self) {
        self.note("begin");
    }

    fn upsert(&mut self, object: DynamicObject) {
        self.note(format!("present {}", object.metadata.name.unwrap_or_default()));
    }

    fn delete(&mut self, object: DynamicObject) {
        self.note(format!("gone {}", object.metadata.name.unwrap_or_default()));
    }

    fn list_complete(&mut self) {
        self.note("complete");
    }

    fn failed(&mut self, why: &WatchFailure) {
        self.note(format!("failed: {}", why.reason));
    }

    fn resumed(&mut self) {
        // Recorded only after a failure.
        let has_failed = self.noted().last().is_some_and(|it| it.starts_with("failed"));
        if has_failed {
            self.note("goes on");
        }
    }

    fn versions_went_back(&mut self) {
        self.note("went back");
    }
}

/// A watch of the `ConfigMap`s of a stub.
struct Following {
    noting: RecordingFollower,
    watch_ages: WatchAges,
    _task: JoinSet<()>,
}

impl Following {
    fn begin(stub: &Stub) -> Self {
        Self::begin_selected(stub, Selection::default())
    }

    fn begin_selected(stub: &Stub, selection: Selection) -> Self {
        let (noting, watch_ages) = (RecordingFollower::default(), WatchAges::default());
        let kind = ApiResource {
            group: String::new(),
            version: "v1".into(),
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            plural: "configmaps".into(),
        };
        let (watch_age, client) = (watch_ages.begin("configmaps", Need::Always), stub.client());
        let (mut follower, mut task) = (noting.clone(), JoinSet::new());
        task.spawn(async move {
            follow_selected(client, &kind, &selection, watch_age, &mut follower).await;
        });
        Self { noting, watch_ages, _task: task }
    }

    /// The deliveries up to this many seconds later.
    async fn after(&self, seconds: u64) -> Vec<String> {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        self.noting.noted()
    }

    fn is_old(&self) -> bool {
        self.watch_ages.stale().is_some()
    }
}

/// JSON that is nested deeper than the parser's limit.
fn deep() -> Value {
    (0..200).fold(json!(1), |inner, _| json!([inner]))
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_is_named_and_counted_and_hides_no_other() {
    let warnings = Warnings::collect();
    let stub = stub_with(&["a", "b"]);
    let unusable = json!({ "data": { "deep": deep() }, "metadata": { "labels": { "c": deep() } } });
    stub.change("configmaps", "default", "a", &unusable);
    let following = Following::begin(&stub);
    let listed = ["begin", "present a", "present b", "complete"];
    assert_eq!(following.after(5).await, listed);
    stub.change("configmaps", "default", "b", &unusable);
    stub.put(config_map("c"));
    assert_eq!(following.after(5).await[listed.len()..], ["present b", "present c"]);
    // The log has one warning a minute.
    assert_eq!(warnings.lines().len(), 1);
    following.after(60).await;
    stub.change("configmaps", "default", "b", &json!({ "data": { "e": "f" } }));
    assert_eq!(following.after(5).await[listed.len() + 2..], ["present b"]);
    let reported = warnings.lines();
    let [list, change] = &reported[..] else { panic!("{reported:?}") };
    for (reported, name) in [(list, "default/a"), (change, "default/b")] {
        assert!(reported.contains(&format!("{name}: metadata.labels: ")), "{reported}");
        assert!(reported.contains("data: recursion limit exceeded"), "{reported}");
    }
    let text = exported(|it| it.register_collector(Box::new(following.watch_ages.clone())));
    let series = "almanac_unread_objects_total{kind=\"configmaps\"} 3";
    assert!(text.lines().any(|line| line == series), "{text}");
}

fn config_map(name: &str) -> Value {
    objects::config_map(name, &json!({}))
}

fn stub_with(names: &[&str]) -> Stub {
    let stub = Stub::new();
    for name in names {
        stub.put(config_map(name));
    }
    stub
}

fn is_list(request: &ReceivedRequest) -> bool {
    !request.is_watch()
}

#[tokio::test(start_paused = true)]
async fn a_healthy_watch_continues_and_is_fresh() {
    let stub = stub_with(&["a"]);
    let following = Following::begin(&stub);
    assert_eq!(following.after(600).await, ["begin", "present a", "complete"]);
    assert!(!following.is_old());
    assert_eq!(stub.requests_where(is_list).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_healthy_silent_watch_continues_and_is_fresh() {
    let stub = stub_with(&["a"]);
    stub.disable_bookmarks();
    let following = Following::begin(&stub);
    assert_eq!(following.after(600).await, ["begin", "present a", "complete"]);
    assert!(!following.is_old());
}

#[tokio::test(start_paused = true)]
async fn every_change_is_delivered_once_across_watches() {
    let stub = stub_with(&["a"]);
    let following = Following::begin(&stub);
    following.after(5).await;
    stub.put(config_map("b"));
    stub.put(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "another kind", "namespace": "default" }, "spec": {},
    }));
    stub.end_watches();
    stub.change("configmaps", "default", "a", &json!({ "data": { "tide": "high" } }));
    following.after(300).await;
    stub.delete("configmaps", "default", "b");
    let noted = following.after(300).await;
    assert_eq!(noted, ["begin", "present a", "complete", "present b", "present a", "gone b"]);
    assert_eq!(stub.requests_where(is_list).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_resumes_after_a_failure_reports_it_even_without_changes() {
    for has_bookmarks in [true, false] {
        let stub = stub_with(&["a"]);
        if !has_bookmarks {
            stub.disable_bookmarks();
        }
        let busy = Fault::respond(StatusCode::SERVICE_UNAVAILABLE, "busy");
        stub.inject(busy.matching(ReceivedRequest::is_watch));
        let noted = Following::begin(&stub).after(90).await;
        assert_eq!(noted, ["begin", "present a", "complete", "failed: busy", "goes on"]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_expired_version_leads_to_a_relist() {
    let stub = stub_with(&["a"]);
    let following = Following::begin(&stub);
    following.after(5).await;
    stub.inject(Fault::refuse().always());
    stub.end_watches();
    stub.delete("configmaps", "default", "a");
    stub.put(config_map("b"));
    stub.compact();
    following.after(20).await;
    stub.clear_faults();
    let mut noted = following.after(60).await.split_off(3);
    noted.retain(|it| it != "failed: the connection was cut");
    assert_eq!(noted[0], "failed: too old resource version: 101");
    assert_eq!(noted[1..], ["begin", "present b", "complete"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_expires_between_pages_is_restarted() {
    let names: Vec<String> = (0..300).map(|number| format!("{number:03}")).collect();
    let stub = stub_with(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let resumed = |request: &ReceivedRequest| request.parameter("continue").is_some();
    stub.inject(Fault::concurrent_change(Stub::compact).matching(resumed));
    let noted = Following::begin(&stub).after(60).await;
    let failed = noted.iter().position(|it| it.starts_with("failed: The provided continue"));
    let failed = failed.expect("the failure was reported");
    let presents = names.iter().map(|name| format!("present {name}"));
    let expected: Vec<String> = ["begin".to_owned()].into_iter().chain(presents).collect();
    assert_eq!(noted[..failed], expected[..251]);
    assert_eq!(noted[failed + 1..noted.len() - 1], expected);
    assert_eq!(noted.last().map(String::as_str), Some("complete"));
}

const AGAIN: [&str; 8] =
    ["begin", "present a", "present b", "complete", "went back", "begin", "present a", "complete"];

/// A stub with two objects, and a backup from before the second one.
fn stub_with_a_backup() -> (Stub, almanac_stub::Backup) {
    let stub = stub_with(&["a"]);
    let backup = stub.back_up();
    stub.put(config_map("b"));
    (stub, backup)
}

#[tokio::test(start_paused = true)]
async fn versions_that_go_back_are_detected_even_if_the_watch_is_silent() {
    for has_bookmarks in [true, false] {
        let (stub, backup) = stub_with_a_backup();
        if !has_bookmarks {
            stub.disable_bookmarks();
        }
        let following = Following::begin(&stub);
        following.after(20).await;
        stub.restore(&backup);
        assert_eq!(following.after(90).await, AGAIN, "bookmarks: {has_bookmarks}");
    }
}

#[tokio::test(start_paused = true)]
async fn versions_that_go_back_are_detected_if_the_known_version_is_refused() {
    let stub = stub_with(&["a"]);
    let (backup, following) = (stub.back_up(), Following::begin(&stub));
    following.after(20).await;
    stub.put(config_map("b"));
    following.after(1).await;
    let refused = Fault::respond(StatusCode::GATEWAY_TIMEOUT, "Too large resource version");
    stub.inject(refused.matching(|request| request.parameter("resourceVersion") == Some("102")));
    stub.restore(&backup);
    let noted = following.after(60).await.split_off(3);
    assert_eq!(noted[..2], ["present b", "failed: Too large resource version"]);
    assert_eq!(noted[2..], AGAIN[4..]);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_cannot_be_watched_is_relisted_with_backoff() {
    let stub = stub_with(&["a"]);
    stub.inject(Fault::hang().matching(ReceivedRequest::is_watch).always());
    let following = Following::begin(&stub);
    let noted = following.after(300).await;
    assert_eq!(noted[3], "failed: no response within 10 s", "{noted:?}");
    let listings = noted.iter().filter(|it| *it == "complete").count();
    assert!((6..=16).contains(&listings), "{listings}");
    assert!(!following.is_old());
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_falls_silent_is_abandoned_in_time_and_changes_are_delivered() {
    let stub = stub_with(&["a"]);
    stub.inject(Fault::silence().matching(ReceivedRequest::is_watch));
    let following = Following::begin(&stub);
    following.after(5).await;
    stub.put(config_map("b"));
    let noted = following.after(75).await.split_off(3);
    let expected = ["failed: the watch did not end in time", "begin", "present a", "present b"];
    assert_eq!(noted[..4], expected);
}

#[tokio::test(start_paused = true)]
async fn a_silent_kind_becomes_stale() {
    let stub = stub_with(&["a"]);
    let following = Following::begin(&stub);
    following.after(5).await;
    stub.inject(Fault::hang().always());
    stub.end_watches();
    following.after(170).await;
    assert!(!following.is_old());
    following.after(20).await;
    assert!(following.is_old());
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_list_is_reported_and_retried() {
    let stub = stub_with(&["a"]);
    stub.inject(Fault::hang().matching(is_list).times(3));
    let mut noted = Following::begin(&stub).after(240).await;
    let reported = noted.split_off(3);
    assert_eq!(noted, ["failed: no response within 30 s"; 3]);
    assert_eq!(reported, ["begin", "present a", "complete"]);
}

#[tokio::test]
async fn large_objects_are_listed_in_pages_of_limited_size() {
    const LARGE: usize = 600 << 10;
    const LARGEST: usize = 3 << 20;
    let lengths = [10, LARGE, LARGE, LARGE, LARGE, LARGEST, LARGE, 10];
    let stub = Stub::new();
    for (number, length) in lengths.into_iter().enumerate() {
        let mut object = config_map(&number.to_string());
        object["metadata"]["annotations"] = json!({ "long": "x".repeat(length) });
        stub.put(object);
    }
    let mut pages =
        Pages::new(stub.client(), "/api/v1/configmaps".to_owned(), &Selection::default(), None);
    let mut listed = Vec::new();
    while let Some(page) = pages.fetch_next().await.expect("a page") {
        let mut of_page = Vec::new();
        page.for_each(|read| {
            let object = read.object.expect("a readable object");
            of_page.extend(object.metadata.annotations.map(|it| it["long"].len()));
        })
        .expect("readable objects");
        let length: usize = of_page.iter().sum();
        assert!(of_page.len() == 1 || length <= 2 << 20, "{of_page:?}");
        listed.extend(of_page);
    }
    assert_eq!(listed, lengths);
    let page_sizes: Vec<usize> =
        stub.requests().iter().filter_map(|it| it.parameter("limit")?.parse().ok()).collect();
    assert_eq!(page_sizes, [250, 62, 15, 3, 3, 1, 1, 1, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_is_logged_once_until_it_is_granted_and_missing_again() {
    let (stub, warnings) = (stub_with(&["a"]), Warnings::collect());
    let forbidden = || Fault::respond(StatusCode::FORBIDDEN, "configmaps is forbidden").always();
    stub.inject(forbidden());
    let following = Following::begin(&stub);
    let failures = following.after(300).await.iter().filter(|it| it.starts_with("failed")).count();
    assert!(failures > 5, "{failures}");
    assert_eq!(warnings.lines().len(), 1, "{:?}", warnings.lines());
    stub.clear_faults();
    assert!(following.after(60).await.contains(&"present a".to_owned()));
    stub.inject(forbidden());
    following.after(300).await;
    assert_eq!(warnings.lines().len(), 2, "{:?}", warnings.lines());
}

#[tokio::test(start_paused = true)]
async fn lists_are_rare_where_only_the_watch_after_them_is_forbidden() {
    let (stub, warnings) = (stub_with(&["a"]), Warnings::collect());
    let forbidden = Fault::respond(StatusCode::FORBIDDEN, "configmaps is forbidden").always();
    stub.inject(forbidden.matching(ReceivedRequest::is_watch));
    let following = Following::begin(&stub);
    following.after(300).await;
    let lists = stub.requests_where(is_list).len();
    assert!((2..=30).contains(&lists), "{lists}");
    assert_eq!(warnings.lines().len(), 1, "{:?}", warnings.lines());
}

/// The versions requested by lists; a dash for the latest.
fn versions_listed(stub: &Stub) -> Vec<String> {
    let lists = stub.requests_where(is_list);
    let version =
        |it: &Arc<ReceivedRequest>| it.parameter("resourceVersion").unwrap_or("-").to_owned();
    lists.iter().map(version).collect()
}

#[tokio::test(start_paused = true)]
async fn a_list_from_the_cache_is_read_from_etcd_only_where_the_cache_is_behind() {
    let stub = stub_with(&["a"]);
    let selection = Selection { from_cache: true, ..Selection::default() };
    let following = Following::begin_selected(&stub, selection);
    assert_eq!(following.after(5).await, ["begin", "present a", "complete"]);
    assert_eq!(versions_listed(&stub), ["0"]);
    let lists = stub.requests_where(is_list);
    assert_eq!(lists[0].parameter("limit"), None, "a limit has it read from etcd");
    // If the API server is busy, the same version is requested again; if its cache is behind, the latest.
    stub.put(config_map("b"));
    stub.compact();
    stub.end_watches();
    let busy = || Fault::respond(StatusCode::SERVICE_UNAVAILABLE, "starting");
    let behind = Fault::respond(StatusCode::GATEWAY_TIMEOUT, "Too large resource version");
    stub.inject(busy().matching(is_list));
    stub.inject(behind.matching(is_list));
    stub.inject(Fault::respond(StatusCode::GONE, "too old").matching(ReceivedRequest::is_watch));
    let reported = following.after(120).await;
    assert!(reported.contains(&"present b".to_owned()), "{reported:?}");
    let versions = versions_listed(&stub);
    let [_, busy, behind, latest] = &versions[..] else { panic!("{versions:?}") };
    assert_eq!((busy, latest.as_str()), (behind, "-"), "{versions:?}");
    assert!(busy.parse::<u64>().is_ok_and(|version| version > 0), "{versions:?}");
}

#[tokio::test(start_paused = true)]
async fn a_list_from_the_cache_that_is_too_long_is_read_in_pages() {
    let stub = stub_with(&[]);
    for number in 0..6 {
        let text = "x".repeat(900_000);
        stub.put(objects::config_map(&format!("c{number}"), &json!({ "text": text })));
    }
    let selection = Selection { from_cache: true, ..Selection::default() };
    let following = Following::begin_selected(&stub, selection);
    assert_eq!(following.after(5).await.len(), 8);
    let lists = stub.requests_where(is_list);
    assert_eq!(lists[0].parameter("limit"), None);
    assert!(lists[1..].iter().all(|it| it.parameter("limit").is_some()));
}
