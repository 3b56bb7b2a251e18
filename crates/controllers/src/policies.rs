//! Watches a policy kind: stores each object, and wakes the work queues that an event concerns.
//!
//! The meaning of an object comes from the one conversion to its slim form. This module tracks the known revision of an
//! object and its policy state, and removes it once it is deleted.

mod unwritten;

use std::sync::Arc;

use almanac_api::checking::{CheckContext, CheckedObject, check_json, lacks_room};
use almanac_api::exempt::is_marked;
use almanac_api::families::Descriptor;
use almanac_api::kinds::Kind;
use almanac_api::kubernetes::KubernetesMinor;
use almanac_api::objects::DISABLE_ANNOTATION;
use almanac_engine::{Family, PolicyName};
use almanac_shell::clock::Clock;
use almanac_shell::following::{Follower, WatchFailure};
use kube::api::DynamicObject;
use serde_json::{Map, Value};

use crate::cluster::{Cluster, ClusterState, PolicyEntry, is_older};
use crate::exemptions;
use crate::list_progress::{ListReceiver, ListReport};
use crate::namespaces::Part;
use crate::off_the_runtime::off_the_runtime;
use crate::runtime::names;
use crate::work_queue::WorkQueue;

pub(crate) use unwritten::UnwrittenStatuses;

/// Fills the world with the policies of a family.
pub(crate) struct PolicyFollower {
    family: Family,
    kind: Kind,
    part: Part,
    clock: Clock,
    unwritten: UnwrittenStatuses,
    cluster: Arc<Cluster>,
    queues: WorkQueues,
    listing: u32,
    listed: ListReport,
}

/// The queues that watch events wake.
#[derive(Clone)]
pub(crate) struct WorkQueues {
    /// Policies that need a turn.
    pub(crate) turns: Arc<WorkQueue>,
    /// Policies whose status may need a write.
    pub(crate) statuses: Arc<WorkQueue>,
    /// Policies whose queries must run; `None` without a sampler.
    pub(crate) samples: Option<Arc<WorkQueue>>,
}

impl WorkQueues {
    /// Gives a policy a turn, with new samples if it has queries.
    pub(crate) fn wake(&self, policy: &PolicyName) {
        self.turns.wake(policy);
        if let Some(samples) = self.samples.as_ref().filter(|_| has_queries(policy)) {
            samples.wake(policy);
        }
    }

    /// Removes a deleted policy.
    fn remove(&self, policy: &PolicyName) {
        self.turns.remove(policy);
        self.statuses.remove(policy);
        if let Some(samples) = self.samples.as_ref().filter(|_| has_queries(policy)) {
            samples.remove(policy);
        }
    }
}

/// Whether a policy has queries.
fn has_queries(policy: &PolicyName) -> bool {
    Descriptor::for_family(policy.family).has_queries
}

impl PolicyFollower {
    pub(crate) fn new(
        family: Family,
        clock: Clock,
        unwritten: UnwrittenStatuses,
        cluster: Arc<Cluster>,
        queues: WorkQueues,
    ) -> (Self, ListReceiver) {
        let (listed, receiver) = ListReport::new();
        let (kind, part) = (Kind::for_family(family), Part::Whole);
        let follower =
            Self { family, kind, part, clock, unwritten, cluster, queues, listing: 0, listed };
        (follower, receiver)
    }

    /// Limits the follower to the objects of a part.
    pub(crate) fn with_part(self, part: Part) -> Self {
        Self { part, ..self }
    }

    /// Whether this follower covers a policy.
    fn covers(&self, policy: &PolicyName) -> bool {
        policy.family == self.family && self.part.covers(&policy.identity)
    }

    fn name(&self, object: &DynamicObject) -> PolicyName {
        let (namespace, name) = names(object);
        PolicyName::new(self.family, self.kind.identity(namespace, name))
    }

    /// The content of an object. User input may take long to check, so nothing is locked during the check.
    fn check(
        &self,
        policy: &PolicyName,
        object: DynamicObject,
        kubernetes: Option<KubernetesMinor>,
    ) -> CheckedObject {
        let context = CheckContext {
            kubernetes,
            clock: self.clock.setting(),
            patterns: Some(&self.cluster.patterns),
            ..CheckContext::new(policy.identity.namespace(), self.clock.now())
        };
        let check = || check_json(self.kind, as_json(object), context);
        // The check compiles patterns.
        if has_queries(policy) { off_the_runtime(check) } else { check() }
    }

    /// Whether the content of an object is new. No other task stores objects of this kind.
    fn has_new_content(&self, policy: &PolicyName, new_entry: &PolicyEntry) -> bool {
        let state = self.cluster.lock();
        state.policies.get(policy).is_none_or(|known| {
            known.uid != new_entry.uid
                || self.is_checked_for_another(known.kubernetes)
                || self.has_room_again(policy, known)
                || (known.revision != new_entry.revision
                    && !is_older(&new_entry.version, &known.version))
        })
    }

    /// Whether a policy was checked for a version of the API server that its checks distinguish from the current one.
    fn is_checked_for_another(&self, kubernetes: Option<KubernetesMinor>) -> bool {
        self.kind == Kind::CronFederatedHPA && kubernetes != self.cluster.kubernetes.for_checks()
    }

    /// Whether the patterns of an object exceeded the budget, and the budget has more free capacity now.
    fn has_room_again(&self, policy: &PolicyName, entry: &PolicyEntry) -> bool {
        let now = || self.cluster.patterns.fullness(policy.identity.namespace());
        entry.lacked_room.as_ref().is_some_and(|before| before.has_more_room(now()))
    }

    /// Stores the content of an object. `entry` is new, or the entry of the same object.
    fn store(
        &self,
        state: &mut ClusterState,
        policy: PolicyName,
        (is_marked, checked): (bool, CheckedObject),
        mut entry: PolicyEntry,
        is_new: bool,
    ) {
        exemptions::change(&mut state.world, |exempt| exempt.mark(&policy.identity, is_marked));
        // The old version uses the budget until it is replaced, and its removal may free capacity.
        let fullness = || Box::new(self.cluster.patterns.fullness(policy.identity.namespace()));
        entry.lacked_room = lacks_room(&checked.findings).then(fullness);
        entry.store_findings(checked.findings);
        let before = state.target_of(&policy);
        if let Some(slim) = checked.slim {
            let slim = if is_new { self.unwritten.join(&policy, &entry.uid, slim) } else { slim };
            state.world.upsert(policy.identity.clone(), slim);
        }
        let now = state.target_of(&policy);
        self.wake_rivals(&state.set_target_of(&policy, before.as_ref(), now.as_ref()));
        // Until they are compared, the policy state may be ahead of the status.
        entry.is_written = false;
        state.hub.note_edit(&policy, self.clock.now());
        self.wake(state, &policy);
        state.policies.insert(policy, entry);
    }

    /// Gives a turn to a policy that is new or has changed, and to the policies that read it.
    fn wake(&self, state: &ClusterState, policy: &PolicyName) {
        self.queues.wake(policy);
        // Before all policies are listed, many of them may change; all are woken together after that.
        if self.listed.is_complete() {
            state.world.readers_of(policy).for_each(|reader| self.queues.wake(&reader));
        }
    }

    /// Policies of one target name each other in their conditions.
    fn wake_rivals(&self, rivals: &[PolicyName]) {
        // Before all policies are listed, many of them may change; all are woken together after that.
        if self.listed.is_complete() {
            for rival in rivals {
                self.queues.statuses.wake(rival);
            }
        }
    }

    fn remove(&self, state: &mut ClusterState, policy: &PolicyName) {
        if state.policies.remove(policy).is_some() {
            let target = state.target_of(policy);
            self.wake_rivals(&state.set_target_of(policy, target.as_ref(), None));
            state.world.remove_policy(policy);
            state.hub.remove_placement(policy);
            state.slow_queries.remove(policy);
            exemptions::change(&mut state.world, |exempt| exempt.mark(&policy.identity, false));
            state.world.readers_of(policy).for_each(|reader| self.queues.wake(&reader));
            self.queues.remove(policy);
        }
    }
}

/// An object as JSON, without labels, managed fields, and annotations that do not affect it.
pub(crate) fn as_json(object: DynamicObject) -> Value {
    let DynamicObject { mut metadata, data, .. } = object;
    (metadata.managed_fields, metadata.labels) = (None, None);
    if let Some(annotations) = &mut metadata.annotations {
        annotations.retain(|name, _| name == DISABLE_ANNOTATION);
    }
    let mut fields = match data {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    // Metadata is plain data, so serialization cannot fail.
    fields.insert("metadata".to_owned(), serde_json::to_value(metadata).unwrap_or_default());
    Value::Object(fields)
}

impl Follower for PolicyFollower {
    fn begin_list(&mut self) {
        self.listing = self.listing.wrapping_add(1).max(1);
    }

    fn upsert(&mut self, object: DynamicObject) {
        let policy = self.name(&object);
        // An object that is being deleted has no effect, however long the deletion takes.
        if object.metadata.deletion_timestamp.is_some() {
            self.remove(&mut self.cluster.lock(), &policy);
            return;
        }
        let kubernetes = self.cluster.kubernetes.for_checks();
        let new_entry =
            PolicyEntry { kubernetes, ..PolicyEntry::from_object(&object, self.listing) };
        let is_exempt = is_marked(&object.metadata);
        let has_new_content = self.has_new_content(&policy, &new_entry);
        let content =
            has_new_content.then(|| (is_exempt, self.check(&policy, object.clone(), kubernetes)));
        let mut state = self.cluster.lock();
        if state.policies.get(&policy).is_some_and(|entry| entry.uid != new_entry.uid) {
            self.remove(&mut state, &policy);
        }
        let Some(entry) = state.policies.get_mut(&policy) else {
            if let Some(content) = content {
                self.store(&mut state, policy, content, new_entry, true);
            }
            return;
        };
        entry.listing = self.listing;
        if is_older(&new_entry.version, &entry.version) {
            return;
        }
        entry.version = new_entry.version;
        if !entry.recorded.is(&object.data["status"]) {
            entry.recorded = new_entry.recorded;
            self.queues.statuses.wake(&policy);
        }
        if exemptions::change(&mut state.world, |exempt| exempt.mark(&policy.identity, is_exempt)) {
            self.wake(&state, &policy);
            self.queues.statuses.wake(&policy);
            self.wake_rivals(&state.note_exemption(&policy));
        }
        let Some(entry) = state.policies.get_mut(&policy) else { return };
        if let Some(content) = content {
            (entry.revision, entry.kubernetes) = (new_entry.revision, kubernetes);
            // The problem with the target is cleared: it may be a different target.
            entry.note_problem(None, false);
            if let Some(entry) = state.policies.remove(&policy) {
                self.store(&mut state, policy, content, entry, false);
            }
        }
    }

    fn delete(&mut self, object: DynamicObject) {
        let policy = self.name(&object);
        self.remove(&mut self.cluster.lock(), &policy);
    }

    fn list_complete(&mut self) {
        let mut state = self.cluster.lock();
        let is_gone = |(policy, entry): &(&PolicyName, &PolicyEntry)| {
            self.covers(policy) && entry.listing != self.listing
        };
        let gone: Vec<PolicyName> =
            state.policies.iter().filter(is_gone).map(|(policy, _)| policy.clone()).collect();
        for policy in gone {
            self.remove(&mut state, &policy);
        }
        self.unwritten.remove_deleted(&state.policies, |policy| self.covers(policy));
        if self.listed.complete() {
            // A kind that is listed late may be read by policies that have had their turns.
            let reads =
                |it: &&PolicyName| Descriptor::for_family(it.family).reads.contains(&self.kind);
            state.policies.keys().filter(reads).for_each(|reader| self.queues.turns.wake(reader));
            state.targets.sharing().for_each(|rival| self.queues.turns.wake(rival));
        }
    }

    fn needs_relist(&self) -> bool {
        let state = self.cluster.lock();
        let mut followed = state.policies.iter().filter(|(it, _)| self.covers(it));
        followed.any(|(policy, entry)| {
            self.is_checked_for_another(entry.kubernetes) || self.has_room_again(policy, entry)
        })
    }

    fn failed(&mut self, why: &WatchFailure) {
        self.listed.failed(why);
    }

    fn versions_went_back(&mut self) {
        let mut state = self.cluster.lock();
        let followed = state.policies.iter_mut().filter(|(it, _)| self.covers(it));
        followed.for_each(|(_, entry)| entry.reset_versions());
    }
}

#[cfg(test)]
mod tests;
