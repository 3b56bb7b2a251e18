//! The output of `almanac when` as a table: a row for each instant. A typed schedule has no object.

use std::io::Write;

use almanac_calendar::ClockEffect;

use super::Question;
use super::objects::{ObjectSchedule, ScheduleLookup};
use crate::clock_changes::Touches;
use crate::csv::Row;

const HEAD: &str = "place,apiVersion,kind,namespace,name,rule,zone,at,what,note,writtenAt\r\n";

/// The columns of an object, with its place and its rule.
const OF_OBJECT: usize = 6;

pub(super) fn write(question: &Question, output: &mut impl Write) -> anyhow::Result<()> {
    output.write_all(HEAD.as_bytes())?;
    write_rows(question, || Row::from_names(&[""; OF_OBJECT]), "", output)
}

/// Writes the schedules of objects.
pub(super) fn write_all(all: &[ObjectSchedule<'_>], output: &mut impl Write) -> anyhow::Result<()> {
    output.write_all(HEAD.as_bytes())?;
    for ObjectSchedule { place, identity, written_at, rule, lookup } in all {
        let ScheduleLookup::When(question) = lookup else { continue };
        let object = || {
            let row = Row::default().cell(place.name.as_deref().unwrap_or_default());
            row.object(place, identity).cell(rule.as_deref().unwrap_or_default())
        };
        let written_at = written_at.as_ref().map_or(String::new(), ToString::to_string);
        write_rows(question, object, &written_at, output)?;
    }
    Ok(())
}

fn write_rows(
    question: &Question,
    object: impl Fn() -> Row,
    written_at: &str,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let Question { schedule, from, to, count, watch_to, .. } = question;
    let effects: Vec<ClockEffect> = schedule.clock_effects(*from, *watch_to).collect();
    let mut touches = Touches::among(&effects);
    for (at, event) in schedule.between(*from, *to).take(*count) {
        let note = touches.at(at, event).map_or(String::new(), ToString::to_string);
        let row = object().cell(schedule.zone().name()).cell(&at.to_string()).cell(event.verb());
        row.cell(&note).cell(written_at).write(output)?;
    }
    Ok(())
}
