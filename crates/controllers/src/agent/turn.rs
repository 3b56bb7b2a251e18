//! One pod's turn: decides about it again, writes it if it is not as it should be, and reports what has happened.

use std::sync::Arc;
use std::time::Duration;

use almanac_api::slim;
use almanac_engine::qos_levels::{Pod, QosAnnotations};
use almanac_engine::turn::{self, OpenTurn};
use almanac_engine::{Action, Identity, Outcome, Reach, Recorded};
use almanac_shell::backoff::Backoff;
use almanac_shell::event_log::EventLog;
use almanac_shell::lease::Switch;
use almanac_shell::writer::{ObjectPath, WriteError, Writer, Written};
use jiff::Timestamp;

use super::contest::LastWrite;
use super::event;
use super::known::{Failure, KnownState, PodEntry, is_rewritten};
use super::pods::CREDIT;
use super::survey::Surveyed;
use crate::cluster::is_older;

/// How soon a failed write is retried, and how late at most.
const FIRST_RETRY: Duration = Duration::from_millis(250);
const LAST_RETRY: Duration = Duration::from_mins(1);

/// A failure is reported in an Event after this number of attempts. Most are over after the first.
const ATTEMPTS_UNTIL_TOLD: u32 = 4;

/// Takes the turns of pods.
pub(super) struct Turns {
    pub(super) surveyed: Arc<Surveyed>,
    pub(super) writer: Writer,
    pub(super) events: EventLog,
    pub(super) switch: Switch,
    pub(super) seed: u64,
}

/// A turn that has to write.
struct Opened {
    open: OpenTurn,
    wanted: QosAnnotations,
    uid: Box<str>,
    version: Box<str>,
}

/// The result of a look at a pod.
enum Look {
    /// It is as it should be, or its desired state is unknown.
    Nothing,
    /// It is not yet to be written.
    Later(Timestamp),
    Write(Box<Opened>),
}

impl Turns {
    /// Runs the turn of one pod; returns when its next one is due.
    pub(super) async fn take(&self, pod: &Identity) -> Option<Timestamp> {
        if self.switch.is_stopped() {
            return None;
        }
        let opened = match self.look(pod) {
            Look::Nothing => return None,
            Look::Later(at) => return Some(at),
            Look::Write(opened) => opened,
        };
        let mut written = self.write(pod, &opened).await;
        if let Ok(answer) = &written {
            let found = slim::level_annotations(&answer.metadata);
            if is_rewritten(&found, &opened.wanted) {
                self.note_rewritten(pod, &opened, &found);
                // What is known here is lost with this process, so the pod says it as well, if that succeeds.
                written = self.own_up(pod, &opened, answer, &found).await.or(written);
            }
        }
        self.settle(pod, *opened, written)
    }

    fn look(&self, pod: &Identity) -> Look {
        let now = self.surveyed.clock.now();
        let mut state = self.surveyed.known.lock();
        let Some(policies) = state.policies_in_force() else { return Look::Nothing };
        let open = turn::open(&state.world, &policies, &Reach::only(pod.clone()), now);
        self.tell_of_lost_answer(&mut state, pod);
        let Some(entry) = state.pods.get_mut(pod) else { return Look::Nothing };
        let wanted = open.as_ref().and_then(|open| wanted(open).cloned());
        let (Some(open), Some(wanted)) = (open, wanted) else {
            (entry.due_since, entry.credit) = (None, None);
            state.take_failure(pod);
            return Look::Nothing;
        };
        // An instant from before the clock was set back is not waited for.
        let credit = entry.credit.filter(|until| *until > now && *until <= now + CREDIT);
        if let Some(until) = credit {
            return Look::Later(until);
        }
        if let Some(until) = LastWrite::waits_until(entry.wrote, &wanted, now) {
            return Look::Later(until);
        }
        let (uid, version) = (entry.uid.clone(), entry.version.clone());
        Look::Write(Box::new(Opened { open, wanted, uid, version }))
    }

    async fn write(&self, pod: &Identity, opened: &Opened) -> Result<Written, WriteError> {
        let collection = format!("/api/v1/namespaces/{}/pods", pod.namespace());
        let place = ObjectPath { collection: &collection, name: pod.name() };
        let QosAnnotations { level, original, policy, applied } = &opened.wanted;
        let annotations = [
            (slim::QOS_LEVEL, level.as_deref()),
            (slim::ORIGINAL_QOS_LEVEL, original.as_deref()),
            (slim::QOS_POLICY, policy.as_deref()),
            (slim::QOS_APPLIED, applied.as_deref()),
        ];
        let still_wanted = || !self.switch.is_stopped() && self.is_still_wanted(pod, opened);
        self.writer.patch_annotations(place, &opened.version, &annotations, &still_wanted).await
    }

    /// The write that has seemed to fail has succeeded, if that is how the pod is now.
    fn tell_of_lost_answer(&self, state: &mut KnownState, pod: &Identity) {
        let found = state.world.objects.pods.get(pod).map(Pod::annotations);
        let Some(entry) = state.pods.get_mut(pod) else { return };
        let unsure = entry.failure.as_mut().and_then(|failure| {
            failure.unsure.take_if(|(wanted, _)| Some(&*wanted) == found.as_ref())
        });
        if let Some((wanted, recorded)) = unsure {
            let now = self.surveyed.clock.now();
            entry.wrote = Some(LastWrite::note(entry.wrote, &wanted, now));
            let (uid, since) = (entry.uid.clone(), entry.due_since.take());
            self.report(&recorded, &uid, since);
        }
    }

    /// Notes that the level in the answer is what a webhook has made of ours, and no word of the user.
    fn note_rewritten(&self, pod: &Identity, opened: &Opened, found: &QosAnnotations) {
        let mut state = self.surveyed.known.lock();
        if let Some(entry) = state.pods.get_mut(pod).filter(|entry| entry.uid == opened.uid) {
            entry.admitted = Some(Box::new((opened.wanted.clone(), found.level.clone())));
        }
    }

    /// Says that the level which was admitted is the one that the policy has set.
    async fn own_up(
        &self,
        pod: &Identity,
        opened: &Opened,
        answer: &Written,
        found: &QosAnnotations,
    ) -> Result<Written, WriteError> {
        let admitted = found.level.as_deref().unwrap_or_default();
        let collection = format!("/api/v1/namespaces/{}/pods", pod.namespace());
        let place = ObjectPath { collection: &collection, name: pod.name() };
        let version = answer.metadata.resource_version.as_deref().unwrap_or(&opened.version);
        let annotations = [(slim::QOS_APPLIED, Some(admitted))];
        let still_wanted = || !self.switch.is_stopped();
        self.writer.patch_annotations(place, version, &annotations, &still_wanted).await
    }

    /// Whether a write that has waited is still what would be decided now.
    fn is_still_wanted(&self, pod: &Identity, opened: &Opened) -> bool {
        let now = self.surveyed.clock.now();
        let state = self.surveyed.known.lock();
        let Some(policies) = state.policies_in_force() else { return false };
        let is_same = state.pods.get(pod).is_some_and(|entry| entry.version == opened.version);
        let open = turn::open(&state.world, &policies, &Reach::only(pod.clone()), now);
        is_same && open.as_ref().and_then(wanted) == Some(&opened.wanted)
    }

    /// Records the outcome of a write; returns when the pod's next turn is due.
    fn settle(
        &self,
        pod: &Identity,
        opened: Opened,
        written: Result<Written, WriteError>,
    ) -> Option<Timestamp> {
        let now = self.surveyed.clock.now();
        let Opened { open, wanted, uid, .. } = opened;
        let mut state = self.surveyed.known.lock();
        let is_there = state.pods.get(pod).is_some_and(|entry| entry.uid == uid);
        let written = match written {
            Ok(written) => written,
            // This process no longer leads, or the next turn decides again.
            Err(WriteError::Fenced(_)) => return None,
            Err(WriteError::Withdrawn) => return Some(now),
            Err(_) if !is_there => return None,
            Err(WriteError::Refused(refusal))
                if refusal.is_not_found() && !refusal.is_admission_denied() =>
            {
                return None;
            }
            Err(error) => {
                let unsure = matches!(error, WriteError::Unknown(_)).then(|| {
                    (wanted, open.close(&mut state.world, vec![Outcome::Done], now).recorded)
                });
                return self.note_failure(&mut state, pod, &error, unsure);
            }
        };
        let (mut outcome, mut since) = (outcome_of(&written, &wanted), None);
        if is_there {
            outcome = note(&mut state, pod, &written, &wanted);
            since = self.note_success(&mut state, pod, &wanted, now);
        }
        let turn = open.close(&mut state.world, vec![outcome], now);
        drop(state);
        self.report(&turn.recorded, &uid, since);
        // Something may have changed while it was written.
        match self.look(pod) {
            Look::Nothing => None,
            Look::Later(at) => Some(at),
            Look::Write(_) => Some(now),
        }
    }

    /// Counts what has happened, and writes Events about it.
    fn report(&self, recorded: &[Recorded], uid: &str, since: Option<Timestamp>) {
        let lag = since.map(|since| self.surveyed.clock.now().duration_since(since));
        for recorded in recorded {
            if let Recorded::QosLevels(recorded) = recorded {
                self.surveyed.metrics.count(recorded, lag);
                let policy = recorded.begun.as_deref().or(recorded.ended.as_deref());
                let (from, to) = (recorded.from.as_deref(), recorded.to.as_deref());
                tracing::debug!(policy, from, to, "wrote the level");
                for event in event::of_change(recorded, uid) {
                    self.events.emit(event);
                }
            }
        }
    }

    /// Notes that the API server has accepted a write; returns the boundary since which it was due.
    fn note_success(
        &self,
        state: &mut KnownState,
        pod: &Identity,
        wanted: &QosAnnotations,
        now: Timestamp,
    ) -> Option<Timestamp> {
        state.take_failure(pod);
        let entry = state.pods.get_mut(pod)?;
        let wrote = LastWrite::note(entry.wrote, wanted, now);
        if wrote.is_contested() {
            self.surveyed.metrics.contested.inc();
            tracing::warn!(
                %pod,
                "another field manager keeps changing the annotations of this pod"
            );
        }
        if wrote.is_contested() || wrote.is_told_again() {
            self.events.emit(event::of_contest(pod, &entry.uid));
        }
        entry.wrote = Some(wrote);
        entry.due_since.take()
    }

    fn note_failure(
        &self,
        state: &mut KnownState,
        pod: &Identity,
        error: &WriteError,
        unsure: Option<(QosAnnotations, Vec<Recorded>)>,
    ) -> Option<Timestamp> {
        let now = self.surveyed.clock.now();
        let KnownState { pods, failing, .. } = state;
        let entry: &mut PodEntry = pods.get_mut(pod)?;
        let is_first = entry.failure.is_none() && *failing == 0;
        *failing += usize::from(entry.failure.is_none());
        // Others change pods as well, above all the kubelet. The next turn is based on what they have written.
        let is_race = matches!(error, WriteError::Refused(refusal) if refusal.is_conflict());
        if !is_race {
            self.surveyed.metrics.failed.inc();
            if is_first {
                tracing::warn!(%pod, %error, "failed to write the level of a pod; it is retried");
            }
        }
        let seed = self.seed ^ u64::from(*entry.uid.as_bytes().last().unwrap_or(&0));
        let failure = entry.failure.get_or_insert_with(|| {
            let backoff = Backoff::new(FIRST_RETRY, LAST_RETRY, seed);
            Box::new(Failure { attempts: 0, backoff, again: now, unsure: None })
        });
        failure.attempts += 1;
        failure.unsure = unsure.or(failure.unsure.take());
        failure.again = now.saturating_add(failure.backoff.next_pause()).unwrap_or(now);
        if failure.attempts == ATTEMPTS_UNTIL_TOLD {
            self.events.emit(event::of_failure(pod, &entry.uid, &error.to_string()));
        }
        Some(failure.again)
    }
}

/// Notes in the world what was written, before the watch delivers it: as the API server has it, which an
/// admission webhook may have changed.
fn note(
    state: &mut KnownState,
    pod: &Identity,
    written: &Written,
    wanted: &QosAnnotations,
) -> Outcome {
    let version = written.metadata.resource_version.as_deref().unwrap_or_default();
    if let Some(entry) = state.pods.get_mut(pod).filter(|it| !is_older(version, &it.version)) {
        entry.version = version.into();
        let read = entry.read(slim::level_annotations(&written.metadata));
        if let Some(known) = state.world.objects.pods.get_mut(pod) {
            known.annotate(&read);
        }
    }
    outcome_of(written, wanted)
}

/// The annotations that a turn writes, if any.
fn wanted(open: &OpenTurn) -> Option<&QosAnnotations> {
    open.actions().iter().find_map(|action| match action {
        Action::Annotate { annotations, .. } => Some(&**annotations),
        Action::Publish { .. }
        | Action::SetReplicas { .. }
        | Action::SetBounds { .. }
        | Action::WriteDecision { .. }
        | Action::RemoveDecision { .. }
        | Action::Pour { .. } => None,
    })
}

/// Whether the pod has what was sent.
fn outcome_of(written: &Written, wanted: &QosAnnotations) -> Outcome {
    if slim::level_annotations(&written.metadata) == *wanted {
        Outcome::Done
    } else {
        Outcome::Refused("something changed the annotations when they were admitted".into())
    }
}
