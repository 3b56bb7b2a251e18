//! The outcome of a binding.
//!
//! A binding is resolved when the API server has refused it for good, or when the pod has been observed. The pod is
//! then on a node, deleted, or without a node at a later version than the precondition of the binding. A missing
//! response proves nothing: the binding might have been applied, or might still be applied. In that case a read
//! resolves the binding, if it starts after the last instant at which the request could be in progress.

use super::Ledger;
use super::binds::ReservationId;
use crate::Identity;
use crate::units::slots::PodId;
use crate::units::{Elapsed, Pod};

/// The response of the API server to a binding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BindOutcome {
    /// The binding was applied.
    Posted,
    /// The binding was not applied, and never will be: it was refused, or was never sent.
    Failed,
    /// There was no response, or an ambiguous one: a timeout, or a conflict, which the API server also returns for an
    /// error of etcd.
    Unknown,
}

/// A binding that must be resolved by reading its pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnsettledBinding {
    /// The name of the reservation.
    pub id: ReservationId,
    /// The pod.
    pub pod: Identity,
}

impl Ledger {
    /// Settles a binding by the response of the API server. Without a response, or if the bound pod has not been
    /// observed, the reservation stays.
    pub fn settle(&mut self, id: ReservationId, outcome: BindOutcome) {
        if outcome == BindOutcome::Failed
            && let Some(pod) = self.reserved_pod(id)
        {
            self.return_permit(pod);
        }
    }

    /// The unobserved bindings whose deadline has passed. A read of the pod settles each binding.
    pub fn unsettled(&self, now: Elapsed) -> impl Iterator<Item = UnsettledBinding> {
        self.reservations.ended(now).map(|(number, it)| UnsettledBinding {
            id: ReservationId { generation: it.generation, number },
            pod: self.pods[it.pod].identity.clone(),
        })
    }

    /// The instant by which the next unobserved binding must have ended.
    #[must_use]
    pub fn next_unsettled(&self) -> Option<Elapsed> {
        self.reservations.next_end()
    }

    /// Settles a binding by a quorum read of its pod that started at `begun_at`; `None` if the pod does not exist. Returns
    /// whether the read settles the binding.
    pub fn settle_by_read(
        &mut self,
        id: ReservationId,
        found: Option<&Pod>,
        begun_at: Elapsed,
    ) -> bool {
        let Some(pod) = self.reserved_pod(id) else { return true };
        let identity = self.pods[pod].identity.clone();
        let Some(found) = found else {
            let uid = self.pods[pod].uid.clone();
            self.remove_pod(&identity, uid.as_ref(), None);
            return true;
        };
        self.read_pod(&identity, found);
        let Some(pod) = self.reserved_pod(id) else { return true };
        let is_unbound = found.node.is_none() && self.reservations[id.number].ends_by <= begun_at;
        if is_unbound {
            self.return_permit(pod);
        }
        is_unbound
    }

    /// Removes the bindings that cannot be in progress any more, and whose outcome is in a complete list.
    pub(super) fn drop_ended_reservations(&mut self, listed_at: Elapsed) {
        let ended_pods: Vec<PodId> =
            self.reservations.ended(listed_at).map(|(_, reservation)| reservation.pod).collect();
        for pod in ended_pods {
            self.return_permit(pod);
        }
    }

    /// Frees the permit of a pod that was not bound. If its scheduler received the response that this binding must be
    /// resolved first, the pod is requeued now.
    pub(super) fn return_permit(&mut self, pod: PodId) {
        let is_put_off = self.take_reservation(pod).is_some_and(|it| it.is_put_off);
        self.allocate(pod);
        self.apply_nomination(pod);
        if is_put_off && self.is_pending(pod) {
            self.wake_at_once(pod);
        }
    }
}
