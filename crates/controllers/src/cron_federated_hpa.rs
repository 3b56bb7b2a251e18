//! `CronFederatedHPA`: rules that set a target's replicas or bounds on a schedule.
//!
//! This module composes the status; `report` turns the records of firings into Events and log lines, and `metrics`
//! publishes them.

mod metrics;
mod report;

use almanac_api::status::conditions::{conditions, exempt_conditions};
use almanac_api::status::cron_federated_hpa::{condition_states, write, write_without_policy};
use almanac_api::status::replacing_patch;
use almanac_engine::cron_scaling::Memory;
use almanac_engine::{Exempt, Family, Identity, PolicyName, Recorded};
use almanac_shell::event_log::EventLog;
use jiff::Timestamp;
use prometheus_client::registry::Registry;

use self::metrics::{BacklogGauges, CronMetrics};
use crate::cluster::{ClusterState, PolicyEntry, name_rivals};
use crate::families::{ComposedStatus, FamilyController, ReportSubject, ScrapeInputs};
use crate::status_writer::WriteMethod;

/// The controller side of cron rules.
#[derive(Default)]
pub(crate) struct CronFederatedHpas {
    metrics: CronMetrics,
}

impl FamilyController for CronFederatedHpas {
    fn compose(
        &self,
        state: &ClusterState,
        policy: &Identity,
        entry: &PolicyEntry,
        now: Timestamp,
    ) -> Option<ComposedStatus> {
        let object = state.world.cron_scaling.policies.get(policy)?;
        let checked = object.policy.as_deref();
        let target = checked.map(|checked| checked.target.identity());
        let memory = object.memory.as_ref();
        let mut condition_states =
            match Exempt::for_policy(&state.world.objects.exempt, policy, target) {
                Some(exempt) => exempt_conditions(exempt),
                None => {
                    condition_states(checked, &entry.findings, entry.problem.as_deref(), memory)
                }
            };
        let name = PolicyName::new(Family::CronScaling, policy.clone());
        name_rivals(&mut condition_states, &state.rivals(&name));
        let generation = entry.revision.generation();
        let conditions =
            conditions(&entry.recorded.conditions(), &condition_states, generation, now);
        let status = if let Some(checked) = checked {
            // There is nothing to report before the first turn: a status without histories would look like a lost
            // status.
            write(checked, memory?, now, conditions, generation)
        } else {
            let nothing = Memory::default();
            write_without_policy(memory.unwrap_or(&nothing), conditions, generation)
        };
        // A status is plain data, so serialization cannot fail.
        let patch = replacing_patch(&status).ok()?.to_string().into();
        let status = serde_json::to_value(&status).ok()?;
        Some(ComposedStatus {
            status,
            condition_states: condition_states.to_vec(),
            method: WriteMethod::MergePatch(patch),
        })
    }

    fn register(&self, registry: &mut Registry, scraped: &ScrapeInputs) {
        self.metrics.register(registry);
        registry.register_collector(Box::new(BacklogGauges(scraped.clone())));
    }

    fn report(&self, subject: &ReportSubject, recorded: &[Recorded], events: &EventLog) {
        for recorded in recorded {
            if let Recorded::CronScaling(recorded) = recorded {
                self.metrics.count(recorded);
                report::report(subject, recorded, events);
            }
        }
    }
}
