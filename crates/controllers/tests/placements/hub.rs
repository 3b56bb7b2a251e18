//! A hub in a stub of the API, a process that reconciles its placements, and the result.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use almanac_controllers::namespaces::Namespaces;
use almanac_controllers::process::{Options, Process, Queries};
use almanac_controllers::runtime::ProcessOptions;
use almanac_engine::Family;
use almanac_fixtures::hub;
use almanac_shell::budget::WriteLimits;
use almanac_shell::clock::Clock;
use almanac_shell::endpoints::Health;
use almanac_shell::lease::LeaseOptions;
use almanac_stub::{Kind, ReceivedRequest, Stub};
use jiff::{SignedDuration, Timestamp};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

pub(crate) const GROUP: &str = "cluster.open-cluster-management.io";
const BEGIN: &str = "2026-11-20T09:00:00Z";
pub(crate) const DECISIONS: &str = "placementdecisions";

/// A hub, and optionally a process that reconciles its placements.
pub(crate) struct Hub {
    pub(crate) stub: Stub,
    pub(crate) started: (Timestamp, Instant),
    registry: Arc<Mutex<Registry>>,
    running: Option<(CancellationToken, JoinHandle<()>)>,
    uids: u64,
}

/// The kinds, and whether they are in namespaces.
const KINDS: [(&str, &str, &str, bool); 6] = [
    ("v1beta1", "Placement", "placements", true),
    ("v1beta1", "PlacementDecision", DECISIONS, true),
    ("v1alpha1", "AddOnPlacementScore", "addonplacementscores", true),
    ("v1", "ManagedCluster", "managedclusters", false),
    ("v1beta2", "ManagedClusterSet", "managedclustersets", false),
    ("v1beta2", "ManagedClusterSetBinding", "managedclustersetbindings", true),
];

impl Hub {
    /// A hub that has clusters of these names, in a set that is bound to the namespace `default`.
    pub(crate) fn with(clusters: &[&str]) -> Self {
        let stub = Stub::new();
        for (version, kind, plural, is_namespaced) in KINDS {
            let kind = Kind::new(&format!("{GROUP}/{version}"), kind, plural);
            stub.serve(if is_namespaced { kind } else { kind.cluster_scoped() });
        }
        stub.serve(Kind::new("v1", "Namespace", "namespaces").cluster_scoped());
        let started = (almanac_fixtures::at(BEGIN), Instant::now());
        let registry = Arc::default();
        let mut hub = Self { stub, started, registry, running: None, uids: 0 };
        hub.put("", hub::managed_cluster_set());
        hub.put("default", hub::managed_cluster_set_binding());
        for cluster in clusters {
            hub.put("", hub::managed_cluster(cluster));
        }
        hub
    }

    /// A hub with a placement that a process has reconciled.
    pub(crate) async fn placing(clusters: &[&str], placement: Value) -> Self {
        let mut hub = Self::with(clusters);
        hub.put("default", placement);
        hub.run(&[]).await;
        hub
    }

    /// Creates an object, or replaces it as a whole.
    pub(crate) fn put(&mut self, namespace: &str, mut object: Value) {
        self.uids += 1;
        let metadata = &mut object["metadata"];
        if !namespace.is_empty() {
            metadata["namespace"] = json!(namespace);
        }
        metadata["uid"] = json!(format!("uid-{}", self.uids));
        self.stub.put(object);
    }

    /// Gives a cluster a score, which may expire.
    pub(crate) fn score(&mut self, cluster: &str, score: i64, until: Option<&str>) {
        let mut object = hub::add_on_placement_score("default");
        object["status"] = hub::scored(&[("cpuratio", score)], until);
        self.put(cluster, object);
    }

    /// Starts a process, and waits until it is idle.
    pub(crate) async fn run(&mut self, take_over: &[Family]) {
        let (start, since) = self.started;
        let now = move || {
            start + SignedDuration::try_from(since.elapsed()).expect("the duration is short")
        };
        let [namespace, name, identity] = ["default", "almanac", "us"].map(str::to_owned);
        let options = Options {
            families: vec![Family::Placement],
            node_groups: None,
            take_over: take_over.iter().copied().map(Into::into).collect(),
            namespaces: Namespaces::All,
            process: ProcessOptions {
                exempt_namespaces: vec!["kube-system".to_owned()],
                lease: Some(LeaseOptions::new(namespace, name, identity)),
                identity: "us".to_owned(),
                limits: WriteLimits::default(),
                clock: Clock::from_fn(now),
                seed: 1,
            },
            allow_cluster_scoped_targets: false,
            queries: Queries::default(),
        };
        let mut registry = Registry::default();
        let client = self.stub.client();
        let process = Process::new(client, options, Health::default(), &mut registry);
        *self.registry.lock().expect("lock is not poisoned") = registry;
        let end = CancellationToken::new();
        self.running = Some((end.clone(), tokio::spawn(process.run(end))));
        self.settle().await;
    }

    /// Waits until the process is idle.
    pub(crate) async fn settle(&self) {
        sleep(Duration::from_secs(2)).await;
    }

    pub(crate) async fn end(&mut self) {
        let (end, process) = self.running.take().expect("the process runs");
        end.cancel();
        let ended = timeout(Duration::from_secs(15), process).await;
        ended.expect("the process ends in time").expect("the process does not panic");
    }

    /// Ends the process as if it had been killed, and lets its Lease expire. The Lease has a clock of its own.
    pub(crate) fn kill(&mut self) {
        let (_, process) = self.running.take().expect("the process runs");
        process.abort();
        self.stub.delete("leases", "default", "almanac");
    }

    /// The clusters in a decision; `None` if the object does not exist.
    pub(crate) fn decision(&self, name: &str) -> Option<Vec<String>> {
        let object = self.stub.object(DECISIONS, "default", name)?;
        let decisions = object["status"]["decisions"].as_array().cloned().unwrap_or_default();
        let name =
            |it: &Value| it["clusterName"].as_str().expect("the cluster has a name").to_owned();
        Some(decisions.iter().map(name).collect())
    }

    /// The first decision of a placement.
    pub(crate) fn selected(&self, placement: &str) -> Vec<String> {
        self.decision(&format!("{placement}-decision-1")).expect("the decision exists")
    }

    pub(crate) fn placement(&self, name: &str) -> Value {
        self.stub.object("placements", "default", name).expect("the object exists")
    }

    /// `True Reason: message`.
    pub(crate) fn condition(&self, placement: &str, name: &str) -> String {
        let status = self.placement(placement)["status"].clone();
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let condition = conditions.into_iter().find(|it| it["type"] == name);
        assert!(condition.is_some(), "no {name} in {status}");
        let condition = condition.unwrap_or_default();
        let text =
            |field: &str| condition[field].as_str().expect("the value is a string").to_owned();
        format!("{} {}: {}", text("status"), text("reason"), text("message"))
    }

    pub(crate) fn reason(&self, placement: &str, name: &str) -> String {
        let state = self.condition(placement, name);
        state.split_once(':').expect("the condition has a reason").0.to_owned()
    }

    /// The writes so far, except for Events and leases: `POST placementdecisions`, `PATCH placementdecisions/status`.
    pub(crate) fn writes(&self) -> Vec<String> {
        let writes = self.stub.requests_where(|request| {
            request.is_write() && !["events", "leases"].contains(&&*request.plural)
        });
        let describe = |request: &Arc<ReceivedRequest>| {
            let slash = if request.subresource.is_empty() { "" } else { "/" };
            format!("{} {}{slash}{}", request.method, request.plural, request.subresource)
        };
        writes.iter().map(describe).collect()
    }

    pub(crate) fn decision_writes(&self) -> Vec<String> {
        self.writes().into_iter().filter(|it| it.contains(DECISIONS)).collect()
    }

    /// The value of a metric.
    pub(crate) fn metric(&self, series: &str) -> Option<String> {
        let mut text = String::new();
        encode(&mut text, &self.registry.lock().expect("lock is not poisoned"))
            .expect("encode the metrics");
        let line = text.lines().find(|line| line.starts_with(series))?;
        line.rsplit_once(' ').map(|(_, value)| value.to_owned())
    }
}

/// The placement of the design, with this number of clusters.
pub(crate) fn steady_by_ratio(clusters: u32) -> Value {
    let policy = hub::exactly(&[("Steady", 3), ("default/cpuratio", 1)]);
    hub::placement("web", &json!({ "numberOfClusters": clusters, "prioritizerPolicy": policy }))
}

/// A placement of this number of clusters by their score alone.
pub(crate) fn by_ratio(clusters: u32) -> Value {
    let policy = hub::exactly(&[("default/cpuratio", 1)]);
    hub::placement("web", &json!({ "numberOfClusters": clusters, "prioritizerPolicy": policy }))
}
