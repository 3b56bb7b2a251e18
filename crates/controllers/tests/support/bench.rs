//! A test bench: the controllers in front of a stub of the API, under a paused clock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use almanac_api::kinds::Kind;
use almanac_engine::{Family, PolicyName};
use almanac_fixtures::objects;
use almanac_shell::budget::{WriteBudget, WriteLimits};
use almanac_shell::clock::Clock;
use almanac_shell::event_log::{EventLog, EventLogWriter, EventMetrics};
use almanac_shell::following::Follower as _;
use almanac_shell::lease::{Fence, Switch};
use almanac_shell::prometheus::{Prometheus, PrometheusOptions, QueryMetrics};
use almanac_shell::writer::{WriteMetrics, Writer};
use almanac_stub::Stub;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) use almanac_fixtures::names::cron_federated_hpa as policy;

use crate::cluster::Cluster;
use crate::families::{Families, Hooks};
use crate::horizontal_autoscaler::{Queries, Sampler};
use crate::policies::{PolicyFollower, UnwrittenStatuses, WorkQueues};
use crate::reconciler::{CostlyDecisions, Reconciler};
use crate::targets::Targets;
use crate::term::MAX_CONCURRENT_TURNS;
use crate::upstream::Upstreams;
use crate::work_queue::WorkQueue;

/// The controllers in front of an API server.
pub(crate) struct TestBench {
    pub(crate) cluster: Arc<Cluster>,
    controller: Arc<Reconciler>,
    turns: Arc<WorkQueue>,
    followers: BTreeMap<&'static str, PolicyFollower>,
    stub: Stub,
    started: (Timestamp, Instant),
    _event_writer: EventLogWriter,
}

impl TestBench {
    /// A bench whose clock shows this instant now.
    pub(crate) fn at(now: &str, stub: &Stub) -> Self {
        let started = (now.parse().expect("the instant is valid"), Instant::now());
        let clock = Clock::from_fn(move || time_at(started, Instant::now()));
        let client = stub.client();
        let cluster = Arc::new(Cluster::default());
        let [turns, statuses] = [(); 2].map(|()| Arc::new(WorkQueue::new(clock.clone())));
        let budget = WriteBudget::new(WriteLimits::default());
        let writer = Writer::new(client.clone(), Fence::open(), budget, WriteMetrics::default());
        let (events, event_writer) =
            EventLog::new(writer.clone(), "test", &EventMetrics::default());
        let hooks = hooks(&client, &writer, &cluster);
        let targets = Targets::new(client, writer, Arc::clone(&cluster), Arc::clone(&turns), false);
        let follower = |family| {
            let (turns, statuses) = (Arc::clone(&turns), Arc::clone(&statuses));
            let queues = WorkQueues { turns, statuses, samples: None };
            let (clock, unwritten) = (clock.clone(), UnwrittenStatuses::default());
            let cluster = Arc::clone(&cluster);
            let (mut follower, _) = PolicyFollower::new(family, clock, unwritten, cluster, queues);
            follower.begin_list();
            follower.list_complete();
            (Kind::for_family(family).name(), follower)
        };
        let followers = Family::ALL.into_iter().map(follower).collect();
        let switch = Switch::new(clock.clone());
        let controller = Arc::new(Reconciler {
            cluster: Arc::clone(&cluster),
            targets: Arc::new(targets),
            hooks,
            turns: Arc::clone(&turns),
            statuses,
            families: Families::default(),
            events,
            clock,
            switch,
            upstreams: Upstreams::default(),
            costly_decisions: CostlyDecisions::default(),
        });
        let stub = stub.clone();
        Self { cluster, controller, turns, followers, stub, started, _event_writer: event_writer }
    }

    /// The targets that the controllers know.
    pub(crate) fn targets(&self) -> &Arc<Targets> {
        &self.controller.targets
    }

    /// Delivers an object to the controllers.
    pub(crate) fn upsert(&mut self, object: Value) {
        let follower = self.follower(&object);
        follower.upsert(serde_json::from_value(object).expect("the object is valid"));
    }

    /// Deletes an object.
    pub(crate) fn delete(&mut self, object: Value) {
        let follower = self.follower(&object);
        follower.delete(serde_json::from_value(object).expect("the object is valid"));
    }

    fn follower(&mut self, object: &Value) -> &mut PolicyFollower {
        let kind = object["kind"].as_str().expect("the object has a kind");
        self.followers.get_mut(kind).expect("the kind is a kind of policies")
    }

    /// The time on the clock of the controllers.
    pub(crate) fn now(&self) -> Timestamp {
        self.turns.now()
    }

    /// The status that a policy should have now.
    pub(crate) fn status(&self, policy: &PolicyName) -> Option<Value> {
        let state = self.cluster.lock();
        let entry = state.policies.get(policy)?;
        let family = self.controller.families.get(policy.family)?;
        let composed = family.compose(&state, &policy.identity, entry, self.turns.now())?;
        Some(composed.status)
    }

    /// Runs turns for this long.
    pub(crate) async fn run(&self, seconds: u64) {
        let end = CancellationToken::new();
        let turn = |policy: PolicyName| {
            let controller = Arc::clone(&self.controller);
            async move { controller.take_turn(&policy).await }
        };
        let lanes = |policy: &PolicyName| self.controller.lanes(policy);
        let stop = async {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            end.cancel();
        };
        tokio::join!(self.turns.run(MAX_CONCURRENT_TURNS, None, end.clone(), lanes, turn), stop);
    }

    /// The reason that a policy is not ready; `None` if it is ready.
    pub(crate) fn not_ready_reason(&self, policy: &PolicyName) -> Option<&'static str> {
        let state = self.cluster.lock();
        let problem = state.policies.get(policy)?.problem.as_ref()?;
        Some(problem.reason().name())
    }

    /// The number of requests whose path contains this.
    pub(crate) fn requests_for(&self, part: &str) -> usize {
        self.stub.requests_where(|request| request.path.contains(part)).len()
    }

    /// The instants and paths of patches.
    pub(crate) fn patched(&self) -> Vec<(Timestamp, String)> {
        let patches = self.stub.requests_where(|request| request.method == Method::PATCH);
        let timed_patches = patches.iter().map(|request| {
            (time_at(self.started, request.at), format!("{}?{}", request.path, request.query))
        });
        timed_patches.collect()
    }
}

/// The hooks of all families.
pub(crate) fn hooks(client: &Client, writer: &Writer, cluster: &Arc<Cluster>) -> Hooks {
    Families::default().hooks(client, writer, cluster, &Clock::from_fn(|| Timestamp::UNIX_EPOCH))
}

/// A sampler for a Prometheus that does not exist, with a stopped clock.
pub(crate) fn sampler(now: &str) -> Sampler {
    let now: Timestamp = now.parse().expect("the instant is valid");
    let clock = Clock::from_fn(move || now);
    let address = "http://127.0.0.1:1".parse().expect("the address is valid");
    let options = PrometheusOptions { address, token_file: None, ca_file: None };
    let prometheus = Prometheus::new(options, QueryMetrics::default());
    Sampler {
        prometheus: prometheus.expect("no files are read"),
        period: Queries::default().period,
        cluster: Arc::default(),
        turns: Arc::new(WorkQueue::new(clock.clone())),
        upstreams: Upstreams::default(),
        clock,
        seed: 1,
    }
}

/// The time on a clock that follows the runtime's.
fn time_at((start, since): (Timestamp, Instant), now: Instant) -> Timestamp {
    start + SignedDuration::try_from(now - since).expect("the duration is short")
}

/// A target with one replica.
pub(crate) fn target(api_version: &str, kind: &str, name: &str) -> Value {
    let mut target = objects::scalable(api_version, kind, name, 1);
    target["metadata"]["namespace"] = json!("default");
    target
}

/// A policy that sets three replicas of the target of the same name at nine o'clock.
pub(crate) fn at_nine(name: &str, api_version: &str, kind: &str) -> Value {
    let target = objects::target(api_version, kind, name);
    let rules = json!([objects::rule("nine", "0 9 * * *", 3)]);
    objects::stored(objects::cron_federated_hpa(name, &target, &rules), name, 1, 1)
}
