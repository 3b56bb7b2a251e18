//! One term as the leader: lists everything again, so that no decision is based on stale data, then runs the turns
//! until shutdown.
//!
//! Everything that runs here ends when the term is dropped, and writes nothing once the fence is closed.

mod sampling;
mod watches;

use std::sync::Arc;
use std::time::Duration;

use almanac_api::families::Upstream;
use almanac_api::status::conditions::{ConditionReason, ConditionState};
use almanac_engine::{Exemptions, Identity, PolicyName};
use almanac_shell::endpoints::Heartbeat;
use almanac_shell::event_log::{Event, EventLog, EventPace};
use almanac_shell::lease::{Fence, Switch};
use almanac_shell::writer::Writer;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use self::sampling::{Sampling, query_prometheus};
use crate::cluster::{Cluster, PolicyEntry, StatusSnapshot};
use crate::families::{ComposedStatus, Families, ReportSubject};
use crate::policies::WorkQueues;
use crate::process::Process;
use crate::reconciler::{CostlyDecisions, Reconciler};
use crate::runtime::{EVENTS, RunningTerm, WATCHES, end_within};
use crate::scalable_node_group::{self, NodeGroups};
use crate::served_schemas::ServedSchemas;
use crate::status_writer::{StatusUpdate, StatusWriter, WriteResult};
use crate::targets::Targets;
use crate::upstream;
use crate::work_queue::WorkQueue;

/// The maximum number of concurrent turns. Most of a turn is waiting for the API server, and concurrent requests are
/// limited elsewhere.
pub(crate) const MAX_CONCURRENT_TURNS: usize = 256;

/// The time limit for the end of a term: work in progress, statuses, Events.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// The groups of tasks, except for the watches and the writer of Events.
const TURNS: &str = "running turns";
const SAMPLES: &str = "querying Prometheus";
const STATUSES: &str = "writing statuses";

/// The inputs of a term.
pub(crate) struct Term<'a> {
    pub(crate) process: &'a Process,
    pub(crate) fence: Fence,
}

/// The state that all parts of a term share.
struct TermState {
    cluster: Arc<Cluster>,
    turns: Arc<WorkQueue>,
    statuses: Arc<WorkQueue>,
    /// The part that queries Prometheus; `None` without a Prometheus.
    sampling: Option<Sampling>,
    writing: StatusWriter,
    families: Families,
    schemas: ServedSchemas,
    events: EventLog,
    reconciler: Reconciler,
    node_groups: Arc<NodeGroups>,
}

impl Term<'_> {
    /// Runs the term until the token is canceled.
    pub(crate) async fn run(self, end: &CancellationToken) {
        let Process { runtime, options, leading, .. } = self.process;
        let mut running = runtime.start(end);
        let shared = Arc::new(self.start(&mut running));
        // Policies are checked for this version.
        self.read_version(&mut running);
        if !running.is_listed().await {
            return;
        }
        self.watch_everything(&shared, &mut running);
        if !running.is_listed().await {
            return;
        }
        leading.start(self.fence.clone(), Arc::clone(&shared.cluster));
        self.process.unwritten.hand_over(&shared.cluster);
        runtime.health.set_ready();
        tracing::info!(policies = shared.cluster.lock().policies.len(), "listed all policies");

        let queues = (Arc::clone(&shared.turns), Arc::clone(&shared.node_groups.queue));
        running.spawn(WATCHES, wake_all_on_switch(runtime.switch.clone(), queues));
        running.spawn(WATCHES, shared.node_groups.serve());
        let (end_turns, end_statuses) = (CancellationToken::new(), CancellationToken::new());
        let heartbeat = runtime.health.heartbeat();
        running.spawn(TURNS, run_turns(Arc::clone(&shared), heartbeat, end_turns.clone()));
        let node_groups = Arc::clone(&shared.node_groups);
        running.spawn(TURNS, run_node_groups(node_groups, end_turns.clone()));
        if shared.sampling.is_some() {
            running.spawn(SAMPLES, query_prometheus(Arc::clone(&shared), end_turns.clone()));
        }
        // Each task keeps its status while it waits for the write budget. There are twice as many tasks as concurrent
        // writes, so one is always waiting.
        let at_once = 2 * options.process.limits.at_once.clamp(1, MAX_CONCURRENT_TURNS);
        let statuses = write_statuses(Arc::clone(&shared), at_once, end_statuses.clone());
        running.spawn(STATUSES, statuses);

        let targets = async {
            shared.reconciler.targets.follower_stopped().await;
            "watching targets"
        };
        let is_orderly = running.runs_until_end(targets).await;
        // The Lease is released after that, so no request may be in flight then, even if a task has failed.
        let ending = async {
            end_turns.cancel();
            shared.reconciler.costly_decisions.close();
            running.finish(TURNS).await;
            running.abort(WATCHES);
            running.abort(SAMPLES);
            // At shutdown, statuses are written now or not at all. Otherwise, the next term writes them.
            if is_orderly {
                shared.statuses.wake_all();
                while !shared.statuses.is_quiet() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                drop(leading.end());
            }
            end_statuses.cancel();
            running.finish(STATUSES).await;
            drop(shared);
            running.flush_events().await;
        };
        end_within(SHUTDOWN_TIMEOUT, ending).await;
    }

    fn start(&self, running: &mut RunningTerm) -> TermState {
        let Process { runtime, options, families, .. } = self.process;
        let clock = options.process.clock.clone();
        let cluster = Arc::new(Cluster::for_version(self.process.kubernetes.clone()));
        let exempt = Exemptions::for_namespaces(&options.process.exempt_namespaces);
        let settings = options.queries.settings();
        {
            let world = &mut cluster.lock().world;
            (world.objects.exempt, world.metric_scaling.extra.settings) =
                (Arc::new(exempt), settings);
        }
        let turns = Arc::new(WorkQueue::new(clock.clone()));
        let statuses = Arc::new(WorkQueue::new(clock.clone()));
        let writer = runtime.writer(&self.fence);
        let (events, writing_events) = runtime.event_log(&writer, EventPace::default());
        running.spawn(EVENTS, writing_events.run());
        let targets = Targets::new(
            runtime.client.clone(),
            writer.clone(),
            Arc::clone(&cluster),
            Arc::clone(&turns),
            options.allow_cluster_scoped_targets,
        );
        let targets = targets
            .within(options.namespaces.clone())
            .with_watch_ages(runtime.health.watch_ages().clone());
        let reconciler = Reconciler {
            cluster: Arc::clone(&cluster),
            targets: Arc::new(targets),
            hooks: families.hooks(&runtime.client, &writer, &cluster, &clock),
            turns: Arc::clone(&turns),
            statuses: Arc::clone(&statuses),
            families: families.clone(),
            events: events.clone(),
            clock: clock.clone(),
            switch: runtime.switch.clone(),
            upstreams: self.process.upstreams.clone(),
            costly_decisions: CostlyDecisions::default(),
        };
        let node_groups = Arc::new(self.node_groups(&cluster, &writer, &events));
        TermState {
            sampling: self.sampling(&cluster, &turns),
            cluster,
            turns,
            statuses,
            writing: StatusWriter::new(writer, clock, options.process.seed),
            families: families.clone(),
            schemas: self.process.schemas.clone(),
            events,
            reconciler,
            node_groups,
        }
    }

    fn node_groups(
        &self,
        cluster: &Arc<Cluster>,
        writer: &Writer,
        events: &EventLog,
    ) -> NodeGroups {
        let Process { runtime, options, upstreams, schemas, .. } = self.process;
        let clock = &options.process.clock;
        NodeGroups {
            cluster: Arc::clone(cluster),
            queue: Arc::new(WorkQueue::new(clock.clone())),
            providers: options.node_groups.clone().unwrap_or_default(),
            writer: writer.clone(),
            events: events.clone(),
            clock: clock.clone(),
            switch: runtime.switch.clone(),
            upstreams: upstreams.clone(),
            schemas: schemas.clone(),
            metrics: self.process.node_group_metrics.clone(),
            seed: options.process.seed,
        }
    }
}

/// Retries end as soon as everything is stopped. When the stop ends, targets that were not read in the meantime are
/// checked again.
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

async fn run_turns(shared: Arc<TermState>, heartbeat: Heartbeat, end: CancellationToken) {
    let turns = Arc::clone(&shared.turns);
    let lanes = |policy: &PolicyName| shared.reconciler.lanes(policy);
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

async fn write_statuses(shared: Arc<TermState>, at_once: usize, end: CancellationToken) {
    let statuses = Arc::clone(&shared.statuses);
    let turn = |policy: PolicyName| {
        let shared = Arc::clone(&shared);
        async move { shared.write_status(&policy).await }
    };
    statuses.run(at_once, None, end, |_| Vec::new(), turn).await;
}

impl TermState {
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
        // Changes during the write are written immediately.
        loop {
            let upstream = self.reconciler.upstreams.running(policy.family);
            let is_left_alone = upstream.is_some();
            let (record, transitions) = self.composed(policy, upstream)?;
            match self.writing.write(&self.cluster, policy, record).await {
                WriteResult::Saved => {
                    if let Some(entry) = self.cluster.lock().policies.get_mut(policy) {
                        entry.is_left_alone = is_left_alone;
                    }
                    self.report(policy, &transitions);
                }
                WriteResult::Failed { again } => return again,
            }
        }
    }

    /// The desired status of the object, with the new conditions; `None` if the API server already has it, or if the
    /// object is still unknown.
    fn composed(
        &self,
        policy: &PolicyName,
        upstream: Option<Upstream>,
    ) -> Option<(StatusUpdate, Vec<ConditionState>)> {
        let now = self.reconciler.clock.now();
        let mut state = self.cluster.lock();
        let entry = state.policies.get(policy)?;
        let family = self.families.get(policy.family)?;
        let composed = match upstream {
            Some(upstream) => Some(upstream::composed(policy.family, upstream, entry, now)),
            None => family.compose(&state, &policy.identity, entry, now).map(|composed| {
                let missing = self.schemas.missing(policy.family);
                let generation = entry.revision.generation();
                composed.fitted(missing.as_deref(), &entry.recorded, generation, now)
            }),
        };
        // The status reports once that the object is left alone, without contention with the controller that reconciles
        // it.
        let is_reported = upstream.is_some_and(|it| entry.is_left_alone || it.writes_conditions);
        let is_known = composed.is_some();
        let not_ready = composed.as_ref().and_then(ComposedStatus::why_not_ready);
        let composed = composed.filter(|it| !is_reported && !entry.recorded.is(&it.status));
        let entry = state.policies.get_mut(policy)?;
        entry.not_ready = not_ready;
        let Some(composed) = composed else {
            // Effects from before it was left alone, or not reported yet, may still need to be recorded.
            entry.is_written |= upstream.is_none() && is_known;
            entry.failures = None;
            return None;
        };
        let transitions = entry
            .recorded
            .changed_conditions(&composed.condition_states)
            .into_iter()
            .cloned()
            .collect();
        let (recorded, method) = (StatusSnapshot::from_status(&composed.status), composed.method);
        Some((StatusUpdate { version: entry.version.clone(), recorded, method }, transitions))
    }

    /// Reports conditions that newly need attention. Conditions that do so repeatedly appear only in the status.
    fn report(&self, policy: &PolicyName, transitions: &[ConditionState]) {
        // An undone value was already reported when it was detected.
        let needs_event = |it: &&ConditionState| {
            it.needs_attention() && it.reason != ConditionReason::UndoneByAnotherWriter
        };
        let Some(worst) = transitions.iter().rfind(needs_event) else { return };
        let now = self.reconciler.clock.now();
        let record_warning = |entry: &mut PolicyEntry| {
            let is_due = entry.warnings.next(now) <= now;
            is_due.then(|| entry.uid.clone())
        };
        let Some(uid) = self.cluster.lock().policies.get_mut(policy).and_then(record_warning)
        else {
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
