//! The watches of the webhook: objects that can be in conflict with a policy, and namespaces that bear the mark.

use std::collections::BTreeSet;
use std::sync::Arc;

use almanac_api::checking::{CheckContext, check_json};
use almanac_api::exempt::{self, is_marked};
use almanac_api::families::Descriptor;
use almanac_api::kinds::Kind;
use almanac_api::slim::unit_template;
use almanac_engine::{Identity, NamespaceMark, Slim};
use almanac_shell::clock::Clock;
use almanac_shell::following::{
    Follower, Need, Selection, WatchAges, WatchFailure, follow_selected,
};
use kube::Client;
use kube::api::DynamicObject;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::known::{KnownObject, Shared, is_workload};
use crate::exemptions::{NamespaceFollower, READ_INTERVAL};
use crate::list_progress::{ListProgress, ListReport, Listings};
use crate::namespaces::{Namespaces, Part};
use crate::off_the_runtime::off_the_runtime;
use crate::policies::as_json;

/// Starts all watches.
pub(super) fn begin(
    client: &Client,
    namespaces: &Namespaces,
    (known, clock): (&Shared, &Clock),
    ages: &WatchAges,
    tasks: &mut JoinSet<()>,
) -> Vec<Listings> {
    let mut watch = |kind: Kind, part: Part| {
        let (progress, listed) = ListReport::new();
        let (selection, need) = (part.selection(), part.need());
        let (known, clock, covered) = (known.clone(), clock.clone(), part.clone());
        let mut follower =
            ObjectFollower { kind, part: covered, known, clock, listed: None, progress };
        let (client, resource) = (client.clone(), kind.resource());
        let age = ages.begin(&resource.plural, need);
        tasks.spawn(async move {
            follow_selected(client, &resource, &selection, age, &mut follower).await;
        });
        (part, listed)
    };
    let watched = Kind::ALL.iter().copied().filter(|kind| kind.is_compared());
    let listings = watched.map(|kind| {
        let parts = namespaces.parts().into_iter().map(|part| watch(kind, part));
        Listings::new(kind.name(), parts.collect())
    });
    listings.collect()
}

/// Starts noting which namespaces bear the mark.
pub(super) fn follow_namespaces(
    client: Client,
    namespaces: &Namespaces,
    known: Shared,
    ages: &WatchAges,
    tasks: &mut JoinSet<()>,
) -> watch::Receiver<ListProgress> {
    // The webhook checks objects in unreadable namespaces: the controllers run with other permissions.
    let note = move |name: &str, mark: NamespaceMark| {
        known.write().mark_namespace(name, mark == NamespaceMark::Present);
    };
    let (mut follower, listed) = NamespaceFollower::new(note);
    if let Some(names) = namespaces.limit() {
        tasks.spawn(follower.ask(client, names.iter().cloned().collect(), READ_INTERVAL));
        return listed;
    }
    let resource = exempt::namespaces();
    let age = ages.begin(&resource.plural, Need::Never);
    let selection = Selection { metadata_only: true, ..Selection::default() };
    tasks.spawn(async move {
        follow_selected(client, &resource, &selection, age, &mut follower).await;
    });
    listed
}

/// Takes in the objects of a part of a kind.
struct ObjectFollower {
    kind: Kind,
    part: Part,
    known: Shared,
    clock: Clock,
    /// The objects in the list that is in progress.
    listed: Option<BTreeSet<Identity>>,
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
        self.listed = Some(BTreeSet::new());
    }

    fn upsert(&mut self, object: DynamicObject) {
        let identity = self.name(&object);
        // A deleted or exempt object cannot be in conflict.
        if object.metadata.deletion_timestamp.is_some() || is_marked(&object.metadata) {
            self.known.write().remove(&identity);
            return;
        }
        let is_workload = is_workload(self.kind);
        let template = is_workload.then(|| unit_template(&object, self.kind.name())).flatten();
        let context = CheckContext {
            clock: self.clock.setting(),
            ..CheckContext::new(identity.namespace(), self.clock.now())
        };
        let check = || check_json(self.kind, as_json(object), context);
        let has_queries = Descriptor::of_kind(self.kind).is_some_and(|it| it.has_queries);
        let mut checked = if has_queries { off_the_runtime(check) } else { check() };
        // The admission review reported them.
        checked.findings = Vec::new();
        // Metrics cause no conflict, and may be large.
        if let Some(Slim::MetricScaling(autoscaler)) = &mut checked.slim
            && let Some(policy) = &mut autoscaler.policy
        {
            Arc::make_mut(policy).metrics = Box::default();
        }
        let known = KnownObject { checked: Arc::new(checked), template: template.map(Arc::new) };
        self.known.write().upsert(&identity, known);
        if let Some(listed) = &mut self.listed {
            listed.insert(identity);
        }
    }

    fn delete(&mut self, object: DynamicObject) {
        self.known.write().remove(&self.name(&object));
    }

    fn list_complete(&mut self) {
        let listed = self.listed.take().unwrap_or_default();
        let mut known = self.known.write();
        let all = known.of_kind(self.kind).filter(|it| self.part.covers(it));
        let gone = all.filter(|it| !listed.contains(*it));
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

#[cfg(test)]
mod tests {
    use almanac_fixtures::objects;
    use jiff::Timestamp;

    use super::*;

    fn deployment(name: &str) -> DynamicObject {
        serde_json::from_value(objects::deployment(name, 1)).expect("it has the shape of one")
    }

    #[test]
    fn objects_that_come_and_go_leave_nothing_behind() {
        let (progress, _listed) = ListReport::new();
        let (kind, known) = (Kind::Deployment, Shared::default());
        let clock = Clock::from_fn(|| Timestamp::UNIX_EPOCH);
        let (part, listed) = (Part::Whole, None);
        let mut follower =
            ObjectFollower { kind, part, known: known.clone(), clock, listed, progress };
        for _ in 0..2 {
            follower.begin_list();
            follower.upsert(deployment("stays"));
            follower.list_complete();
            for number in 0..100 {
                follower.upsert(deployment(&format!("goes-{number}")));
                follower.delete(deployment(&format!("goes-{number}")));
            }
            assert_eq!(known.read().of_kind(kind).count(), 1);
            assert_eq!(follower.listed.as_ref().map_or(0, BTreeSet::len), 0);
        }
    }
}
