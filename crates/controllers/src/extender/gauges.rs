//! The state of the replica that decides, evaluated at the scrape.

use almanac_api::finding::{Finding, Severity};
use almanac_engine::Identity;
use almanac_engine::units::UnitCount;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use super::leader::Leader;
use crate::leadership::Leadership;

/// The gauges of an extender.
#[derive(Debug)]
pub(super) struct Gauges {
    pub(super) leading: Leadership<Leader>,
}

#[derive(Default)]
struct Numbers {
    policies: usize,
    unusable: usize,
    over_cap: usize,
    in_conflict: usize,
    unsettled: usize,
}

fn is_error(finding: &Finding) -> bool {
    finding.severity() == Severity::Error
}

fn numbers(leader: &Leader) -> Numbers {
    let (policies, unsettled): (Vec<Identity>, usize) = {
        let state = leader.lock();
        (state.policies.keys().cloned().collect(), state.ledger.reservations())
    };
    let mut numbers = Numbers { unsettled, ..Numbers::default() };
    for policy in &policies {
        // The lock is released between policies, because the report of one policy may be long.
        let state = leader.lock();
        let Some(entry) = state.policies.get(policy) else { continue };
        numbers.policies += 1;
        numbers.unusable += usize::from(entry.findings.iter().any(is_error));
        let Some(report) = state.ledger.report(policy) else { continue };
        let mut units = report.groups.iter().flat_map(|group| &group.units);
        numbers.over_cap += usize::from(units.any(UnitCount::is_over_cap));
        numbers.in_conflict += usize::from(!report.conflicts.is_empty());
    }
    numbers
}

impl Collector for Gauges {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let mut gauge = |name: &str, help: &str, value: usize| {
            let value = i64::try_from(value).unwrap_or(i64::MAX);
            let series = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value).encode(series)
        };
        let leader = self.leading.cluster();
        // Controllers use another name for this gauge: a query over both would find two leaders.
        let help = "Whether this extender is the leader (1) or not (0)";
        gauge("almanac_extender_leader", help, usize::from(leader.is_some()))?;
        let Some(leader) = leader else { return Ok(()) };
        let numbers = numbers(&leader);
        for (name, help, value) in [
            ("almanac_units_policies", "Known ResourcePolicies", numbers.policies),
            (
                "almanac_units_policies_invalid",
                "ResourcePolicies that cannot be used as written",
                numbers.unusable,
            ),
            (
                "almanac_units_policies_over_cap",
                "ResourcePolicies with a unit that has more pods than its maxCount",
                numbers.over_cap,
            ),
            (
                "almanac_units_policies_in_conflict",
                "ResourcePolicies that select a pod that another policy also selects",
                numbers.in_conflict,
            ),
            (
                "almanac_units_bindings_unsettled",
                "Bindings in progress, or with an unknown result",
                numbers.unsettled,
            ),
        ] {
            gauge(name, help, value)?;
        }
        Ok(())
    }
}
