//! Changing a target, and what becomes of it.

use std::sync::Arc;
use std::time::Duration;

use almanac_api::status::TargetProblem;
use almanac_engine::{Action, Identity, Outcome, Target};
use almanac_shell::lease::Fenced;
use almanac_shell::writer::{IsWanted, Place, WriteError, Written};
use serde_json::{Map, Value, json};

use super::kind::Kind;
use super::{Seen, Targets, Unknown};
use crate::cluster::{Found, is_older};

/// A target that changes all the time is left to a later attempt.
const ATTEMPTS: usize = 4;

/// Whether a target may be changed by now is not worth more of a turn's time.
const TRIED_WITHIN: Duration = Duration::from_secs(2);

/// What became of an action, and what the user has to mend if it failed for that.
pub(crate) struct Applied {
    pub(crate) outcome: Outcome,
    pub(crate) problem: Option<TargetProblem>,
}

impl Applied {
    fn of(outcome: Outcome) -> Self {
        Self { outcome, problem: None }
    }

    fn refused(target: &Identity, problem: TargetProblem) -> Self {
        let message = Arc::from(problem.message(target));
        Self { outcome: Outcome::Refused(message), problem: Some(problem) }
    }
}

impl Targets {
    /// Carries out an action on a target, if it still is as it was decided over and the action is still
    /// wanted when it can be sent. Nothing is said when we do
    /// not lead any more: then it is not ours to know.
    pub(crate) async fn apply(
        &self,
        target: &Target,
        action: &Action,
        over: &Seen,
        is_wanted: IsWanted<'_>,
    ) -> Result<Applied, Fenced> {
        let identity = target.identity();
        let Some(kind) = self.found(identity) else {
            return Ok(Applied::refused(identity, TargetProblem::UnknownKind));
        };
        let mut seen = over.clone();
        for _ in 0..ATTEMPTS {
            let Some(version) = &seen.version else {
                return Ok(Applied::refused(identity, TargetProblem::NotFound));
            };
            match self.write(&kind, identity, version, action, is_wanted).await {
                Ok(written) => {
                    self.note(identity, action, written);
                    return Ok(Applied::of(Outcome::Done));
                }
                // Before the others, for it may have any code.
                Err(WriteError::Refused(refusal)) if refusal.is_by_admission() => {
                    let message = Arc::from(format!("refused by admission: {refusal}"));
                    return Ok(Applied::of(Outcome::Refused(message)));
                }
                Err(WriteError::Refused(refusal)) if refusal.is_conflict() => {}
                Err(WriteError::Refused(refusal)) if refusal.is_not_found() => {
                    return Ok(Applied::refused(identity, TargetProblem::NotFound));
                }
                Err(WriteError::Refused(refusal)) if refusal.is_of_a_missing_right() => {
                    let problem = TargetProblem::Forbidden(refusal.to_string());
                    return Ok(Applied::refused(identity, problem));
                }
                Err(WriteError::Refused(refusal)) => {
                    return Ok(Applied::of(Outcome::Refused(Arc::from(refusal.to_string()))));
                }
                Err(WriteError::Withdrawn) => return Ok(Applied::of(Outcome::Withdrawn)),
                Err(WriteError::Unknown(why)) => {
                    return Ok(Applied::of(Outcome::Unknown(Arc::from(why))));
                }
                Err(WriteError::Fenced(fenced)) => return Err(fenced),
            }
            // Somebody has changed it. Mostly that is its own controller, which leaves the numbers
            // alone; then they can be written all the same.
            match self.ask(&kind, target).await {
                Ok(()) => {}
                Err(Unknown::Problem(problem)) => return Ok(Applied::refused(identity, problem)),
                Err(Unknown::Passing(why)) => {
                    return Ok(Applied::of(Outcome::Unknown(Arc::from(why))));
                }
            }
            seen = Seen::of(identity, &self.cluster.lock());
            if self.cluster.lock().world.is_as_wanted(action) {
                return Ok(Applied::of(Outcome::Unchanged));
            }
            if seen.numbers != over.numbers {
                return Ok(Applied::of(Outcome::Conflict));
            }
        }
        Ok(Applied::of(Outcome::Conflict))
    }

    /// Whether a target that was not to be changed may be changed by now. Nothing is changed by
    /// asking; nothing is said when that cannot be found out.
    pub(crate) async fn may_be_changed(&self, target: &Target) -> Result<Option<bool>, Fenced> {
        let identity = target.identity();
        let Some(kind) = self.found(identity) else { return Ok(None) };
        let collection = kind.collection(identity);
        let place = Place { collection: &collection, name: identity.name() };
        let has_scale = matches!(target, Target::Workload(_));
        // It is tried again in a minute anyway.
        let Ok(_trial) = self.trials.try_acquire() else { return Ok(None) };
        let tried = self.writer.try_to_patch(place, has_scale);
        let Ok(tried) = tokio::time::timeout(TRIED_WITHIN, tried).await else { return Ok(None) };
        match tried {
            Err(WriteError::Refused(refusal)) if refusal.is_of_a_missing_right() => Ok(Some(false)),
            // Rights are looked at before anything else that can be refused, such as a dry run.
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
        is_wanted: IsWanted<'_>,
    ) -> Result<Written, WriteError> {
        let collection = kind.collection(target);
        let place = Place { collection: &collection, name: target.name() };
        match action {
            Action::SetReplicas { replicas, .. } => {
                self.writer.patch_scale(place, version, *replicas, is_wanted).await
            }
            Action::SetBounds { min, max, .. } => {
                let mut fields = Map::new();
                for (name, bound) in [("minReplicas", min), ("maxReplicas", max)] {
                    if let Some(bound) = bound {
                        fields.insert(name.to_owned(), json!(bound));
                    }
                }
                self.writer.patch_spec(place, version, Value::Object(fields), is_wanted).await
            }
            // A published number is evaluated when it is asked for.
            Action::Publish { .. } => Ok(Written::default()),
        }
    }

    /// Notes in the world what was written, before a watch tells it.
    fn note(&self, target: &Identity, action: &Action, written: Written) {
        let version = written.metadata.resource_version.unwrap_or_default();
        let mut known = self.cluster.lock();
        let listing = match known.targets.get(target) {
            Some(found) if is_older(&version, &found.version) => return,
            Some(found) => found.listing,
            // It is gone already.
            None => return,
        };
        known.world.apply(action);
        known.targets.forget_changes(target);
        known.targets.insert(target.clone(), Found { version: version.into(), listing });
    }
}
