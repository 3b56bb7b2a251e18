//! Builders of policies and worlds, and turns that are checked.

pub(crate) mod cron;
pub(crate) mod property;
pub(crate) mod run;
pub(crate) mod schedule;

use jiff::{SignedDuration, Timestamp};

/// An instant in RFC 3339.
pub(crate) fn instant(text: &str) -> Timestamp {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A time on Monday, 2 March 2026, in UTC: `09:00` or `09:00:30`.
pub(crate) fn monday(time: &str) -> Timestamp {
    let seconds = if time.len() == 5 { ":00" } else { "" };
    instant(&format!("2026-03-02T{time}{seconds}Z"))
}

pub(crate) fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

pub(crate) const NANOSECOND: SignedDuration = SignedDuration::from_nanos(1);
