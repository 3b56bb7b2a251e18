//! The deletion cost of a pod. It rises with the priority of the pod's unit, and falls with the number of preceding
//! pods over a cap.
//!
//! The cost depends on the priority and not on other units, so that a new unit changes no existing cost.

use std::sync::Arc;

use super::allocations::rank_of;
use super::usage::Rank;
use super::{Allocation, CountedIn, Ledger, PodSlot};
use crate::Identity;
use crate::units::slots::PodId;
use crate::units::{DeletionCost, Ungoverned};

/// The only controllers that use the deletion cost of their pods.
const REPLICA_SETS: (&str, &str) = ("apps", "ReplicaSet");

/// A deletion cost to write.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CostChange {
    /// The pod to change.
    pub pod: Identity,
    /// The UID of the pod.
    pub uid: Option<Arc<str>>,
    /// The desired cost; `None` to remove it.
    pub cost: Option<i32>,
}

impl Ledger {
    /// The pods whose cost differs from the desired one, if either cost has changed since the last call, in the order
    /// of their names. A pod is listed once, even if its cost is not written; [`Ledger::cost_change`] returns whether
    /// the write is still required. Empty while this ledger does not decide.
    pub fn cost_changes(&mut self) -> Vec<CostChange> {
        if !self.is_serving() {
            return Vec::new();
        }
        for (at, first) in std::mem::take(&mut self.reordered) {
            for (preceding, pod) in self.over_from(at, &first).collect::<Vec<_>>() {
                let mut allocations = self.pods[pod].allocations.iter_mut();
                if let Some(allocation) = allocations.find(|allocation| allocation.at == at)
                    && allocation.over != Some(preceding)
                {
                    allocation.over = Some(preceding);
                    self.unpriced.insert(pod);
                }
            }
        }
        let unpriced = std::mem::take(&mut self.unpriced);
        let mut changes: Vec<CostChange> =
            unpriced.into_iter().filter_map(|pod| self.change_of(pod)).collect();
        changes.sort_unstable();
        changes
    }

    /// Prices all pods again: an earlier term may have ended before it wrote some of its decided costs.
    pub(super) fn price_all_again(&mut self) {
        self.unpriced.extend(self.pod_ids.values());
    }

    /// The write that gives a pod its desired cost; `None` if no write is required, or while this ledger does not
    /// decide.
    #[must_use]
    pub fn cost_change(&self, pod: &Identity) -> Option<CostChange> {
        let id = *self.pod_ids.get(pod).filter(|_| self.is_serving())?;
        self.change_of(id)
    }

    fn change_of(&self, id: PodId) -> Option<CostChange> {
        let slot = &self.pods[id];
        let is_ended = slot.is_finished || slot.is_terminating;
        // The binding of a pod sets its cost, too. While policies conflict, the right cost is unknown.
        let is_conflict = self.governing(slot).len() > 1;
        let is_exempt = slot.ungoverned == Some(Ungoverned::Exempt);
        if is_ended || slot.node.is_none() || is_conflict || is_exempt {
            return None;
        }
        let wanted = self.wanted_cost(id);
        let is_wanted = match slot.cost {
            DeletionCost::Unset => wanted.is_none(),
            DeletionCost::Ours(cost) => wanted == Some(cost),
            DeletionCost::Others(_) => true,
        };
        let change =
            || CostChange { pod: slot.identity.clone(), uid: slot.uid.clone(), cost: wanted };
        (!is_wanted).then(change)
    }

    /// The desired cost of a pod; `None` for no cost.
    fn wanted_cost(&self, id: PodId) -> Option<i32> {
        let slot = &self.pods[id];
        let allocation = slot.allocations.first().filter(|_| slot.has_cost())?;
        let unit = self.usages[allocation.at.policy].unit(allocation.at.unit_index);
        Some(price(unit.map(|unit| unit.priority), self.preceding_over(id, *allocation)))
    }

    /// The number of pods over the cap of its unit that precede a pod; `None` if the pod is within the cap.
    fn preceding_over(&self, id: PodId, allocation: Allocation) -> Option<u32> {
        let over = allocation.over?;
        match self.reordered.get(&allocation.at) {
            Some(first) if *first <= rank_of(&self.pods[id], id, allocation.since) => {
                let mut from = self.over_from(allocation.at, first);
                from.find(|(_, pod)| *pod == id).map(|(preceding, _)| preceding)
            }
            _ => Some(over),
        }
    }

    /// The pods over a cap from one pod on, each with the number of preceding pods.
    fn over_from(&self, at: CountedIn, first: &Rank) -> impl Iterator<Item = (u32, PodId)> {
        let unit_usage = self.usages[at.policy].groups[at.group].unit_usage(at.unit_index);
        let before = unit_usage.last_over_before(first).and_then(|pod| {
            self.pods[pod].allocations.iter().find(|allocation| allocation.at == at)?.over
        });
        let from = before.map_or(0, |preceding| preceding + 1);
        (from..).zip(unit_usage.over_from(first))
    }
}

impl PodSlot {
    /// Whether the pod's owner uses the deletion cost.
    pub(super) fn has_cost(&self) -> bool {
        self.owner.as_ref().is_some_and(|owner| (&*owner.group, &*owner.kind) == REPLICA_SETS)
    }
}

/// The cost of a pod in a unit of this priority (`None` outside all units). `over` is the number of preceding pods over
/// the cap; `None` if the pod is within the cap.
pub(in crate::units) fn price(priority: Option<i32>, over: Option<u32>) -> i32 {
    let cost = match (over, priority) {
        (Some(preceding), _) => -100 * (i64::from(preceding) + 1),
        (None, Some(priority)) => 100 * (i64::from(priority) + 1),
        (None, None) => 0,
    };
    let bound = if cost < 0 { i32::MIN } else { i32::MAX };
    i32::try_from(cost).unwrap_or(bound)
}
