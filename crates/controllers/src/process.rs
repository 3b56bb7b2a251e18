//! The whole of it: waits to lead, runs a term, and waits again when the lease was lost.

use std::time::Duration;

use almanac_engine::Family;
use almanac_shell::budget::{WriteBudget, WriteLimits};
use almanac_shell::clock::Clock;
use almanac_shell::endpoints::Health;
use almanac_shell::event_log::EventMetrics;
use almanac_shell::lease::{Candidate, Fence, LeaseOptions, Switch};
use almanac_shell::process_metrics;
use almanac_shell::writer::WriteMetrics;
use kube::Client;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;

use crate::families::Families;
use crate::leading::Leading;
use crate::not_ready::NotReady;
use crate::policies::Unrecorded;
use crate::term;

/// What is to be carried out, and how.
#[derive(Clone)]
pub struct Options {
    /// The families of policies.
    pub families: Vec<Family>,
    /// The lease to hold while doing so; `None` for a process that has no other beside it.
    pub lease: Option<LeaseOptions>,
    /// The name of this process.
    pub identity: String,
    /// How much may be written.
    pub limits: WriteLimits,
    /// Whether targets may be changed that are in no namespace.
    pub allow_cluster_scoped_targets: bool,
    /// The policies' clock.
    pub clock: Clock,
    /// Decides whatever is left to chance.
    pub seed: u64,
}

/// What is counted, across terms.
#[derive(Clone, Default)]
pub(crate) struct Metrics {
    pub(crate) writes: WriteMetrics,
    pub(crate) events: EventMetrics,
}

/// How long there is between two terms.
const BETWEEN_TERMS: Duration = Duration::from_secs(1);

/// A process that carries out policies.
pub struct Process {
    client: Client,
    options: Options,
    health: Health,
    metrics: Metrics,
    budget: WriteBudget,
    switch: Switch,
    families: Families,
    leading: Leading,
    unrecorded: Unrecorded,
}

impl Process {
    /// A process that has not begun yet. Its metrics are added to the registry.
    #[must_use]
    pub fn new(
        client: Client,
        options: Options,
        health: Health,
        registry: &mut Registry,
    ) -> Process {
        let metrics = Metrics::default();
        metrics.writes.register(registry);
        metrics.events.register(registry);
        process_metrics::register(registry);
        let leading = Leading::default();
        registry.register_collector(Box::new(leading.clone()));
        registry.register_collector(Box::new(health.views().clone()));
        registry.register_collector(Box::new(NotReady::new(leading.clone())));
        let budget = WriteBudget::new(options.limits);
        registry.register_collector(Box::new(budget.clone()));
        let switch = Switch::new(options.clock.clone());
        registry.register_collector(Box::new(switch.clone()));
        let families = Families::default();
        families.register(registry, &leading, &options.clock, &switch);
        let unrecorded = Unrecorded::default();
        Process { client, options, health, metrics, budget, switch, families, leading, unrecorded }
    }

    /// Runs until the token ends; then finishes what is under way and lets go of the lease.
    pub async fn run(self, end: CancellationToken) {
        let Some(lease) = self.options.lease.clone() else {
            while !end.is_cancelled() {
                self.term(Fence::open(), &end).await;
                self.after_term(&end).await;
            }
            return;
        };
        let (health, switch) = (self.health.clone(), self.switch.clone());
        let seed = self.options.seed;
        let mut candidate = Candidate::new(self.client.clone(), lease, health, switch, seed);
        while !end.is_cancelled() {
            tracing::info!("waiting for the lease");
            self.health.await_what("the lease");
            let led = candidate.lead(&end, async |fence| {
                tracing::info!("leading");
                self.term(fence, &end).await;
            });
            if let Err(lost) = led.await {
                tracing::warn!(%lost, "leading no more");
            }
            self.after_term(&end).await;
        }
    }

    /// Keeps what the next term goes on from. That does not begin at once: whatever ended this one
    /// may still be there.
    async fn after_term(&self, end: &CancellationToken) {
        if let Some(cluster) = self.leading.end() {
            self.unrecorded.keep(&cluster);
        }
        self.health.rest();
        tokio::select! {
            () = end.cancelled() => {}
            () = tokio::time::sleep(BETWEEN_TERMS) => {}
        }
    }

    async fn term(&self, fence: Fence, end: &CancellationToken) {
        let term = term::Term {
            client: self.client.clone(),
            options: self.options.clone(),
            fence,
            switch: self.switch.clone(),
            budget: self.budget.clone(),
            health: self.health.clone(),
            metrics: self.metrics.clone(),
            families: self.families.clone(),
            leading: self.leading.clone(),
            unrecorded: self.unrecorded.clone(),
        };
        term.run(end).await;
    }
}
