//! Prints events when they occur, a line each: the Events that Almanac's processes write, and changes of numbers in
//! statuses, for which no Events are written. Also prints the next actions.

use std::collections::BTreeMap;
use std::time::Duration;

use almanac_api::kinds::Kind;
use almanac_api::policy_clock::PolicyClock;
use almanac_shell::following::{Deliveries, Delivery, Selection};
use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use kube::api::{ApiResource, DynamicObject};
use kube::{Client, ResourceExt as _};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::next_actions::{Next, NextActions};
use super::running_cluster::FIELD_MANAGER;
use super::terminal::Terminal;

/// The interval of the countdown.
const TICK: Duration = Duration::from_secs(1);
/// The delay of a query after an event. An event may change the next actions, but several events occur together.
const QUERY_DELAY: Duration = Duration::from_millis(300);
/// The interval of the queries without an event: a newly applied policy writes no Event.
const QUERY_INTERVAL: Duration = Duration::from_secs(10);

type Sender = mpsc::UnboundedSender<ReportedEvent>;

/// An event to print.
pub(super) struct ReportedEvent {
    /// The instant by the policy clock.
    pub(super) at: Timestamp,
    pub(super) what: String,
    pub(super) is_warning: bool,
}

/// The events since the start of the feed. Drop ends the watches.
pub(super) struct EventFeed {
    events: mpsc::UnboundedReceiver<ReportedEvent>,
    _following: JoinSet<()>,
}

impl EventFeed {
    /// Starts the watches. Earlier events are in the cluster's Events.
    pub(super) fn follow(client: Client, clock: PolicyClock) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let mut following = JoinSet::new();
        for counted in [NUMBERS, PODS_IN_UNITS] {
            following.spawn(follow_statuses(client.clone(), counted, clock, sender.clone()));
        }
        following.spawn(follow_events(client, clock, sender));
        Self { events, _following: following }
    }

    /// Prints events and the next actions, without end.
    pub(super) async fn print(
        &mut self,
        next_actions: &NextActions,
        terminal: &Terminal<'_>,
    ) -> anyhow::Result<()> {
        let mut next: Vec<Next> = Vec::new();
        let mut query_at = Instant::now();
        loop {
            if Instant::now() >= query_at {
                // A busy API server must not end `almanac up`.
                if let Ok(actions) = next_actions.next(next_actions.now()).await
                    && actions != next
                {
                    terminal.print_next(&actions, next_actions.now())?;
                    next = actions;
                }
                query_at = Instant::now() + QUERY_INTERVAL;
            }
            let now = next_actions.now();
            terminal.count_down(&next, now)?;
            let due = Instant::now() + until(&next, now, next_actions.clock());
            let event = tokio::select! {
                event = self.events.recv() => event,
                () = tokio::time::sleep_until(due.min(query_at)) => {
                    if next.first().is_some_and(|next| next.at <= next_actions.now()) {
                        query_at = query_at.min(Instant::now() + QUERY_DELAY);
                    }
                    continue;
                }
            };
            let Some(event) = event else { return Ok(()) };
            terminal.print_event(&event)?;
            // Even with many events, the next actions are updated after this delay.
            query_at = query_at.min(Instant::now() + QUERY_DELAY);
        }
    }
}

async fn follow_events(client: Client, clock: PolicyClock, sender: Sender) {
    let resource = ApiResource::erase::<Event>(&());
    let mut events = Deliveries::begin(client, resource, Selection::default());
    while let Some(delivery) = events.receive().await {
        let Delivery::Changed(event) = delivery else { continue };
        let Ok(event) = event.try_parse::<Event>() else { continue };
        let is_ours = event.reporting_controller.as_deref() == Some(FIELD_MANAGER);
        if is_ours && sender.send(reported_event(&event, clock)).is_err() {
            return;
        }
    }
}

/// A count in the statuses of a kind, whose changes write no Event.
struct Counted {
    kind: Kind,
    heading: &'static str,
    count: fn(&Value) -> Option<String>,
}

/// The number that a schedule publishes. The metric already reports every change.
const NUMBERS: Counted =
    Counted { kind: Kind::MetricsProducer, heading: "the number is", count: number };

/// The number of pods in each node unit. The numbers change too often to write Events.
const PODS_IN_UNITS: Counted =
    Counted { kind: Kind::ResourcePolicy, heading: "pods in its units:", count: pods_in_units };

/// The last counts of the objects of a kind, by object name.
#[derive(Default)]
struct LastCounts {
    known: BTreeMap<String, String>,
    /// The counts from before the current list. Objects missing from the list are deleted.
    unlisted: BTreeMap<String, String>,
}

impl LastCounts {
    /// The change of a count that a watch event causes; `None` if no count changes.
    fn change(
        &mut self,
        Counted { kind, heading, count }: &Counted,
        delivery: Delivery,
    ) -> Option<String> {
        let name_of = |object: &DynamicObject| {
            let namespace = object.namespace().unwrap_or_default();
            format!("{} {namespace}/{}", kind.name(), object.name_any())
        };
        let object = match delivery {
            Delivery::Listed(object) | Delivery::Changed(object) => object,
            Delivery::Gone(object) => {
                self.known.remove(&name_of(&object));
                return None;
            }
            Delivery::ListBegins => {
                self.unlisted.append(&mut self.known);
                return None;
            }
            Delivery::ListComplete => {
                self.unlisted.clear();
                return None;
            }
        };
        let (now, name) = (count(&object.data["status"])?, name_of(&object));
        let previous = self.known.insert(name.clone(), now.clone());
        let former = previous.or_else(|| self.unlisted.remove(&name));
        let former = former.filter(|former| *former != now)?;
        Some(format!("{name}  {heading} {now} instead of {former}"))
    }
}

async fn follow_statuses(client: Client, counted: Counted, clock: PolicyClock, sender: Sender) {
    let mut objects = Deliveries::begin(client, counted.kind.resource(), Selection::default());
    let mut counts = LastCounts::default();
    while let Some(delivery) = objects.receive().await {
        let Some(what) = counts.change(&counted, delivery) else { continue };
        let at = clock.shown_at(Timestamp::now());
        if sender.send(ReportedEvent { at, what, is_warning: false }).is_err() {
            return;
        }
    }
}

fn number(status: &Value) -> Option<String> {
    status["scheduledCapacity"]["currentValue"].as_i64().map(|number| number.to_string())
}

fn pods_in_units(status: &Value) -> Option<String> {
    let units = status["units"].as_array()?;
    let counts =
        units.iter().map(|unit| Some(format!("{} {}", unit["name"].as_str()?, unit["used"])));
    counts.collect::<Option<Vec<_>>>().map(|counts| counts.join(", "))
}

/// The time until the next action is due, at most one interval of the countdown.
fn until(next: &[Next], now: Timestamp, clock: PolicyClock) -> Duration {
    // The due action is done, and the next action will be computed soon.
    let Some(next) = next.first().filter(|next| next.at > now) else { return TICK };
    let remaining = Duration::try_from(next.at.duration_since(now)).unwrap_or_default();
    (remaining / clock.rate()).clamp(Duration::from_millis(1), TICK)
}

fn reported_event(event: &Event, clock: PolicyClock) -> ReportedEvent {
    let observed = event.series.as_ref().map(|series| series.last_observed_time.0);
    let at = observed.or(event.event_time.as_ref().map(|it| it.0)).unwrap_or_else(Timestamp::now);
    let object = event.regarding.as_ref().map(|it| {
        let (kind, name) = (it.kind.as_deref().unwrap_or_default(), it.name.as_deref());
        let name = name.unwrap_or_default();
        match it.namespace.as_deref() {
            Some(namespace) => format!("{kind} {namespace}/{name}"),
            None => format!("{kind} {name}"),
        }
    });
    let (object, reason) =
        (object.unwrap_or_default(), event.reason.as_deref().unwrap_or_default());
    let note = event.note.as_deref().unwrap_or_default();
    ReportedEvent {
        at: clock.shown_at(at),
        what: format!("{object}  {reason}: {note}"),
        is_warning: event.type_.as_deref() == Some("Warning"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schedule(name: &str, number: i64) -> DynamicObject {
        let object = json!({
            "metadata": { "name": name, "namespace": "shop" },
            "status": { "scheduledCapacity": { "currentValue": number } },
        });
        serde_json::from_value(object).expect("a valid object")
    }

    #[test]
    fn a_changed_count_is_reported_and_counts_of_deleted_objects_are_removed() {
        let mut counts = LastCounts::default();
        let mut change = |delivery| counts.change(&NUMBERS, delivery);
        for delivery in [
            Delivery::ListBegins,
            Delivery::Listed(schedule("stays", 2)),
            Delivery::Listed(schedule("gone", 2)),
            Delivery::ListComplete,
        ] {
            assert_eq!(change(delivery), None);
        }
        for number in 0..100 {
            let name = format!("goes-{number}");
            assert_eq!(change(Delivery::Changed(schedule(&name, 1))), None);
            assert_eq!(change(Delivery::Gone(schedule(&name, 1))), None);
        }
        assert_eq!(change(Delivery::ListBegins), None);
        let changed = change(Delivery::Listed(schedule("stays", 3)));
        let expected = "MetricsProducer shop/stays  the number is 3 instead of 2";
        assert_eq!(changed.as_deref(), Some(expected));
        assert_eq!(change(Delivery::ListComplete), None);
        assert_eq!((counts.known.len(), counts.unlisted.len()), (1, 0));
    }
}
