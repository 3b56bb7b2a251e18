//! Findings as JSON: schema `almanac/validate/v1`.

use std::io::Write;

use almanac_api::finding::{Code, Severity};
use almanac_api::reading::{PlacedFinding, Reading};
use jiff::Timestamp;
use serde::Serialize;

const SCHEMA: &str = "almanac/validate/v1";

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    findings: Vec<Item<'a>>,
}

/// A finding, as every command tells it.
#[derive(Serialize)]
pub(crate) struct Item<'a> {
    code: Code,
    severity: Severity,
    file: &'a str,
    /// Counted from 1; 1 when it is about the file as a whole.
    line: usize,
    /// Empty when it is about the whole object or file.
    field: String,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    at: &'a [Timestamp],
}

pub(super) fn write(
    output: &mut impl Write,
    reading: &Reading,
    findings: &[PlacedFinding],
) -> anyhow::Result<()> {
    let findings = findings.iter().map(|placed| Item::new(reading, placed)).collect();
    serde_json::to_writer_pretty(&mut *output, &Report { schema: SCHEMA, findings })?;
    writeln!(output)?;
    Ok(())
}

impl<'a> Item<'a> {
    pub(crate) fn new(reading: &'a Reading, placed: &'a PlacedFinding) -> Item<'a> {
        let source = &reading.sources[placed.source];
        let finding = &placed.finding;
        Item {
            code: finding.code,
            severity: finding.severity(),
            file: source.name(),
            line: placed.span.map_or(1, |span| source.position(span.start).line),
            field: finding.field.to_string(),
            message: &finding.message,
            fix: finding.fix.as_deref(),
            at: &finding.at,
        }
    }
}
