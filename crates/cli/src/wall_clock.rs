//! Instants as civil times in a zone.

use almanac_calendar::Zone;
use jiff::Timestamp;
use jiff::fmt::strtime;

/// The present, to the second.
pub(crate) fn present() -> Timestamp {
    whole_second(Timestamp::now())
}

/// An instant without the fraction of its second.
pub(crate) fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// A civil time such as `Sun 2026-03-08 03:00 -04:00`, or with `UTC` for the offset.
pub(crate) fn civil(zone: Zone, at: Timestamp) -> String {
    let civil = zone.civil(at);
    let format = if civil.second() == 0 { "%a %Y-%m-%d %H:%M" } else { "%a %Y-%m-%d %H:%M:%S" };
    // A civil time contains all fields of the format.
    let time = strtime::format(format, civil).unwrap_or_default();
    if zone == Zone::utc() { format!("{time} UTC") } else { format!("{time} {}", offset(zone, at)) }
}

/// The civil time, in a format of `strftime`.
pub(crate) fn formatted(zone: Zone, at: Timestamp, format: &str) -> String {
    strtime::format(format, zone.civil(at)).unwrap_or_default()
}

/// The offset from UTC, such as `+05:30`.
pub(crate) fn offset(zone: Zone, at: Timestamp) -> String {
    let seconds = zone.offset(at).seconds();
    let (sign, seconds) = (if seconds < 0 { '-' } else { '+' }, seconds.abs());
    let rest = if seconds % 60 == 0 { String::new() } else { format!(":{:02}", seconds % 60) };
    format!("{sign}{:02}:{:02}{rest}", seconds / 3600, seconds / 60 % 60)
}
