//! The counters and the histogram of an extender's requests.

use std::time::Instant;

use almanac_engine::units::BindOutcome;
use http::StatusCode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::handlers::Verb;

/// From a tenth of a millisecond, as for a small request, to some seconds, as for a binding.
const SECONDS: [f64; 14] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

type OfVerb = [(&'static str, String); 2];
type Verbs = [(&'static str, String); 1];

/// The counters, which survive terms.
#[derive(Clone, Debug)]
pub(super) struct RequestMetrics {
    responses: Family<OfVerb, Counter>,
    forwarded: Family<OfVerb, Counter>,
    seconds: Family<Verbs, Histogram, fn() -> Histogram>,
    pub(super) pod_writes: PodWriteMetrics,
}

/// The counters of writes, and of pods to requeue.
#[derive(Clone, Debug, Default)]
pub(super) struct PodWriteMetrics {
    pub(super) bound: Counter,
    pub(super) not_bound: Counter,
    pub(super) unknown: Counter,
    pub(super) costs: Counter,
    pub(super) woken: Counter,
}

/// A request in progress.
pub(super) struct RequestTimer<'a> {
    metrics: &'a RequestMetrics,
    verb: Verb,
    started: Instant,
}

fn histogram() -> Histogram {
    Histogram::new(SECONDS)
}

impl Default for RequestMetrics {
    fn default() -> Self {
        let (responses, forwarded) = (Family::default(), Family::default());
        let (seconds, pod_writes) =
            (Family::new_with_constructor(histogram as fn() -> _), PodWriteMetrics::default());
        Self { responses, forwarded, seconds, pod_writes }
    }
}

impl RequestMetrics {
    /// Registers the metrics.
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Scheduler requests that this process responded to, by verb and response code";
        registry.register("almanac_extender_calls", help, self.responses.clone());
        let help = "Scheduler requests that were forwarded to the leader";
        registry.register("almanac_extender_calls_passed_on", help, self.forwarded.clone());
        let help = "Seconds from the complete request to its response, by verb";
        registry.register("almanac_extender_call_seconds", help, self.seconds.clone());
        let PodWriteMetrics { bound, not_bound, unknown, costs, woken } = &self.pod_writes;
        for (name, help, counter) in [
            ("almanac_units_bound", "Pods that were bound", bound),
            (
                "almanac_units_not_bound",
                "Bindings that were refused, here or by the API server",
                not_bound,
            ),
            ("almanac_units_bindings_unknown", "Bindings without a known result", unknown),
            (
                "almanac_units_costs_written",
                "Deletion costs of pods that were set or removed",
                costs,
            ),
            (
                "almanac_units_woken",
                "Pods that were annotated, so that their scheduler tries again",
                woken,
            ),
        ] {
            registry.register(name, help, counter.clone());
        }
    }

    pub(super) fn start(&self, verb: Verb) -> RequestTimer<'_> {
        RequestTimer { metrics: self, verb, started: Instant::now() }
    }

    pub(super) fn count_forwarded(&self, verb: Verb, status: StatusCode) {
        self.forwarded.get_or_create(&labels(verb, status)).inc();
    }
}

impl PodWriteMetrics {
    /// Counts the outcome of a binding.
    pub(super) fn count(&self, outcome: BindOutcome) {
        match outcome {
            BindOutcome::Posted => self.bound.inc(),
            BindOutcome::Failed => self.not_bound.inc(),
            BindOutcome::Unknown => self.unknown.inc(),
        };
    }
}

impl RequestTimer<'_> {
    pub(super) fn end(self, status: StatusCode) {
        self.metrics.responses.get_or_create(&labels(self.verb, status)).inc();
        let seconds = self.started.elapsed().as_secs_f64();
        let verb = [("verb", self.verb.name().to_owned())];
        self.metrics.seconds.get_or_create(&verb).observe(seconds);
    }
}

fn labels(verb: Verb, status: StatusCode) -> OfVerb {
    [("verb", verb.name().to_owned()), ("code", status.as_u16().to_string())]
}
