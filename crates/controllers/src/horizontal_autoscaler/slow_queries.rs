//! The backoffs of queries that timed out: 10 s, doubled each time, at most 60 s. Other queries can use the permits
//! during a backoff. A result ends the backoff.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::PolicyName;
use almanac_shell::prometheus::QueryProblem;
use jiff::{SignedDuration, Timestamp};

/// The first backoff.
const FIRST_BACKOFF: SignedDuration = SignedDuration::from_secs(10);
/// The maximum backoff, and the maximum delay after a recovery of Prometheus.
const MAX_BACKOFF: SignedDuration = SignedDuration::from_mins(1);

/// The backoffs of the queries of all autoscalers.
#[derive(Debug, Default)]
pub(crate) struct SlowQueries(BTreeMap<PolicyName, BTreeMap<Arc<str>, QueryBackoff>>);

#[derive(Clone, Copy, Debug)]
struct QueryBackoff {
    length: SignedDuration,
    until: Timestamp,
}

/// The result of a query, as far as backoffs depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum QueryResult {
    Answered,
    TooSlow,
    /// The connection failed.
    Lost,
}

impl QueryResult {
    fn classify(result: &Result<f64, QueryProblem>) -> Self {
        match result {
            Err(problem) if problem.is_too_slow() => Self::TooSlow,
            Err(QueryProblem::Unreachable(_) | QueryProblem::CutOff) => Self::Lost,
            _ => Self::Answered,
        }
    }
}

impl SlowQueries {
    /// Removes a deleted autoscaler.
    pub(crate) fn remove(&mut self, policy: &PolicyName) {
        self.0.remove(policy);
    }

    /// Removes all other queries of an autoscaler.
    pub(super) fn retain(&mut self, policy: &PolicyName, queries: &[Arc<str>]) {
        let Some(backoffs) = self.0.get_mut(policy) else { return };
        backoffs.retain(|query, _| queries.contains(query));
        if backoffs.is_empty() {
            self.0.remove(policy);
        }
    }

    /// Whether a query is in its backoff.
    pub(super) fn is_backing_off(&self, policy: &PolicyName, query: &str, now: Timestamp) -> bool {
        let Some(backoff) = self.0.get(policy).and_then(|backoffs| backoffs.get(query)) else {
            return false;
        };
        // A clock that was set back ends the backoff.
        now < backoff.until && backoff.until.duration_since(now) <= backoff.length
    }

    /// Records the result of a query.
    pub(super) fn record(
        &mut self,
        policy: &PolicyName,
        query: &Arc<str>,
        result: &Result<f64, QueryProblem>,
        now: Timestamp,
    ) {
        match QueryResult::classify(result) {
            QueryResult::Lost => {}
            QueryResult::Answered => {
                if let Some(backoffs) = self.0.get_mut(policy) {
                    backoffs.remove(query);
                    if backoffs.is_empty() {
                        self.0.remove(policy);
                    }
                }
            }
            QueryResult::TooSlow => {
                let backoffs = self.0.entry(policy.clone()).or_default();
                let before = backoffs.get(query).map(|backoff| backoff.length);
                let length = before.map_or(FIRST_BACKOFF, |before| (before * 2).min(MAX_BACKOFF));
                let until = now.checked_add(length).unwrap_or(Timestamp::MAX);
                backoffs.insert(Arc::clone(query), QueryBackoff { length, until });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("the instant is valid")
    }

    #[test]
    fn backoffs_double_up_to_a_minute_and_a_result_ends_the_backoff() {
        let mut slow = SlowQueries::default();
        let too_slow = Err(QueryProblem::TimedOut { seconds: 8 });
        let lost = Err(QueryProblem::CutOff);
        let shop = almanac_fixtures::names::horizontal_autoscaler("shop");
        let [tide, ebb]: [Arc<str>; 2] = ["tide".into(), "ebb".into()];
        let mut sent = 0;
        let mut backoffs = Vec::new();
        for second in 0..300 {
            if !slow.is_backing_off(&shop, &tide, after(second)) {
                backoffs.push(second - sent);
                sent = second;
                slow.record(&shop, &tide, &too_slow, after(second));
                slow.record(&shop, &tide, &lost, after(second));
            }
            assert!(
                !slow.is_backing_off(&shop, &ebb, after(second)),
                "the other query did not time out"
            );
        }
        assert_eq!(backoffs, [0, 10, 20, 40, 60, 60, 60]);
        assert!(!slow.is_backing_off(&shop, &tide, after(-3_600)), "the clock was set back");
        slow.record(&shop, &tide, &Err(QueryProblem::NoSample), after(301));
        assert!(!slow.is_backing_off(&shop, &tide, after(302)));
        slow.record(&shop, &tide, &too_slow, after(302));
        slow.retain(&shop, &[ebb]);
        assert!(slow.0.is_empty(), "removed queries must not stay in memory");
        slow.record(&shop, &tide, &too_slow, after(302));
        slow.remove(&shop);
        assert!(slow.0.is_empty());
    }
}
