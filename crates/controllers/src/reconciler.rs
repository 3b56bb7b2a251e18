//! One turn: fetches the target, lets the engine open the turn, writes to the API server, lets the engine close the
//! turn, and reports the outcome.
//!
//! A turn is the same for every family. Each family reports in its own way, and has its additions in `turn_hooks`. A
//! costly decision is made without the lock, in `costly`.

mod costly;
mod lanes;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use almanac_api::status::TargetProblem;
use almanac_engine::turn::{self, OpenTurn, Turn};
use almanac_engine::{
    Action, Identity, Outcome, PolicyName, Reach, Recorded, TargetReference, Unreachable, World,
};
use almanac_shell::backoff::Backoff;
use almanac_shell::clock::Clock;
use almanac_shell::event_log::EventLog;
use almanac_shell::lease::{Fenced, StopState, Switch};
use almanac_shell::writer::StillWanted;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{AcquireError, SemaphorePermit};

pub(crate) use self::costly::CostlyDecisions;
use crate::cluster::{Cluster, ClusterState, PolicyEntry, SpecRevision};
use crate::families::{Families, Hooks, ReportSubject};
use crate::off_the_runtime::off_the_runtime;
use crate::targets::{ObservedTarget, TargetError, Targets};
use crate::upstream::Upstreams;
use crate::work_queue::WorkQueue;

/// A blocked target that is not watched is checked again after about this long.
const RECHECK_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// The first delay before a target that could not be read for now is read again. The delay then grows.
const FIRST_READ_RETRY: Duration = Duration::from_secs(1);
const MAX_READ_RETRY: Duration = Duration::from_mins(1);

/// Reconciles the policies, one turn at a time.
pub(crate) struct Reconciler {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) targets: Arc<Targets>,
    pub(crate) hooks: Hooks,
    pub(crate) turns: Arc<WorkQueue>,
    pub(crate) statuses: Arc<WorkQueue>,
    pub(crate) families: Families,
    pub(crate) events: EventLog,
    pub(crate) clock: Clock,
    pub(crate) switch: Switch,
    pub(crate) upstreams: Upstreams,
    pub(crate) costly_decisions: CostlyDecisions,
}

/// The object of a turn, as it was when the turn started.
struct TurnSubject {
    uid: Box<str>,
    revision: SpecRevision,
    target: Option<TargetReference>,
    /// Whether the last attempt to change the target was refused.
    is_not_writable: bool,
    /// Whether the target did not exist when it was last read.
    was_missing: bool,
}

/// The observation of the target in a turn.
enum TargetObservation {
    /// Nothing: any earlier problem may persist.
    None,
    /// The target could not be read for now, for this reason.
    Unreadable(Box<str>),
    /// The target can be read.
    Readable,
    /// The target was changed, or can now be changed.
    Written,
    /// The target cannot be read.
    Problem(TargetProblem),
    /// The target can be read, but changing it is forbidden.
    NotWritable(TargetProblem),
}

/// The outcomes of the actions of a turn.
struct ActionOutcomes {
    outcomes: Vec<Outcome>,
    observation: TargetObservation,
}

impl Reconciler {
    /// Runs the turn of one policy; returns when its next one is due.
    pub(crate) async fn take_turn(&self, policy: &PolicyName) -> Option<Timestamp> {
        // Waiting for the permit comes first, so that the decision uses the policy as it is after the wait.
        let permit = self.permit(policy).await.ok()?;
        let about = self.about(policy)?;
        let hooks = self.hooks.for_family(policy.family);
        if self.is_left_alone(policy) {
            // Once the family is no longer left alone, every policy gets a turn.
            hooks.skipped(&mut self.cluster.lock(), &policy.identity);
            self.statuses.wake(policy);
            return None;
        }
        let stop_state = self.switch.stop_state();
        let skipped = self.skip_stopped(policy, &about, stop_state);
        if stop_state == StopState::Stopped
            && let Some(turn) = skipped
        {
            hooks.skipped(&mut self.cluster.lock(), &policy.identity);
            // Without an upcoming turn, the policy would miss the resumption, and the problem with its
            // target would not be checked again.
            let recheck_at = || self.clock.now().checked_add(RECHECK_INTERVAL).ok();
            return turn.wake_at.or_else(recheck_at);
        }
        let now = self.clock.now();
        let waits_until =
            hooks.waits_until(&self.cluster.lock(), &policy.identity, about.revision, now);
        if waits_until.is_some() {
            self.statuses.wake(policy);
            return waits_until;
        }
        let unknown = match &about.target {
            Some(target) => self.targets.fetch(target, about.was_missing).await.err(),
            None => None,
        };
        let Some((open, over)) = self.open(policy, &about, unknown.as_ref(), permit) else {
            // There is no decision to apply, but the status may differ. Or the policy was changed during the turn,
            // which gives it another turn.
            self.statuses.wake(policy);
            return None;
        };
        let opened_at = open.at();
        // A process that no longer leads has nothing to settle either.
        let still_wanted = || {
            stop_state != StopState::Stopped
                && self.switch.stop_state() == stop_state
                && !self.is_left_alone(policy)
                && self.is_still_wanted(policy, &about, open.deadline())
        };
        let unreached = unknown.as_ref();
        let applied = self.apply(policy, &about, &open, &over, unreached, &still_wanted).await;
        let wake_at = self.close(policy, &about, (open, over), applied.ok()?);
        self.statuses.wake(policy);
        let is_not_writable = self.about(policy).is_some_and(|about| about.is_not_writable);
        let target = about.target.as_ref().map(|reference| reference.target.identity());
        let recheck_at = match target {
            Some(target) if is_not_writable || unknown.is_some() => {
                self.recheck_at(policy, target, unknown.as_ref(), opened_at)
            }
            // No watch reports changes of this target.
            Some(target) if !self.targets.is_followed(target) => {
                self.cluster.lock().world.rereads_target(policy, opened_at)
            }
            Some(_) => None,
            None => {
                let interval = hooks.resync_interval();
                interval.and_then(|after| spread_over(&policy.identity, after, opened_at))
            }
        };
        wake_at.into_iter().chain(recheck_at).min()
    }

    /// A turn that records firings that fall due, or fell due, while everything is stopped; `None` if nothing was ever
    /// stopped, or if the policy changes nothing by itself.
    fn skip_stopped(
        &self,
        policy: &PolicyName,
        about: &TurnSubject,
        stop_state: StopState,
    ) -> Option<Turn> {
        let now = self.clock.now();
        let until = stop_state.stopped_until(now)?;
        let turn = {
            let mut state = self.cluster.lock();
            let turn = turn::skip_stopped(&mut state.world, policy, until, now)?;
            // The next turn reports everything else, once.
            if turn.recorded.is_empty() && stop_state != StopState::Stopped {
                return Some(turn);
            }
            if let Some(entry) = state.policies.get_mut(policy) {
                entry.is_written = false;
            }
            turn
        };
        self.report(policy, about, &turn, None);
        self.statuses.wake(policy);
        Some(turn)
    }

    /// Whether another controller reconciles the policies of its family.
    fn is_left_alone(&self, policy: &PolicyName) -> bool {
        self.upstreams.running(policy.family).is_some()
    }

    fn report(
        &self,
        policy: &PolicyName,
        about: &TurnSubject,
        turn: &Turn,
        changed_by: Option<Arc<str>>,
    ) {
        let target = about.target.as_ref().map(|it| it.target.identity().clone());
        let (policy_name, uid) = (policy.clone(), about.uid.clone());
        let subject = ReportSubject { policy: policy_name, uid, target, changed_by };
        if let Some(family) = self.families.get(policy.family) {
            family.report(&subject, &turn.recorded, &self.events);
        }
    }

    fn about(&self, policy: &PolicyName) -> Option<TurnSubject> {
        let state = self.cluster.lock();
        let entry = state.policies.get(policy)?;
        let target = state.world.target_of(policy);
        Some(TurnSubject {
            uid: entry.uid.clone(),
            revision: entry.revision,
            target,
            is_not_writable: entry.is_not_writable,
            was_missing: matches!(entry.problem.as_deref(), Some(TargetProblem::NotFound)),
        })
    }

    /// The permit for a costly decision; an error if no more costly decisions are made.
    async fn permit(
        &self,
        policy: &PolicyName,
    ) -> Result<Option<SemaphorePermit<'_>>, AcquireError> {
        let is_costly = {
            let state = self.cluster.lock();
            self.hooks.for_family(policy.family).is_ready(&state) && state.world.is_costly(policy)
        };
        Ok(if is_costly { Some(self.costly_decisions.wait().await?) } else { None })
    }

    /// Opens the turn, unless the object was replaced since the turn started. Also returns the state of the target that
    /// the decision is based on.
    fn open(
        &self,
        policy: &PolicyName,
        about: &TurnSubject,
        unknown: Option<&TargetError>,
        permit: Option<SemaphorePermit<'_>>,
    ) -> Option<(OpenTurn, ObservedTarget)> {
        let hooks = self.hooks.for_family(policy.family);
        let target = about.target.as_ref().map(|reference| reference.target.identity());
        let reach = target.zip(unknown).and_then(|(target, unknown)| reach(target, unknown));
        let reach = reach.unwrap_or_default();
        let open = |world: &World| turn::open(world, policy, &reach, self.clock.now());
        let costly_turn = permit
            .and_then(|_permit| off_the_runtime(|| costly::decide(&self.cluster, policy, open)));
        let mut state = self.cluster.lock();
        state
            .policies
            .get(policy)
            .filter(|entry| about.is(entry) && entry.revision == about.revision)?;
        // The decision was not costly before the turn opened: the next turn gets a permit.
        if costly_turn.is_none() && hooks.is_ready(&state) && state.world.is_costly(policy) {
            self.turns.wake(policy);
            return None;
        }
        let open = || costly_turn.unwrap_or_else(|| open(&state.world));
        let Some(open) = hooks.is_ready(&state).then(open).flatten() else {
            hooks.skipped(&mut state, &policy.identity);
            return None;
        };
        hooks.before(&mut state, &policy.identity, open.at());
        let over =
            target.map(|target| ObservedTarget::from_state(target, &state)).unwrap_or_default();
        Some((open, over))
    }

    /// Applies the decision; also returns the observation of the target.
    async fn apply(
        &self,
        policy: &PolicyName,
        about: &TurnSubject,
        open: &OpenTurn,
        over: &ObservedTarget,
        unknown: Option<&TargetError>,
        still_wanted: StillWanted<'_>,
    ) -> Result<ActionOutcomes, Fenced> {
        let hooks = self.hooks.for_family(policy.family);
        if let Some(outcomes) = hooks.apply(policy, &about.uid, open.actions(), still_wanted) {
            return Ok(ActionOutcomes {
                outcomes: outcomes.await?,
                observation: TargetObservation::None,
            });
        }
        let mut observation = match unknown {
            Some(TargetError::Problem(problem)) => TargetObservation::Problem(problem.clone()),
            Some(TargetError::Transient(why)) => TargetObservation::Unreadable(Box::from(&**why)),
            None => TargetObservation::Readable,
        };
        if let Some(reference) = about.target.as_ref().filter(|_| about.is_not_writable)
            && unknown.is_none()
            && open.actions().is_empty()
            && self.targets.may_be_changed(reference).await? == Some(true)
        {
            observation = TargetObservation::Written;
        }
        let mut outcomes = Vec::with_capacity(open.actions().len());
        for action in open.actions() {
            let (Some(reference), false) = (&about.target, is_evaluated_at_scrape(action)) else {
                outcomes.push(Outcome::Done);
                continue;
            };
            let applied = self.targets.apply(reference, action, over, still_wanted).await?;
            observation = match applied.problem {
                Some(problem @ TargetProblem::Forbidden(_)) => {
                    TargetObservation::NotWritable(problem)
                }
                Some(problem) => TargetObservation::Problem(problem),
                None if applied.outcome == Outcome::Done => TargetObservation::Written,
                None => TargetObservation::None,
            };
            outcomes.push(applied.outcome);
        }
        Ok(ActionOutcomes { outcomes, observation })
    }

    /// Whether a delayed write is still due: the spec is the same as when the turn started, the deadline has not
    /// passed, and nothing has become exempt.
    fn is_still_wanted(
        &self,
        policy: &PolicyName,
        about: &TurnSubject,
        deadline: Option<Timestamp>,
    ) -> bool {
        let state = self.cluster.lock();
        let entry = state.policies.get(policy);
        entry.is_some_and(|entry| about.is(entry) && entry.revision == about.revision)
            && state.world.why_exempt(policy).is_none()
            && deadline.is_none_or(|deadline| self.clock.now() <= deadline)
    }

    /// Closes the turn, unless the object was replaced during the turn, and reports the outcome.
    fn close(
        &self,
        policy: &PolicyName,
        about: &TurnSubject,
        (open, over): (OpenTurn, ObservedTarget),
        applied: ActionOutcomes,
    ) -> Option<Timestamp> {
        let now = self.clock.now();
        let ActionOutcomes { outcomes, observation } = applied;
        let target = about.target.as_ref().map(|it| it.target.identity().clone());
        let (turn, changed_by, after, replaced) = {
            let mut state = self.cluster.lock();
            let ClusterState { world, policies, targets, .. } = &mut *state;
            let entry = policies.get_mut(policy).filter(|entry| about.is(entry))?;
            if entry.revision == about.revision {
                entry.note(observation);
            }
            entry.is_written = false;
            let mut turn = open.close(world, outcomes, now);
            // A write of this turn replaces the changes of other field managers, but these are still reported.
            let mut foreign = over.foreign;
            if let Some(target) = &target {
                foreign.splice(0..0, targets.foreign(target).iter().cloned());
            }
            let own = policy.to_string();
            foreign.retain(|it| *it.by != *own);
            turn.recorded.extend(world.detect_undone(policy, &foreign, now));
            let undone = turn.recorded.iter().find_map(Recorded::undone);
            let by = foreign.iter().find(|it| Some(it.field) == undone);
            let changed_by = by.map(|it| Arc::clone(&it.by));
            let hooks = self.hooks.for_family(policy.family);
            let after = hooks.after(&mut state, policy, about.revision, &turn, now);
            let replaced = state.note_replaced(policy, &turn.done, now);
            (turn, changed_by, after, replaced)
        };
        for rival in &replaced {
            self.turns.wake(rival);
        }
        for (other, at) in &after.others {
            self.turns.wake_at(other, *at);
        }
        self.report(policy, about, &turn, changed_by);
        turn.wake_at.into_iter().chain(after.again).min()
    }

    /// The instant at which a blocked target is checked again. The watch reports a missing target of a watched kind. A
    /// problem that may pass by itself is retried soon, with growing delays.
    fn recheck_at(
        &self,
        policy: &PolicyName,
        target: &Identity,
        unknown: Option<&TargetError>,
        at: Timestamp,
    ) -> Option<Timestamp> {
        if let Some(TargetError::Transient(_)) = unknown {
            let mut state = self.cluster.lock();
            let delay = state.policies.get_mut(policy)?.delay_before_reading(target);
            return at.saturating_add(delay).ok();
        }
        if unknown.is_some_and(TargetError::is_not_found) && self.targets.is_followed(target) {
            return None;
        }
        spread_over(target, RECHECK_INTERVAL, at)
    }
}

/// An instant this long after another instant, spread by name, so that thousands of objects are not checked together.
fn spread_over(object: &Identity, after: SignedDuration, at: Timestamp) -> Option<Timestamp> {
    let [spread, ..] = hash_of(object).to_le_bytes();
    at.saturating_add(after + SignedDuration::from_millis(i64::from(spread) * 100)).ok()
}

fn hash_of(object: &Identity) -> u64 {
    let mut hasher = DefaultHasher::new();
    (object.namespace(), object.name()).hash(&mut hasher);
    hasher.finish()
}

impl TurnSubject {
    /// Whether this is still the same object, and not another object of that name.
    fn is(&self, entry: &PolicyEntry) -> bool {
        entry.uid == self.uid
    }
}

impl PolicyEntry {
    /// The delay before a target that could not be read for now is read again. Targets that failed together are not
    /// read together.
    fn delay_before_reading(&mut self, target: &Identity) -> SignedDuration {
        let new_backoff = || Backoff::new(FIRST_READ_RETRY, MAX_READ_RETRY, hash_of(target));
        let failures = self.read_failures.get_or_insert_with(|| Box::new(new_backoff()));
        SignedDuration::try_from(failures.next_pause()).unwrap_or(RECHECK_INTERVAL)
    }

    fn note(&mut self, observation: TargetObservation) {
        if !matches!(observation, TargetObservation::None | TargetObservation::Unreadable(_)) {
            self.read_failures = None;
        }
        if !matches!(observation, TargetObservation::None) {
            self.unreadable = None;
        }
        match observation {
            TargetObservation::None => {}
            TargetObservation::Unreadable(why) => self.unreadable = Some(why),
            // A target that can be read may still not be writable.
            TargetObservation::Readable if self.is_not_writable => {}
            TargetObservation::Readable | TargetObservation::Written => {
                self.note_problem(None, false);
            }
            TargetObservation::Problem(problem) => self.note_problem(Some(problem), false),
            TargetObservation::NotWritable(problem) => self.note_problem(Some(problem), true),
        }
    }
}

/// The target as unavailable to a turn. A missing target is not unavailable: the world shows that it does not exist.
fn reach(target: &Identity, unknown: &TargetError) -> Option<Reach> {
    let why = match unknown {
        TargetError::Problem(TargetProblem::NotFound) => return None,
        TargetError::Problem(problem) => Unreachable::Forbidden(Arc::from(problem.message(target))),
        TargetError::Transient(why) => Unreachable::Unknown(Arc::from(why.as_str())),
    };
    Some(Reach::without(target.clone(), why))
}

/// A published value is not a write: it is evaluated at the scrape.
fn is_evaluated_at_scrape(action: &Action) -> bool {
    match action {
        Action::Publish { .. } => true,
        Action::SetReplicas { .. }
        | Action::SetBounds { .. }
        | Action::Annotate { .. }
        | Action::WriteDecision { .. }
        | Action::RemoveDecision { .. }
        | Action::SchedulePods { .. } => false,
    }
}

#[cfg(test)]
mod tests;
