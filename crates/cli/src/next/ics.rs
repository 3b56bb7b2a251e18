//! What comes next as a calendar to subscribe to: an event, which takes no time, for each happening.

use std::io::Write;

use super::text::{told, touched};
use super::{Happening, Question, Together};
use crate::cron_jobs::STARTS;
use crate::ics::{self, CalendarEvent};
use crate::wall_clock::civil;

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    ics::begin("Almanac", output)?;
    for together in question.events_together() {
        write_event(question, &together, output)?;
    }
    ics::end(output)?;
    Ok(())
}

fn write_event(
    question: &Question<'_>,
    (place, happening, count): &Together<'_>,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let (policy, rule, target, what) = match happening {
        Happening::Event(event) => {
            let rule = event.rule.as_deref().unwrap_or_default();
            (&event.policy.identity, rule, &event.target, event.what.name())
        }
        Happening::Start(job, _) => (&job.identity, "", &job.identity, STARTS),
    };
    let (location, name) = match happening {
        Happening::Event(_) => (String::new(), policy.to_string()),
        Happening::Start(job, _) => (job.location(), job.name()),
    };
    let mut told_apart_by = vec![
        policy.group(),
        policy.kind(),
        policy.namespace(),
        policy.name(),
        rule,
        target.group(),
        target.kind(),
        target.namespace(),
        target.name(),
        what,
    ];
    told_apart_by.extend((!location.is_empty()).then_some(&*location));
    let effect = touched(&place.world, happening);
    let effect = effect.map_or(String::new(), |effect| format!("\n{effect}"));
    let at = civil(Question::zone_of(place, happening), happening.at());
    let description = format!("{name}\n{at}{effect}");
    let event = CalendarEvent {
        told_apart_by: &told_apart_by,
        from: happening.at(),
        has_begun: false,
        to: None,
        summary: &told(happening, *count),
        description: &description,
        place: place.name.as_deref(),
    };
    ics::write_event(&event, question.period.from(), output)?;
    Ok(())
}
