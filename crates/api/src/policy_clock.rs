//! The setting of the policy clock, relative to the clock of the system and the API server.
//!
//! This module reads no clock.

use jiff::{SignedDuration, Timestamp};

/// The policy clock: ahead of the system clock, and faster from an instant on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PolicyClock {
    /// The lead over the system clock until `since`.
    ahead: SignedDuration,
    /// The instant from which the rate applies, by the system clock.
    since: Timestamp,
    /// The seconds of the policy clock per second after `since`.
    rate: u32,
}

impl PolicyClock {
    /// The policy clock that equals the system clock.
    pub const REAL: PolicyClock = PolicyClock::ahead_by(SignedDuration::ZERO);

    /// A policy clock as fast as the system clock, and ahead by this duration.
    #[must_use]
    pub const fn ahead_by(ahead: SignedDuration) -> Self {
        Self { ahead, since: Timestamp::UNIX_EPOCH, rate: 1 }
    }

    /// Sets the rate: from this instant of the system clock on, `rate` seconds pass per second.
    #[must_use]
    pub fn faster(self, since: Timestamp, rate: u32) -> Self {
        Self { ahead: self.ahead, since, rate: rate.max(1) }
    }

    /// The instant from which the rate applies, by the system clock.
    #[must_use]
    pub fn since(self) -> Timestamp {
        self.since
    }

    /// The seconds of the policy clock per second.
    #[must_use]
    pub fn rate(self) -> u32 {
        self.rate
    }

    /// The time of the policy clock at an instant of the system clock; at most the last possible instant.
    #[must_use]
    pub fn shown_at(self, real: Timestamp) -> Timestamp {
        let passed = real.duration_since(self.since).max(SignedDuration::ZERO);
        let rate = i32::try_from(self.rate - 1).unwrap_or(i32::MAX);
        let gained = passed.checked_mul(rate).unwrap_or(SignedDuration::MAX);
        let ahead = self.ahead.saturating_add(gained);
        real.checked_add(ahead).unwrap_or(if ahead.is_negative() {
            Timestamp::MIN
        } else {
            Timestamp::MAX
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("an instant")
    }

    #[test]
    fn a_faster_clock_starts_from_its_lead_and_gains_from_then_on() {
        let ahead = PolicyClock::ahead_by(SignedDuration::from_hours(2));
        let clock = ahead.faster(at("2026-03-02T12:00:00Z"), 60);
        for (real, expected) in [
            ("2026-03-02T11:00:00Z", "2026-03-02T13:00:00Z"),
            ("2026-03-02T12:00:00Z", "2026-03-02T14:00:00Z"),
            ("2026-03-02T12:00:00.5Z", "2026-03-02T14:00:30Z"),
            ("2026-03-02T12:01:00Z", "2026-03-02T15:00:00Z"),
        ] {
            assert_eq!(clock.shown_at(at(real)), at(expected), "{real}");
        }
        assert_eq!(
            PolicyClock::REAL.shown_at(at("2026-03-02T12:00:00Z")),
            at("2026-03-02T12:00:00Z")
        );
    }

    #[test]
    fn a_clock_that_would_pass_the_end_of_all_time_stands_there() {
        let clock = PolicyClock::REAL.faster(Timestamp::UNIX_EPOCH, u32::MAX);
        assert_eq!(clock.shown_at(at("2026-03-02T12:00:00Z")), Timestamp::MAX);
        let clock = PolicyClock::ahead_by(SignedDuration::MIN);
        assert_eq!(clock.shown_at(at("2026-03-02T12:00:00Z")), Timestamp::MIN);
    }
}
