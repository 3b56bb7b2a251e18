//! The node of each pod at every instant, by a watch of the API server: a unit must never exceed its cap, even for an
//! instant.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use almanac_harness::{Observation, TestResult, await_condition};
use anyhow::{Context as _, bail, ensure};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{WatchEvent, WatchParams};
use tokio::task::JoinHandle;

/// A watch of the pods of an app, until drop.
pub(crate) struct Watched {
    known: Arc<WatchedApp>,
    watching: JoinHandle<()>,
}

struct WatchedApp {
    app: &'static str,
    /// The units with a cap, by the names of their nodes.
    units: &'static [&'static str],
    cap: usize,
    pods: Mutex<Pods>,
}

#[derive(Default)]
struct Pods {
    nodes: BTreeMap<String, Option<String>>,
    /// The first case in which a unit exceeded its cap.
    over: Option<Vec<usize>>,
}

impl Watched {
    pub(crate) fn begin(
        pods: Api<Pod>,
        (app, units, cap): (&'static str, &'static [&'static str], usize),
    ) -> Self {
        let known = Arc::new(WatchedApp { app, units, cap, pods: Mutex::default() });
        let watching = tokio::spawn(Arc::clone(&known).watch(pods));
        Self { known, watching }
    }

    /// Waits until each unit has this number of pods, as do the nodes outside all units and the list of pending pods.
    /// Fails if a unit ever exceeds its cap.
    pub(crate) async fn await_spread(
        &self,
        what: &str,
        patience: Duration,
        is_it: impl Fn(&[usize]) -> bool,
    ) -> TestResult {
        await_condition(what, patience, async || {
            let pods = self.known.lock();
            let spread = self.known.spread(&pods);
            Ok(Observation::from_bool(pods.over.is_some() || is_it(&spread), format!("{spread:?}")))
        })
        .await?;
        let over = self.known.lock().over.clone();
        ensure!(over.is_none(), "a unit had more pods than its cap: {over:?}");
        Ok(())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

impl WatchedApp {
    fn lock(&self) -> MutexGuard<'_, Pods> {
        self.pods.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn watch(self: Arc<Self>, pods: Api<Pod>) {
        loop {
            // The watch first delivers all existing pods.
            self.lock().nodes.clear();
            if let Err(error) = self.watch_once(&pods).await {
                eprintln!("watching again: {error:#}");
            }
        }
    }

    async fn watch_once(&self, pods: &Api<Pod>) -> TestResult {
        let selector = format!("app={}", self.app);
        let selector = WatchParams::default().labels(&selector).timeout(290);
        let mut changes = pods.watch(&selector, "0").await?.boxed();
        while let Some(change) = changes.next().await {
            let known = &mut *self.lock();
            match change? {
                WatchEvent::Added(pod) | WatchEvent::Modified(pod) => {
                    let name = pod.metadata.name.context("a pod has a name")?;
                    known.nodes.insert(name, pod.spec.and_then(|spec| spec.node_name));
                }
                WatchEvent::Deleted(pod) => {
                    known.nodes.remove(&pod.metadata.name.context("a pod has a name")?);
                }
                WatchEvent::Bookmark(_) => {}
                WatchEvent::Error(status) => bail!("{}", status.message),
            }
            let spread = self.spread(known);
            if spread[..self.units.len()].iter().any(|count| *count > self.cap) {
                known.over.get_or_insert(spread);
            }
        }
        Ok(())
    }

    /// The number of pods in each unit, outside all units, and pending.
    fn spread(&self, pods: &Pods) -> Vec<usize> {
        let elsewhere = self.units.len();
        let mut spread = vec![0; elsewhere + 2];
        for node in pods.nodes.values() {
            let place = match node.as_deref() {
                None | Some("") => elsewhere + 1,
                Some(node) => {
                    self.units.iter().position(|unit| node.starts_with(unit)).unwrap_or(elsewhere)
                }
            };
            spread[place] += 1;
        }
        spread
    }
}
