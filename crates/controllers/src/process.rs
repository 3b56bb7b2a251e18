//! The whole process: waits to become the leader, runs a term, and waits again when the lease is lost.

use std::time::Duration;

use almanac_engine::Family;
use almanac_shell::backoff::Backoff;
use almanac_shell::budget::{WriteBudget, WriteLimits};
use almanac_shell::clock::Clock;
use almanac_shell::endpoints::Health;
use almanac_shell::event_log::EventMetrics;
use almanac_shell::lease::{Candidate, Fence, LeaseOptions, Switch};
use almanac_shell::process_metrics;
use almanac_shell::writer::WriteMetrics;
use kube::Client;
use prometheus_client::registry::Registry;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::controlled::Controlled;
use crate::families::Families;
pub use crate::horizontal_autoscaler::Queries;
use crate::leadership::Leadership;
use crate::not_ready::NotReady;
use crate::policies::UnwrittenStatuses;
use crate::scalable_node_group::{NodeGroupMetrics, NodeProviders};
use crate::term;
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
    /// The namespaces in which nothing is carried out.
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

/// The delay between two terms.
const TERM_RESTART_DELAY: Duration = Duration::from_secs(1);
/// The longest delay, after many failed terms: each lists everything.
const MAX_TERM_RESTART_DELAY: Duration = Duration::from_mins(1);
/// A term that lasts this long before it fails is unrelated to the failure before.
const STABLE_TERM: Duration = Duration::from_mins(10);

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
        let upstreams = Upstreams::of(&controlled, &options.take_over);
        let left_alone = LeftAlone::new(&controlled, upstreams.clone(), leading.clone());
        registry.register_collector(Box::new(left_alone));
        let (clock, unwritten) = (&options.clock, UnwrittenStatuses::default());
        families.register(registry, &leading, clock, &switch, &upstreams);
        Process {
            client,
            options,
            health,
            metrics,
            budget,
            switch,
            families,
            leading,
            unwritten,
            upstreams,
        }
    }

    /// Runs until the token is cancelled; then finishes work in progress and releases the lease.
    pub async fn run(self, end: CancellationToken) {
        let mut pauses = RestartDelays::new(self.options.seed);
        let Some(lease) = self.options.lease.clone() else {
            while !end.is_cancelled() {
                let fell_over = self.term(Fence::open(), &end).await;
                self.after_term(pauses.after(fell_over), &end).await;
            }
            return;
        };
        let (health, switch) = (self.health.clone(), self.switch.clone());
        let seed = self.options.seed;
        let mut candidate = Candidate::new(self.client.clone(), lease, health, switch, seed);
        while !end.is_cancelled() {
            tracing::info!("waiting for the lease");
            self.health.set_waiting_for("the lease");
            let mut fell_over = None;
            let led = candidate.lead(&end, async |fence| {
                tracing::info!("leading");
                fell_over = self.term(fence, &end).await;
            });
            if let Err(lost) = led.await {
                tracing::warn!(%lost, "no longer the leader");
            }
            self.after_term(pauses.after(fell_over), &end).await;
        }
    }

    /// Keeps what the next term continues from. That one starts after a delay, because the cause of
    /// the failure may persist.
    async fn after_term(&self, pause: Duration, end: &CancellationToken) {
        if let Some(cluster) = self.leading.end() {
            self.unwritten.keep(&cluster);
        }
        self.health.stop_heartbeat();
        tokio::select! {
            () = end.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
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
        };
        term.run(end).await;
        (!end.is_cancelled()).then(|| begun.elapsed())
    }
}

/// The delay after a term, growing while terms fail early.
struct RestartDelays {
    failures: Backoff,
}

impl RestartDelays {
    fn new(seed: u64) -> Self {
        Self { failures: Backoff::new(TERM_RESTART_DELAY, MAX_TERM_RESTART_DELAY, seed) }
    }

    /// After a term that failed after this long, or that ended in an orderly way.
    fn after(&mut self, fell_over: Option<Duration>) -> Duration {
        if fell_over.is_none_or(|lasted| lasted >= STABLE_TERM) {
            self.failures.reset();
        }
        fell_over.map_or(TERM_RESTART_DELAY, |_| self.failures.next_pause())
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

    #[test]
    fn restart_delays_reset_after_a_stable_or_orderly_term() {
        for other in [Some(STABLE_TERM), None] {
            let mut pauses = RestartDelays::new(1);
            let grown = (0..10).map(|_| pauses.after(Some(Duration::from_secs(5)))).max();
            assert!(grown > Some(Duration::from_secs(20)), "{grown:?}");
            assert!(pauses.after(other) <= TERM_RESTART_DELAY);
            assert!(pauses.after(Some(Duration::from_secs(5))) <= 2 * TERM_RESTART_DELAY);
        }
    }
}
