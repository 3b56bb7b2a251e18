//! Metrics about autoscalers.

use almanac_engine::metric_scaling::{Recorded, TargetState};
use almanac_engine::{Family, Identity};
use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::with_decision;
use crate::cluster::{ClusterState, PolicyEntry};
use crate::families::ScrapeInputs;

/// The numbers of changes and failures of autoscalers.
#[derive(Clone, Debug, Default)]
pub(super) struct AutoscalerMetrics {
    scaled: family::Family<[(&'static str, &'static str); 1], Counter>,
    failed: Counter,
    undone: Counter,
}

impl AutoscalerMetrics {
    /// Registers the metrics.
    pub(super) fn register(&self, registry: &mut Registry) {
        let scaled = "Changes of replicas that autoscalers have made, by direction";
        registry.register("almanac_autoscaler_scaled", scaled, self.scaled.clone());
        let failed = "Times that an autoscaler began to fail to change its target";
        registry.register("almanac_autoscaler_failed", failed, self.failed.clone());
        let undone = "Times that another writer began to replace what an autoscaler sets";
        registry.register("almanac_autoscaler_undone", undone, self.undone.clone());
        // Exported even before any scaling, so that an increase is visible.
        for direction in ["up", "down"] {
            drop(self.scaled.get_or_create(&[("direction", direction)]));
        }
    }

    /// Counts a record.
    pub(super) fn count(&self, recorded: &Recorded) {
        match recorded {
            Recorded::Scaled { from, to, .. } => {
                let is_down = from.is_some_and(|from| from > *to);
                let direction = if is_down { "down" } else { "up" };
                self.scaled.get_or_create(&[("direction", direction)]).inc();
            }
            Recorded::Failed { .. } => {
                self.failed.inc();
            }
            Recorded::Undone { .. } => {
                self.undone.inc();
            }
        }
    }
}

/// The desired and the current replicas of each autoscaler, evaluated at the scrape.
#[derive(Debug)]
pub(super) struct AutoscalerGauges(pub(super) ScrapeInputs);

/// The known values of one autoscaler.
struct Numbers {
    autoscaler: Identity,
    desired: Option<u32>,
    current: Option<u32>,
    /// The age of its oldest sample, in seconds.
    age: Option<f64>,
}

impl AutoscalerGauges {
    fn numbers(&self) -> Vec<Numbers> {
        let cluster = self.0.cluster_of(Family::MetricScaling);
        let Some(cluster) = cluster else { return Vec::new() };
        let now = self.0.clock.now();
        let state = cluster.lock();
        let all = state.policies.iter().filter(|(it, _)| it.family == Family::MetricScaling);
        all.filter_map(|(policy, entry)| {
            Numbers::for_autoscaler(&state, &policy.identity, entry, now)
        })
        .collect()
    }
}

impl Numbers {
    fn for_autoscaler(
        state: &ClusterState,
        autoscaler: &Identity,
        entry: &PolicyEntry,
        now: Timestamp,
    ) -> Option<Numbers> {
        let world = &state.world;
        with_decision(world, autoscaler, entry, now, |decided| {
            let metrics = decided.input.policy.metrics.iter();
            let sampled_at = metrics.filter_map(|it| {
                world.metric_scaling.extra.get(autoscaler, &it.query.text)?.last_number_at
            });
            let current = match decided.input.target {
                TargetState::Workload(workload) => workload.current.or(workload.replicas),
                TargetState::Missing | TargetState::Unreachable(_) => None,
            };
            Numbers {
                autoscaler: autoscaler.clone(),
                desired: decided.limited().map(|limited| limited.replicas),
                current,
                age: sampled_at.min().map(|at| now.duration_since(at).as_secs_f64()),
            }
        })
    }
}

/// A gauge: its name, its help, and its value for an autoscaler.
type Gauge = (&'static str, &'static str, fn(&Numbers) -> Option<f64>);

const GAUGES: [Gauge; 3] = [
    ("almanac_autoscaler_desired_replicas", "The desired replicas of an autoscaler", |numbers| {
        numbers.desired.map(f64::from)
    }),
    (
        "almanac_autoscaler_current_replicas",
        "The replicas that the target of an autoscaler has",
        |numbers| numbers.current.map(f64::from),
    ),
    (
        "almanac_autoscaler_sample_age_seconds",
        "The age of the oldest of the last samples that an autoscaler received from Prometheus",
        |numbers| numbers.age,
    ),
];

impl Collector for AutoscalerGauges {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let all = self.numbers();
        for (name, help, value) in GAUGES {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for numbers in &all {
                let Some(value) = value(numbers) else { continue };
                let Numbers { autoscaler, .. } = numbers;
                let labels = [("name", autoscaler.name()), ("namespace", autoscaler.namespace())];
                ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
