//! What comes next for a program: the documented contract `almanac/next/v1`.

use std::cell::Cell;
use std::io::Write;

use almanac_forecast::{Event, Sentence};
use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{Happening, Question};
use crate::clock_changes::TouchedRule;
use crate::cron_jobs::{STARTS, ShownCronJob};
use crate::explain::json::value;
use crate::findings::Item;
use crate::input::InputPlace;

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    items: Items<'a>,
    #[serde(rename = "clockChanges")]
    clock_changes: ClockChanges<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    assumptions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<Item<'a>>,
}

/// Written one by one as they are found, so that a long period needs no memory.
struct Items<'a> {
    question: &'a Question<'a>,
    listed: &'a Listed,
}

/// How many items were written, and when the last of them is.
type Listed = Cell<(usize, Option<Timestamp>)>;

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.question.events().map(|(place, event)| {
            self.listed.set((self.listed.get().0 + 1, Some(event.at())));
            item(place, &event)
        }))
    }
}

/// Written after the items, which say how far is looked.
struct ClockChanges<'a> {
    question: &'a Question<'a>,
    listed: &'a Listed,
}

impl Serialize for ClockChanges<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (listed, last) = self.listed.get();
        let all = self.question.clock_changes(listed, last);
        serializer.collect_seq(all.iter().map(|(place, touched)| touched.to_json(place)))
    }
}

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    let findings = question.input.items();
    let listed = &Listed::default();
    let items = Items { question, listed };
    let clock_changes = ClockChanges { question, listed };
    let each = |all: Vec<Sentence>| all.into_iter().map(|(_, sentence)| sentence);
    let assumptions = question.assumptions(each);
    let report = Report { schema: "almanac/next/v1", items, clock_changes, assumptions, findings };
    serde_json::to_writer_pretty(&mut *output, &report)?;
    writeln!(output)?;
    Ok(())
}

fn item(place: &InputPlace, happening: &Happening<'_>) -> Value {
    let event = match happening {
        Happening::Event(event) => event,
        Happening::Start(job, at) => return item_of_start(place, job, *at),
    };
    let mut item = json!({
        "at": event.at,
        "policy": place.reference(&event.policy.identity),
        "target": place.reference(&event.target),
        "what": event.what.name(),
    });
    if let Some(name) = &place.name {
        item["place"] = Value::from(&**name);
    }
    if let Some(rule) = &event.rule {
        item["rule"] = Value::from(&**rule);
    }
    if let Some(effect) = TouchedRule::of_event(&place.world, event) {
        item["note"] = Value::from(effect.to_string());
    }
    if !event.sets.is_empty() {
        (item["from"], item["to"]) = values(event);
    }
    item
}

/// A `CronJob` sets nothing; it stands where the policy and its target do.
fn item_of_start(place: &InputPlace, job: &ShownCronJob, at: Timestamp) -> Value {
    let itself = place.job_reference(job);
    let mut item = json!({"at": at, "policy": itself, "target": itself, "what": STARTS});
    if let Some(name) = &place.name {
        item["place"] = Value::from(&**name);
    }
    if let Some(effect) = TouchedRule::of_start(job, at) {
        item["note"] = Value::from(effect.to_string());
    }
    item
}

/// What it sets: the values before and after.
pub(super) fn values(event: &Event) -> (Value, Value) {
    let before: Vec<_> = event.sets.iter().map(|(field, it, _)| (*field, it.clone())).collect();
    let after: Vec<_> =
        event.sets.iter().map(|(field, _, it)| (*field, Some(it.clone()))).collect();
    (value(&before), value(&after))
}
