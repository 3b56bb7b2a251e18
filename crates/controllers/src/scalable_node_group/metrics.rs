//! Metrics about node groups.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::entry::NodeGroupEntry;
use crate::leadership::Leadership;

/// The number of failures of providers.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeGroupMetrics {
    failed: Counter,
}

impl NodeGroupMetrics {
    /// Registers the counter, and the gauges that are evaluated at the scrape.
    pub(crate) fn register(&self, registry: &mut Registry, leading: &Leadership) {
        let help = "Failed attempts to create, remove or count the nodes of a group";
        registry.register("almanac_node_group_failed", help, self.failed.clone());
        registry.register_collector(Box::new(NodeGroupGauges { leading: leading.clone() }));
    }

    pub(super) fn count_failure(&self) {
        self.failed.inc();
    }
}

/// The desired and the current number of nodes of each group.
#[derive(Debug)]
struct NodeGroupGauges {
    leading: Leadership,
}

type Gauge = (&'static str, &'static str, fn(&NodeGroupEntry) -> Option<u32>);

const GAUGES: [Gauge; 2] = [
    ("almanac_node_group_desired_replicas", "Desired nodes of a group", NodeGroupEntry::wanted),
    ("almanac_node_group_current_replicas", "Nodes that a group has", NodeGroupEntry::has),
];

impl Collector for NodeGroupGauges {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let Some(cluster) = self.leading.cluster() else { return Ok(()) };
        let state = cluster.lock();
        for (name, help, value) in GAUGES {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (group, entry) in state.node_groups.iter() {
                let Some(value) = value(entry) else { continue };
                let labels = [("name", group.name()), ("namespace", group.namespace())];
                ConstGauge::new(i64::from(value)).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
