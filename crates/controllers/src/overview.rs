//! Figures about everything at once, counted when they are asked for.

use almanac_engine::cron_scaling::next_firing;
use almanac_shell::clock::Clock;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::gauge::ConstGauge;

use crate::leading::Leading;

/// How many rules are armed, and when the next one fires.
#[derive(Debug)]
pub(crate) struct Overview {
    leading: Leading,
    clock: Clock,
}

impl Overview {
    pub(crate) fn new(leading: Leading, clock: Clock) -> Self {
        Self { leading, clock }
    }
}

impl Collector for Overview {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let cluster = self.leading.cluster();
        let leads = ConstGauge::new(i64::from(cluster.is_some()));
        let help = "Whether this process leads: 1, or 0";
        leads.encode(encoder.encode_descriptor(
            "almanac_leader",
            help,
            None,
            leads.metric_type(),
        )?)?;
        let Some(cluster) = cluster else { return Ok(()) };
        let now = self.clock.now();
        let (mut armed, mut next) = (0_i64, None);
        {
            let known = cluster.lock();
            for object in known.world.cron_scalings.values() {
                let Some(memory) = &object.memory else { continue };
                for (rule, memory) in object.policy.rules.iter().zip(&memory.rules) {
                    let Some(at) = next_firing(rule, memory, now) else { continue };
                    armed += 1;
                    next = Some(next.map_or(at, |next: jiff::Timestamp| next.min(at)));
                }
            }
        }
        let gauge = ConstGauge::new(armed);
        let help = "Rules that wait for their next firing";
        let place = encoder.encode_descriptor(
            "almanac_cron_rules_armed",
            help,
            None,
            gauge.metric_type(),
        )?;
        gauge.encode(place)?;
        if let Some(next) = next {
            let gauge = ConstGauge::new(next.as_second());
            let help = "When the next rule fires, in seconds since 1970";
            let name = "almanac_cron_next_firing_timestamp_seconds";
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        Ok(())
    }
}
