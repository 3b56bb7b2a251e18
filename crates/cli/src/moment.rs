//! Reads instants and periods from the command line.
//!
//! A word such as `tomorrow` is relative to `now` of the command, on the wall clock of the displayed
//! zone. An absolute instant depends on neither `now` nor the host.

use std::ops::Range;

use almanac_calendar::Zone;
use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::fmt::strtime;
use jiff::{Span, Timestamp};

use crate::argument_error::ArgumentError;

const UNREADABLE: &str = "not a valid time; use RFC 3339, such as 2026-03-06T12:00:00Z, a date or time \
                          in the zone, such as 2026-03-06 or 2026-03-06T12:00, or one of now, today, \
                          tomorrow, monday and +2h";
const BEYOND: &str = "out of range: times run from the year -9999 to 9999-12-30T22:00:00Z";
const TOO_LONG: &str = "a period must end before the end of the year 9999";

/// Reads an instant: RFC 3339, a date or civil time in `zone`, or one relative to `now`: `now`, `+2h`, `-1d`, `today`,
/// `tomorrow`, `yesterday`, or the next `monday`; a day may have a time.
pub(crate) fn instant(
    argument: &'static str,
    text: &str,
    now: Timestamp,
    zone: Zone,
) -> Result<Timestamp, ArgumentError> {
    let wrong = |message| ArgumentError::whole(argument, text, message);
    if text.contains('[') {
        return Err(wrong("a time cannot contain a zone in brackets; set the zone with --zone"));
    }
    if let Some((span, message)) = impossible_part(text) {
        return Err(ArgumentError::new(argument, text, span, message));
    }
    if text.eq_ignore_ascii_case("now") {
        return Ok(now);
    }
    if let Some(span) = from_now(text) {
        return later(now, span, zone).ok_or_else(|| wrong(BEYOND));
    }
    match text.parse::<Timestamp>() {
        Ok(instant) => return Ok(instant),
        // A number with another count of digits is not a date.
        Err(error) if error.is_range() && text.contains(['-', ':']) => return Err(wrong(BEYOND)),
        Err(_) => {}
    }
    let civil = day_by_name(text, zone.civil(now).date())
        .or_else(|| text.parse::<DateTime>().ok())
        .or_else(|| Some(text.parse::<Date>().ok()?.at(0, 0, 0, 0)))
        .ok_or_else(|| wrong(UNREADABLE))?;
    zone.resolve(civil).ok_or_else(|| wrong(BEYOND))
}

/// Reads a period such as `7d` or `1mo 12h`, and finds its end in `zone`: days and longer units are
/// civil time, hours and shorter units are elapsed time.
pub(crate) fn end_of_period(
    argument: &'static str,
    text: &str,
    from: Timestamp,
    zone: Zone,
) -> Result<Timestamp, ArgumentError> {
    let wrong = |message: &str| ArgumentError::whole(argument, text, message);
    let span: Span = text.parse().map_err(|error: jiff::Error| {
        let unreadable = "not a valid period; use a number and a unit, such as 7d, 36h or 1y";
        wrong(if error.is_range() { TOO_LONG } else { unreadable })
    })?;
    if span.is_negative() {
        let length = span.abs();
        return Err(wrong(&format!(
            "a period must be longer than zero; to look back, write --from \
             -{length:#} {argument} {length:#}"
        )));
    }
    if span.is_zero() {
        return Err(wrong("a period must be longer than zero, such as 7d"));
    }
    later(from, span, zone).ok_or_else(|| wrong(TOO_LONG))
}

/// The instant a span after another, or before it if the span is negative.
fn later(from: Timestamp, span: Span, zone: Zone) -> Option<Timestamp> {
    let calendar =
        span.hours(0).minutes(0).seconds(0).milliseconds(0).microseconds(0).nanoseconds(0);
    let clock = span.years(0).months(0).weeks(0).days(0);
    let date = if calendar.is_zero() {
        from
    } else {
        zone.resolve(zone.civil(from).checked_add(calendar).ok()?)?
    };
    date.checked_add(clock).ok()
}

/// The span of `+2h` or `-1d 12h`.
fn from_now(text: &str) -> Option<Span> {
    let (sign, length) = text.split_at_checked(1).filter(|(sign, _)| matches!(*sign, "+" | "-"))?;
    let span: Span = length.parse().ok().filter(|span: &Span| !span.is_negative())?;
    Some(if sign == "-" { span.negate() } else { span })
}

/// The civil time of `today`, `tomorrow 09:00` or `monday`, where a weekday never means today.
fn day_by_name(text: &str, today: Date) -> Option<DateTime> {
    let (day, time) = match text.split_once(' ') {
        Some((day, time)) => (day, time.trim().parse::<Time>().ok()?),
        None => (text, Time::midnight()),
    };
    let day = day.to_ascii_lowercase();
    let date = match day.as_str() {
        "today" => today,
        "tomorrow" => today.tomorrow().ok()?,
        "yesterday" => today.yesterday().ok()?,
        _ => today.nth_weekday(1, weekday(&day)?).ok()?,
    };
    Some(date.to_datetime(time))
}

/// The weekday of `monday` or `mon`.
fn weekday(name: &str) -> Option<Weekday> {
    let parsed = |format: &str| strtime::parse(format, name).ok()?.weekday();
    parsed("%A").or_else(|| parsed("%a"))
}

/// The nonexistent part of a date or time, with the valid range; `None` for text in another form.
fn impossible_part(text: &str) -> Option<(Range<usize>, String)> {
    let number = |span: Range<usize>| -> Option<i16> {
        let digits = text.get(span)?;
        digits.bytes().all(|it| it.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let is_at = |at: usize, letters: &[u8]| {
        text.as_bytes().get(at).is_some_and(|letter| letters.contains(letter))
    };
    let (month_at, day_at) = if is_at(4, b"-") && is_at(7, b"-") {
        (5..7, 8..10)
    } else if text.len() == 8 || is_at(8, b"Tt") {
        (4..6, 6..8)
    } else {
        return None;
    };
    let (year, month, day) = (number(0..4)?, number(month_at.clone())?, number(day_at.clone())?);
    let Ok(first) = Date::new(year, i8::try_from(month).ok()?, 1) else {
        return Some((month_at, format!("there is no month {month:02}; months are 01 to 12")));
    };
    let days = first.days_in_month();
    if !(1..=i16::from(days)).contains(&day) {
        let name = strtime::format("%B %Y", first).ok()?;
        return Some((day_at, format!("there is no day {day:02}; {name} has {days} days")));
    }
    if !is_at(10, b"Tt ") {
        return None;
    }
    let parts = [(11..13, "hour", 23), (14..16, "minute", 59), (17..19, "second", 59)];
    for (span, name, last) in parts {
        let value = number(span.clone())?;
        if value > last {
            let message = format!("there is no {name} {value:02}; {name}s are 00 to {last}");
            return Some((span, message));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Friday in Berlin, an hour after midnight, and still Thursday in UTC.
    const NOW: &str = "2026-11-19T23:00:00Z";

    fn read(text: &str, zone: &str) -> Result<String, ArgumentError> {
        let zone = Zone::named(zone).unwrap();
        instant("--from", text, NOW.parse().unwrap(), zone).map(|at| at.to_string())
    }

    #[track_caller]
    fn assert_reads(text: &str, expected: &str) {
        assert_eq!(read(text, "Europe/Berlin").unwrap(), expected, "{text}");
    }

    #[test]
    fn a_word_for_a_day_counts_from_now_in_local_time() {
        assert_reads("now", NOW);
        assert_reads("today", "2026-11-19T23:00:00Z");
        assert_reads("Tomorrow", "2026-11-20T23:00:00Z");
        assert_reads("tomorrow 09:30", "2026-11-21T08:30:00Z");
        assert_reads("yesterday", "2026-11-18T23:00:00Z");
        assert_eq!(read("today", "UTC").unwrap(), "2026-11-19T00:00:00Z");
    }

    #[test]
    fn a_weekday_is_the_next_one_and_never_today() {
        assert_reads("saturday", "2026-11-20T23:00:00Z");
        assert_reads("Mon 07:00", "2026-11-23T06:00:00Z");
        assert_reads("thu", "2026-11-25T23:00:00Z");
        assert_reads("friday", "2026-11-26T23:00:00Z");
    }

    #[test]
    fn a_signed_period_counts_from_now() {
        assert_reads("+2h", "2026-11-20T01:00:00Z");
        assert_reads("-90m", "2026-11-19T21:30:00Z");
        assert_reads("-1d 12h", "2026-11-18T11:00:00Z");
        // Summer time ends on 25 October: the wall clock shows the same, an hour less has passed.
        assert_reads("-1mo", "2026-10-19T22:00:00Z");
    }

    #[test]
    fn an_absolute_instant_does_not_depend_on_now() {
        assert_reads("2026-03-06T12:00:00Z", "2026-03-06T12:00:00Z");
        assert_reads("2026-03-06", "2026-03-05T23:00:00Z");
        assert_reads("2026-03-06 08:00", "2026-03-06T07:00:00Z");
    }

    #[test]
    fn a_missing_part_of_a_date_or_time_is_named() {
        for (text, part, message) in [
            ("2026-02-30", "30", "there is no day 30; February 2026 has 28 days"),
            ("2026-02-30T00:00:00Z", "30", "there is no day 30; February 2026 has 28 days"),
            ("2026-04-31T12:00", "31", "there is no day 31; April 2026 has 30 days"),
            ("20260230", "30", "there is no day 30; February 2026 has 28 days"),
            ("20261301T08:00", "13", "there is no month 13; months are 01 to 12"),
            ("2026-13-01", "13", "there is no month 13; months are 01 to 12"),
            ("2026-00-01", "00", "there is no month 00; months are 01 to 12"),
            ("2026-11-27T24:00", "24", "there is no hour 24; hours are 00 to 23"),
            ("2026-11-27 09:60", "60", "there is no minute 60; minutes are 00 to 59"),
        ] {
            let error = read(text, "UTC").unwrap_err();
            assert_eq!(error.to_string(), format!("--from: {message}"));
            assert_eq!(&text[error.span()], part);
        }
    }

    #[test]
    fn an_invalid_instant_is_an_error_that_shows_valid_ones() {
        for text in [
            "",
            "+",
            "-",
            "--zone",
            "+2",
            "+-2h",
            "someday",
            "monday noon",
            "mond",
            "2026-2-3",
            "1764000000",
        ] {
            let message = read(text, "UTC").unwrap_err().to_string();
            assert!(message.contains("tomorrow, monday and +2h"), "{text}: {message}");
        }
        let beyond = read("+9000y", "UTC").unwrap_err().to_string();
        assert!(beyond.contains("out of range"), "{beyond}");
    }

    #[test]
    fn a_negative_period_is_an_error_with_the_way_to_look_back() {
        let now = NOW.parse().unwrap();
        let error = end_of_period("--for", "-1d", now, Zone::utc()).unwrap_err();
        assert!(error.to_string().ends_with("write --from -1d --for 1d"), "{error}");
    }
}
