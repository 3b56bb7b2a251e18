//! What comes next as a table: a row for each happening.

use std::io::Write;

use almanac_forecast::Event;

use super::Question;
use super::json::values;
use crate::clock_changes::TouchedRule;
use crate::csv::Row;
use crate::input::InputPlace;

const COLUMNS: [&str; 15] = [
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
];

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    Row::of_names(&COLUMNS).write(output)?;
    for (place, event) in question.events() {
        row(place, &event).write(output)?;
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
}
