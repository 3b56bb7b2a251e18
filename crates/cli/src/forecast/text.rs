//! The forecast for a person: lanes over a ruler, as wide as the terminal, and the reasons below.

use std::collections::BTreeSet;
use std::io::{self, Write};

use almanac_calendar::{Zone, tzdata_version};
use almanac_forecast::{Origin, Segment, Series};
use anstyle::{AnsiColor, Style};

use super::lanes::lanes;
use super::ruler::{Mark, marks};
use super::{Question, WHY_EMPTY};
use crate::validate;
use crate::wall_clock::civil;

const STRONG: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const VALUE: Style = AnsiColor::Cyan.on_default().bold();

/// Left of the lanes: the value and the axis.
const MARGIN: usize = 13;
const NO_BREAK: &str = "\u{a0}";
const NARROWEST: usize = 40;
const WIDEST: usize = 400;
const USUAL_WIDTH: usize = 100;

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    write_head(question, output)?;
    let columns = width().clamp(NARROWEST, WIDEST) - MARGIN - 1;
    let marks = marks(question.period(), question.zone, count(columns));
    let mut assumptions = BTreeSet::new();
    for part in question.parts() {
        assumptions.extend(part.assumptions);
        for series in &part.series {
            write_series(question, series, &marks, columns, output)?;
        }
    }
    let assumptions = question.assumptions(&assumptions);
    if !assumptions.is_empty() {
        writeln!(output, "\n{STRONG}Taken for granted{STRONG:#}")?;
        for assumption in assumptions {
            for (index, line) in wrapped(&assumption, columns + MARGIN - 4).iter().enumerate() {
                writeln!(output, "  {}{line}", if index == 0 { "" } else { "  " })?;
            }
        }
    }
    if !question.given.findings.is_empty() {
        writeln!(output)?;
    }
    write_findings(question, output)?;
    Ok(())
}

/// What is wrong with what is given, each with its place.
pub(super) fn write_findings(question: &Question<'_>, output: &mut impl Write) -> io::Result<()> {
    for (index, placed) in question.given.findings.iter().enumerate() {
        if index > 0 {
            writeln!(output)?;
        }
        let source = &question.given.reading.sources[placed.source];
        validate::text::write_finding(output, source, placed)?;
    }
    Ok(())
}

fn write_head(question: &Question<'_>, output: &mut impl Write) -> io::Result<()> {
    let (period, zone) = (question.period(), question.zone);
    let (from, to) = (civil(zone, period.from()), civil(zone, period.to()));
    writeln!(
        output,
        "{STRONG}{from} to {to}{STRONG:#}{QUIET}{}, tzdata {}{QUIET:#}",
        in_zone(zone),
        tzdata_version()
    )?;
    for change in zone.changes(period.from(), period.to()) {
        let what = if change.is_gap() { "forward" } else { "back" };
        let at = civil(zone, change.at);
        writeln!(output, "{WARNING}!{WARNING:#} the clocks go {what} here: {at}")?;
    }
    if question.is_empty() {
        writeln!(output, "\n{WHY_EMPTY}")?;
    }
    Ok(())
}

fn write_series(
    question: &Question<'_>,
    series: &Series,
    marks: &[Mark],
    columns: usize,
    output: &mut impl Write,
) -> io::Result<()> {
    let target = &series.target;
    writeln!(output, "\n{STRONG}{target}{STRONG:#} {}", series.field)?;
    let policies = series.policies();
    if policies.len() > 1 {
        let names: Vec<String> = policies.iter().map(ToString::to_string).collect();
        let names = names.join(" and ");
        writeln!(output, "{WARNING}!{WARNING:#} {} policies write it: {names}", policies.len())?;
    }
    writeln!(output, "{QUIET}{}{QUIET:#}", ruler(question, marks, columns))?;
    for lane in lanes(series, question.period(), columns) {
        let label = lane.label();
        let strokes = lane.strokes.trim_end();
        writeln!(
            output,
            "{:>width$} {QUIET}┤{QUIET:#}{VALUE}{strokes}{VALUE:#}",
            label,
            width = MARGIN - 2
        )?;
    }
    write_reasons(question, series, columns, output)
}

/// The labels, each beginning above the character in which its instant lies.
fn ruler(question: &Question<'_>, marks: &[Mark], columns: usize) -> String {
    let period = question.period();
    let start = period.from().as_nanosecond();
    let length = period.to().as_nanosecond() - start;
    let mut line = " ".repeat(MARGIN);
    for mark in marks {
        let place = (mark.at.as_nanosecond() - start) * columns as i128 / length;
        let place = MARGIN + usize::try_from(place).unwrap_or(0);
        let written = line.chars().count();
        if place >= written && place + 1 + mark.label.len() <= MARGIN + columns {
            line += &" ".repeat(place - written);
            line.push('╷');
            line += &mark.label;
        }
    }
    line
}

/// Who sets which value, why, how often, and when first.
fn write_reasons(
    question: &Question<'_>,
    series: &Series,
    columns: usize,
    output: &mut impl Write,
) -> io::Result<()> {
    let mut groups: Vec<(&Segment, Vec<&Segment>)> = Vec::new();
    for segment in &series.segments {
        let alike = |(known, _): &&mut (&Segment, Vec<&Segment>)| {
            known.value == segment.value && known.origin.writer == segment.origin.writer
        };
        match groups.iter_mut().find(alike) {
            Some((_, segments)) => segments.push(segment),
            None => groups.push((segment, vec![segment])),
        }
    }
    for (first, segments) in groups {
        let value = first.value.map_or("unknown".to_owned(), |value| value.to_string());
        let name = who(&first.origin).map_or(String::new(), |name| format!("{name}: "));
        let reason = wrapped(&format!("{name}{}", first.origin.reason), columns);
        let when = wrapped(&when(question, &segments), columns);
        let label = MARGIN - 2;
        for (index, line) in reason.iter().enumerate() {
            let value = if index == 0 { value.as_str() } else { "" };
            writeln!(output, "{VALUE}{value:>label$}{VALUE:#}  {line}")?;
        }
        for line in when {
            let line = line.replace(NO_BREAK, " ");
            writeln!(output, "{:MARGIN$}{QUIET}{line}{QUIET:#}", "")?;
        }
    }
    Ok(())
}

fn when(question: &Question<'_>, segments: &[&Segment]) -> String {
    let from = question.period().from();
    let (before, later): (Vec<&Segment>, Vec<&Segment>) =
        segments.iter().partition(|segment| segment.from == from);
    // An instant is not broken between lines.
    let at = |segment: &Segment| civil(question.zone, segment.from).replace(' ', NO_BREAK);
    let begins = if before.is_empty() { "" } else { "from the beginning" };
    match later[..] {
        [] => begins.to_owned(),
        [only] if begins.is_empty() => at(only),
        [only] => format!("{begins} and {}", at(only)),
        [first, .., last] => {
            let and = if begins.is_empty() { "" } else { " and " };
            let (first, last, times) = (at(first), at(last), later.len());
            format!("{begins}{and}{times} times: {first} … {last}")
        }
    }
}

/// `shop-hours open`.
pub(super) fn who(origin: &Origin) -> Option<String> {
    let writer = origin.writer.as_ref()?;
    let policy = writer.policy.name();
    Some(match &writer.rule {
        Some(rule) => format!("{policy} {rule}"),
        None => policy.to_owned(),
    })
}

/// ` (Europe/Berlin)`; nothing for UTC, which every time of it says itself.
pub(super) fn in_zone(zone: Zone) -> String {
    if zone == Zone::utc() { String::new() } else { format!(" ({zone})") }
}

/// How many characters a line has: as `COLUMNS` says, or else the terminal.
fn width() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    said.or_else(terminal).unwrap_or(USUAL_WIDTH)
}

/// Text in lines that are no longer than this, broken between words. A word that is longer stands
/// on a line of its own.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.len() - 1;
        let line = &mut lines[line];
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

fn count(columns: usize) -> f64 {
    // A terminal is a few hundred characters wide.
    f64::from(u16::try_from(columns).unwrap_or(u16::MAX))
}
