//! Sends the queries of autoscalers to Prometheus: once a period, and at each boundary of a schedule in the query. Each
//! query that timed out has a backoff.
//!
//! The periods of different autoscalers start at different instants, by a hash of their names, to spread the load. An
//! autoscaler sends one query at a time. A new result requeues the autoscaler, whose turn decides.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use almanac_engine::metric_scaling::{FiniteNumber, Metric, Sample, SampleProblem, next_boundary};
use almanac_engine::{PolicyName, World};
use almanac_shell::clock::Clock;
use almanac_shell::prometheus::{Prometheus, QueryProblem};
use jiff::{SignedDuration, Timestamp};

use crate::cluster::{Cluster, ClusterState};
use crate::upstream::Upstreams;
use crate::work_queue::WorkQueue;

/// Runs the queries of one autoscaler after the other.
pub(crate) struct Sampler {
    pub(crate) prometheus: Prometheus,
    pub(crate) period: SignedDuration,
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) turns: Arc<WorkQueue>,
    pub(crate) upstreams: Upstreams,
    pub(crate) clock: Clock,
    pub(crate) seed: u64,
}

impl Sampler {
    /// Runs the queries of an autoscaler; returns when to run them again.
    pub(crate) async fn sample(&self, policy: &PolicyName) -> Option<Timestamp> {
        for query in self.queries(policy) {
            if self.is_backing_off(policy, &query) {
                continue;
            }
            let permit = self.prometheus.permit(policy.identity.namespace()).await;
            // The policy may have changed during the wait.
            if !self.queries(policy).contains(&query) {
                continue;
            }
            let sent_at = self.clock.now();
            let result = self.prometheus.query(&permit, &query).await;
            drop(permit);
            if self.store(policy, query, sent_at, result) {
                self.turns.wake(policy);
            }
        }
        let now = self.clock.now();
        let state = self.cluster.lock();
        // An invalid autoscaler has no queries. After an edit that makes it valid, they run immediately.
        state.world.metric_scaling.policies.get(&policy.identity)?.policy.as_ref()?;
        let boundary = next_boundary(state.world.view(), &policy.identity, now);
        boundary.into_iter().chain(self.next_period(policy, now)).min()
    }

    /// The distinct queries of an autoscaler; none while it is not reconciled.
    fn queries(&self, policy: &PolicyName) -> Vec<Arc<str>> {
        let mut state = self.cluster.lock();
        let is_left_alone = self.upstreams.running(policy.family).is_some();
        if is_left_alone || state.world.why_exempt(policy).is_some() {
            // Earlier results are not used once it is reconciled again.
            state.world.metric_scaling.extra.keep_only(&policy.identity, |_| false);
            state.slow_queries.remove(policy);
            return Vec::new();
        }
        let object = state.world.metric_scaling.policies.get(&policy.identity);
        let Some(checked) = object.and_then(|object| object.policy.clone()) else {
            return Vec::new();
        };
        let mut queries: Vec<Arc<str>> = Vec::with_capacity(checked.metrics.len());
        for metric in &checked.metrics {
            if !queries.contains(&metric.query.text) {
                queries.push(Arc::clone(&metric.query.text));
            }
        }
        let has_query = |text: &str| queries.iter().any(|query| **query == *text);
        state.world.metric_scaling.extra.keep_only(&policy.identity, has_query);
        state.slow_queries.retain(policy, &queries);
        queries
    }

    /// Whether a query is in its backoff, because Prometheus was too slow.
    fn is_backing_off(&self, policy: &PolicyName, query: &str) -> bool {
        self.cluster.lock().slow_queries.is_backing_off(policy, query, self.clock.now())
    }

    /// Stores a result, if the autoscaler still has the query. Returns whether the decision may change: the result
    /// differs from the previous result, or multiplies the replicas, so that equal results count, too.
    fn store(
        &self,
        policy: &PolicyName,
        query: Arc<str>,
        sent_at: Timestamp,
        result: Result<f64, QueryProblem>,
    ) -> bool {
        let now = self.clock.now();
        let mut state = self.cluster.lock();
        let ClusterState { world, slow_queries, .. } = &mut *state;
        let Some(multiplies) = metrics(world, policy)
            .filter(|metric| metric.query.text == query)
            .map(|metric| metric.target_type.multiplies())
            .reduce(|one, other| one || other)
        else {
            return false;
        };
        slow_queries.record(policy, &query, &result, now);
        let mut value = result
            .map_err(problem)
            .and_then(|number| FiniteNumber::new(number).ok_or(SampleProblem::NotFinite));
        let oldest = world.metric_scaling.extra.settings.oldest;
        let is_stale =
            |at: Timestamp| oldest.is_some_and(|oldest| now.duration_since(at) >= oldest);
        let before = world.metric_scaling.extra.get(&policy.identity, &query);
        if let Some(before) = before.filter(|before| is_same_problem(&before.value, &value)) {
            // The message may contain a part that differs each time, such as the identifier of a request.
            value.clone_from(&before.value);
        }
        let is_known = before.is_some_and(|it| it.value == value && !it.at.is_some_and(is_stale));
        world.metric_scaling.extra.hold(&policy.identity, Sample::requested(query, sent_at, value));
        multiplies || !is_known
    }

    /// The start of the next period of an autoscaler.
    fn next_period(&self, policy: &PolicyName, now: Timestamp) -> Option<Timestamp> {
        let period = self.period.as_millis().max(1);
        let mut hasher = DefaultHasher::new();
        (self.seed, policy).hash(&mut hasher);
        let phase = i128::from(hasher.finish()) % period;
        let elapsed = (i128::from(now.as_millisecond()) - phase).rem_euclid(period);
        let remaining = i64::try_from(period - elapsed).ok()?;
        now.checked_add(SignedDuration::from_millis(remaining)).ok()
    }
}

fn metrics<'w>(world: &'w World, policy: &PolicyName) -> impl Iterator<Item = &'w Metric> {
    let object = world.metric_scaling.policies.get(&policy.identity);
    object.into_iter().flat_map(|it| &it.policy).flat_map(|it| &it.metrics)
}

/// Whether the query failed for the same kind of reason as before.
fn is_same_problem(
    before: &Result<FiniteNumber, SampleProblem>,
    now: &Result<FiniteNumber, SampleProblem>,
) -> bool {
    match (before, now) {
        (
            Err(SampleProblem::NoAnswer { kind: before, .. }),
            Err(SampleProblem::NoAnswer { kind: now, .. }),
        ) => before == now,
        _ => false,
    }
}

/// The problem of a query, in the type of the engine.
fn problem(problem: QueryProblem) -> SampleProblem {
    match problem {
        QueryProblem::NoSample => SampleProblem::NoSample,
        QueryProblem::SeveralSamples(count) => {
            SampleProblem::SeveralSamples { count: u32::try_from(count).unwrap_or(u32::MAX) }
        }
        QueryProblem::NotFinite { .. } => SampleProblem::NotFinite,
        other => {
            SampleProblem::NoAnswer { kind: other.reason(), why: Arc::from(other.to_string()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use almanac_api::checking::{CheckContext, check_json};
    use almanac_api::kinds::Kind;
    use almanac_shell::prometheus::{PrometheusOptions, QueryMetrics};

    use super::*;
    use crate::bench::sampler;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("the instant is valid")
    }

    /// An autoscaler with the query `usage`.
    fn autoscale(sampler: &Sampler) -> PolicyName {
        let policy = almanac_fixtures::names::horizontal_autoscaler("shop");
        let target = almanac_fixtures::objects::target("apps/v1", "Deployment", "shop");
        let object = almanac_fixtures::objects::horizontal_autoscaler("shop", &target, "usage");
        let kind = Kind::for_family(policy.family);
        let context = CheckContext::new("default", Timestamp::UNIX_EPOCH);
        let slim = check_json(kind, object, context).slim.expect("the object is usable");
        sampler.cluster.lock().world.upsert(policy.identity.clone(), slim);
        policy
    }

    #[tokio::test(start_paused = true)]
    async fn a_query_that_times_out_is_sent_less_often() {
        // The listener accepts connections and never responds.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bind the listener");
        let address = listener.local_addr().expect("the listener has an address");
        let address = format!("http://{address}").parse().expect("the address is valid");
        let options = PrometheusOptions { address, token_file: None, ca_file: None };
        let prometheus = Prometheus::new(options, QueryMetrics::default());
        let started = tokio::time::Instant::now();
        let seconds =
            move || i64::try_from(started.elapsed().as_secs()).expect("the duration is short");
        let start = at("2026-11-30T09:00:00Z");
        let clock = Clock::from_fn(move || start + SignedDuration::from_secs(seconds()));
        let prometheus = prometheus.expect("no files are read");
        let sampler = Sampler { prometheus, clock, ..sampler("2026-11-30T09:00:00Z") };
        let policy = autoscale(&sampler);
        let sent_at = || {
            let state = sampler.cluster.lock();
            let sample = state.world.metric_scaling.extra.get(&policy.identity, "usage");
            sample.and_then(|it| it.at).map(|at| at.duration_since(start).as_secs())
        };
        let mut sent = Vec::new();
        while seconds() < 120 {
            sampler.sample(&policy).await;
            if sent.last() != Some(&sent_at()) {
                sent.push(sent_at());
            }
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        }
        // Each query takes 8 s. The backoffs after it are 10, 20 and 40 s.
        assert_eq!(sent, [0, 18, 46, 94].map(Some));
        assert!(sampler.is_backing_off(&policy, "usage"));
        sampler.cluster.lock().slow_queries.remove(&policy);
        assert!(!sampler.is_backing_off(&policy, "usage"));
    }

    #[tokio::test]
    async fn a_repeated_failure_is_new_once_and_keeps_the_age_of_the_last_number() {
        let sampler = sampler("2026-11-30T09:00:00Z");
        let policy = autoscale(&sampler);
        let store = |second: &str, result| {
            sampler.store(
                &policy,
                Arc::from("usage"),
                at(&format!("2026-11-30T09:00:{second}Z")),
                result,
            )
        };
        let broken = |text: &str| {
            let (status, text) = ("502 Bad Gateway".to_owned(), text.to_owned());
            Err(QueryProblem::HttpStatus { status, is_server_error: true, text })
        };
        assert!(store("10", Ok(5.0)));
        assert!(!store("20", Ok(5.0)), "the number is the same");
        assert!(store("30", broken("request 1")));
        assert!(!store("40", broken("request 2")), "only the number of the request differs");
        assert!(store("50", Err(QueryProblem::NoSample)), "the failure is another");
        let state = sampler.cluster.lock();
        let sample = state
            .world
            .metric_scaling
            .extra
            .get(&policy.identity, "usage")
            .expect("the result is stored");
        assert_eq!(sample.last_number_at, Some(at("2026-11-30T09:00:20Z")));
    }

    #[tokio::test]
    async fn the_periods_of_many_autoscalers_are_spread_over_the_period_and_each_is_exact() {
        let sampler = sampler("2026-11-30T09:00:00Z");
        let now = at("2026-11-30T09:00:00Z");
        let mut by_second = [0_u32; 10];
        for number in 0..1_000 {
            let policy = almanac_fixtures::names::horizontal_autoscaler(&format!("shop-{number}"));
            let first = sampler.next_period(&policy, now).expect("a next period exists");
            let second = sampler.next_period(&policy, first).expect("a next period exists");
            assert_eq!(second.duration_since(first), SignedDuration::from_secs(10));
            let elapsed = first.duration_since(now).as_millis();
            let slot = usize::try_from((elapsed - 1) / 1_000).expect("the number is small");
            by_second[slot] += 1;
        }
        assert!(by_second.iter().all(|count| (60..140).contains(count)), "{by_second:?}");
    }
}
