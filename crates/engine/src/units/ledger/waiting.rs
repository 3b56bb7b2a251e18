//! Refused pods, and the pods to requeue when a refusal may have changed.
//!
//! A scheduler retries a pod when it observes a change. However, it does not observe policies, and may observe an event
//! before the ledger does. So every change that may free capacity requeues the pods that are pending at that time, each
//! once. The pods that were refused longest ago come first, in numbers up to the free capacity. The next pods follow
//! after these have been tried, or after a timeout.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use super::Ledger;
use crate::Identity;
use crate::units::slots::{GroupId, NodeId, PodId, PolicyId};
use crate::units::{Elapsed, ResourcePolicy, Strategy};

/// The maximum time that other pods wait for a requeued pod to be tried.
const COMES_BACK_WITHIN: Duration = Duration::from_secs(30);

/// The number of pods that are requeued together for free capacity of unknown size.
const AT_A_TIME: u32 = 100;

/// The state of refused pods, except for the queue of each group.
#[derive(Clone, Debug, Default)]
pub(super) struct RefusedPods {
    next: u64,
    /// Pods to requeue with or without free capacity: no policy governs them any more, or their binding failed.
    at_once: BTreeMap<u64, PodId>,
    /// The groups that may have pods to requeue.
    changed: BTreeSet<(PolicyId, GroupId)>,
    woken: BTreeSet<(Elapsed, PodId)>,
}

/// The refused pods of a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// The refused pods, in this order.
    refused: BTreeMap<u64, PodId>,
    /// Pods with a smaller number are called.
    called_before: u64,
    /// Whether the call is for free capacity of unknown size.
    is_open: bool,
    /// The number of pods that were requeued and have not been tried yet.
    woken: u32,
    /// The number of called pods that were not tried.
    silent: u32,
}

impl RefusedPods {
    pub(super) fn discard_group(&mut self, policy: PolicyId, group: GroupId) {
        self.changed.remove(&(policy, group));
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.refused.is_empty()
    }

    /// Calls all refused pods with numbers up to `up_to`.
    fn call(&mut self, up_to: u64, is_open: bool) {
        self.called_before = up_to + 1;
        self.is_open |= is_open;
    }

    /// The called pods to requeue, for this number of permits.
    fn next(&mut self, permits: u32) -> Vec<PodId> {
        let permits = if self.is_open { permits.max(AT_A_TIME) } else { permits };
        // Pods that the scheduler never tries do not block the others.
        let at_a_time = if permits == 0 { 0 } else { permits.saturating_add(self.silent) };
        let most = at_a_time.saturating_sub(self.woken) as usize;
        let mut called = self.refused.range(..self.called_before).map(|(_, pod)| *pod);
        let next: Vec<PodId> = called.by_ref().take(most).collect();
        if called.next().is_none() {
            (self.is_open, self.silent) = (false, 0);
        }
        next
    }
}

impl Ledger {
    /// The pods that a change has made schedulable since the last call, for their scheduler to retry: refused pods with
    /// free capacity now, or that no policy governs any more. Empty while this ledger does not decide.
    pub fn wake(&mut self, now: Elapsed) -> Vec<Identity> {
        if !self.is_serving() {
            return Vec::new();
        }
        self.end_leases(now);
        self.end_unnominated(now);
        self.end_wakings(now);
        let mut woken: Vec<PodId> = self.waiting.at_once.values().copied().collect();
        for pod in &woken {
            self.stop_waiting(*pod);
        }
        for (policy, group) in std::mem::take(&mut self.waiting.changed) {
            let permits = self.free_permits(policy, group);
            for pod in self.usages[policy].groups[group].queue.next(permits) {
                self.stop_waiting(pod);
                let until = now + COMES_BACK_WITHIN;
                self.pods[pod].woken_until = Some(until);
                self.waiting.woken.insert((until, pod));
                self.usages[policy].groups[group].queue.woken += 1;
                woken.push(pod);
            }
        }
        let mut names: Vec<Identity> =
            woken.into_iter().map(|pod| self.pods[pod].identity.clone()).collect();
        names.sort_unstable();
        names
    }

    /// Whether a scheduler must still find a node for a pod.
    #[must_use]
    pub fn is_to_be_scheduled(&self, pod: &Identity) -> bool {
        self.pod_ids.get(pod).is_some_and(|id| self.is_pending(*id))
    }

    /// Returns a pod again, because the caller failed to requeue it.
    pub fn wake_again(&mut self, pod: &Identity) {
        let Some(id) = self.pod_ids.get(pod).copied() else { return };
        if self.is_pending(id) {
            self.end_waking(id);
            self.wake_at_once(id);
        }
    }

    /// The next instant at which [`Ledger::wake`] might return pods without a change.
    #[must_use]
    pub fn next_wake(&self) -> Option<Elapsed> {
        let ends = [self.lease_ends.first(), self.waiting.woken.first()];
        let ends = ends.into_iter().flatten().map(|(until, _)| *until);
        ends.chain(self.next_unnominated()).min()
    }

    /// The permits of a group that are neither used nor held nor kept, in units with a cap.
    fn free_permits(&self, policy: PolicyId, group: GroupId) -> u32 {
        let usage = &self.usages[policy];
        let units = &usage.policy.units;
        let units = units.iter().zip(usage.groups[group].in_units(units.len()));
        let free_capacities = units.filter_map(|(unit, unit_usage)| {
            let used = unit_usage
                .used
                .saturating_add(unit_usage.leased)
                .saturating_add(unit_usage.kept(None));
            Some(unit.max?.saturating_sub(used))
        });
        free_capacities.fold(0, u32::saturating_add)
    }

    /// Requeues pods of a group because some are no longer counted, or a cap was raised.
    pub(super) fn wake_for_room(&mut self, policy: PolicyId, group: GroupId) {
        self.call(policy, group, false);
    }

    /// Requeues pods because a node is new, or has changed its unit.
    pub(super) fn wake_for_node(&mut self, policy: PolicyId, node: NodeId) {
        let usage = &self.usages[policy];
        let is_open = match usage.unit(usage.unit_of(node)) {
            Some(unit) => unit.max.is_none(),
            None if usage.policy.strategy == Strategy::Required => return,
            None => true,
        };
        let groups: Vec<GroupId> = usage.waiting_groups().collect();
        for group in groups {
            self.call(policy, group, is_open);
        }
    }

    /// Requeues the next called pods, because capacity is no longer kept or a requeued pod was tried.
    pub(super) fn wake_further(&mut self, policy: PolicyId, group: GroupId) {
        if !self.usages[policy].groups[group].queue.is_empty() {
            self.waiting.changed.insert((policy, group));
        }
    }

    fn call(&mut self, policy: PolicyId, group: GroupId, is_open: bool) {
        let queue = &mut self.usages[policy].groups[group].queue;
        if !queue.is_empty() {
            queue.call(self.waiting.next, is_open);
            self.waiting.changed.insert((policy, group));
        }
    }

    /// Queues a refused pod after all others. No capacity is kept for it.
    pub(super) fn wait(&mut self, pod: PodId) {
        self.end_lease(pod);
        self.stop_waiting(pod);
        self.end_waking(pod);
        let number = self.waiting.number();
        self.pods[pod].waiting = Some(number);
        if let Some(queue) = self.queue_of(pod) {
            queue.refused.insert(number, pod);
        }
    }

    /// Requeues a pod at the next call, with or without free capacity.
    pub(super) fn wake_at_once(&mut self, pod: PodId) {
        self.stop_waiting(pod);
        let number = self.waiting.number();
        self.pods[pod].waiting = Some(number);
        self.waiting.at_once.insert(number, pod);
    }

    /// Queues pods whose condition reports a refusal of an earlier term: a ledger that has just acquired leadership has
    /// no refusals of its own.
    pub(super) fn queue_refused_pods(&mut self) {
        let refused = self.pods.iter().filter(|(id, slot)| slot.is_refused && self.is_pending(*id));
        let mut refused: Vec<(Option<Timestamp>, Identity, PodId)> =
            refused.map(|(id, slot)| (slot.created, slot.identity.clone(), id)).collect();
        refused.sort_unstable();
        for (_, _, pod) in refused {
            self.wait(pod);
            self.suspend_waiting(pod);
            self.resume_waiting(pod);
        }
    }

    pub(super) fn stop_waiting(&mut self, pod: PodId) {
        let Some(number) = self.pods[pod].waiting.take() else { return };
        self.waiting.at_once.remove(&number);
        if let Some(queue) = self.queue_of(pod) {
            queue.refused.remove(&number);
        }
    }

    /// Removes a refused pod from its queue before a change that may affect the queue.
    pub(super) fn suspend_waiting(&mut self, pod: PodId) {
        self.end_waking(pod);
        if let Some(number) = self.pods[pod].waiting
            && let Some(queue) = self.queue_of(pod)
        {
            queue.refused.remove(&number);
        }
    }

    /// Returns a removed pod to the queue that is now the right one.
    pub(super) fn resume_waiting(&mut self, pod: PodId) {
        let Some(number) = self.pods[pod].waiting else { return };
        match *self.governing(&self.pods[pod]) {
            [] => {
                self.waiting.at_once.insert(number, pod);
            }
            [(policy, group)] => {
                let usage = &mut self.usages[policy];
                let is_open = has_uncounted_room(&usage.policy);
                usage.groups[group].queue.refused.insert(number, pod);
                self.call(policy, group, is_open);
            }
            // A conflict lasts until the policies change.
            [_, _, ..] => {}
        }
    }

    /// The queue of the group of a pod; `None` unless exactly one policy governs it.
    fn queue_of(&mut self, pod: PodId) -> Option<&mut Queue> {
        let [(policy, group)] = *self.governing(&self.pods[pod]) else { return None };
        Some(&mut self.usages[policy].groups[group].queue)
    }

    /// Ends the wait for a requeued pod, because it was tried or the wait has timed out.
    pub(super) fn end_waking(&mut self, pod: PodId) {
        let Some(until) = self.pods[pod].woken_until.take() else { return };
        self.waiting.woken.remove(&(until, pod));
        if let [(policy, group)] = *self.governing(&self.pods[pod]) {
            let queue = &mut self.usages[policy].groups[group].queue;
            queue.woken = queue.woken.saturating_sub(1);
            self.wake_further(policy, group);
        }
    }

    /// Ends the wait of other pods for requeued pods that were not tried. Their scheduler has received the event, and
    /// might still try them.
    fn end_wakings(&mut self, now: Elapsed) {
        while let Some((until, pod)) = self.waiting.woken.first().copied()
            && until <= now
        {
            if let Some(queue) = self.queue_of(pod) {
                queue.silent = queue.silent.saturating_add(1);
            }
            self.end_waking(pod);
        }
    }
}

/// Whether a policy has nodes that accept any number of pods.
fn has_uncounted_room(policy: &ResourcePolicy) -> bool {
    let is_uncapped = policy.units.iter().any(|unit| unit.max.is_none());
    is_uncapped || policy.strategy == Strategy::Prefer
}
