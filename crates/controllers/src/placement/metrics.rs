//! Metrics about placements.

use almanac_engine::placement::{Recorded, Satisfaction, selected_clusters};
use almanac_engine::{Family, Identity, PolicyName};
use jiff::SignedDuration;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::families::ScrapeInputs;

/// The counters and the histogram of placements.
#[derive(Clone, Debug)]
pub(crate) struct PlacementMetrics {
    lag: Histogram,
    turns: Counter,
    decided: Counter,
    changes: family::Family<[(&'static str, &'static str); 1], Counter>,
    failed: Counter,
    undone: Counter,
}

/// From the latency of an idle API server to the longest acceptable delay.
const LAG_SECONDS: [f64; 11] = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0];

impl Default for PlacementMetrics {
    fn default() -> Self {
        let metrics = Self {
            lag: Histogram::new(LAG_SECONDS),
            turns: Counter::default(),
            decided: Counter::default(),
            changes: family::Family::default(),
            failed: Counter::default(),
            undone: Counter::default(),
        };
        // Exported even before any selection, so that an increase is visible.
        for change in ["added", "removed"] {
            drop(metrics.changes.get_or_create(&[("change", change)]));
        }
        metrics
    }
}

impl PlacementMetrics {
    /// Registers the metrics.
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "almanac_placement_lag_seconds",
            "Delay from a change, or from a due instant, until the resulting decisions were written",
            self.lag.clone(),
        );
        let turns = "Times that a placement was decided, whether or not it selected other clusters";
        registry.register("almanac_placement_turns", turns, self.turns.clone());
        let decided = "Times that a placement selected other clusters than before";
        registry.register("almanac_placement_decided", decided, self.decided.clone());
        let changes = "Clusters that placements have added to what they select, or removed";
        registry.register("almanac_placement_changed_clusters", changes, self.changes.clone());
        let failed = "Attempts to write a PlacementDecision that failed";
        registry.register("almanac_placement_failed", failed, self.failed.clone());
        let undone = "Changes of PlacementDecisions by other writers";
        registry.register("almanac_placement_undone", undone, self.undone.clone());
    }

    pub(super) fn count(&self, recorded: &Recorded) {
        self.decided.inc();
        for (change, clusters) in [("added", &recorded.added), ("removed", &recorded.removed)] {
            let count = u64::try_from(clusters.len()).unwrap_or(u64::MAX);
            self.changes.get_or_create(&[("change", change)]).inc_by(count);
        }
    }

    /// Counts a decision of a placement.
    pub(super) fn count_turn(&self) {
        self.turns.inc();
    }

    pub(super) fn count_failed(&self) {
        self.failed.inc();
    }

    pub(super) fn count_undone(&self) {
        self.undone.inc();
    }

    /// Records the time until decisions were written.
    pub(super) fn observe(&self, lag: SignedDuration) {
        self.lag.observe(lag.as_secs_f64().max(0.0));
    }
}

/// The selected and the missing clusters of each placement, evaluated at the scrape.
#[derive(Debug)]
pub(super) struct PlacementGauges(pub(super) ScrapeInputs);

/// The values of one placement.
struct Numbers {
    placement: Identity,
    selected: usize,
    /// The number of further clusters that the placement needs; `None` if it is unknown.
    missing: Option<u32>,
}

impl PlacementGauges {
    fn numbers(&self) -> Vec<Numbers> {
        let Some(cluster) = self.0.cluster_of(Family::Placement) else { return Vec::new() };
        let state = cluster.lock();
        let world = &state.world;
        let numbers = world.placement.policies.iter().map(|(placement, object)| {
            let name = PolicyName::new(Family::Placement, placement.clone());
            let selected = selected_clusters(world.view(), placement);
            let revision = state.policies.get(&name).map(|entry| entry.revision);
            let is_written = revision.is_some_and(|it| state.hub.is_written(placement, it));
            let wanted = object.policy.as_deref().and_then(|policy| policy.number_of_clusters);
            let missing = object.memory.as_ref().filter(|_| is_written).map(|memory| match memory
                .satisfaction
            {
                Satisfaction::Satisfied => 0,
                Satisfaction::Lacks(lacking) => lacking,
                Satisfaction::NothingBound
                | Satisfaction::NoneOfItsSets
                | Satisfaction::NoClusters
                | Satisfaction::NoneMatches
                | Satisfaction::TooCostly => wanted.unwrap_or(1),
            });
            Numbers { placement: placement.clone(), selected, missing }
        });
        numbers.collect()
    }
}

/// A gauge: its name, its help, and its value for a placement.
type Gauge = (&'static str, &'static str, fn(&Numbers) -> Option<f64>);

const GAUGES: [Gauge; 2] = [
    ("almanac_placement_selected_clusters", "The clusters that a placement has selected", |it| {
        u32::try_from(it.selected).ok().map(f64::from)
    }),
    (
        "almanac_placement_missing_clusters",
        "The clusters that a placement requests beyond those that exist and may be selected",
        |it| it.missing.map(f64::from),
    ),
];

impl Collector for PlacementGauges {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let all = self.numbers();
        for (name, help, value) in GAUGES {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for numbers in &all {
                let Some(value) = value(numbers) else { continue };
                let placement = &numbers.placement;
                let labels = [("name", placement.name()), ("namespace", placement.namespace())];
                ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
