//! What is exported about cron rules.

use almanac_engine::cron_scaling::{Ending, Recorded, armed};
use almanac_shell::clock::Clock;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::leading::Leading;

/// How often rules fired, and how late.
#[derive(Clone, Debug)]
pub(super) struct CronMetrics {
    lag: Histogram,
    fired: Counter,
    failed: Counter,
    missed: Counter,
    superseded: Counter,
}

/// From a twentieth of a second, which a quiet API server takes, to the longest usual delay.
const LAG_SECONDS: [f64; 13] =
    [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0];

impl Default for CronMetrics {
    fn default() -> Self {
        Self {
            lag: Histogram::new(LAG_SECONDS),
            fired: Counter::default(),
            failed: Counter::default(),
            missed: Counter::default(),
            superseded: Counter::default(),
        }
    }
}

impl CronMetrics {
    /// Adds them to what is exported.
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "almanac_cron_lag_seconds",
            "From the instant a rule was scheduled for until it was carried out",
            self.lag.clone(),
        );
        let fired = "Firings that were carried out, or found their value there already";
        registry.register("almanac_cron_fired", fired, self.fired.clone());
        let failed = "Firings that were tried in vain until it was too late";
        registry.register("almanac_cron_failed", failed, self.failed.clone());
        let missed = "Firings that nobody was there to carry out in time";
        registry.register("almanac_cron_missed", missed, self.missed.clone());
        let superseded = "Firings that another firing of the same object took the place of";
        registry.register("almanac_cron_superseded", superseded, self.superseded.clone());
    }

    /// Counts what has happened.
    pub(super) fn count(&self, recorded: &Recorded) {
        let counted = match recorded {
            Recorded::Ended { execution, .. } => match &execution.ending {
                Ending::Done(_) => {
                    self.lag.observe(execution.later().as_secs_f64());
                    &self.fired
                }
                Ending::Failed { .. } => &self.failed,
                Ending::Superseded { .. } => &self.superseded,
                Ending::Missed => &self.missed,
            },
            Recorded::Missed { count, .. } => {
                self.missed.inc_by(u64::from(*count));
                return;
            }
            Recorded::AttemptFailed { .. } | Recorded::ClockWasAhead { .. } => return,
        };
        counted.inc();
    }
}

/// How many rules are armed, and when the next one fires: counted when it is asked for.
#[derive(Debug)]
pub(super) struct ArmedRules {
    leading: Leading,
    clock: Clock,
}

impl ArmedRules {
    pub(super) fn new(leading: Leading, clock: Clock) -> Self {
        Self { leading, clock }
    }
}

impl Collector for ArmedRules {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let Some(cluster) = self.leading.cluster() else { return Ok(()) };
        let (armed, next) = armed(&cluster.lock().world, self.clock.now());
        let gauge = ConstGauge::new(i64::try_from(armed).unwrap_or(i64::MAX));
        let (name, help) = ("almanac_cron_rules_armed", "Rules that wait for their next firing");
        gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        if let Some(next) = next {
            let gauge = ConstGauge::new(next.as_second());
            let help = "When the next rule fires, in seconds since 1970";
            let name = "almanac_cron_next_firing_timestamp_seconds";
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use almanac_engine::cron_scaling::Execution;
    use jiff::{SignedDuration, Timestamp};

    use super::*;

    #[test]
    fn every_missed_firing_is_counted_and_a_superseded_one_is_no_failure() {
        let metrics = CronMetrics::default();
        let (at, late) = (Timestamp::UNIX_EPOCH, SignedDuration::from_secs(400));
        let ended = Execution::new(at, at, Ending::Superseded { by: "b".into() });
        metrics.count(&Recorded::Ended { rule: "a".into(), execution: ended });
        let missed = Recorded::Missed { rule: "a".into(), count: 19, first: at, last: at, late };
        metrics.count(&missed);
        let counted = [&metrics.fired, &metrics.failed, &metrics.superseded, &metrics.missed];
        assert_eq!(counted.map(Counter::get), [0, 0, 1, 19]);
    }
}
