//! Which namespaces bear the mark that exempts what is in them, as the cluster tells.
//!
//! Objects tell of their own mark where they are followed. Who may not watch namespaces carries out everything
//! that is not exempt otherwise, and says so.

use std::collections::BTreeSet;
use std::sync::Arc;

use almanac_api::exempt::{MARK, is_marked};
use almanac_engine::{Exemptions, Identity, World};
use almanac_shell::following::{Follower, WatchFailure};
use kube::api::DynamicObject;
use tokio::sync::watch;

use crate::cluster::{Cluster, ClusterState};
use crate::policies::{ListProgress, WorkQueues};
use crate::work_queue::WorkQueue;

/// Changes what is exempt in a world.
pub(crate) fn change(world: &mut World, change: impl FnOnce(&mut Exemptions) -> bool) -> bool {
    change(Arc::make_mut(&mut world.exempt))
}

/// Notes which namespaces bear the mark, and wakes the policies in them when that changes.
pub(crate) struct NamespaceFollower {
    cluster: Arc<Cluster>,
    queues: WorkQueues,
    node_groups: Arc<WorkQueue<Identity>>,
    /// Those that bear the mark in the listing that is being told.
    listed: Option<BTreeSet<String>>,
    progress: watch::Sender<ListProgress>,
    has_complained: bool,
}

impl NamespaceFollower {
    pub(crate) fn new(
        cluster: Arc<Cluster>,
        queues: WorkQueues,
        node_groups: Arc<WorkQueue<Identity>>,
    ) -> (Self, watch::Receiver<ListProgress>) {
        let (progress, listed) = watch::channel(ListProgress::NotYet);
        let has_complained = false;
        let follower =
            Self { cluster, queues, node_groups, listed: None, progress, has_complained };
        (follower, listed)
    }

    fn note(&self, state: &mut ClusterState, name: &str, marked: bool) {
        if !change(&mut state.world, |exempt| exempt.mark_namespace(name, marked)) {
            return;
        }
        tracing::info!(
            namespace = name,
            marked,
            "a namespace was marked with {MARK}, or is not any more"
        );
        for policy in state.policies.keys().filter(|it| it.identity.namespace() == name) {
            self.queues.wake(policy);
            self.queues.statuses.wake(policy);
            state.world.readers_of(policy).for_each(|reader| self.queues.wake(&reader));
        }
        for group in state.node_groups.keys().filter(|group| group.namespace() == name) {
            self.node_groups.wake(group);
        }
    }
}

impl Follower for NamespaceFollower {
    fn begin_list(&mut self) {
        self.listed = Some(BTreeSet::new());
    }

    fn upsert(&mut self, object: DynamicObject) {
        let is_marked = is_marked(&object.metadata);
        let name = object.metadata.name.unwrap_or_default();
        self.note(&mut self.cluster.lock(), &name, is_marked);
        if let Some(listed) = self.listed.as_mut().filter(|_| is_marked) {
            listed.insert(name);
        }
    }

    fn delete(&mut self, object: DynamicObject) {
        let name = object.metadata.name.unwrap_or_default();
        self.note(&mut self.cluster.lock(), &name, false);
    }

    fn list_complete(&mut self) {
        let listed = self.listed.take().unwrap_or_default();
        let mut state = self.cluster.lock();
        let known = state.world.exempt.marked_namespaces();
        let gone: Vec<_> = known.filter(|name| !listed.contains(&***name)).cloned().collect();
        for name in gone {
            self.note(&mut state, &name, false);
        }
        self.progress.send_replace(ListProgress::Whole);
    }

    fn failed(&mut self, why: &WatchFailure) {
        if why.is_forbidden && !self.has_complained {
            self.has_complained = true;
            tracing::warn!(
                error = why.reason,
                "failed to watch namespaces: whether they are marked with {MARK} is not known, and what is in \
                 them is carried out"
            );
        }
        self.progress.send_if_modified(|progress| {
            let is_first = *progress != ListProgress::Whole;
            if is_first {
                *progress = ListProgress::Failing(why.clone());
            }
            is_first
        });
    }

    fn versions_went_back(&mut self) {}
}
