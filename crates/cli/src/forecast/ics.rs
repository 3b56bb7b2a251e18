//! The forecast as a calendar to subscribe to: an event for each segment that a policy has set.

use std::io::Write;

use almanac_engine::Identity;
use almanac_forecast::Segment;

use super::agreeing::{self, Drawn};
use super::question::{Question, View};
use super::text::{in_zone, writer_name};
use crate::cron_jobs::STARTS;
use crate::ics::{self, CalendarEvent};
use crate::wall_clock::civil;

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    ics::begin("Almanac forecast", output)?;
    let assumptions = question.write_parts(
        |context, part, part_writer| {
            for drawn in agreeing::drawn(&context.place.world, &part.series, |_| Vec::new()) {
                write_series(question.view, context.place.name.as_deref(), &drawn, part_writer)?;
            }
            Ok(())
        },
        output,
    )?;
    for (place, job, at) in question.occurrences() {
        let (itself, location) = (&job.identity, job.location());
        let mut unique_parts = unique_parts(itself, STARTS).to_vec();
        let mut summary = format!("{} {STARTS} a Job", itself.name());
        if !location.is_empty() {
            unique_parts.push(&location);
            summary = format!("{} ({location}) {STARTS} a Job", itself.name());
        }
        let event = CalendarEvent {
            unique_parts: &unique_parts,
            from: at,
            has_begun: false,
            to: None,
            summary: &summary,
            description: &format!("{}\n{}", job.name(), civil(job.zone(), at)),
            place: place.name.as_deref(),
        };
        ics::write_event(&event, question.view.period.from(), output)?;
    }
    ics::end(output)?;
    question.report_assumptions(&assumptions)?;
    Ok(())
}

fn write_series(
    view: View,
    place: Option<&str>,
    drawn: &Drawn<'_>,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let series = drawn.series;
    let field = series.field.to_string();
    let target = &series.target;
    let title = if drawn.positions.len() == 1 { target.name() } else { &drawn.title };
    let unique_parts = unique_parts(target, &field);
    for (index, segment) in series.segments.iter().enumerate() {
        let (Some(value), Some(writer)) = (&segment.value, writer_name(&segment.origin)) else {
            continue;
        };
        let event = CalendarEvent {
            unique_parts: &unique_parts,
            from: segment.from,
            has_begun: index == 0,
            to: Some(segment.to),
            summary: &format!("{title}: {field} {value}"),
            description: &description(view, drawn, segment, &writer),
            place,
        };
        ics::write_event(&event, view.period.from(), output)?;
    }
    Ok(())
}

fn unique_parts<'a>(target: &'a Identity, field: &'a str) -> [&'a str; 5] {
    [target.group(), target.kind(), target.namespace(), target.name(), field]
}

/// The object and the field, the writer and the reason, and the times in the displayed zone.
fn description(view: View, drawn: &Drawn<'_>, segment: &Segment, writer: &str) -> String {
    let View { period, zone } = view;
    let reason = &segment.origin.reason;
    let (from, to) = (civil(zone, segment.from), civil(zone, segment.to));
    let end = if segment.to == period.to() { "the end of the forecast, " } else { "" };
    format!("{}\n{writer}: {reason}\n{from} to {end}{to}{}", drawn.title, in_zone(zone))
}
