//! One term of an extender: waits until nothing of the lead before can be under way any more, lists everything, then
//! decides until shutdown.
//!
//! Everything that runs here ends when the term is dropped, and writes nothing once the fence is closed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use almanac_engine::Exemptions;
use almanac_engine::units::{LongestBind, Standing};
use almanac_shell::event_log::EventLog;
use almanac_shell::lease::Fence;
use almanac_shell::writer::Writer;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::Leading;
use super::binding::settle_all;
use super::deciding::{BIND_TIME, BINDINGS_AT_ONCE, Deciding, longest_bind};
use super::statuses::Statuses;
use super::upkeep::Upkeep;
use super::watches::{Awaited, Watches};
use crate::list_progress::ListProgress;
use crate::term::first_to_stop;
use crate::work_queue::WorkQueue;

/// How long the writes under way may take at the end of a term.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the Events may take after that.
const EVENT_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

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
        let (health, leading) = (&self.leading.health, &self.leading.calls.leading);
        let generation = GENERATION.fetch_add(1, Ordering::Relaxed);
        let is_first = self.leading.options.has_no_predecessor && generation == 1;
        let longest =
            if is_first { LongestBind::of(Duration::ZERO, Duration::ZERO) } else { longest_bind() };
        deciding.lock().ledger.take_lead(generation, deciding.elapsed(), longest);
        health.set_waiting_for("bindings of the replica that led before to end");
        tokio::select! {
            () = nothing_under_way(&deciding) => {}
            () = end.cancelled() => return,
        }
        let mut following = JoinSet::new();
        let listed_at = deciding.elapsed();
        let awaited = Watches {
            client: &self.leading.client,
            ages: health.watch_ages(),
            clock: &self.leading.options.clock,
            deciding: &deciding,
            exempt_namespaces: &self.leading.options.exempt_namespaces,
        }
        .begin(&mut following);
        if !self.await_lists(awaited, &mut following, end).await {
            return;
        }
        if let Err(error) = deciding.lock().ledger.serve(listed_at) {
            tracing::error!(%error, "failed to begin to decide; starting a new term");
            return;
        }
        leading.begin(self.fence.clone(), Arc::clone(&deciding));
        health.set_ready();
        tracing::info!("deciding");
        let (mut working, mut event_writer) = (JoinSet::new(), JoinSet::new());
        let end_work = CancellationToken::new();
        self.work(&deciding, (&mut working, &mut event_writer), &end_work);
        let mut everybody = [
            ("watching", &mut following),
            ("settling bindings and annotating pods", &mut working),
            ("writing Events", &mut event_writer),
        ];
        tokio::select! {
            () = end.cancelled() => {}
            () = deciding.starts_over.notified() => self.restart_term("deciding, because versions have gone back or it has panicked,"),
            who = first_to_stop(&mut everybody) => self.restart_term(who),
        }
        drop(leading.end());
        // Calls under way are answered before the lease is released.
        let _in_time = timeout(BIND_TIME, deciding.binding.acquire_many(BINDINGS_AT_ONCE)).await;
        // Late binds are not confirmed any more, also where no lease closes the fence.
        deciding.binding.close();
        deciding.lock().ledger.lose_lead();
        end_work.cancel();
        let orderly = async { while working.join_next().await.is_some() {} };
        let _in_time = timeout(SHUTDOWN_TIMEOUT, orderly).await;
        let _in_time = timeout(EVENT_FLUSH_TIMEOUT, event_writer.join_next()).await;
    }

    /// Begins all tasks that write, except for the calls.
    fn work(
        &self,
        deciding: &Arc<Deciding>,
        (working, event_writer): (&mut JoinSet<()>, &mut JoinSet<()>),
        end: &CancellationToken,
    ) {
        let Leading { options, events, switch, health, .. } = self.leading;
        let (events, writing_events) =
            EventLog::new(deciding.writer.clone(), &options.identity, events);
        event_writer.spawn(writing_events.run());
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
            switch: switch.clone(),
            warned: Mutex::default(),
            refused: Mutex::default(),
        });
        working.spawn({
            let (deciding, end) = (Arc::clone(deciding), end.clone());
            async move { settle_all(&deciding, end).await }
        });
        working.spawn({
            let end = end.clone();
            async move { statuses.run(end).await }
        });
        working.spawn({
            let (upkeep, end) = (Arc::clone(&upkeep), end.clone());
            async move { upkeep.look(end).await }
        });
        working.spawn(upkeep.write(health.heartbeat(), end.clone()));
    }

    fn deciding(&self) -> Deciding {
        let Leading { client, options, budget, writes, .. } = self.leading;
        let writer =
            Writer::new(client.clone(), self.fence.clone(), budget.clone(), writes.clone());
        let exempt = Exemptions::of_namespaces(&options.exempt_namespaces);
        let metrics = self.leading.calls.metrics.upkeep.clone();
        Deciding::new((client.clone(), writer), metrics, options.monotonic.clone(), exempt)
    }

    /// Waits until everything is known that is needed. `false` if the term ends before that.
    async fn await_lists(
        &self,
        awaited: Vec<Awaited>,
        following: &mut JoinSet<()>,
        end: &CancellationToken,
    ) -> bool {
        for list in awaited {
            let mut followers = [("watching", &mut *following)];
            tokio::select! {
                () = self.await_list(list) => {}
                who = first_to_stop(&mut followers) => {
                    self.restart_term(who);
                    return false;
                }
                () = end.cancelled() => return false,
            }
        }
        true
    }

    async fn await_list(&self, list: Awaited) {
        let Awaited { what, mut progress, is_needed } = list;
        let health = &self.leading.health;
        loop {
            let now = progress.borrow_and_update().clone();
            match now {
                ListProgress::Whole => return,
                ListProgress::Failing(failure) if !is_needed && failure.is_forbidden => return,
                ListProgress::Failing(failure) => {
                    health.set_waiting_for(format!("{what} to be listed: {}", failure.reason));
                }
                ListProgress::NotYet => health.set_waiting_for(format!("{what} to be listed")),
            }
            if progress.changed().await.is_err() {
                // The watch has stopped, which ends the term.
                std::future::pending::<()>().await;
            }
        }
    }

    /// A term cannot continue without one of its parts.
    fn restart_term(&self, who: &str) {
        tracing::error!("{who} stopped unexpectedly; starting a new term");
        self.leading.health.set_waiting_for("a new term to start");
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
