//! The watches of the webhook: objects that can be in conflict with a policy, and namespaces with the ignore
//! annotation.

use std::collections::BTreeSet;
use std::sync::Arc;

use almanac_api::checking::{CheckContext, check_json};
use almanac_api::exempt::is_marked;
use almanac_api::families::Descriptor;
use almanac_api::kinds::Kind;
use almanac_api::kubernetes::KubernetesMinor;
use almanac_api::slim::unit_template;
use almanac_engine::{Identity, NamespaceMark, Slim};
use almanac_shell::clock::Clock;
use almanac_shell::following::{Follower, Selection, WatchFailure};
use kube::Client;
use kube::api::DynamicObject;

use super::handler::Reviews;
use super::object_index::{IndexedObject, SharedIndex, is_workload};
use crate::exemptions::READ_INTERVAL;
use crate::list_progress::{ListNeed, ListReport};
use crate::namespaces::Part;
use crate::off_the_runtime::off_the_runtime;
use crate::policies::as_json;
use crate::runtime::{RunningTerm, WATCHES, names};
use crate::server_version::ServerVersion;

/// Starts all watches.
pub(super) fn start(client: Client, reviews: &Reviews, running: &mut RunningTerm) {
    let Reviews { namespaces, index, clock, upstreams, kubernetes, .. } = reviews;
    for kind in Kind::ALL.iter().copied().filter(|kind| kind.is_compared()) {
        running.watch_kind(kind, namespaces, |part| {
            let (progress, whole) = ListReport::new();
            let (index, clock, kubernetes) = (index.clone(), clock.clone(), kubernetes.clone());
            let (checked_for, listed) = (kubernetes.for_checks(), None);
            let follower = ObjectFollower {
                kind,
                part,
                index,
                clock,
                kubernetes,
                checked_for,
                listed,
                progress,
            };
            (follower, whole)
        });
    }
    // The webhook checks objects in unreadable namespaces: the controllers run with other permissions.
    let marks = index.clone();
    let how = (Selection::default(), READ_INTERVAL);
    running.watch_namespaces(namespaces, how, move |name, mark| {
        marks.write().mark_namespace(name, mark == NamespaceMark::Present);
    });
    let (first, read) = ListReport::new();
    running.spawn(WATCHES, kubernetes.clone().watch(client.clone(), first));
    running.await_list("the version of the API server", read, ListNeed::Always);
    let (first, checked) = ListReport::new();
    running.spawn(WATCHES, upstreams.clone().watch(client, clock.clone(), first, |_| {}));
    running.await_list("upstream controllers", checked, ListNeed::Always);
}

/// Indexes the objects of a part of a kind.
struct ObjectFollower {
    kind: Kind,
    part: Part,
    index: SharedIndex,
    clock: Clock,
    kubernetes: ServerVersion,
    /// The version that the objects of the last list were checked for.
    checked_for: Option<KubernetesMinor>,
    /// The objects in the list that is in progress.
    listed: Option<BTreeSet<Identity>>,
    progress: ListReport,
}

impl ObjectFollower {
    fn name(&self, object: &DynamicObject) -> Identity {
        let (namespace, name) = names(object);
        self.kind.identity(namespace, name)
    }
}

impl Follower for ObjectFollower {
    fn begin_list(&mut self) {
        self.listed = Some(BTreeSet::new());
        self.checked_for = self.kubernetes.for_checks();
    }

    fn upsert(&mut self, object: DynamicObject) {
        let identity = self.name(&object);
        // A deleted or exempt object cannot be in conflict.
        if object.metadata.deletion_timestamp.is_some() || is_marked(&object.metadata) {
            self.index.write().remove(&identity);
            return;
        }
        let is_workload = is_workload(self.kind);
        let template = is_workload.then(|| unit_template(&object, self.kind.name())).flatten();
        let context = CheckContext {
            clock: self.clock.setting(),
            kubernetes: self.kubernetes.for_checks(),
            ..CheckContext::new(identity.namespace(), self.clock.now())
        };
        let check = || check_json(self.kind, as_json(object), context);
        let has_queries = Descriptor::for_kind(self.kind).is_some_and(|it| it.has_queries);
        let mut checked = if has_queries { off_the_runtime(check) } else { check() };
        // The admission review has reported the findings.
        checked.findings = Vec::new();
        // Metrics cause no conflict, and may be large.
        if let Some(Slim::MetricScaling(autoscaler)) = &mut checked.slim
            && let Some(policy) = &mut autoscaler.policy
        {
            Arc::make_mut(policy).metrics = Box::default();
        }
        let object = IndexedObject { checked: Arc::new(checked), template: template.map(Arc::new) };
        self.index.write().upsert(&identity, object);
        if let Some(listed) = &mut self.listed {
            listed.insert(identity);
        }
    }

    fn delete(&mut self, object: DynamicObject) {
        self.index.write().remove(&self.name(&object));
    }

    fn list_complete(&mut self) {
        let listed = self.listed.take().unwrap_or_default();
        let mut index = self.index.write();
        let all = index.identities(self.kind).filter(|it| self.part.covers(it));
        let missing = all.filter(|it| !listed.contains(*it));
        let missing: Vec<Identity> = missing.cloned().collect();
        for it in &missing {
            index.remove(it);
        }
        drop(index);
        self.progress.complete();
    }

    fn needs_relist(&self) -> bool {
        self.kind == Kind::CronFederatedHPA && self.checked_for != self.kubernetes.for_checks()
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
        serde_json::from_value(objects::deployment(name, 1)).expect("the object is valid")
    }

    #[test]
    fn deleted_objects_leave_no_entries() {
        let (progress, _listed) = ListReport::new();
        let (kind, index) = (Kind::Deployment, SharedIndex::default());
        let clock = Clock::from_fn(|| Timestamp::UNIX_EPOCH);
        let mut follower = ObjectFollower {
            kind,
            part: Part::Whole,
            index: index.clone(),
            clock,
            kubernetes: ServerVersion::default(),
            checked_for: None,
            listed: None,
            progress,
        };
        for _ in 0..2 {
            follower.begin_list();
            follower.upsert(deployment("stays"));
            follower.list_complete();
            for number in 0..100 {
                follower.upsert(deployment(&format!("goes-{number}")));
                follower.delete(deployment(&format!("goes-{number}")));
            }
            assert_eq!(index.read().identities(kind).count(), 1);
            assert_eq!(follower.listed.as_ref().map_or(0, BTreeSet::len), 0);
        }
    }
}
