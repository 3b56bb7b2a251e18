//! Limits reconciles that repeated external changes cause: 20 a minute immediately, and the rest together when the
//! minute is over.

use jiff::{SignedDuration, Timestamp};

/// The number of changes that take effect immediately within one interval. The others take effect at its end.
const IMMEDIATE_CHANGES: u32 = 20;
const INTERVAL: SignedDuration = SignedDuration::from_mins(1);

/// The number of recent changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReportRateLimit {
    started: Option<Timestamp>,
    count: u32,
}

impl ReportRateLimit {
    /// Adds a change; returns when it takes effect.
    pub(crate) fn next(&mut self, now: Timestamp) -> Timestamp {
        let is_under_way = |started: &Timestamp| {
            let age = now.duration_since(*started);
            // After the clock was set back, a new interval starts.
            age < INTERVAL && !age.is_negative()
        };
        let started = self.started.filter(is_under_way).unwrap_or_else(|| {
            self.count = 0;
            now
        });
        self.started = Some(started);
        self.count = self.count.saturating_add(1);
        if self.count <= IMMEDIATE_CHANGES {
            now
        } else {
            started.saturating_add(INTERVAL).unwrap_or(now)
        }
    }
}

#[cfg(test)]
mod tests {
    use almanac_fixtures::at;

    use super::*;

    #[test]
    fn twenty_changes_apply_immediately_and_the_others_after_the_minute() {
        let mut report_rate_limit = ReportRateLimit::default();
        let second = |second: i64| at("2026-11-20T09:00:00Z") + SignedDuration::from_secs(second);
        for number in 0..20 {
            assert_eq!(report_rate_limit.next(second(number)), second(number));
        }
        assert_eq!(report_rate_limit.next(second(20)), second(60));
        assert_eq!(report_rate_limit.next(second(59)), second(60));
        for number in 60..80 {
            assert_eq!(report_rate_limit.next(second(number)), second(number));
        }
        assert_eq!(report_rate_limit.next(second(80)), second(120));
        assert_eq!(report_rate_limit.next(second(-90)), second(-90), "the clock was wrong");
    }
}
