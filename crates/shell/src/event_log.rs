//! Kubernetes Events, as at the end of `kubectl describe`.
//!
//! Events are informational, and nothing depends on them. So they wait behind all other writes in a bounded
//! queue, and the excess is counted and dropped. Repetitions are counted in the same series.

mod series;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::budget::{Urgency, WriteBudget, WriteLimits};
use crate::writer::{ObjectPath, WriteError, Writer};
use series::RecentSeries;

/// The object that an Event is about.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ObjectReference {
    /// The API version, such as `autoscaling.karmada.io/v1alpha1`.
    pub api_version: String,
    /// The kind of the object.
    pub kind: &'static str,
    /// The namespace of the object.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// The object's UID, by which `kubectl describe` finds its Events.
    pub uid: String,
}

/// One Event. Equal Events in quick succession are written as one Event with a count; so a note does not repeat
/// other fields of the Event, such as its time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Event {
    /// The object that the Event is about.
    pub regarding: ObjectReference,
    /// Whether the Event needs attention.
    pub is_warning: bool,
    /// The Event reason, as one word: `ScaledByRule`.
    pub reason: &'static str,
    /// The action, as one word: `Scale`.
    pub action: &'static str,
    /// The full sentence.
    pub note: String,
}

/// An Event with the time at which it was queued.
struct QueuedEvent {
    event: Event,
    at: Timestamp,
    /// A fixed name, if several processes report the Event and it must exist once.
    name: Option<String>,
}

/// The maximum length of a note in the API.
const MAX_NOTE_LENGTH: usize = 1024;
/// The limits on written and on waiting Events.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EventPace {
    /// The length of each queue. Warnings have a queue of their own, so that thousands of normal Events do not
    /// crowd them out.
    pub waiting: usize,
    /// The Events per second, sustained. When many objects report the same in one minute, not
    /// every Event is worth an immediate request.
    pub per_second: f64,
    /// The Events that are written immediately after a quiet time.
    pub burst: u32,
}

impl Default for EventPace {
    fn default() -> Self {
        Self { waiting: 500, per_second: 10.0, burst: 100 }
    }
}

/// The time without retries for a namespace that is being deleted: it may have thousands of Events,
/// and other namespaces are waiting for theirs.
const TERMINATING_NAMESPACE_TTL: Duration = Duration::from_secs(30);

/// The sending side of the Event queue.
#[derive(Clone)]
pub struct EventLog {
    warnings: mpsc::Sender<QueuedEvent>,
    others: mpsc::Sender<QueuedEvent>,
    left_out: Counter,
}

/// The metrics of Events.
#[derive(Clone, Debug, Default)]
pub struct EventMetrics {
    left_out: Counter,
}

impl EventMetrics {
    /// Registers the metrics.
    pub fn register(&self, registry: &mut Registry) {
        let help = "Events that were dropped because too many were waiting, or that were refused";
        registry.register("almanac_events_left_out", help, self.left_out.clone());
    }
}

impl EventLog {
    /// A log that is written by [`EventLogWriter::run`].
    #[must_use]
    pub fn new(writer: Writer, identity: &str, metrics: &EventMetrics) -> (Self, EventLogWriter) {
        Self::with_pace(writer, identity, metrics, EventPace::default())
    }

    /// A log with other limits.
    #[must_use]
    pub fn with_pace(
        writer: Writer,
        identity: &str,
        metrics: &EventMetrics,
        pace: EventPace,
    ) -> (Self, EventLogWriter) {
        let (warnings, queued_warnings) = mpsc::channel(pace.waiting);
        let (others, queued_others) = mpsc::channel(pace.waiting);
        let left_out = metrics.left_out.clone();
        let log = Self { warnings, others, left_out: left_out.clone() };
        let (warnings, others) = (queued_warnings, queued_others);
        let identity = Arc::from(identity);
        (log, EventLogWriter { writer, warnings, others, identity, left_out, pace })
    }

    /// Queues an Event to be written. Never waits.
    pub fn emit(&self, event: Event) {
        self.queue(event, None);
    }

    /// Queues an Event that many processes report. Only the first process writes it, until
    /// the case changes: `about` identifies the case, such as the version of the object.
    pub fn emit_once(&self, event: Event, about: &str) {
        let mut hasher = DefaultHasher::new();
        (&event.regarding.uid, event.reason, &event.note, about).hash(&mut hasher);
        let start = series::name_of_object(&event);
        let name = format!("{start}.{:016x}", hasher.finish());
        self.queue(event, Some(name));
    }

    fn queue(&self, mut event: Event, name: Option<String>) {
        event.note.truncate(cut(&event.note, MAX_NOTE_LENGTH).len());
        let sender = if event.is_warning { &self.warnings } else { &self.others };
        // An Event may wait for a long time, and users read its time as that of its cause.
        if sender.try_send(QueuedEvent { event, at: Timestamp::now(), name }).is_err() {
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
    pace: EventPace,
}

impl EventLogWriter {
    /// Writes until every sender is dropped and every queued Event is written.
    pub async fn run(mut self) {
        let EventPace { per_second, burst, .. } = self.pace;
        let limits = WriteLimits { at_once: 1, per_second: Some(per_second), burst };
        let pace = WriteBudget::new(limits);
        let mut recent = RecentSeries::default();
        let mut ending: BTreeMap<String, Instant> = BTreeMap::new();
        while let Some(queued) = self.next().await {
            ending.retain(|_, since| since.elapsed() < TERMINATING_NAMESPACE_TTL);
            let namespace = queued.event.regarding.namespace.clone();
            if ending.contains_key(&namespace) {
                self.left_out.inc();
                continue;
            }
            drop(pace.permit(Urgency::Event).await);
            match self.write(queued, &mut recent).await {
                Ok(()) => continue,
                // The term is about to end, and the writer with it.
                Err(WriteError::Fenced(_)) => {}
                Err(WriteError::Refused(refusal)) if refusal.is_namespace_terminating() => {
                    ending.insert(namespace, Instant::now());
                }
                Err(error) => tracing::debug!(%error, "failed to write an event"),
            }
            self.left_out.inc();
        }
    }

    /// Writes an Event, or counts it in the series of one that was written recently.
    async fn write(
        &self,
        queued: QueuedEvent,
        recent: &mut RecentSeries,
    ) -> Result<(), WriteError> {
        let QueuedEvent { event, at, name } = queued;
        let namespace = &event.regarding.namespace;
        let collection = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
        if let Some(name) = name {
            let object = event_object(&event, at, &self.identity, &name);
            return match self.writer.create_event(&collection, &object).await {
                // Another process was the first to report it.
                Err(WriteError::Refused(refusal)) if refusal.is_conflict() => Ok(()),
                written => written,
            };
        }
        if let Some((name, count)) = recent.count_again(&event) {
            let series = json!({ "count": count, "lastObservedTime": micro_time(at) });
            let place = ObjectPath { collection: &collection, name };
            match self.writer.patch_event(place, &json!({ "series": series })).await {
                // The cluster keeps Events for a limited time, and any client may delete them.
                Err(WriteError::Refused(refusal)) if refusal.is_not_found() => {}
                written => return written,
            }
        }
        let name = recent.begin(&event, at);
        let object = event_object(&event, at, &self.identity, name);
        // If it is unknown whether it was written, it still starts a series. If it was not written, the next patch
        // does not find it.
        let created = self.writer.create_event(&collection, &object).await;
        if matches!(created, Err(WriteError::Refused(_))) {
            recent.remove(&event);
        }
        created
    }

    async fn next(&mut self) -> Option<QueuedEvent> {
        tokio::select! {
            biased;
            Some(warning) = self.warnings.recv() => Some(warning),
            Some(other) = self.others.recv() => Some(other),
            else => None,
        }
    }
}

impl Drop for EventLogWriter {
    /// Counts the queued Events as dropped, because they are never written.
    fn drop(&mut self) {
        let waiting = self.warnings.len() + self.others.len();
        self.left_out.inc_by(u64::try_from(waiting).unwrap_or(u64::MAX));
    }
}

fn event_object(event: &Event, at: Timestamp, identity: &str, name: &str) -> Value {
    let Event { regarding, is_warning, reason, action, note } = event;
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": { "name": name, "namespace": regarding.namespace },
        "eventTime": micro_time(at),
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

/// The form of a `MicroTime`.
fn micro_time(at: Timestamp) -> String {
    format!("{at:.6}")
}

fn cut(text: &str, longest: usize) -> &str {
    &text[..text.floor_char_boundary(longest)]
}

#[cfg(test)]
mod tests;
