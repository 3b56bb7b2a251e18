//! One term as the leader: lists everything afresh, so that no decision is based on stale data, then runs
//! the turns until shutdown.
//!
//! Everything that runs here ends when the term is dropped, and writes nothing once the fence is closed.

mod sampling;
mod watches;

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use almanac_api::families::Upstream;
use almanac_api::status::conditions::{ConditionReason, ConditionState};
use almanac_engine::{Exemptions, Identity, PolicyName};
use almanac_shell::budget::WriteBudget;
use almanac_shell::endpoints::{Health, Heartbeat};
use almanac_shell::event_log::{Event, EventLog};
use almanac_shell::lease::{Fence, Switch};
use almanac_shell::writer::Writer;
use jiff::Timestamp;
use kube::Client;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::sampling::{Sampling, ask_prometheus};
use crate::cluster::{Cluster, PolicyEntry, StatusSnapshot};
use crate::families::{Composed, Families, ReportSubject};
use crate::leadership::Leadership;
use crate::policies::{UnwrittenStatuses, WorkQueues};
use crate::process::{Metrics, Options};
use crate::reconciler::{CostlyDecisions, Reconciler};
use crate::scalable_node_group::{self, NodeGroups};
use crate::served_schemas::ServedSchemas;
use crate::status_writer::{StatusUpdate, StatusWriter, WriteResult};
use crate::targets::Targets;
use crate::upstream::{self, Upstreams};
use crate::work_queue::{Lane, WorkQueue};

/// How many turns may run at once. Most of a turn is waiting for the API server, and concurrent
/// requests are limited elsewhere.
pub(crate) const MAX_CONCURRENT_TURNS: usize = 256;

/// How long the end of a term may take: work in progress, statuses, Events.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the Events may take of that.
const EVENT_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// What a term needs.
pub(crate) struct Term {
    pub(crate) client: Client,
    pub(crate) options: Options,
    pub(crate) fence: Fence,
    pub(crate) switch: Switch,
    pub(crate) budget: WriteBudget,
    pub(crate) health: Health,
    pub(crate) metrics: Metrics,
    pub(crate) families: Families,
    pub(crate) leading: Leadership,
    pub(crate) unwritten: UnwrittenStatuses,
    pub(crate) upstreams: Upstreams,
    pub(crate) schemas: ServedSchemas,
}

/// The state that all parts of a term share.
struct Shared {
    cluster: Arc<Cluster>,
    turns: Arc<WorkQueue>,
    statuses: Arc<WorkQueue>,
    /// Asks Prometheus, if there is one.
    sampling: Option<Sampling>,
    writing: StatusWriter,
    families: Families,
    schemas: ServedSchemas,
    events: EventLog,
    reconciler: Reconciler,
    node_groups: Arc<NodeGroups>,
}

impl Term {
    /// Runs the term until the token is cancelled.
    pub(crate) async fn run(self, end: &CancellationToken) {
        // All tasks are in these sets, and are aborted with them when the term is dropped.
        let (mut following, mut working) = (JoinSet::new(), JoinSet::new());
        let (shared, writing_events) = self.begin();
        let shared = Arc::new(shared);
        let mut event_writer = JoinSet::new();
        event_writer.spawn(writing_events);
        if !self.watch_everything(&shared, &mut following, end).await {
            return;
        }
        self.leading.begin(self.fence.clone(), Arc::clone(&shared.cluster));
        self.unwritten.hand_over(&shared.cluster);
        self.health.set_ready();
        tracing::info!(policies = shared.cluster.lock().policies.len(), "listed all policies");

        let queues = (Arc::clone(&shared.turns), Arc::clone(&shared.node_groups.queue));
        following.spawn(wake_all_on_switch(self.switch.clone(), queues));
        following.spawn(shared.node_groups.serve());
        let (end_turns, end_statuses) = (CancellationToken::new(), CancellationToken::new());
        working.spawn(run_turns(Arc::clone(&shared), self.health.heartbeat(), end_turns.clone()));
        working.spawn(run_node_groups(Arc::clone(&shared.node_groups), end_turns.clone()));
        let mut sampling = JoinSet::new();
        if shared.sampling.is_some() {
            sampling.spawn(ask_prometheus(Arc::clone(&shared), end_turns.clone()));
        }
        let mut writing_statuses = JoinSet::new();
        // Each holds its status while it waits for the write budget. So that one is always waiting,
        // there are twice as many as may write.
        let at_once = 2 * self.options.limits.at_once.clamp(1, MAX_CONCURRENT_TURNS);
        writing_statuses.spawn(write_statuses(Arc::clone(&shared), at_once, end_statuses.clone()));

        // None of these ends by itself. Without any one of them the term would only seem to work.
        let mut everybody = [
            ("watching policies", &mut following),
            ("running turns", &mut working),
            ("asking Prometheus", &mut sampling),
            ("writing statuses", &mut writing_statuses),
            ("writing Events", &mut event_writer),
        ];
        tokio::select! {
            () = end.cancelled() => {}
            who = first_to_stop(&mut everybody) => return self.restart_term(who),
            () = shared.reconciler.targets.follower_stopped() => {
                return self.restart_term("watching targets");
            }
        }
        let orderly = async {
            end_turns.cancel();
            shared.reconciler.costly_decisions.close();
            while working.join_next().await.is_some() {}
            drop((following, sampling));
            // Statuses are written now or not at all.
            shared.statuses.wake_all();
            while !shared.statuses.is_quiet() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            end_statuses.cancel();
            while writing_statuses.join_next().await.is_some() {}
            drop(self.leading.end());
            drop(shared);
            // Others are waiting for the lease; Events are not worth much more time.
            let _in_time =
                tokio::time::timeout(EVENT_FLUSH_TIMEOUT, event_writer.join_next()).await;
        };
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, orderly).await.is_err() {
            tracing::warn!("shut down before everything was finished");
        }
    }

    fn begin(&self) -> (Shared, impl Future<Output = ()> + Send + 'static) {
        let clock = self.options.clock.clone();
        let cluster = Arc::new(Cluster::default());
        let exempt = Exemptions::of_namespaces(&self.options.exempt_namespaces);
        let settings = self.options.queries.settings();
        {
            let world = &mut cluster.lock().world;
            (world.objects.exempt, world.metric_scaling.extra.settings) =
                (Arc::new(exempt), settings);
        }
        let turns = Arc::new(WorkQueue::new(clock.clone()));
        let statuses = Arc::new(WorkQueue::new(clock.clone()));
        let writer = Writer::new(
            self.client.clone(),
            self.fence.clone(),
            self.budget.clone(),
            self.metrics.writes.clone(),
        );
        let (events, writing_events) =
            EventLog::new(writer.clone(), &self.options.identity, &self.metrics.events);
        let targets = Targets::new(
            self.client.clone(),
            writer.clone(),
            Arc::clone(&cluster),
            Arc::clone(&turns),
            self.options.allow_cluster_scoped_targets,
        );
        let targets = targets
            .within(self.options.namespaces.clone())
            .with_watch_ages(self.health.watch_ages().clone());
        let targets = Arc::new(targets);
        let reconciler = Reconciler {
            cluster: Arc::clone(&cluster),
            targets,
            hooks: self.families.hooks(&self.client, &writer, &cluster, &clock),
            turns: Arc::clone(&turns),
            statuses: Arc::clone(&statuses),
            families: self.families.clone(),
            events: events.clone(),
            clock: clock.clone(),
            switch: self.switch.clone(),
            upstreams: self.upstreams.clone(),
            costly_decisions: CostlyDecisions::default(),
        };
        let node_groups = Arc::new(self.node_groups(&cluster, &writer, &events));
        let sampling = self.sampling(&cluster, &turns);
        let writing = StatusWriter::new(writer, clock, self.options.seed);
        let (families, schemas) = (self.families.clone(), self.schemas.clone());
        let shared = Shared {
            cluster,
            turns,
            statuses,
            sampling,
            writing,
            families,
            schemas,
            events,
            reconciler,
            node_groups,
        };
        (shared, writing_events.run())
    }

    fn node_groups(
        &self,
        cluster: &Arc<Cluster>,
        writer: &Writer,
        events: &EventLog,
    ) -> NodeGroups {
        let clock = &self.options.clock;
        NodeGroups {
            cluster: Arc::clone(cluster),
            queue: Arc::new(WorkQueue::new(clock.clone())),
            providers: self.options.node_groups.clone().unwrap_or_default(),
            writer: writer.clone(),
            events: events.clone(),
            clock: clock.clone(),
            switch: self.switch.clone(),
            upstreams: self.upstreams.clone(),
            schemas: self.schemas.clone(),
            metrics: self.metrics.node_groups.clone(),
            seed: self.options.seed,
        }
    }

    /// A term cannot continue without one of its parts.
    fn restart_term(&self, who: &str) {
        tracing::error!("{who} stopped unexpectedly; starting a new term");
        self.health.set_waiting_for("a new term to start");
    }
}

/// Retries are given up as soon as everything is stopped; on resuming, targets that were not read
/// meanwhile are checked again.
async fn wake_all_on_switch(
    switch: Switch,
    (turns, node_groups): (Arc<WorkQueue>, Arc<WorkQueue<Identity>>),
) {
    loop {
        switch.changed().await;
        turns.wake_all();
        node_groups.wake_all();
    }
}

async fn run_turns(shared: Arc<Shared>, heartbeat: Heartbeat, end: CancellationToken) {
    let turns = Arc::clone(&shared.turns);
    let lanes = |policy: &PolicyName| shared.lanes(policy);
    let turn = |policy: PolicyName| {
        let shared = Arc::clone(&shared);
        async move { shared.reconciler.take_turn(&policy).await }
    };
    turns.run(MAX_CONCURRENT_TURNS, Some(&heartbeat), end, lanes, turn).await;
}

async fn run_node_groups(groups: Arc<NodeGroups>, end: CancellationToken) {
    let turn = |group: Identity| {
        let groups = Arc::clone(&groups);
        async move { groups.take_turn(&group).await }
    };
    let at_once = scalable_node_group::MAX_CONCURRENT_TURNS;
    groups.queue.run(at_once, None, end, |_| Vec::new(), turn).await;
}

async fn write_statuses(shared: Arc<Shared>, at_once: usize, end: CancellationToken) {
    let statuses = Arc::clone(&shared.statuses);
    let turn = |policy: PolicyName| {
        let shared = Arc::clone(&shared);
        async move { shared.write_status(&policy).await }
    };
    statuses.run(at_once, None, end, |_| Vec::new(), turn).await;
}

impl Shared {
    /// The queues that watches wake.
    fn queues(&self) -> WorkQueues {
        WorkQueues {
            turns: Arc::clone(&self.turns),
            statuses: Arc::clone(&self.statuses),
            samples: self.sampling.as_ref().map(|sampling| Arc::clone(&sampling.queue)),
        }
    }

    /// Writes an object's status if it differs from the one on the API server; returns when to
    /// retry, if that failed.
    async fn write_status(&self, policy: &PolicyName) -> Option<Timestamp> {
        // What has happened meanwhile is written at once.
        loop {
            let upstream = self.reconciler.upstreams.running(policy.family);
            let is_left_alone = upstream.is_some();
            let (record, news) = self.composed(policy, upstream)?;
            match self.writing.write(&self.cluster, policy, record).await {
                WriteResult::Saved => {
                    if let Some(entry) = self.cluster.lock().policies.get_mut(policy) {
                        entry.is_left_alone = is_left_alone;
                    }
                    self.report(policy, &news);
                }
                WriteResult::Failed { again } => return again,
            }
        }
    }

    /// The status that the object should have, with the new conditions; `None` if the API server
    /// already has it, or if nothing is known of the object yet.
    fn composed(
        &self,
        policy: &PolicyName,
        upstream: Option<Upstream>,
    ) -> Option<(StatusUpdate, Vec<ConditionState>)> {
        let now = self.reconciler.clock.now();
        let mut state = self.cluster.lock();
        let entry = state.policies.get(policy)?;
        let family = self.families.of(policy.family)?;
        let composed = match upstream {
            Some(upstream) => Some(upstream::composed(policy.family, upstream, entry, now)),
            None => family.compose(&state, &policy.identity, entry, now).map(|composed| {
                let missing = self.schemas.missing(policy.family);
                let generation = entry.revision.generation();
                composed.fitted(missing.as_deref(), &entry.recorded, generation, now)
            }),
        };
        // That it is left alone is said once, and not fought over with whoever carries it out.
        let is_said = upstream.is_some_and(|it| entry.is_left_alone || it.writes_conditions);
        let is_known = composed.is_some();
        let not_ready = composed.as_ref().and_then(Composed::why_not_ready);
        let composed = composed.filter(|it| !is_said && !entry.recorded.is(&it.status));
        let entry = state.policies.get_mut(policy)?;
        entry.not_ready = not_ready;
        let Some(composed) = composed else {
            // What was done before it was left alone, or is not reported yet, may still be to be recorded.
            entry.is_written |= upstream.is_none() && is_known;
            entry.failures = None;
            return None;
        };
        let news = entry.recorded.news(&composed.condition_states).into_iter().cloned().collect();
        let (recorded, method) = (StatusSnapshot::of(&composed.status), composed.method);
        Some((StatusUpdate { version: entry.version.clone(), recorded, method }, news))
    }

    /// The lanes of a policy: those of the objects that it may write, and one for its family if it depends on the others.
    fn lanes(&self, policy: &PolicyName) -> Vec<Lane> {
        let state = self.cluster.lock();
        let footprint = state.world.footprint(policy);
        let mut lanes: Vec<Lane> =
            footprint.writes.into_iter().map(|(object, _)| Lane::Object(object)).collect();
        lanes.dedup();
        let hooks = self.reconciler.hooks.of(policy.family);
        if hooks.depends_on_others(&state, &policy.identity) {
            lanes.push(Lane::Decisions(policy.family));
        }
        lanes
    }

    /// Reports conditions that newly need attention; of those that do again and again, the status alone says it.
    fn report(&self, policy: &PolicyName, news: &[ConditionState]) {
        // An undone value was already reported when it was detected.
        let is_news = |it: &&ConditionState| {
            it.needs_attention() && it.reason != ConditionReason::UndoneByAnotherWriter
        };
        let Some(worst) = news.iter().rfind(is_news) else { return };
        let now = self.reconciler.clock.now();
        let counts = |entry: &mut PolicyEntry| {
            let counts = entry.warnings.next(now) <= now;
            counts.then(|| entry.uid.clone())
        };
        let Some(uid) = self.cluster.lock().policies.get_mut(policy).and_then(counts) else {
            return;
        };
        tracing::warn!(reason = worst.reason.name(), "{}", worst.message);
        self.events.emit(Event {
            regarding: ReportSubject {
                policy: policy.clone(),
                uid,
                target: None,
                changed_by: None,
            }
            .regarding(),
            is_warning: true,
            reason: worst.reason.name(),
            action: "Check",
            note: worst.message.clone(),
        });
    }
}

/// Waits until one of the long-running tasks has ended, and returns its name.
pub(crate) async fn first_to_stop<'a>(everybody: &mut [(&'a str, &mut JoinSet<()>)]) -> &'a str {
    std::future::poll_fn(|context| {
        let ended = everybody.iter_mut().find_map(|(who, tasks)| {
            matches!(tasks.poll_join_next(context), Poll::Ready(Some(_))).then_some(*who)
        });
        ended.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_task_that_panics_or_ends_is_named() {
        for ends in [true, false] {
            let (mut going_on, mut over) = (JoinSet::new(), JoinSet::new());
            going_on.spawn(std::future::pending());
            over.spawn(async move { assert!(ends, "it falls over") });
            let mut everybody = [("one", &mut going_on), ("the other", &mut over)];
            assert_eq!(first_to_stop(&mut everybody).await, "the other");
        }
    }
}
