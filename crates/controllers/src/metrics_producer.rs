//! `MetricsProducer`: a schedule that publishes a number.
//!
//! Nothing is applied: a number is evaluated when it is asked for, by `published`. What is kept up as
//! numbers change is the status.

mod published;

use almanac_api::status::conditions::conditions;
use almanac_api::status::metrics_producer::{statements, write};
use almanac_engine::{Identity, Recorded};
use almanac_shell::clock::Clock;
use almanac_shell::event_log::EventLog;
use almanac_shell::lease::Switch;
use jiff::Timestamp;
use prometheus_client::registry::Registry;

use self::published::PublishedNumbers;
use crate::cluster::{Held, Known};
use crate::families::{Composed, FamilyController, Subject};
use crate::leading::Leading;
use crate::records::Way;

/// Schedules, as far as they are carried out.
#[derive(Clone, Default)]
pub(crate) struct MetricsProducers;

impl MetricsProducers {
    pub(crate) fn register(
        registry: &mut Registry,
        leading: &Leading,
        clock: &Clock,
        switch: &Switch,
    ) {
        let numbers = PublishedNumbers::new(leading.clone(), clock.clone(), switch.clone());
        registry.register_collector(Box::new(numbers));
    }
}

impl FamilyController for MetricsProducers {
    fn compose(
        &self,
        known: &Known,
        policy: &Identity,
        held: &Held,
        now: Timestamp,
    ) -> Option<Composed> {
        let object = known.world.scheduled_capacities.get(policy);
        let published = match object.filter(|object| object.policy.is_some()) {
            Some(object) => Some(object.memory?),
            None => None,
        };
        let statements = statements(&held.findings);
        let generation = held.edition.generation();
        let conditions = conditions(&held.recorded.conditions(), &statements, generation, now);
        let status = write(published.as_ref(), conditions, generation);
        // A status is plain data; it can always be written.
        let status = serde_json::to_value(&status).ok()?;
        let way = Way::Applied(status.clone());
        Some(Composed { status, statements: statements.to_vec(), way })
    }

    fn report(&self, _: &Subject, recorded: &[Recorded], _: &EventLog) {
        for recorded in recorded {
            if let Recorded::ScheduledCapacity(recorded) = recorded {
                let (before, value) =
                    (recorded.before.map(|it| it.value), recorded.published.value);
                tracing::info!(before, value, "published");
            }
        }
    }
}
