//! What is known of a hub beside the world: which version of each decision, and whose it is, which is for writing them;
//! and how far each placement is.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use almanac_api::kinds::Kind;
use almanac_api::status::placement::Obstacle;
use almanac_engine::{Action, Identity, Outcome};
use almanac_shell::backoff::Backoff;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::ObjectMeta;

use super::HUB_KINDS;
use crate::cluster::{OLDEST_VERSION, SpecRevision, is_older};

/// The pauses between attempts to write decisions.
const FIRST_RETRY: Duration = Duration::from_millis(250);
const LAST_RETRY: Duration = Duration::from_mins(1);

/// Somebody who changes decisions again and again is answered less and less often, up to this long, until that has
/// been over for so long.
const SLOWEST_ANSWER: Duration = Duration::from_mins(1);
const CONTEST_IS_OVER: SignedDuration = SignedDuration::from_mins(10);

/// What is known of a hub beside the world.
#[derive(Default)]
pub(crate) struct HubRecords {
    decisions: BTreeMap<Identity, DecisionRecord>,
    /// Those that a request of ours is about to change. The watch may tell of it before the response does.
    being_written: BTreeSet<Identity>,
    /// By placement.
    progress: BTreeMap<Identity, Progress>,
    /// The kinds whose objects are known.
    listed: BTreeSet<Kind>,
}

/// A `PlacementDecision`, apart from what it says.
#[derive(Clone, Debug)]
pub(super) struct DecisionRecord {
    pub(super) uid: Box<str>,
    pub(super) version: Box<str>,
    pub(super) owners: Vec<OwnerReference>,
    /// Whether we have deleted it, which the watch has yet to tell.
    pub(super) is_deleted: bool,
}

/// How far a placement is.
#[derive(Default)]
struct Progress {
    /// Since when something may have changed that no turn has seen.
    changed_at: Option<Timestamp>,
    /// What the turn under way goes back to, or the one that has failed.
    cause: Option<Timestamp>,
    /// When it is to be decided again because time has passed.
    due: Option<Timestamp>,
    /// When another writer is to be answered.
    answer_at: Option<Timestamp>,
    contest: Option<Contest>,
    /// The revision of the spec that was decided last, whether or not that could be written.
    decided: Option<SpecRevision>,
    retries: Option<Backoff>,
    obstacle: Option<Obstacle>,
}

struct Contest {
    last: Timestamp,
    pauses: Backoff,
}

/// What came of a turn.
#[derive(Default)]
pub(crate) struct Settled {
    /// When to try again, if that is necessary.
    pub(crate) again: Option<Timestamp>,
    /// How long it has taken since what has caused it, if anything was written.
    pub(crate) lag: Option<SignedDuration>,
}

impl DecisionRecord {
    pub(super) fn of(metadata: &ObjectMeta) -> Self {
        Self {
            uid: metadata.uid.as_deref().unwrap_or_default().into(),
            version: metadata.resource_version.as_deref().unwrap_or_default().into(),
            owners: metadata.owner_references.clone().unwrap_or_default(),
            is_deleted: false,
        }
    }

    /// The object that controls it, if one does.
    pub(super) fn controller(&self) -> Option<&OwnerReference> {
        self.owners.iter().find(|owner| owner.controller == Some(true))
    }
}

impl HubRecords {
    /// A kind whose objects are not known, if there is one. Without them, nothing can be decided.
    pub(crate) fn missing_kind(&self) -> Option<Kind> {
        HUB_KINDS.into_iter().find(|kind| !self.listed.contains(kind))
    }

    /// All objects of a kind are known; whether that is new.
    pub(super) fn complete(&mut self, kind: Kind) -> bool {
        self.listed.insert(kind)
    }

    /// What is known of a decision that is there.
    pub(super) fn decision(&self, decision: &Identity) -> Option<&DecisionRecord> {
        self.decisions.get(decision).filter(|it| !it.is_deleted)
    }

    /// The same, and be it deleted.
    pub(super) fn any_decision(&self, decision: &Identity) -> Option<&DecisionRecord> {
        self.decisions.get(decision)
    }

    pub(super) fn insert(&mut self, decision: Identity, record: DecisionRecord) {
        self.decisions.insert(decision, record);
    }

    pub(super) fn remove(&mut self, decision: &Identity) {
        self.decisions.remove(decision);
    }

    /// A request that changes a decision is sent.
    pub(super) fn begin_write(&mut self, decision: &Identity) {
        self.being_written.insert(decision.clone());
    }

    /// There is a response, or there will be none.
    pub(super) fn end_write(&mut self, decision: &Identity) {
        self.being_written.remove(decision);
    }

    pub(super) fn is_being_written(&self, decision: &Identity) -> bool {
        self.being_written.contains(decision)
    }

    /// Notes that we have deleted a decision: what the watch still tells of it is old.
    pub(super) fn note_deleted(&mut self, decision: &Identity) {
        if let Some(record) = self.decisions.get_mut(decision) {
            record.is_deleted = true;
        }
    }

    /// Forgets those that we have deleted and that are not in a list.
    pub(super) fn forget_deleted(&mut self, listing: &BTreeSet<Identity>) {
        self.decisions.retain(|decision, record| !record.is_deleted || listing.contains(decision));
    }

    /// Notes that a decision has another version by our own write; whether nobody has changed it since.
    pub(super) fn note_written(&mut self, decision: &Identity, metadata: &ObjectMeta) -> bool {
        let record = DecisionRecord::of(metadata);
        let known = self.decisions.get(decision);
        let is_latest =
            known.is_none_or(|it| it.uid != record.uid || !is_older(&record.version, &it.version));
        if is_latest {
            self.decisions.insert(decision.clone(), record);
        }
        is_latest
    }

    /// Makes whatever comes next of decisions count, because versions have gone back.
    pub(super) fn forget_versions(&mut self) {
        self.decisions.retain(|_, record| !record.is_deleted);
        for record in self.decisions.values_mut() {
            record.version = OLDEST_VERSION.into();
        }
    }

    /// Something that a placement depends on has changed.
    pub(crate) fn note_change(&mut self, placement: &Identity, now: Timestamp) {
        self.progress.entry(placement.clone()).or_default().changed_at.get_or_insert(now);
    }

    /// Another writer has changed a decision of a placement. When to answer.
    pub(super) fn note_other_writer(&mut self, placement: &Identity, now: Timestamp) -> Timestamp {
        self.note_change(placement, now);
        let progress = self.progress.entry(placement.clone()).or_default();
        let is_over = |it: &Contest| now.duration_since(it.last) > CONTEST_IS_OVER;
        if progress.contest.as_ref().is_some_and(is_over) {
            progress.contest = None;
        }
        let pause = if let Some(contest) = &mut progress.contest {
            contest.last = now;
            contest.pauses.next_pause()
        } else {
            let pauses = Backoff::new(Duration::from_secs(1), SLOWEST_ANSWER, seed(placement));
            progress.contest = Some(Contest { last: now, pauses });
            Duration::ZERO
        };
        let at = later(now, pause);
        let answer_at = progress.answer_at.map_or(at, |known| known.min(at));
        progress.answer_at = Some(answer_at);
        answer_at
    }

    /// A turn of a placement begins.
    pub(crate) fn begin(&mut self, placement: &Identity, now: Timestamp) {
        let progress = self.progress.entry(placement.clone()).or_default();
        let due = progress.due.take().filter(|due| *due <= now);
        let causes = [progress.cause, progress.changed_at.take(), due];
        progress.cause = causes.into_iter().flatten().min();
        progress.answer_at = None;
    }

    /// A turn of a placement is over.
    pub(crate) fn settle(
        &mut self,
        placement: &Identity,
        revision: SpecRevision,
        (actions, outcomes): (&[Action], &[Outcome]),
        obstacle: Option<Obstacle>,
        now: Timestamp,
    ) -> Settled {
        let progress = self.progress.entry(placement.clone()).or_default();
        progress.decided = Some(revision);
        if outcomes.iter().all(Outcome::is_as_wanted) {
            (progress.retries, progress.obstacle) = (None, None);
            let cause = progress.cause.take().filter(|_| !actions.is_empty());
            let lag = cause.map(|cause| now.duration_since(cause));
            return Settled { again: progress.answer_at, lag };
        }
        // What was withdrawn or has changed meanwhile says nothing about whether it can be written.
        progress.obstacle = obstacle.or(progress.obstacle.take());
        let begin = || Backoff::new(FIRST_RETRY, LAST_RETRY, seed(placement));
        let pause = progress.retries.get_or_insert_with(begin).next_pause();
        Settled { again: Some(later(now, pause)), lag: None }
    }

    /// Notes when a placement is to be decided again because time has passed.
    pub(crate) fn note_due(&mut self, placement: &Identity, due: Option<Timestamp>) {
        self.progress.entry(placement.clone()).or_default().due = due;
    }

    /// Whether this revision of a placement has had its turn.
    pub(super) fn is_decided(&self, placement: &Identity, revision: SpecRevision) -> bool {
        self.progress.get(placement).is_some_and(|it| it.decided == Some(revision))
    }

    /// What keeps the decision of a placement from being written.
    pub(super) fn obstacle(&self, placement: &Identity) -> Option<&Obstacle> {
        self.progress.get(placement)?.obstacle.as_ref()
    }

    /// Forgets a placement that is gone.
    pub(crate) fn forget(&mut self, placement: &Identity) {
        self.progress.remove(placement);
    }
}

fn later(now: Timestamp, pause: Duration) -> Timestamp {
    let pause = SignedDuration::try_from(pause).unwrap_or_default();
    now.saturating_add(pause).unwrap_or(Timestamp::MAX)
}

/// Placements that failed together are not retried together.
fn seed(placement: &Identity) -> u64 {
    let mut hasher = DefaultHasher::new();
    placement.hash(&mut hasher);
    hasher.finish()
}
