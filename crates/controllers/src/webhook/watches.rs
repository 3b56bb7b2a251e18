//! What the webhook watches: what can be in conflict with a policy.

use std::collections::BTreeSet;
use std::sync::Arc;

use almanac_api::checking::{CheckContext, check_json};
use almanac_api::exempt::is_marked;
use almanac_api::kinds::Kind;
use almanac_api::slim::unit_template;
use almanac_engine::Identity;
use almanac_shell::clock::Clock;
use almanac_shell::following::{Follower, Need, WatchAges, WatchFailure, follow};
use kube::Client;
use kube::api::DynamicObject;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::known::{KnownObject, Shared, WORKLOADS};
use crate::list_progress::{ListProgress, ListReport};
use crate::policies::as_json;

/// What is watched. Of the other kinds, everything that can be wrong shows in the object itself.
const WATCHED: [Kind; 7] = [
    Kind::CronFederatedHPA,
    Kind::HorizontalAutoscaler,
    Kind::ResourcePolicy,
    Kind::HorizontalPodAutoscaler,
    Kind::FederatedHPA,
    Kind::Deployment,
    Kind::StatefulSet,
];

/// A list that is waited for, and what it is of.
pub(super) struct Awaited {
    pub(super) what: String,
    pub(super) progress: watch::Receiver<ListProgress>,
}

/// Starts all watches.
pub(super) fn begin(
    client: &Client,
    known: &Shared,
    ages: &WatchAges,
    clock: &Clock,
    tasks: &mut JoinSet<()>,
) -> Vec<Awaited> {
    let watched = WATCHED.into_iter().map(|kind| {
        let (progress, listed) = ListReport::new();
        let (known, clock) = (known.clone(), clock.clone());
        let mut follower = ObjectFollower { kind, known, clock, listed: BTreeSet::new(), progress };
        let (client, resource) = (client.clone(), kind.resource());
        let age = ages.begin(&resource.plural, Need::Always);
        tasks.spawn(async move { follow(client, &resource, age, &mut follower).await });
        Awaited { what: format!("all {} objects", kind.name()), progress: listed }
    });
    watched.collect()
}

/// Takes in the objects of a kind.
struct ObjectFollower {
    kind: Kind,
    known: Shared,
    clock: Clock,
    /// The objects in the list that is being told.
    listed: BTreeSet<Identity>,
    progress: ListReport,
}

impl ObjectFollower {
    fn name(&self, object: &DynamicObject) -> Identity {
        let (namespace, name) = (&object.metadata.namespace, &object.metadata.name);
        let namespace = namespace.as_deref().unwrap_or_default();
        self.kind.identity(namespace, name.as_deref().unwrap_or_default())
    }
}

impl Follower for ObjectFollower {
    fn begin_list(&mut self) {
        self.listed.clear();
    }

    fn upsert(&mut self, object: DynamicObject) {
        let identity = self.name(&object);
        // One that is being deleted, or is exempt, is in nobody's way.
        if object.metadata.deletion_timestamp.is_some() || is_marked(&object.metadata) {
            self.known.write().remove(&identity);
            return;
        }
        let is_workload = WORKLOADS.contains(&self.kind);
        let template = is_workload.then(|| unit_template(&object, self.kind.name())).flatten();
        let context = CheckContext {
            namespace: identity.namespace(),
            now: self.clock.now(),
            clock_offset: self.clock.ahead(),
        };
        let mut checked = check_json(self.kind, as_json(object), context);
        // It has been told when it was applied.
        checked.findings = Vec::new();
        let known = KnownObject { checked: Arc::new(checked), template: template.map(Arc::new) };
        self.known.write().upsert(&identity, known);
        self.listed.insert(identity);
    }

    fn delete(&mut self, object: DynamicObject) {
        self.known.write().remove(&self.name(&object));
    }

    fn list_complete(&mut self) {
        let listed = std::mem::take(&mut self.listed);
        let mut known = self.known.write();
        let gone = known.of_kind(self.kind).filter(|it| !listed.contains(*it));
        let gone: Vec<Identity> = gone.cloned().collect();
        for it in &gone {
            known.remove(it);
        }
        drop(known);
        self.progress.complete();
    }

    fn failed(&mut self, why: &WatchFailure) {
        self.progress.failed(why);
    }

    fn versions_went_back(&mut self) {}
}
