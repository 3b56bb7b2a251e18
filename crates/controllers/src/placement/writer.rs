//! Writes the decisions of a placement, one request after the other, so that whoever watches them never misses a
//! cluster that stays selected. After one that has failed, the rest is not sent.
//!
//! A decision is an object with labels and a status, which are written apart. What each request changes is in the world
//! at once; each of them is based on the version that is known, so that nothing is overwritten that is not. What has
//! come of a request whose response was lost is read.

use std::sync::Arc;
use std::time::Duration;

use almanac_api::kinds::Kind;
use almanac_api::status::placement::Obstacle;
use almanac_engine::placement::{HubObject, PlacementDecision};
use almanac_engine::{Action, Identity, Outcome, PolicyName, Slim};
use almanac_shell::clock::Clock;
use almanac_shell::lease::Fenced;
use almanac_shell::writer::{ObjectPath, StillWanted, WriteError, Writer, summarize};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, DynamicObject};
use tokio::time::timeout;

use super::follower::hub_object;
use super::metrics::PlacementMetrics;
use super::records::DecisionRecord;
use super::step::{Owner, Step, status};
use crate::cluster::Cluster;

/// A decision is created, and gets its status and its labels. What takes more is changed by somebody else meanwhile.
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

impl DecisionWriter {
    /// Carries out the actions of a placement with this UID, in their order. Also returns what is in the way. Returns an
    /// error if this process no longer leads.
    pub(crate) async fn apply(
        &self,
        placement: &PolicyName,
        uid: &str,
        actions: &[Action],
        still_wanted: StillWanted<'_>,
    ) -> Result<(Vec<Outcome>, Option<Obstacle>), Fenced> {
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
                | Action::Annotate { .. } => Outcome::Withdrawn,
            };
            outcomes.push(outcome);
        }
        if outcomes.iter().all(Outcome::is_as_wanted) {
            self.adopt(placement, &owner, still_wanted).await?;
        }
        Ok((outcomes, obstacle))
    }

    /// Makes the placement the owner of decisions that are its own and have none, as after a restore, so that they are
    /// deleted with it.
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
                let content = state.world.decisions.get(&it)?.clone();
                Some((it, content))
            });
            with_content.collect()
        };
        for (decision, content) in orphans {
            // It is tried again at the next turn.
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
        let place = ObjectPath { collection: &collection, name: decision.name() };
        for requests in 0..MAX_REQUESTS {
            let step = {
                let mut state = self.cluster.lock();
                let step = owner.step(&state, decision, content);
                if step.is_request() {
                    state.hub.begin_write(decision);
                }
                step
            };
            let (written, now) = match step {
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
                    let found = self.cluster.lock().world.decisions.get(decision).cloned();
                    let clusters = content.clusters.clone();
                    let now = PlacementDecision { clusters, ..found.unwrap_or_default() };
                    let version = &record.version;
                    let patch =
                        self.writer.patch_decided_status(place, version, status, still_wanted);
                    (patch.await, now)
                }
                Step::Metadata(record, fields) => {
                    let version = &record.version;
                    let patch = self.writer.patch_metadata(place, version, fields, still_wanted);
                    (patch.await, content.clone())
                }
            };
            match written {
                Ok(written) => self.note(owner, decision, &written.metadata, now),
                Err(error) => {
                    return self.failed(owner, decision, Some(content), error, obstacle).await;
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
        let known = {
            let state = self.cluster.lock();
            let found = state.world.decisions.get(decision).cloned();
            state.hub.decision(decision).cloned().zip(found)
        };
        let Some((record, found)) = known else { return Ok(Outcome::Unchanged) };
        if let Some(taken) = owner.taken(decision, &record, &found) {
            let outcome = Outcome::Refused(Arc::clone(&taken.message));
            *obstacle = Some(taken);
            return Ok(outcome);
        }
        let collection = Kind::PlacementDecision.collection(decision.namespace());
        let place = ObjectPath { collection: &collection, name: decision.name() };
        let only = (&*record.uid, &*record.version);
        self.cluster.lock().hub.begin_write(decision);
        match self.writer.delete(place, only, still_wanted).await {
            Ok(()) => {
                let mut state = self.cluster.lock();
                state.hub.end_write(decision);
                state.hub.note_deleted(decision);
                state.world.remove(decision);
                Ok(Outcome::Done)
            }
            Err(error) => self.failed(owner, decision, None, error, obstacle).await,
        }
    }

    /// Notes in the world what was written, before the watch delivers it, unless somebody else has written since.
    fn note(
        &self,
        owner: &Owner<'_>,
        decision: &Identity,
        metadata: &ObjectMeta,
        now: PlacementDecision,
    ) {
        let mut state = self.cluster.lock();
        state.hub.end_write(decision);
        if state.hub.note_written(decision, metadata) {
            state.world.upsert(decision.clone(), Slim::Hub(HubObject::Decision(now)));
        } else {
            let placement = Kind::Placement.identity(decision.namespace(), owner.name);
            state.hub.note_other_writer(&placement, self.clock.now());
        }
    }

    /// What comes of a write that has failed. `content` is `None` for one that was to be removed.
    async fn failed(
        &self,
        owner: &Owner<'_>,
        decision: &Identity,
        content: Option<&PlacementDecision>,
        error: WriteError,
        obstacle: &mut Option<Obstacle>,
    ) -> Result<Outcome, Fenced> {
        self.cluster.lock().hub.end_write(decision);
        let (outcome, is_read) = match error {
            WriteError::Fenced(fenced) => return Err(fenced),
            WriteError::Withdrawn => return Ok(Outcome::Withdrawn),
            WriteError::Refused(refusal)
                if refusal.is_conflict() || (content.is_none() && refusal.is_not_found()) =>
            {
                (Outcome::Conflict, self.read(decision).await)
            }
            WriteError::Refused(refusal) => (Outcome::Refused(refusal.to_string().into()), Ok(())),
            WriteError::Unknown(why) => (Outcome::Unknown(why.into()), self.read(decision).await),
        };
        self.metrics.count_failed();
        if let Err(error) = is_read {
            tracing::debug!(decision = %decision, error, "failed to read a decision");
        } else if !matches!(outcome, Outcome::Refused(_)) && self.is_so(owner, decision, content) {
            // The response was lost, and not the request.
            return Ok(Outcome::Done);
        }
        if let Outcome::Refused(why) | Outcome::Unknown(why) = &outcome {
            let what = if content.is_some() { "write" } else { "delete" };
            tracing::warn!("failed to {what} {decision}: {why}");
            let message =
                Arc::from(format!("failed to {what} {decision}, which is tried again: {why}"));
            *obstacle = Some(Obstacle { is_name_taken: false, message });
        }
        Ok(outcome)
    }

    fn is_so(
        &self,
        owner: &Owner<'_>,
        decision: &Identity,
        content: Option<&PlacementDecision>,
    ) -> bool {
        let state = self.cluster.lock();
        match content {
            Some(content) => matches!(owner.step(&state, decision, content), Step::None),
            None => state.hub.decision(decision).is_none(),
        }
    }

    /// Reads a decision; the world has it afterwards.
    async fn read(&self, decision: &Identity) -> Result<(), String> {
        let kind = Kind::PlacementDecision;
        let (client, resource) = (self.client.clone(), kind.resource());
        let api: Api<DynamicObject> = Api::namespaced_with(client, decision.namespace(), &resource);
        let found = match timeout(READ_TIMEOUT, api.get_opt(decision.name())).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => return Err(summarize(&error)),
            Err(_) => return Err(format!("no response within {} s", READ_TIMEOUT.as_secs())),
        };
        let mut state = self.cluster.lock();
        let Some(object) = found else {
            state.hub.remove(decision);
            state.world.remove(decision);
            return Ok(());
        };
        state.hub.insert(decision.clone(), DecisionRecord::of(&object.metadata));
        let object = hub_object(kind, decision, object, self.clock.now());
        if let Some(object) = object {
            state.world.upsert(decision.clone(), Slim::Hub(object));
        }
        Ok(())
    }
}
