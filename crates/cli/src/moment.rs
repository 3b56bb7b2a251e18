//! Reading instants and periods from the command line.

use almanac_calendar::Zone;
use jiff::civil::{Date, DateTime};
use jiff::{Span, Timestamp};

use crate::argument_error::ArgumentError;

/// Reads an instant: RFC 3339, or a date or civil time in `zone`.
pub(crate) fn instant(
    argument: &'static str,
    text: &str,
    zone: Zone,
) -> Result<Timestamp, ArgumentError> {
    let wrong = |message| ArgumentError::whole(argument, text, message);
    let unreadable = "not an instant; write RFC 3339 such as 2026-03-06T12:00:00Z, or a date or \
                      time in the zone such as 2026-03-06 or 2026-03-06T12:00";
    if text.contains('[') {
        return Err(wrong("an instant has no zone in brackets; give the zone with --zone"));
    }
    let beyond = "beyond the instants that can be told: the last one is 9999-12-30T22:00:00Z, the \
                  first one is in the year -9999";
    match text.parse::<Timestamp>() {
        Ok(instant) => return Ok(instant),
        Err(error) if error.is_range() => return Err(wrong(beyond)),
        Err(_) => {}
    }
    let civil = text
        .parse::<DateTime>()
        .or_else(|_| text.parse::<Date>().map(|date| date.at(0, 0, 0, 0)))
        .map_err(|_| wrong(unreadable))?;
    zone.resolve(civil).ok_or_else(|| wrong(beyond))
}

/// Reads a period such as `7d` or `1mo 12h`, and finds its end in `zone`: days and longer units are
/// those of the wall clock, hours and shorter ones pass in time.
pub(crate) fn end_of_period(
    argument: &'static str,
    text: &str,
    from: Timestamp,
    zone: Zone,
) -> Result<Timestamp, ArgumentError> {
    let wrong = |message| ArgumentError::whole(argument, text, message);
    let too_long = "a period must end before the year 9999 does";
    let span: Span = text.parse().map_err(|error: jiff::Error| {
        let unreadable = "not a period; write a number and a unit, such as 7d, 36h or 1y";
        wrong(if error.is_range() { too_long } else { unreadable })
    })?;
    if !span.is_positive() {
        return Err(wrong("a period must be longer than nothing; write such as 7d"));
    }
    let calendar = Span::new()
        .years(span.get_years())
        .months(span.get_months())
        .weeks(span.get_weeks())
        .days(span.get_days());
    let mut end = from;
    if !calendar.is_zero() {
        let civil = zone.civil(from).checked_add(calendar).map_err(|_| wrong(too_long))?;
        end = zone.resolve(civil).ok_or_else(|| wrong(too_long))?;
    }
    let clock = span.years(0).months(0).weeks(0).days(0);
    end.checked_add(clock).map_err(|_| wrong(too_long))
}
