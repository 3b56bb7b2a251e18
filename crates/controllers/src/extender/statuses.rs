//! The statuses of policies: the number of pods in each unit, and problems. A status is written if it differs, at most
//! once a second for each policy, however many pods change.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use almanac_api::kinds::Kind;
use almanac_api::status::conditions::{ConditionState, conditions};
use almanac_api::status::resource_policy::{StatusInput, condition_states, write};
use almanac_engine::{Exempt, Identity};
use almanac_shell::backoff::Backoff;
use almanac_shell::clock::Clock;
use almanac_shell::event_log::{Event, EventLog, ObjectReference};
use almanac_shell::writer::{ObjectPath, WriteError};
use futures::StreamExt as _;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::leader::Leader;
use super::policies::PolicyEntry;
use crate::cluster::{StatusSnapshot, is_older};

/// The minimum interval between two writes of statuses.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_mins(1);
/// The maximum number of concurrent status writes.
const MAX_CONCURRENT_WRITES: usize = 8;

/// Writes statuses.
pub(super) struct Statuses {
    pub(super) leader: Arc<Leader>,
    pub(super) events: EventLog,
    pub(super) clock: Clock,
    pub(super) seed: u64,
    pub(super) changed: Notify,
}

/// A status that differs from the one on the API server.
struct Due {
    policy: Identity,
    uid: Box<str>,
    version: Box<str>,
    status: Value,
    /// The worst condition that newly needs attention.
    transition: Option<ConditionState>,
}

/// The failed attempts to write a status.
pub(super) struct Failure {
    backoff: Backoff,
    again: Instant,
}

impl Statuses {
    /// Writes statuses after each change. Never ends by itself.
    pub(super) async fn run(&self, end: CancellationToken) {
        loop {
            let (due, mut retry_at) = self.due();
            let writes = futures::stream::iter(due).map(|due| self.write(due));
            let retries: Vec<Option<Instant>> =
                writes.buffer_unordered(MAX_CONCURRENT_WRITES).collect().await;
            retry_at = retries.into_iter().flatten().chain(retry_at).min();
            let retry = async {
                match retry_at {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.changed.notified() => {}
                () = retry => {}
                () = end.cancelled() => return,
            }
            tokio::select! {
                () = sleep(MIN_INTERVAL) => {}
                () = end.cancelled() => return,
            }
        }
    }

    /// The statuses that differ, and the earliest retry of statuses that are not due yet.
    fn due(&self) -> (Vec<Due>, Option<Instant>) {
        let now = self.clock.now();
        let policies: Vec<Identity> = self.leader.lock().policies.keys().cloned().collect();
        let (mut due, mut again) = (Vec::new(), None);
        for policy in &policies {
            // The lock is released between policies, because the report of one policy may be long.
            let state = self.leader.lock();
            let Some(entry) = state.policies.get(policy) else { continue };
            let retry_at = entry.failure.as_ref().map(|failure| failure.again);
            if let Some(later) = retry_at.filter(|at| *at > Instant::now()) {
                again = Some(again.map_or(later, |known: Instant| known.min(later)));
                continue;
            }
            let report = state.ledger.report(policy);
            // Once the policy is applied, its pods are counted, and this method is called again.
            if report.is_none() && state.usable(policy).is_some() {
                continue;
            }
            let exempt = Exempt::for_policy(&state.exempt, policy, None);
            let findings = &entry.findings;
            let is_surplus = !state.is_among_oldest(policy);
            let input =
                StatusInput { policy, findings, exempt, is_surplus, report: report.as_ref() };
            let condition_states = condition_states(&input);
            let counted = entry.usable.as_deref().zip(report.as_ref());
            let before = entry.recorded.conditions();
            let conditions = conditions(&before, &condition_states, entry.generation, now);
            let status = write(counted, conditions, entry.generation);
            // A status is plain data, so serialization cannot fail.
            let status = serde_json::to_value(status).unwrap_or_default();
            if entry.recorded.is(&status) {
                continue;
            }
            let mut transitions = entry.recorded.changed_conditions(&condition_states).into_iter();
            let transition = transitions.rfind(|it| it.needs_attention()).cloned();
            let (uid, version) = (entry.uid.clone(), entry.version.clone());
            due.push(Due { policy: policy.clone(), uid, version, status, transition });
        }
        (due, again)
    }

    /// Writes a status; returns when to retry, if the write failed.
    async fn write(&self, due: Due) -> Option<Instant> {
        let Due { policy, uid, version, status, transition } = due;
        let kind = Kind::ResourcePolicy;
        let collection = kind.collection(policy.namespace());
        let path = ObjectPath { collection: &collection, name: policy.name() };
        let api_version = kind.api_version();
        let api_kind = (&*api_version, kind.name());
        let result = self.leader.writer.apply_status(path, api_kind, &version, &status).await;
        let error = match result {
            Ok(response) => {
                self.note(&policy, &uid, |entry| {
                    let version = response.metadata.resource_version.unwrap_or_default();
                    entry.failure = None;
                    if !is_older(&version, &entry.version) {
                        entry.version = version.into();
                        entry.recorded = StatusSnapshot::from_status(&status);
                    }
                });
                if let Some(transition) = transition {
                    self.report(&policy, &uid, &transition);
                }
                return None;
            }
            Err(error) => error,
        };
        // If the object has changed, a watch event follows.
        let is_expected = match &error {
            WriteError::Refused(refusal) => refusal.is_conflict() || refusal.is_not_found(),
            WriteError::Fenced(_) | WriteError::Withdrawn => true,
            WriteError::Unknown(_) => false,
        };
        if !is_expected {
            tracing::warn!(%policy, %error, "failed to write the status");
        }
        self.note(&policy, &uid, |entry| {
            let failure = entry.failure.get_or_insert_with(|| {
                let backoff = Backoff::new(MIN_INTERVAL, MAX_BACKOFF, self.seed_of(&policy));
                Box::new(Failure { backoff, again: Instant::now() })
            });
            failure.again = Instant::now() + failure.backoff.next_pause();
            failure.again
        })
    }

    fn note<T>(
        &self,
        policy: &Identity,
        uid: &str,
        note: impl FnOnce(&mut PolicyEntry) -> T,
    ) -> Option<T> {
        let mut state = self.leader.lock();
        let entry = state.policies.get_mut(policy).filter(|entry| *entry.uid == *uid);
        entry.map(note)
    }

    /// The seed that spreads retries of statuses that failed together.
    fn seed_of(&self, policy: &Identity) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, policy).hash(&mut hasher);
        hasher.finish()
    }

    fn report(&self, policy: &Identity, uid: &str, transition: &ConditionState) {
        tracing::warn!(%policy, reason = transition.reason.name(), "{}", transition.message);
        let kind = Kind::ResourcePolicy;
        self.events.emit(Event {
            regarding: ObjectReference {
                api_version: kind.api_version(),
                kind: kind.name(),
                namespace: policy.namespace().to_owned(),
                name: policy.name().to_owned(),
                uid: uid.to_owned(),
            },
            is_warning: true,
            reason: transition.reason.name(),
            action: "Count",
            note: transition.message.clone(),
        });
    }
}

#[cfg(test)]
mod tests {
    use almanac_engine::Exemptions;
    use almanac_shell::budget::{WriteBudget, WriteLimits};
    use almanac_shell::event_log::EventMetrics;
    use almanac_shell::lease::Fence;
    use almanac_shell::monotonic::Monotonic;
    use almanac_shell::writer::{WriteMetrics, Writer};
    use almanac_stub::Stub;
    use jiff::Timestamp;

    use super::*;
    use crate::extender::metrics::PodWriteMetrics;

    #[tokio::test]
    async fn a_policy_has_no_new_status_before_it_is_applied() {
        let client = Stub::new().client();
        let budget = WriteBudget::new(WriteLimits::default());
        let writer = Writer::new(client.clone(), Fence::open(), budget, WriteMetrics::default());
        let (events, _) = EventLog::new(writer.clone(), "test", &EventMetrics::default());
        let (metrics, exempt) = (PodWriteMetrics::default(), Exemptions::default());
        let leader = Leader::new((client, writer), metrics, Monotonic::system(), exempt);
        let statuses = Statuses {
            leader: Arc::new(leader),
            events,
            clock: Clock::from_fn(|| Timestamp::UNIX_EPOCH),
            seed: 1,
            changed: Notify::new(),
        };
        let policy = Kind::ResourcePolicy.identity("shop", "web");
        let entry = PolicyEntry {
            created: None,
            uid: "".into(),
            version: "".into(),
            generation: None,
            usable: Some(Arc::default()),
            findings: Vec::new(),
            recorded: StatusSnapshot::from_status(&Value::Null),
            failure: None,
        };
        let changed = statuses.leader.lock().insert_policy(&policy, entry);
        assert_eq!(statuses.due().0.len(), 0);
        statuses.leader.apply_policies(&changed);
        assert_eq!(statuses.due().0.len(), 1);
    }
}
