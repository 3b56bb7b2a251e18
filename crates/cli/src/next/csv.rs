//! The next actions as a table: a row for each.

use std::io::Write;

use super::json::values;
use super::{NextEntry, Question};
use crate::csv::Row;
use crate::input::InputPlace;

const HEADER: &str = "place,at,policyApiVersion,policyKind,policyNamespace,policyName,rule,apiVersion,kind,namespace,name,\
                      what,from,to,note,writtenAt\r\n";

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    output.write_all(HEADER.as_bytes())?;
    for (place, entry) in question.events() {
        row(place, &entry).write(output)?;
    }
    Ok(())
}

fn row(place: &InputPlace, entry: &NextEntry<'_>) -> Row {
    let (policy, target) = entry.objects();
    let (before, after) = values(entry);
    let note = entry.effect(&place.world).map(|effect| effect.to_string());
    let written_at = entry.written_at().map(ToString::to_string);
    Row::default()
        .cell(place.name.as_deref().unwrap_or_default())
        .cell(&entry.at().to_string())
        .object(place, policy)
        .cell(entry.rule().unwrap_or_default())
        .object(place, target)
        .cell(entry.verb())
        .value(&before)
        .value(&after)
        .cell(&note.unwrap_or_default())
        .cell(&written_at.unwrap_or_default())
}
