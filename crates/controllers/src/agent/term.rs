//! One term of an agent: lists everything again, then runs surveys and turns until shutdown.
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
use super::known::Known;
use super::survey::Surveyed;
use super::turn::Turns;
use super::watches::Watches;
use crate::runtime::{EVENTS, WATCHES, end_within};
use crate::work_queue::WorkQueue;

/// The number of turns that may wait for the API server, per allowed write in flight: so one turn is always ready.
const TURNS_PER_WRITE: usize = 2;

/// How long the end of a term may take.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// The groups of tasks, except for the watches and the writer of Events.
const SURVEYS: &str = "surveying";
const TURNS: &str = "taking turns";

/// The inputs of a term.
pub(super) struct Term<'a> {
    pub(super) agent: &'a Agent,
    pub(super) fence: Fence,
}

impl Term<'_> {
    /// Runs the term until the token is canceled.
    pub(super) async fn run(self, end: &CancellationToken) {
        let Agent { runtime, options, leading, .. } = self.agent;
        let surveyed = Arc::new(self.surveyed());
        let writer = runtime.writer(&self.fence);
        let (events, writing_events) = runtime.event_log(&writer, options.nodes.event_pace());
        let mut running = runtime.begin(end);
        running.spawn(EVENTS, writing_events.run());
        let watches =
            Watches { agent: self.agent, surveyed: Arc::clone(&surveyed), events: events.clone() };
        watches.begin(&mut running);
        drop(watches);
        if !running.is_listed().await {
            return;
        }
        let known = Arc::clone(&surveyed.known);
        tracing::info!(pods = known.lock().pods.len(), "listed the pods");
        leading.begin(self.fence.clone(), known);
        runtime.health.set_ready();
        let turns = Turns {
            surveyed: Arc::clone(&surveyed),
            writer,
            events,
            switch: runtime.switch.clone(),
            seed: options.process.seed,
        };
        let end_turns = CancellationToken::new();
        running.spawn(TURNS, self.take_turns(turns, end_turns.clone()));
        running.spawn(SURVEYS, Arc::clone(&surveyed).run(end_turns.clone()));
        running.spawn(SURVEYS, survey_on_switch(runtime.switch.clone(), surveyed));
        if !running.runs_until_end(std::future::pending()).await {
            return;
        }
        let orderly = async {
            end_turns.cancel();
            // The queue, and with it everything that reports Events, ends after its turns.
            running.finish(TURNS).await;
            drop(leading.end());
            running.abort(SURVEYS).await;
            running.abort(WATCHES).await;
            running.flush_events().await;
        };
        end_within(SHUTDOWN_TIMEOUT, orderly).await;
    }

    fn take_turns(
        &self,
        turns: Turns,
        end: CancellationToken,
    ) -> impl Future<Output = ()> + Send + 'static {
        let at_once = TURNS_PER_WRITE * self.agent.options.process.limits.at_once.max(1);
        let heartbeat = self.agent.runtime.health.heartbeat();
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
            world.objects.exempt =
                Arc::new(Exemptions::of_namespaces(&options.process.exempt_namespaces));
            world.qos_levels.extra = AgentSettings {
                config_namespace: Some(options.config_namespace.as_str().into()),
                level_format: options.level_format,
            };
        }
        Surveyed {
            known: Arc::new(known),
            queue: WorkQueue::new(options.process.clock.clone()),
            clock: options.process.clock.clone(),
            metrics: self.agent.levels.clone(),
            spread: options.spread,
            asked: Notify::new(),
        }
    }
}

/// Starts a survey when the stop ends: turns that fell due during the stop are still due.
async fn survey_on_switch(switch: Switch, surveyed: Arc<Surveyed>) {
    loop {
        switch.changed().await;
        surveyed.ask();
    }
}
