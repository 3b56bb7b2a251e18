//! Pauses of queries that timed out: 10 s, doubled each time, at most 60 s. They leave the permits to other queries. A
//! result ends the pauses.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::PolicyName;
use almanac_shell::prometheus::QueryProblem;
use jiff::{SignedDuration, Timestamp};

/// The first pause.
const FIRST: SignedDuration = SignedDuration::from_secs(10);
/// The longest pause, and the longest delay after a recovery of Prometheus.
const LONGEST: SignedDuration = SignedDuration::from_mins(1);

/// The pauses of the queries of all autoscalers.
#[derive(Debug, Default)]
pub(crate) struct SlowQueries(BTreeMap<PolicyName, BTreeMap<Arc<str>, Pause>>);

#[derive(Clone, Copy, Debug)]
struct Pause {
    length: SignedDuration,
    until: Timestamp,
}

/// The result of a query, as far as pauses depend on it.
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
        let Some(pauses) = self.0.get_mut(policy) else { return };
        pauses.retain(|query, _| queries.contains(query));
        if pauses.is_empty() {
            self.0.remove(policy);
        }
    }

    /// Whether a query is paused.
    pub(super) fn is_paused(&self, policy: &PolicyName, query: &str, now: Timestamp) -> bool {
        let Some(pause) = self.0.get(policy).and_then(|pauses| pauses.get(query)) else {
            return false;
        };
        // A clock that was set back ends the pause.
        now < pause.until && pause.until.duration_since(now) <= pause.length
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
                if let Some(pauses) = self.0.get_mut(policy) {
                    pauses.remove(query);
                    if pauses.is_empty() {
                        self.0.remove(policy);
                    }
                }
            }
            QueryResult::TooSlow => {
                let pauses = self.0.entry(policy.clone()).or_default();
                let before = pauses.get(query).map(|pause| pause.length);
                let length = before.map_or(FIRST, |before| (before * 2).min(LONGEST));
                let until = now.checked_add(length).unwrap_or(Timestamp::MAX);
                pauses.insert(Arc::clone(query), Pause { length, until });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("it is an instant")
    }

    #[test]
    fn pauses_double_up_to_a_minute_and_a_result_ends_them() {
        let mut slow = SlowQueries::default();
        let too_slow = Err(QueryProblem::TimedOut { seconds: 8 });
        let lost = Err(QueryProblem::CutOff);
        let shop = almanac_fixtures::names::horizontal_autoscaler("shop");
        let [tide, ebb]: [Arc<str>; 2] = ["tide".into(), "ebb".into()];
        let mut sent = 0;
        let mut pauses = Vec::new();
        for second in 0..300 {
            if !slow.is_paused(&shop, &tide, after(second)) {
                pauses.push(second - sent);
                sent = second;
                slow.record(&shop, &tide, &too_slow, after(second));
                slow.record(&shop, &tide, &lost, after(second));
            }
            assert!(
                !slow.is_paused(&shop, &ebb, after(second)),
                "the other query did not time out"
            );
        }
        assert_eq!(pauses, [0, 10, 20, 40, 60, 60, 60]);
        assert!(!slow.is_paused(&shop, &tide, after(-3_600)), "the clock was set back");
        slow.record(&shop, &tide, &Err(QueryProblem::NoSample), after(301));
        assert!(!slow.is_paused(&shop, &tide, after(302)));
        slow.record(&shop, &tide, &too_slow, after(302));
        slow.retain(&shop, &[ebb]);
        assert!(slow.0.is_empty(), "removed queries take memory");
        slow.record(&shop, &tide, &too_slow, after(302));
        slow.remove(&shop);
        assert!(slow.0.is_empty());
    }
}
