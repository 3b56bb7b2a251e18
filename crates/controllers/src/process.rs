//! The whole process: waits to become the leader, runs a term, and waits again when the lease is lost.

use std::time::Duration;

use almanac_api::families::Controlled;
use almanac_engine::Family;
use almanac_shell::budget::{WriteBudget, WriteLimits};
use almanac_shell::clock::Clock;
use almanac_shell::endpoints::Health;
use almanac_shell::event_log::EventMetrics;
use almanac_shell::lease::{Fence, LeaseOptions, Switch};
use almanac_shell::process_metrics;
use almanac_shell::writer::WriteMetrics;
use kube::Client;
use prometheus_client::registry::Registry;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::families::{Families, Scraped};
pub use crate::horizontal_autoscaler::Queries;
use crate::leadership::Leadership;
use crate::namespaces::Namespaces;
use crate::not_ready::NotReady;
use crate::policies::UnwrittenStatuses;
use crate::scalable_node_group::{NodeGroupMetrics, NodeProviders};
use crate::served_schemas::ServedSchemas;
use crate::term;
use crate::terms::Terms;
use crate::upstream::{LeftAlone, Upstreams};

/// What to run, and how.
#[derive(Clone)]
pub struct Options {
    /// The families of policies.
    pub families: Vec<Family>,
    /// Who provides the nodes of groups, by their type; `None` where groups are not carried out at all.
    pub node_groups: Option<NodeProviders>,
    /// What to carry out though its upstream controller runs in the cluster.
    pub take_over: Vec<Controlled>,
    /// The namespaces in which something is carried out.
    pub namespaces: Namespaces,
    /// Of these, the namespaces in which nothing is carried out.
    pub exempt_namespaces: Vec<String>,
    /// The lease to hold meanwhile; `None` for a process that runs alone.
    pub lease: Option<LeaseOptions>,
    /// The name of this process.
    pub identity: String,
    /// The write limits.
    pub limits: WriteLimits,
    /// Whether cluster-scoped targets may be changed.
    pub allow_cluster_scoped_targets: bool,
    /// How autoscalers get their numbers.
    pub queries: Queries,
    /// The policies' clock.
    pub clock: Clock,
    /// The seed of all jitter.
    pub seed: u64,
}

/// Counters that survive terms.
#[derive(Clone, Default)]
pub(crate) struct Metrics {
    pub(crate) writes: WriteMetrics,
    pub(crate) events: EventMetrics,
    pub(crate) node_groups: NodeGroupMetrics,
}

/// A controller process.
pub struct Process {
    client: Client,
    options: Options,
    health: Health,
    metrics: Metrics,
    budget: WriteBudget,
    switch: Switch,
    families: Families,
    leading: Leadership,
    unwritten: UnwrittenStatuses,
    upstreams: Upstreams,
    schemas: ServedSchemas,
}

impl Process {
    /// A process that is not running yet. Its metrics are registered.
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
        let leading = Leadership::default();
        registry.register_collector(Box::new(leading.clone()));
        registry.register_collector(Box::new(health.watch_ages().clone()));
        registry.register_collector(Box::new(NotReady::new(leading.clone())));
        let budget = WriteBudget::new(options.limits);
        registry.register_collector(Box::new(budget.clone()));
        let switch = Switch::new(options.clock.clone());
        registry.register_collector(Box::new(switch.clone()));
        let families = Families::default();
        metrics.node_groups.register(registry, &leading);
        let mut controlled: Vec<Controlled> =
            options.families.iter().copied().map(Controlled::from).collect();
        controlled.extend(options.node_groups.as_ref().map(|_| Controlled::NodeGroups));
        // Whoever is limited to some namespaces may not look in those of other controllers.
        let is_limited = options.namespaces.limit().is_some();
        let taken_over = if is_limited { &controlled } else { &options.take_over };
        let upstreams = Upstreams::of(&controlled, taken_over);
        let schemas = ServedSchemas::of(&controlled);
        let left_alone = LeftAlone::new(&controlled, upstreams.clone(), leading.clone());
        registry.register_collector(Box::new(left_alone));
        let scraped = Scraped {
            leading: leading.clone(),
            clock: options.clock.clone(),
            switch: switch.clone(),
            upstreams: upstreams.clone(),
        };
        families.register(registry, &scraped);
        Process {
            client,
            options,
            health,
            metrics,
            budget,
            switch,
            families,
            leading,
            unwritten: UnwrittenStatuses::default(),
            upstreams,
            schemas,
        }
    }

    /// Runs until the token is cancelled; then finishes work in progress and releases the lease.
    pub async fn run(self, end: CancellationToken) {
        self.options.namespaces.tell_limit();
        let terms = Terms {
            client: self.client.clone(),
            lease: self.options.lease.clone(),
            health: self.health.clone(),
            switch: self.switch.clone(),
            seed: self.options.seed,
        };
        // The next term continues from what this one has not written.
        let over = || {
            if let Some(cluster) = self.leading.end() {
                self.unwritten.keep(&cluster);
            }
        };
        terms.run(&end, |fence| self.term(fence, &end), over).await;
    }

    /// Runs a term. If it ends unexpectedly, returns how long it lasted.
    async fn term(&self, fence: Fence, end: &CancellationToken) -> Option<Duration> {
        let begun = Instant::now();
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
            unwritten: self.unwritten.clone(),
            upstreams: self.upstreams.clone(),
            schemas: self.schemas.clone(),
        };
        term.run(end).await;
        (!end.is_cancelled()).then(|| begun.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use http::{Request, Response};
    use kube::client::Body;
    use tower::service_fn;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn failing_terms_restart_with_growing_delays() {
        let begun = Instant::now();
        let asked: Arc<Mutex<Vec<Duration>>> = Arc::default();
        let noted = Arc::clone(&asked);
        let service = service_fn(move |request: Request<Body>| {
            // One of several requests that a term begins with.
            if request.uri().path().ends_with("/cronfederatedhpas") {
                noted.lock().expect("whole").push(begun.elapsed());
            }
            async { panic!("the policy watch panics on this response") as PanickingResponse }
        });
        let options = Options {
            families: vec![Family::CronScaling],
            node_groups: None,
            take_over: Vec::new(),
            namespaces: Namespaces::All,
            exempt_namespaces: Vec::new(),
            lease: None,
            identity: "us".to_owned(),
            limits: WriteLimits::default(),
            allow_cluster_scoped_targets: false,
            queries: Queries::default(),
            clock: Clock::from_fn(|| jiff::Timestamp::UNIX_EPOCH),
            seed: 1,
        };
        let client = Client::new(service, "default");
        let process = Process::new(client, options, Health::default(), &mut Registry::default());
        let hour = Duration::from_hours(1);
        let _over = tokio::time::timeout(hour, process.run(CancellationToken::new())).await;
        let asked = asked.lock().expect("whole");
        let soon = asked.iter().filter(|at| **at < Duration::from_secs(10)).count();
        assert!(soon >= 3, "one failure restarts quickly: {asked:?}");
        assert!((60..150).contains(&asked.len()), "{} terms in an hour", asked.len());
    }

    /// A response that never comes.
    type PanickingResponse = Result<Response<Body>, Infallible>;
}
