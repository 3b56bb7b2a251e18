//! Starts from a list of the `PlacementDecision`s and follows them, one event after the other, checking after each
//! that no required cluster is missing. The caller sets the required clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use almanac_harness::{Observation, await_condition};
use almanac_second_scheduler::{Decision, GROUP_INDEX_LABEL, GROUP_NAME_LABEL, PLACEMENT_LABEL};
use anyhow::{Result, ensure};
use futures::{StreamExt as _, pin_mut};
use kube::api::{Api, DynamicObject, ListParams, WatchEvent, WatchParams};
use kube::core::ApiResource;
use tokio::task::JoinHandle;

use crate::controller::Cluster;
use crate::placement_watcher::PATIENCE;
use crate::placement_watcher::stage::{GROUP, NAMESPACE};

/// The clusters of each placement.
pub(crate) type ByPlacement<Clusters> = BTreeMap<String, Clusters>;

/// A running watch of decisions.
pub(crate) struct Watcher {
    watched: Arc<Mutex<WatchedObjects>>,
    follows: JoinHandle<()>,
}

/// The observed objects.
#[derive(Default)]
struct WatchedObjects {
    /// The existing decisions by name, with the placement of each decision.
    decisions: BTreeMap<String, (String, Decision)>,
    required: ByPlacement<BTreeSet<String>>,
    events: usize,
    /// The first missing cluster.
    missing: Option<String>,
}

impl Watcher {
    /// Starts a watcher; returns after the first list.
    pub(crate) async fn start(cluster: &Cluster) -> Result<Self> {
        let resource = ApiResource {
            group: GROUP.to_owned(),
            version: "v1beta1".to_owned(),
            api_version: format!("{GROUP}/v1beta1"),
            kind: "PlacementDecision".to_owned(),
            plural: "placementdecisions".to_owned(),
        };
        let api = Api::namespaced_with(cluster.client(), NAMESPACE, &resource);
        let watched = Arc::new(Mutex::new(WatchedObjects::default()));
        // The first request for a new kind may get a response to retry.
        let version = await_condition("a list of the decisions", PATIENCE, async || {
            Ok(Observation::Holds(list(&api, &watched).await?))
        });
        let version = version.await?;
        let follows = tokio::spawn(follow(api, Arc::clone(&watched), version));
        Ok(Self { watched, follows })
    }

    /// Requires that these clusters are always selected from now on.
    pub(crate) fn require(&self, required: ByPlacement<BTreeSet<String>>) {
        locked(&self.watched).required = required;
        locked(&self.watched).check(&"what was required");
    }

    /// The number of observed events.
    pub(crate) fn events(&self) -> usize {
        locked(&self.watched).events
    }

    /// Whether the decisions of every placement are these; an error if a required cluster was missing before.
    pub(crate) fn has(&self, expected: &ByPlacement<Vec<Decision>>) -> Result<bool> {
        Ok(self.differing(expected)?.is_empty())
    }

    /// Waits until the decisions of every placement are these, with no required cluster missing in between.
    pub(crate) async fn await_decided(&self, expected: &ByPlacement<Vec<Decision>>) -> Result<()> {
        // A missing cluster is a final failure, reported immediately.
        let outcome = await_condition("the decisions of all placements", PATIENCE, async || {
            Ok(match self.differing(expected) {
                Ok(differing) if differing.is_empty() => Observation::Holds(Ok(())),
                Ok(differing) => Observation::NotYet(format!("{differing:?} differ")),
                Err(missing) => Observation::Holds(Err(missing)),
            })
        });
        outcome.await?
    }

    /// Waits until one decision has these clusters, with no required cluster missing in between.
    pub(crate) async fn await_in(&self, name: &str, clusters: &[&str]) -> Result<()> {
        await_condition("the clusters of a decision", PATIENCE, async || {
            let watched = locked(&self.watched);
            let actual = watched.decisions.get(name).map(|(_, it)| it.clusters.clone());
            let is_so = actual.as_ref().is_some_and(|it| *it == clusters);
            Ok(Observation::from_bool(is_so, format!("{actual:?}")))
        })
        .await?;
        self.ensure_nothing_was_missing()
    }

    /// The names of decisions that are not as expected.
    fn differing(&self, expected: &ByPlacement<Vec<Decision>>) -> Result<BTreeSet<String>> {
        self.ensure_nothing_was_missing()?;
        let watched = locked(&self.watched);
        let expected = expected.iter().flat_map(|(placement, decisions)| {
            decisions.iter().map(move |it| (it.name.clone(), (placement.clone(), it.clone())))
        });
        let expected: BTreeMap<String, (String, Decision)> = expected.collect();
        let names = watched.decisions.keys().chain(expected.keys());
        let differing = names.filter(|name| watched.decisions.get(*name) != expected.get(*name));
        Ok(differing.cloned().collect())
    }

    fn ensure_nothing_was_missing(&self) -> Result<()> {
        ensure!(!self.follows.is_finished(), "the watcher has panicked");
        let watched = locked(&self.watched);
        ensure!(watched.missing.is_none(), "{}", watched.missing.as_deref().unwrap_or_default());
        Ok(())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.follows.abort();
    }
}

impl WatchedObjects {
    fn put(&mut self, object: &DynamicObject) {
        let metadata = &object.metadata;
        let label = |key: &str| {
            let labels = metadata.labels.as_ref();
            labels.and_then(|it| it.get(key)).cloned().unwrap_or_default()
        };
        let decisions = object.data["status"]["decisions"].as_array();
        let names = decisions.into_iter().flatten().filter_map(|it| it["clusterName"].as_str());
        let name = metadata.name.clone().unwrap_or_default();
        let decision = Decision {
            name: name.clone(),
            group: label(GROUP_NAME_LABEL),
            group_index: label(GROUP_INDEX_LABEL).parse().unwrap_or(usize::MAX),
            clusters: names.map(str::to_owned).collect(),
        };
        self.decisions.insert(name, (label(PLACEMENT_LABEL), decision));
    }

    fn remove(&mut self, object: &DynamicObject) {
        self.decisions.remove(object.metadata.name.as_deref().unwrap_or_default());
    }

    fn check(&mut self, after: &impl Debug) {
        self.events += 1;
        for (placement, required) in &self.required {
            let own = self.decisions.values().filter(|(of, _)| of == placement);
            let there: BTreeSet<&String> = own.flat_map(|(_, it)| &it.clusters).collect();
            let lacking: BTreeSet<_> = required.iter().filter(|it| !there.contains(it)).collect();
            if !lacking.is_empty() {
                let description = || format!("{placement} lacks {lacking:?} after {after:?}");
                self.missing.get_or_insert_with(description);
            }
        }
    }
}

fn locked(watched: &Mutex<WatchedObjects>) -> std::sync::MutexGuard<'_, WatchedObjects> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lists all objects again; returns the version of the list.
async fn list(api: &Api<DynamicObject>, watched: &Mutex<WatchedObjects>) -> Result<String> {
    let list = api.list(&ListParams::default()).await?;
    let mut watched = locked(watched);
    watched.decisions.clear();
    for object in &list.items {
        watched.put(object);
    }
    watched.check(&"a list");
    Ok(list.metadata.resource_version.unwrap_or_default())
}

async fn follow(api: Api<DynamicObject>, watched: Arc<Mutex<WatchedObjects>>, mut version: String) {
    loop {
        let Ok(events) = api.watch(&WatchParams::default(), &version).await else { continue };
        pin_mut!(events);
        while let Some(event) = events.next().await {
            let object = match &event {
                Ok(WatchEvent::Added(it) | WatchEvent::Modified(it)) => {
                    locked(&watched).put(it);
                    it
                }
                Ok(WatchEvent::Deleted(it)) => {
                    locked(&watched).remove(it);
                    it
                }
                Ok(WatchEvent::Bookmark(it)) => {
                    version.clone_from(&it.metadata.resource_version);
                    continue;
                }
                // The version has expired, or the connection has ended.
                Ok(WatchEvent::Error(_)) => {
                    if let Ok(listed) = list(&api, &watched).await {
                        version = listed;
                    }
                    break;
                }
                Err(_) => break,
            };
            version = object.metadata.resource_version.clone().unwrap_or_default();
            let description = (&object.metadata.name, &version);
            locked(&watched).check(&description);
        }
    }
}
