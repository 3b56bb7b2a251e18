//! One term of an agent: lists everything afresh, then surveys and takes turns until shutdown.
//!
//! Everything that runs here ends when the term is dropped, and writes nothing once the fence is closed.

use std::sync::Arc;
use std::time::Duration;

use almanac_engine::qos_levels::AgentSettings;
use almanac_engine::{Exemptions, Identity};
use almanac_shell::event_log::EventLog;
use almanac_shell::lease::{Fence, Switch};
use almanac_shell::writer::Writer;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Agent;
use super::known::Known;
use super::survey::Surveyed;
use super::turn::Turns;
use super::watches::{Awaited, Watches};
use crate::list_progress::{FORBIDDEN_PATIENCE, ListProgress, Listings};
use crate::term::first_to_stop;
use crate::work_queue::WorkQueue;

/// How many turns may wait for the API server at once, for each write that may be in flight: so that one is
/// always waiting.
const TURNS_PER_WRITE: usize = 2;

/// How long the end of a term may take.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the Events may take of that.
const EVENT_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// What a term needs.
pub(super) struct Term<'a> {
    pub(super) agent: &'a Agent,
    pub(super) fence: Fence,
}

impl Term<'_> {
    /// Runs the term until the token is cancelled.
    pub(super) async fn run(self, end: &CancellationToken) {
        let Agent { options, health, leading, .. } = self.agent;
        let surveyed = Arc::new(self.surveyed());
        let writer = Writer::new(
            self.agent.client.clone(),
            self.fence.clone(),
            self.agent.budget.clone(),
            self.agent.writes.clone(),
        );
        let pace = options.nodes.event_pace();
        let (events, writing_events) =
            EventLog::with_pace(writer.clone(), &options.identity, &self.agent.events, pace);
        // All tasks are in these sets, and are aborted with them when the term is dropped.
        let (mut following, mut working) = (JoinSet::new(), JoinSet::new());
        let mut event_writer = JoinSet::new();
        event_writer.spawn(writing_events.run());
        let watches =
            Watches { agent: self.agent, surveyed: Arc::clone(&surveyed), events: events.clone() };
        let awaited = watches.begin(&mut following);
        if !self.await_lists(awaited, &mut following, end).await {
            return;
        }
        let known = Arc::clone(&surveyed.known);
        tracing::info!(pods = known.lock().pods.len(), "listed the pods");
        leading.begin(self.fence.clone(), known);
        health.set_ready();
        let turns = Turns {
            surveyed: Arc::clone(&surveyed),
            writer,
            events,
            switch: self.agent.switch.clone(),
            seed: options.seed,
        };
        let end_turns = CancellationToken::new();
        working.spawn(self.take_turns(turns, end_turns.clone()));
        following.spawn(Arc::clone(&surveyed).run(end_turns.clone()));
        following.spawn(survey_on_switch(self.agent.switch.clone(), surveyed));
        let mut everybody = [
            ("watching and surveying", &mut following),
            ("taking turns", &mut working),
            ("writing Events", &mut event_writer),
        ];
        tokio::select! {
            () = end.cancelled() => {}
            who = first_to_stop(&mut everybody) => return self.restart_term(who),
        }
        let orderly = async {
            end_turns.cancel();
            // The queue, and with it everything that reports Events, ends when its turns have.
            while working.join_next().await.is_some() {}
            drop(leading.end());
            following.shutdown().await;
            drop(watches);
            // Others are waiting for the lease; Events are not worth much more time.
            let _in_time =
                tokio::time::timeout(EVENT_FLUSH_TIMEOUT, event_writer.join_next()).await;
        };
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, orderly).await.is_err() {
            tracing::warn!("shut down before everything was finished");
        }
    }

    fn take_turns(
        &self,
        turns: Turns,
        end: CancellationToken,
    ) -> impl Future<Output = ()> + Send + 'static {
        let at_once = TURNS_PER_WRITE * self.agent.options.limits.at_once.max(1);
        let heartbeat = self.agent.health.heartbeat();
        async move {
            let (surveyed, turns) = (Arc::clone(&turns.surveyed), Arc::new(turns));
            let turn = |pod: Identity| {
                let turns = Arc::clone(&turns);
                async move { turns.take(&pod).await }
            };
            surveyed.queue.run(at_once, Some(&heartbeat), end, |_| Vec::new(), turn).await;
        }
    }

    fn surveyed(&self) -> Surveyed {
        let options = &self.agent.options;
        let known = Known::default();
        {
            let world = &mut known.lock().world;
            world.objects.exempt = Arc::new(Exemptions::of_namespaces(&options.exempt_namespaces));
            world.qos_levels.extra = AgentSettings {
                config_namespace: Some(options.config_namespace.as_str().into()),
                level_format: options.level_format,
            };
        }
        Surveyed {
            known: Arc::new(known),
            queue: WorkQueue::new(options.clock.clone()),
            clock: options.clock.clone(),
            metrics: self.agent.levels.clone(),
            spread: options.spread,
            asked: Notify::new(),
        }
    }

    /// Waits until everything is known that is needed. `false` if the term ends before that.
    async fn await_lists(
        &self,
        (awaited, pods): (Vec<Awaited>, Listings),
        following: &mut JoinSet<()>,
        end: &CancellationToken,
    ) -> bool {
        let lists = async {
            for list in awaited {
                self.await_list(list).await;
            }
            pods.wait(&self.agent.health, Instant::now() + FORBIDDEN_PATIENCE).await;
        };
        let mut followers = [("watching", following)];
        tokio::select! {
            () = lists => true,
            who = first_to_stop(&mut followers) => {
                self.restart_term(who);
                false
            }
            () = end.cancelled() => false,
        }
    }

    async fn await_list(&self, list: Awaited) {
        let Awaited { what, mut progress, is_needed } = list;
        loop {
            let now = progress.borrow_and_update().clone();
            match now {
                ListProgress::Whole => return,
                ListProgress::Failing(failure) if !is_needed && failure.is_forbidden => return,
                ListProgress::Failing(failure) => {
                    let health = &self.agent.health;
                    health.set_waiting_for(format!("{what} to be listed: {}", failure.reason));
                }
                ListProgress::NotYet => {
                    self.agent.health.set_waiting_for(format!("{what} to be listed"));
                }
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
        self.agent.health.set_waiting_for("a new term to start");
    }
}

/// When everything is resumed, what was due meanwhile is done.
async fn survey_on_switch(switch: Switch, surveyed: Arc<Surveyed>) {
    loop {
        switch.changed().await;
        surveyed.ask();
    }
}
