//! The destinations of a pod: the candidate nodes that it may use, in the order of the units, and the reasons against
//! the other candidates.
//!
//! The scheduler checks all other conditions, and sends a request with only the nodes that meet these.

use std::time::Duration;

use super::nominations::Turn;
use super::usage::{Group, PolicyUsage, UnitIndex, UnitUsage};
use super::{CountedIn, Ledger, NotServing};
use crate::Identity;
use crate::units::slots::{GroupId, NodeId, PodId, PolicyId, SlotId as _};
use crate::units::{Elapsed, Strategy, Unit};

/// The maximum score of a node.
const MAX_SCORE: i64 = 10;

/// The destinations of a pod.
#[derive(Debug)]
pub enum FilterOutcome<'l> {
    /// This ledger does not lead, or is not complete yet.
    NotServing,
    /// The pod with this UID is unknown. The caller must read it first, and it might be deleted.
    UnknownPod,
    /// All nodes, because no policy governs the pod.
    Untouched,
    /// No nodes: several policies select the pod.
    Conflict(Box<[Identity]>),
    /// No nodes: the pod is on a node, is being bound to one, or needs none any more.
    NotPending,
    /// The verdict depends on the node.
    ByNode(Verdicts<'l>),
}

/// Whether a pod may go to a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// The pod may use the node.
    Chosen,
    /// Other candidates are in better units with free capacity.
    Lower,
    /// The unit of the node accepts no more pods of the group.
    Full,
    /// The unit of the node accepts no pods at all.
    Closed,
    /// The node is in no unit, and the policy requires one.
    Outside,
    /// The node is unknown so far.
    UnknownNode,
}

/// The verdicts on the candidate nodes of a pod.
#[derive(Debug)]
pub struct Verdicts<'l> {
    pub(super) usage: &'l PolicyUsage,
    pub(super) group: &'l Group,
    /// The verdict on each unit.
    pub(super) of_units: Box<[Verdict]>,
    pub(super) of_outside: Verdict,
    /// The chosen units; empty if no unit was chosen.
    pub(super) chosen: Vec<usize>,
    /// Whether each unit contains candidates; last, whether candidates are outside all units.
    pub(super) is_candidate: Vec<bool>,
    pub(super) own: HeldCapacity,
}

/// The capacity that the pod itself uses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeldCapacity {
    /// The unit in which the pod has a lease.
    leased: Option<usize>,
    /// The unit that keeps capacity for the pod, because the pod evicts others.
    kept: Option<(usize, Turn)>,
}

impl Verdict {
    /// Whether no eviction can change the verdict.
    #[must_use]
    pub fn is_unresolvable(self) -> bool {
        match self {
            Verdict::Full | Verdict::Closed | Verdict::Outside => true,
            Verdict::Chosen | Verdict::Lower | Verdict::UnknownNode => false,
        }
    }
}

impl Ledger {
    /// The verdicts on the candidates. The method changes nothing, and works whether or not this ledger decides.
    /// Callers must not pass a pod with an unsettled binding.
    #[must_use]
    pub fn verdicts(
        &self,
        pod: &Identity,
        uid: Option<&str>,
        candidates: &[NodeId],
    ) -> FilterOutcome<'_> {
        let Some(id) = self.pod_of(pod, uid) else { return FilterOutcome::UnknownPod };
        if !self.is_pending(id) {
            return FilterOutcome::NotPending;
        }
        let slot = &self.pods[id];
        match *self.governing(slot) {
            [] => FilterOutcome::Untouched,
            [(policy, group)] => {
                FilterOutcome::ByNode(self.verdicts_under(Some(id), policy, group, candidates))
            }
            [_, _, ..] => FilterOutcome::Conflict(self.selecting_names(slot.shape)),
        }
    }

    /// The verdicts for a scheduler's request. The ledger leases the chosen node for a limited time, or queues a
    /// refused pod to be requeued. Unknown nodes are omitted from the candidates.
    ///
    /// A pod that is unknown by this UID must be read first.
    pub fn filter(
        &mut self,
        pod: &Identity,
        uid: Option<&str>,
        candidates: &[NodeId],
        now: Elapsed,
        lease: Duration,
    ) -> FilterOutcome<'_> {
        if !self.is_serving() {
            return FilterOutcome::NotServing;
        }
        self.end_leases(now);
        self.end_unnominated(now);
        if let Some(id) = self.pod_of(pod, uid) {
            self.record_scheduler(id);
            if self.is_pending(id) {
                self.keep_place(id, candidates, now + lease);
            } else if let Some(reservation) = self.pods[id].reservation {
                self.reservations.postpone(reservation);
            }
        }
        self.verdicts(pod, uid, candidates)
    }

    /// Leases capacity for a pod, or queues the pod.
    fn keep_place(&mut self, id: PodId, candidates: &[NodeId], until: Elapsed) {
        let (policy, group) = match *self.governing(&self.pods[id]) {
            [] => {
                self.stop_waiting(id);
                return self.end_waking(id);
            }
            [governing] => governing,
            [_, _, ..] => return self.wait(id),
        };
        let verdicts = self.verdicts_under(Some(id), policy, group, candidates);
        let (has_chosen, unit_index) = (verdicts.has_chosen(), verdicts.unit_to_lease());
        if !has_chosen {
            return self.wait(id);
        }
        match unit_index {
            Some(unit_index) if !self.has_kept(id, CountedIn { policy, group, unit_index }) => {
                self.lease(id, CountedIn { policy, group, unit_index }, until);
            }
            Some(_) | None => self.end_lease(id),
        }
        self.stop_waiting(id);
        self.end_waking(id);
    }

    /// The verdicts for a pod, or for a pod that does not exist yet.
    pub(super) fn verdicts_under(
        &self,
        pod: Option<PodId>,
        policy: PolicyId,
        group: GroupId,
        candidates: &[NodeId],
    ) -> Verdicts<'_> {
        let own = pod.map(|pod| self.own(pod, policy, group)).unwrap_or_default();
        let usage = &self.usages[policy];
        let group = &usage.groups[group];
        let units = &usage.policy.units;
        // Small and in one allocation, because the loop reads it for every candidate. The last entry is for nodes
        // outside all units.
        let mut is_candidate = vec![false; units.len() + 1];
        let units_of_nodes = usage.units_of_nodes();
        for node in candidates {
            let unit_index =
                units_of_nodes.get(node.index()).copied().unwrap_or(UnitIndex::OUTSIDE);
            is_candidate[unit_index.index().unwrap_or(units.len())] = true;
        }
        let of_unit = |(index, (unit, unit_usage)): (usize, (&Unit, &UnitUsage))| match unit.max {
            Some(0) => Verdict::Closed,
            Some(max)
                if unit_usage.used.saturating_add(own.kept_ahead(unit_usage, index)) >= max =>
            {
                Verdict::Full
            }
            // `Lower` until the best priority is known.
            Some(_) | None => Verdict::Lower,
        };
        let mut of_units: Box<[Verdict]> =
            units.iter().zip(group.in_units(units.len())).enumerate().map(of_unit).collect();
        let has_room = |index: &usize| is_candidate[*index] && of_units[*index] == Verdict::Lower;
        let with_room = || (0..units.len()).filter(has_room);
        let best = with_room().map(|index| units[index].priority).max();
        let mut chosen: Vec<usize> =
            with_room().filter(|index| Some(units[*index].priority) == best).collect();
        let to_spare = |index: &usize| {
            own.spare(&units[*index], group.unit_usage(UnitIndex::new(Some(*index))), *index) > 0
        };
        if chosen.iter().any(to_spare) {
            chosen.retain(to_spare);
        }
        for index in &chosen {
            of_units[*index] = Verdict::Chosen;
        }
        let of_outside = match (usage.policy.strategy, best) {
            (Strategy::Required, _) => Verdict::Outside,
            (Strategy::Prefer, Some(_)) => Verdict::Lower,
            (Strategy::Prefer, None) => Verdict::Chosen,
        };
        Verdicts { usage, group, of_units, of_outside, chosen, is_candidate, own }
    }

    /// The scores of the candidates of a pod, in their order: by the priority of their units, the best 10. Without a
    /// policy, all scores are 0.
    pub fn scores(
        &self,
        pod: &Identity,
        uid: Option<&str>,
        candidates: &[NodeId],
    ) -> Result<Vec<u8>, NotServing> {
        if !self.is_serving() {
            return Err(NotServing);
        }
        let governing = self.pod_of(pod, uid).map(|id| self.governing(&self.pods[id]));
        let Some(&[(policy, _)]) = governing else { return Ok(vec![0; candidates.len()]) };
        let usage = &self.usages[policy];
        let units: Vec<Option<&Unit>> =
            candidates.iter().map(|node| usage.unit(usage.unit_of(*node))).collect();
        let raw = |unit: &Unit| i64::from(unit.priority) * 20;
        let highest = units.iter().flatten().map(|unit| raw(unit)).max().unwrap_or(0);
        let least = i64::from(usage.policy.strategy == Strategy::Prefer);
        let score = |unit: Option<&Unit>| {
            let Some(unit) = unit else { return 0 };
            let normalized = (raw(unit) * MAX_SCORE).checked_div(highest).unwrap_or(0);
            u8::try_from(normalized.clamp(least, MAX_SCORE)).unwrap_or(0)
        };
        Ok(units.into_iter().map(score).collect())
    }
}

impl Verdicts<'_> {
    /// The verdict on a candidate; `None` represents an unknown node.
    #[must_use]
    pub fn get(&self, node: Option<NodeId>) -> Verdict {
        let Some(node) = node else { return Verdict::UnknownNode };
        match self.usage.unit_of(node).index() {
            Some(unit) => self.of_units.get(unit).copied().unwrap_or(self.of_outside),
            None => self.of_outside,
        }
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &Identity {
        &self.usage.identity
    }

    /// Whether any candidate is chosen.
    fn has_chosen(&self) -> bool {
        let is_outside = self.is_candidate.last() == Some(&true);
        !self.chosen.is_empty() || is_outside && self.of_outside == Verdict::Chosen
    }

    /// The number of a node's reason: nodes with the same number have the same reason.
    #[must_use]
    pub fn reason_of(&self, node: NodeId) -> usize {
        self.usage.unit_of(node).index().unwrap_or(self.of_units.len())
    }

    /// The unit in which to lease capacity: the chosen capped one with the most free capacity, unless a chosen unit has
    /// no cap.
    fn unit_to_lease(&self) -> Option<UnitIndex> {
        let unit = |index: usize| &self.usage.policy.units[index];
        if self.chosen.iter().any(|index| unit(*index).max.is_none()) {
            return None;
        }
        let room = |index: &usize| {
            self.own.spare(
                unit(*index),
                self.group.unit_usage(UnitIndex::new(Some(*index))),
                *index,
            )
        };
        let index = self.chosen.iter().copied().rev().max_by_key(room)?;
        Some(UnitIndex::new(Some(index)))
    }
}

impl Ledger {
    fn own(&self, pod: PodId, policy: PolicyId, group: GroupId) -> HeldCapacity {
        let kept = self.kept_in(pod, (policy, group));
        HeldCapacity {
            leased: self.leased_in(pod, policy).and_then(UnitIndex::index),
            kept: kept.and_then(|(at, turn)| Some((at.unit_index.index()?, turn))),
        }
    }

    fn has_kept(&self, pod: PodId, at: CountedIn) -> bool {
        self.kept_in(pod, (at.policy, at.group)).is_some_and(|(kept, _)| kept == at)
    }
}

impl HeldCapacity {
    /// The number of permits of a unit that are kept for other pods that evict others and precede this pod.
    pub(super) fn kept_ahead(&self, unit_usage: &UnitUsage, unit: usize) -> u32 {
        unit_usage.kept(self.kept.filter(|(own, _)| *own == unit).map(|(_, turn)| turn))
    }

    /// The capacity of a unit without allocations and holds of other pods.
    pub(super) fn spare(&self, unit: &Unit, unit_usage: &UnitUsage, index: usize) -> u32 {
        let leased = unit_usage.leased - u32::from(self.leased == Some(index));
        let used = unit_usage
            .used
            .saturating_add(leased)
            .saturating_add(self.kept_ahead(unit_usage, index));
        unit.max.unwrap_or(u32::MAX).saturating_sub(used)
    }

    pub(super) fn has_kept(&self, unit: usize) -> bool {
        self.kept.is_some_and(|(own, _)| own == unit)
    }
}
