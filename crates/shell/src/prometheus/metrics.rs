//! The number of Prometheus queries, by result, and their duration.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::QueryProblem;

/// The buckets: from the duration of a query over data in memory to the timeout.
const SECONDS: [f64; 10] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0];

/// Counts queries, by result.
#[derive(Clone, Debug)]
pub struct QueryMetrics {
    queries: Family<[(&'static str, &'static str); 1], Counter>,
    seconds: Histogram,
}

impl Default for QueryMetrics {
    fn default() -> Self {
        Self { queries: Family::default(), seconds: Histogram::new(SECONDS) }
    }
}

impl QueryMetrics {
    /// Registers the metrics.
    pub fn register(&self, registry: &mut Registry) {
        let queries = "Queries for autoscalers, by result: ok, or why no number could be used";
        registry.register("almanac_prometheus_queries", queries, self.queries.clone());
        // Exported even before the first query, so that it can be found.
        drop(self.queries.get_or_create(&[("result", "ok")]));
        let seconds =
            "Time from sending a query to Prometheus until the whole response was received";
        registry.register("almanac_prometheus_query_seconds", seconds, self.seconds.clone());
    }

    pub(super) fn count(&self, result: &Result<f64, QueryProblem>, took: Duration) {
        let label = result.as_ref().map_or_else(QueryProblem::reason, |_| "ok");
        self.queries.get_or_create(&[("result", label)]).inc();
        self.seconds.observe(took.as_secs_f64());
    }
}
