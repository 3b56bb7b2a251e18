//! What it costs to delete a pod: the higher the priority of its unit, the more; and the less, the further it is over a
//! cap.
//!
//! The cost depends on the priority alone and not on other units, so that a new unit rewrites nothing.

use std::sync::Arc;

use super::{Ledger, PodSlot};
use crate::Identity;
use crate::units::slots::PodId;
use crate::units::{DeletionCost, Ungoverned};

/// The only kind of controller that asks what it costs to delete its pods.
const REPLICA_SET: &str = "ReplicaSet";

/// A deletion cost to be written.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CostChange {
    /// The pod.
    pub pod: Identity,
    /// Its UID.
    pub uid: Option<Arc<str>>,
    /// The cost; `None` to remove it.
    pub cost: Option<i32>,
}

impl Ledger {
    /// The pods that have another cost than is wanted, of those for which either has changed since this was last asked; in
    /// the order of their names. One that is not written is not named again: [`Ledger::cost_change`] says whether it is
    /// still to be.
    pub fn cost_changes(&mut self) -> Vec<CostChange> {
        for (policy, group, place) in std::mem::take(&mut self.reordered) {
            let Some(cell) = self.books[policy].groups[group].cell(place) else { continue };
            for (preceding, pod) in (0..).zip(cell.over()) {
                let slot = &mut self.pods[pod];
                if slot.over != Some(preceding) {
                    slot.over = Some(preceding);
                    self.unpriced.insert(pod);
                }
            }
        }
        let unpriced = std::mem::take(&mut self.unpriced);
        let mut changes: Vec<CostChange> = unpriced
            .into_iter()
            .filter_map(|pod| self.change_of(pod, self.cost_with(pod, self.pods[pod].over)))
            .collect();
        changes.sort_unstable();
        changes
    }

    /// Which costs were decided under an earlier lead and never written is not known: any may have been.
    pub(super) fn price_all_again(&mut self) {
        self.unpriced.extend(self.pod_ids.values());
    }

    /// What has to be written now so that a pod has the cost that is wanted; `None` if nothing has to be.
    #[must_use]
    pub fn cost_change(&self, pod: &Identity) -> Option<CostChange> {
        let id = *self.pod_ids.get(pod)?;
        self.change_of(id, self.wanted_cost(id))
    }

    fn change_of(&self, id: PodId, wanted: Option<i32>) -> Option<CostChange> {
        let slot = &self.pods[id];
        let is_ended = slot.is_finished || slot.is_terminating;
        // A pod that is being bound gets its cost with the binding.
        if is_ended || slot.node.is_none() || slot.ungoverned == Some(Ungoverned::Exempt) {
            return None;
        }
        let is_wanted = match slot.cost {
            DeletionCost::Unset => wanted.is_none(),
            DeletionCost::Ours(cost) => wanted == Some(cost),
            DeletionCost::Others => true,
        };
        let change =
            || CostChange { pod: slot.identity.clone(), uid: slot.uid.clone(), cost: wanted };
        (!is_wanted).then(change)
    }

    /// The cost that a pod should have; `None` for none.
    pub(super) fn wanted_cost(&self, id: PodId) -> Option<i32> {
        self.cost_with(id, self.preceding_over(id))
    }

    fn cost_with(&self, id: PodId, over: Option<u32>) -> Option<i32> {
        let slot = &self.pods[id];
        let seat = slot.seat.filter(|_| slot.has_cost())?;
        let unit = self.books[seat.policy].unit(seat.place);
        Some(price(unit.map(|unit| unit.priority), over))
    }

    /// How many pods over the cap of its unit come before a pod, if it is over.
    fn preceding_over(&self, id: PodId) -> Option<u32> {
        let slot = &self.pods[id];
        slot.over?;
        let seat = slot.seat?;
        let cell = self.books[seat.policy].groups[seat.group].cell(seat.place)?;
        (0..).zip(cell.over()).find(|(_, pod)| *pod == id).map(|(preceding, _)| preceding)
    }
}

impl PodSlot {
    /// Whether a cost means anything for it.
    pub(super) fn has_cost(&self) -> bool {
        self.owner.as_ref().is_some_and(|owner| *owner.kind == *REPLICA_SET)
    }
}

/// The cost of a pod in a unit of this priority (`None` outside all units), with so many pods over the cap before it if
/// it is over itself.
pub(super) fn price(priority: Option<i32>, over: Option<u32>) -> i32 {
    let cost = match (over, priority) {
        (Some(preceding), _) => -100 * (i64::from(preceding) + 1),
        (None, Some(priority)) => 100 * (i64::from(priority) + 1),
        (None, None) => 0,
    };
    let bound = if cost < 0 { i32::MIN } else { i32::MAX };
    i32::try_from(cost).unwrap_or(bound)
}
