//! Leases: when a pod is sent to a unit, its hold there is recorded for a short time, so that other pods are sent to an
//! equally good unit with more free capacity. Leases only save scheduling cycles: no lease sends a pod to a lower unit.
//! The leasing pod might never be bound, and bindings are decided without leases.

use super::usage::UnitIndex;
use super::{CountedIn, Ledger};
use crate::units::Elapsed;
use crate::units::slots::{PodId, PolicyId};

/// A hold on capacity for a pod.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lease {
    at: CountedIn,
    until: Elapsed,
}

impl Ledger {
    pub(super) fn lease(&mut self, pod: PodId, at: CountedIn, until: Elapsed) {
        self.end_lease(pod);
        self.usages[at.policy].groups[at.group].lease(at.unit_index);
        self.leases.insert(pod, Lease { at, until });
        self.lease_ends.insert((until, pod));
    }

    /// The unit of a policy in which a pod has a lease.
    pub(super) fn leased_in(&self, pod: PodId, policy: PolicyId) -> Option<UnitIndex> {
        let at = self.leases.get(&pod)?.at;
        (at.policy == policy).then_some(at.unit_index)
    }

    pub(super) fn end_lease(&mut self, pod: PodId) {
        let Some(Lease { at, until }) = self.leases.remove(&pod) else { return };
        self.lease_ends.remove(&(until, pod));
        self.usages[at.policy].groups[at.group].end_lease(at.unit_index);
        self.wake_further(at.policy, at.group);
    }

    pub(super) fn end_leases(&mut self, now: Elapsed) {
        while let Some((until, pod)) = self.lease_ends.first().copied()
            && until <= now
        {
            self.end_lease(pod);
        }
    }

    pub(super) fn drop_all_leases(&mut self) {
        self.end_leases(Elapsed::MAX);
    }
}
