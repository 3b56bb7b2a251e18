//! The answer of `almanac when` for a program: the documented contract `almanac/when/v1`.

use std::io::{self, Write};

use almanac_calendar::{ClockEffect, tzdata_version};
use jiff::Timestamp;
use serde::ser::{Serialize, Serializer};

use super::Question;
use crate::clock_changes::Touches;

pub(super) fn write(question: &Question, output: &mut impl Write) -> io::Result<()> {
    let effects: Vec<ClockEffect> =
        question.schedule.clock_effects(question.from, question.watch_to).collect();
    let answer = Answer {
        schema: "almanac/when/v1",
        zone: question.schedule.zone().name(),
        tzdata: tzdata_version(),
        describes: &question.schedule.meaning,
        notes: &question.schedule.notes,
        items: Items { question, effects: &effects },
        clock_changes: effects
            .iter()
            .map(|effect| ClockChange { at: effect.change.at, note: effect.to_string() })
            .collect(),
    };
    serde_json::to_writer_pretty(&mut *output, &answer)?;
    writeln!(output)
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
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

/// Written one by one as they are found, so that a long period needs no memory.
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
