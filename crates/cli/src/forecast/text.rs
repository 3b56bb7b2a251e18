//! The forecast for a user: lanes over a ruler, as wide as the terminal, and the reasons below.

mod series;

use std::io::{self, Write};

use almanac_calendar::{ClockChange, Zone, tzdata_version};
use almanac_forecast::{Origin, Period};
use anstyle::{AnsiColor, Style};

use self::series::{Room, write_series};
use super::WHY_EMPTY;
use super::question::{PlaceForecast, Question, View};
use super::ruler::marks;
use crate::drawing::Drawing;
use crate::formulas::Formulas;
use crate::invisible::printable;
use crate::wall_clock::civil;

const STRONG: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const VALUE: Style = AnsiColor::Cyan.on_default().bold();

/// The width of the value and the axis, left of the lanes.
const MARGIN: usize = 13;
/// The minimum width for lanes; a narrower terminal wraps the lines itself.
const NARROWEST: usize = 40;
/// The maximum width with lanes.
const WIDEST: usize = 400;

/// The maximum number of listed starts of a `CronJob`.
const NEXT_STARTS: usize = 3;

/// The maximum number of listed clock changes; more clock changes are summarized in one line.
const CLOCK_CHANGES: usize = 4;

/// The maximum number of listed effects of clock changes on rules; further effects are counted.
const TOUCHED_RULES: usize = 12;

pub(super) fn write(
    question: &Question<'_>,
    width: usize,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let width = width.max(NARROWEST);
    let output = &mut Drawing::new(output, width);
    let columns = width.min(WIDEST) - MARGIN - 1;
    write_head(question, output)?;
    let view = question.view;
    let marks = marks(view.period, view.zone, count(columns));
    let formulas = Formulas::for_input(question.input);
    let room = Room { view, marks: &marks, columns, formulas: &formulas };
    let assumptions = question.write_parts(
        |context, part, part_writer| {
            if let Some(name) = context.place.name.as_ref().filter(|_| context.is_first) {
                writeln!(part_writer, "\n{STRONG}In {}{STRONG:#}", printable(name))?;
            }
            let all = question.drawn(context, part);
            all.iter().try_for_each(|drawn| Ok(write_series(room, drawn, part_writer)?))
        },
        output,
    )?;
    write_cron_jobs(question, output)?;
    let clock_changes = question.clock_changes();
    if !clock_changes.is_empty() {
        writeln!(output, "\n{STRONG}Clock changes{STRONG:#}")?;
    }
    let more = clock_changes.len().saturating_sub(TOUCHED_RULES);
    let listed = if more > 1 { TOUCHED_RULES } else { clock_changes.len() };
    for (place, touched) in clock_changes.into_iter().take(listed) {
        let prefix = place.name.as_ref().map_or(String::new(), |name| format!("in {name}: "));
        writeln!(output, "  {}", printable(&format!("{prefix}{touched}")))?;
    }
    if more > 1 {
        writeln!(output, "  and {more} more like these (-o json lists them all)")?;
    }
    let assumptions = question.assumptions_in_short(&assumptions, false);
    if !assumptions.is_empty() {
        writeln!(output, "\n{STRONG}Assumptions{STRONG:#}")?;
        for assumption in assumptions {
            writeln!(output, "  {}", printable(&formulas.kept_whole(&assumption)))?;
        }
    }
    if !question.input.findings.is_empty() {
        writeln!(output)?;
    }
    write_findings(question, output)?;
    Ok(())
}

/// Writes the schedule of each `CronJob`, and its next Job starts.
fn write_cron_jobs(question: &Question<'_>, output: &mut impl Write) -> io::Result<()> {
    if question.has_cron_jobs() {
        writeln!(output, "\n{STRONG}CronJobs{STRONG:#}")?;
    }
    for PlaceForecast { place, cron_jobs, .. } in &question.forecasts {
        let prefix = place.name.as_ref().map_or(String::new(), |name| format!("in {name}: "));
        for job in cron_jobs {
            let mut starts = job.starts(question.view.period).map(|at| civil(job.zone(), at));
            let mut texts: Vec<String> = starts.by_ref().take(NEXT_STARTS).collect();
            if texts.is_empty() {
                texts.push(job.why_nothing());
            } else if starts.next().is_some() {
                texts.push("…".to_owned());
            }
            let line = format!("{prefix}{}: {}", job.described(), texts.join(", "));
            writeln!(output, "  {}", printable(&line))?;
        }
    }
    Ok(())
}

/// The findings of the input, each with its place.
pub(super) fn write_findings(
    question: &Question<'_>,
    output: &mut Drawing<impl Write>,
) -> io::Result<()> {
    for (index, placed) in question.input.findings.iter().enumerate() {
        if index > 0 {
            writeln!(output)?;
        }
        question.input.write_finding(placed, output)?;
    }
    Ok(())
}

fn write_head(question: &Question<'_>, output: &mut impl Write) -> io::Result<()> {
    let View { period, zone } = question.view;
    let (from, to) = (civil(zone, period.from()), civil(zone, period.to()));
    let (title, rest) = (format!("{from} to {to}"), in_zone(zone));
    let tzdata = tzdata_version();
    writeln!(output, "{STRONG}{title}{STRONG:#}{QUIET}{rest}, tzdata {tzdata}{QUIET:#}")?;
    for warning in warnings_of_clocks(zone, period) {
        writeln!(output, "{WARNING}!{WARNING:#} {warning}")?;
    }
    if question.is_empty() {
        writeln!(output, "\n{WHY_EMPTY}")?;
    }
    Ok(())
}

/// A line for each clock change of the zone; a single line if there are too many.
fn warnings_of_clocks(zone: Zone, period: Period) -> Vec<String> {
    let changes: Vec<_> = zone.changes(period.from(), period.to()).collect();
    if let [first, .., last] = &changes[..]
        && changes.len() > CLOCK_CHANGES
    {
        let (first, last) = (civil(zone, first.at), civil(zone, last.at));
        return vec![format!(
            "the clocks change {} times here, from {first} to {last}",
            changes.len()
        )];
    }
    let warning = |change: &ClockChange| {
        let direction = if change.is_gap() { "forward" } else { "back" };
        format!("the clocks go {direction} here: {}", civil(zone, change.at))
    };
    changes.iter().map(warning).collect()
}

/// The name of a rule or policy in a lane, such as `shop-hours open`.
pub(crate) fn writer_name(origin: &Origin) -> Option<String> {
    let writer = origin.writer.as_ref()?;
    let policy = writer.policy.identity.name();
    Some(match &writer.rule {
        Some(rule) => format!("{policy} {rule}"),
        None => policy.to_owned(),
    })
}

/// The suffix ` (Europe/Berlin)`; empty for UTC, because a time in UTC already includes it.
pub(crate) fn in_zone(zone: Zone) -> String {
    if zone == Zone::utc() { String::new() } else { format!(" ({zone})") }
}

fn count(columns: usize) -> f64 {
    // A terminal is a few hundred characters wide.
    f64::from(u16::try_from(columns).unwrap_or(u16::MAX))
}
