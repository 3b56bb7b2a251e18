//! Which namespaces bear the mark that exempts what is in them, as the cluster tells.
//!
//! Objects tell of their own mark where they are followed. Who may not watch namespaces carries out everything
//! that is not exempt otherwise, and says so.

use std::collections::BTreeSet;
use std::sync::Arc;

use almanac_api::exempt::{MARK, is_marked};
use almanac_engine::{Exemptions, World};
use almanac_shell::following::{Follower, WatchFailure};
use kube::api::DynamicObject;
use tokio::sync::watch;

use crate::list_progress::{ListProgress, ListReport};

/// Changes what is exempt in a world.
pub(crate) fn change(world: &mut World, change: impl FnOnce(&mut Exemptions) -> bool) -> bool {
    change(Arc::make_mut(&mut world.exempt))
}

/// Notes which namespaces bear the mark, and tells of each for which that changes.
pub(crate) struct NamespaceFollower<Tell> {
    tell: Tell,
    marked: BTreeSet<String>,
    /// Those that bear the mark in the listing that is being told.
    listed: Option<BTreeSet<String>>,
    progress: ListReport,
    has_complained: bool,
}

impl<Tell: Fn(&str, bool) + Send> NamespaceFollower<Tell> {
    pub(crate) fn new(tell: Tell) -> (Self, watch::Receiver<ListProgress>) {
        let (progress, listed) = ListReport::new();
        let (marked, has_complained) = (BTreeSet::new(), false);
        (Self { tell, marked, listed: None, progress, has_complained }, listed)
    }

    fn note(&mut self, name: &str, marked: bool) {
        let is_news =
            if marked { self.marked.insert(name.to_owned()) } else { self.marked.remove(name) };
        if is_news {
            tracing::info!(
                namespace = name,
                marked,
                "a namespace was marked with {MARK}, or is not any more"
            );
            (self.tell)(name, marked);
        }
    }
}

impl<Tell: Fn(&str, bool) + Send> Follower for NamespaceFollower<Tell> {
    fn begin_list(&mut self) {
        self.listed = Some(BTreeSet::new());
    }

    fn upsert(&mut self, object: DynamicObject) {
        let is_marked = is_marked(&object.metadata);
        let name = object.metadata.name.unwrap_or_default();
        self.note(&name, is_marked);
        if let Some(listed) = self.listed.as_mut().filter(|_| is_marked) {
            listed.insert(name);
        }
    }

    fn delete(&mut self, object: DynamicObject) {
        self.note(&object.metadata.name.unwrap_or_default(), false);
    }

    fn list_complete(&mut self) {
        let listed = self.listed.take().unwrap_or_default();
        let gone: Vec<_> = self.marked.difference(&listed).cloned().collect();
        for name in gone {
            self.note(&name, false);
        }
        self.progress.complete();
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
        self.progress.failed(why);
    }

    fn versions_went_back(&mut self) {}
}
