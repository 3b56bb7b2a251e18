//! The content of the status of a group, and its writes. When the outcome of a turn newly needs attention, this module
//! also emits an Event.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use almanac_api::families::{Controlled, Upstream};
use almanac_api::kinds::Kind;
use almanac_api::status::conditions::{
    ConditionReason, ConditionState, ConditionType, conditions, exempt_reason,
};
use almanac_api::status::scalable_node_group::write;
use almanac_engine::{Exempt, Identity};
use almanac_shell::backoff::Backoff;
use almanac_shell::writer::{ObjectPath, WriteError, WriteResponse};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::entry::{NodeGroupEntry, Subject};
use super::{NodeGroups, ProvidedNodes, ProviderError, RECHECK_INTERVAL, WITHDRAWN_DELAY};
use crate::cluster::{StatusSnapshot, is_older};
use crate::served_schemas::fit;
use crate::upstream;

const INITIAL_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_mins(1);

/// The outcome of a turn.
pub(super) struct Outcome {
    /// The nodes of the group, if they were observed.
    pub(super) nodes: Option<ProvidedNodes>,
    pub(super) state: GroupState,
}

/// Whether a group is reconciled, and the outcome.
#[derive(Debug)]
pub(super) enum GroupState {
    /// The group has its desired nodes.
    Provided { replicas: u32, wanted: Option<u32> },
    /// No provider supports its type.
    Unsupported { kind: String },
    /// The group is not scaled, because everything is stopped.
    Stopped { replicas: u32, wanted: u32 },
    /// The group is exempt.
    Exempt(Exempt),
    /// The group is left to the upstream controller.
    LeftAlone(Upstream),
    /// The object has changed during the turn: the next turn reports the result.
    Withdrawn,
    /// The turn failed.
    Failing { reason: ConditionReason, message: String },
}

impl Outcome {
    /// The outcome without any observed nodes.
    pub(super) fn without_nodes(state: GroupState) -> Self {
        Self { nodes: None, state }
    }
}

impl From<ProviderError> for GroupState {
    fn from(error: ProviderError) -> Self {
        let reason = match error {
            ProviderError::Invalid(_) => ConditionReason::GroupInvalid,
            ProviderError::NameTaken(_) => ConditionReason::NodeNameTaken,
            ProviderError::Failed(_) => ConditionReason::ProviderFailed,
        };
        Self::Failing { reason, message: error.to_string() }
    }
}

impl GroupState {
    pub(super) fn invalid(message: String) -> Self {
        Self::Failing { reason: ConditionReason::GroupInvalid, message }
    }

    pub(super) fn failed(message: String) -> Self {
        Self::Failing { reason: ConditionReason::ProviderFailed, message }
    }

    /// Whether the turn is retried, because the problem may pass by itself.
    fn is_retried(&self) -> bool {
        let Self::Failing { reason, .. } = self else { return false };
        *reason != ConditionReason::GroupInvalid
    }

    /// The delay before the group is checked again, if it does not change and its turn did not fail.
    fn recheck_after(&self) -> Option<SignedDuration> {
        match self {
            Self::LeftAlone(_) => Some(RECHECK_INTERVAL),
            Self::Withdrawn => Some(WITHDRAWN_DELAY),
            Self::Provided { .. }
            | Self::Stopped { .. }
            | Self::Unsupported { .. }
            | Self::Exempt(_)
            | Self::Failing { .. } => None,
        }
    }

    /// The conditions; `None` while the outcome is unknown.
    fn condition_states(&self) -> Option<[ConditionState; 2]> {
        let nothing = || "nothing needs attention".to_owned();
        let (reason, able, ready) = match self {
            Self::Withdrawn => return None,
            Self::Provided { replicas, wanted } => {
                let has = counted(*replicas);
                let ready = match wanted {
                    Some(_) => format!("the group has {has}, as wanted"),
                    None => format!("spec.replicas is not set: the group keeps its {has}"),
                };
                let able = "nodes are created and removed to match spec.replicas".to_owned();
                (ConditionReason::NodesProvided, Ok(able), Ok(ready))
            }
            Self::Stopped { replicas, wanted } => {
                let able = format!(
                    "everything is stopped: the group keeps its {} until the stop ends, and then gets {wanted}",
                    counted(*replicas)
                );
                (ConditionReason::Stopped, Err(able), Ok(nothing()))
            }
            Self::Exempt(exempt) => {
                let (reason, why) = exempt_reason(*exempt);
                let ready = if exempt.is_unread() { Err(why.clone()) } else { Ok(nothing()) };
                (reason, Err(why), ready)
            }
            Self::Unsupported { kind } => both(ConditionReason::Unsupported, unsupported(kind)),
            Self::LeftAlone(upstream) => {
                let message = upstream::message(Controlled::NodeGroups, *upstream);
                both(ConditionReason::UpstreamController, message)
            }
            Self::Failing { reason, message } => both(*reason, message.clone()),
        };
        let state = |about, result: Result<String, String>| {
            let (holds, message) = match result {
                Ok(message) => (true, message),
                Err(message) => (false, message),
            };
            ConditionState { about, holds, reason, message }
        };
        Some([state(ConditionType::AbleToScale, able), state(ConditionType::Ready, ready)])
    }
}

type ConditionResults = (ConditionReason, Result<String, String>, Result<String, String>);

/// Both conditions are false, for one reason.
fn both(reason: ConditionReason, message: String) -> ConditionResults {
    (reason, Err(message.clone()), Err(message))
}

/// `1 node`, `3 nodes`.
pub(super) fn counted(nodes: u32) -> String {
    if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") }
}

/// The type for trials.
const SIMULATED: &str = "Simulated";

fn unsupported(kind: &str) -> String {
    let instead = "to scale real nodes, set the scaleTargetRef of a HorizontalAutoscaler or a CronFederatedHPA \
                   to an object with a scale subresource, such as a MachineDeployment of Cluster API";
    if kind == SIMULATED {
        return format!(
            "this controller creates no nodes: only a controller with --simulated-nodes does, on a control plane \
             for trying things out; {instead}"
        );
    }
    format!("no provider of this controller creates nodes for groups of type {kind}; {instead}")
}

impl NodeGroups {
    /// Records the outcome of a turn, and writes it to the status; returns the instant of the next turn.
    pub(super) async fn record(
        &self,
        name: &Identity,
        subject: &Subject,
        outcome: Outcome,
    ) -> Option<Timestamp> {
        let is_failing = outcome.state.is_retried();
        if is_failing {
            self.metrics.count_failure();
        }
        // A group held back by the stop annotation is reconciled after the stop ends.
        let recheck = outcome.state.recheck_after();
        let recheck = recheck.or_else(|| self.switch.is_stopped().then_some(RECHECK_INTERVAL));
        let is_written = self.update_status(name, subject, &outcome).await;
        let now = self.clock.now();
        let mut state = self.cluster.lock();
        let entry = state.node_groups.get_mut(name).filter(|entry| entry.uid == subject.uid)?;
        let delay = if is_failing || !is_written {
            let new_backoff = || Backoff::new(INITIAL_BACKOFF, MAX_BACKOFF, self.seed_of(name));
            let failures = entry.failures.get_or_insert_with(|| Box::new(new_backoff()));
            SignedDuration::try_from(failures.next_pause()).ok()
        } else {
            entry.failures = None;
            recheck
        };
        now.saturating_add(delay?).ok()
    }

    /// The seed that spreads retries of groups that failed together.
    fn seed_of(&self, name: &Identity) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, name).hash(&mut hasher);
        hasher.finish()
    }

    /// Writes the status if it differs from the one on the API server. `false` if that failed.
    async fn update_status(&self, name: &Identity, subject: &Subject, outcome: &Outcome) -> bool {
        let Some(condition_states) = outcome.state.condition_states() else { return true };
        let is_left_alone = matches!(outcome.state, GroupState::LeftAlone(_));
        let (version, status, transition, is_cleared) = {
            let mut state = self.cluster.lock();
            // The outcome of an earlier spec would be recorded as that of the current one, which has a turn of its own.
            let entry = state.node_groups.get_mut(name).filter(|entry| subject.is(entry));
            let Some(entry) = entry else { return true };
            // If the nodes cannot be observed, their number stays in the status, so that a client that scales by it can
            // continue.
            if outcome.nodes.is_some() || matches!(outcome.state, GroupState::Unsupported { .. }) {
                entry.nodes.clone_from(&outcome.nodes);
            }
            let ready = condition_states.iter().find(|it| it.about == ConditionType::Ready);
            entry.not_ready = ready.filter(|it| !it.holds).map(|it| it.reason);
            let (now, mut condition_states) = (self.clock.now(), condition_states.to_vec());
            let mut status = composed(entry, outcome, &condition_states, now);
            // The controller that reconciles them has a CRD of its own.
            let fitted = if is_left_alone {
                None
            } else {
                let missing = self.schemas.missing(Controlled::NodeGroups);
                let (missing, generation) = (missing.as_deref(), entry.generation);
                fit(missing, &mut status, &entry.recorded, generation, now)
            };
            // The next status omits the condition that the CRD has all fields again.
            let is_cleared = fitted.as_ref().is_some_and(|state| !state.holds);
            condition_states.extend(fitted);
            // The status reports an exemption once, without contention with the controller that reconciles the group.
            let is_reported = is_left_alone && entry.is_left_alone;
            if is_reported || entry.recorded.is(&status) {
                return true;
            }
            // Before the write: the watch event may come before the response.
            let transitions = entry.recorded.changed_conditions(&condition_states);
            let transition = transitions.into_iter().rfind(|it| it.needs_attention()).cloned();
            (entry.version.clone(), status, transition, is_cleared)
        };
        let result = self.write_status(name, &version, &status, is_left_alone).await;
        let response = match result {
            Ok(response) => response,
            Err(WriteError::Fenced(_)) => return false,
            Err(error) => {
                // If the object has changed, a watch event follows.
                if !matches!(&error, WriteError::Refused(refusal) if refusal.is_conflict()) {
                    tracing::warn!(%error, "failed to write the status");
                }
                return false;
            }
        };
        if let Some(worst) = transition {
            tracing::warn!(reason = worst.reason.name(), "{}", worst.message);
            self.events.emit(subject.event(true, worst.reason.name(), worst.message));
        }
        let mut state = self.cluster.lock();
        let entry = state.node_groups.get_mut(name).filter(|entry| entry.uid == subject.uid);
        let Some(entry) = entry else { return true };
        let version = response.metadata.resource_version.unwrap_or_default();
        entry.is_left_alone = is_left_alone;
        if !is_older(&version, &entry.version) {
            entry.version = version.into();
            entry.recorded = StatusSnapshot::from_status(&status);
        }
        drop(state);
        if is_cleared {
            self.queue.wake(name);
        }
        true
    }

    async fn write_status(
        &self,
        name: &Identity,
        version: &str,
        status: &Value,
        is_left_alone: bool,
    ) -> Result<WriteResponse, WriteError> {
        let kind = Kind::ScalableNodeGroup;
        let collection = kind.collection(name.namespace());
        let path = ObjectPath { collection: &collection, name: name.name() };
        // Server-side apply would be refused if the CRD is not ours and has no such conditions.
        if is_left_alone {
            return self.writer.patch_status(path, version, &status.to_string()).await;
        }
        let api_version = kind.api_version();
        self.writer.apply_status(path, (&*api_version, kind.name()), version, status).await
    }
}

/// The status: all of it, or the conditions alone where another field manager owns the rest.
fn composed(
    entry: &NodeGroupEntry,
    outcome: &Outcome,
    condition_states: &[ConditionState],
    now: Timestamp,
) -> Value {
    let generation = entry.generation;
    let conditions = conditions(&entry.recorded.conditions(), condition_states, generation, now);
    if matches!(outcome.state, GroupState::LeftAlone(_)) {
        return json!({ "conditions": conditions });
    }
    let nodes = entry.nodes.as_ref().map(|nodes| (nodes.replicas, &*nodes.selector));
    // A status is plain data, so serialization cannot fail.
    serde_json::to_value(write(nodes, conditions, generation)).unwrap_or_default()
}
