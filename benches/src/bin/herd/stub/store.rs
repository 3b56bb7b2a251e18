//! What the stub holds: a policy and a target for each number, who watches them, and what was asked
//! and when.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::objects::{self, BEFORE};

/// One of the two kinds of objects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    Policy,
    Target,
}

#[derive(Default)]
pub(crate) struct Store {
    held: Mutex<Held>,
}

#[derive(Default)]
pub(crate) struct Held {
    /// When all of it was created.
    created: String,
    /// Grows with every change.
    version: usize,
    policies: Vec<Policy>,
    targets: Vec<Target>,
    watchers: BTreeMap<Kind, Vec<UnboundedSender<String>>>,
    /// When each target got its replicas, and each policy its status the last time.
    pub(crate) applied: BTreeMap<usize, Timestamp>,
    pub(crate) recorded: BTreeMap<usize, Timestamp>,
    /// How often what was asked.
    pub(crate) requests: BTreeMap<String, usize>,
}

struct Policy {
    version: usize,
    /// As it was sent: an object of the wire takes less room than a value.
    status: Option<String>,
}

struct Target {
    version: usize,
    replicas: u32,
}

impl Store {
    pub(crate) fn of(rules: usize) -> Self {
        let policies = (0..rules).map(|number| Policy { version: 1 + number, status: None });
        let targets = (0..rules).map(|number| Target { version: 1 + number, replicas: BEFORE });
        let held = Held {
            created: Timestamp::now().strftime("%FT%TZ").to_string(),
            version: rules + 1,
            policies: policies.collect(),
            targets: targets.collect(),
            ..Held::default()
        };
        Self { held: Mutex::new(held) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    pub(crate) fn version(&self) -> usize {
        self.version
    }

    /// Counts a request.
    pub(crate) fn note(&mut self, request: String) {
        *self.requests.entry(request).or_default() += 1;
    }

    pub(crate) fn len(&self, kind: Kind) -> usize {
        match kind {
            Kind::Policy => self.policies.len(),
            Kind::Target => self.targets.len(),
        }
    }

    /// An object as a listing or a watch has it, of the size such objects have.
    pub(crate) fn object(&self, kind: Kind, number: usize) -> Option<Value> {
        let mut object = json!({ "metadata": self.metadata(kind, number)? });
        match kind {
            Kind::Policy => {
                object["apiVersion"] = json!("autoscaling.karmada.io/v1alpha1");
                object["kind"] = json!("CronFederatedHPA");
                object["spec"] = objects::policy_spec(number);
                if let Some(status) = &self.policies.get(number)?.status {
                    object["status"] = serde_json::from_str(status).ok()?;
                }
            }
            Kind::Target => {
                object["apiVersion"] = json!("autoscaling.karpenter.sh/v1alpha1");
                object["kind"] = json!("ScalableNodeGroup");
                object["spec"] = objects::target_spec(number);
                object["spec"]["replicas"] = json!(self.targets.get(number)?.replicas);
            }
        }
        Some(object)
    }

    pub(crate) fn metadata(&self, kind: Kind, number: usize) -> Option<Value> {
        let version = match kind {
            Kind::Policy => self.policies.get(number)?.version,
            Kind::Target => self.targets.get(number)?.version,
        };
        let owned = json!({ "f:spec": {
            "f:replicas": {}, "f:rules": {}, "f:scaleTargetRef": {}, "f:type": {}, "f:id": {},
        }});
        Some(json!({
            "name": objects::name(number),
            "namespace": objects::namespace(number),
            "uid": format!("00000000-0000-4000-8000-{number:012x}"),
            "resourceVersion": version.to_string(),
            "generation": 1,
            "creationTimestamp": self.created,
            "labels": { "app.kubernetes.io/name": objects::name(number) },
            "managedFields": [{
                "apiVersion": "v1alpha1", "fieldsType": "FieldsV1", "fieldsV1": owned,
                "manager": "kubectl", "operation": "Apply", "time": self.created,
            }],
        }))
    }

    /// The version of an object.
    pub(crate) fn version_of(&self, kind: Kind, number: usize) -> Option<usize> {
        match kind {
            Kind::Policy => self.policies.get(number).map(|it| it.version),
            Kind::Target => self.targets.get(number).map(|it| it.version),
        }
    }

    pub(crate) fn scale(&mut self, number: usize, replicas: u32) {
        self.version += 1;
        if let Some(target) = self.targets.get_mut(number) {
            *target = Target { version: self.version, replicas };
            self.applied.insert(number, Timestamp::now());
        }
        self.tell(Kind::Target, number);
    }

    pub(crate) fn record(&mut self, number: usize, status: &Value) {
        self.version += 1;
        if let Some(policy) = self.policies.get_mut(number) {
            *policy = Policy { version: self.version, status: Some(status.to_string()) };
            self.recorded.insert(number, Timestamp::now());
        }
        self.tell(Kind::Policy, number);
    }

    pub(crate) fn watch(&mut self, kind: Kind) -> UnboundedReceiver<String> {
        let (sender, receiver) = unbounded();
        self.watchers.entry(kind).or_default().push(sender);
        receiver
    }

    fn tell(&mut self, kind: Kind, number: usize) {
        let Some(object) = self.object(kind, number) else { return };
        let line = format!("{}\n", json!({ "type": "MODIFIED", "object": object }));
        if let Some(watchers) = self.watchers.get_mut(&kind) {
            watchers.retain(|watcher| watcher.unbounded_send(line.clone()).is_ok());
        }
    }
}
