//! What stands in the status of an object.

use almanac_api::status::conditions::{Statement, conditions};
use almanac_api::status::metrics_producer::{statements, write};
use almanac_engine::Identity;

use super::MetricsProducerController;
use crate::records::{Record, Way};

impl MetricsProducerController {
    /// The status as it is to be, with what is said in its conditions; nothing when the API server
    /// has it already, or when nothing is known of the object yet.
    pub(crate) fn record(&self, policy: &Identity) -> Option<(Record, Vec<Statement>)> {
        let now = self.clock.now();
        let known = self.cluster.lock();
        let held = known.policies.get(policy)?;
        let published = match known.world.scheduled_capacities.get(policy) {
            Some(object) => Some(object.memory?),
            None => None,
        };
        let statements = statements(&held.findings);
        let generation = Some(held.generation);
        let conditions = conditions(&held.recorded.conditions(), &statements, generation, now);
        let status = write(published.as_ref(), conditions, generation);
        // A status is plain data; it can always be written.
        let wanted = serde_json::to_value(&status).ok()?;
        if held.recorded.is(&wanted) {
            return None;
        }
        let news = held.recorded.news(&statements).into_iter().cloned().collect();
        let record = Record {
            collection: format!(
                "/apis/autoscaling.karpenter.sh/v1alpha1/namespaces/{}/metricsproducers",
                policy.namespace()
            ),
            version: held.version.clone(),
            way: Way::Applied("autoscaling.karpenter.sh/v1alpha1", "MetricsProducer"),
            status: wanted,
        };
        Some((record, news))
    }
}
