//! One term of an agent: lists everything again, then runs resyncs and turns until shutdown.
//!
//! Everything that runs here ends when the term is dropped, and writes nothing once the fence is closed.

use std::sync::Arc;
use std::time::Duration;

use almanac_engine::qos_levels::AgentSettings;
use almanac_engine::{Exemptions, Identity};
use almanac_shell::lease::{Fence, Switch};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::Agent;
use super::resync::Resync;
use super::state::SharedState;
use super::turn::Turns;
use super::watches::Watches;
use crate::runtime::{EVENTS, WATCHES, end_within};
use crate::work_queue::WorkQueue;

/// The number of turns that may wait for the API server, per allowed write in flight: so one turn is always ready.
const TURNS_PER_WRITE: usize = 2;

/// The time limit for the end of a term.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// The groups of tasks, except for the watches and the writer of Events.
const RESYNC: &str = "resyncing";
const TURNS: &str = "running turns";

/// The inputs of a term.
pub(super) struct Term<'a> {
    pub(super) agent: &'a Agent,
    pub(super) fence: Fence,
}

impl Term<'_> {
    /// Runs the term until the token is canceled.
    pub(super) async fn run(self, end: &CancellationToken) {
        let Agent { runtime, options, leading, .. } = self.agent;
        let resync = Arc::new(self.resync());
        let writer = runtime.writer(&self.fence);
        let (events, writing_events) = runtime.event_log(&writer, options.nodes.event_pace());
        let mut running = runtime.start(end);
        running.spawn(EVENTS, writing_events.run());
        let watches =
            Watches { agent: self.agent, resync: Arc::clone(&resync), events: events.clone() };
        watches.start(&mut running);
        drop(watches);
        if !running.is_listed().await {
            return;
        }
        let state = Arc::clone(&resync.state);
        tracing::info!(pods = state.lock().pods.len(), "listed the pods");
        leading.start(self.fence.clone(), state);
        runtime.health.set_ready();
        let turns = Turns {
            resync: Arc::clone(&resync),
            writer,
            events,
            switch: runtime.switch.clone(),
            seed: options.process.seed,
        };
        let end_turns = CancellationToken::new();
        running.spawn(TURNS, self.take_turns(turns, end_turns.clone()));
        running.spawn(RESYNC, Arc::clone(&resync).run(end_turns.clone()));
        running.spawn(RESYNC, resync_on_switch(runtime.switch.clone(), resync));
        running.runs_until_end(std::future::pending()).await;
        // The Lease is released after that, so no request may be in flight then, even if a task has failed.
        let ending = async {
            end_turns.cancel();
            // The queue, and with it everything that reports Events, ends after its turns.
            running.finish(TURNS).await;
            drop(leading.end());
            running.abort(RESYNC);
            running.abort(WATCHES);
            running.flush_events().await;
        };
        end_within(SHUTDOWN_TIMEOUT, ending).await;
    }

    fn take_turns(
        &self,
        turns: Turns,
        end: CancellationToken,
    ) -> impl Future<Output = ()> + Send + 'static {
        let at_once = TURNS_PER_WRITE * self.agent.options.process.limits.at_once.max(1);
        let heartbeat = self.agent.runtime.health.heartbeat();
        async move {
            let (resync, turns) = (Arc::clone(&turns.resync), Arc::new(turns));
            let turn = |pod: Identity| {
                let turns = Arc::clone(&turns);
                async move { turns.take(&pod).await }
            };
            resync.queue.run(at_once, Some(&heartbeat), end, |_| Vec::new(), turn).await;
        }
    }

    fn resync(&self) -> Resync {
        let options = &self.agent.options;
        let state = SharedState::default();
        {
            let world = &mut state.lock().world;
            world.objects.exempt =
                Arc::new(Exemptions::for_namespaces(&options.process.exempt_namespaces));
            world.qos_levels.extra = AgentSettings {
                config_namespace: Some(options.config_namespace.as_str().into()),
                level_format: options.level_format,
            };
        }
        Resync {
            state: Arc::new(state),
            queue: WorkQueue::new(options.process.clock.clone()),
            clock: options.process.clock.clone(),
            metrics: self.agent.levels.clone(),
            spread: options.spread,
            requests: Notify::new(),
        }
    }
}

/// Requests a resync when the stop ends: turns that fell due during the stop are still due.
async fn resync_on_switch(switch: Switch, resync: Arc<Resync>) {
    loop {
        switch.changed().await;
        resync.request();
    }
}
