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

use crate::families::Families;
use crate::leadership::Leadership;
use crate::not_ready::NotReady;
use crate::policies::UnwrittenStatuses;
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
const TERM_RESTART_DELAY: Duration = Duration::from_secs(1);
/// How long at most, after many that fell over: each lists everything.
const MAX_TERM_RESTART_DELAY: Duration = Duration::from_mins(1);
/// A term that lasts so long before it falls over has nothing to do with the one before.
const STABLE_TERM: Duration = Duration::from_mins(10);

/// A process that carries out policies.
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
        let leading = Leadership::default();
        registry.register_collector(Box::new(leading.clone()));
        registry.register_collector(Box::new(health.watch_ages().clone()));
        registry.register_collector(Box::new(NotReady::new(leading.clone())));
        let budget = WriteBudget::new(options.limits);
        registry.register_collector(Box::new(budget.clone()));
        let switch = Switch::new(options.clock.clone());
        registry.register_collector(Box::new(switch.clone()));
        let families = Families::default();
        families.register(registry, &leading, &options.clock, &switch);
        let unwritten = UnwrittenStatuses::default();
        Process { client, options, health, metrics, budget, switch, families, leading, unwritten }
    }

    /// Runs until the token ends; then finishes what is under way and lets go of the lease.
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

    /// Keeps what the next term goes on from. That does not begin at once: whatever ended this one
    /// may still be there.
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

    /// Runs a term. If it ends though nobody has asked for that, it fell over, after so long.
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
        };
        term.run(end).await;
        (!end.is_cancelled()).then(|| begun.elapsed())
    }
}

/// How long to wait after a term: ever longer while they fall over soon.
struct RestartDelays {
    failures: Backoff,
}

impl RestartDelays {
    fn new(seed: u64) -> Self {
        Self { failures: Backoff::new(TERM_RESTART_DELAY, MAX_TERM_RESTART_DELAY, seed) }
    }

    /// After a term that fell over when it had lasted so long, or that ended otherwise.
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
        let service = service_fn(move |_: Request<Body>| {
            noted.lock().expect("whole").push(begun.elapsed());
            async {
                panic!("whoever follows policies falls over by this answer") as PanickingResponse
            }
        });
        let options = Options {
            families: vec![Family::CronScaling],
            lease: None,
            identity: "us".to_owned(),
            limits: WriteLimits::default(),
            allow_cluster_scoped_targets: false,
            clock: Clock::from_fn(|| jiff::Timestamp::UNIX_EPOCH),
            seed: 1,
        };
        let client = Client::new(service, "default");
        let process = Process::new(client, options, Health::default(), &mut Registry::default());
        let hour = Duration::from_hours(1);
        let _over = tokio::time::timeout(hour, process.run(CancellationToken::new())).await;
        let asked = asked.lock().expect("whole");
        let soon = asked.iter().filter(|at| **at < Duration::from_secs(10)).count();
        assert!(soon >= 3, "a mishap costs little: {asked:?}");
        assert!((60..150).contains(&asked.len()), "{} terms in an hour", asked.len());
    }

    /// An answer that never comes.
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
