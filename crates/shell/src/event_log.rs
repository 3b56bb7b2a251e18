//! Events: what people see below `kubectl describe`.
//!
//! They tell, and nothing depends on them. So they wait behind all other writes, no more than so
//! many wait, and what is too much is counted and left out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::budget::{Urgency, WriteBudget, WriteLimits};
use crate::writer::{WriteError, Writer};

/// Whom an Event is about.
#[derive(Clone, Debug)]
pub struct ObjectReference {
    /// Such as `autoscaling.karmada.io/v1alpha1`.
    pub api_version: String,
    /// The kind.
    pub kind: &'static str,
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The object's own id, by which describing it finds its Events.
    pub uid: String,
}

/// One happening.
#[derive(Clone, Debug)]
pub struct Event {
    /// Whom it is about.
    pub regarding: ObjectReference,
    /// Whether somebody should look into it.
    pub is_warning: bool,
    /// What happened, in one word: `ScaledByRule`.
    pub reason: &'static str,
    /// What was being done, in one word: `Scale`.
    pub action: &'static str,
    /// The whole sentence.
    pub note: String,
}

/// A happening, and when it was told.
struct QueuedEvent {
    happening: Event,
    at: Timestamp,
}

/// As many may wait of either kind. Warnings wait by themselves, so that they are not left out for
/// thousands who tell that all went well.
const QUEUE_CAPACITY: usize = 500;
/// The longest note the API takes.
const MAX_NOTE_LENGTH: usize = 1024;
/// Many objects with the same to tell in the same minute are not worth a request each.
const EVENT_RATE: WriteLimits = WriteLimits { at_once: 1, per_second: Some(10.0), burst: 100 };

/// A namespace in which nothing can be created is not asked again for so long. Others wait for their
/// Events meanwhile, and there may be thousands of its own.
const TERMINATING_NAMESPACE_TTL: Duration = Duration::from_secs(30);

/// Where happenings go.
#[derive(Clone)]
pub struct EventLog {
    warnings: mpsc::Sender<QueuedEvent>,
    others: mpsc::Sender<QueuedEvent>,
    left_out: Counter,
}

/// Counts of Events.
#[derive(Clone, Debug, Default)]
pub struct EventMetrics {
    left_out: Counter,
}

impl EventMetrics {
    /// Adds them to what is exported.
    pub fn register(&self, registry: &mut Registry) {
        let help = "Events that were left out because too many were waiting, or were refused";
        registry.register("almanac_events_left_out", help, self.left_out.clone());
    }
}

impl EventLog {
    /// A log that is written by [`EventLogWriter::run`].
    #[must_use]
    pub fn new(writer: Writer, identity: &str, metrics: &EventMetrics) -> (Self, EventLogWriter) {
        let (warnings, told_warnings) = mpsc::channel(QUEUE_CAPACITY);
        let (others, told_others) = mpsc::channel(QUEUE_CAPACITY);
        let left_out = metrics.left_out.clone();
        let log = Self { warnings, others, left_out: left_out.clone() };
        let identity = Arc::from(identity);
        let writer = EventLogWriter {
            writer,
            warnings: told_warnings,
            others: told_others,
            identity,
            left_out,
        };
        (log, writer)
    }

    /// Tells something. Never waits.
    pub fn tell(&self, happening: Event) {
        let sender = if happening.is_warning { &self.warnings } else { &self.others };
        // It may wait for long, and people read an Event's time as that of what happened.
        if sender.try_send(QueuedEvent { happening, at: Timestamp::now() }).is_err() {
            self.left_out.inc();
        }
    }
}

/// Writes Events one after the other.
pub struct EventLogWriter {
    writer: Writer,
    warnings: mpsc::Receiver<QueuedEvent>,
    others: mpsc::Receiver<QueuedEvent>,
    identity: Arc<str>,
    left_out: Counter,
}

impl EventLogWriter {
    /// Writes until nobody is left who could tell something, and everything told is written.
    pub async fn run(mut self) {
        let pace = WriteBudget::new(EVENT_RATE);
        let mut written: u64 = 0;
        let mut ending: BTreeMap<String, Instant> = BTreeMap::new();
        while let Some(told) = self.next().await {
            ending.retain(|_, since| since.elapsed() < TERMINATING_NAMESPACE_TTL);
            let namespace = told.happening.regarding.namespace.clone();
            if ending.contains_key(&namespace) {
                self.left_out.inc();
                continue;
            }
            drop(pace.permit(Urgency::Event).await);
            written += 1;
            let collection = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
            let event = event(&told, &self.identity, written);
            match self.writer.create_event(&collection, &event).await {
                Ok(()) => {}
                // The term is about to be over, and this with it.
                Err(WriteError::Fenced(_)) => {
                    self.left_out.inc();
                }
                Err(WriteError::Refused(refusal)) if refusal.is_namespace_terminating() => {
                    self.left_out.inc();
                    ending.insert(namespace, Instant::now());
                }
                Err(error) => {
                    self.left_out.inc();
                    tracing::debug!(%error, "failed to write an event");
                }
            }
        }
    }
}

impl EventLogWriter {
    async fn next(&mut self) -> Option<QueuedEvent> {
        tokio::select! {
            biased;
            Some(warning) = self.warnings.recv() => Some(warning),
            Some(other) = self.others.recv() => Some(other),
            else => None,
        }
    }
}

fn event(told: &QueuedEvent, identity: &str, number: u64) -> Value {
    let Event { regarding, is_warning, reason, action, note } = &told.happening;
    let at = told.at;
    let note = cut(note, MAX_NOTE_LENGTH);
    // The name has to be one of its own; the object's name in front makes it readable.
    let unique = format!("{:x}{number:x}", at.as_nanosecond());
    let start = cut(&regarding.name, 200).trim_end_matches(['-', '.']);
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": { "name": format!("{start}.{unique}"), "namespace": regarding.namespace },
        "eventTime": format!("{at:.6}"),
        "reportingController": crate::writer::FIELD_MANAGER,
        "reportingInstance": cut(identity, 128),
        "action": action,
        "reason": reason,
        "type": if *is_warning { "Warning" } else { "Normal" },
        "note": note,
        "regarding": BTreeMap::from([
            ("apiVersion", &*regarding.api_version),
            ("kind", regarding.kind),
            ("namespace", &*regarding.namespace),
            ("name", &*regarding.name),
            ("uid", &*regarding.uid),
        ]),
    })
}

fn cut(text: &str, longest: usize) -> &str {
    let mut end = text.len().min(longest);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use almanac_stub::{Fault, Stub};
    use http::StatusCode;

    use super::*;
    use crate::lease::Fence;
    use crate::writer::WriteMetrics;

    /// An API server in which the namespace `ending` is being deleted.
    fn stub() -> Stub {
        let stub = Stub::new();
        let message = "events.events.k8s.io \"a\" is forbidden: unable to create new content in \
                       namespace ending because it is being terminated";
        let refused = Fault::answer(StatusCode::FORBIDDEN, message);
        stub.inject(refused.path_contains("/ending/").always());
        stub
    }

    fn log(
        stub: &Stub,
        counted: &WriteMetrics,
        events: &EventMetrics,
    ) -> (EventLog, EventLogWriter) {
        let budget = WriteBudget::new(WriteLimits::default());
        let writer = Writer::new(stub.client(), Fence::open(), budget, counted.clone());
        EventLog::new(writer, "test", events)
    }

    fn happening(namespace: &str) -> Event {
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
    async fn a_namespace_that_is_being_deleted_is_asked_once_and_holds_up_no_other() {
        let stub = stub();
        let (counted, events) = (WriteMetrics::default(), EventMetrics::default());
        let (log, telling) = log(&stub, &counted, &events);
        (0..300).for_each(|_| log.tell(happening("ending")));
        log.tell(happening("lasting"));
        drop(log);
        let begun = Instant::now();
        telling.run().await;
        let asked: Vec<bool> = stub.asked().iter().map(|it| it.path.contains("/ending/")).collect();
        assert_eq!(asked, [true, false]);
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
        assert_eq!(events.left_out.get(), 300);
        let mut registry = Registry::default();
        counted.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).expect("text");
        assert!(text.contains("code=\"terminating\"") && !text.contains("403"), "{text}");
    }

    #[tokio::test]
    async fn an_event_has_the_time_at_which_it_was_told_however_long_it_waits() {
        let (log, mut writer) =
            log(&Stub::new(), &WriteMetrics::default(), &EventMetrics::default());
        let before = Timestamp::now();
        log.tell(happening("shop"));
        let after = Timestamp::now();
        // Waits, as long as it takes for the clock to go on.
        while Timestamp::now() == after {}
        let told = writer.next().await.expect("it was told");
        assert!(before <= told.at && told.at <= after, "{before} <= {} <= {after}", told.at);
        let event = event(&told, "test", 1);
        assert_eq!(event["eventTime"], format!("{:.6}", told.at));
    }

    #[test]
    fn a_long_note_is_cut_between_characters() {
        assert_eq!(cut("für", 2), "f");
        assert_eq!(cut("short", 100), "short");
    }
}
