//! Tracks the namespaces with the ignore annotation, which exempts their objects. Objects in a namespace that a flag
//! exempts are not watched at all.
//!
//! The followers of objects handle the annotations of the objects. Without the permission to watch namespaces, a
//! process for the whole cluster reconciles all namespaces that are not exempt otherwise, and logs a warning. A process
//! for some namespaces reads each namespace every 10 s instead, and reconciles nothing in a namespace that it is
//! forbidden to read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use almanac_api::exempt::{MARK, is_marked};
use almanac_engine::{Exemptions, NamespaceMark, World};
use almanac_shell::following::{Follower, WatchFailure};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DynamicObject, ObjectMeta};
use kube::{Api, Client};
use tokio::time::{Instant, sleep, timeout};

use crate::list_progress::{FORBIDDEN_PATIENCE, ListReceiver, ListReport};

/// The interval of reading a namespace if watching it is forbidden.
pub(crate) const READ_INTERVAL: Duration = Duration::from_secs(10);

/// The first delay of a retry. Nothing can be reconciled before all namespaces have been read once.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// The time limit of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Changes what is exempt in a world.
pub(crate) fn change(world: &mut World, change: impl FnOnce(&mut Exemptions) -> bool) -> bool {
    change(Arc::make_mut(&mut world.objects.exempt))
}

/// Skips the objects in namespaces that a flag exempts. Another installation may reconcile these objects. So this
/// process keeps no entry for them, gives them no turn, and writes nothing to or about them.
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

    fn needs_relist(&self) -> bool {
        self.inner.needs_relist()
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

/// Tracks the namespaces with the ignore annotation, and calls `on_change` for each namespace that gains or loses it.
pub(crate) struct NamespaceFollower<OnChange> {
    on_change: OnChange,
    /// The namespaces that have the annotation, or may have it.
    marks: BTreeMap<String, NamespaceMark>,
    /// The namespaces with the annotation in the current list.
    listed: Option<BTreeSet<String>>,
    progress: ListReport,
    has_complained: bool,
}

impl<OnChange: Fn(&str, NamespaceMark) + Send> NamespaceFollower<OnChange> {
    pub(crate) fn new(on_change: OnChange) -> (Self, ListReceiver) {
        let (progress, listed) = ListReport::new();
        let (marks, has_complained) = (BTreeMap::new(), false);
        (Self { on_change, marks, listed: None, progress, has_complained }, listed)
    }

    fn note(&mut self, name: &str, mark: NamespaceMark) {
        let before = if mark == NamespaceMark::Absent {
            self.marks.remove(name)
        } else {
            self.marks.insert(name.to_owned(), mark)
        };
        let before = before.unwrap_or(NamespaceMark::Absent);
        if mark == before {
            return;
        }
        if mark != NamespaceMark::Unread {
            tracing::info!(
                namespace = name,
                marked = mark == NamespaceMark::Present,
                "the mark {MARK} of a namespace changed, or became known"
            );
        }
        (self.on_change)(name, mark);
    }
}

/// Whether a namespace has the annotation.
fn mark_of(metadata: &ObjectMeta) -> NamespaceMark {
    if is_marked(metadata) { NamespaceMark::Present } else { NamespaceMark::Absent }
}

impl<OnChange: Fn(&str, NamespaceMark) + Send> NamespaceFollower<OnChange> {
    /// Reads the annotations of these namespaces repeatedly. A namespace that is missing or forbidden to read is
    /// reported once, until it can be read.
    pub(crate) async fn poll(mut self, client: Client, names: Vec<Arc<str>>, interval: Duration) {
        let namespaces: Api<Namespace> = Api::all(client);
        let mut unread: BTreeSet<Arc<str>> = BTreeSet::new();
        let mut read_once: BTreeSet<Arc<str>> = BTreeSet::new();
        // An API server that has just started does not serve all roles yet.
        let patient_until = Instant::now() + FORBIDDEN_PATIENCE;
        loop {
            let mut is_whole = true;
            for name in &names {
                let response = timeout(REQUEST_TIMEOUT, namespaces.get_metadata_opt(name)).await;
                let why = match response {
                    Ok(Ok(Some(namespace))) => {
                        self.note(name, mark_of(&namespace.metadata));
                        unread.remove(name);
                        read_once.insert(Arc::clone(name));
                        continue;
                    }
                    Ok(Ok(None)) => {
                        self.note(name, NamespaceMark::Absent);
                        read_once.remove(name);
                        "the namespace does not exist".to_owned()
                    }
                    // The last known annotation stays in effect. A namespace that was never read may have one.
                    Ok(Err(kube::Error::Api(status))) if status.code == 403 => {
                        if !read_once.contains(name) {
                            is_whole &= Instant::now() >= patient_until;
                            self.note(name, NamespaceMark::Unread);
                        }
                        format!("{}; the namespace or its role might be missing", status.message)
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
                        "failed to read a namespace: whether the namespace is marked with {MARK} is unknown"
                    );
                }
            }
            if is_whole {
                self.progress.complete();
            }
            let is_known = self.progress.is_complete();
            sleep(if is_known { interval } else { FIRST_RETRY }).await;
        }
    }
}

impl<OnChange: Fn(&str, NamespaceMark) + Send> Follower for NamespaceFollower<OnChange> {
    fn begin_list(&mut self) {
        self.listed = Some(BTreeSet::new());
    }

    fn upsert(&mut self, object: DynamicObject) {
        let mark = mark_of(&object.metadata);
        let name = object.metadata.name.unwrap_or_default();
        self.note(&name, mark);
        if let Some(listed) = self.listed.as_mut().filter(|_| mark == NamespaceMark::Present) {
            listed.insert(name);
        }
    }

    fn delete(&mut self, object: DynamicObject) {
        self.note(&object.metadata.name.unwrap_or_default(), NamespaceMark::Absent);
    }

    fn list_complete(&mut self) {
        let listed = self.listed.take().unwrap_or_default();
        let gone: Vec<_> =
            self.marks.keys().filter(|name| !listed.contains(*name)).cloned().collect();
        for name in gone {
            self.note(&name, NamespaceMark::Absent);
        }
        self.progress.complete();
    }

    fn failed(&mut self, why: &WatchFailure) {
        if why.is_forbidden && !self.has_complained {
            self.has_complained = true;
            tracing::warn!(
                error = why.reason,
                "failed to watch namespaces: whether they are marked with {MARK} is unknown, and their \
                 objects are treated as unmarked"
            );
        }
        self.progress.failed(why);
    }

    fn versions_went_back(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A follower that always needs another list.
    struct Wanting;

    impl Follower for Wanting {
        fn begin_list(&mut self) {}
        fn upsert(&mut self, _: DynamicObject) {}
        fn delete(&mut self, _: DynamicObject) {}
        fn list_complete(&mut self) {}
        fn failed(&mut self, _: &WatchFailure) {}
        fn needs_relist(&self) -> bool {
            true
        }
        fn versions_went_back(&mut self) {}
    }

    #[test]
    fn a_follower_behind_an_exemption_gets_its_list() {
        assert!(Excluding::new(&[], Wanting).needs_relist());
    }
}
