//! Watches that report possible changes of the output for a cluster.
//!
//! The watches cover policies, autoscalers, workloads, the objects of hubs and `CronJobs`, and request metadata only.
//! Pods, nodes, namespaces, `ConfigMaps` and kinds for which Almanac has no type are too many or change too often.
//! Their changes appear at the next read of the cluster. A rejected watch is retried periodically.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use almanac_api::kinds::{Kind, Role};
use almanac_shell::following::{Deliveries, Delivery, Selection};
use anyhow::Context as _;
use clap::Args;
use jiff::Timestamp;
use kube::Client;
use kube::api::{ApiResource, DynamicObject};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::{ClusterArguments, cron_jobs};

/// Whether to print again after changes.
#[derive(Args)]
pub(crate) struct WatchArguments {
    /// Print the output for a cluster again whenever it changes, until interrupted
    #[arg(short, long, conflicts_with_all = ["file", "kustomize", "what_if", "from"])]
    pub(crate) watch: bool,
}

/// The watches on a cluster.
pub(crate) struct Changes {
    runtime: Runtime,
    /// Stores a change that arrives before the next wait.
    changed: Arc<Notify>,
}

impl ClusterArguments {
    /// Starts watches on the cluster, in this namespace unless all namespaces are read.
    pub(crate) fn changes(
        &self,
        namespace: Option<&str>,
        now: Timestamp,
    ) -> anyhow::Result<Changes> {
        // The watches continue while the cluster is read.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .context("failed to start the network runtime")?;
        // A client belongs to the runtime that creates it.
        let requests = runtime.block_on(async { self.requests(namespace, now) })?;
        let changed = Arc::<Notify>::default();
        for (resource, is_in_scope) in watched() {
            let namespace = requests.scope().namespace().filter(|_| is_in_scope);
            let selection = Selection {
                namespace: namespace.map(str::to_owned),
                metadata_only: true,
                ..Selection::default()
            };
            runtime.spawn(watch(requests.client(), resource, selection, Arc::clone(&changed)));
        }
        Ok(Changes { runtime, changed })
    }
}

impl Changes {
    /// Waits for a change, at most this long. A change before the start of a watch appears at the next read of the
    /// cluster, so each new list counts as a change.
    pub(crate) fn wait(&mut self, most: Duration) {
        let Changes { runtime, changed } = self;
        // The cluster is read after a timeout, too.
        let _ = runtime.block_on(async { timeout(most, changed.notified()).await });
    }
}

/// The watched kinds. The flag is true for a watch of the scope only.
fn watched() -> impl Iterator<Item = (ApiResource, bool)> {
    let kinds = Kind::ALL.iter().copied().filter(|kind| *kind != Kind::ConfigMap);
    let watched = kinds.map(|kind| {
        // The clusters of a hub and the placements that select them are in different namespaces.
        let is_everywhere = !kind.is_namespaced() || matches!(kind.role(), Role::Hub);
        (kind.resource(), !is_everywhere)
    });
    watched.chain([(cron_jobs::resource(), true)])
}

/// Notifies of each change of a kind, without end.
async fn watch(client: Client, kind: ApiResource, selection: Selection, changed: Arc<Notify>) {
    let mut deliveries = Deliveries::begin(client, kind, selection);
    let (mut listed, mut last) = (0, None);
    while let Some(delivery) = deliveries.receive().await {
        match delivery {
            Delivery::ListBegins => listed = 0,
            Delivery::Listed(object) => listed ^= hash_of(&object),
            // A list with the same objects as the previous list is not a change; where only watches are refused,
            // lists repeat.
            Delivery::ListComplete if last.replace(listed) == Some(listed) => {}
            Delivery::Changed(_) | Delivery::Gone(_) | Delivery::ListComplete => {
                changed.notify_one();
            }
        }
    }
}

/// A hash of the current state of an object.
fn hash_of(object: &DynamicObject) -> u64 {
    let mut hasher = DefaultHasher::new();
    let metadata = &object.metadata;
    (&metadata.namespace, &metadata.name, &metadata.resource_version).hash(&mut hasher);
    hasher.finish()
}
