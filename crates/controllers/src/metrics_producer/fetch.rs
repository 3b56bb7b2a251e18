//! From an object to the schedule it follows.

use almanac_api::checking::{Checked, metrics_producer};
use almanac_api::finding::{Code, FieldPath, Finding, Path};
use almanac_api::objects::{MetricsProducer, MetricsProducerSpec};
use almanac_api::status;
use almanac_engine::scheduled_capacity::ScheduledCapacity;
use almanac_engine::{Identity, PolicyObject};
use kube::api::DynamicObject;
use kube::core::ApiResource;

use crate::cluster::{Held, Known};
use crate::policies::Family;

/// The kind, as its objects are followed.
pub(crate) struct MetricsProducers;

impl MetricsProducers {
    pub(crate) fn resource() -> ApiResource {
        ApiResource::erase::<MetricsProducer>(&())
    }
}

fn check(object: &mut DynamicObject) -> Checked<ScheduledCapacity> {
    match serde_json::from_value::<MetricsProducerSpec>(object.data["spec"].take()) {
        Ok(spec) => {
            let name = object.metadata.name.as_deref().unwrap_or_default();
            metrics_producer::check(&MetricsProducer::new(name, spec))
        }
        // It was stored under another definition than ours.
        Err(error) => {
            let field = FieldPath::from(Path::Root.key("spec"));
            let finding = Finding::new(Code::WrongType, field, format!("Invalid value: {error}"));
            Checked { value: None, findings: vec![finding] }
        }
    }
}

impl Family for MetricsProducers {
    fn identity(&self, namespace: &str, name: &str) -> Identity {
        Identity::new("autoscaling.karpenter.sh", "MetricsProducer", namespace, name)
    }

    fn take_in(
        &self,
        known: &mut Known,
        policy: &Identity,
        mut object: DynamicObject,
        mut held: Held,
    ) {
        let checked = check(&mut object);
        held.keep_what_matters(checked.findings);
        let before = known.world.scheduled_capacities.remove(policy);
        if let Some(checked) = checked.value {
            let told = || status::metrics_producer::read(&object.data["status"]);
            let memory = before.and_then(|it| it.memory).or_else(told);
            let object = PolicyObject { policy: checked, created: None, memory };
            known.world.scheduled_capacities.insert(policy.clone(), object);
        }
        known.policies.insert(policy.clone(), held);
    }

    fn take_out(&self, known: &mut Known, policy: &Identity) {
        known.world.scheduled_capacities.remove(policy);
    }
}
