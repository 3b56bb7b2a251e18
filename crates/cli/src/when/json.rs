//! The output of `almanac when` for a program: the documented contracts `almanac/when/v1`, and for the schedules of
//! objects `almanac/schedules/v1`.

use std::io::Write;

use almanac_calendar::{ClockEffect, tzdata_version};
use jiff::Timestamp;
use serde::ser::{Serialize, SerializeSeq as _, Serializer};
use serde_json::Value;

use super::Question;
use super::objects::{ObjectSchedule, ScheduleLookup};
use crate::clock_changes::Touches;
use crate::findings;
use crate::input::Input;

pub(super) fn write(question: &Question, output: &mut impl Write) -> anyhow::Result<()> {
    let effects = effects(question);
    let document = ScheduleDocument {
        schema: "almanac/when/v1",
        zone: question.schedule.zone().name(),
        tzdata: tzdata_version(),
        describes: &question.schedule.meaning,
        notes: &question.schedule.notes,
        items: Items { question, effects: &effects },
        clock_changes: clock_changes(&effects),
    };
    serde_json::to_writer_pretty(&mut *output, &document)?;
    writeln!(output)?;
    Ok(())
}

/// Writes the schedules of objects.
pub(super) fn write_all(
    input: &Input,
    all: &[ObjectSchedule<'_>],
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let document = SchedulesDocument {
        schema: "almanac/schedules/v1",
        tzdata: tzdata_version(),
        schedules: ObjectSchedules(all),
        findings: input.items(),
    };
    serde_json::to_writer_pretty(&mut *output, &document)?;
    writeln!(output)?;
    Ok(())
}

fn effects(question: &Question) -> Vec<ClockEffect> {
    question.schedule.clock_effects(question.from, question.watch_to).collect()
}

fn clock_changes(effects: &[ClockEffect]) -> Vec<ClockChange> {
    let described =
        |effect: &ClockEffect| ClockChange { at: effect.change.at, note: effect.to_string() };
    effects.iter().map(described).collect()
}

#[derive(serde::Serialize)]
struct SchedulesDocument<'a> {
    schema: &'static str,
    tzdata: &'static str,
    schedules: ObjectSchedules<'a>,
    findings: Vec<findings::Item<'a>>,
}

/// The schedules of objects, serialized one by one.
struct ObjectSchedules<'a>(&'a [ObjectSchedule<'a>]);

impl Serialize for ObjectSchedules<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for ObjectSchedule { place, identity, written_at, rule, lookup } in self.0 {
            let object = place.written_reference(identity, written_at.as_ref());
            let (place, rule) = (place.name.as_deref(), rule.as_deref());
            let about = AboutObject { object, place, rule, ..AboutObject::default() };
            match lookup {
                ScheduleLookup::When(question) => {
                    let effects = effects(question);
                    list.serialize_element(&AboutObject {
                        zone: Some(question.schedule.zone().name()),
                        describes: Some(&question.schedule.meaning),
                        notes: &question.schedule.notes,
                        items: Some(Items { question, effects: &effects }),
                        clock_changes: clock_changes(&effects),
                        ..about
                    })?;
                }
                ScheduleLookup::Unknown(notes) => {
                    list.serialize_element(&AboutObject { notes, ..about })?;
                }
            }
        }
        list.end()
    }
}

/// The fields about an object. Without a known schedule, the zone, the description and the items are absent.
#[derive(Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct AboutObject<'a> {
    object: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zone: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    describes: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Items<'a>>,
    clock_changes: Vec<ClockChange>,
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct ScheduleDocument<'a> {
    schema: &'static str,
    zone: &'static str,
    tzdata: &'static str,
    describes: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
    items: Items<'a>,
    clock_changes: Vec<ClockChange>,
}

#[derive(serde::Serialize)]
struct Item {
    at: Timestamp,
    what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(serde::Serialize)]
struct ClockChange {
    at: Timestamp,
    note: String,
}

/// The items, serialized one by one, so that a long period needs no memory.
struct Items<'a> {
    question: &'a Question,
    effects: &'a [ClockEffect],
}

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Question { schedule, from, to, count, .. } = self.question;
        let mut touches = Touches::among(self.effects);
        serializer.collect_seq(schedule.between(*from, *to).take(*count).map(|(at, event)| {
            let note = touches.at(at, event);
            Item { at, what: event.verb(), note: note.map(ToString::to_string) }
        }))
    }
}
