//! Watches policies: the content of each, its findings, and its known version.

use std::collections::BTreeSet;
use std::sync::Arc;

use almanac_api::checking::{CheckContext, check_json};
use almanac_api::exempt::is_marked;
use almanac_api::finding::Finding;
use almanac_api::kinds::Kind;
use almanac_engine::units::ResourcePolicy;
use almanac_engine::{Identity, Slim};
use almanac_shell::clock::Clock;
use almanac_shell::following::{Follower, WatchFailure};
use jiff::Timestamp;
use kube::api::DynamicObject;

use super::leader::Leader;
use super::statuses::Failure;
use crate::cluster::{StatusSnapshot, is_older};
use crate::list_progress::ListReport;
use crate::policies::as_json;
use crate::runtime::names;

/// The entry of a policy.
pub(super) struct PolicyEntry {
    /// The creation of the policy: only the oldest policies of a namespace apply.
    pub(super) created: Option<Timestamp>,
    /// Distinguishes the policy from another object of the same name.
    pub(super) uid: Box<str>,
    /// The known version of the object.
    pub(super) version: Box<str>,
    pub(super) generation: Option<i64>,
    /// The last usable version of the policy.
    pub(super) usable: Option<Arc<ResourcePolicy>>,
    /// The findings about the current version.
    pub(super) findings: Vec<Finding>,
    /// The status on the API server.
    pub(super) recorded: StatusSnapshot,
    /// The failed attempts to write the status since the last success.
    pub(super) failure: Option<Box<Failure>>,
}

/// Sends changes of policies to the ledger.
pub(super) struct PolicyFollower {
    leader: Arc<Leader>,
    clock: Clock,
    /// The policies in the current list.
    listed: Option<BTreeSet<Identity>>,
    progress: ListReport,
}

impl PolicyFollower {
    pub(super) fn new(leader: Arc<Leader>, clock: Clock, progress: ListReport) -> Self {
        Self { leader, clock, listed: None, progress }
    }

    fn entry(&self, policy: &Identity, object: DynamicObject) -> PolicyEntry {
        let metadata = &object.metadata;
        let context = CheckContext {
            clock: self.clock.setting(),
            ..CheckContext::new(policy.namespace(), self.clock.now())
        };
        let (uid, version) = (metadata.uid.as_deref(), metadata.resource_version.as_deref());
        let entry = PolicyEntry {
            created: metadata.creation_timestamp.as_ref().map(|it| it.0),
            uid: uid.unwrap_or_default().into(),
            version: version.unwrap_or_default().into(),
            generation: metadata.generation,
            usable: None,
            findings: Vec::new(),
            recorded: StatusSnapshot::from_status(&object.data["status"]),
            failure: None,
        };
        let checked = check_json(Kind::ResourcePolicy, as_json(object), context);
        let usable =
            if let Some(Slim::Units(object)) = checked.slim { object.policy } else { None };
        PolicyEntry { usable, findings: checked.findings, ..entry }
    }

    fn remove(&self, policy: &Identity) {
        let mut state = self.leader.lock();
        let policies_to_apply = state.remove_policy(policy);
        state.exempt.mark(policy, false);
        drop(state);
        self.leader.apply_policies(&policies_to_apply);
    }
}

impl Follower for PolicyFollower {
    fn begin_list(&mut self) {
        self.listed = Some(BTreeSet::new());
    }

    fn upsert(&mut self, object: DynamicObject) {
        let (namespace, name) = names(&object);
        let policy = Kind::ResourcePolicy.identity(namespace, name);
        if let Some(listed) = &mut self.listed {
            listed.insert(policy.clone());
        }
        // A policy that is being deleted has no effect, however long the deletion takes.
        if object.metadata.deletion_timestamp.is_some() {
            return self.remove(&policy);
        }
        let is_marked = is_marked(&object.metadata);
        let mut entry = self.entry(&policy, object);
        let mut state = self.leader.lock();
        state.exempt.mark(&policy, is_marked);
        let before = state.policies.get_mut(&policy).filter(|before| before.uid == entry.uid);
        if let Some(before) = before {
            // An unusable version leaves the last usable one in effect.
            entry.usable = entry.usable.or(before.usable.take());
            entry.failure = before.failure.take();
            if is_older(&entry.version, &before.version) {
                std::mem::swap(&mut entry.version, &mut before.version);
                std::mem::swap(&mut entry.recorded, &mut before.recorded);
            }
        }
        let policies_to_apply = state.insert_policy(&policy, entry);
        drop(state);
        self.leader.apply_policies(&policies_to_apply);
    }

    fn delete(&mut self, object: DynamicObject) {
        let (namespace, name) = names(&object);
        self.remove(&Kind::ResourcePolicy.identity(namespace, name));
    }

    fn list_complete(&mut self) {
        let listed = self.listed.take().unwrap_or_default();
        let policies: Vec<Identity> = self.leader.lock().policies.keys().cloned().collect();
        for gone in policies.iter().filter(|it| !listed.contains(*it)) {
            self.remove(gone);
        }
        self.progress.complete();
    }

    fn failed(&mut self, why: &WatchFailure) {
        self.progress.failed(why);
    }

    fn versions_went_back(&mut self) {}
}
