//! The state of a hub outside the world: the version and owner of each `PlacementDecision`, for its writes; and the
//! progress of each placement.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use almanac_api::families::Descriptor;
use almanac_api::kinds::Kind;
use almanac_api::status::placement::Obstacle;
use almanac_engine::{Action, Family, Identity, Influences, Outcome, PolicyName, World};
use almanac_shell::backoff::Backoff;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::ObjectMeta;

use crate::cluster::{OLDEST_VERSION, SpecRevision, is_older};
use crate::report_rate_limit::ReportRateLimit;

/// The delays between attempts to write decisions.
const FIRST_RETRY: Duration = Duration::from_millis(250);
const LAST_RETRY: Duration = Duration::from_mins(1);

/// The maximum delay of the reaction to a field manager that changes decisions repeatedly. The delay grows with each
/// change, and resets after `CONTEST_IS_OVER` without a change.
const MAX_REACTION_DELAY: Duration = Duration::from_mins(1);
const CONTEST_IS_OVER: SignedDuration = SignedDuration::from_mins(10);

/// No attempt and no reaction is further away than this, unless the clock was wrong.
const MAX_WAIT: SignedDuration = SignedDuration::from_mins(2);

/// The state of a hub outside the world.
#[derive(Default)]
pub(crate) struct HubRecords {
    decisions: BTreeMap<Identity, DecisionRecord>,
    /// The decisions that a request in flight changes. Their watch event may come before the response. The value is the
    /// version of a deletion that a watch event has reported since.
    being_written: BTreeMap<Identity, Option<Box<str>>>,
    /// The progress of each placement.
    progress: BTreeMap<Identity, Progress>,
    /// The kinds whose objects are known.
    listed: BTreeSet<Kind>,
    /// The reports of the agents of clusters.
    reports: BTreeMap<Box<str>, ReportRateLimit>,
    influences: Influences,
}

/// A `PlacementDecision`, apart from its content.
#[derive(Clone, Debug)]
pub(super) struct DecisionRecord {
    pub(super) uid: Box<str>,
    pub(super) version: Box<str>,
    pub(super) owners: Vec<OwnerReference>,
    /// Whether this process has deleted the object, before the watch event arrives.
    pub(super) is_deleted: bool,
}

/// The progress of a placement.
#[derive(Default)]
struct Progress {
    /// The instant of the first change that no turn has considered.
    changed_at: Option<Timestamp>,
    /// The cause of the turn in progress, or of the failed one.
    cause: Option<Timestamp>,
    /// The instant at which the placement must be decided again, even without a change.
    due: Option<Timestamp>,
    /// The instant at which the controller reacts to another field manager.
    react_at: Option<Timestamp>,
    contest: Option<Contest>,
    /// The revision of the spec that was decided last, even if the write failed.
    decided: Option<SpecRevision>,
    /// The revision whose decision was written last.
    written: Option<SpecRevision>,
    retries: Option<Backoff>,
    /// The instant of the next attempt.
    retry_at: Option<Timestamp>,
    /// The obstacle to the turn in progress.
    met: Option<Obstacle>,
    obstacle: Option<Obstacle>,
}

struct Contest {
    last: Timestamp,
    backoff: Backoff,
}

/// The outcome of a turn.
pub(super) struct TurnReport {
    /// The instant of the next attempt; `None` if no attempt is necessary.
    pub(super) again: Option<Timestamp>,
    /// The time since the cause of the turn; `None` if nothing was written.
    pub(super) lag: Option<SignedDuration>,
}

impl DecisionRecord {
    pub(super) fn from_metadata(metadata: &ObjectMeta) -> Self {
        Self {
            uid: metadata.uid.as_deref().unwrap_or_default().into(),
            version: metadata.resource_version.as_deref().unwrap_or_default().into(),
            owners: metadata.owner_references.clone().unwrap_or_default(),
            is_deleted: false,
        }
    }

    /// The object that controls the decision; `None` if no object does.
    pub(super) fn controller(&self) -> Option<&OwnerReference> {
        self.owners.iter().find(|owner| owner.controller == Some(true))
    }
}

impl HubRecords {
    /// A kind whose objects are unknown; `None` if all are known. Without these objects, Almanac decides nothing.
    pub(super) fn missing_kind(&self) -> Option<Kind> {
        let mut of_hub = Descriptor::for_family(Family::Placement).reads.iter().copied();
        of_hub.find(|kind| !self.listed.contains(kind))
    }

    /// Records that all objects of a kind are known; returns whether that is new.
    pub(crate) fn complete(&mut self, kind: Kind) -> bool {
        self.listed.insert(kind)
    }

    /// The record of an existing `PlacementDecision`.
    pub(super) fn decision(&self, decision: &Identity) -> Option<&DecisionRecord> {
        self.decisions.get(decision).filter(|it| !it.is_deleted)
    }

    /// The record of a `PlacementDecision`, even of a deleted one.
    pub(super) fn any_decision(&self, decision: &Identity) -> Option<&DecisionRecord> {
        self.decisions.get(decision)
    }

    /// Records a version of a `PlacementDecision`. Returns `false`, and records nothing, if a newer version is
    /// recorded, even of another object of this name.
    pub(super) fn note(&mut self, decision: &Identity, record: DecisionRecord) -> bool {
        let gone = self.being_written.get(decision).and_then(Option::as_deref);
        if gone.is_some_and(|gone| is_older(&record.version, gone)) {
            return false;
        }
        let known = self.decisions.get(decision);
        let is_old = |it: &DecisionRecord| {
            is_older(&record.version, &it.version) || (it.is_deleted && it.uid == record.uid)
        };
        if known.is_some_and(is_old) {
            return false;
        }
        self.decisions.insert(decision.clone(), record);
        true
    }

    /// Records a watch event that deletes a `PlacementDecision`; returns whether that is a change. The event changes
    /// nothing if another decision has this name by now, or if this process has deleted the decision.
    pub(super) fn note_gone(&mut self, decision: &Identity, record: &DecisionRecord) -> bool {
        let known = self.decisions.get(decision);
        if known.is_some_and(|it| it.uid != record.uid && !is_older(&it.version, &record.version)) {
            return false;
        }
        if let Some(gone) = self.being_written.get_mut(decision) {
            *gone = Some(record.version.clone());
        }
        self.decisions.remove(decision).is_none_or(|it| !it.is_deleted)
    }

    /// Removes a `PlacementDecision` that is not in a list.
    pub(super) fn remove(&mut self, decision: &Identity) {
        self.decisions.remove(decision);
    }

    /// Records that a request that changes a decision is sent.
    pub(super) fn begin_write(&mut self, decision: &Identity) {
        self.being_written.insert(decision.clone(), None);
    }

    /// Records that the request has a response, or will get none.
    pub(super) fn end_write(&mut self, decision: &Identity) {
        self.being_written.remove(decision);
    }

    pub(super) fn is_being_written(&self, decision: &Identity) -> bool {
        self.being_written.contains_key(decision)
    }

    /// Records that this process has deleted a `PlacementDecision` with this UID: further watch events of it are old.
    /// Returns `false` if a watch event has already reported the deletion.
    pub(super) fn note_deleted(&mut self, decision: &Identity, uid: &str) -> bool {
        let known = self.decisions.get_mut(decision).filter(|it| *it.uid == *uid);
        known.is_some_and(|it| {
            it.is_deleted = true;
            true
        })
    }

    /// Records that a `PlacementDecision` was absent when it was read. Returns `false` if a later watch event has
    /// reported it: the event outweighs the read.
    pub(super) fn note_missing(
        &mut self,
        decision: &Identity,
        before: Option<&DecisionRecord>,
    ) -> bool {
        match (self.decisions.get_mut(decision), before) {
            (Some(known), Some(before)) if known.version == before.version => {
                known.is_deleted = true;
                true
            }
            (known, _) => known.is_none(),
        }
    }

    /// Removes the deleted decisions that are not in a list.
    pub(super) fn remove_deleted(&mut self, listing: &BTreeSet<Identity>) {
        self.decisions.retain(|decision, record| !record.is_deleted || listing.contains(decision));
    }

    /// Accepts any next version of each `PlacementDecision` as newer, because versions have gone back.
    pub(super) fn reset_versions(&mut self) {
        self.decisions.retain(|_, record| !record.is_deleted);
        for record in self.decisions.values_mut() {
            record.version = OLDEST_VERSION.into();
        }
        self.being_written.values_mut().for_each(|gone| *gone = None);
    }

    /// Records that an input of a placement has changed. The change takes effect at this instant.
    pub(super) fn note_change(&mut self, placement: &Identity, at: Timestamp) {
        let progress = self.progress.entry(placement.clone()).or_default();
        progress.changed_at = Some(progress.changed_at.map_or(at, |known| known.min(at)));
    }

    /// Records that a policy is new, or has been edited, if it is a placement.
    pub(crate) fn note_edit(&mut self, policy: &PolicyName, at: Timestamp) {
        if policy.family == Family::Placement {
            self.note_change(&policy.identity, at);
        }
    }

    /// Records a report of the agent of a cluster, and returns when it takes effect. Repeated reports must not keep all
    /// placements busy that may select the cluster.
    pub(super) fn note_report(&mut self, cluster: &str, now: Timestamp) -> Timestamp {
        match self.reports.get_mut(cluster) {
            Some(report_rate_limit) => report_rate_limit.next(now),
            None => self.reports.entry(cluster.into()).or_default().next(now),
        }
    }

    /// Removes a deleted cluster.
    pub(super) fn remove_reports(&mut self, cluster: &str) {
        self.reports.remove(cluster);
    }

    /// Whether the reaction to another field manager of a placement is delayed.
    pub(super) fn is_reaction_delayed(&self, placement: &Identity) -> bool {
        self.progress.get(placement).is_some_and(|it| it.react_at.is_some())
    }

    /// Records that another field manager has changed a decision of a placement; returns when to react.
    pub(super) fn note_other_writer(&mut self, placement: &Identity, now: Timestamp) -> Timestamp {
        self.note_change(placement, now);
        let progress = self.progress.entry(placement.clone()).or_default();
        let is_over = |it: &Contest| now.duration_since(it.last) > CONTEST_IS_OVER;
        if progress.contest.as_ref().is_some_and(is_over) {
            progress.contest = None;
        }
        let delay = if let Some(contest) = &mut progress.contest {
            contest.last = now;
            contest.backoff.next_pause()
        } else {
            let backoff = Backoff::new(Duration::from_secs(1), MAX_REACTION_DELAY, seed(placement));
            progress.contest = Some(Contest { last: now, backoff });
            Duration::ZERO
        };
        let at = later(now, delay);
        let react_at = progress.react_at.map_or(at, |known| known.min(at));
        progress.react_at = Some(react_at);
        react_at
    }

    /// The end of the time in which a placement has no turn, regardless of other changes, because a write has failed or
    /// the reaction to another field manager is delayed. A placement whose spec was edited since is not delayed.
    pub(super) fn waits_until(
        &self,
        placement: &Identity,
        revision: SpecRevision,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let progress = self.progress.get(placement).filter(|it| it.decided == Some(revision))?;
        let until = progress.retry_at.into_iter().chain(progress.react_at).max()?;
        (until > now && until.duration_since(now) <= MAX_WAIT).then_some(until)
    }

    /// Records that a placement needs no decision now, so that no change of it is delayed.
    pub(super) fn note_undecided(&mut self, placement: &Identity) {
        if let Some(progress) = self.progress.get_mut(placement) {
            (progress.changed_at, progress.cause, progress.due) = (None, None, None);
        }
    }

    /// Records that a turn of a placement starts.
    pub(super) fn start(&mut self, placement: &Identity, now: Timestamp) {
        let progress = self.progress.entry(placement.clone()).or_default();
        let due = progress.due.take().filter(|due| *due <= now);
        // A later change was not considered: it gets a turn of its own.
        let changed_at = progress.changed_at.take_if(|at| *at <= now);
        let causes = [progress.cause, changed_at, due];
        progress.cause = causes.into_iter().flatten().min();
        (progress.react_at, progress.met) = (None, None);
    }

    /// Records the obstacle to the turn of a placement.
    pub(super) fn note_obstacle(&mut self, placement: &Identity, met: Obstacle) {
        // A placement that was deleted during the turn gets no new entry.
        if let Some(progress) = self.progress.get_mut(placement) {
            progress.met = Some(met);
        }
    }

    /// Records that a turn of a placement is over.
    pub(super) fn settle(
        &mut self,
        placement: &Identity,
        revision: SpecRevision,
        done: &[(Action, Outcome)],
        now: Timestamp,
    ) -> TurnReport {
        let progress = self.progress.entry(placement.clone()).or_default();
        progress.decided = Some(revision);
        let met = progress.met.take();
        if done.iter().all(|(_, outcome)| outcome.is_as_wanted()) {
            progress.written = Some(revision);
            (progress.retries, progress.retry_at, progress.obstacle) = (None, None, None);
            let cause = progress.cause.take().filter(|_| !done.is_empty());
            let lag = cause.map(|cause| now.duration_since(cause));
            return TurnReport { again: progress.react_at, lag };
        }
        // A write that was withdrawn, or whose object has changed since, does not show whether it can be written.
        progress.obstacle = met.or(progress.obstacle.take());
        let new_backoff = || Backoff::new(FIRST_RETRY, LAST_RETRY, seed(placement));
        let delay = progress.retries.get_or_insert_with(new_backoff).next_pause();
        progress.retry_at = Some(later(now, delay));
        TurnReport { again: progress.retry_at, lag: None }
    }

    /// Records the instant at which a placement must be decided again, even without a change.
    pub(super) fn note_due(&mut self, placement: &Identity, due: Option<Timestamp>) {
        self.progress.entry(placement.clone()).or_default().due = due;
    }

    /// Whether this revision of a placement has had its turn.
    pub(super) fn is_decided(&self, placement: &Identity, revision: SpecRevision) -> bool {
        self.progress.get(placement).is_some_and(|it| it.decided == Some(revision))
    }

    /// Whether the decision of this revision is written, or was written before another decision.
    pub(super) fn is_written(&self, placement: &Identity, revision: SpecRevision) -> bool {
        self.progress.get(placement).is_some_and(|it| it.written == Some(revision))
    }

    /// The obstacle to writing the decision of a placement.
    pub(super) fn obstacle(&self, placement: &Identity) -> Option<&Obstacle> {
        self.progress.get(placement)?.obstacle.as_ref()
    }

    /// The placements that are decided again because this placement has written a decision, each with the instant.
    pub(super) fn after_write(
        &mut self,
        world: &World,
        placement: &PolicyName,
        now: Timestamp,
    ) -> Vec<(PolicyName, Timestamp)> {
        let due = self.influences.after_write(world, placement, now);
        for (other, at) in &due {
            self.note_change(&other.identity, *at);
        }
        due
    }

    /// The placements to decide again because another field manager has changed this decision, each with the instant.
    pub(super) fn influenced(
        &self,
        world: &World,
        decision: &PolicyName,
        now: Timestamp,
    ) -> Vec<(PolicyName, Timestamp)> {
        self.influences.due(world, decision, now)
    }

    /// Removes a deleted placement.
    pub(crate) fn remove_placement(&mut self, placement: &PolicyName) {
        self.progress.remove(&placement.identity);
        self.influences.remove(placement);
    }
}

fn later(now: Timestamp, delay: Duration) -> Timestamp {
    let delay = SignedDuration::try_from(delay).unwrap_or_default();
    now.saturating_add(delay).unwrap_or(Timestamp::MAX)
}

/// The seed that spreads retries of placements that failed together.
fn seed(placement: &Identity) -> u64 {
    let mut hasher = DefaultHasher::new();
    placement.hash(&mut hasher);
    hasher.finish()
}
