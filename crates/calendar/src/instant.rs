//! Conversions between `jiff::Timestamp` and whole seconds since the epoch.
//!
//! Schedules start on whole seconds, so everything inside counts in seconds; a timestamp in between
//! is rounded in the direction that the query needs.

use jiff::Timestamp;

/// The last whole second at or before `at`.
pub(crate) fn floor(at: Timestamp) -> i64 {
    at.as_second() - i64::from(at.subsec_nanosecond() < 0)
}

/// The first whole second at or after `at`.
pub(crate) fn ceiling(at: Timestamp) -> i64 {
    at.as_second() + i64::from(at.subsec_nanosecond() > 0)
}

/// The instant of a whole second, unless it is outside the years that a timestamp can hold.
pub(crate) fn at(second: i64) -> Option<Timestamp> {
    Timestamp::from_second(second).ok()
}
