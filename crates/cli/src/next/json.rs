//! The next actions for a program: the documented contract `almanac/next/v1`.

use std::cell::Cell;
use std::io::Write;

use almanac_forecast::{Event, Sentence};
use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{NextEntry, Question};
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

/// The items, serialized one by one, so that a long period needs no memory.
struct Items<'a> {
    question: &'a Question<'a>,
    listed: &'a ListProgress,
}

/// The number of serialized items, and the instant of the last one.
type ListProgress = Cell<(usize, Option<Timestamp>)>;

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.question.events().map(|(place, event)| {
            self.listed.set((self.listed.get().0 + 1, Some(event.at())));
            item(place, &event)
        }))
    }
}

/// The clock changes, serialized after the items, which determine the end of the list.
struct ClockChanges<'a> {
    question: &'a Question<'a>,
    listed: &'a ListProgress,
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
    let listed = &ListProgress::default();
    let items = Items { question, listed };
    let clock_changes = ClockChanges { question, listed };
    let each = |all: Vec<Sentence>| all.into_iter().map(|(_, sentence)| sentence);
    let assumptions = question.assumptions(each);
    let report = Report { schema: "almanac/next/v1", items, clock_changes, assumptions, findings };
    serde_json::to_writer_pretty(&mut *output, &report)?;
    writeln!(output)?;
    Ok(())
}

fn item(place: &InputPlace, entry: &NextEntry<'_>) -> Value {
    let (policy, target) = entry.objects();
    let reference = |object| place.written_reference(object, entry.written_at());
    let mut item = json!({
        "at": entry.at(),
        "policy": reference(policy),
        "target": reference(target),
        "what": entry.verb(),
    });
    if let Some(name) = &place.name {
        item["place"] = Value::from(&**name);
    }
    if let Some(rule) = entry.rule() {
        item["rule"] = Value::from(rule);
    }
    if let Some(effect) = entry.effect(&place.world) {
        item["note"] = Value::from(effect.to_string());
    }
    if matches!(entry, NextEntry::Event(event) if !event.sets.is_empty()) {
        (item["from"], item["to"]) = values(entry);
    }
    item
}

/// The values before and after; null for an action that sets nothing.
pub(super) fn values(entry: &NextEntry<'_>) -> (Value, Value) {
    let NextEntry::Event(Event { sets, .. }) = entry else { return (Value::Null, Value::Null) };
    let before: Vec<_> = sets.iter().map(|(field, it, _)| (*field, it.clone())).collect();
    let after: Vec<_> = sets.iter().map(|(field, _, it)| (*field, Some(it.clone()))).collect();
    (value(&before), value(&after))
}
