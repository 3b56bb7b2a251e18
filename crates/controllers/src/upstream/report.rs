//! Reports that a family is left to its upstream controller: in the objects' statuses, and as a metric.

use almanac_api::families::{Controlled, Upstream};
use almanac_api::status::conditions::{ConditionReason, ConditionState, ConditionType, conditions};
use almanac_engine::Family;
use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use serde_json::json;

use super::Upstreams;
use crate::cluster::PolicyEntry;
use crate::families::ComposedStatus;
use crate::leadership::Leadership;
use crate::status_writer::WriteMethod;

/// The message that objects are left alone, and how to change that.
pub(crate) fn message(controlled: Controlled, upstream: Upstream) -> String {
    let (name, lease, kind) = (upstream.name, upstream.lease, controlled.flag());
    format!(
        "left alone: {name} runs in this cluster (it holds the lease {lease}) and reconciles objects of this \
         kind; stop it, or start Almanac with --take-over={kind}"
    )
}

/// The status of an object that is left alone: its conditions, because the rest belongs to its controller.
pub(crate) fn composed(
    family: Family,
    upstream: Upstream,
    entry: &PolicyEntry,
    now: Timestamp,
) -> ComposedStatus {
    let message = message(family.into(), upstream);
    let condition_states =
        [ConditionType::Active, ConditionType::Ready].map(|about| ConditionState {
            about,
            holds: false,
            reason: ConditionReason::UpstreamController,
            message: message.clone(),
        });
    let generation = entry.revision.generation();
    let conditions = conditions(&entry.recorded.conditions(), &condition_states, generation, now);
    // Server-side apply would be refused if the CRD is not ours and has no conditions.
    let status = json!({ "conditions": conditions });
    let patch = status.to_string().into();
    let (condition_states, method) = (condition_states.to_vec(), WriteMethod::MergePatch(patch));
    ComposedStatus { status, condition_states, method }
}

/// Whether the policies of a kind are left to their upstream controller.
#[derive(Debug)]
pub(crate) struct LeftAlone {
    families: Vec<Controlled>,
    upstreams: Upstreams,
    leading: Leadership,
}

impl LeftAlone {
    pub(crate) fn new(families: &[Controlled], upstreams: Upstreams, leading: Leadership) -> Self {
        Self { families: families.to_vec(), upstreams, leading }
    }
}

impl Collector for LeftAlone {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        // Only a leader checks.
        if self.leading.cluster().is_none() {
            return Ok(());
        }
        let name = "almanac_left_alone";
        let help =
            "Whether the policies of a kind are left to their upstream controller (1) or not (0)";
        let mut series = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for family in &self.families {
            let kind = family.kind().plural();
            let is_left = self.upstreams.running(*family).is_some();
            ConstGauge::new(i64::from(is_left)).encode(series.encode_family(&[("kind", kind)])?)?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Upstreams {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Upstreams running {:?}", self.lock().running.keys())
    }
}
