//! Prints how long a firing and a scrape wait while the costliest decision about a placement is made again and again.
//! It asserts nothing. It runs in real time: `cargo xtask test` runs it with `--thorough`, or by the name of this file.

#![expect(clippy::expect_used, reason = "what fails here fails the test")]

use std::time::Duration;

use almanac_controllers::namespaces::Namespaces;
use almanac_controllers::process::{Options, Process, Queries};
use almanac_controllers::runtime::ProcessOptions;
use almanac_engine::Family;
use almanac_fixtures::{at, hub, objects};
use almanac_shell::budget::WriteLimits;
use almanac_shell::clock::Clock;
use almanac_shell::endpoints::Health;
use almanac_stub::{Kind, ReceivedRequest, Stub};
use jiff::SignedDuration;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::time::{Instant, interval, timeout};
use tokio_util::sync::CancellationToken;

const GROUP: &str = "cluster.open-cluster-management.io";

/// The kinds of a hub, and whether they are in namespaces.
const KINDS: [(&str, &str, &str, bool); 6] = [
    ("v1beta1", "Placement", "placements", true),
    ("v1beta1", "PlacementDecision", "placementdecisions", true),
    ("v1alpha1", "AddOnPlacementScore", "addonplacementscores", true),
    ("v1", "ManagedCluster", "managedclusters", false),
    ("v1beta2", "ManagedClusterSet", "managedclustersets", false),
    ("v1beta2", "ManagedClusterSetBinding", "managedclustersetbindings", true),
];

const CLUSTERS: usize = 1_000;
const ROUNDS: usize = 5;

/// The delay of the firing after the start of a process.
const FIRES_AFTER: Duration = Duration::from_secs(10);
const FIRES_AT: &str = "2026-11-20T09:00:00Z";

/// Visits the zones of a cluster four times over, and uses up all steps that a decision may take.
const COSTLY: &str = "managedCluster.status.zones.all(a, managedCluster.status.zones.all(b, \
                      managedCluster.status.zones.all(c, managedCluster.status.zones.all(d, a + b + c + d != ''))))";

fn put(stub: &Stub, namespace: &str, mut object: Value) {
    let name = object["metadata"]["name"].as_str().expect("the cluster has a name").to_owned();
    object["metadata"]["uid"] = json!(name);
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = json!(namespace);
    }
    stub.put(object);
}

/// A cluster; its label differs by number.
fn cluster(name: &str, number: usize) -> Value {
    let zones: Vec<String> = (0..100).map(|zone| format!("zone-{zone}")).collect();
    let mut cluster = hub::managed_cluster(name);
    cluster["metadata"]["labels"]["number"] = json!(number.to_string());
    cluster["status"] = json!({ "zones": zones });
    cluster
}

/// A hub with a costly placement, and a rule that fires at nine.
fn stub() -> Stub {
    let stub = Stub::new();
    for (version, kind, plural, is_namespaced) in KINDS {
        let kind = Kind::new(&format!("{GROUP}/{version}"), kind, plural);
        stub.serve(if is_namespaced { kind } else { kind.cluster_scoped() });
    }
    stub.serve(Kind::new("v1", "Namespace", "namespaces").cluster_scoped());
    stub.serve(Kind::new(objects::KARMADA, "CronFederatedHPA", "cronfederatedhpas"));
    put(&stub, "", hub::managed_cluster_set());
    put(&stub, "default", hub::managed_cluster_set_binding());
    for number in 0..CLUSTERS {
        put(&stub, "", cluster(&format!("cluster-{number:04}"), 0));
    }
    let selector = json!({ "celSelector": { "celExpressions": [COSTLY] } });
    let spec = json!({ "predicates": [{ "requiredClusterSelector": selector }] });
    put(&stub, "default", hub::placement("costly", &spec));
    put(&stub, "default", objects::deployment("shop", 1));
    let target = objects::target("apps/v1", "Deployment", "shop");
    let rules = json!([objects::rule("nine", "0 9 * * *", 3)]);
    stub.put(objects::stored(objects::cron_federated_hpa("shop", &target, &rules), "1", 1, 1));
    stub
}

/// Runs a process until its rule has fired. Returns the delay of the firing, and the duration of the slowest scrape.
async fn measure() -> (Duration, Duration) {
    let (stub, started) = (stub(), Instant::now());
    let due = started + FIRES_AFTER;
    let first =
        at(FIRES_AT) - SignedDuration::try_from(FIRES_AFTER).expect("the duration is short");
    let now =
        move || first + SignedDuration::try_from(started.elapsed()).expect("the duration is short");
    let options = Options {
        families: vec![Family::CronScaling, Family::Placement],
        node_groups: None,
        take_over: Vec::new(),
        namespaces: Namespaces::All,
        process: ProcessOptions {
            exempt_namespaces: Vec::new(),
            lease: None,
            identity: "us".to_owned(),
            limits: WriteLimits::default(),
            clock: Clock::from_fn(now),
            seed: 1,
        },
        allow_cluster_scoped_targets: false,
        queries: Queries::default(),
    };
    let mut registry = Registry::default();
    let process = Process::new(stub.client(), options, Health::default(), &mut registry);
    let end = CancellationToken::new();
    let process = tokio::spawn(process.run(end.clone()));
    let mut slowest = Duration::ZERO;
    let mut beat = interval(Duration::from_millis(20));
    let fired_at = loop {
        beat.tick().await;
        let scales = |it: &ReceivedRequest| it.is_write() && it.path.ends_with("/shop/scale");
        if let Some(request) = stub.requests_where(scales).first() {
            break request.at;
        }
        assert!(started.elapsed() < 6 * FIRES_AFTER, "the rule has not fired");
        // Each change makes the placement decide again.
        let number = usize::try_from(started.elapsed().as_millis()).expect("the number is small");
        put(&stub, "", cluster(&format!("cluster-{:04}", number % CLUSTERS), number));
        let (sent_at, mut response) = (Instant::now(), String::new());
        encode(&mut response, &registry).expect("encode the metrics");
        slowest = slowest.max(sent_at.elapsed());
    };
    end.cancel();
    let ended = timeout(Duration::from_secs(15), process).await;
    ended.expect("the process ends in time").expect("the process does not panic");
    (fired_at - due, slowest)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_firing_and_scrapes_during_costly_decisions() {
    for round in 1..=ROUNDS {
        let (firing, scrape) = measure().await;
        println!("{round}: applied after {firing:.1?}; the slowest scrape took {scrape:.1?}");
    }
}
