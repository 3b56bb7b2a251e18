//! From an object to the rules that can be carried out, and what is remembered of them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use almanac_api::checking::{Checked, cron_federated_hpa};
use almanac_api::finding::{Code, FieldPath, Finding, Path};
use almanac_api::objects::{CronFederatedHPA, CronFederatedHPASpec};
use almanac_api::status;
use almanac_engine::cron_scaling::{CronScaling, Memory};
use almanac_engine::{Fingerprint, Identity, PolicyObject};
use almanac_shell::clock::Clock;
use kube::api::DynamicObject;
use kube::core::ApiResource;

use crate::cluster::{Held, Known};
use crate::policies::{Family, Unrecorded};

/// The kind, as its objects are followed.
pub(crate) struct CronFederatedHpas {
    clock: Clock,
    unrecorded: Unrecorded,
    /// Thousands of objects have their targets in a handful of versions.
    versions: Mutex<BTreeSet<Arc<str>>>,
}

impl CronFederatedHpas {
    pub(crate) fn new(clock: Clock, unrecorded: Unrecorded) -> Self {
        Self { clock, unrecorded, versions: Mutex::default() }
    }

    pub(crate) fn resource() -> ApiResource {
        ApiResource::erase::<CronFederatedHPA>(&())
    }

    fn check(
        &self,
        namespace: &str,
        object: &mut DynamicObject,
    ) -> (Arc<str>, Checked<CronScaling>) {
        let spec = serde_json::from_value::<CronFederatedHPASpec>(object.data["spec"].take());
        match spec {
            Ok(spec) => {
                let written = spec.scale_target_ref.api_version.as_deref().unwrap_or_default();
                let version = self.shared(written);
                let name = object.metadata.name.as_deref().unwrap_or_default();
                let object = CronFederatedHPA::new(name, spec);
                (version, cron_federated_hpa::check(&object, namespace, self.clock.now()))
            }
            // It was stored under another definition than ours.
            Err(error) => {
                let field = FieldPath::from(Path::Root.key("spec"));
                let message = format!("Invalid value: {error}");
                let finding = Finding::new(Code::WrongType, field, message);
                (Arc::default(), Checked { value: None, findings: vec![finding] })
            }
        }
    }

    fn shared(&self, version: &str) -> Arc<str> {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = versions.get(version) {
            return Arc::clone(known);
        }
        let version: Arc<str> = Arc::from(version);
        versions.insert(Arc::clone(&version));
        version
    }
}

impl Family for CronFederatedHpas {
    fn identity(&self, namespace: &str, name: &str) -> Identity {
        Identity::new("autoscaling.karmada.io", "CronFederatedHPA", namespace, name)
    }

    fn take_in(
        &self,
        known: &mut Known,
        policy: &Identity,
        mut object: DynamicObject,
        mut held: Held,
    ) {
        let (version, checked) = self.check(policy.namespace(), &mut object);
        held.target_version = version;
        held.keep_what_matters(checked.findings);
        let before = known.world.cron_scalings.remove(policy);
        let target_before = before.as_ref().map(|it| it.policy.target.identity().clone());
        let remembered = before.and_then(|it| it.memory).or(held.laid_aside.take().map(|it| *it));
        let target = checked.value.as_ref().map(|policy| policy.target.identity());
        known.targets.aim(policy, target_before.as_ref(), target);
        // What we remember is later than what any status says. A status is read when the object is
        // first seen.
        let from_status = |read: &dyn Fn() -> Option<Memory>| {
            remembered.clone().or_else(|| self.unrecorded.join(policy, &held.uid, read()))
        };
        let told = &object.data["status"];
        if let Some(checked) = checked.value {
            let memory = from_status(&|| status::cron_federated_hpa::read(&checked, told));
            // What was edited since says nothing of the time since the creation.
            let is_as_created = held.generation <= 1;
            let created = object.metadata.creation_timestamp.as_ref().filter(|_| is_as_created);
            let created = created.map(|at| self.clock.when_server_showed(at.0));
            let object = PolicyObject { policy: checked, created, memory };
            known.world.cron_scalings.insert(policy.clone(), object);
        } else {
            let memory = from_status(&|| status::cron_federated_hpa::read_without_policy(told));
            held.laid_aside = Some(Box::new(laid_aside(memory.unwrap_or_default())));
        }
        // Until it is compared with the status, it may be more than that tells.
        held.is_recorded = false;
        known.policies.insert(policy.clone(), held);
    }

    fn take_out(&self, known: &mut Known, policy: &Identity) {
        let before = known.world.cron_scalings.remove(policy);
        let target = before.map(|it| it.policy.target.identity().clone());
        known.targets.aim(policy, target.as_ref(), None);
    }
}

/// Whatever the object is mended to is another one than it was: its rules do not fire for the time
/// it could not be used.
pub(super) fn laid_aside(mut memory: Memory) -> Memory {
    for rule in &mut memory.rules {
        rule.pending = None;
        rule.fingerprint = Fingerprint::of_nothing();
    }
    memory
}
