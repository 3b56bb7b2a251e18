//! The nodes on which evictions help a pod: the nodes of the best unit that accepts the pod. A cap alone never causes
//! an eviction. The number of pods that evict others is limited by the capacity of the unit: `nominations` keeps
//! capacity for each of these pods.
//!
//! The scheduler selects the victims, and checks whether the pod fits after the evictions.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::usage::{UnitIndex, UnitUsage};
use super::verdicts::{Verdict, Verdicts};
use super::{CountedIn, Ledger, NotServing};
use crate::Identity;
use crate::units::slots::{GroupId, NodeId, PodId, PolicyId};
use crate::units::{Elapsed, Strategy};

/// A node, and the pods that a scheduler would evict there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Eviction<'a> {
    /// The node.
    pub node: NodeId,
    /// The UIDs of the pods.
    pub victims: Vec<&'a str>,
    /// The number of disruption budgets that the eviction violates.
    pub violations: i64,
}

/// The nodes of a unit for a pod that evicts other pods.
#[derive(Default)]
struct Offer {
    /// Nodes on which evictions help, each with the victims that free capacity in the unit.
    nodes: Vec<(NodeId, Vec<PodId>)>,
    violations: i64,
}

/// The rank of an offer: the minimum is the best.
type Rank = (Reverse<i32>, bool, i64, Reverse<u32>, UnitIndex);

impl Ledger {
    /// The nodes on which evictions free capacity for a pod. If any exist, the ledger keeps capacity in their unit
    /// until the pod is nominated for one of the nodes, or its time for a nomination has ended.
    ///
    /// The list contains only nodes of the best unit; of equally good units, the one with the fewest violations. A full
    /// unit accepts the pod only if enough of the victims are counted in it, in the same group.
    pub fn preempt(
        &mut self,
        pod: &Identity,
        uid: Option<&str>,
        evictions: &[Eviction<'_>],
        now: Elapsed,
    ) -> Result<Vec<NodeId>, NotServing> {
        if !self.is_serving() {
            return Err(NotServing);
        }
        self.end_leases(now);
        self.end_unnominated(now);
        let Some(id) = self.pod_of(pod, uid).filter(|id| self.is_pending(*id)) else {
            return Ok(Vec::new());
        };
        self.record_scheduler(id);
        Ok(match *self.governing(&self.pods[id]) {
            [] => evictions.iter().map(|eviction| eviction.node).collect(),
            [(policy, group)] => self.preempt_under(id, policy, group, evictions, now),
            [_, _, ..] => {
                self.wait(id);
                Vec::new()
            }
        })
    }

    fn preempt_under(
        &mut self,
        id: PodId,
        policy: PolicyId,
        group: GroupId,
        evictions: &[Eviction<'_>],
        now: Elapsed,
    ) -> Vec<NodeId> {
        let offers = self.offers(id, policy, group, evictions);
        let Some((rank, best)) = offers.into_iter().next() else {
            let is_held = self.is_held_by_others(id, policy, group, evictions);
            self.refuse_nomination(id);
            self.wait(id);
            if is_held {
                self.wake_for_room(policy, group);
            }
            return Vec::new();
        };
        let nodes: Vec<NodeId> = best.nodes.iter().map(|(node, _)| *node).collect();
        let (_, is_full, .., unit_index) = rank;
        self.end_lease(id);
        self.stop_waiting(id);
        self.end_waking(id);
        if self.usages[policy].unit(unit_index).is_some_and(|unit| unit.max.is_some()) {
            let victims = best.nodes.into_iter().flat_map(|(_, victims)| victims);
            let victims = victims.filter(|_| is_full).collect();
            self.keep_for(id, CountedIn { policy, group, unit_index }, victims, now);
        } else {
            self.end_keeping(id);
        }
        nodes
    }

    fn offers(
        &self,
        id: PodId,
        policy: PolicyId,
        group: GroupId,
        evictions: &[Eviction<'_>],
    ) -> BTreeMap<Rank, Offer> {
        let usage = &self.usages[policy];
        let verdicts = self.verdicts_under(Some(id), policy, group, &[]);
        let mut by_unit: BTreeMap<(UnitIndex, bool), Offer> = BTreeMap::new();
        for Eviction { node, victims, violations } in evictions {
            let unit_index = usage.unit_of(*node);
            let counted = || {
                let at = CountedIn { policy, group, unit_index };
                self.victims_in(at, id, *node, victims)
            };
            let Some((is_full, counted)) = helps(&verdicts, unit_index, counted) else { continue };
            let offer = by_unit
                .entry((unit_index, is_full))
                .or_insert_with(|| Offer { violations: i64::MAX, ..Offer::default() });
            offer.nodes.push((*node, counted));
            offer.violations = offer.violations.min(*violations);
        }
        let ranked = by_unit.into_iter().map(|((unit_index, is_full), offer)| {
            let priority = usage.unit(unit_index).map_or(-1, |unit| unit.priority);
            let spare = free_capacity(&verdicts, unit_index);
            ((Reverse(priority), is_full, offer.violations, Reverse(spare), unit_index), offer)
        });
        ranked.collect()
    }

    /// Whether a unit would accept the pod without the holds of other pods. These might never be bound.
    fn is_held_by_others(
        &self,
        id: PodId,
        policy: PolicyId,
        group: GroupId,
        evictions: &[Eviction<'_>],
    ) -> bool {
        let verdicts = self.verdicts_under(Some(id), policy, group, &[]);
        evictions.iter().any(|eviction| {
            let unit_index = verdicts.usage.unit_of(eviction.node).index();
            unit_index.is_some_and(|unit_index| {
                verdicts.of_units.get(unit_index) == Some(&Verdict::Lower)
            })
        })
    }

    /// The victims on a node that are counted in a unit and group, and that free capacity for no other pod.
    fn victims_in(&self, at: CountedIn, id: PodId, node: NodeId, victims: &[&str]) -> Vec<PodId> {
        let on_node = self.nodes.get(node).map(|node| node.pods.iter());
        let is_victim = |pod: &PodId| {
            let slot = &self.pods[*pod];
            let uid = slot.uid.as_deref();
            uid.is_some_and(|uid| victims.contains(&uid))
                && slot.allocations.iter().any(|allocation| allocation.at == at)
                && !self.is_claimed_by_other(*pod, id)
        };
        on_node.into_iter().flatten().copied().filter(is_victim).collect()
    }
}

/// Whether evictions on the nodes of a unit help: whether the unit is full, and the victims that then free capacity.
fn helps(
    verdicts: &Verdicts<'_>,
    unit_index: UnitIndex,
    counted: impl FnOnce() -> Vec<PodId>,
) -> Option<(bool, Vec<PodId>)> {
    let Some(index) = unit_index.index() else {
        let is_allowed = verdicts.usage.policy.strategy == Strategy::Prefer;
        return is_allowed.then(|| (false, Vec::new()));
    };
    let Some(max) = verdicts.usage.policy.units.get(index)?.max else {
        return Some((false, Vec::new()));
    };
    if *verdicts.of_units.get(index)? == Verdict::Closed {
        return None;
    }
    if free_capacity(verdicts, unit_index) > 0 {
        return Some((false, Vec::new()));
    }
    let victims = counted();
    let unit_usage: &UnitUsage = verdicts.group.unit_usage(unit_index);
    let used = unit_usage.used.saturating_add(verdicts.own.kept_ahead(unit_usage, index)) as usize;
    // In a unit over its cap, the excess pods and one more pod must be evicted.
    let has_room_then = !victims.is_empty() && used.saturating_sub(victims.len()) < max as usize;
    has_room_then.then_some((true, victims))
}

/// The free capacity of a unit, without holds, nominations and allocations of other pods.
fn free_capacity(verdicts: &Verdicts<'_>, unit_index: UnitIndex) -> u32 {
    let unit = unit_index.index().and_then(|index| Some((index, verdicts.usage.unit(unit_index)?)));
    let Some((index, unit)) = unit else { return u32::MAX };
    let unit_usage = verdicts.group.unit_usage(unit_index);
    if verdicts.own.has_kept(index) {
        // Holds of other pods do not reduce the capacity that is kept.
        let used = unit_usage.used.saturating_add(verdicts.own.kept_ahead(unit_usage, index));
        return unit.max.unwrap_or(u32::MAX).saturating_sub(used);
    }
    verdicts.own.spare(unit, unit_usage, index)
}
