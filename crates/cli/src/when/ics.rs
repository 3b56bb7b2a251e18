//! The output of `almanac when` as a calendar to subscribe to: an event without a duration for each instant.

use std::io::Write;

use super::Question;
use super::objects::{ObjectSchedule, ScheduleLookup};
use crate::cron_jobs::called;
use crate::ics::{self, CalendarEvent};
use crate::wall_clock::civil;

/// The common fields of the events of a schedule.
#[derive(Default)]
struct Subject<'a> {
    /// The object; empty for a typed schedule.
    name: String,
    rule: &'a str,
    place: Option<&'a str>,
}

pub(super) fn write(question: &Question, output: &mut impl Write) -> anyhow::Result<()> {
    ics::begin("Almanac", output)?;
    write_events(question, &Subject::default(), output)?;
    ics::end(output)?;
    Ok(())
}

/// Writes the schedules of objects.
pub(super) fn write_all(all: &[ObjectSchedule<'_>], output: &mut impl Write) -> anyhow::Result<()> {
    ics::begin("Almanac", output)?;
    for ObjectSchedule { place, identity, written_at, rule, lookup } in all {
        let ScheduleLookup::When(question) = lookup else { continue };
        let name = called(identity, written_at.as_ref());
        let rule = rule.as_deref().unwrap_or_default();
        let subject = Subject { name, rule, place: place.name.as_deref() };
        write_events(question, &subject, output)?;
    }
    ics::end(output)?;
    Ok(())
}

fn write_events(
    question: &Question,
    subject: &Subject<'_>,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let Question { schedule, from, to, count, .. } = question;
    let (zone, meaning) = (schedule.zone(), &schedule.meaning);
    for (at, event) in schedule.between(*from, *to).take(*count) {
        let verb = event.verb();
        let title = format!("{} {}", subject.name, subject.rule);
        let summary = match title.trim() {
            "" => format!("{verb}: {meaning}"),
            title => format!("{title} {verb}"),
        };
        let description = format!("{meaning} ({zone})\n{}", civil(zone, at));
        let event = CalendarEvent {
            unique_parts: &[&*subject.name, subject.rule, meaning, zone.name(), verb],
            from: at,
            has_begun: false,
            to: None,
            summary: &summary,
            description: &description,
            place: subject.place,
        };
        ics::write_event(&event, *from, output)?;
    }
    Ok(())
}
