//! The pending and finished work of an agent, evaluated at the scrape by the same decision that is applied.

use almanac_engine::qos_levels::Levels;
use almanac_engine::qos_levels::{DecidedPod, ListInForce, QosLevels};
use almanac_engine::{Reach, turn};
use almanac_shell::clock::Clock;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use super::state::{AgentState, SharedState};
use crate::leadership::Leadership;

/// The gauges of an agent.
#[derive(Debug)]
pub(super) struct Gauges {
    leading: Leadership<SharedState>,
    clock: Clock,
    /// Whether this process takes part in leader election.
    is_elected: bool,
}

#[derive(Default)]
struct Numbers {
    loaded: usize,
    active: usize,
    rejected: usize,
    managed: usize,
    levels_pending: usize,
    restores_pending: usize,
}

impl Gauges {
    pub(super) fn new(leading: Leadership<SharedState>, clock: Clock, is_elected: bool) -> Self {
        Self { leading, clock, is_elected }
    }

    fn numbers(&self, state: &AgentState) -> Numbers {
        let rejected = state.configs.present.values().filter(|it| it.is_rejected).count();
        let mut numbers = Numbers { rejected, ..Numbers::default() };
        let now = self.clock.now();
        let Some(policies) = state.policies_in_force() else { return numbers };
        let open = turn::open(&state.world, &policies, &Reach::everything(), now);
        let open = open.as_ref().and_then(|open| open.decision().get::<Levels>());
        let Some(open) = open else { return numbers };
        let lists = open.policy.lists().filter(|(entry, _)| followed(&open.policy, state, *entry));
        for policy in lists.flat_map(|(_, list)| list) {
            numbers.loaded += 1;
            numbers.active += usize::from(policy.is_enabled && policy.windows.is_open(now));
        }
        let count = |is_it: fn(&DecidedPod) -> bool| {
            open.decision.pods.iter().filter(|pod| is_it(pod)).count()
        };
        numbers.managed = count(|pod| pod.policy.is_some());
        numbers.levels_pending = count(|pod| pod.policy.is_some() && pod.is_written());
        numbers.restores_pending = count(|pod| pod.policy.is_none() && pod.is_written());
        numbers
    }
}

/// Whether any node of the agent follows the list of this entry. A pod without a node follows the global list.
fn followed(policies: &QosLevels, state: &AgentState, entry: Option<u32>) -> bool {
    let nodes = &state.world.objects.nodes;
    let is_it = |list| matches!(list, ListInForce::Known(known, _) if known == entry);
    let has_none =
        || nodes.is_empty() || state.world.objects.pods.values().any(|pod| pod.node.is_none());
    nodes.values().any(|node| is_it(policies.in_force(Some(&node.labels))))
        || (is_it(policies.in_force(None)) && has_none())
}

impl Collector for Gauges {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let state = self.leading.cluster();
        if self.is_elected {
            // Controllers use another name for this gauge: a query over both would find two leaders.
            let (name, help) =
                ("almanac_agent_leader", "Whether this agent is the leader (1) or not (0)");
            let series = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(i64::from(state.is_some())).encode(series)?;
        }
        let Some(state) = state else { return Ok(()) };
        let numbers = self.numbers(&state.lock());
        for (name, help, value) in [
            ("almanac_qos_policies_loaded", "Policies in the lists in force", numbers.loaded),
            ("almanac_qos_policies_active", "Policies whose window is open", numbers.active),
            (
                "almanac_qos_configs_rejected",
                "ConfigMaps with a part that cannot be used as written",
                numbers.rejected,
            ),
            ("almanac_qos_pods_managed", "Pods whose level a policy sets now", numbers.managed),
            (
                "almanac_qos_levels_pending",
                "Pods that do not have the level of their policy yet",
                numbers.levels_pending,
            ),
            (
                "almanac_qos_restores_pending",
                "Pods whose original level is not restored yet",
                numbers.restores_pending,
            ),
        ] {
            let value = i64::try_from(value).unwrap_or(i64::MAX);
            let series = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value).encode(series)?;
        }
        Ok(())
    }
}
