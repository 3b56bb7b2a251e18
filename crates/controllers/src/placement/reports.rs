//! How soon it counts what the agent of a cluster reports. An agent that writes again and again must not keep everybody
//! busy who may select its cluster; one that reports what it has to is not kept waiting.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

/// So many reports of a cluster count at once within one interval. The others count together when it is over.
const AT_ONCE: u32 = 10;
const INTERVAL: SignedDuration = SignedDuration::from_mins(1);

/// How much each cluster has reported lately.
#[derive(Default)]
pub(super) struct Reports {
    of: BTreeMap<Box<str>, Interval>,
}

struct Interval {
    begun: Timestamp,
    reports: u32,
}

impl Reports {
    /// A cluster has reported something; when that counts.
    pub(super) fn count(&mut self, cluster: &str, now: Timestamp) -> Timestamp {
        let Some(interval) = self.of.get_mut(cluster) else {
            self.of.insert(cluster.into(), Interval { begun: now, reports: 1 });
            return now;
        };
        let age = now.duration_since(interval.begun);
        // A clock that was set back begins anew.
        if age >= INTERVAL || age.is_negative() {
            *interval = Interval { begun: now, reports: 0 };
        }
        interval.reports = interval.reports.saturating_add(1);
        if interval.reports <= AT_ONCE {
            return now;
        }
        interval.begun.saturating_add(INTERVAL).unwrap_or(now)
    }

    /// Forgets a cluster that is gone.
    pub(super) fn forget(&mut self, cluster: &str) {
        self.of.remove(cluster);
    }
}

#[cfg(test)]
mod tests {
    use almanac_fixtures::at;

    use super::*;

    #[test]
    fn ten_reports_of_a_cluster_count_at_once_and_the_others_when_the_minute_is_over() {
        let mut reports = Reports::default();
        let second = |second: i64| at("2026-11-20T09:00:00Z") + SignedDuration::from_secs(second);
        for number in 0..10 {
            assert_eq!(reports.count("c1", second(number)), second(number));
        }
        assert_eq!(reports.count("c1", second(20)), second(60));
        assert_eq!(reports.count("c1", second(59)), second(60));
        assert_eq!(reports.count("c2", second(59)), second(59), "another agent");
        assert_eq!(reports.count("c1", second(60)), second(60));
        assert_eq!(reports.count("c1", second(-90)), second(-90), "the clock was wrong");
        reports.forget("c1");
        assert_eq!(reports.of.len(), 1);
    }
}
