//! Autoscalers that have only got another name. To a controller they are new objects, without the recommendations of the
//! ones before, so for some minutes they may set something else.

use std::collections::BTreeMap;

use almanac_engine::metric_scaling::MetricScaling;
use almanac_engine::{Field, Identity, World};
use jiff::SignedDuration;

use super::stretch::Difference;
use crate::Forecast;

/// The explanation of such a difference.
const NOTE: &str = "the renamed autoscaler begins without recommendations";

/// The workloads of renamed autoscalers, each with how long earlier recommendations matter.
#[derive(Clone, Debug, Default)]
pub(super) struct RenamedAutoscalers(BTreeMap<Identity, SignedDuration>);

impl RenamedAutoscalers {
    /// The renamed autoscalers between a version and one that takes over from it.
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

    /// Notes what explains the differences of a field, so far as it is this.
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

/// The autoscalers of a world that another one does not have, by their targets.
fn only_in<'w>(world: &'w World, other: &World) -> BTreeMap<&'w Identity, &'w MetricScaling> {
    let all = world.metric_scaling.policies.iter();
    let own = all.filter(|(name, _)| !other.metric_scaling.policies.contains_key(*name));
    let valid = own.filter_map(|(_, object)| object.policy.as_deref());
    valid.map(|policy| (policy.target.identity(), policy)).collect()
}
