//! Findings as JSON: schema `almanac/validate/v1`, or that of another command that checks.

use std::io::Write;

use almanac_api::finding::{Code, Severity};
use almanac_api::reading::{PlacedFinding, Reading};
use jiff::Timestamp;
use serde::Serialize;

use super::Report;
use crate::files::Note;

#[derive(Serialize)]
struct Document<'a> {
    schema: String,
    findings: Vec<Item<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [Note],
    /// The number of suppressed findings.
    #[serde(skip_serializing_if = "is_none")]
    ignored: usize,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    fixed: &'a [Fixed],
}

/// An edit of a file: its previous text and location, and the new text.
#[derive(Serialize)]
pub(crate) struct Fixed {
    pub(crate) code: Code,
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) before: String,
    pub(crate) after: String,
}

/// A finding in the form of every command.
#[derive(Serialize)]
pub(crate) struct Item<'a> {
    code: Code,
    severity: Severity,
    file: &'a str,
    /// Counted from 1; 1 for a finding about the whole file.
    line: usize,
    /// In characters, counted from 1; 1 for a finding about the whole file.
    column: usize,
    /// The only place with the finding; `None` if all places have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<&'a str>,
    /// Empty for a finding about the whole object or file.
    field: String,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    at: &'a [Timestamp],
}

pub(super) fn write(output: &mut impl Write, report: &Report) -> anyhow::Result<()> {
    let Report { command, reading, everything, notes, .. } = report;
    let schema = format!("almanac/{command}/v1");
    let item = |placed| Item::new(reading, placed, everything.place_of(placed));
    let findings = everything.findings.iter().map(item).collect();
    serde_json::to_writer_pretty(
        &mut *output,
        &Document { schema, findings, notes, ignored: report.ignored, fixed: &report.fixed },
    )?;
    writeln!(output)?;
    Ok(())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

impl<'a> Item<'a> {
    pub(crate) fn new(
        reading: &'a Reading,
        placed: &'a PlacedFinding,
        place: Option<&'a str>,
    ) -> Item<'a> {
        let source = &reading.sources[placed.source];
        let finding = &placed.finding;
        let position = placed.span.map(|span| source.position(span.start));
        Item {
            code: finding.code,
            severity: finding.severity(),
            file: source.name(),
            line: position.map_or(1, |position| position.line),
            column: position.map_or(1, |position| position.column),
            place,
            field: finding.field.to_string(),
            message: finding.problem(),
            fix: finding.fix.as_deref(),
            at: &finding.at,
        }
    }

    /// `warning same-minute at shop.yaml:12: …`.
    pub(crate) fn in_a_line(&self) -> String {
        let Item { code, severity, file, line, message, .. } = self;
        format!("{severity} {code} at {file}:{line}: {message}")
    }
}
