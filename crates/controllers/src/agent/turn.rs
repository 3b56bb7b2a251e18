//! One pod's turn: decides about the pod again, writes it if it differs from the decision, and reports the outcome.

use std::sync::Arc;
use std::time::Duration;

use almanac_api::slim;
use almanac_engine::qos_levels::{Pod, QosAnnotations};
use almanac_engine::turn::{self, OpenTurn};
use almanac_engine::{Action, Identity, Outcome, Reach, Recorded};
use almanac_shell::backoff::Backoff;
use almanac_shell::event_log::EventLog;
use almanac_shell::lease::Switch;
use almanac_shell::writer::{ObjectPath, WriteError, WriteResponse, Writer};
use jiff::Timestamp;

use super::contest::LastWrite;
use super::event;
use super::pods::CREDIT;
use super::resync::Resync;
use super::state::{AgentState, Failure, PodEntry, is_rewritten};
use crate::cluster::is_older;

/// The minimum and the maximum delay before a failed write is retried.
const FIRST_RETRY: Duration = Duration::from_millis(250);
const LAST_RETRY: Duration = Duration::from_mins(1);

/// The number of attempts after which an Event reports a failure. Most failures are over after the first.
const ATTEMPTS_UNTIL_EVENT: u32 = 4;

/// Runs the turns of pods.
pub(super) struct Turns {
    pub(super) resync: Arc<Resync>,
    pub(super) writer: Writer,
    pub(super) events: EventLog,
    pub(super) switch: Switch,
    pub(super) seed: u64,
}

/// An open turn with annotations to write.
struct PodWrite {
    open: OpenTurn,
    wanted: QosAnnotations,
    uid: Box<str>,
    version: Box<str>,
}

/// The next step in the turn of a pod.
enum TurnPlan {
    /// The pod has its desired level, or that level is unknown.
    Nothing,
    /// The write must wait until this instant.
    Later(Timestamp),
    Write(Box<PodWrite>),
}

impl Turns {
    /// Runs the turn of one pod; returns when its next one is due.
    pub(super) async fn take(&self, pod: &Identity) -> Option<Timestamp> {
        if self.switch.is_stopped() {
            return None;
        }
        let pod_write = match self.plan(pod) {
            TurnPlan::Nothing => return None,
            TurnPlan::Later(at) => return Some(at),
            TurnPlan::Write(pod_write) => pod_write,
        };
        let mut result = self.write(pod, &pod_write).await;
        if let Ok(response) = &result {
            let annotations = slim::level_annotations(&response.metadata);
            if is_rewritten(&annotations, &pod_write.wanted) {
                self.note_rewritten(pod, &pod_write, &annotations);
                // A restart loses the record in this process, so another write records the level on the pod.
                result = self
                    .record_admitted_level(pod, &pod_write, response, &annotations)
                    .await
                    .or(result);
            }
        }
        self.settle(pod, *pod_write, result)
    }

    fn plan(&self, pod: &Identity) -> TurnPlan {
        let now = self.resync.clock.now();
        let mut state = self.resync.state.lock();
        let Some(policies) = state.policies_in_force() else { return TurnPlan::Nothing };
        let open = turn::open(&state.world, &policies, &Reach::only(pod.clone()), now);
        self.report_lost_response(&mut state, pod);
        let Some(entry) = state.pods.get_mut(pod) else { return TurnPlan::Nothing };
        let wanted = open.as_ref().and_then(|open| wanted(open).cloned());
        let (Some(open), Some(wanted)) = (open, wanted) else {
            (entry.due_since, entry.credit) = (None, None);
            state.take_failure(pod);
            return TurnPlan::Nothing;
        };
        // An instant from before the clock was set back is ignored.
        let credit = entry.credit.filter(|until| *until > now && *until <= now + CREDIT);
        if let Some(until) = credit {
            return TurnPlan::Later(until);
        }
        if let Some(until) = LastWrite::waits_until(entry.wrote, &wanted, now) {
            return TurnPlan::Later(until);
        }
        let (uid, version) = (entry.uid.clone(), entry.version.clone());
        TurnPlan::Write(Box::new(PodWrite { open, wanted, uid, version }))
    }

    async fn write(
        &self,
        pod: &Identity,
        pod_write: &PodWrite,
    ) -> Result<WriteResponse, WriteError> {
        let collection = format!("/api/v1/namespaces/{}/pods", pod.namespace());
        let path = ObjectPath { collection: &collection, name: pod.name() };
        let QosAnnotations { level, original, policy, applied } = &pod_write.wanted;
        let annotations = [
            (slim::QOS_LEVEL, level.as_deref()),
            (slim::ORIGINAL_QOS_LEVEL, original.as_deref()),
            (slim::QOS_POLICY, policy.as_deref()),
            (slim::QOS_APPLIED, applied.as_deref()),
        ];
        let still_wanted = || !self.switch.is_stopped() && self.is_still_wanted(pod, pod_write);
        self.writer.patch_annotations(path, &pod_write.version, &annotations, &still_wanted).await
    }

    /// Reports a write whose response was lost, if the pod shows that it succeeded.
    fn report_lost_response(&self, state: &mut AgentState, pod: &Identity) {
        let current = state.world.objects.pods.get(pod).map(Pod::annotations);
        let Some(entry) = state.pods.get_mut(pod) else { return };
        let unsure = entry.failure.as_mut().and_then(|failure| {
            failure.unsure.take_if(|(wanted, _)| Some(&*wanted) == current.as_ref())
        });
        if let Some((wanted, recorded)) = unsure {
            let now = self.resync.clock.now();
            entry.wrote = Some(LastWrite::note(entry.wrote, &wanted, now));
            let (uid, since) = (entry.uid.clone(), entry.due_since.take());
            self.report(&recorded, &uid, since);
        }
    }

    /// Records that an admission webhook replaced our level with the level in the response: the user did not set that
    /// level.
    fn note_rewritten(&self, pod: &Identity, pod_write: &PodWrite, admitted: &QosAnnotations) {
        let mut state = self.resync.state.lock();
        if let Some(entry) = state.pods.get_mut(pod).filter(|entry| entry.uid == pod_write.uid) {
            entry.admitted = Some(Box::new((pod_write.wanted.clone(), admitted.level.clone())));
        }
    }

    /// Records on the pod that the admitted level is the one that the policy has set.
    async fn record_admitted_level(
        &self,
        pod: &Identity,
        pod_write: &PodWrite,
        response: &WriteResponse,
        response_annotations: &QosAnnotations,
    ) -> Result<WriteResponse, WriteError> {
        let admitted = response_annotations.level.as_deref().unwrap_or_default();
        let collection = format!("/api/v1/namespaces/{}/pods", pod.namespace());
        let path = ObjectPath { collection: &collection, name: pod.name() };
        let version = response.metadata.resource_version.as_deref().unwrap_or(&pod_write.version);
        let annotations = [(slim::QOS_APPLIED, Some(admitted))];
        let still_wanted = || !self.switch.is_stopped();
        self.writer.patch_annotations(path, version, &annotations, &still_wanted).await
    }

    /// Whether a delayed write still matches the current decision.
    fn is_still_wanted(&self, pod: &Identity, pod_write: &PodWrite) -> bool {
        let now = self.resync.clock.now();
        let state = self.resync.state.lock();
        let Some(policies) = state.policies_in_force() else { return false };
        let is_same = state.pods.get(pod).is_some_and(|entry| entry.version == pod_write.version);
        let open = turn::open(&state.world, &policies, &Reach::only(pod.clone()), now);
        is_same && open.as_ref().and_then(wanted) == Some(&pod_write.wanted)
    }

    /// Records the outcome of a write; returns when the pod's next turn is due.
    fn settle(
        &self,
        pod: &Identity,
        pod_write: PodWrite,
        result: Result<WriteResponse, WriteError>,
    ) -> Option<Timestamp> {
        let now = self.resync.clock.now();
        let PodWrite { open, wanted, uid, .. } = pod_write;
        let mut state = self.resync.state.lock();
        let is_there = state.pods.get(pod).is_some_and(|entry| entry.uid == uid);
        let response = match result {
            Ok(response) => response,
            // Either this process no longer leads, or the next turn decides again.
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
        let (mut outcome, mut since) = (outcome_of(&response, &wanted), None);
        if is_there {
            outcome = note(&mut state, pod, &response, &wanted);
            since = self.note_success(&mut state, pod, &wanted, now);
        }
        let turn = open.close(&mut state.world, vec![outcome], now);
        drop(state);
        self.report(&turn.recorded, &uid, since);
        // The pod may have changed during the write.
        match self.plan(pod) {
            TurnPlan::Nothing => None,
            TurnPlan::Later(at) => Some(at),
            TurnPlan::Write(_) => Some(now),
        }
    }

    /// Counts the records, and emits their Events.
    fn report(&self, recorded: &[Recorded], uid: &str, since: Option<Timestamp>) {
        let lag = since.map(|since| self.resync.clock.now().duration_since(since));
        for recorded in recorded {
            if let Recorded::QosLevels(recorded) = recorded {
                self.resync.metrics.count(recorded, lag);
                let policy = recorded.begun.as_deref().or(recorded.ended.as_deref());
                let (from, to) = (recorded.from.as_deref(), recorded.to.as_deref());
                tracing::debug!(policy, from, to, "wrote the level");
                for event in event::for_change(recorded, uid) {
                    self.events.emit(event);
                }
            }
        }
    }

    /// Records that the API server has accepted a write; returns the boundary since which it was due.
    fn note_success(
        &self,
        state: &mut AgentState,
        pod: &Identity,
        wanted: &QosAnnotations,
        now: Timestamp,
    ) -> Option<Timestamp> {
        state.take_failure(pod);
        let entry = state.pods.get_mut(pod)?;
        let wrote = LastWrite::note(entry.wrote, wanted, now);
        if wrote.is_contested() {
            self.resync.metrics.contested.inc();
            tracing::warn!(
                %pod,
                "another program keeps changing the annotations of this pod"
            );
        }
        if wrote.is_contested() || wrote.is_reported_again() {
            self.events.emit(event::for_contention(pod, &entry.uid));
        }
        entry.wrote = Some(wrote);
        entry.due_since.take()
    }

    fn note_failure(
        &self,
        state: &mut AgentState,
        pod: &Identity,
        error: &WriteError,
        unsure: Option<(QosAnnotations, Vec<Recorded>)>,
    ) -> Option<Timestamp> {
        let now = self.resync.clock.now();
        let AgentState { pods, failing, .. } = state;
        let entry: &mut PodEntry = pods.get_mut(pod)?;
        let is_first = entry.failure.is_none() && *failing == 0;
        *failing += usize::from(entry.failure.is_none());
        // Other clients change pods as well, above all the kubelet. The next turn uses the changed pod.
        let is_race = matches!(error, WriteError::Refused(refusal) if refusal.is_conflict());
        if !is_race {
            self.resync.metrics.failed.inc();
            if is_first {
                tracing::warn!(%pod, %error, "failed to write the level of a pod, and will retry");
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
        if failure.attempts == ATTEMPTS_UNTIL_EVENT {
            self.events.emit(event::for_failure(pod, &entry.uid, &error.to_string()));
        }
        Some(failure.again)
    }
}

/// Updates the world with the pod in the response, before the watch delivers the pod. An admission webhook may have
/// changed the written annotations.
fn note(
    state: &mut AgentState,
    pod: &Identity,
    response: &WriteResponse,
    wanted: &QosAnnotations,
) -> Outcome {
    let version = response.metadata.resource_version.as_deref().unwrap_or_default();
    if let Some(entry) = state.pods.get_mut(pod).filter(|it| !is_older(version, &it.version)) {
        entry.version = version.into();
        let annotations = entry.read(slim::level_annotations(&response.metadata));
        if let Some(stored) = state.world.objects.pods.get_mut(pod) {
            stored.annotate(&annotations);
        }
    }
    outcome_of(response, wanted)
}

/// The annotations that a turn writes; `None` if it writes none.
fn wanted(open: &OpenTurn) -> Option<&QosAnnotations> {
    open.actions().iter().find_map(|action| match action {
        Action::Annotate { annotations, .. } => Some(&**annotations),
        Action::Publish { .. }
        | Action::SetReplicas { .. }
        | Action::SetBounds { .. }
        | Action::WriteDecision { .. }
        | Action::RemoveDecision { .. }
        | Action::SchedulePods { .. } => None,
    })
}

/// The outcome of a write, by whether the pod has the sent annotations.
fn outcome_of(response: &WriteResponse, wanted: &QosAnnotations) -> Outcome {
    if slim::level_annotations(&response.metadata) == *wanted {
        Outcome::Done
    } else {
        Outcome::Refused("the annotations were changed at admission".into())
    }
}
