//! One term after another: waits for the lease, if there is one, runs a term, and waits again when the lease is
//! lost or the term has failed. What a term does is up to the process.

use std::time::Duration;

use almanac_shell::backoff::Backoff;
use almanac_shell::endpoints::Health;
use almanac_shell::lease::{Candidate, Fence, LeaseOptions, Switch};
use kube::Client;
use tokio_util::sync::CancellationToken;

/// The delay between two terms.
const TERM_RESTART_DELAY: Duration = Duration::from_secs(1);
/// The longest delay, after many failed terms: each lists everything.
const MAX_TERM_RESTART_DELAY: Duration = Duration::from_mins(1);
/// A term that lasts this long before it fails is unrelated to the failure before.
const STABLE_TERM: Duration = Duration::from_mins(10);

/// The terms of a process.
pub(crate) struct Terms {
    pub(crate) client: Client,
    /// The lease to hold meanwhile; `None` for a process that runs alone.
    pub(crate) lease: Option<LeaseOptions>,
    pub(crate) health: Health,
    pub(crate) switch: Switch,
    /// The seed of all jitter.
    pub(crate) seed: u64,
}

impl Terms {
    /// Runs until the token is cancelled. A term that ends unexpectedly returns how long it lasted; when the lease
    /// is lost, it is dropped. `over` is called after each, however it ended.
    pub(crate) async fn run<Term: Future<Output = Option<Duration>>>(
        self,
        end: &CancellationToken,
        term: impl Fn(Fence) -> Term,
        over: impl Fn(),
    ) {
        let mut pauses = RestartDelays::new(self.seed);
        let Some(lease) = self.lease.clone() else {
            while !end.is_cancelled() {
                let fell_over = term(Fence::open()).await;
                over();
                self.pause(pauses.after(fell_over), end).await;
            }
            return;
        };
        let (health, switch) = (self.health.clone(), self.switch.clone());
        let mut candidate = Candidate::new(self.client.clone(), lease, health, switch, self.seed);
        while !end.is_cancelled() {
            tracing::info!("waiting for the lease");
            self.health.set_waiting_for("the lease");
            let mut fell_over = None;
            let led = candidate.lead(end, async |fence| {
                tracing::info!("leading");
                fell_over = term(fence).await;
            });
            if let Err(lost) = led.await {
                tracing::warn!(%lost, "no longer the leader");
            }
            over();
            self.pause(pauses.after(fell_over), end).await;
        }
    }

    /// The next term starts after a delay, because the cause of the failure may persist.
    async fn pause(&self, pause: Duration, end: &CancellationToken) {
        self.health.stop_heartbeat();
        tokio::select! {
            () = end.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
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
    use super::*;

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
