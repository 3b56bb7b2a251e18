//! The counters and the histogram of an agent.

use almanac_engine::qos_levels::Recorded;
use jiff::SignedDuration;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// The counters, which survive terms.
#[derive(Clone, Debug)]
pub(super) struct LevelMetrics {
    /// The time from a boundary until the annotations are written.
    pub(super) lag: Histogram,
    pub(super) activated: Counter,
    pub(super) restored: Counter,
    pub(super) failed: Counter,
    pub(super) contested: Counter,
    pub(super) rejections: Counter,
}

/// From 50 ms, the latency of an idle API server, to some minutes.
const LAG_SECONDS: [f64; 13] =
    [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0];

impl Default for LevelMetrics {
    fn default() -> Self {
        let [activated, restored, failed, contested, rejections]: [Counter; 5] = Default::default();
        let lag = Histogram::new(LAG_SECONDS);
        Self { lag, activated, restored, failed, contested, rejections }
    }
}

impl LevelMetrics {
    /// Registers the metrics.
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Delay from a boundary until the annotations of a pod were written";
        registry.register("almanac_qos_lag_seconds", help, self.lag.clone());
        for (name, help, counter) in [
            ("almanac_qos_activated", "Pods whose level a policy began to set", &self.activated),
            ("almanac_qos_restored", "Pods whose original level was restored", &self.restored),
            ("almanac_qos_failed", "Attempts to write a pod that failed", &self.failed),
            (
                "almanac_qos_contested",
                "Pods that another writer kept changing, so that they are written less often",
                &self.contested,
            ),
            (
                "almanac_qos_config_rejections",
                "Versions of a ConfigMap with a list that cannot be used",
                &self.rejections,
            ),
        ] {
            registry.register(name, help, counter.clone());
        }
    }

    /// Counts a change of a level, and its delay after the boundary.
    pub(super) fn count(&self, recorded: &Recorded, lag: Option<SignedDuration>) {
        match (&recorded.ended, &recorded.begun) {
            (ended, Some(begun)) if ended.as_ref() != Some(begun) => self.activated.inc(),
            (_, Some(_)) => 0,
            (_, None) => self.restored.inc(),
        };
        if let Some(lag) = lag {
            self.lag.observe(lag.as_secs_f64().max(0.0));
        }
    }
}
