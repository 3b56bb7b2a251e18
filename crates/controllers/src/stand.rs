//! A stand for tests: an API server that answers as a test wants, and the controllers before it, under
//! one clock that stands still while nobody waits.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use almanac_engine::{Family, Identity, PolicyName};
use almanac_shell::budget::{WriteBudget, WriteLimits};
use almanac_shell::clock::Clock;
use almanac_shell::event_log::{EventLog, EventLogWriter, EventMetrics};
use almanac_shell::following::Follower as _;
use almanac_shell::lease::{Fence, Switch};
use almanac_shell::writer::{WriteMetrics, Writer};
use http::{Method, Request, Response};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower::service_fn;

use crate::carrying_out::CarryingOut;
use crate::cluster::Cluster;
use crate::families::Families;
use crate::policies::{PolicyFollower, Unrecorded, Woken};
use crate::targets::Targets;
use crate::term::TURNS_AT_ONCE;
use crate::turns::Turns;

/// What the API server answers.
pub(crate) enum Answer {
    /// An object, or several.
    Is(Value),
    /// A refusal, with its code and its words.
    No(u16, String),
    /// A change that a watch tells after a few seconds. Others tell that nothing has happened.
    Tells(Value),
    /// It never answers.
    Never,
}

/// A request, as far as a test looks at it.
pub(crate) struct Asked {
    pub(crate) at: Timestamp,
    pub(crate) method: Method,
    /// With what was asked for besides: `/apis/apps/v1/deployments?limit=250`.
    pub(crate) path: String,
}

/// The controllers of `CronFederatedHPA`s before an API server.
pub(crate) struct Stand {
    pub(crate) cluster: Arc<Cluster>,
    controller: Arc<CarryingOut>,
    turns: Arc<Turns>,
    follower: PolicyFollower,
    asked: Arc<Mutex<Vec<Asked>>>,
    _telling: EventLogWriter,
}

impl Stand {
    /// A stand whose clock shows this instant now.
    pub(crate) fn at(
        begin: &str,
        answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let clock = clock_from(begin);
        let asked = Arc::default();
        let client = client(clock.clone(), Arc::clone(&asked), Arc::new(answer));
        let cluster = Arc::new(Cluster::default());
        let [turns, records] = [(); 2].map(|()| Arc::new(Turns::new(clock.clone())));
        let budget = WriteBudget::new(WriteLimits::default());
        let writer = Writer::new(client.clone(), Fence::open(), budget, WriteMetrics::default());
        let (events, telling) = EventLog::new(writer.clone(), "test", &EventMetrics::default());
        let targets = Targets::new(client, writer, Arc::clone(&cluster), Arc::clone(&turns), false);
        let woken = Woken { turns: Arc::clone(&turns), records: Arc::clone(&records) };
        let (mut follower, _) = PolicyFollower::new(
            Family::CronScaling,
            clock.clone(),
            Unrecorded::default(),
            Arc::clone(&cluster),
            woken,
        );
        follower.begin();
        let switch = Switch::new(clock.clone());
        let controller = Arc::new(CarryingOut {
            cluster: Arc::clone(&cluster),
            targets: Arc::new(targets),
            records,
            families: Families::default(),
            events,
            clock,
            switch,
        });
        Self { cluster, controller, turns, follower, asked, _telling: telling }
    }

    /// What the controllers know of targets.
    pub(crate) fn targets(&self) -> &Targets {
        &self.controller.targets
    }

    /// Tells the controllers of an object.
    pub(crate) fn present(&mut self, object: Value) {
        self.follower.present(serde_json::from_value(object).expect("it has the shape of one"));
    }

    /// Gives everybody their turns for so long.
    pub(crate) async fn run(&self, seconds: u64) {
        let end = CancellationToken::new();
        let turn = |policy: PolicyName| {
            let controller = Arc::clone(&self.controller);
            async move { controller.take_turn(&policy).await }
        };
        let writes = |policy: &PolicyName| {
            let footprint = self.cluster.lock().world.footprint(policy);
            footprint.writes.into_iter().map(|(object, _)| object).collect()
        };
        let stop = async {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            end.cancel();
        };
        tokio::join!(self.turns.run(TURNS_AT_ONCE, None, end.clone(), writes, turn), stop);
    }

    /// The reason of a condition of a policy's, if it is not as it should be.
    pub(crate) fn complaint(&self, policy: &PolicyName) -> Option<&'static str> {
        let known = self.cluster.lock();
        let problem = known.policies.get(policy)?.problem.as_ref()?;
        Some(problem.reason().name())
    }

    /// How often something with this in its path was asked for.
    pub(crate) fn asked_for(&self, part: &str) -> usize {
        let asked = self.asked.lock().expect("whole");
        asked.iter().filter(|it| it.path.contains(part)).count()
    }

    /// When an object was patched, each time, and where.
    pub(crate) fn patched(&self) -> Vec<(Timestamp, String)> {
        let asked = self.asked.lock().expect("whole");
        let patches = asked.iter().filter(|it| it.method == Method::PATCH);
        patches.map(|it| (it.at, it.path.clone())).collect()
    }
}

/// A clock that shows this instant now, and goes with the runtime's.
fn clock_from(begin: &str) -> Clock {
    let begin: Timestamp = begin.parse().expect("it is an instant");
    let since = tokio::time::Instant::now();
    Clock::of(move || begin + SignedDuration::try_from(since.elapsed()).expect("it is short"))
}

fn client(
    clock: Clock,
    asked: Arc<Mutex<Vec<Asked>>>,
    answer: Arc<dyn Fn(&Asked) -> Answer + Send + Sync>,
) -> Client {
    let service = service_fn(move |request: Request<Body>| {
        let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
        let is_watch = path.contains("watch=");
        let one = Asked { at: clock.now(), method: request.method().clone(), path };
        let answer = match answer(&one) {
            answer if !is_watch => answer,
            Answer::Tells(change) => Answer::Is(change),
            _ => Answer::Is(bookmark()),
        };
        asked.lock().expect("whole").push(one);
        async move {
            if is_watch {
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
            let (code, body) = match answer {
                Answer::Is(body) | Answer::Tells(body) => (200, body),
                Answer::No(code, message) => (code, refusal(code, &message)),
                Answer::Never => std::future::pending().await,
            };
            let body = Body::from(body.to_string().into_bytes());
            let response = Response::builder().status(code).body(body);
            Ok::<_, std::io::Error>(response.expect("it is a response"))
        }
    });
    Client::new(service, "default")
}

/// All that a watch tells before it ends: nothing has happened.
fn bookmark() -> Value {
    let object =
        json!({ "kind": "any", "apiVersion": "v1", "metadata": { "resourceVersion": "7" } });
    json!({ "type": "BOOKMARK", "object": object })
}

fn refusal(code: u16, message: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": code, "message": message,
    })
}

/// What discovery says of a kind that can be scaled.
pub(crate) fn discovered(group: &str, kind: &str, plural: &str) -> Answer {
    let resource = |name: &str, kind: &str, group: &str| {
        json!({
            "name": name, "singularName": "", "namespaced": true, "kind": kind,
            "group": group, "version": "v1", "verbs": ["get", "list", "patch", "watch"],
        })
    };
    Answer::Is(json!({
        "kind": "APIResourceList", "groupVersion": format!("{group}/v1"),
        "resources": [
            resource(plural, kind, group),
            resource(&format!("{plural}/scale"), "Scale", "autoscaling"),
        ],
    }))
}

/// All Deployments: of these names, with one replica each.
pub(crate) fn deployments(names: impl IntoIterator<Item = String>) -> Answer {
    let items = names.into_iter().map(|name| {
        json!({
            "metadata": { "name": name, "namespace": "default", "resourceVersion": "7" },
            "spec": { "replicas": 1 },
        })
    });
    Answer::Is(json!({
        "apiVersion": "apps/v1", "kind": "DeploymentList", "metadata": { "resourceVersion": "7" },
        "items": items.collect::<Vec<_>>(),
    }))
}

/// A scale with one replica, as it is read and as it is written.
pub(crate) fn scale() -> Answer {
    Answer::Is(json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale",
        "metadata": { "name": "any", "namespace": "default", "resourceVersion": "8" },
        "spec": { "replicas": 1 }, "status": { "replicas": 1 },
    }))
}

/// A policy that sets three replicas of a target of its own name at nine o'clock.
pub(crate) fn at_nine(name: &str, api_version: &str, kind: &str) -> Value {
    json!({
        "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
        "metadata": {
            "name": name, "namespace": "default", "uid": name, "resourceVersion": "1",
            "generation": 1, "creationTimestamp": "2026-11-20T08:00:00Z",
        },
        "spec": {
            "scaleTargetRef": { "apiVersion": api_version, "kind": kind, "name": name },
            "rules": [{ "name": "nine", "schedule": "0 9 * * *", "targetReplicas": 3 }],
        },
    })
}

/// The policy of a name.
pub(crate) fn policy(name: &str) -> PolicyName {
    let object = Identity::new("autoscaling.karmada.io", "CronFederatedHPA", "default", name);
    PolicyName::new(Family::CronScaling, object)
}
