//! What stands in the status of an object.

use almanac_api::status::conditions::{Statement, conditions};
use almanac_api::status::cron_federated_hpa::{statements, write, write_without_policy};
use almanac_api::status::replacing_patch;
use almanac_engine::Identity;
use almanac_engine::cron_scaling::Memory;
use jiff::Timestamp;

use super::CronFederatedHpaController;
use crate::cluster::Known;
use crate::records::{Record, Way};

impl CronFederatedHpaController {
    /// The status as it is to be, with what is said in its conditions; nothing when the API server
    /// has it already, or when nothing is known of the object yet.
    pub(crate) fn record(&self, policy: &Identity) -> Option<(Record, Vec<Statement>)> {
        let now = self.clock.now();
        let mut known = self.cluster.lock();
        let record = compose(&known, policy, now);
        if record.is_none()
            && let Some(held) = known.policies.get_mut(policy)
        {
            held.is_recorded = true;
        }
        record
    }
}

fn compose(known: &Known, policy: &Identity, now: Timestamp) -> Option<(Record, Vec<Statement>)> {
    let held = known.policies.get(policy)?;
    let object = known.world.cron_scalings.get(policy);
    let checked = object.map(|object| &object.policy);
    let statements = statements(checked, &held.findings, held.problem.as_deref());
    let generation = Some(held.generation);
    let conditions = conditions(&held.recorded.conditions(), &statements, generation, now);
    let status = if let Some(object) = object {
        // Before its first turn there is nothing to tell: an object that has a status without
        // histories would be taken for one that was forgotten.
        write(&object.policy, object.memory.as_ref()?, now, conditions, generation)
    } else {
        let nothing = Memory::default();
        let memory = held.laid_aside.as_deref().unwrap_or(&nothing);
        write_without_policy(memory, conditions, generation)
    };
    // A status is plain data; it can always be written.
    let wanted = serde_json::to_value(&status).ok()?;
    if held.recorded.is(&wanted) {
        return None;
    }
    let news = held.recorded.news(&statements).into_iter().cloned().collect();
    let record = Record {
        collection: format!(
            "/apis/autoscaling.karmada.io/v1alpha1/namespaces/{}/cronfederatedhpas",
            policy.namespace()
        ),
        version: held.version.clone(),
        way: Way::Replaced(replacing_patch(&status).ok()?["status"].take()),
        status: wanted,
    };
    Some((record, news))
}
