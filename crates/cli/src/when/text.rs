//! The output of `almanac when` for a user.

use std::io::{self, Write};

use almanac_calendar::{ClockEffect, Zone};
use anstyle::{AnsiColor, Style};
use jiff::Timestamp;

use super::Question;
use super::objects::{ObjectSchedule, ScheduleLookup};
use super::schedule::{Schedule, Shape};
use crate::clock_changes::{ScheduleEvent, Touches};
use crate::cron_jobs::called;
use crate::drawing::Drawing;
use crate::input::Input;
use crate::invisible::printable;
use crate::wall_clock::civil;

const STRONG: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Writes the schedules of objects, each below its name.
pub(super) fn write_all(
    input: &Input,
    all: &[ObjectSchedule<'_>],
    width: usize,
    output: &mut impl Write,
) -> io::Result<()> {
    let output = &mut Drawing::new(output, width);
    if all.is_empty() {
        writeln!(output, "no schedules found")?;
    }
    for (index, object_schedule) in all.iter().enumerate() {
        let ObjectSchedule { place, identity, written_at, rule, lookup } = object_schedule;
        if index > 0 {
            writeln!(output)?;
        }
        let prefix = place.name.as_ref().map_or(String::new(), |name| format!("in {name}: "));
        let rule = rule.as_ref().map_or(String::new(), |rule| format!(" {rule}"));
        let name = called(identity, written_at.as_ref());
        writeln!(output, "{QUIET}{}{QUIET:#}", printable(&format!("{prefix}{name}{rule}")))?;
        match lookup {
            ScheduleLookup::When(question) => write_answer(question, output)?,
            ScheduleLookup::Unknown(why) => write_notes(why, output)?,
        }
    }
    for placed in &input.findings {
        writeln!(output)?;
        input.write_finding(placed, output)?;
    }
    Ok(())
}

fn write_notes(notes: &[String], output: &mut impl Write) -> io::Result<()> {
    let line = |note: &String| writeln!(output, "{WARNING}!{WARNING:#} {}", printable(note));
    notes.iter().try_for_each(line)
}

pub(super) fn write(question: &Question, width: usize, output: &mut impl Write) -> io::Result<()> {
    write_answer(question, &mut Drawing::new(output, width))
}

fn write_answer(question: &Question, output: &mut impl Write) -> io::Result<()> {
    let Question { schedule, from, to, count, watch_to, second_zone } = question;
    let zone = schedule.zone();
    let meaning = capitalized(&schedule.meaning);
    writeln!(output, "{STRONG}{meaning}{STRONG:#} ({zone})")?;
    write_notes(&schedule.notes, output)?;
    if schedule.is_off {
        return Ok(());
    }
    if let Shape::Windows(windows) = &schedule.shape {
        let state = if windows.is_open(*from) { "open" } else { "closed" };
        let since = windows
            .previous_transition(*from)
            .map_or(String::new(), |it| format!(", since {}", civil(zone, it.at)));
        writeln!(output, "At {} it is {state}{since}", civil(zone, *from))?;
    }
    writeln!(output)?;

    let effects: Vec<ClockEffect> = schedule.clock_effects(*from, *watch_to).collect();
    let mut clock_changes = Touches::among(&effects);
    let mut events = schedule.between(*from, *to).take(*count).peekable();
    if events.peek().is_none() {
        let when = if *to == Timestamp::MAX { "from then on" } else { "in this period" };
        writeln!(output, "  nothing happens {when}")?;
    }
    for (at, event) in events {
        let is_affected = clock_changes.at(at, event).is_some();
        write_line(output, schedule, *second_zone, (at, event), is_affected)?;
    }
    if !effects.is_empty() {
        writeln!(output)?;
    }
    for effect in effects {
        writeln!(output, "{WARNING}!{WARNING:#} {effect}")?;
    }
    Ok(())
}

fn write_line(
    output: &mut impl Write,
    schedule: &Schedule,
    second_zone: Zone,
    (at, event): (Timestamp, ScheduleEvent),
    is_affected: bool,
) -> io::Result<()> {
    let zone = schedule.zone();
    let verb = match schedule.shape {
        Shape::Firings(_) => String::new(),
        Shape::Windows(_) => format!("{:<6}  ", event.verb()),
    };
    write!(output, "  {verb}{}", civil(zone, at))?;
    if zone != second_zone {
        write!(output, "  {QUIET}{}{QUIET:#}", civil(second_zone, at))?;
    }
    if is_affected {
        write!(output, "  {WARNING}!{WARNING:#}")?;
    }
    writeln!(output)
}

fn capitalized(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |it| it.to_uppercase().to_string() + letters.as_str())
}
