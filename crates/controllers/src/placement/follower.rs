//! Watches the objects that placements select from, and each `PlacementDecision`, and gives a turn to the placements
//! that a change concerns. Most changes of a `ManagedCluster` are heartbeats, and give no turn to any placement.

use std::collections::BTreeSet;
use std::sync::Arc;

use almanac_api::checking::{CheckContext, check_json};
use almanac_api::kinds::Kind;
use almanac_api::objects::PLACEMENT_LABEL;
use almanac_api::slim;
use almanac_engine::placement::{
    self, ExpressionReaders, HubChange, HubObject, PlacementDecision, hub_change, reads_otherwise,
};
use almanac_engine::{Family, Identity, PolicyName, Slim, World};
use almanac_shell::following::{Follower, WatchFailure};
use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::{Map, Value};

use super::metrics::PlacementMetrics;
use super::records::DecisionRecord;
use crate::cluster::{Cluster, ClusterState, is_older};
use crate::list_progress::{ListReceiver, ListReport};
use crate::off_the_runtime::off_the_runtime;
use crate::runtime::names;
use crate::work_queue::WorkQueue;

/// Fills the world with the objects of one kind of a hub.
pub(crate) struct HubFollower {
    kind: Kind,
    cluster: Arc<Cluster>,
    turns: Arc<WorkQueue>,
    metrics: PlacementMetrics,
    listed: ListReport,
    /// The objects of the current list, and its version.
    listing: Option<BTreeSet<Identity>>,
    version: String,
}

/// A change that only expressions read, and the placements with these expressions.
struct ReadChange {
    readers: ExpressionReaders,
    before: Arc<placement::Cluster>,
    after: Arc<placement::Cluster>,
    at: Timestamp,
}

impl HubFollower {
    pub(crate) fn new(
        kind: Kind,
        cluster: Arc<Cluster>,
        turns: Arc<WorkQueue>,
        metrics: PlacementMetrics,
    ) -> (Self, ListReceiver) {
        let (listed, progress) = ListReport::new();
        let (listing, version) = (None, String::new());
        (Self { kind, cluster, turns, metrics, listed, listing, version }, progress)
    }

    fn identity(&self, object: &DynamicObject) -> Identity {
        let (namespace, name) = names(object);
        self.kind.identity(namespace, name)
    }

    /// Stores the current object, and requeues the placements that may decide differently. If their expressions must be
    /// evaluated first, returns the change.
    fn store(
        &self,
        state: &mut ClusterState,
        identity: &Identity,
        object: HubObject,
    ) -> Option<ReadChange> {
        match hub_change(state.world.view(), identity, &object) {
            HubChange::None => None,
            HubChange::ReadByExpressions => self.change_read(state, identity, object),
            change @ (HubChange::Reported | HubChange::Any) => {
                self.change(state, identity, change, Some(object));
                None
            }
        }
    }

    /// Removes a deleted object, and requeues the placements that may decide differently.
    fn remove_object(&self, state: &mut ClusterState, identity: &Identity) {
        // A read may have shown the deletion by another client before the watch event.
        if self.kind == Kind::PlacementDecision
            && state.world.placement.extra.decisions.get(identity).is_none()
        {
            return;
        }
        let is_reported = self.kind == Kind::AddOnPlacementScore;
        let change = if is_reported { HubChange::Reported } else { HubChange::Any };
        self.change(state, identity, change, None);
        if self.kind == Kind::ManagedCluster {
            state.hub.remove_reports(identity.name());
        }
    }

    fn change(
        &self,
        state: &mut ClusterState,
        identity: &Identity,
        change: HubChange,
        object: Option<HubObject>,
    ) {
        // Before all objects are listed, many of them may change. All placements are requeued together after that.
        let is_listed = self.listed.is_complete();
        let readers = |world: &World| {
            let readers = is_listed.then(|| world.readers_of_object(identity));
            readers.into_iter().flatten().collect::<BTreeSet<PolicyName>>()
        };
        let now = self.turns.now();
        let mut concerned = readers(&state.world);
        if self.kind == Kind::AddOnPlacementScore {
            let scores = match &object {
                Some(HubObject::Scores(scores)) => Some(scores),
                _ => None,
            };
            let world = state.world.view();
            concerned.retain(|it| reads_otherwise(world, &it.identity, identity, scores, now));
        }
        match object {
            Some(object) => state.world.upsert(identity.clone(), Slim::Hub(object)),
            None => state.world.remove(identity),
        }
        // The placements that read scores do not depend on the values of the scores.
        if self.kind != Kind::AddOnPlacementScore {
            concerned.extend(readers(&state.world));
        }
        let is_reported = change == HubChange::Reported && !concerned.is_empty();
        let at = if is_reported { self.report(state, identity, now) } else { now };
        for placement in &concerned {
            self.wake(state, placement, identity, at);
        }
        let is_decision = self.kind == Kind::PlacementDecision;
        if is_decision && is_listed && !state.hub.is_being_written(identity) {
            let changed = PolicyName::new(Family::Placement, identity.clone());
            for (placement, at) in state.hub.influenced(&state.world, &changed, now) {
                if !concerned.contains(&placement) {
                    state.hub.note_change(&placement.identity, at);
                    self.turns.wake_at(&placement, at);
                }
            }
        }
    }

    /// Returns when a report of the agent of a cluster takes effect. A placement reads the report, so the cluster
    /// exists, and the deletion of the cluster removes the record.
    fn report(&self, state: &mut ClusterState, changed: &Identity, now: Timestamp) -> Timestamp {
        let cluster = match self.kind {
            Kind::AddOnPlacementScore => changed.namespace(),
            _ => changed.name(),
        };
        state.hub.note_report(cluster, now)
    }

    /// Stores a change that only expressions read. If too many such changes must be evaluated, requeues all placements
    /// that may select the cluster by expressions.
    fn change_read(
        &self,
        state: &mut ClusterState,
        cluster: &Identity,
        object: HubObject,
    ) -> Option<ReadChange> {
        let readers = if self.listed.is_complete() {
            ExpressionReaders::for_cluster(state.world.view(), cluster.name())
        } else {
            ExpressionReaders::default()
        };
        let stored = |state: &ClusterState| {
            state.world.placement.extra.hub.clusters.get(cluster.name()).cloned()
        };
        let before = stored(state);
        state.world.upsert(cluster.clone(), Slim::Hub(object));
        if readers.is_empty() {
            return None;
        }
        let now = self.turns.now();
        let at = self.report(state, cluster, now);
        if at > now {
            readers.names().for_each(|placement| self.wake(state, &placement, cluster, at));
            return None;
        }
        Some(ReadChange { readers, before: before?, after: stored(state)?, at })
    }

    /// Requeues the placements for which a change makes a difference. Their expressions may take long, so nothing is
    /// locked while they are evaluated. A change of any other input requeues them as well.
    fn wake_concerned(&self, cluster: &Identity, change: &ReadChange) {
        let ReadChange { readers, before, after, at } = change;
        let mut concerned = off_the_runtime(|| readers.concerned(before, after, *at));
        let mut state = self.cluster.lock();
        concerned.extend(readers.no_longer_costly(state.world.view()));
        for placement in &concerned {
            // The hub records keep nothing of a placement that was deleted in the meantime.
            if state.world.placement.policies.contains_key(&placement.identity) {
                self.wake(&mut state, placement, cluster, *at);
            }
        }
    }

    fn wake(
        &self,
        state: &mut ClusterState,
        placement: &PolicyName,
        changed: &Identity,
        at: Timestamp,
    ) {
        if self.kind == Kind::PlacementDecision {
            if state.hub.is_being_written(changed) {
                return;
            }
            // While the reaction to another field manager is delayed, its further changes are not logged.
            if !state.hub.is_reaction_delayed(&placement.identity) {
                tracing::info!(object = %placement, "another writer has changed a decision");
            }
            let at = state.hub.note_other_writer(&placement.identity, at);
            self.metrics.count_undone();
            self.turns.bring_next_forward(placement, at);
        } else {
            state.hub.note_change(&placement.identity, at);
            self.turns.wake_at(placement, at);
        }
    }

    /// The objects of the kind in the world.
    fn stored_objects(&self, world: &World) -> Vec<Identity> {
        let hub = &*world.placement.extra.hub;
        let identity = |namespace: &str, name: &str| self.kind.identity(namespace, name);
        match self.kind {
            Kind::ManagedCluster => hub.clusters.keys().map(|name| identity("", name)).collect(),
            Kind::ManagedClusterSet => hub.sets.keys().map(|name| identity("", name)).collect(),
            Kind::ManagedClusterSetBinding => {
                let all = hub.bindings.iter();
                all.flat_map(|(namespace, bindings)| {
                    bindings.keys().map(|name| identity(namespace, name))
                })
                .collect()
            }
            Kind::AddOnPlacementScore => {
                let all = hub.scores.iter();
                all.flat_map(|(name, scores)| scores.keys().map(|cluster| identity(cluster, name)))
                    .collect()
            }
            _ => world
                .placement
                .extra
                .decisions
                .iter()
                .map(|(identity, _)| identity.clone())
                .collect(),
        }
    }
}

impl Follower for HubFollower {
    fn listing_at(&mut self, version: &str) {
        version.clone_into(&mut self.version);
    }

    fn begin_list(&mut self) {
        self.listing = Some(BTreeSet::new());
    }

    fn upsert(&mut self, object: DynamicObject) {
        let identity = self.identity(&object);
        if let Some(listing) = &mut self.listing {
            listing.insert(identity.clone());
        }
        let is_decision = self.kind == Kind::PlacementDecision;
        let decision = is_decision.then(|| DecisionRecord::from_metadata(&object.metadata));
        let object = hub_object(self.kind, &identity, object, self.turns.now());
        let mut state = self.cluster.lock();
        if decision.is_some_and(|record| !state.hub.note(&identity, record)) {
            return;
        }
        let Some(object) = object else { return self.remove_object(&mut state, &identity) };
        let change = self.store(&mut state, &identity, object);
        drop(state);
        if let Some(change) = change {
            self.wake_concerned(&identity, &change);
        }
    }

    fn delete(&mut self, object: DynamicObject) {
        let identity = self.identity(&object);
        let mut state = self.cluster.lock();
        if self.kind == Kind::PlacementDecision {
            let record = DecisionRecord::from_metadata(&object.metadata);
            if !state.hub.note_gone(&identity, &record) {
                return;
            }
        }
        self.remove_object(&mut state, &identity);
    }

    fn list_complete(&mut self) {
        let listing = self.listing.take().unwrap_or_default();
        let mut state = self.cluster.lock();
        let mut missing = self.stored_objects(&state.world);
        missing.retain(|identity| !listing.contains(identity));
        for identity in missing {
            // The list may lack what this process has written since.
            let known = state.hub.any_decision(&identity);
            if known.is_some_and(|it| is_older(&self.version, &it.version)) {
                continue;
            }
            state.hub.remove(&identity);
            self.remove_object(&mut state, &identity);
        }
        if self.kind == Kind::PlacementDecision {
            state.hub.remove_deleted(&listing);
        }
        let is_first = self.listed.complete();
        if state.hub.complete(self.kind) || is_first {
            let placements = state.policies.keys().filter(|it| it.family == Family::Placement);
            placements.for_each(|placement| self.turns.wake(placement));
        }
    }

    fn failed(&mut self, why: &WatchFailure) {
        self.listed.failed(why);
    }

    fn versions_went_back(&mut self) {
        if self.kind == Kind::PlacementDecision {
            self.cluster.lock().hub.reset_versions();
        }
    }
}

/// The slim form of an object, as from a file. Kinds with many objects are read without checks.
pub(super) fn hub_object(
    kind: Kind,
    identity: &Identity,
    object: DynamicObject,
    now: Timestamp,
) -> Option<HubObject> {
    let is_controlled_by_another = kind == Kind::PlacementDecision && {
        let record = DecisionRecord::from_metadata(&object.metadata);
        let labels = object.metadata.labels.as_ref();
        let label = labels.and_then(|it| it.get(PLACEMENT_LABEL));
        record
            .controller()
            .is_some_and(|it| it.kind != Kind::Placement.name() || Some(&it.name) != label)
    };
    let value = as_json(kind, object);
    let is_checked = matches!(kind, Kind::ManagedClusterSet | Kind::ManagedClusterSetBinding);
    let slim = if is_checked {
        check_json(kind, value, CheckContext::new(identity.namespace(), now)).slim
    } else {
        slim::from_object(kind, &value)
    };
    match slim {
        // A label alone does not make an object of another controller a decision.
        Some(Slim::Hub(HubObject::Decision(decision))) if is_controlled_by_another => {
            Some(HubObject::Decision(PlacementDecision { placement: None, ..decision }))
        }
        Some(Slim::Hub(object)) => Some(object),
        _ => None,
    }
}

/// An object as JSON, without managed fields, and without annotations unless expressions may read them.
fn as_json(kind: Kind, object: DynamicObject) -> Value {
    let DynamicObject { mut metadata, data, .. } = object;
    metadata.managed_fields = None;
    if kind != Kind::ManagedCluster {
        metadata.annotations = None;
    }
    let mut fields = match data {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    // Metadata is plain data, so serialization cannot fail.
    fields.insert("metadata".to_owned(), serde_json::to_value(metadata).unwrap_or_default());
    Value::Object(fields)
}

#[cfg(test)]
mod tests;
