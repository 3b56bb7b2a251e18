//! Writes a target, and classifies the outcome.

use std::sync::Arc;
use std::time::Duration;

use almanac_api::status::TargetProblem;
use almanac_engine::{Action, Identity, Outcome, Target, TargetReference};
use almanac_shell::lease::Fenced;
use almanac_shell::writer::{ObjectPath, StillWanted, WriteError, WriteResponse};
use serde_json::{Map, Value, json};

use super::kind::Kind;
use super::{ObservedTarget, TargetError, Targets};
use crate::cluster::{TargetEntry, is_older};

/// The number of attempts to write a target that keeps changing. A later turn tries again.
const ATTEMPTS: usize = 4;

/// The time limit of a probe in a turn.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(2);

/// The outcome of an action, and the problem that the user must fix if the action failed because of it.
pub(crate) struct ApplyResult {
    pub(crate) outcome: Outcome,
    pub(crate) problem: Option<TargetProblem>,
}

impl ApplyResult {
    fn from_outcome(outcome: Outcome) -> Self {
        Self { outcome, problem: None }
    }

    fn refused(target: &Identity, problem: TargetProblem) -> Self {
        let message = Arc::from(problem.message(target));
        Self { outcome: Outcome::Refused(message), problem: Some(problem) }
    }

    fn unreadable(target: &Identity, unknown: TargetError) -> Self {
        match unknown {
            TargetError::Problem(problem) => Self::refused(target, problem),
            TargetError::Transient(why) => Self::from_outcome(Outcome::Unknown(Arc::from(why))),
        }
    }
}

impl Targets {
    /// Applies an action to a target, if the target is still in the state that the decision was based on and the action
    /// is still wanted when it can be sent. Returns an error if this process no longer leads.
    pub(crate) async fn apply(
        &self,
        reference: &TargetReference,
        action: &Action,
        over: &ObservedTarget,
        still_wanted: StillWanted<'_>,
    ) -> Result<ApplyResult, Fenced> {
        let target = &reference.target;
        let identity = target.identity();
        // Another turn may have removed the kind since the target was read.
        let kind = match self.kind_of(reference).await {
            Ok(kind) => kind,
            Err(unknown) => return Ok(ApplyResult::unreadable(identity, unknown)),
        };
        let mut observed = over.clone();
        for _ in 0..ATTEMPTS {
            let Some(version) = &observed.version else {
                return Ok(ApplyResult::refused(identity, TargetProblem::NotFound));
            };
            match self.write(&kind, identity, version, action, still_wanted).await {
                Ok(response) => {
                    self.note(identity, action, response);
                    return Ok(ApplyResult::from_outcome(Outcome::Done));
                }
                // Refusals at admission come first, because they may have any code.
                Err(WriteError::Refused(refusal)) if refusal.is_admission_denied() => {
                    let message = Arc::from(format!("refused by admission: {refusal}"));
                    return Ok(ApplyResult::from_outcome(Outcome::Refused(message)));
                }
                Err(WriteError::Refused(refusal)) if refusal.is_conflict() => {}
                Err(WriteError::Refused(refusal)) if refusal.is_not_found() => {
                    return Ok(ApplyResult::refused(identity, TargetProblem::NotFound));
                }
                Err(WriteError::Refused(refusal)) if refusal.is_permission_denied() => {
                    let problem = TargetProblem::Forbidden(refusal.to_string());
                    return Ok(ApplyResult::refused(identity, problem));
                }
                Err(WriteError::Refused(refusal)) => {
                    return Ok(ApplyResult::from_outcome(Outcome::Refused(Arc::from(
                        refusal.to_string(),
                    ))));
                }
                Err(WriteError::Withdrawn) => {
                    return Ok(ApplyResult::from_outcome(Outcome::Withdrawn));
                }
                Err(WriteError::Unknown(why)) => {
                    return Ok(ApplyResult::from_outcome(Outcome::Unknown(Arc::from(why))));
                }
                Err(WriteError::Fenced(fenced)) => return Err(fenced),
            }
            // The target was changed. The usual cause is its own controller, which leaves these fields unchanged; then
            // they can still be written.
            match self.read(&kind, target).await {
                Ok(()) => {}
                Err(unknown) => return Ok(ApplyResult::unreadable(identity, unknown)),
            }
            observed = ObservedTarget::from_state(identity, &self.cluster.lock());
            // A target without policies is not kept.
            if observed.version.is_none() {
                return Ok(ApplyResult::from_outcome(Outcome::Withdrawn));
            }
            if self.cluster.lock().world.is_as_wanted(action) {
                return Ok(ApplyResult::from_outcome(Outcome::Unchanged));
            }
            if observed.numbers != over.numbers {
                return Ok(ApplyResult::from_outcome(Outcome::Conflict));
            }
        }
        Ok(ApplyResult::from_outcome(Outcome::Conflict))
    }

    /// Whether a forbidden target may now be changed. The probe changes nothing; `None` if the
    /// result is unknown.
    pub(crate) async fn may_be_changed(
        &self,
        reference: &TargetReference,
    ) -> Result<Option<bool>, Fenced> {
        let target = &reference.target;
        let identity = target.identity();
        let Ok(kind) = self.kind_of(reference).await else { return Ok(None) };
        let collection = kind.collection(identity);
        let path = ObjectPath { collection: &collection, name: identity.name() };
        let has_scale = matches!(target, Target::Workload(_));
        // The next probe follows in a minute anyway.
        let Ok(_trial) = self.trials.try_acquire() else { return Ok(None) };
        let probe = self.writer.dry_run_patch(path, has_scale);
        let Ok(probe) = tokio::time::timeout(TRIAL_TIMEOUT, probe).await else { return Ok(None) };
        match probe {
            Err(WriteError::Refused(refusal)) if refusal.is_permission_denied() => Ok(Some(false)),
            // Permissions are checked before anything else that can be rejected, such as a dry run.
            Ok(()) | Err(WriteError::Refused(_)) => Ok(Some(true)),
            Err(WriteError::Unknown(_) | WriteError::Withdrawn) => Ok(None),
            Err(WriteError::Fenced(fenced)) => Err(fenced),
        }
    }

    async fn write(
        &self,
        kind: &Kind,
        target: &Identity,
        version: &str,
        action: &Action,
        still_wanted: StillWanted<'_>,
    ) -> Result<WriteResponse, WriteError> {
        let collection = kind.collection(target);
        let path = ObjectPath { collection: &collection, name: target.name() };
        match action {
            Action::SetReplicas { replicas, .. } => {
                self.writer.patch_scale(path, version, *replicas, still_wanted).await
            }
            Action::SetBounds { min, max, .. } => {
                let mut fields = Map::new();
                for (name, bound) in [("minReplicas", min), ("maxReplicas", max)] {
                    if let Some(bound) = bound {
                        fields.insert(name.to_owned(), json!(bound));
                    }
                }
                self.writer.patch_spec(path, version, Value::Object(fields), still_wanted).await
            }
            // A published value is evaluated at the scrape. This process does not write levels. Decisions are not
            // targets. Pods are scheduled only without a cluster.
            Action::Publish { .. }
            | Action::Annotate { .. }
            | Action::WriteDecision { .. }
            | Action::RemoveDecision { .. }
            | Action::SchedulePods { .. } => Ok(WriteResponse::default()),
        }
    }

    /// Updates the world with the written target before the watch delivers it.
    fn note(&self, target: &Identity, action: &Action, response: WriteResponse) {
        let version = response.metadata.resource_version.unwrap_or_default();
        let mut state = self.cluster.lock();
        let listing = match state.targets.get(target) {
            Some(found) if is_older(&version, &found.version) => return,
            Some(found) => found.listing,
            // The target is already deleted.
            None => return,
        };
        let current =
            state.world.objects.workloads.get(target).and_then(|workload| workload.current);
        state.world.apply(action);
        // The controller of the target determines the number of pods.
        if let Some(workload) = state.world.objects.workloads.get_mut(target) {
            workload.current = current;
        }
        state.targets.clear_changes(target);
        state.targets.insert(target.clone(), TargetEntry { version: version.into(), listing });
        // The watch delivers nothing new, so other policies of this target are woken here, as in a forecast.
        let now = self.turns.now();
        for policy in state.targets.policies_targeting(target) {
            if let Some(at) = state.world.follows_target(policy, now) {
                self.turns.bring_forward(policy, at);
            }
        }
    }
}
