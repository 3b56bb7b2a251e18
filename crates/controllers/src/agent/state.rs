//! The state of one cluster in an agent: the world that decisions are based on, and the bookkeeping for it.
//!
//! Watches fill the state, and everything else reads it. The state is one value behind one lock. No task waits while it
//! holds the lock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use almanac_api::kinds::Kind;
use almanac_api::objects::AGENT_CONFIGS;
use almanac_engine::qos_levels::{QosAnnotations, QosLevels};
use almanac_engine::{Family, Identity, PolicyName, PolicyObject, Recorded, Slim, World};
use almanac_shell::backoff::Backoff;
use jiff::{SignedDuration, Timestamp};

use super::contest::LastWrite;

/// The state of one term.
#[derive(Default)]
pub(super) struct SharedState {
    state: Mutex<AgentState>,
}

/// The locked state of one term.
#[derive(Default)]
pub(super) struct AgentState {
    /// The basis of decisions.
    pub(super) world: World,
    /// The bookkeeping for writing each pod.
    pub(super) pods: BTreeMap<Identity, PodEntry>,
    /// The bookkeeping for the `ConfigMaps`.
    pub(super) configs: Configs,
    /// The number of pods whose last write failed.
    pub(super) failing: usize,
}

/// The bookkeeping about a pod.
pub(super) struct PodEntry {
    /// Distinguishes the pod from another pod of the same name.
    pub(super) uid: Box<str>,
    /// The known version of the object.
    pub(super) version: Box<str>,
    /// The list in which the pod last appeared.
    pub(super) listing: u32,
    /// The boundary at which a write became due, until the pod is written.
    pub(super) due_since: Option<Timestamp>,
    /// The last write, and the number of its repetitions.
    pub(super) wrote: Option<LastWrite>,
    /// The failed attempts since the last success.
    pub(super) failure: Option<Box<Failure>>,
    /// The sent annotations, and the level with which an admission webhook has replaced the sent level.
    pub(super) admitted: Option<Box<(QosAnnotations, Option<Arc<str>>)>>,
    /// The end of the time in which a value that another agent has written stays unchanged.
    pub(super) credit: Option<Timestamp>,
}

impl PodEntry {
    /// The level annotations of a pod. If a webhook replaced the level in our own write, the resulting level counts as
    /// ours, and not as the user's.
    pub(super) fn read(&mut self, mut annotations: QosAnnotations) -> QosAnnotations {
        let unsure = self.failure.as_ref().and_then(|failure| failure.unsure.as_ref());
        if let Some((sent, _)) = unsure
            && is_rewritten(&annotations, sent)
        {
            self.admitted = Some(Box::new((sent.clone(), annotations.level.clone())));
        }
        if let Some((sent, level)) = self.admitted.as_deref()
            && annotations.level == *level
            && is_rewritten(&annotations, sent)
        {
            annotations.applied = Some(level.clone().unwrap_or_default());
        }
        annotations
    }
}

/// Whether a pod has all sent annotations, except for another level.
pub(super) fn is_rewritten(annotations: &QosAnnotations, sent: &QosAnnotations) -> bool {
    let is_as_sent = QosAnnotations { level: sent.level.clone(), ..annotations.clone() } == *sent;
    sent.applied.is_some() && annotations.level != sent.level && is_as_sent
}

/// The failed attempts to write a pod.
pub(super) struct Failure {
    pub(super) attempts: u32,
    pub(super) backoff: Backoff,
    /// The instant of the next attempt.
    pub(super) again: Timestamp,
    /// The annotations and the records of the last attempt, if it may have succeeded because its response was lost.
    pub(super) unsure: Option<(QosAnnotations, Vec<Recorded>)>,
}

impl Failure {
    /// The instant of the next attempt. An instant from before the clock was set back is ignored.
    pub(super) fn again_at(&self, now: Timestamp) -> Timestamp {
        let is_wrong = self.again.duration_since(now) > SignedDuration::from_mins(2);
        if is_wrong { now } else { self.again }
    }
}

/// The existing `ConfigMaps`.
#[derive(Default)]
pub(super) struct Configs {
    /// The `ConfigMaps` whose first list is complete, by name. The agent decides nothing before all `ConfigMaps` are
    /// listed.
    listed: BTreeSet<String>,
    /// The existing `ConfigMaps`, with their UIDs.
    pub(super) present: BTreeMap<Identity, ConfigEntry>,
    /// The entry in the world that stands for a missing `ConfigMap`.
    none: Option<Identity>,
}

/// The bookkeeping about a `ConfigMap`.
pub(super) struct ConfigEntry {
    pub(super) uid: Box<str>,
    pub(super) version: Box<str>,
    /// A hash of the relevant content.
    pub(super) content: u64,
    /// Whether a part of the `ConfigMap` cannot be used as written.
    pub(super) is_rejected: bool,
}

impl SharedState {
    pub(super) fn lock(&self) -> MutexGuard<'_, AgentState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AgentState {
    /// The policies in effect; `None` while they are unknown.
    pub(super) fn policies_in_force(&self) -> Option<PolicyName> {
        self.configs.are_listed().then_some(())?;
        let first = self.world.qos_levels.policies.keys().next()?;
        Some(PolicyName::new(Family::QosLevels, first.clone()))
    }

    /// Removes and returns the failure of a pod's writes once the failure is over. The end of the last failure is
    /// logged.
    pub(super) fn take_failure(&mut self, pod: &Identity) -> Option<Failure> {
        let failure = self.pods.get_mut(pod)?.failure.take()?;
        self.failing -= 1;
        if self.failing == 0 {
            tracing::info!("no failed pod write remains");
        }
        Some(*failure)
    }

    /// Notes that the list of the `ConfigMap` of this name is complete.
    pub(super) fn note_listed(&mut self, name: &str) {
        self.configs.listed.insert(name.to_owned());
        self.settle_configs();
    }

    /// Stores the content of a `ConfigMap`.
    pub(super) fn store_config(&mut self, config: Identity, slim: Slim, entry: ConfigEntry) {
        if let Some(none) = self.configs.none.take() {
            self.world.qos_levels.policies.remove(&none);
        }
        self.world.upsert(config.clone(), slim);
        self.configs.present.insert(config, entry);
    }

    /// Removes a deleted `ConfigMap`; returns whether it existed.
    pub(super) fn drop_config(&mut self, config: &Identity) -> bool {
        let was_there = self.configs.present.remove(config).is_some();
        if was_there {
            self.world.qos_levels.policies.remove(config);
            self.settle_configs();
        }
        was_there
    }

    /// Without any `ConfigMap`, the agent has no policies. That differs from unknown policies.
    fn settle_configs(&mut self) {
        let configs = &mut self.configs;
        if !configs.are_listed() || !configs.present.is_empty() || configs.none.is_some() {
            return;
        }
        let namespace = self.world.qos_levels.extra.config_namespace.as_deref().unwrap_or_default();
        let (name, _) = AGENT_CONFIGS[0];
        let none = Kind::ConfigMap.identity(namespace, name);
        let slim = Slim::QosLevels(PolicyObject::new(QosLevels::none()));
        self.world.upsert(none.clone(), slim);
        configs.none = Some(none);
    }
}

impl Configs {
    fn are_listed(&self) -> bool {
        AGENT_CONFIGS.iter().all(|(name, _)| self.listed.contains(*name))
    }
}
