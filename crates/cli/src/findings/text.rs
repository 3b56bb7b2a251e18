//! Findings for users: the message, the location, and the line with a marker under the relevant part.

use std::collections::BTreeSet;
use std::io::{self, Write};

use almanac_api::finding::{Severity, Span};
use almanac_api::reading::{PlacedFinding, Skipped, Source};
use almanac_engine::counted;
use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthChar as _;

use super::Report;
use crate::drawing::Drawing;
use crate::files::Note;
use crate::invisible::{self, printable};
use crate::text_width::display_width;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const INFO: Style = AnsiColor::Green.on_default().bold();
const BOLD: Style = Style::new().bold();
const RULE: Style = AnsiColor::Blue.on_default().bold();

/// The maximum length of an excerpt of a line, in characters.
const WIDEST: usize = 120;

/// The length of an excerpt before the relevant part of a long line.
const LEAD: usize = 40;

pub(super) fn write(output: &mut impl Write, report: &Report, width: usize) -> anyhow::Result<()> {
    let output = &mut Drawing::new(output, width);
    for placed in &report.everything.findings {
        let place = report.everything.place_of(placed);
        write_finding(output, &report.reading.sources[placed.source], placed, place)?;
        writeln!(output)?;
    }
    write_summary(output, report)?;
    Ok(())
}

/// Writes one finding; `place` is the only place with this finding; `None` if all places have it.
pub(crate) fn write_finding(
    output: &mut Drawing<impl Write>,
    source: &Source,
    placed: &PlacedFinding,
    place: Option<&str>,
) -> io::Result<()> {
    let finding = &placed.finding;
    let severity = finding.severity();
    let style = match severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
        Severity::Info => INFO,
    };
    let code = finding.code;
    let headline = printable(&finding.headline());
    writeln!(output, "{style}{severity}[{code}]{style:#}{BOLD}: {headline}{BOLD:#}")?;
    let Some(span) = placed.span else {
        writeln!(output, "  {RULE}-->{RULE:#} {}", printable(source.name()))?;
        return write_detail(output, 1, "fix", finding.fix.as_deref());
    };
    let position = source.position(span.start);
    let number = position.line.to_string();
    let margin = number.len();
    let name = printable(source.name());
    writeln!(output, "{:margin$}{RULE}-->{RULE:#} {name}:{}:{}", "", number, position.column)?;
    let room = output.width().saturating_sub(margin + 3);
    let (shown, before, marked) = excerpt(source, span, position.column - 1, room);
    writeln!(output, "{:margin$} {RULE}|{RULE:#}", "")?;
    writeln!(output, "{RULE}{number} |{RULE:#} {shown}")?;
    let carets = "^".repeat(marked);
    writeln!(output, "{:margin$} {RULE}|{RULE:#} {:before$}{style}{carets}{style:#}", "", "")?;
    write_detail(output, margin, "place", place)?;
    write_detail(output, margin, "fix", finding.fix.as_deref())
}

fn write_detail(
    output: &mut impl Write,
    margin: usize,
    label: &str,
    text: Option<&str>,
) -> io::Result<()> {
    let Some(text) = text.map(printable) else { return Ok(()) };
    writeln!(output, "{:margin$} {RULE}={RULE:#} {BOLD}{label}:{BOLD:#} {text}", "")
}

/// The part of a line around a span that fits the width, the number of columns before the marked part, and the number
/// of marked columns.
fn excerpt(source: &Source, span: Span, column: usize, room: usize) -> (String, usize, usize) {
    // A line may be a whole file, so only the excerpt is processed further.
    let line = source.line_around(span.start);
    let is_long = line.chars().nth(WIDEST).is_some() || display_width(line) >= room;
    // Leaves space for an ellipsis at each end.
    let most = if is_long { WIDEST.min(room.saturating_sub(2)) } else { room };
    let begin = if is_long { column.saturating_sub(LEAD.min(most / 3)) } else { 0 };
    let mut rest = line.chars().skip(begin).peekable();
    let (mut part, mut used) = (String::new(), 0);
    let width = |letter: char| {
        let number = invisible::code_point(letter);
        number.map_or_else(|| letter.width().unwrap_or(1), |it| it.len())
    };
    while let Some(letter) = rest.next_if(|letter| used + width(*letter) <= most) {
        used += width(letter);
        part.push(letter);
    }
    let subject = source.slice(span).lines().next().unwrap_or_default();
    let length = subject.chars().take(WIDEST).count();
    let columns = |part: String| display_width(&printable(&part));
    let before = columns(part.chars().take(column - begin).collect());
    let marked = columns(part.chars().skip(column - begin).take(length).collect()).max(1);
    let mut excerpt = String::new();
    if begin > 0 {
        excerpt.push('…');
    }
    excerpt.push_str(&printable(&part));
    if rest.peek().is_some() {
        excerpt.push('…');
    }
    (excerpt.trim_end().to_owned(), before + usize::from(begin > 0), marked)
}

/// The number of findings, of files with findings, and of suppressed findings.
pub(super) fn summary(report: &Report) -> String {
    let everything = &report.everything;
    let count_of = |severity| {
        everything.findings.iter().filter(|placed| placed.finding.severity() == severity).count()
    };
    let counts = [
        (count_of(Severity::Error), "error"),
        (count_of(Severity::Warning), "warning"),
        (count_of(Severity::Info), "note"),
    ];
    let counts_text = more_than_none(&counts);
    let outcome = if !counts_text.is_empty() {
        let files: BTreeSet<_> = everything.findings.iter().map(|placed| placed.source).collect();
        format!("{} in {}", counts_text.join(" and "), counted(files.len(), "file"))
    } else if count_checked(report) == 0 {
        "nothing to check".to_owned()
    } else {
        "no problems found".to_owned()
    };
    match report.ignored {
        0 => outcome,
        count => format!("{outcome}, {count} ignored"),
    }
}

/// `1 error`, `2 warnings`, without kinds that are absent.
fn more_than_none(counts: &[(usize, &str)]) -> Vec<String> {
    let some = counts.iter().filter(|(count, _)| *count > 0);
    some.map(|(count, what)| counted(*count, what)).collect()
}

fn count_checked(report: &Report) -> usize {
    let Report { reading, everything, .. } = report;
    let bounds = everything.sources_of_bounds(reading).count();
    everything.checked.len() + everything.cron_jobs(reading).count() + bounds
}

fn write_summary(output: &mut impl Write, report: &Report) -> io::Result<()> {
    let Report { reading, everything, .. } = report;
    let outcome = summary(report);
    let count_of_files = everything.files(reading).len();
    let objects = counted(count_checked(report), "object");
    let files = counted(count_of_files, "file");
    let places = match everything.places.count() {
        1 => String::new(),
        count => format!(" in {count} places"),
    };
    writeln!(output, "checked {objects} in {files}{places}: {outcome}")?;
    if report.excluded > 0 {
        let paths = counted(report.excluded, "path");
        writeln!(output, "excluded {paths} by almanac.toml")?;
    }
    write_skipped(output, report, count_of_files)
}

/// Writes the numbers of files and objects that were not checked, by reason.
fn write_skipped(output: &mut impl Write, report: &Report, read: usize) -> io::Result<()> {
    let Report { reading, everything, notes, is_narrowed, .. } = report;
    let Skipped { files, objects } = reading.skipped;
    let files = files + reading.sources.len() - read;
    let objects = objects + reading.objects.len() - everything.checked.len();
    let passed = more_than_none(&[(files, "file"), (objects, "object")]);
    if passed.is_empty() {
        return Ok(());
    }
    let may_be = [
        (true, "without a policy or its target"),
        (*is_narrowed, "not requested"),
        (notes.iter().any(Note::is_of_template), "not rendered yet"),
    ];
    let may_be: Vec<&str> = may_be.into_iter().filter(|(may, _)| *may).map(|(_, it)| it).collect();
    writeln!(output, "skipped {} {}", passed.join(" and "), may_be.join(", or "))
}
