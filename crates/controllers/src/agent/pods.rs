//! Watches the pods of an agent, and gives each a turn if it is new or its level annotations have changed.

use std::sync::Arc;

use almanac_api::exempt::is_marked;
use almanac_api::slim;
use almanac_engine::Identity;
use almanac_shell::following::{Follower, WatchFailure};
use jiff::SignedDuration;
use kube::api::DynamicObject;

use super::resync::Resync;
use super::state::{AgentState, PodEntry};
use crate::cluster::{OLDEST_VERSION, is_older};
use crate::exemptions;
use crate::list_progress::ListReport;
use crate::namespaces::Part;
use crate::runtime::names;

/// The time for which a value that another agent has written stays unchanged. The clock of the other agent may be a
/// little ahead, or the other agent may have received a new list first. Reverting its value would only make both agents
/// write again.
pub(super) const CREDIT: SignedDuration = SignedDuration::from_secs(1);

/// Tracks the existing pods.
pub(super) struct PodFollower {
    pub(super) part: Part,
    pub(super) resync: Arc<Resync>,
    pub(super) listing: u32,
    pub(super) progress: ListReport,
}

impl PodFollower {
    fn remove(&self, state: &mut AgentState, pod: &Identity) {
        state.take_failure(pod);
        if state.pods.remove(pod).is_some() {
            state.world.objects.pods.remove(pod);
            exemptions::change(&mut state.world, |exempt| exempt.mark(pod, false));
            self.resync.queue.remove(pod);
        }
    }
}

/// The name of a pod in the world.
fn name_of(object: &DynamicObject) -> Identity {
    let (namespace, name) = names(object);
    Identity::new("", "Pod", namespace, name)
}

impl Follower for PodFollower {
    fn begin_list(&mut self) {
        self.listing = self.listing.wrapping_add(1).max(1);
    }

    fn upsert(&mut self, object: DynamicObject) {
        let pod = name_of(&object);
        let mut slim = slim::watched_pod(&object);
        let metadata = object.metadata;
        let uid: Box<str> = metadata.uid.as_deref().unwrap_or_default().into();
        let version: Box<str> = metadata.resource_version.as_deref().unwrap_or_default().into();
        let mut state = self.resync.state.lock();
        if state.pods.get(&pod).is_some_and(|entry| entry.uid != uid) {
            self.remove(&mut state, &pod);
        }
        let AgentState { world, pods, .. } = &mut *state;
        let marked = is_marked(&metadata);
        let mut has_changed = exemptions::change(world, |exempt| exempt.mark(&pod, marked));
        if let Some(entry) = pods.get_mut(&pod) {
            entry.listing = self.listing;
            if is_older(&version, &entry.version) {
                return;
            }
            // A failed write may succeed with the new version.
            has_changed |= entry.version != version && entry.failure.is_some();
            entry.version = version;
            let annotations = entry.read(slim.annotations());
            slim.annotate(&annotations);
        } else {
            let listing = self.listing;
            let (due_since, wrote, failure) = (None, None, None);
            let (admitted, credit) = (None, None);
            let entry =
                PodEntry { uid, version, listing, due_since, wrote, failure, admitted, credit };
            pods.insert(pod.clone(), entry);
        }
        let before = world.objects.pods.get(&pod);
        // The world already contains own writes, unless the turn is still running.
        let by_another = before.is_some_and(|before| !before.has_same_marks(&slim));
        if before != Some(&slim) {
            world.objects.pods.insert(pod.clone(), slim);
            has_changed = true;
        }
        if by_another && let Some(entry) = pods.get_mut(&pod) {
            entry.credit = self.resync.clock.now().checked_add(CREDIT).ok();
        }
        drop(state);
        // Before all pods are listed, a resync follows anyway.
        if has_changed && self.progress.is_complete() {
            self.resync.queue.wake(&pod);
        }
    }

    fn delete(&mut self, object: DynamicObject) {
        self.remove(&mut self.resync.state.lock(), &name_of(&object));
    }

    fn list_complete(&mut self) {
        let mut state = self.resync.state.lock();
        let all = state.pods.iter();
        let missing: Vec<Identity> = all
            .filter(|(pod, entry)| self.part.covers(pod) && entry.listing != self.listing)
            .map(|(pod, _)| pod.clone())
            .collect();
        for pod in &missing {
            self.remove(&mut state, pod);
        }
        drop(state);
        self.progress.complete();
        self.resync.request();
    }

    fn failed(&mut self, why: &WatchFailure) {
        self.progress.failed(why);
    }

    fn versions_went_back(&mut self) {
        let mut state = self.resync.state.lock();
        let followed = state.pods.iter_mut().filter(|(pod, _)| self.part.covers(pod));
        followed.for_each(|(_, entry)| entry.version = OLDEST_VERSION.into());
    }
}
