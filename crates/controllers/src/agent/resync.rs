//! The resync: decides about all pods together, and gives a turn to each pod without its desired level.
//!
//! A resync runs at every boundary, after each change that concerns many pods, and at every check interval of the
//! policies. After a boundary all nodes of a cluster have work in the same instant. So each node starts its pods a bit
//! later, by an offset from its name.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use almanac_engine::qos_levels::Levels;
use almanac_engine::qos_levels::QosLevels;
use almanac_engine::{Identity, Reach, turn};
use almanac_shell::clock::Clock;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::metrics::LevelMetrics;
use super::state::{AgentState, SharedState};
use crate::work_queue::WorkQueue;

/// The inputs of resyncs, and the means to request one.
pub(super) struct Resync {
    pub(super) state: Arc<SharedState>,
    pub(super) queue: WorkQueue<Identity>,
    pub(super) clock: Clock,
    pub(super) metrics: LevelMetrics,
    pub(super) spread: Duration,
    pub(super) requests: Notify,
}

/// The maximum sleep, because the wall clock may be set during a sleep.
const MAX_SLEEP: Duration = Duration::from_secs(1);

/// The interval of resyncs while no policy sets an interval. All policies may have been deleted, and some pods might
/// not be restored yet.
const CHECK_INTERVAL: SignedDuration = SignedDuration::from_secs(15);

/// The next two instants at which a resync is due.
#[derive(Clone, Copy, Default)]
struct NextResync {
    boundary: Option<Timestamp>,
    check: Option<Timestamp>,
}

impl Resync {
    /// Requests a resync.
    pub(super) fn request(&self) {
        self.requests.notify_one();
    }

    /// Runs resyncs until the token is canceled.
    pub(super) async fn run(self: Arc<Self>, end: CancellationToken) {
        let mut next = NextResync::default();
        while !end.is_cancelled() {
            let now = self.clock.now();
            let reached = next.boundary.filter(|boundary| *boundary <= now);
            next = self.resync(reached, now);
            tokio::select! {
                () = end.cancelled() => {}
                () = self.requests.notified() => {}
                () = self.until_due(next, now) => {}
            }
        }
    }

    /// Waits for the next resync. After the clock was set back, a resync is due immediately, because the last decisions
    /// were made for a later time.
    async fn until_due(&self, next: NextResync, resynced_at: Timestamp) {
        let earliest = next.boundary.into_iter().chain(next.check).min();
        loop {
            let now = self.clock.now();
            if now < resynced_at || earliest.is_some_and(|at| at <= now) {
                return;
            }
            let remaining = earliest.and_then(|at| Duration::try_from(at.duration_since(now)).ok());
            tokio::time::sleep(remaining.map_or(MAX_SLEEP, |remaining| remaining.min(MAX_SLEEP)))
                .await;
        }
    }

    /// Gives a turn to every pod without its desired level. `reached` is the boundary that has just passed.
    fn resync(&self, reached: Option<Timestamp>, now: Timestamp) -> NextResync {
        let mut state = self.state.lock();
        let check_after =
            |interval| NextResync { boundary: None, check: now.checked_add(interval).ok() };
        let Some(policies) = state.policies_in_force() else { return check_after(CHECK_INTERVAL) };
        let open = turn::open(&state.world, &policies, &Reach::everything(), now);
        let Some(open) = open else { return check_after(CHECK_INTERVAL) };
        let Some(decided) = open.decision().get::<Levels>() else {
            return check_after(CHECK_INTERVAL);
        };
        let AgentState { world, pods, .. } = &mut *state;
        for pod in decided.decision.pods.iter().filter(|pod| pod.is_written()) {
            let Some(entry) = pods.get_mut(&pod.pod) else { continue };
            // An earlier failure is unrelated to this boundary.
            if entry.failure.is_none() {
                entry.due_since = entry.due_since.or(reached);
            }
            let node = world.objects.pods.get(&pod.pod).and_then(|it| it.node.as_deref());
            let offset = offset(node.unwrap_or_default(), self.spread);
            let at = now.saturating_add(offset).unwrap_or(now);
            let retry_at = entry.failure.as_ref().map_or(at, |failure| failure.again_at(now));
            self.queue.bring_forward(&pod.pod, at.max(retry_at));
        }
        let interval = check_interval(&decided.policy).unwrap_or(CHECK_INTERVAL);
        NextResync { boundary: decided.decision.wake_at, ..check_after(interval) }
    }
}

/// The delay of a node after a boundary, at most `spread`.
pub(super) fn offset(node: &str, spread: Duration) -> Duration {
    let mut hasher = DefaultHasher::new();
    node.hash(&mut hasher);
    let spread = u64::try_from(spread.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(hasher.finish().checked_rem(spread).unwrap_or_default())
}

/// The minimum check interval of the policies that are reconciled.
fn check_interval(policies: &QosLevels) -> Option<SignedDuration> {
    let enabled = policies.lists().flat_map(|(_, list)| list).filter(|it| it.is_enabled);
    enabled.map(|it| it.check_interval).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_start_at_different_instants_of_the_spread_and_a_node_always_at_the_same() {
        let spread = Duration::from_secs(3);
        let offsets: Vec<Duration> =
            (0..1000).map(|node| offset(&format!("node-{node}"), spread)).collect();
        assert!(offsets.iter().all(|it| *it < spread));
        for third in 0..3 {
            let count = offsets.iter().filter(|it| it.as_secs() == third).count();
            assert!((250..420).contains(&count), "{count} nodes in second {third}");
        }
        assert_eq!(offset("node-7", spread), offsets[7]);
        assert_eq!(offset("node-7", Duration::ZERO), Duration::ZERO);
    }
}
