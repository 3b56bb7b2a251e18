//! The differences for a terminal: a sentence for each value, and a table.

use std::io::{self, Write};
use std::iter;

use almanac_calendar::tzdata_version;
use almanac_engine::counted;
use anstyle::{AnsiColor, Style};

use super::columns;
use super::jobs::JobChange;
use super::question::{Assumptions, Question};
use super::summary::Summary;
use super::table::{self, HEADS};
use super::words::{self, sentence};
use crate::drawing::Drawing;
use crate::invisible::printable;

const STRONG: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();
const MORE: Style = AnsiColor::Red.on_default();
const LESS: Style = AnsiColor::Green.on_default();

/// The maximum number of listed changes, so that a terminal stays readable; the output has the number of the others.
const MAX_CHANGES: usize = 200;

pub(super) fn write(
    question: &Question<'_>,
    width: usize,
    output: &mut impl Write,
) -> anyhow::Result<bool> {
    let output = &mut Drawing::new(output, width);
    let (changes, summary, assumptions) = question.changes()?;
    let period = words::period(question);
    let tzdata = tzdata_version();
    writeln!(output, "{STRONG}{period}{STRONG:#}{QUIET}, tzdata {tzdata}{QUIET:#}")?;
    if let Some(text) = words::incomplete(question) {
        writeln!(output, "{MORE}{}{MORE:#}", printable(&text))?;
    }
    writeln!(output, "{}", printable(&headline(question, &summary)))?;
    if let Some(text) = words::rendered(question) {
        writeln!(output, "{}", printable(&text))?;
    }
    let listed = &changes[..changes.len().min(MAX_CHANGES)];
    let omitted: usize = changes.iter().skip(MAX_CHANGES).map(|it| it.count).sum();
    let jobs = question.jobs.changes.iter().take(MAX_CHANGES);
    if !listed.is_empty() || !question.jobs.changes.is_empty() {
        writeln!(output)?;
    }
    for change in listed {
        let style = match change.growth().map(|it| it.cmp(&almanac_forecast::PodHours::default())) {
            Some(std::cmp::Ordering::Greater) => MORE,
            Some(std::cmp::Ordering::Less) => LESS,
            Some(std::cmp::Ordering::Equal) | None => Style::new(),
        };
        let (title, sentence) = (printable(&change.title()), printable(&sentence(change)));
        writeln!(output, "{style}{title}{style:#}: {sentence}")?;
    }
    if omitted > 0 {
        let values = counted(omitted, "value");
        writeln!(output, "and {values} more (-o json lists them, --only shows some)")?;
    }
    for job in jobs.clone() {
        let (title, sentence) = (printable(job.title()), printable(&job.sentence()));
        writeln!(output, "{title}: {sentence}")?;
    }
    let omitted_jobs = question.jobs.changes.len().saturating_sub(MAX_CHANGES);
    if omitted_jobs > 0 {
        writeln!(output, "and {} more", counted(omitted_jobs, "CronJob"))?;
    }
    let rows = listed.iter().flat_map(table::rows).chain(jobs.map(JobChange::row));
    write_table(rows, output)?;
    write_assumptions(&assumptions, output)?;
    super::write_findings(question, output)?;
    for (index, note) in question.coverage.notes.iter().enumerate() {
        let line = if index == 0 { "\n" } else { "" };
        writeln!(output, "{line}note: {}", printable(note))?;
    }
    Ok(summary.may_differ())
}

/// `policies → changed: 3 of 12 values change; +2,432 pod-hours a week`.
fn headline(question: &Question<'_>, summary: &Summary) -> String {
    let (old, new) = (&question.old.name, &question.new.name);
    if question.is_empty() {
        return format!(
            "{old} → {new}: nothing to compare, as neither has a policy that can be forecast"
        );
    }
    format!("{old} → {new}: {}", summary.sentence(&question.jobs.parts(), question.period))
}

fn write_table(
    rows: impl Iterator<Item = [String; 8]>,
    output: &mut Drawing<impl Write>,
) -> io::Result<()> {
    let rows = rows.map(|row| row.map(|cell| printable(&cell)));
    let heads = HEADS.map(str::to_uppercase);
    let rows: Vec<[String; 8]> = iter::once(heads).chain(rows).collect();
    if rows.len() == 1 {
        return Ok(());
    }
    writeln!(output)?;
    let Some(all) = columns::laid_out(&rows, output.width()) else {
        return rows.iter().skip(1).try_for_each(|row| write_row(row, output));
    };
    for (index, lines) in all.iter().enumerate() {
        let style = if index == 0 { STRONG } else { Style::new() };
        lines.iter().try_for_each(|line| writeln!(output, "{style}{line}{style:#}"))?;
    }
    Ok(())
}

/// Writes a row as a sentence below its target, for a table that is too wide.
fn write_row(row: &[String; 8], output: &mut impl Write) -> io::Result<()> {
    let [target, field, when, ..] = row;
    if !target.is_empty() {
        writeln!(output, "{STRONG}{target} {field}{STRONG:#}")?;
    }
    let values = HEADS.iter().zip(row).skip(3).filter(|(_, value)| !value.is_empty());
    let values: Vec<String> = values.map(|(head, value)| format!("{head} {value}")).collect();
    let colon = if values.is_empty() { "" } else { ": " };
    writeln!(output, "  {when}{colon}{}", values.join(", "))
}

fn write_assumptions(assumptions: &Assumptions, output: &mut impl Write) -> io::Result<()> {
    let all = words::assumed(assumptions);
    if all.is_empty() {
        return Ok(());
    }
    writeln!(output, "\n{STRONG}Assumptions{STRONG:#}")?;
    for assumption in all.iter().take(10) {
        writeln!(output, "  {}", printable(assumption))?;
    }
    if all.len() > 10 {
        writeln!(output, "  and {} more (-o json lists them)", all.len() - 10)?;
    }
    Ok(())
}
