//! A calendar to subscribe to, in the format of RFC 5545 and RFC 7986.
//!
//! The events are written one after the other. Instants are in UTC, and every calendar displays them in the zone of
//! its reader. The commands choose the events.

use std::io::{self, Write};

use almanac_calendar::Zone;
use almanac_engine::Fingerprint;
use jiff::Timestamp;

use crate::wall_clock::formatted;

/// The maximum number of bytes on a line.
const WIDTH: usize = 75;

/// The interval at which subscribers fetch the calendar again.
const REFRESHED: &str = "PT1H";

/// An event.
pub(crate) struct CalendarEvent<'a> {
    /// The strings that distinguish the event from others with the same start.
    pub(crate) unique_parts: &'a [&'a str],
    /// The start, but not before the period.
    pub(crate) from: Timestamp,
    /// Whether the event may have started before the period.
    pub(crate) has_begun: bool,
    /// The exclusive end; `None` for an event without a duration.
    pub(crate) to: Option<Timestamp>,
    pub(crate) summary: &'a str,
    pub(crate) description: &'a str,
    /// The place of the event; `None` if the input has one place.
    pub(crate) place: Option<&'a str>,
}

/// Starts a calendar of this name.
pub(crate) fn begin(name: &str, output: &mut impl Write) -> io::Result<()> {
    let name = escaped(name);
    let version = env!("CARGO_PKG_VERSION");
    line("BEGIN:VCALENDAR", output)?;
    line("VERSION:2.0", output)?;
    line(&format!("PRODID:-//Almanac//almanac {version}//EN"), output)?;
    line("CALSCALE:GREGORIAN", output)?;
    line(&format!("NAME:{name}"), output)?;
    line(&format!("X-WR-CALNAME:{name}"), output)?;
    line(&format!("REFRESH-INTERVAL;VALUE=DURATION:{REFRESHED}"), output)?;
    line(&format!("X-PUBLISHED-TTL:{REFRESHED}"), output)
}

/// Writes an event. `period_start` is the start of the requested period: the calendar contains the state of that
/// instant, so the same command creates the same calendar at any time.
pub(crate) fn write_event(
    event: &CalendarEvent<'_>,
    period_start: Timestamp,
    output: &mut impl Write,
) -> io::Result<()> {
    let from = instant(event.from);
    line("BEGIN:VEVENT", output)?;
    line(&format!("UID:{}", uid(event)), output)?;
    line(&format!("DTSTAMP:{}", instant(period_start)), output)?;
    line(&format!("DTSTART:{from}"), output)?;
    // An event that ends within the same second has no duration.
    if let Some(to) = event.to.map(instant).filter(|to| *to != from) {
        line(&format!("DTEND:{to}"), output)?;
    }
    line(&format!("SUMMARY:{}", escaped(event.summary)), output)?;
    line(&format!("DESCRIPTION:{}", escaped(event.description)), output)?;
    if let Some(place) = event.place {
        line(&format!("LOCATION:{}", escaped(place)), output)?;
    }
    // An event does not mark its subscribers as busy.
    line("TRANSP:TRANSPARENT", output)?;
    line("END:VEVENT", output)
}

/// Ends the calendar.
pub(crate) fn end(output: &mut impl Write) -> io::Result<()> {
    line("END:VCALENDAR", output)
}

/// The identifier of an event. Later calendars repeat it, so a subscription updates the event instead of adding a
/// copy.
fn uid(event: &CalendarEvent<'_>) -> String {
    // An event that started before the calendar is one event. Its start in the calendar advances each time.
    let (short, exact) = if event.has_begun {
        ("begun".to_owned(), String::new())
    } else {
        (instant(event.from), event.from.to_string())
    };
    let parts = event.unique_parts.iter().copied().chain(event.place).chain([&*exact]);
    format!("{short}-{}@almanac.dev", Fingerprint::from_parts(parts))
}

/// `20261127T170000Z`.
fn instant(at: Timestamp) -> String {
    formatted(Zone::utc(), at, "%Y%m%dT%H%M%SZ")
}

/// Text escaped for a property. Control characters are not allowed.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | ';' | ',' => escaped.extend(['\\', letter]),
            '\n' => escaped.push_str("\\n"),
            '\t' => escaped.push('\t'),
            letter if letter.is_control() => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Writes a content line, folded into several lines if necessary: a continuation starts with a space. No character is
/// split.
fn line(content: &str, output: &mut impl Write) -> io::Result<()> {
    let mut rest = content;
    let mut room = WIDTH;
    while rest.len() > room {
        let (now, later) = rest.split_at(rest.floor_char_boundary(room));
        write!(output, "{now}\r\n ")?;
        (rest, room) = (later, WIDTH - 1);
    }
    write!(output, "{rest}\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_folded_between_characters() {
        let content = format!("SUMMARY:{}", "→🕑é".repeat(50));
        let mut written = Vec::new();
        line(&content, &mut written).unwrap();
        let written = String::from_utf8(written).unwrap();
        let lines: Vec<&str> = written.split_terminator("\r\n").collect();
        assert!(lines.len() > 5 && lines.iter().all(|line| line.len() <= WIDTH), "{lines:?}");
        assert_eq!(written.replace("\r\n ", ""), format!("{content}\r\n"));
    }
}
