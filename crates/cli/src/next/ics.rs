//! The next actions as a calendar to subscribe to: an event without a duration for each.

use std::io::Write;

use almanac_engine::Identity;

use super::text::entry_line;
use super::{JoinedEntry, Question};
use crate::cron_jobs::called;
use crate::ics::{self, CalendarEvent};
use crate::wall_clock::civil;

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    ics::begin("Almanac", output)?;
    for joined in question.joined_events() {
        write_event(question, &joined, output)?;
    }
    ics::end(output)?;
    Ok(())
}

fn write_event(
    question: &Question<'_>,
    (place, entry, count): &JoinedEntry<'_>,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let (policy, target) = entry.objects();
    let rule = entry.rule().unwrap_or_default();
    let written_at = entry.written_at();
    let location = written_at.map(ToString::to_string);
    let mut unique_parts = parts(policy).to_vec();
    unique_parts.push(rule);
    unique_parts.extend(parts(target));
    unique_parts.push(entry.verb());
    unique_parts.extend(location.as_deref());
    let name = called(policy, written_at);
    let effect = entry.effect(&place.world);
    let effect = effect.map_or(String::new(), |effect| format!("\n{effect}"));
    let at = civil(entry.zone(&place.world), entry.at());
    let description = format!("{name}\n{at}{effect}");
    let event = CalendarEvent {
        unique_parts: &unique_parts,
        from: entry.at(),
        has_begun: false,
        to: None,
        summary: &entry_line(entry, *count),
        description: &description,
        place: place.name.as_deref(),
    };
    ics::write_event(&event, question.period.from(), output)?;
    Ok(())
}

fn parts(object: &Identity) -> [&str; 4] {
    [object.group(), object.kind(), object.namespace(), object.name()]
}
