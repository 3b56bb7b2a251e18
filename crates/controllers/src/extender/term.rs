//! One term of an extender: waits until nothing of the lead before can be under way any more, lists everything, then
//! decides until shutdown.
//!
//! Everything that runs here ends when the term is dropped, and writes nothing once the fence is closed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use almanac_engine::Exemptions;
use almanac_engine::units::{LongestBind, Standing};
use almanac_shell::event_log::EventPace;
use almanac_shell::lease::Fence;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::Leading;
use super::binding::settle_all;
use super::deciding::{BIND_TIME, BINDINGS_AT_ONCE, Deciding, longest_bind};
use super::statuses::Statuses;
use super::upkeep::Upkeep;
use super::watches::Watches;
use crate::runtime::{EVENTS, RunningTerm};
use crate::work_queue::WorkQueue;

/// How long the writes under way may take at the end of a term.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// The group of tasks that write, except for the calls and Events.
const WORK: &str = "settling bindings and annotating pods";

/// The inputs of a term.
pub(super) struct Term<'a> {
    pub(super) leading: &'a Leading,
    pub(super) fence: Fence,
}

/// Distinguishes the terms of this process, so that state of one is never used in another.
static GENERATION: AtomicU64 = AtomicU64::new(1);

impl Term<'_> {
    /// Runs the term until the token is canceled.
    pub(super) async fn run(self, end: &CancellationToken) {
        let deciding = Arc::new(self.deciding());
        let Leading { runtime, options, calls } = self.leading;
        let mut running = runtime.begin(end);
        let generation = GENERATION.fetch_add(1, Ordering::Relaxed);
        let is_first = options.has_no_predecessor && generation == 1;
        let longest =
            if is_first { LongestBind::of(Duration::ZERO, Duration::ZERO) } else { longest_bind() };
        deciding.lock().ledger.take_lead(generation, deciding.elapsed(), longest);
        runtime.health.set_waiting_for("bindings of the replica that led before to end");
        if !running.is_reached(nothing_under_way(&deciding)).await {
            return;
        }
        let listed_at = deciding.elapsed();
        Watches { options: &options.process, deciding: &deciding }.begin(&mut running);
        if !running.is_listed().await {
            return;
        }
        if let Err(error) = deciding.lock().ledger.serve(listed_at) {
            tracing::error!(%error, "failed to start as the leader; starting a new term");
            return;
        }
        calls.leading.begin(self.fence.clone(), Arc::clone(&deciding));
        runtime.health.set_ready();
        tracing::info!("deciding");
        let end_work = CancellationToken::new();
        self.work(&deciding, &mut running, &end_work);
        let starts_over = async {
            deciding.starts_over.notified().await;
            "deciding, because versions have gone back or it has panicked,"
        };
        running.runs_until_end(starts_over).await;
        drop(calls.leading.end());
        // Calls under way are answered before the lease is released.
        let _in_time = timeout(BIND_TIME, deciding.binding.acquire_many(BINDINGS_AT_ONCE)).await;
        // Late binds are not confirmed any more, also where no lease closes the fence.
        deciding.binding.close();
        deciding.lock().ledger.lose_lead();
        end_work.cancel();
        let _in_time = timeout(SHUTDOWN_TIMEOUT, running.finish(WORK)).await;
        running.flush_events().await;
    }

    /// Begins all tasks that write, except for the calls.
    fn work(&self, deciding: &Arc<Deciding>, running: &mut RunningTerm, end: &CancellationToken) {
        let runtime = &self.leading.runtime;
        let options = &runtime.options;
        let (events, writing_events) = runtime.event_log(&deciding.writer, EventPace::default());
        running.spawn(EVENTS, writing_events.run());
        let statuses = Arc::new(Statuses {
            deciding: Arc::clone(deciding),
            events,
            clock: options.clock.clone(),
            seed: options.seed,
            changed: Notify::new(),
        });
        let upkeep = Arc::new(Upkeep {
            deciding: Arc::clone(deciding),
            pods: WorkQueue::new(options.clock.clone()),
            statuses: Arc::clone(&statuses),
            clock: options.clock.clone(),
            switch: runtime.switch.clone(),
            warned: Mutex::default(),
            refused: Mutex::default(),
        });
        running.spawn(WORK, {
            let (deciding, end) = (Arc::clone(deciding), end.clone());
            async move { settle_all(&deciding, end).await }
        });
        running.spawn(WORK, {
            let end = end.clone();
            async move { statuses.run(end).await }
        });
        running.spawn(WORK, {
            let (upkeep, end) = (Arc::clone(&upkeep), end.clone());
            async move { upkeep.look(end).await }
        });
        running.spawn(WORK, upkeep.write(runtime.health.heartbeat(), end.clone()));
    }

    fn deciding(&self) -> Deciding {
        let Leading { runtime, options, calls } = self.leading;
        let (client, writer) = (runtime.client.clone(), runtime.writer(&self.fence));
        let exempt = Exemptions::of_namespaces(&options.process.exempt_namespaces);
        let metrics = calls.metrics.upkeep.clone();
        Deciding::new((client, writer), metrics, options.monotonic.clone(), exempt)
    }
}

/// Waits until no binding of the lead before can be under way.
async fn nothing_under_way(deciding: &Deciding) {
    loop {
        let now = deciding.elapsed();
        let standing = deciding.lock().ledger.standing();
        match standing {
            Standing::Waiting { until, .. } if now < until => sleep(now.until(until)).await,
            _ => return,
        }
    }
}
