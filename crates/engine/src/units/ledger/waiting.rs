//! Pods that were refused, and which of them to wake when that may have changed.
//!
//! A scheduler tries a pod again when it sees something change, but sees neither policies nor what the ledger knows
//! before it. No more pods are woken than there is room for, those first that were refused longest ago; one that does not
//! come back makes room for the next after a while.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::{Governing, Ledger};
use crate::Identity;
use crate::units::Strategy;
use crate::units::slots::{GroupId, PodId, PolicyId};

/// How long a pod that was woken has to come back.
const COMES_BACK_WITHIN: SignedDuration = SignedDuration::from_secs(30);

/// What is noted about pods that wait, beside the queue of each group.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    next: u64,
    /// Pods that several policies select.
    stranded: BTreeMap<u64, PodId>,
    /// Pods that no policy governs any more.
    freed: BTreeMap<u64, PodId>,
    /// Where there may be room, and whether because a policy was edited.
    changed: BTreeMap<(PolicyId, GroupId), bool>,
    woken: BTreeSet<(Timestamp, PodId)>,
}

impl Waiting {
    /// A pod of the group is no longer counted, or a place no longer kept.
    pub(super) fn room_in(&mut self, policy: PolicyId, group: GroupId) {
        self.changed.entry((policy, group)).or_insert(false);
    }

    /// The policy of the group was edited.
    pub(super) fn edited(&mut self, policy: PolicyId, group: GroupId) {
        self.changed.insert((policy, group), true);
    }

    pub(super) fn forget(&mut self, policy: PolicyId, group: GroupId) {
        self.changed.remove(&(policy, group));
    }
}

impl Ledger {
    /// The pods that a change has made schedulable since this was last asked, each to be brought to the attention of its
    /// scheduler: refused pods for which there is room now, or that no policy governs any more.
    pub fn wake(&mut self, now: Timestamp) -> Vec<Identity> {
        self.end_leases(now);
        self.wait_again(now);
        let freed = std::mem::take(&mut self.waiting.freed);
        let mut woken: Vec<PodId> = freed.into_values().collect();
        for pod in &woken {
            self.pods[*pod].waiting = None;
        }
        for ((policy, group), is_edited) in std::mem::take(&mut self.waiting.changed) {
            let book = &self.books[policy];
            let room = self.room_for_waiting(policy, group, is_edited);
            let first: Vec<PodId> =
                book.groups[group].waiting.values().take(room).copied().collect();
            for pod in first {
                self.stop_waiting(pod);
                let until = now.saturating_add(COMES_BACK_WITHIN).unwrap_or(Timestamp::MAX);
                self.pods[pod].woken_until = Some(until);
                self.waiting.woken.insert((until, pod));
                self.books[policy].groups[group].woken += 1;
                woken.push(pod);
            }
        }
        let mut names: Vec<Identity> =
            woken.into_iter().map(|pod| self.pods[pod].identity.clone()).collect();
        names.sort_unstable();
        names
    }

    /// When [`Ledger::wake`] may next say something though nothing has changed.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        let ends = [self.lease_ends.first(), self.waiting.woken.first()];
        ends.into_iter().flatten().map(|(until, _)| *until).min()
    }

    /// For how many pods of a group that wait there is room.
    fn room_for_waiting(&self, policy: PolicyId, group: GroupId, is_edited: bool) -> usize {
        let book = &self.books[policy];
        let group = &book.groups[group];
        let is_unlimited = book.policy.strategy == Strategy::Prefer
            || book.policy.units.iter().any(|unit| unit.max.is_none());
        if is_edited && is_unlimited {
            return usize::MAX;
        }
        let rooms = book.policy.units.iter().zip(&group.cells).map(|(unit, cell)| {
            unit.max.map_or(0, |max| max.saturating_sub(cell.used.saturating_add(cell.leased)))
        });
        let room = rooms.fold(0_u32, u32::saturating_add);
        room.saturating_sub(group.woken) as usize
    }

    /// A pod was refused: it waits behind all others.
    pub(super) fn wait(&mut self, pod: PodId) {
        self.stop_waiting(pod);
        self.end_waking(pod);
        let number = self.waiting.next;
        self.waiting.next += 1;
        self.pods[pod].waiting = Some(number);
        self.queue_of(pod).insert(number, pod);
    }

    /// Which pods were refused under the lead before is not known: any that has yet to be scheduled may have been.
    pub(super) fn let_all_wait(&mut self) {
        let mut pending: Vec<(Option<Timestamp>, Identity, PodId)> = Vec::new();
        for (id, slot) in self.pods.iter() {
            if self.is_pending(id) && self.governing(slot) != Governing::None {
                pending.push((slot.created, slot.identity.clone(), id));
            }
        }
        pending.sort_unstable();
        for (_, _, pod) in pending {
            self.wait(pod);
            if let Governing::One(policy, group) = self.governing(&self.pods[pod]) {
                self.waiting.room_in(policy, group);
            }
        }
    }

    pub(super) fn stop_waiting(&mut self, pod: PodId) {
        let Some(number) = self.pods[pod].waiting else { return };
        self.queue_of(pod).remove(&number);
        self.waiting.freed.remove(&number);
        self.pods[pod].waiting = None;
    }

    /// Takes a pod that waits out of its queue, because which one that is may change.
    pub(super) fn suspend_waiting(&mut self, pod: PodId) {
        self.end_waking(pod);
        if let Some(number) = self.pods[pod].waiting {
            self.queue_of(pod).remove(&number);
        }
    }

    /// Puts it back, into the queue that is the right one now.
    pub(super) fn resume_waiting(&mut self, pod: PodId) {
        let Some(number) = self.pods[pod].waiting else { return };
        self.queue_of(pod).insert(number, pod);
        if let Governing::One(policy, group) = self.governing(&self.pods[pod]) {
            self.waiting.edited(policy, group);
        }
    }

    fn queue_of(&mut self, pod: PodId) -> &mut BTreeMap<u64, PodId> {
        match self.governing(&self.pods[pod]) {
            Governing::None => &mut self.waiting.freed,
            Governing::Several => &mut self.waiting.stranded,
            Governing::One(policy, group) => &mut self.books[policy].groups[group].waiting,
        }
    }

    /// A pod that was woken has come back, or never will.
    pub(super) fn end_waking(&mut self, pod: PodId) {
        let Some(until) = self.pods[pod].woken_until.take() else { return };
        self.waiting.woken.remove(&(until, pod));
        if let Governing::One(policy, group) = self.governing(&self.pods[pod]) {
            let group_of = &mut self.books[policy].groups[group];
            group_of.woken = group_of.woken.saturating_sub(1);
            self.waiting.room_in(policy, group);
        }
    }

    /// Those that were woken and did not come back wait again, and others may be woken in their place.
    fn wait_again(&mut self, now: Timestamp) {
        while let Some((until, pod)) = self.waiting.woken.first().copied()
            && until <= now
        {
            self.end_waking(pod);
            if self.is_pending(pod) {
                self.wait(pod);
            }
        }
    }
}
