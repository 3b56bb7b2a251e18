//! Watches node groups, and gives each a turn when it is new, has changed or is deleted.

use std::sync::Arc;

use almanac_api::kinds::Kind;
use almanac_engine::Identity;
use almanac_shell::following::{Follower, WatchFailure};
use kube::api::DynamicObject;

use super::entry::NodeGroupEntry;
use crate::cluster::{Cluster, OLDEST_VERSION, is_older};
use crate::list_progress::{ListReceiver, ListReport};
use crate::namespaces::Part;
use crate::runtime::names;
use crate::work_queue::WorkQueue;

/// Tracks the existing groups.
pub(crate) struct NodeGroupFollower {
    part: Part,
    cluster: Arc<Cluster>,
    queue: Arc<WorkQueue<Identity>>,
    listing: u32,
    progress: ListReport,
}

impl NodeGroupFollower {
    pub(crate) fn new(
        cluster: Arc<Cluster>,
        queue: Arc<WorkQueue<Identity>>,
    ) -> (Self, ListReceiver) {
        let (progress, listed) = ListReport::new();
        (Self { part: Part::Whole, cluster, queue, listing: 0, progress }, listed)
    }

    /// Limits the follower to the groups of a part.
    pub(crate) fn with_part(self, part: Part) -> Self {
        Self { part, ..self }
    }

    /// Gives the group another turn, because its nodes may still exist.
    fn remove(&self, name: &Identity) {
        if self.cluster.lock().node_groups.remove(name).is_some() {
            self.queue.wake(name);
        }
    }
}

fn name_of(object: &DynamicObject) -> Identity {
    let (namespace, name) = names(object);
    Kind::ScalableNodeGroup.identity(namespace, name)
}

impl Follower for NodeGroupFollower {
    fn begin_list(&mut self) {
        self.listing = self.listing.wrapping_add(1).max(1);
    }

    fn upsert(&mut self, object: DynamicObject) {
        let name = name_of(&object);
        // A group that is being deleted has no desired nodes any more, however long the deletion takes.
        if object.metadata.deletion_timestamp.is_some() {
            self.remove(&name);
            return;
        }
        let new_entry = NodeGroupEntry::from_object(&object, self.listing);
        let mut state = self.cluster.lock();
        if let Some(entry) = state.node_groups.get_mut(&name).filter(|it| it.uid == new_entry.uid) {
            entry.listing = self.listing;
            if is_older(&new_entry.version, &entry.version) {
                return;
            }
            entry.version = new_entry.version;
            let is_same = (entry.generation, entry.is_marked)
                == (new_entry.generation, new_entry.is_marked)
                && entry.spec == new_entry.spec
                && entry.recorded.is(&object.data["status"]);
            if is_same {
                return;
            }
            entry.generation = new_entry.generation;
            entry.is_marked = new_entry.is_marked;
            entry.recorded = new_entry.recorded;
            entry.spec = new_entry.spec;
        } else {
            state.node_groups.insert(name.clone(), new_entry);
        }
        drop(state);
        self.queue.wake(&name);
    }

    fn delete(&mut self, object: DynamicObject) {
        self.remove(&name_of(&object));
    }

    fn list_complete(&mut self) {
        let gone: Vec<Identity> = {
            let mut state = self.cluster.lock();
            state.node_groups.listed.insert(self.part.clone());
            let all = state.node_groups.iter().filter(|(name, _)| self.part.covers(name));
            let gone = all.filter(|(_, entry)| entry.listing != self.listing);
            gone.map(|(name, _)| name.clone()).collect()
        };
        for name in &gone {
            self.remove(name);
        }
        self.progress.complete();
    }

    fn failed(&mut self, why: &WatchFailure) {
        self.progress.failed(why);
    }

    fn versions_went_back(&mut self) {
        let mut state = self.cluster.lock();
        let followed = state.node_groups.iter_mut().filter(|(name, _)| self.part.covers(name));
        followed.for_each(|(_, entry)| entry.version = OLDEST_VERSION.into());
    }
}
