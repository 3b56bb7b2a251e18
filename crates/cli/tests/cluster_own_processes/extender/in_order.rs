//! An outside observer of units: it watches pods, nodes and policies, puts all changes into the order of etcd, and
//! checks at each binding whether the unit had free capacity.
//!
//! Caps and labels reach the extender by watches. For at most [`LATENCY`] after a change, a binding may follow the
//! state before the change: `docs/units-in-a-cluster.md` states no duration.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use almanac_harness::TestResult;
use anyhow::{Context as _, Result, bail};
use futures::StreamExt as _;
use kube::Client;
use kube::api::WatchEvent;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::extender::stage::SCHEDULER_NAME;

/// The time after a change in which a binding may still follow the earlier state. The extender abandons its request after
/// 5 s, the API server after another 5 s, and the watch has a delay.
pub(crate) const LATENCY: Duration = Duration::from_secs(12);

/// The cap of a unit without `maxCount`.
const NO_CAP: i64 = i64::MAX / 2;

const PODS: &str = "/api/v1/namespaces/default/pods";
const NODES: &str = "/api/v1/nodes";
const POLICIES: &str =
    "/apis/scheduling.sigs.x-k8s.io/v1alpha1/namespaces/default/resourcepolicies";

/// A policy and one of its units.
pub(crate) type UnitOfPolicy = (String, String);

/// The recorder of all changes, until drop.
pub(crate) struct Observer {
    changes: Arc<Mutex<Vec<Change>>>,
    watching: Vec<JoinHandle<()>>,
}

/// A version of an object.
#[derive(Clone, Debug)]
struct Change {
    /// The revision of etcd, which numbers the changes of all objects.
    version: u64,
    seen: Instant,
    name: String,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Pod(Pod),
    PodGone,
    /// The label of the node, which is the name of its unit.
    Node(String),
    Policy(Policy),
}

/// The properties of a pod that affect the counts of units.
#[derive(Clone, Debug)]
struct Pod {
    app: String,
    node: Option<String>,
    is_ours: bool,
    is_terminating: bool,
    is_of_daemon_set: bool,
}

#[derive(Clone, Debug)]
struct Policy {
    /// The caps by unit.
    caps: BTreeMap<String, i64>,
    is_required: bool,
    ignores_terminating: bool,
}

impl Observer {
    pub(crate) async fn begin(client: &Client) -> Result<Self> {
        let mut observer = Self { changes: Arc::default(), watching: Vec::new() };
        for path in [POLICIES, NODES, PODS] {
            let request = http::Request::get(path).body(Vec::new())?;
            let mut list: Value = client.request(request).await?;
            let version = version(&list)?;
            for object in list["items"].as_array_mut().into_iter().flatten() {
                let change = Change::new(path, version, &object.take(), true)?;
                lock(&observer.changes).push(change);
            }
            let (client, changes) = (client.clone(), Arc::clone(&observer.changes));
            observer.watching.push(tokio::spawn(watch(client, path, version, changes)));
        }
        Ok(observer)
    }

    /// Replays all changes so far.
    pub(crate) fn replay(&self) -> Units {
        let mut all = lock(&self.changes).clone();
        all.sort_by_key(|change| change.version);
        let mut units = Units::default();
        for change in all {
            units.apply(change);
        }
        units
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.watching.iter().for_each(JoinHandle::abort);
    }
}

fn lock(changes: &Mutex<Vec<Change>>) -> MutexGuard<'_, Vec<Change>> {
    changes.lock().unwrap_or_else(PoisonError::into_inner)
}

fn version(object: &Value) -> Result<u64> {
    let version = object["metadata"]["resourceVersion"].as_str().context("no version")?;
    Ok(version.parse()?)
}

impl Change {
    fn new(path: &str, version: u64, object: &Value, exists: bool) -> Result<Self> {
        let name = text(&object["metadata"]["name"]);
        let state = match (path, exists) {
            (PODS, true) => State::Pod(Pod::read(object)),
            (PODS, false) => State::PodGone,
            (NODES, true) => State::Node(text(&object["metadata"]["labels"]["unit"])),
            (POLICIES, true) => State::Policy(Policy::read(object)),
            _ => bail!("{path}: {name} is missing"),
        };
        Ok(Self { version, seen: Instant::now(), name, state })
    }
}

impl Pod {
    fn read(object: &Value) -> Self {
        let (metadata, spec) = (&object["metadata"], &object["spec"]);
        let owners = metadata["ownerReferences"].as_array();
        Self {
            app: text(&metadata["labels"]["app"]),
            node: spec["nodeName"].as_str().map(str::to_owned),
            is_ours: spec["schedulerName"] == SCHEDULER_NAME,
            is_terminating: !metadata["deletionTimestamp"].is_null(),
            is_of_daemon_set: owners.into_iter().flatten().any(|it| it["kind"] == "DaemonSet"),
        }
    }
}

impl Policy {
    fn read(object: &Value) -> Self {
        let units = object["spec"]["units"].as_array();
        let cap = |unit: &Value| (text(&unit["name"]), unit["maxCount"].as_i64().unwrap_or(NO_CAP));
        Self {
            caps: units.into_iter().flatten().map(cap).collect(),
            is_required: object["spec"]["strategy"] == "required",
            ignores_terminating: object["spec"]["matchPolicy"]["ignoreTerminatingPod"] == true,
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Watches from a version on. A new watch continues where the last watch ended, so no change is missed.
async fn watch(
    client: Client,
    path: &'static str,
    mut from: u64,
    changes: Arc<Mutex<Vec<Change>>>,
) {
    loop {
        if let Err(error) = watch_once(&client, path, &mut from, &changes).await {
            eprintln!("watching {path} again from {from}: {error:#}");
        }
    }
}

async fn watch_once(
    client: &Client,
    path: &'static str,
    from: &mut u64,
    changes: &Mutex<Vec<Change>>,
) -> TestResult {
    let query = format!("{path}?watch=true&timeoutSeconds=290&resourceVersion={from}");
    let request = http::Request::get(query).body(Vec::new())?;
    let mut events = std::pin::pin!(client.request_events::<Value>(request).await?);
    while let Some(event) = events.next().await {
        let (object, exists) = match event? {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, true),
            WatchEvent::Deleted(object) => (object, false),
            WatchEvent::Bookmark(_) => continue,
            WatchEvent::Error(status) => bail!("{}", status.message),
        };
        *from = version(&object)?;
        lock(changes).push(Change::new(path, *from, &object, exists)?);
    }
    Ok(())
}

/// The state of the units after some of the changes, and the observations so far.
#[derive(Default)]
pub(crate) struct Units {
    pods: BTreeMap<String, Pod>,
    nodes: BTreeMap<String, String>,
    policies: BTreeMap<String, Policy>,
    counts: BTreeMap<UnitOfPolicy, i64>,
    /// The recent additions of others to the excess of a unit.
    outside: BTreeMap<UnitOfPolicy, Vec<(Instant, i64)>>,
    /// The instant of the last relabeling of each node.
    relabeled: BTreeMap<String, Instant>,
    /// Bindings without free capacity, within the latency of a change and after the latency.
    pub(crate) tolerated: Vec<Duration>,
    pub(crate) violations: Vec<String>,
    /// Bindings by the extender.
    pub(crate) bindings: usize,
    /// The instants at which a pod was created, bound, started to terminate or was deleted, with its name.
    pub(crate) changes: Vec<(Instant, String)>,
}

impl Units {
    /// The unit in which a pod is counted.
    fn place(&self, pod: &Pod) -> Option<UnitOfPolicy> {
        let policy = self.policies.get(&pod.app)?;
        if pod.is_of_daemon_set || policy.ignores_terminating && pod.is_terminating {
            return None;
        }
        let unit = self.nodes.get(pod.node.as_ref()?)?;
        policy.caps.contains_key(unit).then(|| (pod.app.clone(), unit.clone()))
    }

    fn recount(&mut self) {
        let mut counts = BTreeMap::new();
        for place in self.pods.values().filter_map(|pod| self.place(pod)) {
            *counts.entry(place).or_default() += 1;
        }
        self.counts = counts;
    }

    /// The number of pods by which each unit exceeds its cap; negative for free capacity.
    pub(crate) fn excess(&self) -> BTreeMap<UnitOfPolicy, i64> {
        let mut all = BTreeMap::new();
        for (name, policy) in &self.policies {
            for (unit, cap) in &policy.caps {
                let place = (name.clone(), unit.clone());
                let count = self.counts.get(&place).copied().unwrap_or_default();
                all.insert(place, count - cap);
            }
        }
        all
    }

    /// The number of pods in each unit.
    pub(crate) fn counts(&self) -> &BTreeMap<UnitOfPolicy, i64> {
        &self.counts
    }

    /// The policies with pods that wait for the extender.
    pub(crate) fn waiting(&self) -> BTreeMap<String, usize> {
        let mut waiting = BTreeMap::new();
        let waits = |it: &&Pod| it.is_ours && it.node.is_none() && !it.is_terminating;
        for pod in self.pods.values().filter(waits) {
            *waiting.entry(pod.app.clone()).or_default() += 1;
        }
        waiting
    }

    /// The pods of each policy on nodes outside all units.
    pub(crate) fn outside_all_units(&self) -> BTreeMap<String, usize> {
        let mut outside = BTreeMap::new();
        let is_outside = |it: &&Pod| it.node.is_some() && self.place(it).is_none();
        for pod in self.pods.values().filter(is_outside) {
            *outside.entry(pod.app.clone()).or_default() += 1;
        }
        outside
    }

    /// The pods on nodes, bound by any scheduler.
    pub(crate) fn bound(&self) -> Vec<String> {
        let is_bound = |it: &(&String, &Pod)| it.1.node.is_some() && !it.1.is_terminating;
        self.pods.iter().filter(is_bound).map(|(name, _)| name.clone()).collect()
    }

    fn apply(&mut self, change: Change) {
        let before = self.excess();
        let (mut binding, mut is_recount) = (None, false);
        let Change { seen, name, state, .. } = change;
        match state {
            State::Pod(pod) => {
                let was = self.pods.get(&name);
                let is_bound = was.is_some_and(|it| it.node.is_none()) && pod.node.is_some();
                if pod.is_ours && is_bound {
                    self.bindings += 1;
                    binding = Some(self.place(&pod));
                }
                if was
                    .is_none_or(|it| it.node != pod.node || it.is_terminating != pod.is_terminating)
                {
                    self.changes.push((seen, name.clone()));
                }
                let [from, to] = [was.and_then(|it| self.place(it)), self.place(&pod)];
                self.count(from, to);
                self.pods.insert(name.clone(), pod);
            }
            State::PodGone => {
                self.changes.push((seen, name.clone()));
                let was = self.pods.remove(&name);
                let from = was.and_then(|it| self.place(&it));
                self.count(from, None);
            }
            State::Node(unit) => {
                is_recount = self.nodes.get(&name) != Some(&unit);
                if is_recount {
                    self.relabeled.insert(name.clone(), seen);
                }
                self.nodes.insert(name.clone(), unit);
            }
            State::Policy(policy) => {
                self.policies.insert(name.clone(), policy);
                is_recount = true;
            }
        }
        if is_recount {
            self.recount();
        }
        for (place, excess) in self.excess() {
            let growth = excess - before.get(&place).copied().unwrap_or_default();
            if binding == Some(Some(place.clone())) {
                self.judge((&name, seen), &place, excess);
            } else if growth > 0 {
                self.outside.entry(place).or_default().push((seen, growth));
            }
        }
        if binding == Some(None) && self.is_required(&name) {
            self.judge_outside(&name, seen);
        }
    }

    fn count(&mut self, from: Option<UnitOfPolicy>, to: Option<UnitOfPolicy>) {
        if let Some(from) = from {
            *self.counts.entry(from).or_default() -= 1;
        }
        if let Some(to) = to {
            *self.counts.entry(to).or_default() += 1;
        }
    }

    fn is_required(&self, pod: &str) -> bool {
        let policy = self.pods.get(pod).and_then(|pod| self.policies.get(&pod.app));
        policy.is_some_and(|policy| policy.is_required)
    }

    /// With the strategy `required`, only a node that has just left its unit may be outside all units.
    fn judge_outside(&mut self, name: &str, seen: Instant) {
        let node = self.pods.get(name).and_then(|it| it.node.as_ref());
        let relabeled_at = node.and_then(|it| self.relabeled.get(it));
        let age = relabeled_at.map(|at| seen.saturating_duration_since(*at));
        match age {
            Some(age) if age <= LATENCY => self.tolerated.push(age),
            _ => self.violations.push(format!("{name} was bound outside all units")),
        }
    }

    /// Whether a binding may have followed an earlier state within the latency.
    fn judge(&mut self, (name, seen): (&str, Instant), place: &UnitOfPolicy, excess: i64) {
        if excess <= 0 {
            return;
        }
        let outside = self.outside.entry(place.clone()).or_default();
        let mut unexplained = excess;
        let newest_first = outside.iter().rev();
        let unseen = newest_first.map(|(at, growth)| {
            unexplained -= growth;
            (unexplained, seen.saturating_duration_since(*at))
        });
        match unseen.into_iter().find(|(left, _)| *left <= 0) {
            Some((_, age)) if age <= LATENCY => self.tolerated.push(age),
            explained => self.violations.push(format!(
                "{name} was bound to {place:?}, {excess} over its cap; others: {explained:?}"
            )),
        }
    }
}
