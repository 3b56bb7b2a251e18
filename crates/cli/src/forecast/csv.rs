//! The forecast as a table: a row for each segment, followed by a row for each start of a Job.

use std::io::Write;

use almanac_forecast::{Segment, Series};
use jiff::Timestamp;
use serde_json::Value;

use super::instants::Instants;
use super::question::Question;
use crate::cron_jobs::{STARTS, ShownCronJob};
use crate::csv::Row;
use crate::explain::json::json_of;
use crate::input::InputPlace;

const HEAD: &str = "place,apiVersion,kind,namespace,name,field,from,to,value,policyKind,\
                    policyNamespace,policyName,rule,reason,writtenAt\r\n";

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    output.write_all(HEAD.as_bytes())?;
    let assumptions = question.write_parts(
        |context, part, part_writer| {
            let mut instants = Instants::default();
            for series in &part.series {
                for segment in &series.segments {
                    row(context.place, series, segment, &mut instants).write(part_writer)?;
                }
            }
            Ok(())
        },
        output,
    )?;
    for (place, job, at) in question.occurrences() {
        start_row(place, job, at).write(output)?;
    }
    question.report_assumptions(&assumptions)?;
    Ok(())
}

/// The row of a start, which has no duration and no value.
fn start_row(place: &InputPlace, job: &ShownCronJob, at: Timestamp) -> Row {
    Row::default()
        .cell(place.name.as_deref().unwrap_or_default())
        .object(place, &job.identity)
        .cell(STARTS)
        .cell(&at.to_string())
        .cell(&at.to_string())
        .cell("")
        .names(&job.identity)
        .cell("")
        .cell(&job.meaning())
        .cell(&job.location())
}

fn row(place: &InputPlace, series: &Series, segment: &Segment, instants: &mut Instants) -> Row {
    let mut instant = |at| {
        let mut text = Vec::new();
        instants.append(at, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    };
    let row = Row::default()
        .cell(place.name.as_deref().unwrap_or_default())
        .object(place, &series.target)
        .cell(&series.field.to_string())
        .cell(&instant(segment.from))
        .cell(&instant(segment.to))
        .value(&segment.value.as_ref().map_or(Value::Null, json_of));
    let row = match &segment.origin.writer {
        Some(writer) => {
            row.names(&writer.policy.identity).cell(writer.rule.as_deref().unwrap_or_default())
        }
        None => row.cell("").cell("").cell("").cell(""),
    };
    row.cell(&segment.origin.reason).cell("")
}
