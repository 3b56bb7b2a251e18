//! Which namespaces bear the mark that exempts their objects. Objects in a namespace that a flag exempts are not followed
//! at all.
//!
//! Objects tell of their own mark where they are followed. Who may not watch namespaces carries out everything
//! that is not exempt otherwise, and says so. Who is limited to some namespaces may not watch them, but may read them,
//! and asks for each of them now and then.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use almanac_api::exempt::{MARK, is_marked};
use almanac_engine::{Exemptions, World};
use almanac_shell::following::{Follower, WatchFailure};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::DynamicObject;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::list_progress::{FORBIDDEN_PATIENCE, ListProgress, ListReport};

/// How often a namespace is read that may not be watched.
pub(crate) const READ_INTERVAL: Duration = Duration::from_secs(10);

/// Nothing can be carried out before all of them have been read once.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// A response that takes longer is not waited for.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Changes what is exempt in a world.
pub(crate) fn change(world: &mut World, change: impl FnOnce(&mut Exemptions) -> bool) -> bool {
    change(Arc::make_mut(&mut world.exempt))
}

/// Leaves out the objects in namespaces that a flag exempts. Another installation may carry them out, so this one keeps
/// nothing of them, has no turn for them, and writes neither to them nor about them.
pub(crate) struct Excluding<Inner> {
    namespaces: Arc<[String]>,
    inner: Inner,
}

impl<Inner: Follower> Excluding<Inner> {
    pub(crate) fn new(namespaces: &[String], inner: Inner) -> Self {
        Self { namespaces: namespaces.into(), inner }
    }

    fn excludes(&self, object: &DynamicObject) -> bool {
        let namespace = object.metadata.namespace.as_ref();
        namespace.is_some_and(|namespace| self.namespaces.contains(namespace))
    }
}

impl<Inner: Follower> Follower for Excluding<Inner> {
    fn listing_at(&mut self, version: &str) {
        self.inner.listing_at(version);
    }

    fn begin_list(&mut self) {
        self.inner.begin_list();
    }

    fn upsert(&mut self, object: DynamicObject) {
        if !self.excludes(&object) {
            self.inner.upsert(object);
        }
    }

    fn delete(&mut self, object: DynamicObject) {
        if !self.excludes(&object) {
            self.inner.delete(object);
        }
    }

    fn list_complete(&mut self) {
        self.inner.list_complete();
    }

    fn failed(&mut self, why: &WatchFailure) {
        self.inner.failed(why);
    }

    fn resumed(&mut self) {
        self.inner.resumed();
    }

    fn versions_went_back(&mut self) {
        self.inner.versions_went_back();
    }
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

impl<Tell: Fn(&str, bool) + Send> NamespaceFollower<Tell> {
    /// Asks for the marks of these namespaces, again and again. That a namespace is not there, or may not be read, is
    /// told once until it is.
    pub(crate) async fn ask(mut self, client: Client, names: Vec<Arc<str>>, pause: Duration) {
        let namespaces: Api<Namespace> = Api::all(client);
        let mut unread: BTreeSet<Arc<str>> = BTreeSet::new();
        let mut known: BTreeSet<Arc<str>> = BTreeSet::new();
        // An API server that has just started does not know all roles yet.
        let patient_until = Instant::now() + FORBIDDEN_PATIENCE;
        loop {
            let mut is_whole = true;
            for name in &names {
                let answer = timeout(REQUEST_TIMEOUT, namespaces.get_metadata_opt(name)).await;
                let why = match answer {
                    Ok(Ok(Some(namespace))) => {
                        self.note(name, is_marked(&namespace.metadata));
                        unread.remove(name);
                        known.insert(Arc::clone(name));
                        continue;
                    }
                    Ok(Ok(None)) => {
                        self.note(name, false);
                        known.remove(name);
                        "there is no such namespace".to_owned()
                    }
                    // What was known before still counts. What was never known might be a mark.
                    Ok(Err(kube::Error::Api(status))) if status.code == 403 => {
                        if !known.contains(name) {
                            is_whole &= Instant::now() >= patient_until;
                            if self.marked.insert(name.to_string()) {
                                (self.tell)(name, true);
                            }
                        }
                        format!("{}; it may not be there, or not have the role", status.message)
                    }
                    Ok(Err(_)) | Err(_) => {
                        is_whole = false;
                        continue;
                    }
                };
                if unread.insert(Arc::clone(name)) {
                    tracing::warn!(
                        namespace = &**name,
                        error = why,
                        "failed to read a namespace: whether it is marked with {MARK} is not known"
                    );
                }
            }
            if is_whole {
                self.progress.complete();
            }
            let is_known = self.progress.is_complete();
            sleep(if is_known { pause } else { FIRST_RETRY }).await;
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
