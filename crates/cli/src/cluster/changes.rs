//! Watches that tell when a cluster may give another answer.
//!
//! They are on policies, autoscalers, workloads, the objects of hubs and `CronJobs`, and ask for metadata only. Pods,
//! nodes, namespaces, `ConfigMaps` and kinds that only the cluster knows are too many or too busy: what changes of them
//! shows when the cluster is read again. A watch that is refused is left out, one that ends begins again.

use std::time::Duration;

use almanac_api::kinds::{Kind, Role};
use anyhow::Context as _;
use clap::Args;
use futures::future;
use futures::stream::{self, LocalBoxStream, SelectAll};
use futures::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use kube::api::{ApiResource, ListParams, WatchEvent, WatchParams};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use super::requests::{ANSWERED_WITHIN, AT_ONCE, Requests, Scope};
use super::{ClusterArguments, cron_jobs};

/// Whether to go on printing.
#[derive(Args)]
pub(crate) struct WatchArguments {
    /// Print the answer of a cluster again whenever it changes, until interrupted
    #[arg(short, long, conflicts_with_all = ["file", "kustomize", "what_if", "from"])]
    pub(crate) watch: bool,
}

/// The watches on a cluster.
pub(crate) struct Changes {
    runtime: Runtime,
    requests: Requests,
    watches: Watches,
}

/// `true` for each change, and `false` at the end of each watch.
type Watches = SelectAll<LocalBoxStream<'static, bool>>;

impl ClusterArguments {
    /// What tells of changes of the cluster, in this namespace unless all are read.
    pub(crate) fn changes(
        &self,
        namespace: Option<&str>,
        now: Timestamp,
    ) -> anyhow::Result<Changes> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("failed to start the network runtime")?;
        // A client belongs to the runtime that it is made in.
        let requests = runtime.block_on(async { self.requests(namespace, now) })?;
        Ok(Changes { runtime, requests, watches: Watches::new() })
    }
}

impl Changes {
    /// Waits until something changes, but never longer than this. What has changed before the watches begin shows
    /// when the cluster is read again, so that is at once.
    pub(crate) fn wait(&mut self, most: Duration) {
        let Changes { runtime, requests, watches } = self;
        runtime.block_on(async {
            if watches.is_empty() {
                *watches = begin(requests).await;
                if watches.is_empty() {
                    tokio::time::sleep(most).await;
                }
                return;
            }
            let Ok(first) = timeout(most, watches.next()).await else { return };
            let mut is_over = first != Some(true);
            // What has changed at the same time is read at once.
            while let Some(Some(change)) = watches.next().now_or_never() {
                is_over |= !change;
            }
            if is_over {
                *watches = begin(requests).await;
            }
        });
    }
}

/// Begins all watches that the cluster allows.
async fn begin(requests: &Requests) -> Watches {
    let kinds = Kind::ALL.iter().copied().filter(|kind| *kind != Kind::ConfigMap);
    let watched = kinds.map(|kind| {
        // A cluster of a hub is elsewhere than the placements that select it.
        let is_everywhere = !kind.is_namespaced() || matches!(kind.role(), Role::Hub);
        (kind.resource(), !is_everywhere)
    });
    let watched = watched.chain([(cron_jobs::resource(), true)]);
    let begun = stream::iter(watched.map(|(resource, is_in_scope)| async move {
        let scope = Some(requests.scope()).filter(|_| is_in_scope);
        watch(requests, &resource, scope).await
    }));
    let begun: Vec<Option<LocalBoxStream<'static, bool>>> = begun.buffered(AT_ONCE).collect().await;
    stream::select_all(begun.into_iter().flatten())
}

/// Watches all objects of a kind from now on; `None` where that is not possible.
async fn watch(
    requests: &Requests,
    resource: &ApiResource,
    scope: Option<&Scope>,
) -> Option<LocalBoxStream<'static, bool>> {
    let api = requests.api(resource, scope);
    let asked = ListParams::default().limit(1);
    let listed = timeout(ANSWERED_WITHIN, api.list_metadata(&asked)).await.ok()?.ok()?;
    let version = listed.metadata.resource_version?;
    let params = WatchParams::default();
    let events =
        timeout(ANSWERED_WITHIN, api.watch_metadata(&params, &version)).await.ok()?.ok()?;
    let sound = events.take_while(|event| {
        future::ready(matches!(event, Ok(it) if !matches!(it, WatchEvent::Error(_))))
    });
    let changes =
        sound.filter(|event| future::ready(!matches!(event, Ok(WatchEvent::Bookmark(_)))));
    let end = stream::once(future::ready(false));
    Some(changes.map(|_| true).chain(end).boxed_local())
}
