//! The agent: carries out the policies for levels of pods, on one node or on all of them.
//!
//! Two things happen in it. A survey decides about all pods at once: at every boundary, when the lists or the labels
//! of a node have changed, and now and then. Each pod it finds not as it should be gets a turn of its own, as does
//! a pod that is new or has changed. A turn decides about its pod afresh, writes once, and is taken again later when
//! that has failed. Nothing is remembered but what is on the pods, so that a process that has just started knows as
//! much as one that has run for a year.
//!
//! | file | what it does |
//! |---|---|
//! | `term` | one term: lists everything, then resyncs and turns |
//! | `watches`, `pods`, `config` | what is watched: pods, nodes, namespaces, the `ConfigMaps` |
//! | `known` | the world and its bookkeeping, behind one lock |
//! | `survey` | decides about all pods, and gives turns to those that differ |
//! | `turn` | one pod: decides, writes, counts, reports |
//! | `contest` | the pauses between two field managers |
//! | `metrics` | counters and the histogram, which survive terms; `turn` and `config` count |
//! | `gauges` | numbers that are computed at the scrape; the leader's only, if there is one |
//! | `event` | Events |
//!
//! `almanac-engine` decides what a pod should have; `almanac-api` reads a `ConfigMap`.

mod config;
mod contest;
mod event;
mod gauges;
mod known;
mod metrics;
mod pods;
mod survey;
mod term;
mod turn;
mod watches;

use std::sync::Arc;
use std::time::Duration;

use almanac_engine::qos_levels::LevelFormat;
use almanac_shell::budget::{WriteBudget, WriteLimits};
use almanac_shell::clock::Clock;
use almanac_shell::endpoints::Health;
use almanac_shell::event_log::{EventMetrics, EventPace};
use almanac_shell::lease::{Fence, LeaseOptions, Switch};
use almanac_shell::process_metrics;
use almanac_shell::writer::WriteMetrics;
use kube::Client;
use prometheus_client::registry::Registry;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::gauges::Gauges;
use self::known::Known;
use self::metrics::LevelMetrics;
use self::term::Term;
use crate::leadership::Leadership;
use crate::namespaces::Namespaces;
use crate::terms::Terms;

/// The policies that an agent reconciles, and how.
#[derive(Clone)]
pub struct AgentOptions {
    /// The nodes whose pods are its business.
    pub nodes: Nodes,
    /// Where the `ConfigMap` is.
    pub config_namespace: String,
    /// How levels are written.
    pub level_format: LevelFormat,
    /// The namespaces whose pods are its business.
    pub namespaces: Namespaces,
    /// Of these, the namespaces in which nothing is carried out.
    pub exempt_namespaces: Vec<String>,
    /// The lease to hold during a term; `None` for a process that runs alone.
    pub lease: Option<LeaseOptions>,
    /// The name of this process.
    pub identity: String,
    /// The write limits.
    pub limits: WriteLimits,
    /// Over how long the nodes of a cluster spread their writes after a boundary.
    pub spread: Duration,
    /// The policies' clock.
    pub clock: Clock,
    /// The seed of all jitter.
    pub seed: u64,
}

/// The nodes of an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Nodes {
    /// The one of this name.
    One(Arc<str>),
    /// All of them, and pods that have no node yet.
    All,
}

impl Nodes {
    /// There may be thousands of agents with one node, whose pods change in the same instant; the one for all
    /// nodes has the pods of thousands to report about.
    fn event_pace(&self) -> EventPace {
        match self {
            Nodes::One(_) => EventPace { waiting: 1000, per_second: 5.0, burst: 5 },
            Nodes::All => EventPace { waiting: 20_000, per_second: 50.0, burst: 100 },
        }
    }
}

/// The agent process.
pub struct Agent {
    client: Client,
    options: AgentOptions,
    health: Health,
    writes: WriteMetrics,
    events: EventMetrics,
    levels: LevelMetrics,
    budget: WriteBudget,
    switch: Switch,
    leading: Leadership<Known>,
}

impl Agent {
    /// An agent that is not running yet. Its metrics are registered.
    #[must_use]
    pub fn new(
        client: Client,
        options: AgentOptions,
        health: Health,
        registry: &mut Registry,
    ) -> Agent {
        let (writes, events, levels) =
            (WriteMetrics::default(), EventMetrics::default(), LevelMetrics::default());
        writes.register(registry);
        events.register(registry);
        levels.register(registry);
        process_metrics::register(registry);
        registry.register_collector(Box::new(health.watch_ages().clone()));
        let leading = Leadership::default();
        let budget = WriteBudget::new(options.limits);
        registry.register_collector(Box::new(budget.clone()));
        let switch = Switch::new(options.clock.clone());
        if options.lease.is_some() {
            registry.register_collector(Box::new(switch.clone()));
        }
        let is_elected = options.lease.is_some();
        let gauges = Gauges::new(leading.clone(), options.clock.clone(), is_elected);
        registry.register_collector(Box::new(gauges));
        Agent { client, options, health, writes, events, levels, budget, switch, leading }
    }

    /// Runs until the token is canceled; then finishes work in progress and releases the lease.
    pub async fn run(self, end: CancellationToken) {
        self.options.namespaces.tell_limit();
        let terms = Terms {
            client: self.client.clone(),
            lease: self.options.lease.clone(),
            health: self.health.clone(),
            switch: self.switch.clone(),
            seed: self.options.seed,
        };
        let over = || drop(self.leading.end());
        terms.run(&end, |fence| self.term(fence, &end), over).await;
    }

    /// Runs a term. If it ends unexpectedly, returns how long it lasted.
    async fn term(&self, fence: Fence, end: &CancellationToken) -> Option<Duration> {
        let begun = Instant::now();
        Term { agent: self, fence }.run(end).await;
        (!end.is_cancelled()).then(|| begun.elapsed())
    }
}
