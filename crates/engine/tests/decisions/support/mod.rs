//! Worlds with policies, and checked turns.

pub(crate) mod cron;
pub(crate) mod levels;
pub(crate) mod placements;
pub(crate) mod property;
pub(crate) mod run;
pub(crate) mod scaling;
pub(crate) mod schedule;

use almanac_engine::PolicyFamily;
use almanac_engine::turn::OpenTurn;
use jiff::{SignedDuration, Timestamp};

pub(crate) use almanac_fixtures::at as instant;

/// A time on Monday, 2 March 2026, in UTC: `09:00` or `09:00:30`.
pub(crate) fn monday(time: &str) -> Timestamp {
    let seconds = if time.len() == 5 { ":00" } else { "" };
    instant(&format!("2026-03-02T{time}{seconds}Z"))
}

/// Values and the instants from which they hold, in the format of the worlds.
pub(crate) fn owned(expected: &[(&str, u32)]) -> Vec<(String, u32)> {
    expected.iter().map(|(at, value)| ((*at).to_owned(), *value)).collect()
}

/// The decision at the opening of a turn of this family.
pub(crate) fn decision_of<F: PolicyFamily>(open: &OpenTurn) -> &F::Decision {
    &open.decision().get::<F>().expect("a turn of this family").decision
}

pub(crate) fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

pub(crate) const NANOSECOND: SignedDuration = SignedDuration::from_nanos(1);
