//! The next actions as a table: a row for each.

use std::io::Write;

use super::json::values;
use super::{Happening, Question};
use crate::csv::Row;
use crate::input::InputPlace;

const HEADER: &str = "place,at,policyApiVersion,policyKind,policyNamespace,policyName,rule,apiVersion,kind,namespace,name,\
                      what,from,to,note,writtenAt\r\n";

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    output.write_all(HEADER.as_bytes())?;
    for (place, happening) in question.events() {
        row(place, &happening).write(output)?;
    }
    Ok(())
}

fn row(place: &InputPlace, happening: &Happening<'_>) -> Row {
    let (policy, target) = happening.objects();
    let (before, after) = values(happening);
    let note = happening.effect(&place.world).map(|effect| effect.to_string());
    let written_at = happening.written_at().map(ToString::to_string);
    Row::default()
        .cell(place.name.as_deref().unwrap_or_default())
        .cell(&happening.at().to_string())
        .object(place, policy)
        .cell(happening.rule().unwrap_or_default())
        .object(place, target)
        .cell(happening.what())
        .value(&before)
        .value(&after)
        .cell(&note.unwrap_or_default())
        .cell(&written_at.unwrap_or_default())
}
