//! The common part of all processes: their client, limits and metrics, and one term after another. A process waits for
//! its Lease if it has one, runs a term, and waits again when the Lease is lost or the term has failed.
//!
//! `running` has the tasks of one term, and `watches` starts its watches. Each process defines its own terms.

mod running;
mod watches;

use std::time::Duration;

use almanac_shell::backoff::Backoff;
use almanac_shell::budget::{WriteBudget, WriteLimits};
use almanac_shell::clock::Clock;
use almanac_shell::endpoints::Health;
use almanac_shell::event_log::{EventLog, EventLogWriter, EventMetrics, EventPace};
use almanac_shell::lease::{Candidate, Fence, LeaseOptions, Switch};
use almanac_shell::process_metrics;
use almanac_shell::writer::{WriteMetrics, Writer};
use kube::Client;
use prometheus_client::registry::Registry;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) use self::running::{EVENTS, RunningTerm, WATCHES, end_within};
pub(crate) use self::watches::{Watch, core, names, watch};

/// The delay between two terms.
const TERM_RESTART_DELAY: Duration = Duration::from_secs(1);
/// The maximum delay, after many failed terms: each term lists everything.
const MAX_TERM_RESTART_DELAY: Duration = Duration::from_mins(1);
/// A term that lasts this long before it fails is unrelated to the failure before.
const STABLE_TERM: Duration = Duration::from_mins(10);

/// The options of every process that writes.
#[derive(Clone)]
pub struct ProcessOptions {
    /// The namespaces in which nothing is reconciled.
    pub exempt_namespaces: Vec<String>,
    /// The Lease to lock during a term; `None` for a process that runs alone.
    pub lease: Option<LeaseOptions>,
    /// The name of this process.
    pub identity: String,
    /// The write limits.
    pub limits: WriteLimits,
    /// The policy clock.
    pub clock: Clock,
    /// The seed of all jitter.
    pub seed: u64,
}

/// The parts of a process that all of its terms share.
pub(crate) struct Runtime {
    pub(crate) client: Client,
    pub(crate) options: ProcessOptions,
    pub(crate) health: Health,
    pub(crate) switch: Switch,
    budget: WriteBudget,
    writes: WriteMetrics,
    events: EventMetrics,
}

impl Runtime {
    /// Returns the parts of a process that is not running yet. Its metrics are registered.
    pub(crate) fn new(
        client: Client,
        options: ProcessOptions,
        health: Health,
        registry: &mut Registry,
    ) -> Self {
        let (writes, events) = (WriteMetrics::default(), EventMetrics::default());
        writes.register(registry);
        events.register(registry);
        process_metrics::register(registry);
        registry.register_collector(Box::new(health.watch_ages().clone()));
        let budget = WriteBudget::new(options.limits);
        registry.register_collector(Box::new(budget.clone()));
        let switch = Switch::new(options.clock.clone());
        Self { client, options, health, switch, budget, writes, events }
    }

    /// Writes while a fence is open.
    pub(crate) fn writer(&self, fence: &Fence) -> Writer {
        let (client, budget) = (self.client.clone(), self.budget.clone());
        Writer::new(client, fence.clone(), budget, self.writes.clone())
    }

    /// The log of Events of a term, and its writer.
    pub(crate) fn event_log(&self, writer: &Writer, pace: EventPace) -> (EventLog, EventLogWriter) {
        EventLog::with_pace(writer.clone(), &self.options.identity, &self.events, pace)
    }

    /// Starts a term without any tasks.
    pub(crate) fn start(&self, end: &CancellationToken) -> RunningTerm {
        RunningTerm::new(&self.client, &self.health, end)
    }

    /// Runs one term after another until the token is canceled. When the Lease is lost, the term is dropped. `over` is
    /// called after each term, however it ended.
    pub(crate) async fn run<Term: Future<Output = ()>>(
        &self,
        end: &CancellationToken,
        term: impl Fn(Fence) -> Term,
        over: impl Fn(),
    ) {
        let ProcessOptions { lease, seed, .. } = &self.options;
        let mut delays = RestartDelays::new(*seed);
        let Some(lease) = lease.clone() else {
            while !end.is_cancelled() {
                let failed_after = failure_of(term(Fence::open()), end).await;
                over();
                self.wait(delays.after(failed_after), end).await;
            }
            return;
        };
        let (health, switch) = (self.health.clone(), self.switch.clone());
        let mut candidate = Candidate::new(self.client.clone(), lease, health, switch, *seed);
        while !end.is_cancelled() {
            tracing::info!("waiting for the lease");
            self.health.set_waiting_for("the lease");
            let mut failed_after = None;
            let led = candidate.lead(end, async |fence| {
                tracing::info!("leading");
                failed_after = failure_of(term(fence), end).await;
            });
            if let Err(lost) = led.await {
                tracing::warn!(%lost, "no longer the leader");
            }
            over();
            self.wait(delays.after(failed_after), end).await;
        }
    }

    /// The next term starts after a delay, because the cause of the failure may persist.
    async fn wait(&self, delay: Duration, end: &CancellationToken) {
        self.health.stop_heartbeat();
        tokio::select! {
            () = end.cancelled() => {}
            () = tokio::time::sleep(delay) => {}
        }
    }
}

/// Runs a term. If it ends unexpectedly, returns how long it lasted.
async fn failure_of(term: impl Future<Output = ()>, end: &CancellationToken) -> Option<Duration> {
    let started = Instant::now();
    term.await;
    (!end.is_cancelled()).then(|| started.elapsed())
}

/// The delay after a term, growing while terms fail early.
struct RestartDelays {
    failures: Backoff,
}

impl RestartDelays {
    fn new(seed: u64) -> Self {
        Self { failures: Backoff::new(TERM_RESTART_DELAY, MAX_TERM_RESTART_DELAY, seed) }
    }

    /// The delay after a term that failed after this long, or that ended in an orderly way.
    fn after(&mut self, failed_after: Option<Duration>) -> Duration {
        if failed_after.is_none_or(|lasted| lasted >= STABLE_TERM) {
            self.failures.reset();
        }
        failed_after.map_or(TERM_RESTART_DELAY, |_| self.failures.next_pause())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restart_delays_reset_after_a_stable_or_orderly_term() {
        for other in [Some(STABLE_TERM), None] {
            let mut delays = RestartDelays::new(1);
            let grown = (0..10).map(|_| delays.after(Some(Duration::from_secs(5)))).max();
            assert!(grown > Some(Duration::from_secs(20)), "{grown:?}");
            assert!(delays.after(other) <= TERM_RESTART_DELAY);
            assert!(delays.after(Some(Duration::from_secs(5))) <= 2 * TERM_RESTART_DELAY);
        }
    }
}
