//! The watched target kinds, and the stored parts of their objects.

use std::sync::Arc;
use std::time::Duration;

use almanac_api::exempt::is_marked;
use almanac_api::kinds::Kind;
use almanac_api::slim;
use almanac_engine::{Field, Identity, PolicyName};
use almanac_shell::following::{Follower, WatchFailure};
use almanac_shell::writer::FIELD_MANAGER;
use kube::api::{DynamicObject, ObjectMeta};
use tokio::sync::watch;

use super::kind::DiscoveredKind;
use crate::cluster::{Cluster, ClusterState, TargetEntry, is_older};
use crate::exemptions;
use crate::namespaces::Part;
use crate::runtime::names;
use crate::work_queue::WorkQueue;

/// The discovered kind, if it is a watched one.
pub(super) fn kind_of(resolved: &DiscoveredKind) -> Option<Kind> {
    let resource = &resolved.resource;
    Kind::find(&resource.group, &resource.kind).filter(|kind| kind.is_followed())
}

/// The progress of watching a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// The first list is not complete yet.
    Listing,
    /// All objects are known, and changes are delivered.
    Whole,
    /// The watch is failing for now.
    Failing,
}

/// The progress of watching a kind, or a part of it.
#[derive(Clone)]
pub(super) struct Following {
    part: Part,
    stage: watch::Receiver<Stage>,
}

/// A longer wait for a first list would delay other turns.
const INITIAL_LIST_TIMEOUT: Duration = Duration::from_secs(10);

impl Following {
    /// Whether this watch covers a target.
    pub(super) fn covers(&self, target: &Identity) -> bool {
        self.part.covers(target)
    }

    /// Whether all objects are known; waits while the first list is in progress.
    pub(super) async fn is_whole(&self) -> bool {
        let mut stage = self.stage.clone();
        let started = stage.wait_for(|stage| *stage != Stage::Listing);
        match tokio::time::timeout(INITIAL_LIST_TIMEOUT, started).await {
            Ok(Ok(stage)) => *stage == Stage::Whole,
            _ => false,
        }
    }

    /// Whether the first list is in progress.
    pub(super) fn is_listing(&self) -> bool {
        *self.stage.borrow() == Stage::Listing
    }

    /// Whether all objects are known, without waiting.
    pub(super) fn is_whole_now(&self) -> bool {
        *self.stage.borrow() == Stage::Whole
    }
}

/// Fills the world with the objects of a kind, and wakes the policies whose targets appear or disappear.
pub(super) struct TargetFollower {
    kind: Kind,
    part: Part,
    listing: u32,
    /// Whether the last list was completed.
    is_whole: bool,
    cluster: Arc<Cluster>,
    turns: Arc<WorkQueue>,
    stage: watch::Sender<Stage>,
}

pub(super) fn follower(
    kind: Kind,
    part: Part,
    cluster: Arc<Cluster>,
    turns: Arc<WorkQueue>,
) -> (Following, TargetFollower) {
    let (stage, receiver) = watch::channel(Stage::Listing);
    let following = Following { part: part.clone(), stage: receiver };
    let follower =
        TargetFollower { kind, part, listing: 0, is_whole: false, cluster, turns, stage };
    (following, follower)
}

impl TargetFollower {
    fn identity(&self, object: &DynamicObject) -> Identity {
        let (namespace, name) = names(object);
        self.kind.identity(namespace, name)
    }

    /// Records changed fields of a target, and wakes the policies that react to the change.
    fn has_changed(
        &self,
        state: &mut ClusterState,
        target: &Identity,
        changes: &[(Field, u32)],
        metadata: &ObjectMeta,
    ) {
        let now = self.turns.now();
        let reacts = |policy: &&PolicyName| state.world.reacts_to_changes(policy, now);
        let policies: Vec<PolicyName> =
            state.targets.policies_targeting(target).filter(reacts).cloned().collect();
        for change in changes {
            let by = writer_of(metadata, change.0);
            let by = by.filter(|_| state.targets.has_policies(target));
            state.targets.note_field_change(target, *change, by);
        }
        for policy in &policies {
            self.turns.wake(policy);
        }
    }

    /// Wakes the policies that follow a target, because its own controller has created or removed pods.
    fn has_progressed(&self, state: &ClusterState, target: &Identity) {
        let now = self.turns.now();
        let policies = state.targets.policies_targeting(target);
        for policy in policies.filter(|it| state.world.follows_target(it, now).is_some()) {
            self.turns.wake(policy);
        }
    }

    fn remove(&self, target: &Identity) {
        let mut state = self.cluster.lock();
        if state.remove_target(target) {
            for policy in state.targets.policies_targeting(target) {
                self.turns.wake(policy);
            }
        }
    }
}

impl Follower for TargetFollower {
    fn begin_list(&mut self) {
        self.is_whole = false;
        self.listing = self.listing.wrapping_add(1).max(1);
    }

    fn upsert(&mut self, object: DynamicObject) {
        let target = self.identity(&object);
        let version = object.metadata.resource_version.clone().unwrap_or_default();
        let mut state = self.cluster.lock();
        if let Some(entry) = state.targets.get(&target)
            && is_older(&version, &entry.version)
        {
            // This process has written a newer version since, but the target does exist.
            let entry = TargetEntry { listing: self.listing, ..entry.clone() };
            state.targets.insert(target, entry);
            return;
        }
        let is_marked = is_marked(&object.metadata);
        if exemptions::change(&mut state.world, |exempt| exempt.mark(&target, is_marked)) {
            for policy in state.targets.policies_targeting(&target) {
                self.turns.wake(policy);
            }
        }
        let before = numbers(&state, &target);
        let current = |state: &ClusterState| state.world.objects.workloads.get(&target)?.current;
        let current_before = current(&state);
        if let Some(slim) = slim::from_object(self.kind, &object.data) {
            state.world.upsert(target.clone(), slim);
        }
        let mut changes = numbers(&state, &target);
        changes.retain(|change| !before.contains(change));
        if !before.is_empty() && !changes.is_empty() {
            self.has_changed(&mut state, &target, &changes, &object.metadata);
        } else if current(&state) != current_before {
            self.has_progressed(&state, &target);
        }
        let entry = TargetEntry { version: version.into(), listing: self.listing };
        if state.targets.insert(target.clone(), entry) {
            for policy in state.targets.policies_targeting(&target) {
                self.turns.wake(policy);
            }
        }
    }

    fn delete(&mut self, object: DynamicObject) {
        self.remove(&self.identity(&object));
    }

    fn list_complete(&mut self) {
        let missing =
            self.cluster.lock().targets.not_in_listing(self.kind, &self.part, self.listing);
        for target in missing {
            self.remove(&target);
        }
        self.is_whole = true;
        self.stage.send_replace(Stage::Whole);
    }

    fn resumed(&mut self) {
        if self.is_whole && *self.stage.borrow() == Stage::Failing {
            self.stage.send_replace(Stage::Whole);
        }
    }

    fn failed(&mut self, _: &WatchFailure) {
        // The known state may be outdated. Until the watch works again, targets are read on demand.
        self.stage.send_replace(Stage::Failing);
    }

    fn versions_went_back(&mut self) {
        self.cluster.lock().targets.reset_versions(self.kind, &self.part);
    }
}

/// The fields of a target, in the form that the world stores.
fn numbers(state: &ClusterState, target: &Identity) -> Vec<(Field, u32)> {
    let number = |field: Field| Some((field, field.read(&state.world, target)?.number()?));
    Field::ALL.into_iter().filter_map(number).collect()
}

/// The field manager that set a field of a target, if the object names one and it is not this process.
fn writer_of(metadata: &ObjectMeta, field: Field) -> Option<&str> {
    let name = format!("f:{field}");
    let entries = metadata.managed_fields.iter().flatten();
    let owners = entries.filter(|entry| {
        entry.fields_v1.as_ref().is_some_and(|it| it.0["f:spec"].get(&name).is_some())
    });
    let mut managers = owners.filter_map(|entry| entry.manager.as_deref());
    let first = managers.next().filter(|manager| *manager != FIELD_MANAGER)?;
    // A field manager that set the same value as this process has replaced nothing.
    managers.all(|manager| manager != FIELD_MANAGER).then_some(first)
}

#[cfg(test)]
mod tests {
    use almanac_shell::clock::Clock;
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kind_is_complete_again_once_its_watch_resumes_even_without_changes() {
        let turns = Arc::new(WorkQueue::new(Clock::from_fn(|| Timestamp::UNIX_EPOCH)));
        let (following, mut follower) =
            follower(Kind::Deployment, Part::Whole, Arc::default(), turns);
        let unseen =
            WatchFailure { is_absent: false, is_forbidden: false, reason: "cut".to_owned() };
        follower.failed(&unseen);
        follower.resumed();
        assert!(!following.is_whole_now(), "the list was never complete");
        follower.begin_list();
        follower.list_complete();
        follower.failed(&unseen);
        assert!(!following.is_whole_now());
        follower.resumed();
        assert!(following.is_whole_now());
    }

    fn deployment(name: &str, version: u64, replicas: u32) -> DynamicObject {
        let object = json!({
            "metadata": {
                "name": name, "namespace": "default", "resourceVersion": version.to_string(),
            },
            "spec": { "replicas": replicas },
        });
        serde_json::from_value(object).expect("the object is valid")
    }

    #[test]
    fn a_target_keeps_its_last_known_state_until_a_list_no_longer_contains_it() {
        let turns = Arc::new(WorkQueue::new(Clock::from_fn(|| Timestamp::UNIX_EPOCH)));
        let cluster = Arc::new(Cluster::default());
        let (_, mut follower) =
            follower(Kind::Deployment, Part::Whole, Arc::clone(&cluster), Arc::clone(&turns));
        let [shop, other] =
            ["shop", "other"].map(|name| Kind::Deployment.identity("default", name));
        let replicas = |target: &Identity| {
            let workload = cluster.lock().world.objects.workloads.get(target).copied();
            workload.and_then(|it| it.replicas)
        };
        follower.begin_list();
        follower.upsert(deployment("shop", 20, 5));
        follower.upsert(deployment("other", 15, 1));
        follower.list_complete();
        follower.upsert(deployment("shop", 10, 3));
        assert_eq!(replicas(&shop), Some(5), "the object is older than the known one");
        let policy = crate::bench::policy("shop");
        cluster.lock().set_target_of(&policy, None, Some(&shop));
        follower.begin_list();
        follower.upsert(deployment("other", 15, 1));
        assert_eq!(replicas(&shop), Some(5), "the listing is not complete");
        assert!(turns.is_quiet());
        follower.list_complete();
        assert_eq!([replicas(&shop), replicas(&other)], [None, Some(1)]);
        assert!(!turns.is_quiet(), "the policies with this target are woken");
    }

    #[test]
    fn listing_the_targets_of_one_namespace_keeps_the_targets_of_another() {
        let turns = Arc::new(WorkQueue::new(Clock::from_fn(|| Timestamp::UNIX_EPOCH)));
        let cluster = Arc::new(Cluster::default());
        let follow = |namespace: &str| {
            let part = Part::Namespace(namespace.into());
            follower(Kind::Deployment, part, Arc::clone(&cluster), Arc::clone(&turns))
        };
        let [(of_east, mut east), (of_west, mut west)] = ["east", "west"].map(follow);
        for (namespace, follower) in [("east", &mut east), ("west", &mut west)] {
            follower.begin_list();
            let mut deployment = deployment("shop", 20, 5);
            deployment.metadata.namespace = Some(namespace.to_owned());
            follower.upsert(deployment);
            follower.list_complete();
        }
        let known = || {
            let state = cluster.lock();
            ["east", "west"].map(|namespace| {
                let target = Kind::Deployment.identity(namespace, "shop");
                state.targets.get(&target).map(|found| found.version.to_string())
            })
        };
        let west_is = Some("20".to_owned());
        east.versions_went_back();
        assert_eq!(known(), [Some("1".to_owned()), west_is.clone()]);
        for _ in 0..2 {
            east.begin_list();
            east.list_complete();
            assert_eq!(known(), [None, west_is.clone()]);
        }
        // Each follower tracks the progress of its own namespace.
        let unseen =
            WatchFailure { is_absent: false, is_forbidden: true, reason: "no role".to_owned() };
        east.failed(&unseen);
        west.resumed();
        assert!(!of_east.is_whole_now() && of_west.is_whole_now());
        assert!(of_west.covers(&Kind::Deployment.identity("west", "shop")));
        assert!(!of_west.covers(&Kind::Deployment.identity("east", "shop")));
    }

    #[test]
    fn the_writer_of_a_value_is_its_field_manager_unless_that_is_this_process() {
        let entry = |manager: &str, field: &str| json!({ "manager": manager, "operation": "Update", "fieldsV1": { "f:spec": { field: {} } } });
        let writer = |owners: &[(&str, &str)]| {
            let entries: Vec<_> =
                owners.iter().map(|(manager, field)| entry(manager, field)).collect();
            let metadata = json!({ "managedFields": entries });
            let metadata: ObjectMeta =
                serde_json::from_value(metadata).expect("the metadata are valid");
            writer_of(&metadata, Field::MinReplicas).map(str::to_owned)
        };
        let (ann, us) = ("ann", FIELD_MANAGER);
        assert_eq!(writer(&[(us, "f:template"), (ann, "f:minReplicas")]).as_deref(), Some(ann));
        assert_eq!(writer(&[(ann, "f:maxReplicas"), (us, "f:minReplicas")]), None);
        assert_eq!(writer(&[(ann, "f:minReplicas"), (us, "f:minReplicas")]), None);
        assert_eq!(writer(&[]), None);
    }
}
