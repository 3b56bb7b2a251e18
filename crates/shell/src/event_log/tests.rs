//! Events against a stub of the API: once, repeated, too often, or in a namespace that is being deleted.

use almanac_stub::{Fault, Stub};
use http::{Method, StatusCode};

use super::*;
use crate::lease::Fence;
use crate::process_metrics::tests::exported;
use crate::writer::WriteMetrics;

/// An API server in which the namespace `ending` is being deleted.
fn stub() -> Stub {
    let stub = Stub::new();
    let message = "events.events.k8s.io \"a\" is forbidden: unable to create new content in \
                   namespace ending because it is being terminated";
    let refused = Fault::respond(StatusCode::FORBIDDEN, message);
    stub.inject(refused.path_contains("/ending/").always());
    stub
}

fn log(stub: &Stub, counted: &WriteMetrics, events: &EventMetrics) -> (EventLog, EventLogWriter) {
    let budget = WriteBudget::new(WriteLimits::default());
    let writer = Writer::new(stub.client(), Fence::open(), budget, counted.clone());
    EventLog::new(writer, "test", events)
}

pub(super) fn event_in(namespace: &str) -> Event {
    let regarding = ObjectReference {
        api_version: "v1".to_owned(),
        kind: "Shop",
        namespace: namespace.to_owned(),
        name: "a".to_owned(),
        uid: "1".to_owned(),
    };
    let note = "it is so".to_owned();
    Event { regarding, is_warning: true, reason: "So", action: "Be", note }
}

#[tokio::test(start_paused = true)]
async fn a_terminating_namespace_gets_one_request_and_delays_no_other() {
    let stub = stub();
    let (counted, events) = (WriteMetrics::default(), EventMetrics::default());
    let (log, writer) = log(&stub, &counted, &events);
    (0..300).for_each(|_| log.emit(event_in("ending")));
    log.emit(event_in("lasting"));
    drop(log);
    let begun = Instant::now();
    writer.run().await;
    let sent: Vec<bool> = stub.requests().iter().map(|it| it.path.contains("/ending/")).collect();
    assert_eq!(sent, [true, false]);
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(events.left_out.get(), 300);
    let text = exported(|registry| counted.register(registry));
    assert!(text.contains("code=\"terminating\"") && !text.contains("403"), "{text}");
}

#[tokio::test]
async fn an_event_has_the_time_it_was_emitted_however_long_it_waits() {
    let (log, mut writer) = log(&Stub::new(), &WriteMetrics::default(), &EventMetrics::default());
    let before = Timestamp::now();
    log.emit(event_in("shop"));
    let after = Timestamp::now();
    // Waits until the clock has advanced.
    while Timestamp::now() == after {}
    let queued = writer.next().await.expect("a queued Event");
    assert!(before <= queued.at && queued.at <= after, "{before} <= {} <= {after}", queued.at);
    let event = event_object(&queued.event, queued.at, "test", "a.1");
    assert_eq!(event["eventTime"], format!("{:.6}", queued.at));
}

/// The Events written, from those emitted; each is emitted that many minutes after the one before.
async fn written(stub: &Stub, emitted: Vec<(u64, Event)>) -> Vec<(String, u64)> {
    let (log, writer) = log(stub, &WriteMetrics::default(), &EventMetrics::default());
    let emit = async move {
        for (minutes, event) in emitted {
            tokio::time::sleep(Duration::from_mins(minutes)).await;
            log.emit(event);
        }
    };
    tokio::join!(writer.run(), emit);
    let events = stub.requests_where(|sent| sent.method == Method::POST);
    let count_of = |name: &str| {
        let event = stub.object("events", "shop", name);
        event.map_or(0, |event| event["series"]["count"].as_u64().unwrap_or(1))
    };
    let note = |event: &Value| event["note"].as_str().unwrap_or_default().to_owned();
    let counted = events.iter().map(|it| {
        (note(&it.body), count_of(it.body["metadata"]["name"].as_str().unwrap_or_default()))
    });
    counted.collect()
}

fn noted(note: &str) -> Event {
    Event { note: note.to_owned(), ..event_in("shop") }
}

#[tokio::test(start_paused = true)]
async fn a_repetition_is_counted_in_the_first_event() {
    let stub = Stub::new();
    let emitted = vec![(0, noted("up")), (5, noted("up")), (0, noted("down")), (5, noted("up"))];
    let events = written(&stub, emitted).await;
    assert_eq!(events, [("up".to_owned(), 3), ("down".to_owned(), 1)]);
    let patches = stub.requests_where(|sent| sent.method == Method::PATCH);
    let [second, third] = &patches[..] else { panic!("{patches:?}") };
    assert_eq!(second.path, third.path);
    assert_eq!(second.body["series"]["count"], 2);
    let name = third.path.rsplit('/').next().expect("a name");
    let event = stub.object("events", "shop", name).expect("a created Event");
    let last = event["series"]["lastObservedTime"].as_str().expect("a time");
    assert!(event["eventTime"].as_str().expect("a time") < last, "{event}");
    assert_eq!(last.len(), "2026-11-20T09:00:00.000000Z".len(), "{last}");
}

#[tokio::test(start_paused = true)]
async fn a_series_is_over_when_nothing_has_happened_for_six_minutes() {
    let events = written(&Stub::new(), vec![(0, noted("up")), (6, noted("up"))]).await;
    assert_eq!(events, [("up".to_owned(), 1), ("up".to_owned(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn any_difference_makes_a_separate_event() {
    let of_another = ObjectReference { uid: "2".to_owned(), ..event_in("shop").regarding };
    let others = [
        Event { note: "it is not so".to_owned(), ..event_in("shop") },
        Event { reason: "NotSo", ..event_in("shop") },
        Event { is_warning: false, ..event_in("shop") },
        Event { regarding: of_another, ..event_in("shop") },
    ];
    for other in others {
        let emitted = vec![(0, event_in("shop")), (1, other.clone())];
        let counts = written(&Stub::new(), emitted).await.into_iter().map(|(_, count)| count);
        assert_eq!(counts.collect::<Vec<_>>(), [1, 1], "{other:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deleted_event_starts_a_new_series() {
    let stub = Stub::new();
    let expired = Fault::concurrent_change(|stub| {
        let created = stub.requests_where(|sent| sent.method == Method::POST);
        let name = created[0].body["metadata"]["name"].as_str().expect("a name");
        stub.delete("events", "shop", name);
    });
    stub.inject(expired.method(Method::PATCH));
    let emitted = [(); 3].map(|()| (1, noted("up"))).to_vec();
    assert_eq!(written(&stub, emitted).await, [("up".to_owned(), 0), ("up".to_owned(), 2)]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_event_starts_no_series_but_one_whose_response_was_lost_does() {
    let refused = Fault::respond(StatusCode::FORBIDDEN, "no");
    for (fault, second, counts) in
        [(refused, Method::POST, vec![0, 1]), (Fault::lose_response(), Method::PATCH, vec![2])]
    {
        let stub = Stub::new();
        stub.inject(fault);
        let emitted = [(); 2].map(|()| (1, noted("up"))).to_vec();
        let counted = written(&stub, emitted).await.into_iter().map(|(_, count)| count);
        assert_eq!(counted.collect::<Vec<_>>(), counts);
        let methods: Vec<_> = stub.requests().iter().map(|sent| sent.method.clone()).collect();
        assert_eq!(methods, [Method::POST, second]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_warning_comes_first_and_is_not_dropped_for_thousands_of_normal_events() {
    let (stub, events) = (Stub::new(), EventMetrics::default());
    let (log, writer) = log(&stub, &WriteMetrics::default(), &events);
    let waiting = EventPace::default().waiting;
    for number in 0..waiting + 20 {
        log.emit(Event { is_warning: false, ..noted(&format!("up {number}")) });
    }
    log.emit(noted("down"));
    drop(log);
    writer.run().await;
    assert_eq!(events.left_out.get(), 20);
    let creations = stub.requests_where(|sent| sent.method == Method::POST);
    assert_eq!(creations.len(), waiting + 1);
    let first = &creations[0].body;
    assert_eq!((&first["note"], &first["type"]), (&json!("down"), &json!("Warning")));
    let about = json!({
        "apiVersion": "v1", "kind": "Shop", "namespace": "shop", "name": "a", "uid": "1",
    });
    assert_eq!(first["regarding"], about, "`kubectl describe` finds the Event by this reference");
    assert_eq!(creations[1].body["type"], "Normal");
}

#[test]
fn a_long_note_is_truncated_at_a_character_boundary() {
    assert_eq!(cut("für", 2), "f");
    assert_eq!(cut("short", 100), "short");
}
