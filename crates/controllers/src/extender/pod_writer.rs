//! Writes that follow from the ledger: deletion costs, removal of stale binding annotations, requeue annotations of
//! pending pods, removal of nominations for full units, and statuses of policies. No request waits for them.
//!
//! In the turn of a pod, the ledger is queried again, so that the write fits the current state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use almanac_api::slim::{BOUND_POLICY, BOUND_UNIT, DELETION_COST, DELETION_COST_OWNER};
use almanac_engine::units::{DeletionCost, Elapsed};
use almanac_engine::{Exemption, Identity};
use almanac_shell::clock::Clock;
use almanac_shell::endpoints::Heartbeat;
use almanac_shell::lease::Switch;
use almanac_shell::writer::{ObjectPath, WriteError};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::leader::Leader;
use super::statuses::Statuses;
use crate::work_queue::WorkQueue;

/// The annotation that makes the scheduler of a pending pod try it again.
const SCHEDULABLE_AT: &str = "almanac.dev/schedulable-at";

/// The maximum number of concurrent turns of pods.
const MAX_CONCURRENT_TURNS: usize = 16;

/// The time within which changes are processed together.
const BATCH_INTERVAL: Duration = Duration::from_millis(50);

/// The delay of a retry after a failed write, and the wait for a version that is still unknown.
const RETRY: SignedDuration = SignedDuration::from_secs(1);

/// The maximum delay for a write that is refused repeatedly, as by an admission policy.
const MAX_RETRY_DELAY: SignedDuration = SignedDuration::from_secs(60);

/// The maximum delay for a refused removal of binding annotations: nothing depends on the removal, and all pods of a
/// policy need it at the same time.
const MAX_RETRY_DELAY_OF_BINDING_ANNOTATIONS: SignedDuration = SignedDuration::from_hours(1);

/// The parts of a pod that are written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Write {
    Nomination,
    Annotations,
    /// Removes the binding annotations.
    BindingAnnotations,
}

/// A new deletion cost; `None` to remove it.
type NewCost = Option<i32>;

/// The changes of a pod's annotations.
struct AnnotationChange {
    /// The version of the pod.
    version: u64,
    /// The new deletion cost, if it changes.
    cost: Option<NewCost>,
    /// Whether the binding annotations of the pod are stale.
    is_stale: bool,
    /// Whether the scheduler should try the pod again.
    is_woken: bool,
}

/// The end and the length of the delay of each refused write.
pub(super) type RefusedWrites = BTreeMap<(Identity, Write), (Timestamp, SignedDuration)>;

/// Writes to pods.
pub(super) struct PodWriter {
    pub(super) leader: Arc<Leader>,
    pub(super) pods: WorkQueue<Identity>,
    pub(super) statuses: Arc<Statuses>,
    pub(super) clock: Clock,
    pub(super) switch: Switch,
    /// The time of the last warning about a failure.
    pub(super) warned: Mutex<Option<Timestamp>>,
    pub(super) refused: Mutex<RefusedWrites>,
}

impl PodWriter {
    /// Finds the due writes after each change. Never ends by itself.
    pub(super) async fn run(&self, end: CancellationToken) {
        let mut due: Option<Elapsed> = None;
        loop {
            let now = self.leader.elapsed();
            // Nominations that were checked before may be stale now.
            if due.is_some_and(|due| due <= now) {
                self.leader.notify_change();
            }
            let (pods, next, has_more) = {
                let mut state = self.leader.lock();
                let mut pods: BTreeSet<Identity> =
                    state.ledger.cost_changes().into_iter().map(|change| change.pod).collect();
                pods.extend(state.stale_binding_annotations());
                let woken = state.ledger.wake(now);
                pods.extend(woken.iter().cloned());
                let nominations = state.ledger.stale_nominations();
                pods.extend(nominations.pods);
                state.woken.extend(woken);
                (pods, state.ledger.next_wake(), nominations.has_more)
            };
            due = next.filter(|_| has_more);
            for pod in &pods {
                self.pods.wake(pod);
            }
            self.statuses.changed.notify_one();
            let delay = async {
                match next {
                    _ if has_more => sleep(BATCH_INTERVAL).await,
                    Some(next) => sleep(now.until(next).max(BATCH_INTERVAL)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = delay => {}
                // A change before all nominations are checked restarts the check.
                () = self.leader.changed(), if !has_more => sleep(BATCH_INTERVAL).await,
                () = self.switch.changed() => self.pods.wake_all(),
                () = end.cancelled() => return,
            }
        }
    }

    /// Runs the turns of pods. Never ends by itself.
    pub(super) async fn write(self: Arc<Self>, heartbeat: Heartbeat, end: CancellationToken) {
        let turn = |pod: Identity| {
            let pod_writer = Arc::clone(&self);
            async move { pod_writer.take_turn(&pod).await }
        };
        self.pods.run(MAX_CONCURRENT_TURNS, Some(&heartbeat), end, |_| Vec::new(), turn).await;
    }

    /// Writes the changes that a pod needs; returns when to retry.
    async fn take_turn(&self, pod: &Identity) -> Option<Timestamp> {
        let now = self.clock.now();
        // The writes follow once the stop ends. A deleted pod needs no write.
        if self.switch.is_stopped() && self.leader.lock().ledger.has_pod(pod) {
            return now.saturating_add(RETRY).ok();
        }
        let of_nomination = match self.end_stale_nomination(pod, now).await {
            Ok(later) => later,
            Err(again) => return again,
        };
        let of_annotations = self.annotate(pod, now).await;
        of_nomination.into_iter().chain(of_annotations).min()
    }

    /// Writes the annotations of a pod; returns when to retry.
    async fn annotate(&self, pod: &Identity, now: Timestamp) -> Option<Timestamp> {
        if let Some(until) = self.delayed_until(pod, Write::Annotations, now) {
            return Some(until);
        }
        let removal_delayed_until = self.delayed_until(pod, Write::BindingAnnotations, now);
        let Some(change) = self.annotation_change(pod, removal_delayed_until.is_none()) else {
            let mut refused = self.refused();
            refused.remove(&(pod.clone(), Write::Annotations));
            if removal_delayed_until.is_none() {
                refused.remove(&(pod.clone(), Write::BindingAnnotations));
            }
            return removal_delayed_until;
        };
        let mark = now.to_string();
        let (number, owner) = match change.cost.flatten() {
            Some(cost) => (Some(cost.to_string()), Some(DeletionCost::owner_mark(cost))),
            None => (None, None),
        };
        let mut annotations = Vec::new();
        if change.cost.is_some() {
            annotations.push((DELETION_COST, number.as_deref()));
            annotations.push((DELETION_COST_OWNER, owner.as_deref()));
        }
        if change.is_stale {
            annotations.extend([(BOUND_POLICY, None), (BOUND_UNIT, None)]);
        }
        if change.is_woken {
            annotations.push((SCHEDULABLE_AT, Some(mark.as_str())));
        }
        let collection = format!("/api/v1/namespaces/{}/pods", pod.namespace());
        let path = ObjectPath { collection: &collection, name: pod.name() };
        let is_wanted = || {
            let state = self.leader.lock();
            state.ledger.version_of(pod) == Some(change.version)
                && (!change.is_stale || state.has_stale_binding_annotations(pod))
        };
        let writer = &self.leader.writer;
        let version = change.version.to_string();
        match writer.patch_annotations(path, &version, &annotations, &is_wanted).await {
            Ok(_) => {
                let metrics = &self.leader.metrics;
                metrics.costs.inc_by(u64::from(change.cost.is_some()));
                metrics.woken.inc_by(u64::from(change.is_woken));
                let mut refused = self.refused();
                refused.remove(&(pod.clone(), Write::Annotations));
                if change.is_stale {
                    refused.remove(&(pod.clone(), Write::BindingAnnotations));
                }
                removal_delayed_until
            }
            Err(error) => self.annotate_again(pod, &change, &error, now),
        }
    }

    /// The changes of a pod's annotations; `None` without changes. Stale binding annotations are included only
    /// `with_removal`.
    fn annotation_change(&self, pod: &Identity, with_removal: bool) -> Option<AnnotationChange> {
        let mut state = self.leader.lock();
        // The pod may have been scheduled since the write was delayed.
        let is_woken = state.woken.remove(pod) && state.ledger.is_to_be_scheduled(pod);
        // The annotations of an exempt pod belong to another installation.
        if state.exempt.get(pod) == Some(Exemption::Namespace) {
            return None;
        }
        let cost = state.ledger.cost_change(pod).map(|change| change.cost);
        let is_stale = with_removal && state.has_stale_binding_annotations(pod);
        let version = state.ledger.version_of(pod)?;
        let has_changes = cost.is_some() || is_stale || is_woken;
        has_changes.then_some(AnnotationChange { version, cost, is_stale, is_woken })
    }

    /// The instant of the next attempt to write the annotations after a failure.
    fn annotate_again(
        &self,
        pod: &Identity,
        change: &AnnotationChange,
        error: &WriteError,
        now: Timestamp,
    ) -> Option<Timestamp> {
        // An admission policy of an earlier version refuses the removal. The next attempt writes the other changes
        // without the removal.
        let is_rest = !change.is_stale || (change.cost.is_none() && !change.is_woken);
        let write = if change.is_stale { Write::BindingAnnotations } else { Write::Annotations };
        let retry_at = self.retry_at(pod, write, error, now);
        let is_delayed = self.delayed_until(pod, write, now).is_some();
        if change.is_woken && retry_at.is_some() {
            let mut state = self.leader.lock();
            if is_delayed {
                state.woken.insert(pod.clone());
            } else {
                state.ledger.wake_again(pod);
                drop(state);
                self.leader.notify_change();
            }
        }
        if is_delayed && !is_rest { Some(now) } else { retry_at }
    }

    /// The instant of the next attempt after a failed write.
    fn retry_at(
        &self,
        pod: &Identity,
        write: Write,
        error: &WriteError,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let mut refused = self.refused();
        let before = refused.remove(&(pod.clone(), write));
        let (is_expected, delay) = match error {
            WriteError::Fenced(_) => return None,
            WriteError::Refused(refusal) if refusal.is_not_found() => return None,
            WriteError::Withdrawn => (true, RETRY),
            WriteError::Refused(refusal) if refusal.is_conflict() => (true, RETRY),
            // The cause may persist, so each delay is twice the previous delay.
            WriteError::Refused(refusal) if refusal.is_lasting() => {
                let longest = match write {
                    Write::BindingAnnotations => MAX_RETRY_DELAY_OF_BINDING_ANNOTATIONS,
                    Write::Nomination | Write::Annotations => MAX_RETRY_DELAY,
                };
                let delay = before.map_or(RETRY, |(_, delay)| (delay * 2).min(longest));
                if let Ok(until) = now.saturating_add(delay) {
                    refused.insert((pod.clone(), write), (until, delay));
                }
                (false, delay)
            }
            WriteError::Refused(_) | WriteError::Unknown(_) => (false, RETRY),
        };
        drop(refused);
        if !is_expected && self.is_time_to_warn(now) {
            tracing::warn!(%pod, %error, "failed to write to a pod");
        }
        now.saturating_add(delay).ok()
    }

    fn refused(&self) -> MutexGuard<'_, RefusedWrites> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The end of the time in which a write is not retried, even after changes.
    fn delayed_until(&self, pod: &Identity, write: Write, now: Timestamp) -> Option<Timestamp> {
        let refused = self.refused();
        let (until, delay) = *refused.get(&(pod.clone(), write))?;
        // The clock may have been set back.
        (now < until && until.duration_since(now) <= delay).then_some(until)
    }

    /// Whether the last warning is at least a second old: thousands of pods may fail for one reason.
    fn is_time_to_warn(&self, now: Timestamp) -> bool {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let is_long_ago = warned.is_none_or(|at| now.duration_since(at).abs() >= RETRY);
        if is_long_ago {
            *warned = Some(now);
        }
        is_long_ago
    }

    /// Removes the nomination of a pod whose unit is full. If the extender rejects all nodes, kube-scheduler leaves the
    /// nomination. The nomination reserves capacity on the node against all other pods. Returns when to retry a refused
    /// removal; otherwise, the instant at which the other changes have their turn.
    async fn end_stale_nomination(
        &self,
        pod: &Identity,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Option<Timestamp>> {
        let version = {
            let state = self.leader.lock();
            let is_stale = state.ledger.has_stale_nomination(pod);
            if is_stale { state.ledger.version_of(pod) } else { None }
        };
        let Some(version) = version else {
            self.refused().remove(&(pod.clone(), Write::Nomination));
            return Ok(None);
        };
        if let Some(until) = self.delayed_until(pod, Write::Nomination, now) {
            return Ok(Some(until));
        }
        let collection = format!("/api/v1/namespaces/{}/pods", pod.namespace());
        let path = ObjectPath { collection: &collection, name: pod.name() };
        let still_wanted = || {
            let state = self.leader.lock();
            state.ledger.version_of(pod) == Some(version) && state.ledger.has_stale_nomination(pod)
        };
        let none = json!({ "nominatedNodeName": null });
        let writer = &self.leader.writer;
        match writer.patch_decided_status(path, &version.to_string(), none, &still_wanted).await {
            // The other changes are conditional on the new version.
            Ok(_) => Err(now.saturating_add(RETRY).ok()),
            Err(error) => {
                let retry_at = self.retry_at(pod, Write::Nomination, &error, now);
                let is_delayed = self.delayed_until(pod, Write::Nomination, now).is_some();
                if is_delayed { Ok(retry_at) } else { Err(retry_at) }
            }
        }
    }
}

#[cfg(test)]
mod tests;
