//! Leases: when a pod is sent to a unit, its place there is kept from others for a moment, so that they are not sent
//! where there will be no room. They only save cycles: what may be bound is decided without them.

use jiff::Timestamp;

use super::Ledger;
use super::book::UnitPlace;
use crate::units::slots::{GroupId, PodId, PolicyId};

/// A place that is kept for a pod.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lease {
    policy: PolicyId,
    group: GroupId,
    place: UnitPlace,
    until: Timestamp,
}

impl Ledger {
    pub(super) fn lease(
        &mut self,
        pod: PodId,
        policy: PolicyId,
        group: GroupId,
        place: UnitPlace,
        until: Timestamp,
    ) {
        self.end_lease(pod);
        let Some(cell) = self.books[policy].groups[group].cell_mut(place) else { return };
        cell.leased += 1;
        self.leases.insert(pod, Lease { policy, group, place, until });
        self.lease_ends.insert((until, pod));
    }

    /// Whether a pod has a lease on this unit.
    pub(super) fn has_lease(&self, pod: PodId, policy: PolicyId, place: UnitPlace) -> bool {
        self.leases.get(&pod).is_some_and(|lease| lease.policy == policy && lease.place == place)
    }

    pub(super) fn end_lease(&mut self, pod: PodId) {
        let Some(lease) = self.leases.remove(&pod) else { return };
        self.lease_ends.remove(&(lease.until, pod));
        if let Some(cell) = self.books[lease.policy].groups[lease.group].cell_mut(lease.place) {
            cell.leased -= 1;
        }
        self.waiting.room_in(lease.policy, lease.group);
    }

    pub(super) fn end_leases(&mut self, now: Timestamp) {
        while let Some((until, pod)) = self.lease_ends.first().copied()
            && until <= now
        {
            self.end_lease(pod);
        }
    }

    pub(super) fn drop_all_leases(&mut self) {
        self.end_leases(Timestamp::MAX);
    }
}
