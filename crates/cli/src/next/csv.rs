//! What comes next as a table: a row for each happening.

use std::io::Write;

use almanac_forecast::Event;
use jiff::Timestamp;

use super::json::values;
use super::{Happening, Question};
use crate::clock_changes::TouchedRule;
use crate::cron_jobs::{STARTS, ShownCronJob};
use crate::csv::Row;
use crate::input::InputPlace;

const COLUMNS: [&str; 16] = [
    "place",
    "at",
    "policyApiVersion",
    "policyKind",
    "policyNamespace",
    "policyName",
    "rule",
    "apiVersion",
    "kind",
    "namespace",
    "name",
    "what",
    "from",
    "to",
    "note",
    "writtenAt",
];

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    Row::of_names(&COLUMNS).write(output)?;
    for (place, happening) in question.events() {
        let row = match &happening {
            Happening::Event(event) => row(place, event),
            Happening::Start(job, at) => row_of_start(place, job, *at),
        };
        row.write(output)?;
    }
    Ok(())
}

fn row(place: &InputPlace, event: &Event) -> Row {
    let (before, after) = values(event);
    let note = TouchedRule::of_event(&place.world, event).map(|effect| effect.to_string());
    Row::default()
        .cell(place.name.as_deref().unwrap_or_default())
        .cell(&event.at.to_string())
        .object(place, &event.policy.identity)
        .cell(event.rule.as_deref().unwrap_or_default())
        .object(place, &event.target)
        .cell(event.what.name())
        .value(&before)
        .value(&after)
        .cell(&note.unwrap_or_default())
        .cell("")
}

fn row_of_start(place: &InputPlace, job: &ShownCronJob, at: Timestamp) -> Row {
    Row::default()
        .cell(place.name.as_deref().unwrap_or_default())
        .cell(&at.to_string())
        .object(place, &job.identity)
        .cell("")
        .object(place, &job.identity)
        .cell(STARTS)
        .cell("")
        .cell("")
        .cell(&TouchedRule::of_start(job, at).map_or(String::new(), |effect| effect.to_string()))
        .cell(&job.location())
}
