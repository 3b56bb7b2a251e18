//! The values of all schedules, evaluated at the time of the scrape.
//!
//! Only the leader publishes values: the same series from two replicas would count twice. While everything is stopped,
//! or schedules are left to their upstream controller, no values are published.

use almanac_engine::{Family, Identity, scheduled_capacity};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::gauge::ConstGauge;

use crate::families::ScrapeInputs;

/// The series of all schedules.
#[derive(Debug)]
pub(super) struct PublishedNumbers(pub(super) ScrapeInputs);

/// The name of the series in the design, and its name in the first releases of the design.
const NAMES: [&str; 2] = ["karpenter_scheduled_capacity", "karpenter_scheduled_replicas_value"];

impl PublishedNumbers {
    fn numbers(&self) -> Vec<(Identity, u32)> {
        let cluster = self.0.cluster_of(Family::ScheduledCapacity);
        // An autoscaler without a value leaves its target unchanged.
        let cluster = cluster.filter(|_| !self.0.switch.is_stopped());
        let Some(cluster) = cluster else { return Vec::new() };
        let now = self.0.clock.now();
        let state = cluster.lock();
        let schedules = state.world.scheduled_capacity.policies.keys();
        schedules
            .filter_map(|policy| {
                let input = scheduled_capacity::gather(state.world.view(), policy)?;
                Some((policy.clone(), scheduled_capacity::value_at(input.policy, now)))
            })
            .collect()
    }
}

impl Collector for PublishedNumbers {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let numbers = self.numbers();
        if numbers.is_empty() {
            return Ok(());
        }
        for name in NAMES {
            let gauge = ConstGauge::new(0_i64);
            let help = "The capacity that a schedule requests now";
            let mut family = encoder.encode_descriptor(name, help, None, gauge.metric_type())?;
            for (policy, value) in &numbers {
                let labels = [("name", policy.name()), ("namespace", policy.namespace())];
                let metric = family.encode_family(&labels)?;
                ConstGauge::new(i64::from(*value)).encode(metric)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use almanac_api::checking::{CheckContext, check_json};
    use almanac_api::kinds::Kind;
    use almanac_shell::clock::Clock;
    use almanac_shell::lease::{Fence, Switch};
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::cluster::Cluster;
    use crate::leadership::Leadership;
    use crate::upstream::Upstreams;

    #[test]
    fn only_the_leader_publishes_values_and_none_are_published_while_stopped() {
        let kind = Kind::for_family(Family::ScheduledCapacity);
        let nodes = kind.identity("default", "nodes");
        let context = CheckContext::new("default", Timestamp::UNIX_EPOCH);
        let object = json!({
            "metadata": { "name": "nodes" },
            "spec": { "schedule": { "defaultReplicas": 2, "behaviors": [] } },
        });
        let slim = check_json(kind, object, context).slim.expect("the object is usable");
        let (cluster, fence) = (Arc::new(Cluster::default()), Fence::open());
        cluster.lock().world.upsert(nodes.clone(), slim);
        let clock = Clock::from_fn(|| Timestamp::UNIX_EPOCH);
        let (leading, switch) = (Leadership::default(), Switch::new(clock.clone()));
        let published = PublishedNumbers(ScrapeInputs {
            leading: leading.clone(),
            clock,
            switch: switch.clone(),
            upstreams: Upstreams::default(),
        });
        assert_eq!(published.numbers(), []);
        leading.start(fence.clone(), cluster);
        assert_eq!(published.numbers(), [(nodes.clone(), 2)]);
        switch.update(Some("wrong values"));
        assert_eq!(published.numbers(), []);
        switch.update(None);
        assert_eq!(published.numbers(), [(nodes, 2)]);
        fence.shut();
        assert_eq!(published.numbers(), [], "another leader may exist");
    }
}
