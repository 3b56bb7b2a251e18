//! The agent: reconciles the policies for QoS levels of pods, on one node or on all nodes.
//!
//! A resync decides about all pods together: at each boundary, after a change of the lists or of the labels of a node,
//! and at the check interval. Each pod without its desired level gets a turn of its own, as does a pod that is new or
//! has changed. A turn decides about its pod again, writes once, and is retried later if the write failed. All state is
//! on the pods. So a process that has just started decides like a process that has run for a year.
//!
//! | file | what it does |
//! |---|---|
//! | `term` | one term: lists everything, then runs resyncs and turns |
//! | `watches`, `pods`, `config` | what is watched: pods, nodes, namespaces, the `ConfigMaps` |
//! | `state` | the world and its bookkeeping, behind one lock |
//! | `resync` | decides about all pods, and gives a turn to each pod without its desired level |
//! | `turn` | one pod: decides, writes, counts, reports |
//! | `contest` | the backoff while two field managers change one pod |
//! | `metrics` | counters and the histogram, which survive terms; `turn` and `config` count |
//! | `gauges` | values that are computed at the scrape; with leader election, only the leader has values |
//! | `event` | Events |
//!
//! `almanac-engine` decides what a pod should have; `almanac-api` reads a `ConfigMap`.

mod config;
mod contest;
mod event;
mod gauges;
mod metrics;
mod pods;
mod resync;
mod state;
mod term;
mod turn;
mod watches;

use std::sync::Arc;
use std::time::Duration;

use almanac_engine::qos_levels::LevelFormat;
use almanac_shell::endpoints::Health;
use almanac_shell::event_log::EventPace;
use kube::Client;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;

use self::gauges::Gauges;
use self::metrics::LevelMetrics;
use self::state::SharedState;
use self::term::Term;
use crate::leadership::Leadership;
use crate::namespaces::Namespaces;
use crate::runtime::{ProcessOptions, Runtime};

/// The options of an agent.
#[derive(Clone)]
pub struct AgentOptions {
    /// The nodes whose pods the agent reconciles.
    pub nodes: Nodes,
    /// The namespace of the `ConfigMap`.
    pub config_namespace: String,
    /// The form of the written levels.
    pub level_format: LevelFormat,
    /// The namespaces whose pods the agent reconciles.
    pub namespaces: Namespaces,
    /// The options of every process.
    pub process: ProcessOptions,
    /// The time over which the nodes of a cluster spread their writes after a boundary.
    pub spread: Duration,
}

/// The nodes of an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Nodes {
    /// A single node, by its name.
    One(Arc<str>),
    /// All nodes, and pods without a node.
    All,
}

impl Nodes {
    /// Thousands of agents for one node may have pods that change in the same instant. One agent for all nodes reports
    /// about the pods of thousands of nodes.
    fn event_pace(&self) -> EventPace {
        match self {
            Nodes::One(_) => EventPace { waiting: 1000, per_second: 5.0, burst: 5 },
            Nodes::All => EventPace { waiting: 20_000, per_second: 50.0, burst: 100 },
        }
    }
}

/// An agent process.
pub struct Agent {
    runtime: Runtime,
    options: AgentOptions,
    levels: LevelMetrics,
    leading: Leadership<SharedState>,
}

impl Agent {
    /// Returns an agent that is not running yet. Its metrics are registered.
    #[must_use]
    pub fn new(
        client: Client,
        options: AgentOptions,
        health: Health,
        registry: &mut Registry,
    ) -> Agent {
        let runtime = Runtime::new(client, options.process.clone(), health, registry);
        let (levels, leading) = (LevelMetrics::default(), Leadership::default());
        levels.register(registry);
        let is_elected = options.process.lease.is_some();
        if is_elected {
            registry.register_collector(Box::new(runtime.switch.clone()));
        }
        let gauges = Gauges::new(leading.clone(), options.process.clock.clone(), is_elected);
        registry.register_collector(Box::new(gauges));
        Agent { runtime, options, levels, leading }
    }

    /// Runs until the token is canceled; then finishes work in progress and releases the Lease.
    pub async fn run(self, end: CancellationToken) {
        self.options.namespaces.log_limit();
        let over = || drop(self.leading.end());
        let term = |fence| Term { agent: &self, fence }.run(&end);
        self.runtime.run(&end, term, over).await;
    }
}
