//! How many objects need somebody's attention, and why: counted when it is asked for. What their
//! conditions say is each family's own affair.

use std::collections::BTreeMap;

use almanac_api::kinds::Kind;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::leadership::Leadership;

/// The objects whose condition `Ready` is false.
#[derive(Debug)]
pub(crate) struct NotReady {
    leading: Leadership,
}

impl NotReady {
    pub(crate) fn new(leading: Leadership) -> Self {
        Self { leading }
    }

    /// How many there are, by kind and reason.
    fn counted(&self) -> BTreeMap<(String, &'static str), i64> {
        let mut counted = BTreeMap::new();
        let Some(cluster) = self.leading.cluster() else { return counted };
        for (policy, entry) in &cluster.lock().policies {
            if let Some(reason) = entry.not_ready {
                let kind = Kind::of_family(policy.family).resource().plural;
                *counted.entry((kind, reason.name())).or_default() += 1;
            }
        }
        counted
    }
}

impl Collector for NotReady {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let name = "almanac_objects_not_ready";
        let help = "Objects whose Ready condition is false, by kind and reason";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for ((kind, reason), count) in self.counted() {
            let labels = [("kind", &*kind), ("reason", reason)];
            ConstGauge::new(count).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
