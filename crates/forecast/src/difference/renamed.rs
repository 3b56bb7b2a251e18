//! Autoscalers that are only renamed. To a controller they are new objects, without the recommendations of the
//! former objects, so for some minutes they may set other values.

use std::collections::BTreeMap;

use almanac_engine::metric_scaling::MetricScaling;
use almanac_engine::{Field, Identity, World};
use jiff::SignedDuration;

use super::stretch::Difference;
use crate::Forecast;

/// The explanation of such a difference.
const NOTE: &str = "the renamed autoscaler begins without recommendations";

/// The workloads of renamed autoscalers, each with the time for which earlier recommendations matter.
#[derive(Clone, Debug, Default)]
pub(super) struct RenamedAutoscalers(BTreeMap<Identity, SignedDuration>);

impl RenamedAutoscalers {
    /// The autoscalers that are renamed between a version and its successor.
    pub(super) fn between(before: &Forecast<'_>, after: &Forecast<'_>) -> RenamedAutoscalers {
        if !after.takes_over() {
            return RenamedAutoscalers::default();
        }
        let removed = only_in(before.world(), after.world());
        let new = only_in(after.world(), before.world());
        let renamed = new.into_iter().filter_map(|(target, new)| {
            let is_it = removed.get(target)?.scales_as(new);
            let seconds = i64::from(new.history_seconds());
            is_it.then(|| (target.clone(), SignedDuration::from_secs(seconds)))
        });
        RenamedAutoscalers(renamed.collect())
    }

    /// Adds the note to the differences of a field that the renaming explains.
    pub(super) fn explain(&self, difference: &mut Difference, after: Option<&Forecast<'_>>) {
        let history =
            self.0.get(&difference.target).filter(|_| difference.field == Field::Replicas);
        let Some((history, after)) = history.zip(after) else { return };
        let Ok(until) = after.period().from().checked_add(*history) else { return };
        for stretch in difference.stretches.iter_mut().filter(|it| it.to <= until) {
            stretch.note = Some(NOTE);
        }
    }
}

/// The autoscalers of one world that another world lacks, by their targets.
fn only_in<'w>(world: &'w World, other: &World) -> BTreeMap<&'w Identity, &'w MetricScaling> {
    let all = world.metric_scaling.policies.iter();
    let own = all.filter(|(name, _)| !other.metric_scaling.policies.contains_key(*name));
    let valid = own.filter_map(|(_, object)| object.policy.as_deref());
    valid.map(|policy| (policy.target.identity(), policy)).collect()
}
