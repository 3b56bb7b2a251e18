//! Writes the decisions of a placement, one request after the other, so that a client that watches them never misses a
//! cluster that stays selected. After a failed request, the rest is not sent.
//!
//! A decision is an object with labels and a status, which are written separately. The world contains the change of
//! each request immediately. Each request is based on the known version, so that it overwrites no other change. If a
//! response was lost, the writer reads the decision.

use std::sync::Arc;
use std::time::Duration;

use almanac_api::kinds::Kind;
use almanac_api::status::placement::Obstacle;
use almanac_engine::placement::{HubObject, PlacementDecision};
use almanac_engine::{Action, Identity, Outcome, PolicyName, Slim};
use almanac_shell::clock::Clock;
use almanac_shell::lease::Fenced;
use almanac_shell::writer::{ObjectPath, Refusal, StillWanted, WriteError, Writer, summarize};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, DynamicObject};
use tokio::time::timeout;

use super::follower::hub_object;
use super::metrics::PlacementMetrics;
use super::records::DecisionRecord;
use super::step::{Owner, Step, status};
use crate::cluster::Cluster;
use crate::turn_hooks::Outcomes;

/// The maximum number of requests for one decision: to create it, and to write its status and its labels. If that needs
/// more requests, another client keeps changing the decision.
const MAX_REQUESTS: usize = 4;

const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Writes decisions.
pub(crate) struct DecisionWriter {
    pub(crate) client: Client,
    pub(crate) writer: Writer,
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) clock: Clock,
    pub(crate) metrics: PlacementMetrics,
}

/// A request that was sent, with the desired decision.
#[derive(Clone, Copy)]
enum Attempt<'a> {
    Create(&'a PlacementDecision),
    Patch(&'a PlacementDecision),
    Delete,
}

impl DecisionWriter {
    /// Applies the actions of a placement with this UID, in their order. Records an obstacle if a write meets one.
    pub(super) async fn write_all(
        &self,
        placement: &PolicyName,
        uid: &str,
        actions: &[Action],
        still_wanted: StillWanted<'_>,
    ) -> Outcomes {
        let owner = Owner { name: placement.identity.name(), uid };
        let (mut outcomes, mut obstacle) = (Vec::with_capacity(actions.len()), None);
        for action in actions {
            let is_over = outcomes.last().is_some_and(|it: &Outcome| !it.is_as_wanted());
            let outcome = match action {
                _ if is_over => Outcome::Withdrawn,
                Action::WriteDecision { decision, content } => {
                    self.write(&owner, decision, content, &mut obstacle, still_wanted).await?
                }
                Action::RemoveDecision { decision } => {
                    self.remove(&owner, decision, &mut obstacle, still_wanted).await?
                }
                Action::Publish { .. }
                | Action::SetReplicas { .. }
                | Action::SetBounds { .. }
                | Action::Annotate { .. }
                | Action::SchedulePods { .. } => Outcome::Withdrawn,
            };
            outcomes.push(outcome);
        }
        if outcomes.iter().all(Outcome::is_as_wanted) {
            self.adopt(placement, &owner, still_wanted).await?;
        }
        if let Some(obstacle) = obstacle {
            self.cluster.lock().hub.note_obstacle(&placement.identity, obstacle);
        }
        Ok(outcomes)
    }

    /// Makes the placement the owner of its decisions without an owner, as after a restore, so that the decisions are
    /// deleted with the placement.
    async fn adopt(
        &self,
        placement: &PolicyName,
        owner: &Owner<'_>,
        still_wanted: StillWanted<'_>,
    ) -> Result<(), Fenced> {
        let orphans: Vec<(Identity, PlacementDecision)> = {
            let state = self.cluster.lock();
            let own = state.world.divisions(placement).into_iter().map(|it| {
                Kind::PlacementDecision.identity(placement.identity.namespace(), &it.object)
            });
            let orphans = own.filter(|it| {
                state.hub.decision(it).is_some_and(|record| record.controller().is_none())
            });
            let with_content = orphans.filter_map(|it| {
                let content = state.world.placement.extra.decisions.get(&it)?.clone();
                Some((it, content))
            });
            with_content.collect()
        };
        for (decision, content) in orphans {
            // A failed write is retried at the next turn.
            let _outcome = self.write(owner, &decision, &content, &mut None, still_wanted).await?;
        }
        Ok(())
    }

    async fn write(
        &self,
        owner: &Owner<'_>,
        decision: &Identity,
        content: &PlacementDecision,
        obstacle: &mut Option<Obstacle>,
        still_wanted: StillWanted<'_>,
    ) -> Result<Outcome, Fenced> {
        let collection = Kind::PlacementDecision.collection(decision.namespace());
        let object_path = ObjectPath { collection: &collection, name: decision.name() };
        for requests in 0..MAX_REQUESTS {
            let step = {
                let mut state = self.cluster.lock();
                let step = owner.step(&state, decision, content);
                if step.is_request() {
                    state.hub.begin_write(decision);
                }
                step
            };
            let attempt = match step {
                Step::Create => Attempt::Create(content),
                _ => Attempt::Patch(content),
            };
            let (result, now) = match step {
                Step::None if requests == 0 => return Ok(Outcome::Unchanged),
                Step::None => return Ok(Outcome::Done),
                Step::Taken(taken) => {
                    let outcome = Outcome::Refused(Arc::clone(&taken.message));
                    *obstacle = Some(taken);
                    return Ok(outcome);
                }
                Step::Create => {
                    let object = owner.object(decision, content);
                    let empty = PlacementDecision { clusters: Box::default(), ..content.clone() };
                    (self.writer.create(&collection, &object, still_wanted).await, empty)
                }
                Step::Status(record) => {
                    let status = status(content);
                    let current =
                        self.cluster.lock().world.placement.extra.decisions.get(decision).cloned();
                    let clusters = content.clusters.clone();
                    let now = PlacementDecision { clusters, ..current.unwrap_or_default() };
                    let version = &record.version;
                    let patch = self.writer.patch_decided_status(
                        object_path,
                        version,
                        status,
                        still_wanted,
                    );
                    (patch.await, now)
                }
                Step::Metadata(record, fields) => {
                    let version = &record.version;
                    let patch =
                        self.writer.patch_metadata(object_path, version, fields, still_wanted);
                    (patch.await, content.clone())
                }
            };
            match result {
                Ok(response) if self.note(owner, decision, &response.metadata, now) => {}
                Ok(_) => return Ok(Outcome::Conflict),
                Err(error) => {
                    return self.failed(owner, decision, attempt, error, obstacle).await;
                }
            }
        }
        Ok(Outcome::Conflict)
    }

    async fn remove(
        &self,
        owner: &Owner<'_>,
        decision: &Identity,
        obstacle: &mut Option<Obstacle>,
        still_wanted: StillWanted<'_>,
    ) -> Result<Outcome, Fenced> {
        let current = {
            let state = self.cluster.lock();
            let content = state.world.placement.extra.decisions.get(decision).cloned();
            state.hub.decision(decision).cloned().zip(content)
        };
        let Some((record, content)) = current else { return Ok(Outcome::Unchanged) };
        if let Some(taken) = owner.taken(decision, &record, &content) {
            let outcome = Outcome::Refused(Arc::clone(&taken.message));
            *obstacle = Some(taken);
            return Ok(outcome);
        }
        let collection = Kind::PlacementDecision.collection(decision.namespace());
        let object_path = ObjectPath { collection: &collection, name: decision.name() };
        let only = (&*record.uid, &*record.version);
        self.cluster.lock().hub.begin_write(decision);
        match self.writer.delete(object_path, only, still_wanted).await {
            Ok(()) => {
                let mut state = self.cluster.lock();
                state.hub.end_write(decision);
                if state.hub.note_deleted(decision, &record.uid) {
                    state.world.remove(decision);
                }
                // Another client may have created the decision again since.
                let is_gone = state.hub.decision(decision).is_none();
                Ok(if is_gone { Outcome::Done } else { Outcome::Conflict })
            }
            Err(error) => self.failed(owner, decision, Attempt::Delete, error, obstacle).await,
        }
    }

    /// Updates the world with the written decision, before the watch delivers it, unless another client has written or
    /// deleted the decision since then. Returns `false` if another client has.
    fn note(
        &self,
        owner: &Owner<'_>,
        decision: &Identity,
        metadata: &ObjectMeta,
        now: PlacementDecision,
    ) -> bool {
        let mut state = self.cluster.lock();
        let is_latest = state.hub.note(decision, DecisionRecord::from_metadata(metadata));
        state.hub.end_write(decision);
        if is_latest {
            state.world.upsert(decision.clone(), Slim::Hub(HubObject::Decision(now)));
        } else {
            let placement = Kind::Placement.identity(decision.namespace(), owner.name);
            // A deleted placement needs no new entry.
            if state.world.placement.policies.contains_key(&placement) {
                state.hub.note_other_writer(&placement, self.clock.now());
            }
            self.metrics.count_undone();
        }
        is_latest
    }

    /// Handles a failed write; returns its outcome.
    async fn failed(
        &self,
        owner: &Owner<'_>,
        decision: &Identity,
        attempt: Attempt<'_>,
        error: WriteError,
        obstacle: &mut Option<Obstacle>,
    ) -> Result<Outcome, Fenced> {
        let is_read = match &error {
            WriteError::Unknown(_) => Some(self.read(decision).await),
            WriteError::Refused(refusal) if attempt.is_outdated(refusal) => {
                Some(self.read(decision).await)
            }
            WriteError::Refused(_) | WriteError::Fenced(_) | WriteError::Withdrawn => None,
        };
        // Until here, watch events are compared with the read decision.
        self.cluster.lock().hub.end_write(decision);
        let outcome = match error {
            WriteError::Fenced(fenced) => return Err(fenced),
            WriteError::Withdrawn => return Ok(Outcome::Withdrawn),
            WriteError::Refused(_) if is_read.is_some() => Outcome::Conflict,
            WriteError::Refused(refusal) => Outcome::Refused(refusal.to_string().into()),
            WriteError::Unknown(why) => Outcome::Unknown(why.into()),
        };
        self.metrics.count_failed();
        match is_read {
            Some(Err(error)) => {
                tracing::debug!(decision = %decision, error, "failed to read a decision");
            }
            // The response was lost, and not the request.
            Some(Ok(())) if self.is_as_desired(owner, decision, attempt) => {
                return Ok(Outcome::Done);
            }
            Some(Ok(())) | None => {}
        }
        if let Outcome::Refused(why) | Outcome::Unknown(why) = &outcome {
            let what = if matches!(attempt, Attempt::Delete) { "delete" } else { "write" };
            tracing::warn!("failed to {what} {decision}: {why}");
            let message = Arc::from(format!("failed to {what} {decision}, and will retry: {why}"));
            *obstacle = Some(Obstacle { is_name_taken: false, message });
        }
        Ok(outcome)
    }

    fn is_as_desired(&self, owner: &Owner<'_>, decision: &Identity, attempt: Attempt<'_>) -> bool {
        let state = self.cluster.lock();
        match attempt {
            Attempt::Create(content) | Attempt::Patch(content) => {
                matches!(owner.step(&state, decision, content), Step::None)
            }
            Attempt::Delete => state.hub.decision(decision).is_none(),
        }
    }

    /// Reads a decision into the world, unless the watch has delivered a newer version in the meantime.
    async fn read(&self, decision: &Identity) -> Result<(), String> {
        let kind = Kind::PlacementDecision;
        let (client, resource) = (self.client.clone(), kind.resource());
        let api: Api<DynamicObject> = Api::namespaced_with(client, decision.namespace(), &resource);
        let before = self.cluster.lock().hub.any_decision(decision).cloned();
        let response = match timeout(READ_TIMEOUT, api.get_opt(decision.name())).await {
            Ok(Ok(object)) => object,
            Ok(Err(error)) => return Err(summarize(&error)),
            Err(_) => return Err(format!("no response within {} s", READ_TIMEOUT.as_secs())),
        };
        let mut state = self.cluster.lock();
        let Some(object) = response else {
            if state.hub.note_missing(decision, before.as_ref()) {
                state.world.remove(decision);
            }
            return Ok(());
        };
        if !state.hub.note(decision, DecisionRecord::from_metadata(&object.metadata)) {
            return Ok(());
        }
        if let Some(object) = hub_object(kind, decision, object, self.clock.now()) {
            state.world.upsert(decision.clone(), Slim::Hub(object));
        }
        Ok(())
    }
}

impl Attempt<'_> {
    /// Whether the request was refused because the decision was changed or deleted. A "not found" on creation is about
    /// the namespace.
    fn is_outdated(self, refusal: &Refusal) -> bool {
        let creates = matches!(self, Self::Create(_));
        refusal.is_conflict() || (refusal.is_not_found() && !creates)
    }
}
