//! `MetricsProducer`: a schedule that publishes a value.
//!
//! Nothing is applied: `published` evaluates the value when it is scraped. Only the status is updated when the value
//! changes.

mod published;

use almanac_api::status::conditions::{conditions, exempt_conditions};
use almanac_api::status::metrics_producer::{condition_states, write};
use almanac_engine::{Exempt, Identity, Recorded};
use almanac_shell::event_log::EventLog;
use jiff::Timestamp;
use prometheus_client::registry::Registry;

use self::published::PublishedNumbers;
use crate::cluster::{ClusterState, PolicyEntry};
use crate::families::{ComposedStatus, FamilyController, ReportSubject, ScrapeInputs};
use crate::status_writer::WriteMethod;

/// The controller side of schedules.
pub(crate) struct MetricsProducers;

impl FamilyController for MetricsProducers {
    fn compose(
        &self,
        state: &ClusterState,
        policy: &Identity,
        entry: &PolicyEntry,
        now: Timestamp,
    ) -> Option<ComposedStatus> {
        let object = state.world.scheduled_capacity.policies.get(policy);
        let exempt = Exempt::for_policy(&state.world.objects.exempt, policy, None);
        let published = match object.filter(|object| object.policy.is_some() && exempt.is_none()) {
            Some(object) => Some(object.memory?),
            None => None,
        };
        let condition_states =
            exempt.map_or_else(|| condition_states(&entry.findings), exempt_conditions);
        let generation = entry.revision.generation();
        let conditions =
            conditions(&entry.recorded.conditions(), &condition_states, generation, now);
        let status = write(published.as_ref(), conditions, generation);
        // A status is plain data, so serialization cannot fail.
        let status = serde_json::to_value(&status).ok()?;
        let method = WriteMethod::ServerSideApply(status.clone());
        Some(ComposedStatus { status, condition_states: condition_states.to_vec(), method })
    }

    fn register(&self, registry: &mut Registry, scraped: &ScrapeInputs) {
        registry.register_collector(Box::new(PublishedNumbers(scraped.clone())));
    }

    fn report(&self, _: &ReportSubject, recorded: &[Recorded], _: &EventLog) {
        for recorded in recorded {
            if let Recorded::ScheduledCapacity(recorded) = recorded {
                let (before, value) =
                    (recorded.before.map(|it| it.value), recorded.published.value);
                tracing::info!(before, value, "published");
            }
        }
    }
}
