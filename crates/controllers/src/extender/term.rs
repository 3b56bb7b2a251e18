//! One term of an extender: waits until no request of the previous leader can be in flight, lists everything, then
//! decides until shutdown.
//!
//! Everything that runs here ends when the term is dropped, and writes nothing once the fence is closed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use almanac_engine::Exemptions;
use almanac_engine::units::{LedgerState, LongestBind};
use almanac_shell::event_log::EventPace;
use almanac_shell::lease::Fence;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::ExtenderProcess;
use super::binding::settle_all;
use super::leader::{BIND_TIME, BINDINGS_AT_ONCE, Leader, longest_bind};
use super::pod_writer::PodWriter;
use super::statuses::Statuses;
use super::watches::Watches;
use crate::runtime::{EVENTS, RunningTerm};
use crate::work_queue::WorkQueue;

/// The time limit for writes in flight at the end of a term.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// The group of tasks that write, except for requests and Events.
const WORK: &str = "resolving bindings and annotating pods";

/// The inputs of a term.
pub(super) struct Term<'a> {
    pub(super) process: &'a ExtenderProcess,
    pub(super) fence: Fence,
}

/// Distinguishes the terms of this process, so that state of one is never used in another.
static GENERATION: AtomicU64 = AtomicU64::new(1);

impl Term<'_> {
    /// Runs the term until the token is canceled.
    pub(super) async fn run(self, end: &CancellationToken) {
        let leader = Arc::new(self.leader());
        let ExtenderProcess { runtime, options, handler } = self.process;
        let mut running = runtime.start(end);
        let generation = GENERATION.fetch_add(1, Ordering::Relaxed);
        let is_first = options.has_no_predecessor && generation == 1;
        let longest = if is_first {
            LongestBind::from_timeouts(Duration::ZERO, Duration::ZERO)
        } else {
            longest_bind()
        };
        leader.lock().ledger.acquire_leadership(generation, leader.elapsed(), longest);
        runtime.health.set_waiting_for("bindings of the previous leader to end");
        if !running.is_reached(nothing_under_way(&leader)).await {
            return;
        }
        let listed_at = leader.elapsed();
        Watches { options: &options.process, leader: &leader }.start(&mut running);
        if !running.is_listed().await {
            return;
        }
        if let Err(error) = leader.lock().ledger.serve(listed_at) {
            tracing::error!(%error, "failed to start as the leader; starting a new term");
            return;
        }
        handler.leading.start(self.fence.clone(), Arc::clone(&leader));
        runtime.health.set_ready();
        tracing::info!("deciding");
        let end_work = CancellationToken::new();
        self.work(&leader, &mut running, &end_work);
        let starts_over = async {
            leader.starts_over.notified().await;
            "deciding (versions have gone back, or a task panicked)"
        };
        running.runs_until_end(starts_over).await;
        drop(handler.leading.end());
        // Requests in progress are finished before the Lease is released.
        let _in_time = timeout(BIND_TIME, leader.binding.acquire_many(BINDINGS_AT_ONCE)).await;
        // Late binds are not confirmed any more, even without a Lease that closes the fence.
        leader.binding.close();
        leader.lock().ledger.lose_leadership();
        end_work.cancel();
        let _in_time = timeout(SHUTDOWN_TIMEOUT, running.finish(WORK)).await;
        running.flush_events().await;
    }

    /// Starts all tasks that write, except for requests.
    fn work(&self, leader: &Arc<Leader>, running: &mut RunningTerm, end: &CancellationToken) {
        let runtime = &self.process.runtime;
        let options = &runtime.options;
        let (events, writing_events) = runtime.event_log(&leader.writer, EventPace::default());
        running.spawn(EVENTS, writing_events.run());
        let statuses = Arc::new(Statuses {
            leader: Arc::clone(leader),
            events,
            clock: options.clock.clone(),
            seed: options.seed,
            changed: Notify::new(),
        });
        let pod_writer = Arc::new(PodWriter {
            leader: Arc::clone(leader),
            pods: WorkQueue::new(options.clock.clone()),
            statuses: Arc::clone(&statuses),
            clock: options.clock.clone(),
            switch: runtime.switch.clone(),
            warned: Mutex::default(),
            refused: Mutex::default(),
        });
        running.spawn(WORK, {
            let (leader, end) = (Arc::clone(leader), end.clone());
            async move { settle_all(&leader, end).await }
        });
        running.spawn(WORK, {
            let end = end.clone();
            async move { statuses.run(end).await }
        });
        running.spawn(WORK, {
            let (pod_writer, end) = (Arc::clone(&pod_writer), end.clone());
            async move { pod_writer.run(end).await }
        });
        running.spawn(WORK, pod_writer.write(runtime.health.heartbeat(), end.clone()));
    }

    fn leader(&self) -> Leader {
        let ExtenderProcess { runtime, options, handler } = self.process;
        let (client, writer) = (runtime.client.clone(), runtime.writer(&self.fence));
        let exempt = Exemptions::for_namespaces(&options.process.exempt_namespaces);
        let metrics = handler.metrics.pod_writes.clone();
        Leader::new((client, writer), metrics, options.monotonic.clone(), exempt)
    }
}

/// Waits until no binding of the previous leader can be in flight.
async fn nothing_under_way(leader: &Leader) {
    loop {
        let now = leader.elapsed();
        let standing = leader.lock().ledger.standing();
        match standing {
            LedgerState::Waiting { until, .. } if now < until => sleep(now.until(until)).await,
            _ => return,
        }
    }
}
