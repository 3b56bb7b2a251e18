//! Worlds with policies in them, and turns that are checked.

pub(crate) mod cron;
pub(crate) mod levels;
pub(crate) mod placements;
pub(crate) mod property;
pub(crate) mod run;
pub(crate) mod scaling;
pub(crate) mod schedule;

use jiff::{SignedDuration, Timestamp};

pub(crate) use almanac_fixtures::at as instant;

/// A time on Monday, 2 March 2026, in UTC: `09:00` or `09:00:30`.
pub(crate) fn monday(time: &str) -> Timestamp {
    let seconds = if time.len() == 5 { ":00" } else { "" };
    instant(&format!("2026-03-02T{time}{seconds}Z"))
}

pub(crate) fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

pub(crate) const NANOSECOND: SignedDuration = SignedDuration::from_nanos(1);
