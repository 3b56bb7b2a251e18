//! Metrics about cron rules.

use almanac_engine::Family;
use almanac_engine::cron_scaling::{FiringBacklog, FiringOutcome, Recorded, firing_backlog};
use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::families::ScrapeInputs;

/// The number of firings by outcome, and their delays.
#[derive(Clone, Debug)]
pub(super) struct CronMetrics {
    lag: Histogram,
    fired: Counter,
    failed: Counter,
    missed: Counter,
    superseded: Counter,
    stopped: Counter,
    clock_was_ahead: Counter,
    undone: Counter,
}

/// From 50 ms, the latency of an idle API server, to the default maximum delay.
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
            stopped: Counter::default(),
            clock_was_ahead: Counter::default(),
            undone: Counter::default(),
        }
    }
}

impl CronMetrics {
    /// Registers the metrics.
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "almanac_cron_lag_seconds",
            "Delay from the scheduled time of a firing until it was applied",
            self.lag.clone(),
        );
        let fired = "Firings that were applied, including those whose value was already set";
        registry.register("almanac_cron_fired", fired, self.fired.clone());
        let failed = "Firings whose attempts all failed until it was too late";
        registry.register("almanac_cron_failed", failed, self.failed.clone());
        let missed = "Firings that were not attempted in time";
        registry.register("almanac_cron_missed", missed, self.missed.clone());
        let superseded = "Firings superseded by another firing of the same object";
        registry.register("almanac_cron_superseded", superseded, self.superseded.clone());
        let stopped = "Firings that fell due while everything was stopped";
        registry.register("almanac_cron_stopped", stopped, self.stopped.clone());
        let ahead = "Rules that had been handled by a clock far in the future";
        registry.register("almanac_cron_clock_was_ahead", ahead, self.clock_was_ahead.clone());
        let undone = "Firings whose value another writer replaced within two minutes";
        registry.register("almanac_cron_undone", undone, self.undone.clone());
    }

    /// Counts a record.
    pub(super) fn count(&self, recorded: &Recorded) {
        let counted = match recorded {
            Recorded::Ended { execution, .. } => match &execution.ending {
                FiringOutcome::Done(_) => {
                    self.lag.observe(execution.later().as_secs_f64());
                    &self.fired
                }
                FiringOutcome::Failed { .. } => &self.failed,
                FiringOutcome::Superseded { .. } => &self.superseded,
                FiringOutcome::Missed => &self.missed,
                FiringOutcome::Stopped => &self.stopped,
            },
            Recorded::Missed { count, .. } => {
                self.missed.inc_by(u64::from(*count));
                return;
            }
            Recorded::ClockWasAhead { .. } => &self.clock_was_ahead,
            Recorded::Undone { .. } => &self.undone,
            Recorded::AttemptFailed { .. } => return,
        };
        counted.inc();
    }
}

/// The pending firings of the rules, computed at the scrape.
#[derive(Debug)]
pub(super) struct BacklogGauges(pub(super) ScrapeInputs);

impl Collector for BacklogGauges {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        if self.0.leading.cluster().is_none() {
            return Ok(());
        }
        // Rules that are left to another controller have no pending firings here.
        let firing_backlog = match self.0.cluster_of(Family::CronScaling) {
            Some(cluster) => firing_backlog(cluster.lock().world.view(), self.0.clock.now()),
            None => FiringBacklog::default(),
        };
        for (name, help, value) in gauges(firing_backlog) {
            // Exported even without a value, so that queries find the metric.
            let series = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            if let Some(value) = value {
                ConstGauge::new(value).encode(series)?;
            }
        }
        Ok(())
    }
}

type Gauge = (&'static str, &'static str, Option<i64>);

/// The gauges, each with name, help and value; the value is `None` if it is unknown.
fn gauges(firing_backlog: FiringBacklog) -> [Gauge; 4] {
    let count = |count: u64| Some(i64::try_from(count).unwrap_or(i64::MAX));
    [
        (
            "almanac_cron_rules_armed",
            "Rules waiting for their next firing",
            count(firing_backlog.armed),
        ),
        (
            "almanac_cron_next_firing_timestamp_seconds",
            "Time of the next firing, in seconds since the epoch",
            firing_backlog.next.map(Timestamp::as_second),
        ),
        (
            "almanac_cron_oldest_overdue_firing_timestamp_seconds",
            "Time of the oldest firing that is due and not yet handled, in seconds since the epoch",
            firing_backlog.oldest_overdue.map(Timestamp::as_second),
        ),
        (
            "almanac_cron_firings_retrying",
            "Firings that have failed at least once and are being retried",
            count(firing_backlog.retrying),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use almanac_engine::Field;
    use almanac_engine::cron_scaling::{Applied, Execution};
    use almanac_shell::clock::Clock;
    use almanac_shell::lease::{Fence, Switch};
    use jiff::SignedDuration;

    use super::*;
    use crate::cluster::Cluster;
    use crate::leadership::Leadership;
    use crate::upstream::Upstreams;

    #[test]
    fn every_missed_firing_is_counted_and_a_superseded_one_is_not_a_failure() {
        let metrics = CronMetrics::default();
        let (at, late) = (Timestamp::UNIX_EPOCH, SignedDuration::from_secs(400));
        let ended = Execution::new(at, at, FiringOutcome::Superseded { by: "b".into() });
        metrics.count(&Recorded::Ended { rule: "a".into(), execution: ended });
        let missed = Recorded::Missed { rule: "a".into(), count: 19, first: at, last: at, late };
        metrics.count(&missed);
        let field = Field::Replicas;
        let undone = Recorded::Undone { rule: "a".into(), scheduled: at, field, set: 5, found: 2 };
        metrics.count(&undone);
        let CronMetrics { fired, failed, superseded, missed, undone, .. } = &metrics;
        let counted = [fired, failed, superseded, missed, undone].map(Counter::get);
        assert_eq!(counted, [0, 0, 1, 19, 1]);
    }

    #[test]
    fn an_applied_firing_is_counted_with_its_delay_in_seconds() {
        let mut registry = Registry::default();
        let metrics = CronMetrics::default();
        metrics.register(&mut registry);
        let at = Timestamp::UNIX_EPOCH;
        let ending = FiringOutcome::Done(Applied::Replicas(3));
        let execution = Execution::new(at, at + SignedDuration::from_secs(7), ending);
        metrics.count(&Recorded::Ended { rule: "a".into(), execution });
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry)
            .expect("encode the metrics");
        for line in ["almanac_cron_fired_total 1", "almanac_cron_lag_seconds_sum 7.0"] {
            assert!(text.lines().any(|it| it == line), "no {line} in {text}");
        }
    }

    #[test]
    fn a_stopped_firing_is_neither_missed_nor_failed_and_a_wrong_clock_is_counted() {
        let metrics = CronMetrics::default();
        let at = Timestamp::UNIX_EPOCH;
        let ended = Execution::new(at, at, FiringOutcome::Stopped);
        metrics.count(&Recorded::Ended { rule: "a".into(), execution: ended });
        metrics.count(&Recorded::ClockWasAhead { rule: "a".into(), until: at });
        let CronMetrics { failed, missed, stopped, clock_was_ahead, .. } = &metrics;
        let counted = [failed, missed, stopped, clock_was_ahead];
        assert_eq!(counted.map(Counter::get), [0, 0, 1, 1]);
    }

    #[test]
    fn the_oldest_overdue_gauge_is_exported_even_if_none_is_overdue() {
        let mut registry = Registry::default();
        let (leading, cluster) = (Leadership::default(), Arc::new(Cluster::default()));
        leading.start(Fence::open(), cluster);
        let (clock, upstreams) = (Clock::from_fn(|| Timestamp::UNIX_EPOCH), Upstreams::default());
        let switch = Switch::new(clock.clone());
        let scraped = ScrapeInputs { leading, clock, switch, upstreams };
        registry.register_collector(Box::new(BacklogGauges(scraped)));
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry)
            .expect("encode the metrics");
        let name = "almanac_cron_oldest_overdue_firing_timestamp_seconds";
        assert!(text.contains(&format!("# TYPE {name} gauge")), "{text}");
        assert!(!text.contains(&format!("\n{name} ")), "{text}");
        assert!(text.contains("\nalmanac_cron_firings_retrying 0"), "{text}");
    }
}
