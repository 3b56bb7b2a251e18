//! Counts the objects that need attention, by reason, at the time of the scrape. The families write the conditions.

use std::collections::BTreeMap;

use almanac_api::kinds::Kind;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::leadership::Leadership;

/// Exports the objects whose condition `Ready` is false.
#[derive(Debug)]
pub(crate) struct NotReady {
    leading: Leadership,
}

impl NotReady {
    pub(crate) fn new(leading: Leadership) -> Self {
        Self { leading }
    }

    /// The number of objects that need attention, by kind and reason.
    fn counts(&self) -> BTreeMap<(String, &'static str), i64> {
        let mut counts = BTreeMap::new();
        let Some(cluster) = self.leading.cluster() else { return counts };
        let state = cluster.lock();
        let policies = state.policies.iter();
        let policies = policies.map(|(it, entry)| (Kind::for_family(it.family), entry.not_ready));
        let groups = state.node_groups.values();
        let groups = groups.map(|entry| (Kind::ScalableNodeGroup, entry.not_ready));
        for (kind, reason) in policies.chain(groups) {
            if let Some(reason) = reason {
                *counts.entry((kind.plural().to_owned(), reason.name())).or_default() += 1;
            }
        }
        counts
    }
}

impl Collector for NotReady {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let name = "almanac_objects_not_ready";
        let help = "Objects whose Ready condition is false, by kind and reason";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for ((kind, reason), count) in self.counts() {
            let labels = [("kind", &*kind), ("reason", reason)];
            ConstGauge::new(count).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use almanac_api::status::conditions::ConditionReason;
    use almanac_shell::lease::Fence;

    use super::*;
    use crate::bench::{at_nine, policy};
    use crate::cluster::{Cluster, PolicyEntry};

    #[test]
    fn objects_that_need_attention_are_counted_while_leading_even_before_their_status_is_written() {
        let (cluster, fence) = (Arc::new(Cluster::default()), Fence::open());
        for (name, is_written) in [("recorded", true), ("unrecorded", false)] {
            let object = at_nine(name, "apps/v1", "Deployment");
            let object = serde_json::from_value(object).expect("the object is valid");
            let mut entry = PolicyEntry::from_object(&object, 1);
            entry.not_ready = Some(ConditionReason::TargetNotFound);
            entry.is_written = is_written;
            cluster.lock().policies.insert(policy(name), entry);
        }
        let leading = Leadership::default();
        leading.start(fence.clone(), cluster);
        let not_ready = NotReady::new(leading);
        let label = ("cronfederatedhpas".to_owned(), "TargetNotFound");
        assert_eq!(not_ready.counts(), BTreeMap::from([(label, 2)]));
        fence.shut();
        assert_eq!(not_ready.counts(), BTreeMap::new());
    }
}
