//! The watches of a term: starts each watch, counts its age, and adds its first list to the lists that the term waits
//! for.

use std::time::Duration;

use almanac_api::exempt;
use almanac_api::kinds::Kind;
use almanac_engine::NamespaceMark;
use almanac_shell::following::{Follower, Need, Selection, WatchAges, follow_selected};
use kube::Client;
use kube::api::DynamicObject;
use kube::core::ApiResource;

use super::running::{RunningTerm, WATCHES};
use crate::exemptions::NamespaceFollower;
use crate::list_progress::{AwaitedLists, ListNeed, ListReceiver};
use crate::namespaces::{Namespaces, Part};

/// A watch to start.
pub(crate) struct Watch {
    pub(crate) resource: ApiResource,
    pub(crate) selection: Selection,
    /// The name under which the age of the watch is counted.
    pub(crate) age: String,
    pub(crate) need: Need,
}

impl Watch {
    /// A watch of all objects of a kind.
    pub(crate) fn new(resource: ApiResource, need: Need) -> Self {
        let (selection, age) = (Selection::default(), resource.plural.clone());
        Self { resource, selection, age, need }
    }
}

/// Watches a kind, and counts the age of the watch from now on.
pub(crate) fn watch<F: Follower + 'static>(
    client: &Client,
    ages: &WatchAges,
    watch: Watch,
    mut follower: F,
) -> impl Future<Output = ()> + Send + use<F> {
    let Watch { resource, selection, age, need } = watch;
    let (client, age) = (client.clone(), ages.begin(&age, need));
    async move { follow_selected(client, &resource, &selection, age, &mut follower).await }
}

impl RunningTerm {
    fn begin_watch(&mut self, watched: Watch, follower: impl Follower + 'static) {
        let watching = watch(&self.client, self.health.watch_ages(), watched, follower);
        self.spawn(WATCHES, watching);
    }

    /// Starts a watch. The term waits for its first list. If the term can run without the watch, the term does not wait
    /// once the list is refused.
    pub(crate) fn watch(
        &mut self,
        what: impl Into<String>,
        watched: Watch,
        (follower, listed): (impl Follower + 'static, ListReceiver),
    ) {
        let is_needed = watched.need != Need::Never;
        let need = if is_needed { ListNeed::Always } else { ListNeed::UnlessRefused };
        self.begin_watch(watched, follower);
        self.await_list(what, listed, need);
    }

    /// Starts a watch for each part of a kind. The term waits for the lists of all parts, if the cluster serves the
    /// kind.
    pub(crate) fn watch_kind<F: Follower + 'static>(
        &mut self,
        kind: Kind,
        namespaces: &Namespaces,
        follower: impl Fn(Part) -> (F, ListReceiver),
    ) {
        let select = |part: &Part| Watch {
            selection: part.selection(),
            ..Watch::new(kind.resource(), part.need())
        };
        self.watch_parts(kind.name(), namespaces, select, follower);
    }

    /// Starts a watch for each part of a kind, with a selection for each part.
    pub(crate) fn watch_parts<F: Follower + 'static>(
        &mut self,
        kind: &str,
        namespaces: &Namespaces,
        select: impl Fn(&Part) -> Watch,
        follower: impl Fn(Part) -> (F, ListReceiver),
    ) {
        let mut parts = Vec::new();
        for part in namespaces.parts() {
            let (follower, listed) = follower(part.clone());
            self.begin_watch(select(&part), follower);
            parts.push((part, listed));
        }
        self.add_awaited(AwaitedLists::for_kind(kind, parts));
    }

    /// Starts tracking which namespaces have the ignore annotation. The namespaces that the process is limited to are
    /// read at this interval.
    pub(crate) fn watch_namespaces(
        &mut self,
        namespaces: &Namespaces,
        (selection, interval): (Selection, Duration),
        on_change: impl Fn(&str, NamespaceMark) + Send + 'static,
    ) {
        let (follower, listed) = NamespaceFollower::new(on_change);
        if let Some(names) = namespaces.limit() {
            let names = names.iter().cloned().collect();
            let reading = follower.poll(self.client.clone(), names, interval);
            self.spawn(WATCHES, reading);
        } else {
            let selection = Selection { metadata_only: true, ..selection };
            let watched = Watch { selection, ..Watch::new(exempt::namespaces(), Need::Never) };
            self.begin_watch(watched, follower);
        }
        self.await_list("all namespaces", listed, ListNeed::UnlessRefused);
    }
}

/// A kind of the core group.
pub(crate) fn core(kind: &str, plural: &str) -> ApiResource {
    ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

/// The namespace and the name of an object.
pub(crate) fn names(object: &DynamicObject) -> (&str, &str) {
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    (namespace, object.metadata.name.as_deref().unwrap_or_default())
}
