//! A turn against an API server that takes its time, which a real one cannot be told to.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use almanac_engine::{Family, Identity, PolicyName};
use almanac_shell::budget::{WriteBudget, WriteLimits};
use almanac_shell::clock::Clock;
use almanac_shell::event_log::{EventLog, EventMetrics};
use almanac_shell::following::Follower as _;
use almanac_shell::lease::Fence;
use almanac_shell::writer::{WriteMetrics, Writer};
use http::{Method, Request, Response};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower::service_fn;

use super::CarryingOut;
use crate::cluster::Cluster;
use crate::families::Families;
use crate::policies::{PolicyFollower, Unrecorded, Woken};
use crate::targets::Targets;
use crate::turns::Turns;

/// A clock that shows what was set last, in seconds.
#[derive(Clone)]
struct Shown(Arc<AtomicI64>);

impl Shown {
    fn set(&self, at: &str) {
        let at: Timestamp = at.parse().expect("it is an instant");
        self.0.store(at.as_second(), Ordering::SeqCst);
    }

    fn clock(&self) -> Clock {
        let shown = Arc::clone(&self.0);
        let second = move || Timestamp::from_second(shown.load(Ordering::SeqCst));
        Clock::of(move || second().expect("it is in range"))
    }
}

/// Answers as an API server with one Deployment would; the clock goes on while it is scaled.
fn client(shown: Shown, scaled_until: &'static str) -> Client {
    let service = service_fn(move |request: Request<Body>| {
        let shown = shown.clone();
        async move {
            let is_watch = request.uri().query().is_some_and(|it| it.contains("watch="));
            let answer = match (request.method(), request.uri().path()) {
                (&Method::GET, "/apis/apps/v1") => kinds(),
                (&Method::GET, _) if is_watch => std::future::pending().await,
                (&Method::GET, "/apis/apps/v1/deployments") => list(),
                (&Method::PATCH, "/apis/apps/v1/namespaces/default/deployments/shop/scale") => {
                    shown.set(scaled_until);
                    json!({ "metadata": { "name": "shop", "resourceVersion": "8" } })
                }
                other => return Err(std::io::Error::other(format!("nobody expected {other:?}"))),
            };
            Ok(Response::new(Body::from(answer.to_string().into_bytes())))
        }
    });
    Client::new(service, "default")
}

fn kinds() -> Value {
    let resource = |name: &str, kind: &str, group: &str, version: &str| {
        json!({
            "name": name, "singularName": "", "namespaced": true, "kind": kind,
            "group": group, "version": version, "verbs": ["get", "list", "patch", "watch"],
        })
    };
    json!({ "kind": "APIResourceList", "groupVersion": "apps/v1", "resources": [
        resource("deployments", "Deployment", "apps", "v1"),
        resource("deployments/scale", "Scale", "autoscaling", "v1"),
    ] })
}

fn list() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DeploymentList", "metadata": { "resourceVersion": "7" },
        "items": [{
            "metadata": { "name": "shop", "namespace": "default", "resourceVersion": "7" },
            "spec": { "replicas": 1 },
        }],
    })
}

fn two_rules() -> Value {
    json!({
        "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
        "metadata": {
            "name": "shop", "namespace": "default", "uid": "1", "resourceVersion": "1",
            "generation": 1, "creationTimestamp": "2026-11-20T08:00:00Z",
        },
        "spec": {
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "shop" },
            "rules": [
                { "name": "nine", "schedule": "0 9 * * *", "targetReplicas": 3 },
                { "name": "a minute later", "schedule": "1 9 * * *", "targetReplicas": 5 },
            ],
        },
    })
}

#[tokio::test]
async fn a_rule_that_falls_due_while_another_is_carried_out_has_its_turn_at_once() {
    let shown = Shown(Arc::default());
    shown.set("2026-11-20T09:00:00Z");
    let clock = shown.clock();
    let client = client(shown.clone(), "2026-11-20T09:02:30Z");
    let cluster = Arc::new(Cluster::default());
    let [turns, records] = [(); 2].map(|()| Arc::new(Turns::new(clock.clone())));
    let budget = WriteBudget::new(WriteLimits::default());
    let writer = Writer::new(client.clone(), Fence::open(), budget, WriteMetrics::default());
    let (events, _) = EventLog::new(writer.clone(), "test", &EventMetrics::default());
    let [cluster_of_targets, cluster_of_policies] = [(); 2].map(|()| Arc::clone(&cluster));
    let targets = Targets::new(client, writer, cluster_of_targets, Arc::clone(&turns), false);
    let woken = Woken { turns, records: Arc::clone(&records) };
    let (mut follower, _) = PolicyFollower::new(
        Family::CronScaling,
        clock.clone(),
        Unrecorded::default(),
        cluster_of_policies,
        woken,
    );
    follower.begin();
    follower.present(serde_json::from_value(two_rules()).expect("it has the shape of an object"));
    let controller = CarryingOut {
        cluster: Arc::clone(&cluster),
        targets: Arc::new(targets),
        records,
        families: Families::default(),
        events,
        clock,
    };
    let object = Identity::new("autoscaling.karmada.io", "CronFederatedHPA", "default", "shop");
    let policy = PolicyName::new(Family::CronScaling, object);
    let next = controller.take_turn(&policy).await;
    assert_eq!(next, Some("2026-11-20T09:01:00Z".parse().expect("it is an instant")));
    let known = cluster.lock();
    let target = Identity::new("apps", "Deployment", "default", "shop");
    assert_eq!(known.world.workloads[&target].replicas, Some(3), "the first one was carried out");
}
