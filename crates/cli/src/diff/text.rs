//! The differences for a person in a terminal: a sentence for each value, and a table.

use std::io::{self, Write};

use almanac_calendar::tzdata_version;
use anstyle::{AnsiColor, Style};

use super::jobs::JobChange;
use super::question::{Assumptions, Question};
use super::summary::Summary;
use super::table::{self, HEADS};
use super::words::{self, counted, sentence};
use crate::drawing::Drawing;
use crate::findings::printable;

const STRONG: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();
const MORE: Style = AnsiColor::Red.on_default();
const LESS: Style = AnsiColor::Green.on_default();

/// How many changes are told, and the rest counted: nobody reads more in a terminal.
const MOST: usize = 200;

/// No column is wider, so that one long name does not move all others out of sight.
const WIDEST: usize = 60;

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<bool> {
    let output = &mut Drawing::new(output);
    let (changes, summary, assumptions) = question.changes()?;
    let period = words::period(question);
    let tzdata = tzdata_version();
    writeln!(output, "{STRONG}{period}{STRONG:#}{QUIET}, tzdata {tzdata}{QUIET:#}")?;
    if let Some(said) = words::incomplete(question) {
        writeln!(output, "{MORE}{}{MORE:#}", printable(&said))?;
    }
    writeln!(output, "{}", printable(&headline(question, &summary)))?;
    if let Some(said) = words::rendered(question) {
        writeln!(output, "{}", printable(&said))?;
    }
    let shown = &changes[..changes.len().min(MOST)];
    let left: usize = changes.iter().skip(MOST).map(|it| it.count).sum();
    let jobs = question.jobs.changes.iter().take(MOST);
    if !shown.is_empty() || !question.jobs.changes.is_empty() {
        writeln!(output)?;
    }
    for change in shown {
        let style = match change.growth().map(|it| it.cmp(&almanac_forecast::PodHours::default())) {
            Some(std::cmp::Ordering::Greater) => MORE,
            Some(std::cmp::Ordering::Less) => LESS,
            Some(std::cmp::Ordering::Equal) | None => Style::new(),
        };
        let (title, sentence) = (printable(&change.title()), printable(&sentence(change)));
        writeln!(output, "{style}{title}{style:#}: {sentence}")?;
    }
    if left > 0 {
        let values = counted(left, "value");
        writeln!(output, "and {values} more (-o json lists them, --only shows some)")?;
    }
    for job in jobs.clone() {
        let (title, sentence) = (printable(job.title()), printable(&job.sentence()));
        writeln!(output, "{title}: {sentence}")?;
    }
    if let Some(left) = question.jobs.changes.len().checked_sub(MOST).filter(|left| *left > 0) {
        writeln!(output, "and {} more", counted(left, "CronJob"))?;
    }
    let rows = shown.iter().flat_map(table::rows).chain(jobs.map(JobChange::row)).collect();
    write_table(rows, output)?;
    write_assumptions(&assumptions, output)?;
    super::tell_findings(question, output)?;
    for (index, note) in question.notes.iter().enumerate() {
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
    format!("{old} → {new}: {}", summary.told(&question.jobs.told(), question.period))
}

fn write_table(rows: Vec<[String; 8]>, output: &mut impl Write) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let rows: Vec<[String; 8]> =
        rows.into_iter().map(|row| row.map(|cell| printable(&cell))).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        let widest = cells.chain([HEADS[column].len()]).max().unwrap_or_default();
        widest.min(WIDEST)
    };
    let widths: [usize; 8] = std::array::from_fn(width);
    let line = |cells: &[String; 8]| {
        let padded: Vec<String> =
            cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        padded.join("  ").trim_end().to_owned()
    };
    writeln!(output, "\n{STRONG}{}{STRONG:#}", line(&HEADS.map(str::to_uppercase)))?;
    rows.iter().try_for_each(|row| writeln!(output, "{}", line(row)))
}

fn write_assumptions(assumptions: &Assumptions, output: &mut impl Write) -> io::Result<()> {
    let all = words::assumed(assumptions);
    if all.is_empty() {
        return Ok(());
    }
    writeln!(output, "\n{STRONG}Assumptions{STRONG:#}")?;
    for said in all.iter().take(10) {
        writeln!(output, "  {}", printable(said))?;
    }
    if all.len() > 10 {
        writeln!(output, "  and {} more (-o json lists them)", all.len() - 10)?;
    }
    Ok(())
}
