//! Following before an API server that hangs, or whose versions go back.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use kube::client::Body;
use serde_json::{Value, json};
use tower::service_fn;

use super::*;

/// Notes what it is told.
#[derive(Clone, Default)]
struct Noting(Arc<Mutex<Vec<String>>>);

impl Noting {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().expect("whole").push(what.into());
    }

    fn noted(&self) -> Vec<String> {
        self.0.lock().expect("whole").clone()
    }
}

impl Follower for Noting {
    fn begin(&mut self) {
        self.note("begin");
    }

    fn present(&mut self, object: DynamicObject) {
        self.note(format!("present {}", object.metadata.resource_version.unwrap_or_default()));
    }

    fn gone(&mut self, _: DynamicObject) {
        self.note("gone");
    }

    fn complete(&mut self) {
        self.note("complete");
    }

    fn failed(&mut self, why: &Unseen) {
        self.note(format!("failed: {}", why.reason));
    }

    fn goes_on(&mut self) {
        // Only of interest after a failure.
        let has_failed = self.noted().last().is_some_and(|it| it.starts_with("failed"));
        if has_failed {
            self.note("goes on");
        }
    }

    fn went_back(&mut self) {
        self.note("went back");
    }
}

/// A watch has these lines and ends; `None` for one that is never answered.
type Watched = Option<Vec<Value>>;

/// A list has this version, and one object of that version.
type Listed = Option<u64>;

/// Follows for so many seconds. The answers are chosen by the second since the beginning.
async fn follow_for(
    seconds: u64,
    listed: impl Fn(u64) -> Listed + Send + Sync + 'static,
    watched: impl Fn(u64) -> Watched + Send + Sync + 'static,
) -> Vec<String> {
    let begun = Instant::now();
    let answers = Arc::new((listed, watched));
    let service = service_fn(move |request: Request<Body>| {
        let answers = Arc::clone(&answers);
        let second = begun.elapsed().as_secs();
        async move {
            let text = if request.uri().query().is_some_and(|it| it.contains("watch=")) {
                let Some(lines) = answers.1(second) else { std::future::pending().await };
                tokio::time::sleep(Duration::from_secs(5)).await;
                lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
            } else {
                let Some(version) = answers.0(second) else { std::future::pending().await };
                list(version).to_string()
            };
            Ok::<_, Infallible>(Response::new(Body::from(text.into_bytes())))
        }
    });
    let views = Views::default();
    let (client, mut noting) = (Client::new(service, "default"), Noting::default());
    let kind = ApiResource {
        group: String::new(),
        version: "v1".into(),
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        plural: "configmaps".into(),
    };
    let view = views.begin("configmaps", true);
    let noted = noting.clone();
    let following = tokio::spawn(async move { follow(client, &kind, view, &mut noting).await });
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let too_old = views.too_old();
    following.abort();
    let mut noted = noted.noted();
    noted.extend(too_old.map(|kind| format!("the view of {kind} is too old")));
    noted
}

fn list(version: u64) -> Value {
    let version = version.to_string();
    json!({
        "kind": "ConfigMapList", "apiVersion": "v1", "metadata": { "resourceVersion": version },
        "items": [{ "metadata": { "name": "a", "resourceVersion": version } }],
    })
}

fn bookmark(version: u64) -> Value {
    let metadata = json!({ "resourceVersion": version.to_string() });
    let object = json!({ "kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata });
    json!({ "type": "BOOKMARK", "object": object })
}

#[tokio::test(start_paused = true)]
async fn a_watch_in_order_goes_on_and_its_view_is_new() {
    let noted = follow_for(600, |_| Some(100), |_| Some(vec![bookmark(100)])).await;
    assert_eq!(noted, ["begin", "present 100", "complete"]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_in_order_goes_on_and_its_view_is_new() {
    let noted = follow_for(600, |_| Some(100), |_| Some(Vec::new())).await;
    assert_eq!(noted, ["begin", "present 100", "complete"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_goes_on_after_a_failure_says_so_though_nothing_has_changed() {
    let busy = json!({ "type": "ERROR", "object": {
        "kind": "Status", "status": "Failure", "code": 503, "message": "busy",
    } });
    for in_order in [Vec::new(), vec![bookmark(100)]] {
        let busy = busy.clone();
        let watched =
            move |second| Some(if second < 5 { vec![busy.clone()] } else { in_order.clone() });
        let noted = follow_for(60, |_| Some(100), watched).await;
        assert_eq!(noted, ["begin", "present 100", "complete", "failed: busy", "goes on"]);
    }
}

const AGAIN: [&str; 7] =
    ["begin", "present 2000", "complete", "went back", "begin", "present 1000", "complete"];

#[tokio::test(start_paused = true)]
async fn versions_that_go_back_are_found_where_a_watch_stays_silent() {
    let listed = |second| Some(if second < 20 { 2_000 } else { 1_000 });
    let noted = follow_for(60, listed, |_| Some(Vec::new())).await;
    assert_eq!(noted, AGAIN);
}

#[tokio::test(start_paused = true)]
async fn versions_that_go_back_are_found_where_a_watch_tells_them() {
    let version = |second| if second < 20 { 2_000 } else { 1_000 };
    let watched = move |second| Some(vec![bookmark(version(second))]);
    let noted = follow_for(60, move |second| Some(version(second)), watched).await;
    assert_eq!(noted, AGAIN);
}

#[tokio::test(start_paused = true)]
async fn versions_that_go_back_are_found_where_the_known_one_is_refused() {
    let refused = json!({ "type": "ERROR", "object": {
        "kind": "Status", "status": "Failure", "code": 504, "message": "Too large resource version",
    } });
    let listed = |second| Some(if second < 20 { 2_000 } else { 1_000 });
    let watched = move |second| {
        let is_known = !(20..30).contains(&second);
        Some(vec![if is_known {
            bookmark(if second < 20 { 2_000 } else { 1_000 })
        } else {
            refused.clone()
        }])
    };
    let noted = follow_for(60, listed, watched).await;
    assert_eq!(noted[..3], AGAIN[..3]);
    assert_eq!(noted[3], "failed: Too large resource version");
    assert_eq!(noted[4..8], AGAIN[3..]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_watched_is_listed_again_with_pauses() {
    let noted = follow_for(300, |second| Some(100 + second), |_| None).await;
    assert_eq!(noted[3], "failed: no answer within 10 s", "{noted:?}");
    let listings = noted.iter().filter(|it| *it == "complete").count();
    assert!((6..=16).contains(&listings), "{listings}");
    assert!(!noted.iter().any(|it| it.contains("too old")), "{noted:?}");
}

#[tokio::test(start_paused = true)]
async fn a_kind_of_which_nothing_is_heard_has_an_old_view() {
    let listed = |second| (second < 5).then_some(100);
    let noted = follow_for(240, listed, |_| None).await;
    assert_eq!(noted.last().map(String::as_str), Some("the view of configmaps is too old"));
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_never_answered_is_told_and_asked_for_again() {
    let listed = |second| (second >= 100).then_some(100);
    let noted = follow_for(240, listed, |_| Some(vec![bookmark(100)])).await;
    assert_eq!(noted[0], "failed: no answer within 30 s", "{noted:?}");
    assert_eq!(noted[noted.len() - 3..], ["begin", "present 100", "complete"]);
}

/// Objects with so many bytes each, and how many were asked for with each request.
fn objects_of(lengths: &'static [usize]) -> (Client, Arc<Mutex<Vec<usize>>>) {
    let asked: Arc<Mutex<Vec<usize>>> = Arc::default();
    let noted = Arc::clone(&asked);
    let service = service_fn(move |request: Request<Body>| {
        let parameter = |name: &str| {
            let mut pairs = request.uri().query().unwrap_or_default().split('&');
            let value = pairs.find_map(|it| it.strip_prefix(name));
            value.map(|it| it.parse::<usize>().expect("a number"))
        };
        let (limit, begin) = (parameter("limit="), parameter("continue=").unwrap_or_default());
        let limit = limit.expect("pages are asked for");
        noted.lock().expect("whole").push(limit);
        let end = lengths.len().min(begin + limit);
        let items = lengths[begin..end].iter().map(|length| {
            let annotations = json!({ "long": "x".repeat(*length) });
            json!({ "metadata": { "resourceVersion": "1", "annotations": annotations } })
        });
        let next = if end < lengths.len() { end.to_string() } else { String::new() };
        let metadata = json!({ "resourceVersion": "1", "continue": next });
        let list = json!({ "metadata": metadata, "items": items.collect::<Vec<_>>() });
        let body = Body::from(list.to_string().into_bytes());
        std::future::ready(Ok::<_, Infallible>(Response::new(body)))
    });
    (Client::new(service, "default"), asked)
}

#[tokio::test]
async fn large_objects_come_in_pages_that_fit_however_many_there_are() {
    const LARGE: usize = 600 << 10;
    const LARGEST: usize = 3 << 20;
    let lengths = &[10, LARGE, LARGE, LARGE, LARGE, LARGEST, LARGE, 10];
    let (client, asked) = objects_of(lengths);
    let mut pages = Pages::new(client, "/api/v1/configmaps".to_owned());
    let mut listed = Vec::new();
    while let Some(page) = pages.fetch_next().await.expect("it is answered") {
        let mut of_page = Vec::new();
        page.for_each(|object| {
            of_page.extend(object.metadata.annotations.map(|it| it["long"].len()));
        })
        .expect("they can be read");
        let length: usize = of_page.iter().sum();
        assert!(of_page.len() == 1 || length <= 2 << 20, "{of_page:?}");
        listed.extend(of_page);
    }
    assert_eq!(listed, lengths);
    let asked = asked.lock().expect("whole").clone();
    assert_eq!(asked, [250, 62, 15, 3, 3, 1, 1, 1, 1, 1]);
}
